//===- OutputFile.cpp - files that are written whole or not at all --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Support/OutputFile.h"
#include "llvm/Support/Path.h"

using namespace attn;
namespace fs = llvm::sys::fs;

static constexpr llvm::StringLiteral kStandardOutput = "-";

/// Clears a stream's error; otherwise the stream would abort.
static std::error_code takeError(llvm::raw_fd_ostream &stream) {
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return error;
}

static std::error_code writeInPlace(llvm::StringRef path, llvm::StringRef bytes) {
  if (path == kStandardOutput) {
    llvm::outs() << bytes;
    return takeError(llvm::outs());
  }
  int file;
  if (std::error_code error = fs::openFileForWrite(path, file, fs::CD_OpenExisting))
    return error;
  llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
  stream << bytes;
  return takeError(stream);
}

static std::string getAbsolute(llvm::StringRef path) {
  llvm::SmallString<128> absolute(path);
  (void)fs::make_absolute(absolute);
  llvm::sys::path::remove_dots(absolute, /*remove_dot_dot=*/true);
  return absolute.str().str();
}

OutputFiles::~OutputFiles() {
  for (Pending &pending : files)
    llvm::consumeError(pending.file.discard());
}

llvm::Error OutputFiles::add(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  fs::file_status status;
  bool exists = path != kStandardOutput && !fs::status(path, status);
  if (exists && status.type() == fs::file_type::directory_file)
    return llvm::createFileError(path, std::make_error_code(std::errc::is_a_directory));
  if (!source.empty() && fs::equivalent(path, source))
    return llvm::createStringError("expected an output that is not the input, found '" + path + "'");
  if (path == kStandardOutput || (exists && status.type() != fs::file_type::regular_file)) {
    std::string bytes;
    llvm::raw_string_ostream stream(bytes);
    write(stream);
    inPlace.emplace_back(path.str(), std::move(bytes));
    return llvm::Error::success();
  }

  for (const Pending &other : files)
    if (getAbsolute(other.path) == getAbsolute(path))
      return llvm::createStringError("expected a file for each output, found '" + path + "' twice");
  llvm::Expected<fs::TempFile> temporary = fs::TempFile::create(path + ".tmp-%%%%%%%%");
  if (!temporary)
    return llvm::createFileError(path, temporary.takeError());
  llvm::raw_fd_ostream stream(temporary->FD, /*shouldClose=*/false);
  write(stream);
  std::error_code error = takeError(stream);
  files.push_back({path.str(), std::move(*temporary)});
  return error ? llvm::createFileError(path, error) : llvm::Error::success();
}

llvm::Error OutputFiles::keep() {
  for (const auto &[path, bytes] : inPlace)
    if (std::error_code error = writeInPlace(path, bytes))
      return llvm::createFileError(path == kStandardOutput ? "standard output" : path, error);
  inPlace.clear();
  // In reverse: a kept file leaves the list, and if a rename fails, the remaining files are discarded.
  while (!files.empty()) {
    Pending pending = std::move(files.back());
    files.pop_back();
    if (llvm::Error error = pending.file.keep(pending.path))
      return llvm::createFileError(pending.path, std::move(error));
  }
  return llvm::Error::success();
}

llvm::Error attn::writeOutputFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  OutputFiles files;
  if (llvm::Error error = files.add(path, write))
    return error;
  return files.keep();
}
