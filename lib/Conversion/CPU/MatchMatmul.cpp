//===- MatchMatmul.cpp - which contractions are products of matrices ------===//
//
// Finds rows, columns and depth of a linalg contraction through its maps: any
// order of its dimensions, any number of others, each operand strided.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Matmul.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn::cpu;

/// Vectors of a panel, where half of the registers or more are left for rows of accumulators.
static constexpr int64_t kMaxPanelVectors = 4, kRegistersPerPanelVector = 8;
/// Rows of a register kernel: each is a stream of its own through A.
static constexpr int64_t kMaxRegisterRows = 8;

int64_t attn::cpu::getPanelVectors(const TargetInfo &target, unsigned bits, int64_t columns) {
  int64_t most = std::min<int64_t>(kMaxPanelVectors, target.vectorRegisters / kRegistersPerPanelVector);
  if (ShapedType::isDynamic(columns))
    return most;
  int64_t total = std::max<int64_t>(1, llvm::divideCeil(columns, target.getLanes(bits)));
  for (int64_t vectors = most; vectors > most / 2; --vectors)
    if (total % vectors == 0)
      return vectors;
  // As many panels as with the widest ones, but of about equal width: the last one wastes fewer lanes.
  return llvm::divideCeil(total, llvm::divideCeil(total, most));
}

int64_t attn::cpu::getRegisterRows(const TargetInfo &target, int64_t panelVectors) {
  // The accumulators, a row of the panel, the broadcast and a product use all registers.
  return std::min(kMaxRegisterRows, (target.vectorRegisters - panelVectors - 2) / panelVectors);
}

static bool involves(AffineMap map, unsigned dim) { return map.isFunctionOfDim(dim); }

/// True if `dim` is an index of the operand by itself and occurs in no other index.
static bool isPlainIndex(AffineMap map, unsigned dim) {
  return llvm::count_if(map.getResults(), [&](AffineExpr expr) { return expr.isFunctionOfDim(dim); }) == 1 &&
         llvm::is_contained(map.getResults(), getAffineDimExpr(dim, map.getContext()));
}

/// True for a dimension that A and C share and B lacks.
static bool isRow(const Matmul &m, unsigned dim) {
  return dim != m.column && dim != m.depth && isPlainIndex(m.a.map, dim) && isPlainIndex(m.c.map, dim) &&
         !involves(m.b.map, dim);
}

/// The argument of the body that `value` is, or is widened from.
static BlockArgument getElement(Value value) {
  while (auto widened = value.getDefiningOp<arith::ExtFOp>()) // bf16 to f64 by way of f32
    value = widened.getIn();
  return dyn_cast<BlockArgument>(value);
}

/// The operand x of a body z + ((x == 0) ? 0 : x * y), as weights multiply values.
static std::optional<unsigned> matchZeroSkippingBody(Block &body) {
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || body.getNumArguments() != 3)
    return std::nullopt;
  bool isFirst = sum.getLhs() == body.getArgument(2);
  auto select = (isFirst ? sum.getRhs() : sum.getLhs()).getDefiningOp<arith::SelectOp>();
  if ((!isFirst && sum.getRhs() != body.getArgument(2)) || !select ||
      !matchPattern(select.getTrueValue(), m_AnyZeroFloat()))
    return std::nullopt;
  auto isZero = select.getCondition().getDefiningOp<arith::CmpFOp>();
  auto product = select.getFalseValue().getDefiningOp<arith::MulFOp>();
  if (!isZero || !product || isZero.getPredicate() != arith::CmpFPredicate::OEQ ||
      product.getLhs() != isZero.getLhs() || !matchPattern(isZero.getRhs(), m_AnyZeroFloat()))
    return std::nullopt;
  BlockArgument x = getElement(product.getLhs()), y = getElement(product.getRhs());
  if (!x || !y || x.getArgNumber() + y.getArgNumber() != 1)
    return std::nullopt;
  return x.getArgNumber();
}

