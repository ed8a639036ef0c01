//===- SizeReader.cpp - sizes as formulas of argument sizes ---------------===//
//
// Traces a result back to the index arithmetic of its destination. The kernel itself computes these values, so a caller
// that evaluates the formula allocates a buffer of the size that the kernel fills.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SizeReader.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

std::optional<unsigned> SizeReader::find(unsigned id) const {
  const auto *place = llvm::find(ids, id);
  return place == ids.end() ? std::nullopt : std::optional(unsigned(place - ids.begin()));
}

unsigned SizeReader::add(unsigned id) {
  ids.push_back(id);
  formulas.emplace_back();
  return ids.size() - 1;
}

unsigned SizeReader::add(unsigned id, const SizeFormula &formula) {
  if (auto *known = llvm::find(formulas, formula); known != formulas.end())
    return known - formulas.begin();
  unsigned place = add(id);
  formulas[place] = formula;
  return place;
}

static std::optional<SizeFormula> makeFormula(SizeWord::Op op, int64_t value) {
  SizeFormula formula;
  formula.append({op, value});
  return formula;
}

std::optional<SizeFormula> SizeReader::join(SizeWord::Op op, ArrayRef<OpFoldResult> values) const {
  std::optional<SizeFormula> result = read(values.front());
  for (OpFoldResult value : values.drop_front()) {
    std::optional<SizeFormula> next = read(value);
    if (!result || !next || !result->append(*next) || !result->append({op}))
      return std::nullopt;
  }
  return result;
}

/// The operand whose size in this dimension an op's result has; null where there is none.
static Value getSource(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return nullptr;
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
    return dps.getTiedOpOperand(cast<OpResult>(tensor))->get();
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return isa<RankedTensorType>(cast.getSource().getType()) ? cast.getSource() : Value();
  bool isElementwise = op->hasTrait<OpTrait::Elementwise>() && op->getNumOperands() > 0;
  Value last = isElementwise ? op->getOperand(op->getNumOperands() - 1) : Value(); // of arith.select: no condition
  return last && isa<RankedTensorType>(last.getType()) ? last : Value();
}

std::optional<SizeFormula> SizeReader::read(Value tensor, unsigned dim) const {
  for (Value source = tensor; source; source = getSource(tensor)) {
    tensor = source;
    auto type = cast<RankedTensorType>(tensor.getType());
    if (!type.isDynamicDim(dim))
      return makeFormula(SizeWord::Op::Number, type.getDimSize(dim));
    if (std::optional<unsigned> place = find(classes.find(tensor, dim)))
      return formulas[*place].empty() ? makeFormula(SizeWord::Op::Size, *place) : formulas[*place];
  }
  return llvm::TypeSwitch<Operation *, std::optional<SizeFormula>>(tensor.getDefiningOp())
      .Case([&](tensor::EmptyOp op) { return read(op.getMixedSizes()[dim]); })
      .Case([&](tensor::ExpandShapeOp op) { return read(op.getMixedOutputShape()[dim]); })
      .Case([&](tensor::ExtractSliceOp op) {
        SmallVector<OpFoldResult> sizes = op.getMixedSizes(), kept;
        llvm::SmallBitVector dropped = op.getDroppedDims();
        for (auto [i, size] : llvm::enumerate(sizes))
          if (!dropped.test(i))
            kept.push_back(size);
        return read(kept[dim]);
      })
      .Case([&](tensor::CollapseShapeOp op) {
        std::optional<SizeFormula> product;
        for (int64_t each : op.getReassociationIndices()[dim]) {
          std::optional<SizeFormula> size = read(op.getSrc(), each);
          if (!size || (product && (!product->append(*size) || !product->append({SizeWord::Op::Multiply}))))
            return std::optional<SizeFormula>();
          product = product ? product : size;
        }
        return product;
      })
      .Case([&](tensor::PadOp op) {
        std::optional<SizeFormula> sum = read(op.getSource(), dim);
        for (OpFoldResult more : {op.getMixedLowPad()[dim], op.getMixedHighPad()[dim]}) {
          std::optional<SizeFormula> size = read(more);
          if (!sum || !size || !sum->append(*size) || !sum->append({SizeWord::Op::Add}))
            return std::optional<SizeFormula>();
        }
        return sum;
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<SizeFormula> SizeReader::read(OpFoldResult index) const {
  if (std::optional<int64_t> number = getConstantIntValue(index))
    return makeFormula(SizeWord::Op::Number, *number);
  auto value = dyn_cast<Value>(index);
  return value ? readArithmetic(value) : std::nullopt;
}

std::optional<SizeFormula> SizeReader::readArithmetic(Value index) const {
  using Op = SizeWord::Op;
  return llvm::TypeSwitch<Operation *, std::optional<SizeFormula>>(index.getDefiningOp())
      .Case([&](tensor::DimOp op) -> std::optional<SizeFormula> {
        std::optional<int64_t> dim = op.getConstantIndex();
        return dim && isa<RankedTensorType>(op.getSource().getType()) ? read(op.getSource(), *dim) : std::nullopt;
      })
      .Case([&](arith::AddIOp op) { return join(Op::Add, {op.getLhs(), op.getRhs()}); })
      .Case([&](arith::SubIOp op) { return join(Op::Subtract, {op.getLhs(), op.getRhs()}); })
      .Case([&](arith::MulIOp op) { return join(Op::Multiply, {op.getLhs(), op.getRhs()}); })
      .Case<arith::DivSIOp, arith::DivUIOp>([&](auto op) { return join(Op::Divide, {op.getLhs(), op.getRhs()}); })
      .Case<arith::MinSIOp, arith::MinUIOp>([&](auto op) { return join(Op::Minimum, {op.getLhs(), op.getRhs()}); })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([&](auto op) { return join(Op::Maximum, {op.getLhs(), op.getRhs()}); })
      .Default([](Operation *) { return std::nullopt; });
}

SmallVector<SizeLimit> attn::takeSizeLimits(func::FuncOp function, const SizeReader &sizes) {
  SmallVector<SizeLimit> limits;
  for (auto condition : llvm::make_early_inc_range(function.getBody().front().getOps<cf::AssertOp>())) {
    auto compare = condition.getArg().getDefiningOp<arith::CmpIOp>();
    if (!compare || compare.getPredicate() != arith::CmpIPredicate::sle)
      continue;
    std::optional<SizeFormula> value = sizes.read(OpFoldResult(compare.getLhs())),
                               limit = sizes.read(OpFoldResult(compare.getRhs()));
    if (!value || !limit)
      continue;
    if (SizeLimit found{*value, *limit}; !llvm::is_contained(limits, found))
      limits.push_back(found);
    condition.erase();
  }
  return limits;
}
