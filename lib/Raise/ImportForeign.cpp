//===- ImportForeign.cpp - attn-import-foreign ----------------------------===//
//
// Before: attention ops of IREE and torch-mlir in generic form, as ops that no
// linked dialect has. After: attn.sdpa, on builtin tensors.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MaskOperands.h"
#include "attn/IR/Decompose.h"
#include "attn/Raise/Raise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace attn {
#define GEN_PASS_DEF_IMPORTFOREIGNPASS
#include "attn/Raise/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using attn::raise::mapElements;

static constexpr StringLiteral kIree = "iree_linalg_ext.attention";
static constexpr StringLiteral kIreeOnline = "iree_linalg_ext.online_attention";
static constexpr StringLiteral kTensor = "tm_tensor.attention";
static constexpr StringLiteral kTorch = "torch.aten.scaled_dot_product_attention";

namespace {

/// What all of them say.
struct ForeignAttention {
  Value query, key, value, mask, output;
  AffineMap queryMap, keyMap, valueMap, maskMap, outputMap; // over (batch…, query, key, head, value)
  Value scaleValue;
  std::optional<double> scale; // none, and no value: 1 / sqrt(head)
  bool causal = false;
  Region *scoreMod = nullptr;
};

} // namespace

static Attribute getAttribute(Operation *op, StringRef name) {
  if (Attribute attribute = op->getDiscardableAttr(name))
    return attribute;
  auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  return properties ? properties.get(name) : Attribute();
}

/// The attn.sdpa in front of `op`.
static FailureOr<Value> createSdpa(OpBuilder &b, Operation *op, const ForeignAttention &a) {
  Location loc = op->getLoc();
  SmallVector<AffineMap> maps = {a.queryMap, a.keyMap, a.valueMap};
  if (a.mask)
    maps.push_back(a.maskMap);
  maps.push_back(a.outputMap);
  auto element = cast<FloatType>(getElementTypeOrSelf(a.query.getType()));
  Type accumulation = getAccumulationType(element);
  auto sdpa = SdpaOp::create(b, loc, a.query, a.key, a.value, a.output, Value(), ArrayRef<AffineMap>());
  if (a.mask)
    (getElementTypeOrSelf(a.mask.getType()).isInteger(1) ? sdpa.getMaskMutable() : sdpa.getBiasMutable())
        .assign(a.mask);
  sdpa.setMapsAttr(b.getAffineMapArrayAttr(maps));
  if (a.causal)
    sdpa.setCausalAttr(CausalAlignmentAttr::get(op->getContext(), CausalAlignment::TopLeft));
  FloatAttr constant;
  if (a.scale)
    sdpa.setScaleAttr(b.getF64FloatAttr(*a.scale));
  else if (a.scaleValue && matchPattern(a.scaleValue, m_Constant(&constant)))
    sdpa.setScaleAttr(b.getF64FloatAttr(constant.getValueAsDouble()));
  else if (a.scaleValue) {
    b.setInsertionPoint(sdpa);
    sdpa.getScaleValueMutable().assign(convertFloat(b, loc, a.scaleValue, accumulation));
  }
  if (!a.scoreMod || a.scoreMod->front().getOperations().size() == 1)
    return sdpa->getResult(0);
  sdpa.getScoreMod().takeBody(*a.scoreMod);
  Block &body = sdpa.getScoreMod().front();
  if (body.getNumArguments() != 1 || body.getArgument(0).getType() != accumulation)
    return op->emitError("expected a region of one score of ") << accumulation;
  Operation *yield = &body.back();
  for (Operation &nested : body)
    if (&nested != yield && !nested.isRegistered())
      return nested.emitError("expected ops of arith and math on a score, found ") << nested.getName();
  b.setInsertionPoint(yield);
  YieldOp::create(b, loc, yield->getOperand(0));
  yield->erase();
  return sdpa->getResult(0);
}

//===----------------------------------------------------------------------===//
// iree_linalg_ext
//===----------------------------------------------------------------------===//

/// Maps of dimensions in any order, as those over attn's; fails where there is more than one key, head or value.
static LogicalResult orderDims(Operation *op, ForeignAttention &a) {
  auto has = [](AffineMap map, unsigned dim) { return map.isFunctionOfDim(dim); };
  SmallVector<unsigned> batch, queries, keys, heads, values;
  for (unsigned dim = 0; dim < a.queryMap.getNumDims(); ++dim) {
    bool inQuery = has(a.queryMap, dim), inKey = has(a.keyMap, dim), inValue = has(a.valueMap, dim);
    if (!has(a.outputMap, dim))
      (inQuery ? heads : keys).push_back(dim);
    else if (!inQuery)
      values.push_back(dim);
    else
      (inKey || inValue ? batch : queries).push_back(dim);
  }
  if (queries.empty() || keys.size() != 1 || heads.size() != 1 || values.size() != 1)
    return op->emitError("expected indexing maps of dimensions (batch…, query, key, head, value), each but batch once");
  batch.append(queries.begin(), queries.end() - 1); // query heads that share a head of keys
  SmallVector<unsigned> order = batch;
  order.append({queries.back(), keys[0], heads[0], values[0]});
  SmallVector<AffineExpr> positions(order.size());
  for (auto [position, dim] : llvm::enumerate(order))
    positions[dim] = getAffineDimExpr(position, op->getContext());
  for (AffineMap *map : {&a.queryMap, &a.keyMap, &a.valueMap, &a.maskMap, &a.outputMap})
    if (*map)
      *map = map->replaceDimsAndSymbols(positions, {}, order.size(), 0);
  return success();
}

