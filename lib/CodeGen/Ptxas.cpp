//===- Ptxas.cpp - PTX to cubin -------------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/CodeGen/GpuCodeGen.h"
#include "attn/Support/OutputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace llvm;

namespace attn {

static constexpr StringLiteral kCudaFolder = "/usr/local/cuda/bin";
/// C7508: setmaxnreg is ignored. C7510 to C7519: wgmma instructions are serialised.
static constexpr StringLiteral kSlowdowns[] = {"(C7508)", "(C751"};

std::string findPtxas(StringRef given) {
  if (!given.empty())
    return given.str();
  for (ArrayRef<StringRef> folders : {ArrayRef<StringRef>(), ArrayRef<StringRef>(kCudaFolder)})
    if (ErrorOr<std::string> path = sys::findProgramByName("ptxas", folders))
      return *path;
  return "";
}

/// The number before `what` in the text; 0 if there is none.
static int64_t readBefore(StringRef line, StringRef what) {
  size_t end = line.find(what);
  if (end == StringRef::npos)
    return 0;
  StringRef digits = line.take_front(end).rtrim();
  digits = digits.substr(digits.find_last_not_of("0123456789") + 1);
  int64_t number = 0;
  return digits.getAsInteger(10, number) ? 0 : number;
}

/// ptxas info : Compiling entry function 'NAME' for 'sm_80'
/// ptxas info : Function properties for NAME
///     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
/// ptxas info : Used 168 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]
static std::vector<KernelResources> parseResources(StringRef messages) {
  std::vector<KernelResources> kernels;
  for (StringRef line : split(messages, '\n')) {
    if (line.contains("Compiling entry function '"))
      kernels.push_back({line.split('\'').second.split('\'').first.str()});
    if (kernels.empty())
      continue;
    KernelResources &kernel = kernels.back();
    if (line.contains("bytes stack frame")) {
      kernel.stackBytes = readBefore(line, " bytes stack frame");
      kernel.spillBytes = readBefore(line, " bytes spill stores") + readBefore(line, " bytes spill loads");
    } else if (line.contains("Used ")) {
      kernel.registers = readBefore(line, " registers");
      kernel.staticSharedBytes = readBefore(line, " bytes smem");
    }
  }
  return kernels;
}

/// ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to … in function
/// 'NAME'
static std::vector<std::string> parseSlowdowns(StringRef messages) {
  std::vector<std::string> found;
  for (StringRef line : split(messages, '\n'))
    if (any_of(kSlowdowns, [&](StringRef note) { return line.contains(note); }))
      found.push_back(line.substr(line.find("(C75")).rtrim().str());
  return found;
}

Expected<Cubin> assemblePTX(StringRef ptx, const TargetInfo &target, StringRef ptxas) {
  SmallString<128> input, output, log;
  for (auto [suffix, path] : {std::pair("ptx", &input), std::pair("cubin", &output), std::pair("log", &log)})
    if (std::error_code error = sys::fs::createTemporaryFile("attn", suffix, *path))
      return createStringError(error, "cannot create a temporary file: " + error.message());
  FileRemover removeInput(input), removeOutput(output), removeLog(log);
  if (Error error = writeOutputFile(input, [&](raw_ostream &os) { os << ptx; }))
    return error;
  std::string arch = "-arch=" + target.cpu;
  StringRef arguments[] = {ptxas, arch, "-O3", "-v", input, "-o", output};
  std::string message;
  int code = sys::ExecuteAndWait(ptxas, arguments, std::nullopt, {std::nullopt, StringRef(log), StringRef(log)},
                                 /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  Cubin cubin;
  if (ErrorOr<std::unique_ptr<MemoryBuffer>> text = MemoryBuffer::getFile(log, /*IsText=*/true))
    cubin.messages = (*text)->getBuffer().str();
  if (code != 0)
    return createStringError("ptxas ('" + ptxas + "') failed: " + (code < 0 ? message : cubin.messages));
  ErrorOr<std::unique_ptr<MemoryBuffer>> bytes = MemoryBuffer::getFile(output, /*IsText=*/false);
  if (!bytes)
    return createFileError(output, bytes.getError());
  cubin.bytes = (*bytes)->getBuffer().str();
  cubin.kernels = parseResources(cubin.messages);
  cubin.slowdowns = parseSlowdowns(cubin.messages);
  return cubin;
}

} // namespace attn
