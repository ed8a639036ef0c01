//===- ExplainCode.cpp - facts of the code that LLVM makes ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "HotLoops.h"
#include "attn/CodeGen/GpuCodeGen.h"
#include "attn/Support/OutputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
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

/// The same of machine code. Without tensor cores, products are FFMA.
static constexpr std::pair<StringLiteral, StringLiteral> kSassKinds[] = {
    {"HGMMA", "product"}, {"HMMA", "product"},  {"LDGSTS", "copy"}, {"UTMA", "copy"},
    {"LDG", "copy"},      {"STG", "copy"},      {"LDS", "shared"},  {"STS", "shared"},
    {"STSM", "shared"},   {"MUFU", "function"}, {"FFMA", "float"},  {"FMUL", "float"},
    {"FADD", "float"},    {"FMNMX", "float"},   {"F2F", "convert"}, {"BRA", "branch"},
};

/// Counts instructions, each without its predicate, by kind.
static void countKinds(ArrayRef<StringRef> instructions, ArrayRef<std::pair<StringLiteral, StringLiteral>> kinds,
                       json::Object &code) {
  std::map<StringRef, int64_t> counts;
  for (StringRef instruction : instructions) {
    if (instruction.starts_with("@"))
      instruction = instruction.split(' ').second.ltrim();
    for (const auto &[beginning, kind] : kinds)
      if (instruction.starts_with(beginning)) {
        ++counts[kind];
        break;
      }
  }
  json::Array mix;
  for (StringRef kind : {"product", "shared", "copy", "float", "function", "convert", "branch"})
    mix.push_back(json::Array{kind, counts[kind]});
  code["instructions"] = int64_t(instructions.size());
  code["mix"] = std::move(mix);
}

static json::Object describePtx(StringRef ptx) {
  json::Object code = describeText(ptx, kMaxPtxLines);
  std::vector<StringRef> instructions;
  for (StringRef line : split(ptx, '\n')) {
    line = line.trim();
    if (line.ends_with(";") && !line.starts_with(".") && !line.starts_with("//"))
      instructions.push_back(line);
  }
  countKinds(instructions, kPtxKinds, code);
  return code;
}

/// The innermost loops with products of a kernel, as nvdisasm prints it: the spans of backward branches.
static void describeSassLoops(StringRef kernel, StringRef text, json::Array &loops) {
  std::vector<StringRef> code;
  StringMap<size_t> labels;
  std::vector<std::pair<size_t, size_t>> spans;
  for (StringRef line : split(text, '\n')) {
    auto [address, instruction] = line.split("*/");
    instruction = instruction.split(';').first.trim();
    if (line.starts_with(".L_"))
      labels[line.split(':').first] = code.size();
    if (instruction.empty() || !address.trim().starts_with("/*"))
      continue;
    code.push_back(instruction);
    auto found = labels.find(instruction.split("`(").second.split(')').first);
    if (instruction.contains("BRA") && found != labels.end())
      spans.push_back({found->second, code.size()});
  }
  for (auto span : spans) {
    if (any_of(spans,
               [&](auto other) { return other != span && span.first <= other.first && other.second <= span.second; }))
      continue;
    ArrayRef<StringRef> body = ArrayRef(code).slice(span.first, span.second - span.first);
    if (count_if(body, [](StringRef each) { return each.contains("MMA.") || each.contains("FFMA"); }) <
        kHotMultiplyAdds)
      continue;
    json::Object loop = describeText(join(body, "\n"), kMaxPtxLines);
    countKinds(body, kSassKinds, loop);
    loop["name"] = kernel.str();
    loops.push_back(std::move(loop));
  }
}

/// The main loops of machine code for GPUs, where nvdisasm is found: in PATH, or beside ptxas.
static json::Array describeSass(StringRef cubin, const CompileOptions &options) {
  std::string folder = sys::path::parent_path(findPtxas(options.ptxas)).str();
  ErrorOr<std::string> program = sys::findProgramByName("nvdisasm");
  if (!program)
    program = sys::findProgramByName("nvdisasm", {folder});
  SmallString<128> input, output;
  if (!program || cubin.empty() || sys::fs::createTemporaryFile("attn", "cubin", input) ||
      sys::fs::createTemporaryFile("attn", "sass", output))
    return {};
  FileRemover removeInput(input), removeOutput(output);
  if (Error error = writeOutputFile(input, [&](raw_ostream &os) { os << cubin; })) {
    consumeError(std::move(error));
    return {};
  }
  json::Array loops;
  ErrorOr<std::unique_ptr<MemoryBuffer>> text = std::error_code();
  if (sys::ExecuteAndWait(*program, {*program, "-c", input}, std::nullopt, {std::nullopt, StringRef(output), ""}) == 0)
    text = MemoryBuffer::getFile(output, /*IsText=*/true);
  if (text && *text) {
    SmallVector<StringRef> sections;
    (*text)->getBuffer().split(sections, "\n.text.");
    for (StringRef section : drop_begin(sections))
      describeSassLoops(section.split(':').first, section, loops);
  }
  return loops;
}

/// The code that LLVM makes: the main loops of a processor's object, or the PTX of each GPU kernel.
Error driver::describeCode(Compiler &compiler, const CompileOptions &options, json::Object &facts) {
  if (compiler.getTarget().gpu) {
    Expected<std::vector<Compiler::GpuImage>> images = compiler.emitImages();
    if (!images)
      return images.takeError();
    json::Array kernels, loops;
    for (const Compiler::GpuImage &image : *images) {
      for (json::Value &loop : describeSass(image.cubin, options))
        loops.push_back(std::move(loop));
      json::Object code = describePtx(image.ptx);
      code["name"] = image.name;
      kernels.push_back(std::move(code));
    }
    facts["ptx"] = std::move(kernels);
    facts["sass"] = std::move(loops);
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