/// Both of IREE's ops: query, key, value, scale, a mask, destinations.
static FailureOr<ForeignAttention> readIree(Operation *op, unsigned numOutputs) {
  auto maps = dyn_cast_or_null<ArrayAttr>(getAttribute(op, "indexing_maps"));
  unsigned numInputs = op->getNumOperands() - numOutputs;
  if (!maps || maps.size() != op->getNumOperands() || numInputs < 4 || numInputs > 5)
    return op->emitError("expected a query, a key, a value, a scale, a mask or none, ")
           << numOutputs << " destinations, and an indexing map for each";
  auto getMap = [&](unsigned i) { return cast<AffineMapAttr>(maps[i]).getValue(); };
  ForeignAttention a;
  a.query = op->getOperand(0), a.key = op->getOperand(1), a.value = op->getOperand(2);
  a.scaleValue = op->getOperand(3);
  a.queryMap = getMap(0), a.keyMap = getMap(1), a.valueMap = getMap(2);
  if (numInputs == 5)
    a.mask = op->getOperand(4), a.maskMap = getMap(4);
  a.output = op->getOperand(numInputs);
  a.outputMap = getMap(numInputs);
  if (op->getNumRegions() == 1 && !op->getRegion(0).empty())
    a.scoreMod = &op->getRegion(0);
  return failed(orderDims(op, a)) ? FailureOr<ForeignAttention>() : a;
}

static Value createFilled(OpBuilder &b, Location loc, Value like, double value) {
  auto type = cast<RankedTensorType>(like.getType());
  Value empty = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, like), type.getElementType());
  return linalg::FillOp::create(b, loc, createFloatConstant(b, loc, type.getElementType(), value), empty).getResult(0);
}

static LogicalResult importIree(OpBuilder &b, Operation *op) {
  FailureOr<ForeignAttention> a = readIree(op, 1);
  if (failed(a))
    return failure();
  FailureOr<Value> result = createSdpa(b, op, *a);
  if (failed(result))
    return failure();
  op->getResult(0).replaceAllUsesWith(*result);
  return success();
}

/// A whole row in one step: the state is divided by its sum and by nothing else, so that sdpa's output and a sum of 1
/// are as good.
static LogicalResult importIreeOnline(OpBuilder &b, Operation *op) {
  FailureOr<ForeignAttention> a = readIree(op, 3);
  if (failed(a))
    return failure();
  auto isZero = [](Value state) {
    auto fill = state.getDefiningOp<linalg::FillOp>();
    return fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
  };
  unsigned first = op->getNumOperands() - 3;
  Value acc = op->getResult(0), sum = op->getResult(2);
  if (!isZero(op->getOperand(first)) || !isZero(op->getOperand(first + 2)) || !op->getResult(1).use_empty() ||
      !acc.hasOneUse() || !sum.hasOneUse() || *acc.user_begin() != *sum.user_begin())
    return op->emitError("expected an online attention that starts from zeros and whose sum then divides it, found "
                         "another use; write it as iree_linalg_ext.attention");
  Location loc = op->getLoc();
  Value old = a->output;
  a->output =
      tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, old), getElementTypeOrSelf(a->query.getType()));
  FailureOr<Value> result = createSdpa(b, op, *a);
  if (failed(result))
    return failure();
  b.setInsertionPoint(op);
  Value output = *result;
  if (output.getType() != old.getType()) {
    Value empty =
        tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, old), getElementTypeOrSelf(old.getType()));
    output = mapElements(b, loc, output, empty, [&](OpBuilder &nested, Value value) {
      return convertFloat(nested, loc, value, getElementTypeOrSelf(old.getType()));
    });
  }
  acc.replaceAllUsesWith(output);
  sum.replaceAllUsesWith(createFilled(b, loc, op->getOperand(first + 2), 1));
  return success();
}

//===----------------------------------------------------------------------===//
// torch-mlir
//===----------------------------------------------------------------------===//

/// Maps of (batch…, row, column), heads grouped where K or V has fewer.
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

