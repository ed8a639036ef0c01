//===- Runner.cpp - kernels on another processor --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "../attn-runner/CallFile.h"
#include "attn/Compiler/WebModule.h"
#include "attn/Support/OutputFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/TargetParser/Triple.h"
#include <cstring>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Alignment of a tensor's bytes in the file.
static constexpr uint64_t kAlignment = 64;

static Expected<std::string> createFile(StringRef suffix, StringRef bytes) {
  SmallString<128> path;
  if (std::error_code error = sys::fs::createTemporaryFile("attn", suffix, path))
    return createStringError(error, "cannot create a temporary file: " + error.message());
  if (Error error = writeOutputFile(path, [&](raw_ostream &os) { os << bytes; })) {
    sys::fs::remove(path);
    return std::move(error);
  }
  return path.str().str();
}

Expected<std::shared_ptr<Runner>> Runner::create(StringRef command, StringRef object, const TargetInfo &target) {
  BumpPtrAllocator allocator;
  StringSaver saver(allocator);
  SmallVector<const char *> words;
  cl::TokenizeGNUCommandLine(command, saver, words);
  std::shared_ptr<Runner> runner(new Runner());
  runner->command.assign(words.begin(), words.end());
  ErrorOr<std::string> program = words.empty() ? std::string() : sys::findProgramByName(words.front());
  if (!program || program->empty())
    return createStringError("expected a program that is there as --runner, found '" + command +
                             "'; scripts/build-runner.sh makes build/arm/runner and build/riscv/runner; that of wasm32 "
                             "is tools/attn-runner/attn-runner.mjs");
  runner->command.front() = *program;
  bool isWeb = Triple(target.triple).isWasm();
  Expected<std::string> library = isWeb ? createWebModule(object, target) : linkAlone(object);
  if (!library)
    return library.takeError();
  Expected<std::string> file = createFile(isWeb ? "wasm" : "so", *library);
  if (!file)
    return file.takeError();
  runner->library = std::move(*file);
  return runner;
}

Runner::~Runner() {
  if (!library.empty())
    sys::fs::remove(library);
}

/// The record of a tensor, and its byte at the lowest address. A tensor without elements has none.
static std::pair<attn_call_tensor, char *> describe(const DLTensor &tensor) {
  attn_call_tensor record = {};
  record.type_code = tensor.dtype.code;
  record.type_bits = tensor.dtype.bits;
  record.rank = tensor.ndim;
  record.has_strides = tensor.strides != nullptr;
  int64_t count = 1, before = 0, behind = 0, dense = 1;
  for (int dim = tensor.ndim - 1; dim >= 0; --dim) {
    int64_t size = tensor.shape[dim], stride = tensor.strides ? tensor.strides[dim] : dense;
    dense *= size;
    count *= size;
    record.shape[dim] = size;
    record.strides[dim] = stride;
    (stride < 0 ? before : behind) += (size - 1) * stride;
  }
  int64_t bytes = tensor.dtype.bits / 8;
  record.bytes = count == 0 ? 0 : (behind - before + 1) * bytes;
  record.first = count == 0 ? 0 : -before * bytes;
  return {record, static_cast<char *>(tensor.data) + tensor.byte_offset - record.first};
}

Expected<std::pair<int32_t, std::string>> Runner::call(StringRef entry, ArrayRef<DLTensor> tensors,
                                                       ArrayRef<bool> outputs) const {
  attn_call_header header = {};
  header.magic = ATTN_CALL_MAGIC;
  header.count = tensors.size();
  std::vector<attn_call_tensor> records;
  std::vector<char *> places;
  uint64_t size = sizeof(header) + tensors.size() * sizeof(attn_call_tensor);
  for (const DLTensor &tensor : tensors) {
    if (tensor.ndim > ATTN_CALL_RANK)
      return createStringError("expected tensors of at most " + Twine(int(ATTN_CALL_RANK)) +
                               " dimensions with --runner, found one of " + Twine(tensor.ndim));
    auto [record, place] = ::describe(tensor);
    record.offset = size = alignTo(size, kAlignment);
    size += record.bytes;
    records.push_back(record);
    places.push_back(place);
  }
  std::string bytes(size, 0);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), records.data(), records.size() * sizeof(attn_call_tensor));
  for (auto [record, place] : zip_equal(records, places))
    std::memcpy(bytes.data() + record.offset, place, record.bytes);

  Expected<std::string> file = createFile("call", bytes);
  if (!file)
    return file.takeError();
  FileRemover remove(*file);
  SmallVector<StringRef> words(command.begin(), command.end());
  words.append({library, entry, *file});
  std::string message;
  int status = sys::ExecuteAndWait(words.front(), words, /*Env=*/std::nullopt, /*Redirects=*/{}, /*SecondsToWait=*/0,
                                   /*MemoryLimit=*/0, &message);
  if (status != 0)
    return createStringError("expected the runner to call '" + entry + "', found that it ended with status " +
                             Twine(status) + (message.empty() ? "" : ": " + message));
  ErrorOr<std::unique_ptr<MemoryBuffer>> answer = MemoryBuffer::getFile(*file);
  if (!answer)
    return createFileError(*file, answer.getError());
  if ((*answer)->getBufferSize() != size)
    return createStringError("expected the runner to leave the size of its call, found another");
  const char *data = (*answer)->getBufferStart();
  std::memcpy(&header, data, sizeof(header));
  for (auto [record, place, isOutput] : zip_equal(records, places, outputs))
    if (isOutput)
      std::memcpy(place, data + record.offset, record.bytes);
  return std::pair(int32_t(header.code), std::string(header.message, strnlen(header.message, sizeof(header.message))));
}