/// The integer of a weight at an even or odd row, where its byte is `byte`; none for another expression.
static std::optional<int64_t> evaluate(Value integer, BlockArgument byte, int64_t number, bool isOdd) {
  if (integer == byte)
    return number;
  Attribute constant;
  if (matchPattern(integer, m_Constant(&constant))) {
    auto attribute = dyn_cast<IntegerAttr>(constant);
    return attribute ? std::optional(attribute.getValue().getSExtValue()) : std::nullopt;
  }
  Operation *op = integer.getDefiningOp();
  // The row is known by its parity alone.
  if (auto parity = dyn_cast_or_null<arith::TruncIOp>(op); parity && parity.getType().isInteger(1)) {
    auto cast = parity.getIn().getDefiningOp<arith::IndexCastOp>();
    return cast && cast.getIn().getDefiningOp<linalg::IndexOp>() ? std::optional<int64_t>(isOdd) : std::nullopt;
  }
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) {
    std::optional<int64_t> condition = evaluate(select.getCondition(), byte, number, isOdd);
    if (!condition)
      return std::nullopt;
    return evaluate(*condition ? select.getTrueValue() : select.getFalseValue(), byte, number, isOdd);
  }
  if (!isa_and_nonnull<arith::ShLIOp, arith::ShRSIOp>(op) || !integer.getType().isInteger(8))
    return std::nullopt;
  std::optional<int64_t> value = evaluate(op->getOperand(0), byte, number, isOdd),
                         shift = evaluate(op->getOperand(1), byte, number, isOdd);
  if (!value || !shift || *shift < 0 || *shift >= 8)
    return std::nullopt;
  return isa<arith::ShLIOp>(op) ? int8_t(uint8_t(*value) << *shift) : int8_t(*value) >> *shift;
}

/// True where even rows have the low 4 bits of their bytes, and odd ones the high 4 bits, of two rows each.
static bool takesNibbles(linalg::LinalgOp op, Value integer) {
  Block &body = *op.getBlock();
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  AffineMap map = op.getIndexingMapsArray()[1];
  auto isDepth = [&](linalg::IndexOp index) { return reductions.size() == 1 && index.getDim() == reductions.front(); };
  if (reductions.size() != 1 || !llvm::all_of(body.getOps<linalg::IndexOp>(), isDepth) || map.getNumResults() != 2 ||
      map.getResult(0) != getAffineDimExpr(reductions.front(), op.getContext()).floorDiv(2))
    return false;
  for (int64_t number = -128; number < 128; ++number) {
    int8_t low = int8_t(uint8_t(number) << 4);
    if (evaluate(integer, body.getArgument(1), number, /*isOdd=*/false) != low >> 4 ||
        evaluate(integer, body.getArgument(1), number, /*isOdd=*/true) != int8_t(number) >> 4)
      return false;
  }
  return true;
}

bool attn::cpu::hasScaledWeights(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 3 || op.getNumDpsInits() != 1)
    return false;
  Block &body = *op.getBlock();
  auto match = [](Value value, auto isLeft) -> Value { // the other operand of a product
    auto product = value ? value.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    if (!product)
      return {};
    return isLeft(product.getLhs()) ? product.getRhs() : isLeft(product.getRhs()) ? product.getLhs() : Value();
  };
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || (sum.getLhs() != body.getArgument(3) && sum.getRhs() != body.getArgument(3)))
    return false;
  Value product = sum.getLhs() == body.getArgument(3) ? sum.getRhs() : sum.getLhs();
  Value weight = match(product, [&](Value x) { return getElement(x) == body.getArgument(0); });
  Value quantised = match(weight, [&](Value x) { return x == body.getArgument(2); });
  auto widened = quantised ? quantised.getDefiningOp<arith::SIToFPOp>() : arith::SIToFPOp();
  return widened && body.getArgument(1).getType().isInteger(8) &&
         (widened.getIn() == body.getArgument(1) || takesNibbles(op, widened.getIn()));
}

