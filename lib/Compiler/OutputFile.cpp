//===- OutputFile.cpp - files that are written whole or not at all --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Compiler/OutputFile.h"

#include "llvm/Support/FileSystem.h"

using namespace attn;
namespace fs = llvm::sys::fs;

/// Runs `write` on an open file; the error of the stream is taken from it, which would abort on it otherwise.
static std::error_code writeTo(int file, bool shouldClose, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  llvm::raw_fd_ostream stream(file, shouldClose);
  write(stream);
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return error;
}

llvm::Error attn::writeOutputFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  fs::file_status status;
  bool isSpecial = !fs::status(path, status) && status.type() != fs::file_type::regular_file &&
                   status.type() != fs::file_type::directory_file;
  if (isSpecial) {
    int file;
    std::error_code error = fs::openFileForWrite(path, file, fs::CD_OpenExisting);
    if (!error)
      error = writeTo(file, /*shouldClose=*/true, write);
    return error ? llvm::createFileError(path, error) : llvm::Error::success();
  }

  llvm::Expected<fs::TempFile> temporary = fs::TempFile::create(path + ".tmp-%%%%%%%%");
  if (!temporary)
    return llvm::createFileError(path, temporary.takeError());
  if (std::error_code error = writeTo(temporary->FD, /*shouldClose=*/false, write)) {
    llvm::consumeError(temporary->discard());
    return llvm::createFileError(path, error);
  }
  if (llvm::Error error = temporary->keep(path))
    return llvm::createFileError(path, std::move(error));
  return llvm::Error::success();
}
