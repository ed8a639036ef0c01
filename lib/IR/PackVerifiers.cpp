//===- PackVerifiers.cpp - constraints of ops that copy and prefetch tiles ===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"

using namespace mlir;
using namespace attn;

LogicalResult PackBytesOp::verify() {
  auto shape = [](Value value) { return cast<ShapedType>(value.getType()).getShape(); };
  auto element = [](Value value) { return getElementTypeOrSelf(value.getType()); };
  ArrayRef<int64_t> input = shape(getInput()), digits = shape(getDigits());
  bool isShaped = !input.empty() && digits.size() == input.size() + 1 && digits.drop_back(2) == input.drop_back() &&
                  digits[digits.size() - 2] == 2 && digits.back() >= input.back() &&
                  shape(getScales()) == input.drop_back() && shape(getOffsets()) == input.drop_back();
  if (!isShaped || !isa<FloatType>(element(getInput())) || !element(getDigits()).isInteger(8) ||
      !element(getScales()).isF32() || !element(getOffsets()).isInteger(32))
    return emitOpError(
               "C23: expected rows of floats, and digits (batch…, row, 2, column) of i8, scales (batch…, row) of "
               "f32 and offsets (batch…, row) of i32, found ")
           << getInput().getType() << ", " << getDigits().getType() << ", " << getScales().getType() << " and "
           << getOffsets().getType();
  return success();
}

LogicalResult PrefetchOp::verify() {
  for (Value tile : getTiles())
    if (AffineMap map = getMap(); map.getNumDims() != 2 || map.getNumSymbols() != 0 ||
                                  int64_t(map.getNumResults()) != cast<ShapedType>(tile.getType()).getRank())
      return emitOpError("C24: expected a map from (row, column) to the dimensions of ")
             << tile.getType() << ", found " << getMapAttr();
  return success();
}

LogicalResult PackOp::verify() {
  if (failed(verifyStructure(*this)))
    return failure();
  Type input = getElementTypeOrSelf(getInput().getType()), output = getElementTypeOrSelf(getOutput().getType());
  bool isWidened = isa<FloatType>(output) && (isa<FloatType>(input) || isQuantised(input));
  if (input == output || isWidened || (input.isInteger(1) && output.isInteger(8)))
    return success();
  return emitOpError("C4: expected floats, an i8 input and a float output, one element type, or an i1 input and an i8 "
                     "output, found ")
         << input << " and " << output;
}
