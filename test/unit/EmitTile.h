//===- EmitTile.h - code of the vector builder, executed --------*- C++ -*-===//
//
// A function whose body a test writes with cpu::VectorBuilder, taken through
// the compiler's own last phase and loaded into this process.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_EMITTILE_H
#define ATTN_TEST_UNIT_EMITTILE_H

#include "VectorTile.h"
#include "attn/CodeGen/CodeGen.h"

#include "mlir/ExecutionEngine/CRunnerUtils.h"

namespace attn::test {

/// Types of the memrefs of a function: shapes over one element type.
using Shapes = llvm::ArrayRef<llvm::SmallVector<int64_t>>;
using Body = llvm::function_ref<void(cpu::VectorBuilder &, mlir::ValueRange)>;

/// A function void(memref…, index) in memory.
class Tile {
public:
  /// `isDouble`: memrefs of f64, otherwise f32. The last argument of the body is the index that call takes.
  /// `isEmulated`: a processor with AVX2 executes it.
  static std::unique_ptr<Tile> emit(const TargetInfo &target, bool isDouble, Shapes shapes, Body body,
                                    bool isEmulated = false);

  template <typename T, int rank>
  void call(StridedMemRefType<T, rank> &in, StridedMemRefType<T, rank> &out, int64_t n) {
    using Entry = void (*)(StridedMemRefType<T, rank> *, StridedMemRefType<T, rank> *, int64_t);
    reinterpret_cast<Entry>(entry)(&in, &out, n);
  }

private:
  std::unique_ptr<LoadedObject> object;
  void *entry = nullptr;
};

/// The targets whose code this processor runs: every level up to its own, and "host".
llvm::SmallVector<TargetInfo, 4> getExecutableTargets();

} // namespace attn::test

#endif // ATTN_TEST_UNIT_EMITTILE_H
