//===- Explain.h - what is known about a kernel -----------------*- C++ -*-===//
//
// attnc explain collects facts as JSON (docs/Explain.md has its fields) and makes a page of that JSON alone.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_EXPLAIN_H
#define ATTN_TOOLS_ATTNC_EXPLAIN_H

#include "attnc.h"
#include "llvm/Support/JSON.h"

namespace attn::driver {

/// The version of the fields: it rises when one changes its meaning or is removed.
constexpr int64_t kExplainSchema = 1;

/// Compiles a source and records what became of it. A source that is refused has "status": "refused" and the messages.
llvm::Expected<llvm::json::Object> collectFacts(const ExplainCommand &command);

/// The tiles of one attn op with a schedule: skipped, partial and full ones, and the predicate (ExplainMask.cpp).
llvm::json::Object describeTiles(mlir::Operation *op);

/// The text of an op without its location, shortened to `limit` lines.
llvm::json::Object describeText(llvm::StringRef text, size_t limit);

/// The code that LLVM makes (ExplainCode.cpp): main loops of a processor's object, or PTX and SASS.
llvm::Error describeCode(Compiler &compiler, const CompileOptions &options, llvm::json::Object &facts);

/// The copies and products of a round of each loop of GPU kernels, on IR of phase steps (ExplainTimeline.cpp).
llvm::json::Array describeTimelines(mlir::ModuleOp module);

/// The page of some facts: one file of HTML, without scripts that it needs to be read (ExplainPage.cpp).
void printPage(llvm::raw_ostream &os, const llvm::json::Object &facts);

/// A page with a table of the facts that differ, as (name, left, right), of so many that are equal.
void printTable(llvm::raw_ostream &os, llvm::ArrayRef<std::string> files,
                llvm::ArrayRef<std::array<std::string, 3>> rows, size_t numEqual);

/// Text for HTML. Names and sources come from files of others.
std::string escapeHtml(llvm::StringRef text);

/// Pictures of facts as SVG (ExplainPictures.cpp).
void drawTiles(llvm::raw_ostream &os, const llvm::json::Object &tiles);
void drawTimeline(llvm::raw_ostream &os, const llvm::json::Object &timeline);
void drawGraph(llvm::raw_ostream &os, const llvm::json::Object &graph);
void drawMix(llvm::raw_ostream &os, const llvm::json::Object &loop);
void drawRoofline(llvm::raw_ostream &os, const llvm::json::Object &limits);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_EXPLAIN_H