FailureOr<Matmul> attn::cpu::matchMatmul(linalg::LinalgOp op) {
  bool isScaled = hasScaledWeights(op);
  if ((op.getNumDpsInputs() != 2 && !isScaled) || op.getNumDpsInits() != 1 || !op.hasPureBufferSemantics())
    return failure();
  auto isMultiplyAdd = [](Operation *first, Operation *second) {
    return isa<arith::MulFOp>(first) && isa<arith::AddFOp>(second);
  };
  // isContractionBody looks through any op of one operand, such as exp.
  auto isPlain = [](Operation &each) { return isa<arith::MulFOp, arith::AddFOp, arith::ExtFOp>(each); };
  std::optional<unsigned> skipping = matchZeroSkippingBody(*op.getBlock());
  if (!isScaled && !skipping &&
      (!llvm::all_of(op.getBlock()->without_terminator(), isPlain) ||
       !linalg::detail::isContractionBody(*op.getBlock(), isMultiplyAdd)))
    return failure();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  Matmul m;
  m.a = {op.getDpsInputs()[0], maps[0], /*isWhole=*/true};
  m.b = {op.getDpsInputs()[1], maps[1], /*isWhole=*/true};
  m.c = {op.getDpsInits()[0], maps.back(), /*isWhole=*/true};
  if (isScaled)
    m.scale = {op.getDpsInputs()[2], maps[2], /*isWhole=*/true};
  m.hasNibbles = isScaled && !op.getBlock()->getOps<linalg::IndexOp>().empty();
  Type type = getElementTypeOrSelf(m.c.memref.getType());
  if ((!type.isF32() && !type.isF64()) || reductions.size() != 1 || maps.back().getNumResults() == 0)
    return failure();
  auto isWider = [&](const Operand &operand) {
    auto element = dyn_cast<FloatType>(getElementTypeOrSelf(operand.memref.getType()));
    return !element || element.getWidth() > type.getIntOrFloatBitWidth();
  };
  if (isWider(m.a) || isWider(isScaled ? *m.scale : m.b))
    return failure();

  // The lanes are the innermost dimension of C; B is the input that has it.
  auto column = dyn_cast<AffineDimExpr>(maps.back().getResults().back());
  if (!column || !m.c.isInnermost(column.getPosition()))
    return failure();
  m.column = column.getPosition();
  m.depth = reductions.front();
  bool isSwapped = involves(m.a.map, m.column);
  if (isScaled && (isSwapped || !m.b.isInnermost(m.column) || !m.scale->isInnermost(m.column)))
    return failure();
  if (isSwapped)
    std::swap(m.a, m.b);
  m.skipsZeros = skipping.has_value();
  if (skipping && *skipping != (isSwapped ? 1 : 0)) // zeros of B
    return failure();
  if (involves(m.a.map, m.column) || !isPlainIndex(m.a.map, m.depth) || !isPlainIndex(m.c.map, m.column))
    return failure();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  m.isGathered = !isScaled && (!isPlainIndex(m.b.map, m.column) || !isPlainIndex(m.b.map, m.depth));
  // A panel is a transpose of B where B has its columns elsewhere.
  if (!m.isGathered && !m.b.isInnermost(m.column) && !m.b.isInnermost(m.depth))
    return failure();

  // The rows are the longest dimension that can be rows.
  for (unsigned dim = 0; dim < sizes.size(); ++dim) {
    if (dim == m.column || dim == m.depth)
      continue;
    m.batch.push_back(dim);
    if (isRow(m, dim) && (!m.row || ShapedType::isDynamic(sizes[dim]) ||
                          (!ShapedType::isDynamic(sizes[*m.row]) && sizes[dim] >= sizes[*m.row])))
      m.row = dim;
  }
  if (m.isGathered && !m.row) // a panel pays for rows; a sum over neighbours is one of elements
    return failure();
  if (m.row)
    llvm::erase(m.batch, *m.row);
  return m;
}

FailureOr<linalg::LinalgOp> attn::cpu::collapseRows(RewriterBase &rewriter, linalg::LinalgOp op, const Matmul &matmul) {
  // Upstream drops indices that are not dimensions, such as the 0 of a head of B that all rows share.
  if (!matmul.row || !isa<linalg::GenericOp>(op) || !matmul.b.map.isProjectedPermutation())
    return failure();
  // The run of row dimensions around the longest one, as C has them.
  ReassociationIndices run;
  for (AffineExpr expr : matmul.c.map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (dim && isRow(matmul, dim.getPosition()))
      run.push_back(dim.getPosition());
    else if (llvm::is_contained(run, int64_t(*matmul.row)))
      break;
    else
      run.clear();
  }
  if (run.size() < 2 || !linalg::areDimSequencesPreserved({matmul.a.map, matmul.c.map}, run))
    return failure();
  rewriter.setInsertionPoint(op);
  FailureOr<linalg::CollapseResult> result = linalg::collapseOpIterationDims(op, run, rewriter);
  if (failed(result))
    return failure();
  rewriter.eraseOp(op);
  return result->collapsedOp;
}
