//===- ByteBuilder.h - vectors of integers of two bytes ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_BYTEBUILDER_H
#define ATTN_LIB_CONVERSION_CPU_BYTEBUILDER_H

#include "VectorTile.h"

namespace attn::cpu {

/// Vectors of integers: as many lanes as `vb` has of 32 bits, or four times as many bytes. Numbers become integers X of
/// 16 bits with two signed digits, x = scale X, X = 256 high + low.
class ByteBuilder {
public:
  /// The largest X whose high digit is no more than 127.
  static constexpr int64_t kMaxInteger = 127 * 256 + 127;
  /// Bytes that a lane adds up.
  static constexpr int64_t kBytes = 4;
  static constexpr int64_t kDigits = 2;

  explicit ByteBuilder(VectorBuilder &vb);

  mlir::Value splat(mlir::VectorType type, int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::arith::AddIOp::create(b, loc, x, y); }
  mlir::Value shiftLeft(mlir::Value x, int64_t count);
  /// acc + the four products of each lane.
  mlir::Value dot(mlir::Value acc, mlir::Value bytes, mlir::Value signedBytes);
  /// Signed bytes as the first factor of a dot takes them: as unsigned ones that are greater by 128, or as they are
  /// (TargetInfo::hasSignedByteDot).
  mlir::Value flipTopBits(mlir::Value bytes);

  /// The larger of `largest` and |x|, as bits: those of floats of one sign are in their order, and NaN is the last.
  mlir::Value maxAbs(mlir::Value largest, mlir::Value x);
  /// Of those bits in each lane: the largest number of all, in every lane.
  mlir::Value getLargest(mlir::Value largest);
  /// 1 / scale of numbers of which that is the largest.
  mlir::Value getInverse(mlir::Value largest);
  /// The next lower power of two.
  mlir::Value roundToPower(mlir::Value x);
  /// 1 / inverse, NaN where `largest` is.
  mlir::Value getScale(mlir::Value largest, mlir::Value inverse);

  /// The integers of `x`, and their digits as bytes.
  struct Integers {
    mlir::Value whole, high, low;
  };
  Integers round(mlir::Value x, mlir::Value inverse);

  /// `rows` are bytes of four keys. Lane i of each result has those of one column, by flipTopBits: the first four
  /// columns of the lower or upper half of each part of 16, and the other four.
  std::array<mlir::Value, 2> gatherKeys(mlir::ArrayRef<mlir::Value> rows, int64_t half);

private:
  /// `even` and `odd` element by element in turn, in each part of 128 bits: those of the lower or upper half of them.
  mlir::Value interleave(mlir::Value even, mlir::Value odd, int64_t elementBytes, int64_t half);

  VectorBuilder &vb;
  mlir::OpBuilder &b;
  mlir::Location loc;

public:
  const int64_t width; ///< of a vector, in bytes
  const mlir::VectorType wordType, byteType;
};

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_BYTEBUILDER_H