static LogicalResult importTensor(OpBuilder &b, Operation *op) {
  unsigned numInputs = op->getNumOperands() - 1;
  if (op->getNumResults() != 1 || numInputs < 3 || numInputs > 4)
    return op->emitError("expected a query, a key, a value, a mask or none, a destination and a result");
  ForeignAttention a;
  a.query = op->getOperand(0), a.key = op->getOperand(1), a.value = op->getOperand(2);
  if (numInputs == 4)
    a.mask = op->getOperand(3);
  a.output = op->getOperand(numInputs);
  if (auto scale = dyn_cast_or_null<FloatAttr>(getAttribute(op, "scale")))
    a.scale = scale.getValueAsDouble();
  if (failed(setTorchMaps(op, a)))
    return failure();
  FailureOr<Value> result = createSdpa(b, op, a);
  if (failed(result))
    return failure();
  op->getResult(0).replaceAllUsesWith(*result);
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

/// The value of torch.constant.NAME; null where `value` is no constant of the torch dialect.
static Attribute getTorchConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->getName().getStringRef().starts_with("torch.constant.") ? getAttribute(op, "value") : Attribute();
}

static bool isNone(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->getName().getStringRef() == "torch.constant.none";
}

static LogicalResult importTorch(OpBuilder &b, Operation *op) {
  if (op->getNumOperands() != 8 || op->getNumResults() != 1)
    return op->emitError("expected query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa");
  auto dropout = dyn_cast_or_null<FloatAttr>(getTorchConstant(op->getOperand(4)));
  auto causal = dyn_cast_or_null<IntegerAttr>(getTorchConstant(op->getOperand(5)));
  auto scale = dyn_cast_or_null<FloatAttr>(getTorchConstant(op->getOperand(6)));
  if (!dropout || !dropout.getValue().isZero() || !causal || (!scale && !isNone(op->getOperand(6))))
    return op->emitError("expected a constant dropout_p of 0 and constants is_causal and scale");
  ForeignAttention a;
  a.query = op->getOperand(0), a.key = op->getOperand(1), a.value = op->getOperand(2);
  if (!isNone(op->getOperand(3)))
    a.mask = op->getOperand(3);
  for (Value operand : {a.query, a.key, a.value, a.mask})
    if (operand && !isa<RankedTensorType>(operand.getType()))
      return op->emitError("expected operands of type !torch.vtensor<[SIZES],TYPE> of floats, found ")
             << operand.getType();
  a.causal = !causal.getValue().isZero();
  if (scale)
    a.scale = scale.getValueAsDouble();
  if (failed(setTorchMaps(op, a)))
    return failure();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, op->getLoc(), a.query);
  sizes.back() = tensor::getMixedSize(b, op->getLoc(), a.value, sizes.size() - 1);
  a.output = tensor::EmptyOp::create(b, op->getLoc(), sizes, getElementTypeOrSelf(a.query.getType()));
  FailureOr<Value> result = createSdpa(b, op, a);
  if (failed(result))
    return failure();
  op->getResult(0).replaceAllUsesWith(*result);
  return success();
}

/// Arguments and results of torch's tensor types become builtin tensors.
static void convertSignature(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (RankedTensorType type = getTensorType(argument.getType()))
      argument.setType(type);
}

static void finishSignature(func::FuncOp function) {
  Operation *terminator = function.front().getTerminator();
  function.setType(
      FunctionType::get(function.getContext(), function.front().getArgumentTypes(), terminator->getOperandTypes()));
}

namespace {
struct ImportForeignPass : public attn::impl::ImportForeignPassBase<ImportForeignPass> {
  using ImportForeignPassBase::ImportForeignPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<Operation *> ops;
    bool isTorch = false;
    function.walk([&](Operation *op) {
      StringRef name = op->getName().getStringRef();
      isTorch |= name == kTorch;
      if (llvm::is_contained({StringRef(kIree), StringRef(kIreeOnline), StringRef(kTensor), StringRef(kTorch)}, name))
        ops.push_back(op);
    });
    if (isTorch)
      convertSignature(function);
    for (Operation *op : ops) {
      OpBuilder b(op);
      StringRef name = op->getName().getStringRef();
      auto import = name == kIree         ? importIree
                    : name == kIreeOnline ? importIreeOnline
                    : name == kTensor     ? importTensor
                                          : importTorch;
      if (!isa_and_nonnull<FloatType>(op->getNumOperands() ? getElementTypeOrSelf(op->getOperand(0).getType())
                                                           : Type())) {
        op->emitError("expected queries that are a tensor of floats");
        return signalPassFailure();
      }
      if (failed(import(b, op)))
        return signalPassFailure();
      op->erase();
    }
    if (isTorch) {
      function.walk([](Operation *op) {
        if (op->getName().getStringRef().starts_with("torch.constant.") && op->use_empty())
          op->erase();
      });
      finishSignature(function);
    }
    WalkResult unknown = function.walk([&](Operation *op) {
      if (ops.empty() || op->isRegistered())
        return WalkResult::advance();
      op->emitError("expected linalg beside the attention, found ") << op->getName() << "; lower it to linalg first";
      return WalkResult::interrupt();
    });
    if (unknown.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
