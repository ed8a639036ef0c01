//===- ExplainCode.cpp - facts of the code that LLVM makes ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "HotLoops.h"
#include <map>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

static constexpr size_t kMaxLoopLines = 200, kMaxPtxLines = 600;

static json::Value describeLoop(const HotLoop &loop) {
  json::Object assembly = describeText(loop.assembly, kMaxLoopLines);
  return json::Object{
      {"function", loop.function},
      {"start", int64_t(loop.start)},
      {"instructions", loop.instructions},
      {"mix", json::Array{json::Array{"fma", loop.fma}, json::Array{"dot", loop.dot}, json::Array{"load", loop.load},
                          json::Array{"store", loop.store}, json::Array{"shuffle", loop.shuffle},
                          json::Array{"convert", loop.convert}, json::Array{"call", loop.call}}},
      {"stack", loop.stack},
      {"cycles", loop.cycles ? json::Value(*loop.cycles) : json::Value(nullptr)},
      {"assembly", std::move(assembly)}};
}

/// The kinds of instructions of PTX, by the beginnings of their names; the first that fits counts.
static constexpr std::pair<StringLiteral, StringLiteral> kPtxKinds[] = {
    {"wgmma.mma", "product"}, {"mma", "product"},      {"ldmatrix", "shared"}, {"stmatrix", "shared"},
    {"ld.shared", "shared"},  {"st.shared", "shared"}, {"cp.async", "copy"},   {"ld.global", "copy"},
    {"st.global", "copy"},    {"red", "copy"},         {"ex2", "function"},    {"lg2", "function"},
    {"rcp", "function"},      {"tanh", "function"},    {"div", "function"},    {"fma", "float"},
    {"mul.f", "float"},       {"mul.rn.f", "float"},   {"add.f", "float"},     {"add.rn.f", "float"},
    {"sub.f", "float"},       {"max.f", "float"},      {"cvt", "convert"},     {"bra", "branch"},
};

/// How many instructions of each kind a text of PTX has.
static json::Object describePtx(StringRef ptx) {
  json::Object code = describeText(ptx, kMaxPtxLines);
  std::map<StringRef, int64_t> counts;
  int64_t all = 0;
  for (StringRef line : split(ptx, '\n')) {
    line = line.trim();
    if (line.starts_with("@"))
      line = line.split(' ').second.ltrim();
    if (!line.ends_with(";") || line.starts_with(".") || line.starts_with("//"))
      continue;
    ++all;
    for (const auto &[beginning, kind] : kPtxKinds)
      if (line.starts_with(beginning)) {
        ++counts[kind];
        break;
      }
  }
  json::Array mix;
  for (StringRef kind : {"product", "shared", "copy", "float", "function", "convert", "branch"})
    mix.push_back(json::Array{kind, counts[kind]});
  code["instructions"] = all;
  code["mix"] = std::move(mix);
  return code;
}

/// The code that LLVM makes: the main loops of a processor's object, or the PTX of each GPU kernel.
Error driver::describeCode(Compiler &compiler, json::Object &facts) {
  if (compiler.getTarget().gpu) {
    Expected<std::vector<Compiler::GpuImage>> images = compiler.emitImages();
    if (!images)
      return images.takeError();
    json::Array kernels;
    for (const Compiler::GpuImage &image : *images) {
      json::Object code = describePtx(image.ptx);
      code["name"] = image.name;
      kernels.push_back(std::move(code));
    }
    facts["ptx"] = std::move(kernels);
    return Error::success();
  }
  Expected<std::string> object = compiler.emit(FileKind::Object);
  if (!object)
    return object.takeError();
  facts["object_bytes"] = int64_t(object->size());
  Expected<std::vector<HotLoop>> loops = findHotLoops(*object, compiler.getTarget(), /*simulates=*/true);
  if (!loops)
    return loops.takeError();
  facts["processor"] = compiler.getTarget().cpu;
  facts["loops"] = json::Array(map_range(*loops, describeLoop));
  return Error::success();
}
