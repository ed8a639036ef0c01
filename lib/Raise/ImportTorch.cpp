//===- ImportTorch.cpp - attention ops of torch-mlir ----------------------===//
//
// PyTorch decomposes F.scaled_dot_product_attention into one op for each of its kernels. They differ in the order of
// operands and in their additional results: each has a row.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ForeignAttention.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;
using namespace attn::raise;

namespace {

/// Positions of operands besides query, key and value, and of a result; -1 where there is none.
struct TorchOp {
  StringLiteral name;
  unsigned numOperands;
  int mask, dropout, causal, dropoutMask, scale, lse;
};

constexpr StringLiteral kPrefix = "torch.aten.";
constexpr TorchOp kTorchOps[] = {
    {"scaled_dot_product_attention", 8, 3, 4, 5, -1, 6, -1},
    {"_scaled_dot_product_attention_math", 9, 3, 4, 5, 6, 7, -1},
    {"_scaled_dot_product_flash_attention_for_cpu", 7, 5, 3, 4, -1, 6, 1},
    {"_scaled_dot_product_flash_attention", 7, -1, 3, 4, -1, 6, 1},
    {"_scaled_dot_product_efficient_attention", 8, 3, 5, 6, -1, 7, 1},
    {"_scaled_dot_product_cudnn_attention", 9, 3, 5, 6, -1, 8, 1},
    {"_scaled_dot_product_fused_attention_overrideable", 8, 3, 4, 5, -1, 7, 1},
};

} // namespace

/// Null for other ops. An op that the torch dialect lacks is torch.operator with its name.
static const TorchOp *findTorchOp(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (name == "torch.operator")
    if (auto given = dyn_cast_or_null<StringAttr>(getForeignAttribute(op, "name")))
      name = given.getValue();
  if (!name.consume_front(kPrefix))
    return nullptr;
  name.consume_back(".default");
  const auto *found = llvm::find_if(kTorchOps, [&](const TorchOp &row) { return row.name == name; });
  return found == std::end(kTorchOps) ? nullptr : found;
}

bool attn::raise::isTorchAttention(Operation *op) { return findTorchOp(op); }

/// Maps of (batch…, row, column), with grouped heads where K or V has fewer.
static LogicalResult setTorchMaps(Operation *op, ForeignAttention &a) {
  auto getShape = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  MLIRContext *ctx = op->getContext();
  unsigned rank = getShape(a.query).size(), numBatch = rank - 2;
  if (rank < 2 || getShape(a.key).size() != rank || getShape(a.value).size() != rank)
    return op->emitError("expected queries, keys and values of one rank, of two dimensions or more");
  enum { kQuery, kKey, kHead, kValue };
  auto getMap = [&](unsigned row, unsigned column, ArrayRef<int64_t> shape) {
    SmallVector<AffineExpr> exprs;
    for (unsigned i = 0; i < numBatch; ++i) {
      AffineExpr expr = getAffineDimExpr(i, ctx);
      int64_t size = shape[i], whole = getShape(a.query)[i];
      bool isShared = size != whole && !ShapedType::isDynamic(size) && !ShapedType::isDynamic(whole) && size > 0;
      exprs.push_back(isShared ? expr.floorDiv(whole / size) : expr);
    }
    exprs.append({getAffineDimExpr(numBatch + row, ctx), getAffineDimExpr(numBatch + column, ctx)});
    return AffineMap::get(numBatch + 4, 0, exprs, ctx);
  };
  a.queryMap = getMap(kQuery, kHead, getShape(a.query));
  a.keyMap = getMap(kKey, kHead, getShape(a.key));
  a.valueMap = getMap(kKey, kValue, getShape(a.value));
  a.outputMap = getMap(kQuery, kValue, getShape(a.query));
  if (!a.mask)
    return success();
  SmallVector<AffineExpr> exprs;
  ArrayRef<int64_t> shape = getShape(a.mask);
  SmallVector<int64_t> scores(getShape(a.query).drop_back());
  scores.push_back(getShape(a.key)[numBatch]);
  if (shape.size() > rank)
    return op->emitError("expected a mask of at most ") << rank << " dimensions, found " << a.mask.getType();
  for (auto [i, size] : llvm::enumerate(shape)) {
    unsigned dim = rank - shape.size() + i;
    exprs.push_back(size == 1 && scores[dim] != 1 ? getAffineConstantExpr(0, ctx) : getAffineDimExpr(dim, ctx));
  }
  a.maskMap = AffineMap::get(numBatch + 4, 0, exprs, ctx);
  return success();
}

LogicalResult attn::raise::importTmTensor(OpBuilder &b, Operation *op) {
  unsigned numInputs = op->getNumOperands() - 1;
  if (op->getNumResults() != 1 || numInputs < 3 || numInputs > 4)
    return op->emitError("expected a query, a key, a value, a mask or none, a destination and a result");
  if (!llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) ||
      op->getResult(0).getType() != op->getOperand(numInputs).getType())
    return op->emitError("expected ranked tensors, and a result of the type of its destination");
  ForeignAttention a;
  a.query = op->getOperand(0), a.key = op->getOperand(1), a.value = op->getOperand(2);
  if (numInputs == 4)
    a.mask = op->getOperand(3);
  a.output = op->getOperand(numInputs);
  if (auto scale = dyn_cast_or_null<FloatAttr>(getForeignAttribute(op, "scale")))
    a.scale = scale.getValueAsDouble();
  if (failed(setTorchMaps(op, a)))
    return failure();
  FailureOr<SdpaValues> result = createSdpa(b, op, a);
  if (failed(result))
    return failure();
  op->getResult(0).replaceAllUsesWith(result->output);
  return success();
}

