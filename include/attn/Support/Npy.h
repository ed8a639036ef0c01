//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
//
// Reads and writes C-contiguous little-endian arrays of the types that kernels take: float32, float64, float16,
// bfloat16, float8_e4m3fn, float8_e5m2, bool, int8, int32, int64. NumPy has no bfloat16 and no float8: files have them
// in the form of ml_dtypes, as elements of two bytes ('<V2') and of one ('<V1').
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_SUPPORT_NPY_H
#define ATTN_SUPPORT_NPY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <memory>

namespace attn {

enum class NpyType { Float32, Float64, Float16, BFloat16, Float8E4M3FN, Float8E5M2, Bool, Int8, Int32, Int64 };

/// NumPy's name of the type, as "float32", and the bytes of one element.
llvm::StringRef getNpyTypeName(NpyType type);
int64_t getNpyTypeSize(NpyType type);

/// An array that owns its memory.
struct NpyArray {
  NpyType type;
  llvm::SmallVector<int64_t, 4> shape;
  /// The elements: the front of `buffer`, aligned to 64 bytes where readNpy made it.
  char *data;
  std::unique_ptr<llvm::WritableMemoryBuffer> buffer;
};

/// Reads a .npy file (version 1 or 2). Refuses anything but a whole array of one of the types above in C order, and
/// booleans other than 0 and 1; the error names the file. Allocates by the size of the file, never by its header.
llvm::Expected<NpyArray> readNpy(llvm::StringRef path);

/// The same for a file in memory, whose buffer becomes the array's; `name` is for errors.
llvm::Expected<NpyArray> parseNpy(std::unique_ptr<llvm::WritableMemoryBuffer> buffer, llvm::StringRef name);

/// Writes the bytes of a .npy file (version 1).
void writeNpy(llvm::raw_ostream &stream, NpyType type, llvm::ArrayRef<int64_t> shape, const void *data);

/// Writes the file as writeOutputFile does: whole or not at all.
llvm::Error writeNpy(llvm::StringRef path, NpyType type, llvm::ArrayRef<int64_t> shape, const void *data);

} // namespace attn

#endif // ATTN_SUPPORT_NPY_H
