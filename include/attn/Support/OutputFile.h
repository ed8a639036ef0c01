//===- OutputFile.h - files that are written whole or not at all -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_SUPPORT_OUTPUTFILE_H
#define ATTN_SUPPORT_OUTPUTFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace attn {

/// Files that appear together or not at all. Each is written to a temporary file in the folder of its path; keep()
/// renames them all. Without keep(), existing files at the paths are unchanged and nothing is left behind.
class OutputFiles {
public:
  /// `source` is a file that no output may overwrite, as the outputs are made from it.
  explicit OutputFiles(llvm::StringRef source = {}) : source(source) {}
  OutputFiles(const OutputFiles &) = delete;
  ~OutputFiles();

  /// Calls `write` for the file at `path`; "-" is standard output. The error names the path. Anything but a regular
  /// file (a pipe, a device, standard output) is written by keep(), in place, before anything is renamed. A duplicate
  /// regular file, or the source, is an error.
  llvm::Error add(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);
  llvm::Error keep();

private:
  struct Pending {
    std::string path;
    llvm::sys::fs::TempFile file;
  };
  std::string source;
  std::vector<Pending> files;
  std::vector<std::pair<std::string, std::string>> inPlace; ///< path and bytes
};

/// One such file.
llvm::Error writeOutputFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace attn

#endif // ATTN_SUPPORT_OUTPUTFILE_H
