//===- ByteBuilder.h - vectors of integers of two bytes ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_BYTEBUILDER_H
#define ATTN_LIB_CONVERSION_CPU_BYTEBUILDER_H

#include "VectorTile.h"

namespace attn::cpu {

/// Vectors of integers: as many lanes of 32 bits as `vb` has, or four times as many bytes. Floats become integers X of
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
  /// Signed bytes as the first factor of a dot: as unsigned bytes that are greater by 128, or unchanged
  /// (TargetInfo::hasSignedByteDot).
  mlir::Value flipTopBits(mlir::Value bytes);

  /// max(largest, |x|) as bits: floats of one sign are ordered like their bits, with NaN the largest.
  mlir::Value maxAbs(mlir::Value largest, mlir::Value x);
  /// The maximum over all lanes of such bits, in every lane.
  mlir::Value getLargest(mlir::Value largest);
  /// 1 / scale of values with this maximum.
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

  /// `rows` are bytes of four keys. Lane i of each result holds those of one column, after flipTopBits: the first four
  /// columns of the lower or upper half of each 16, and the other four.
  std::array<mlir::Value, 2> gatherKeys(mlir::ArrayRef<mlir::Value> rows, int64_t half);

private:
  /// Interleaves elements of `even` and `odd` in each 128 bits: those of their lower or upper halves.
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
