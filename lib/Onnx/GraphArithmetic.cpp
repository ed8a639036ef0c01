//===- GraphArithmetic.cpp - arithmetic on sizes --------------------------===//
//
// Folded where the sums of GraphSizes.h tell the result; otherwise ops on index
// values, each built once.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphBuilder.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace attn::onnx;
using Predicate = arith::CmpIPredicate;

/// Overflow gives an invalid size: checkValue refuses it where it is used as one.
static Size getOverflow() { return fixed(-1); }

Size GraphBuilder::addDim(mlir::Value tensor, size_t dim) {
  Size size = {std::nullopt, make<tensor::DimOp>(tensor, index(dim))};
  sizes.add(size.value);
  return size;
}

template <typename Op, typename... More>
Size GraphBuilder::addAtom(llvm::ArrayRef<Size> operands, bool isSigned, More... more) {
  std::vector<const void *> key = {mlir::TypeID::get<Op>().getAsOpaquePointer(),
                                   reinterpret_cast<const void *>(uintptr_t(more))...};
  llvm::SmallVector<mlir::Value> values;
  for (const Size &size : operands) {
    values.push_back(index(size));
    key.push_back(values.back().getAsOpaquePointer());
  }
  mlir::Value &value = atoms[key];
  if (value)
    return {std::nullopt, value};
  if constexpr (sizeof...(More) > 0)
    value = make<Op>(more..., values[0], values[1]);
  else if constexpr (std::is_same_v<Op, arith::IndexCastUIOp>)
    value = make<Op>(getIndexType(), values[0]);
  else if constexpr (std::is_same_v<Op, arith::SelectOp>)
    value = make<Op>(values[0], values[1], values[2]);
  else
    value = make<Op>(values[0], values[1]);
  sizes.add(value, isSigned);
  bool isCondition = std::is_same_v<Op, arith::CmpIOp>;
  if (isCondition || !llvm::all_of(operands, [&](const Size &size) { return isTold(size); }))
    untold.insert(value);
  return {std::nullopt, value};
}

bool GraphBuilder::isTold(const Size &size) const {
  return llvm::none_of(sizes.getValues(size), [&](mlir::Value value) { return untold.contains(value); });
}

void GraphBuilder::addLimit(const Size &size, const Size &limit) {
  bool isNew = limits.insert({index(size), index(limit)}).second;
  if (!isNew || !isTold(size) || !isTold(limit))
    return;
  Size holds = addAtom<arith::CmpIOp>({size, limit}, false, Predicate::sle);
  mlir::cf::AssertOp::create(*this, holds.value, "sizes of the run are as the graph takes them");
}

Size GraphBuilder::addSum(const std::optional<SizeSum> &sum, llvm::function_ref<mlir::Value()> build) {
  if (!sum)
    return getOverflow();
  if (std::optional<Size> known = sizes.find(*sum))
    return *known;
  if (build) {
    mlir::Value value = build();
    sizes.add(value, *sum);
    return {std::nullopt, value};
  }
  Size total = fixed(0);
  for (const auto &[values, factor] : sum->getTerms()) {
    Size product = fixed(factor);
    for (unsigned value : values)
      product = multiply(product, sizes.getSize(value));
    total = add(total, product);
  }
  return total;
}

Size GraphBuilder::multiply(const Size &lhs, const Size &rhs) {
  return addSum(SizeSum::multiply(sizes.get(lhs), sizes.get(rhs)),
                [&] { return make<arith::MulIOp>(index(lhs), index(rhs)); });
}

Size GraphBuilder::multiply(const Sizes &factors) {
  Size product = fixed(1);
  for (const Size &size : factors)
    product = multiply(product, size);
  return product;
}

Size GraphBuilder::add(const Size &lhs, const Size &rhs) {
  return addSum(SizeSum::add(sizes.get(lhs), sizes.get(rhs), 1),
                [&] { return make<arith::AddIOp>(index(lhs), index(rhs)); });
}

Size GraphBuilder::subtract(const Size &lhs, const Size &rhs) {
  return addSum(SizeSum::add(sizes.get(lhs), sizes.get(rhs), -1),
                [&] { return make<arith::SubIOp>(index(lhs), index(rhs)); });
}

bool GraphBuilder::areNatural(const Size &lhs, const Size &rhs) const {
  return sizes.isNatural(sizes.get(lhs)) && sizes.isNatural(sizes.get(rhs));
}

Size GraphBuilder::divide(const Size &lhs, const Size &rhs) {
  if (rhs.number == 0)
    return getOverflow();
  if (lhs.number && rhs.number)
    return fixed(*lhs.number / *rhs.number);
  if (std::optional<SizeSum> quotient = SizeSum::divide(sizes.get(lhs), sizes.get(rhs)))
    return addSum(quotient);
  // A product with a size of 0 is 0 and does not trap.
  bool isNatural = areNatural(lhs, rhs);
  Size divisor = rhs.number ? rhs : maximum(rhs, fixed(1));
  return isNatural ? addAtom<arith::DivUIOp>({lhs, divisor}, false) : addAtom<arith::DivSIOp>({lhs, divisor}, true);
}

Size GraphBuilder::minimum(const Size &lhs, const Size &rhs) {
  if (std::optional<int> order = sizes.compare(lhs, rhs))
    return *order <= 0 ? lhs : rhs;
  return addAtom<arith::MinSIOp>({lhs, rhs}, !areNatural(lhs, rhs));
}

Size GraphBuilder::maximum(const Size &lhs, const Size &rhs) {
  if (std::optional<int> order = sizes.compare(lhs, rhs))
    return *order >= 0 ? lhs : rhs;
  bool isNatural = sizes.isNatural(sizes.get(lhs)) || sizes.isNatural(sizes.get(rhs));
  return addAtom<arith::MaxSIOp>({lhs, rhs}, !isNatural);
}

Size GraphBuilder::test(Predicate predicate, const Size &lhs, const Size &rhs) {
  bool isEqual = predicate == Predicate::eq, isLess = predicate == Predicate::slt;
  if (std::optional<int> order = sizes.compare(lhs, rhs)) {
    bool isKnown = isEqual ? *order != 2 && *order != -2 : isLess ? *order != -2 : *order != 2;
    if (isKnown)
      return fixed(isEqual ? *order == 0 : isLess ? *order < 0 : *order <= 0);
  }
  return addAtom<arith::IndexCastUIOp>({addAtom<arith::CmpIOp>({lhs, rhs}, false, predicate)}, false);
}

Size GraphBuilder::choose(const Size &condition, const Size &lhs, const Size &rhs) {
  if (condition.number)
    return *condition.number != 0 ? lhs : rhs;
  if (isSame(lhs, rhs))
    return lhs;
  Size holds = addAtom<arith::CmpIOp>({condition, fixed(0)}, false, Predicate::ne);
  return addAtom<arith::SelectOp>({holds, lhs, rhs}, !areNatural(lhs, rhs));
}
