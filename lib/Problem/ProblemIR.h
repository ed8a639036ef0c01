//===- ProblemIR.h - a problem while its IR is printed ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_PROBLEM_PROBLEMIR_H
#define ATTN_LIB_PROBLEM_PROBLEMIR_H

#include "attn/Problem/ProblemText.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace attn {

/// A dimension: a number, or the SSA value that holds it.
struct Dim {
  int64_t size = 1;
  std::string value;
};

/// An SSA value of a tensor or number type.
struct TypedValue {
  std::string name; ///< without the %
  std::string type;
  llvm::SmallVector<Dim> dims;
};

/// ProblemIR.cpp has arguments, sizes and views; ProblemOps.cpp the attn ops, KeySums.cpp sums of weights a key.
class IRPrinter {
public:
  explicit IRPrinter(const Problem &problem);
  std::string print(llvm::StringRef name);
  /// Of the arguments and results but for captures. All other SSA names have a dot, which no capture has.
  llvm::StringSet<> getOwnNames() const;

private:
  // Types
  Dim getDim(int64_t size, llvm::StringRef name) { return {size, ("%size." + name).str()}; }
  static std::string printType(llvm::ArrayRef<Dim> dims, llvm::StringRef element);
  TypedValue tensor(llvm::StringRef name, llvm::ArrayRef<Dim> dims, llvm::StringRef element) {
    return {name.str(), printType(dims, element), llvm::SmallVector<Dim>(dims)};
  }
  llvm::SmallVector<Dim> rows(Dim heads, Dim length, int64_t columns) const;
  llvm::SmallVector<Dim> keyDims() const;
  llvm::SmallVector<Dim> scoreDims(const ScoreShape &shape) const;
  llvm::StringRef printElementOf(const WordInfo &word) const;
  llvm::SmallVector<Dim> getCacheDims(int64_t columns) const;
  llvm::SmallVector<Dim> getScaleDims() const;
  TypedValue printArgument(const WordInfo &word);

  // Arguments and results, in their order
  void addArguments();
  void addResults();
  const TypedValue *find(llvm::StringRef name) const;

  // Body
  void line(const std::string &text) { body += "  " + text + "\n"; }
  void addSizes();
  void addSize(const Dim &dim, llvm::StringRef tensor, unsigned position);
  /// The argument that holds a result of other keys, which becomes that of both.
  static TypedValue getOld(const TypedValue &result) { return {result.name + ".into", result.type, result.dims}; }
  TypedValue addEmpty(llvm::StringRef name, const TypedValue &like);
  void addPages(TypedValue &view, llvm::StringRef cache);
  TypedValue addSplit(llvm::StringRef name, const TypedValue &packed, llvm::ArrayRef<Dim> dims);
  TypedValue addSplitHeads(const TypedValue &packed, const Dim &length, int64_t heads, int64_t columns);
  std::string clause(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> arguments) const;
  llvm::SmallVector<std::string> printAttributes(llvm::function_ref<bool(const WordInfo &)> isAsked) const;
  void addSdpa();
  llvm::SmallVector<std::string> mapInputs() const;
  void addInputs(llvm::ArrayRef<TypedValue> kvScales, bool withSink);
  void addRegions();
  TypedValue addFilled(llvm::StringRef name, llvm::ArrayRef<Dim> dims, llvm::StringRef element);
  void addKeySums(const TypedValue &max, const TypedValue &logSum);
  TypedValue addKeySumsInit();
  void addKeySumsResult(const TypedValue &sums);
  void addChain();
  bool widensChain() const;
  TypedValue addScores();
  TypedValue addWeights(const TypedValue &scores);
  void addOutput(const TypedValue &weights);
  /// K or V as floats of type `to` in memory, times their scales: what the chain takes.
  TypedValue addWideRows(const TypedValue &rows, unsigned scale, llvm::StringRef to);
  /// NAME = value, of four dimensions, in another float type; `init` is the destination.
  TypedValue addCast(llvm::StringRef name, const TypedValue &value, llvm::StringRef from, llvm::StringRef to,
                     const TypedValue &init);
  /// attn.NAME ins(INPUTS) CLAUSES outs(OUTPUT_init) {ATTRIBUTES} REGION; returns the output.
  TypedValue addStep(llvm::StringRef op, llvm::StringRef name, llvm::ArrayRef<TypedValue> inputs,
                     const std::string &clauses, llvm::ArrayRef<Dim> dims, llvm::StringRef element,
                     llvm::SmallVector<std::string> attributes = {}, const std::string &region = "");

  // Maps over the domain (batch, head, query, key, head size, value size)
  std::string mapRows(llvm::StringRef head, llvm::StringRef row, llvm::StringRef column, bool isHeadMajor) const;
  std::string kvHead() const;
  static std::string printMaps(llvm::StringRef domain, llvm::ArrayRef<std::string> results);
  static std::string joinMaps(llvm::ArrayRef<std::string> attributes) {
    return attributes.empty() ? "" : " {" + llvm::join(attributes, ", ") + "}";
  }

  const Problem &problem;
  llvm::StringRef element, kvElement, wide, outElement;
  /// Of q and out, and of k and v as sdpa takes them.
  bool isHeadMajor, isKeyHeadMajor;
  Dim b, hq, hkv, sq, sk;
  llvm::SmallVector<TypedValue> arguments, results; ///< without captures
  TypedValue query, key, value;
  llvm::SmallVector<TypedValue, 2> scales; ///< of K and V, as sdpa takes them
  std::string body;
};

/// An error where a captured array is named as an argument or a result is.
llvm::Error checkCaptureNames(const Problem &problem);

/// Joins what the format makes of each name {0} and type {1}.
std::string joinEach(llvm::ArrayRef<TypedValue> values, const char *format);
/// %a, %b : type, type
std::string printOperands(llvm::ArrayRef<TypedValue> values);

} // namespace attn

#endif // ATTN_LIB_PROBLEM_PROBLEMIR_H