/// The builtin type of `vtensor<[1,4,?,64],f32>`; null for others.
static RankedTensorType getTensorType(Type type) {
  auto opaque = dyn_cast<OpaqueType>(type);
  if (!opaque || opaque.getDialectNamespace() != "torch")
    return {};
  StringRef text = opaque.getTypeData();
  if (!text.consume_front("vtensor<[") || !text.consume_back(">"))
    return {};
  auto [sizes, element] = text.split("],");
  SmallVector<int64_t> shape;
  SmallVector<StringRef> parts;
  sizes.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    int64_t size = ShapedType::kDynamic;
    if (part.trim() != "?" && part.trim().getAsInteger(10, size))
      return {};
    shape.push_back(size);
  }
  Builder b(type.getContext());
  Type elementType = llvm::StringSwitch<Type>(element.trim())
                         .Case("f16", b.getF16Type())
                         .Case("bf16", b.getBF16Type())
                         .Case("f32", b.getF32Type())
                         .Case("f64", b.getF64Type())
                         .Case("i1", b.getI1Type())
                         .Default({});
  return elementType ? RankedTensorType::get(shape, elementType) : RankedTensorType();
}

/// The value of torch.constant.NAME; null where `value` is not a constant of the torch dialect.
static Attribute getTorchConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->getName().getStringRef().starts_with("torch.constant.") ? getForeignAttribute(op, "value")
                                                                           : Attribute();
}

static bool isNone(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->getName().getStringRef() == "torch.constant.none";
}

/// The only additional output that may have uses is the log-sum-exp, (batch…, query).
static LogicalResult checkResults(Operation *op, const TorchOp &row, ForeignAttention &a) {
  for (OpResult result : op->getResults().drop_front()) {
    if (result.use_empty())
      continue;
    if (int(result.getResultNumber()) != row.lse)
      return op->emitError("expected a use of the output")
             << (row.lse > 0 ? " and of the log-sum-exp" : "") << " alone, found one of result "
             << result.getResultNumber() << "; leave it out";
    RankedTensorType type = getTensorType(result.getType());
    auto query = cast<RankedTensorType>(a.query.getType());
    if (!type || !isa<FloatType>(type.getElementType()) ||
        failed(verifyCompatibleShape(type.getShape(), query.getShape().drop_back())))
      return op->emitError("expected a log-sum-exp of floats and of the sizes of the query but its last one, ")
             << query << ", found " << result.getType();
    unsigned rank = query.getRank();
    a.lseMap = AffineMap::getMultiDimIdentityMap(rank + 2, op->getContext()).getMajorSubMap(rank - 1);
  }
  return success();
}

LogicalResult attn::raise::importTorch(OpBuilder &b, Operation *op) {
  const TorchOp &row = *findTorchOp(op);
  if (op->getNumOperands() != row.numOperands || op->getNumResults() == 0)
    return op->emitError("expected ") << row.numOperands << " operands, those of aten::" << row.name << ", found "
                                      << op->getNumOperands();
  auto dropout = dyn_cast_or_null<FloatAttr>(getTorchConstant(op->getOperand(row.dropout)));
  auto causal = dyn_cast_or_null<IntegerAttr>(getTorchConstant(op->getOperand(row.causal)));
  auto scale = dyn_cast_or_null<FloatAttr>(getTorchConstant(op->getOperand(row.scale)));
  if (!dropout || !dropout.getValue().isZero() || !causal || (!scale && !isNone(op->getOperand(row.scale))))
    return op->emitError("expected a constant dropout_p of 0 and constants is_causal and scale");
  if (row.dropoutMask >= 0 && !isNone(op->getOperand(row.dropoutMask)))
    return op->emitError("expected no dropout_mask, found one");
  ForeignAttention a;
  a.query = op->getOperand(0), a.key = op->getOperand(1), a.value = op->getOperand(2);
  if (row.mask >= 0 && !isNone(op->getOperand(row.mask)))
    a.mask = op->getOperand(row.mask);
  for (Value operand : {a.query, a.key, a.value, a.mask})
    if (operand && !isa<RankedTensorType>(operand.getType()))
      return op->emitError("expected operands of type !torch.vtensor<[SIZES],TYPE> of floats, found ")
             << operand.getType();
  a.causal = !causal.getValue().isZero();
  if (scale)
    a.scale = scale.getValueAsDouble();
  if (failed(setTorchMaps(op, a)) || failed(checkResults(op, row, a)))
    return failure();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, op->getLoc(), a.query);
  sizes.back() = tensor::getMixedSize(b, op->getLoc(), a.value, sizes.size() - 1);
  a.output = tensor::EmptyOp::create(b, op->getLoc(), sizes, getElementTypeOrSelf(a.query.getType()));
  FailureOr<SdpaValues> result = createSdpa(b, op, a);
  if (failed(result))
    return failure();
  op->getResult(0).replaceAllUsesWith(result->output);
  if (result->lse) {
    Type element = getTensorType(op->getResult(row.lse).getType()).getElementType();
    op->getResult(row.lse).replaceAllUsesWith(convertElements(b, op->getLoc(), result->lse, element));
  }
  return success();
}

void attn::raise::convertTorchArguments(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (RankedTensorType type = getTensorType(argument.getType()))
      argument.setType(type);
}

void attn::raise::finishTorchFunction(func::FuncOp function) {
  function.walk([](Operation *op) {
    if (op->getName().getStringRef().starts_with("torch.constant.") && op->use_empty())
      op->erase();
  });
  Operation *terminator = function.front().getTerminator();
  function.setType(
      FunctionType::get(function.getContext(), function.front().getArgumentTypes(), terminator->getOperandTypes()));
}
