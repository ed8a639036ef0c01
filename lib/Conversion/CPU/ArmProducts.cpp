//===- ArmProducts.cpp - products of 16 and 8 bits of 64-bit Arm ----------===//
//
// Inline assembly: no dialect has bfdot, and a call of an intrinsic is an op of unknown effects. Without
// FEAT_EBF16, bfdot and bfmmla round sums to odd and flush denormals to 0.
//
// Source: Arm Architecture Reference Manual for A-profile architecture, "BFDOT (vector)", "BFMMLA" and "SDOT (vector)".
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ArmProducts.h"

using namespace mlir;
using namespace attn::cpu;

static Value add(VectorBuilder &vb, StringRef code, Value acc, Value a, Value b) {
  return vb.assembly(acc.getType(), {acc, a, b}, code, "=w,0,w,w");
}

Value attn::cpu::emitBf16Dot(VectorBuilder &vb, Value acc, Value a, Value b) {
  return add(vb, "bfdot $0.4s, $2.8h, $3.8h", acc, a, b);
}

Value attn::cpu::emitBf16Matrix(VectorBuilder &vb, Value acc, Value a, Value b) {
  return add(vb, "bfmmla $0.4s, $2.8h, $3.8h", acc, a, b);
}

Value attn::cpu::emitByteDot(VectorBuilder &vb, Value acc, Value a, Value b) {
  return add(vb, "sdot $0.4s, $2.16b, $3.16b", acc, a, b);
}
