//===- OpsSelection.cpp - ArgMax, ArgMin ----------------------------------===//
//
// Two reductions: the extreme value, then the first (or last) position of it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shared.h"

using namespace attn::onnx;
using llvm::Expected;
using llvm::formatv;

/// True for the extreme, and for a NaN, which is the extreme if there is one.
static mlir::Value addTest(GraphBuilder &b, mlir::Value x, mlir::Value extreme) {
  if (!mlir::isa<mlir::FloatType>(x.getType()))
    return b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, x, extreme);
  mlir::Value equals = b.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, extreme);
  return b.make<arith::OrIOp>(equals, b.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x));
}

/// Y(…) = the position along the axis of the largest (smallest) element, the first of several or, with
/// select_last_index, the last.
static Expected<Values> buildArg(NodeView &view) {
  const Value &value = view.get(0);
  if (value.element == DataType::Bool)
    return view.fail("expected an input of numbers, found BOOL");
  Expected<size_t> axis = view.getAxis(view.getInteger("axis", 0), value.getRank());
  if (!axis)
    return axis.takeError();
  if (value.sizes[*axis].number == 0)
    return view.fail(formatv("expected elements in dimension {0}, found none", *axis));
  GraphBuilder &b = view.b;
  bool isLast = view.getInteger("select_last_index", 0) != 0;
  Value input = b.cast(value, getComputeType(value.element));
  Value extreme = addExtreme(b, input, *axis, view.getOp() == "ArgMax");
  // min(i where x is the extreme, else the largest number): max, with -1, for the last.
  Sizes sizes = value.sizes;
  Exprs map = b.getDims(value.getRank()), extremeMap = map;
  sizes.erase(sizes.begin() + *axis);
  map.erase(map.begin() + *axis);
  extremeMap[*axis] = b.getAffineConstantExpr(0);
  mlir::Value other = b.integer(isLast ? int64_t(-1) : INT64_MAX, b.getI64Type());
  Value init = b.addFilled(DataType::Int64, sizes, other);
  Operand operands[] = {{&input, b.getDims(value.getRank())}, {&extreme, extremeMap}};
  Value result = b.addGeneric(init, map, operands, value.getRank(), *axis, [&](Args x) {
    mlir::Value isFound = addTest(b, x[0], x[1]);
    mlir::Value place = b.make<arith::IndexCastOp>(b.getI64Type(), b.addLoopIndex(*axis));
    place = b.make<arith::SelectOp>(isFound, place, other);
    return isLast ? b.make<arith::MaxSIOp>(x[2], place) : b.make<arith::MinSIOp>(x[2], place);
  });
  if (view.getInteger("keepdims", 1) == 0)
    return one(result);
  sizes = value.sizes;
  sizes[*axis] = fixed(1);
  return one(b.reshape(result, sizes));
}

llvm::ArrayRef<RuleRow> attn::onnx::getSelectionRules() {
  static constexpr RuleRow rows[] = {{"ArgMax", buildArg, 1, 1}, {"ArgMin", buildArg, 1, 1}};
  return rows;
}
