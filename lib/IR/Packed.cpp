//===- Packed.cpp - packed sequences and pages as dense tensors -----------===//
//
// The reference of cu_seqlens and of paged caches: their sequences are copied
// to memory, padded with zeros. The kernels read them in place.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardFormulas.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

namespace {

Value extractIndex(OpBuilder &b, Location loc, Value tensor, ValueRange position) {
  Value element = tensor::ExtractOp::create(b, loc, tensor, position);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), element);
}

/// A tensor of `sizes` whose element at (ivs) is body(ivs).
Value generate(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes, Type type,
               function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  Value empty = tensor::EmptyOp::create(b, loc, sizes, type);
  AffineMap identity = b.getMultiDimIdentityMap(sizes.size());
  SmallVector<utils::IteratorType> parallel(sizes.size(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, loc, empty.getType(), ValueRange(), empty, identity, parallel,
                                   [&](OpBuilder &nested, Location at, ValueRange) {
                                     Values ivs;
                                     for (unsigned i = 0; i < sizes.size(); ++i)
                                       ivs.push_back(linalg::IndexOp::create(nested, at, i));
                                     linalg::YieldOp::create(nested, at, body(nested, at, ivs));
                                   })
      .getResult(0);
}

/// isInside ? element : 0, without reading outside.
Value guard(OpBuilder &b, Location loc, Value isInside, Type type, function_ref<Value(OpBuilder &)> element) {
  return scf::IfOp::create(
             b, loc, isInside,
             [&](OpBuilder &nested, Location at) { scf::YieldOp::create(nested, at, element(nested)); },
             [&](OpBuilder &nested, Location at) {
               Value zero = arith::ConstantOp::create(nested, at, nested.getZeroAttr(type));
               scf::YieldOp::create(nested, at, zero);
             })
      .getResult(0);
}

Value isLess(OpBuilder &b, Location loc, Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
}

class Padder {
public:
  Padder(OpBuilder &builder, Operation *op) : b(builder), loc(op->getLoc()), sizes(getDomainSizes(builder, op)) {}

  /// Packed (row, head, column) → (sequence, head, row, column).
  Value pad(Value packed, AffineMap map, Value sequences, OpFoldResult rows) {
    if (!isRowHeadColumn(map))
      return {};
    Type type = getElementTypeOrSelf(packed.getType());
    SmallVector<OpFoldResult> shape = {sizes[0], tensor::getMixedSize(b, loc, packed, 1), rows,
                                       tensor::getMixedSize(b, loc, packed, 2)};
    return generate(b, loc, shape, type, [&](OpBuilder &nested, Location at, ValueRange ivs) {
      Value first = extractIndex(nested, at, sequences, ivs[0]), row = arith::AddIOp::create(nested, at, first, ivs[2]);
      return guard(nested, at, isLess(nested, at, row, getEnd(nested, at, sequences, ivs[0])), type,
                   [&](OpBuilder &inside) -> Value {
                     return tensor::ExtractOp::create(inside, at, packed, ValueRange{row, ivs[1], ivs[3]});
                   });
    });
  }

  /// Packed (head, row) → (sequence, head, row).
  Value padRows(Value packed, Value sequences, OpFoldResult rows) {
    Type type = getElementTypeOrSelf(packed.getType());
    SmallVector<OpFoldResult> shape = {sizes[0], tensor::getMixedSize(b, loc, packed, 0), rows};
    return generate(b, loc, shape, type, [&](OpBuilder &nested, Location at, ValueRange ivs) {
      Value first = extractIndex(nested, at, sequences, ivs[0]), row = arith::AddIOp::create(nested, at, first, ivs[2]);
      return guard(nested, at, isLess(nested, at, row, getEnd(nested, at, sequences, ivs[0])), type,
                   [&](OpBuilder &inside) -> Value {
                     return tensor::ExtractOp::create(inside, at, packed, ValueRange{ivs[1], row});
                   });
    });
  }

  /// cu_seqlens[b + 1] - cu_seqlens[b] as i32.
  Value getLengths(Value sequences) {
    return generate(b, loc, sizes[0], b.getI32Type(), [&](OpBuilder &nested, Location at, ValueRange ivs) -> Value {
      Value first = extractIndex(nested, at, sequences, ivs[0]);
      Value length = arith::SubIOp::create(nested, at, getEnd(nested, at, sequences, ivs[0]), first);
      return arith::IndexCastOp::create(nested, at, nested.getI32Type(), length);
    });
  }

  /// Writes the rows of each sequence with at least `minRows` rows one after the other into `output`; `headFirst` for
  /// (head, row).
  Value unpad(Value padded, Value output, Value sequences, bool headFirst, int64_t minRows = 0) {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0), one = arith::ConstantIndexOp::create(b, loc, 1);
    Value count = getValueOrCreateConstantIndexOp(b, loc, sizes[0]);
    auto type = cast<RankedTensorType>(output.getType());
    return scf::ForOp::create(
               b, loc, zero, count, one, output,
               [&](OpBuilder &nested, Location at, Value sequence, ValueRange carried) {
                 Value first = extractIndex(nested, at, sequences, sequence);
                 Value end = getEnd(nested, at, sequences, sequence);
                 if (minRows > 1) {
                   Value least = arith::ConstantIndexOp::create(nested, at, minRows);
                   Value isShort = isLess(nested, at, arith::SubIOp::create(nested, at, end, first), least);
                   end = arith::SelectOp::create(nested, at, isShort, first, end);
                 }
                 auto rows = scf::ForOp::create(
                     nested, at, first, end, one, carried[0],
                     [&](OpBuilder &inner, Location, Value row, ValueRange state) {
                       // One row of all heads: (1, head, 1, column) → (1, head, column), or (head, 1).
                       Value local = arith::SubIOp::create(inner, at, row, first);
                       OpFoldResult unit = inner.getIndexAttr(1), origin = inner.getIndexAttr(0);
                       OpFoldResult heads = tensor::getMixedSize(inner, at, padded, 1);
                       SmallVector<OpFoldResult> from = {OpFoldResult(sequence), origin, OpFoldResult(local)};
                       SmallVector<OpFoldResult> to = {OpFoldResult(row), origin}, extent = {unit, heads, unit};
                       SmallVector<OpFoldResult> target = {unit, heads};
                       int64_t numHeads = type.getDimSize(headFirst ? 0 : 1);
                       SmallVector<int64_t> shape = {numHeads};
                       if (headFirst) {
                         std::swap(to[0], to[1]);
                         std::swap(target[0], target[1]);
                       } else {
                         OpFoldResult columns = tensor::getMixedSize(inner, at, padded, 3);
                         from.push_back(origin), extent.push_back(columns);
                         to.push_back(origin), target.push_back(columns);
                         shape.push_back(type.getDimSize(2));
                       }
                       SmallVector<OpFoldResult> steps(from.size(), unit), targetSteps(to.size(), unit);
                       Value slice = tensor::ExtractSliceOp::create(
                           inner, at, RankedTensorType::get(shape, type.getElementType()), padded, from, extent, steps);
                       Value inserted =
                           tensor::InsertSliceOp::create(inner, at, slice, state[0], to, target, targetSteps);
                       scf::YieldOp::create(inner, at, inserted);
                     });
                 scf::YieldOp::create(nested, at, rows.getResults());
               })
        .getResult(0);
  }

private:
  Value getEnd(OpBuilder &nested, Location at, Value sequences, Value sequence) {
    Value next = arith::AddIOp::create(nested, at, sequence, arith::ConstantIndexOp::create(nested, at, 1));
    return extractIndex(nested, at, sequences, next);
  }

  /// Only results in the order (row, head, column) can be padded.
  static bool isRowHeadColumn(AffineMap map) {
    if (map.getNumResults() != 3 || !map.getResult(1).isFunctionOfDim(1))
      return false;
    auto row = dyn_cast<AffineDimExpr>(map.getResult(0)), column = dyn_cast<AffineDimExpr>(map.getResult(2));
    return row && column && row.getPosition() < column.getPosition();
  }

  OpBuilder &b;
  Location loc;
  SmallVector<OpFoldResult> sizes;
};

/// The default map would not group dynamic heads: the padded op takes the maps of the packed op.
void shareHeads(OpBuilder &builder, Operation *op, Operation *padded) {
  padded->removeAttr("maps");
  SmallVector<AffineMap> maps = getMaps(op), paddedMaps = getMaps(padded);
  for (auto [i, spec] : llvm::enumerate(getOperandSpecs(padded))) {
    if (spec.role != OperandRole::SharedHead)
      continue;
    SmallVector<AffineExpr> exprs(paddedMaps[i].getResults());
    exprs[1] = maps[i].getResult(1);
    paddedMaps[i] = AffineMap::get(maps[i].getNumDims(), 0, exprs, op->getContext());
  }
  padded->setAttr("maps", builder.getAffineMapArrayAttr(paddedMaps));
}

} // namespace

/// The map of the output of a sdpa.
static AffineMap getOutputMap(SdpaOp op) {
  for (auto [map, spec] : llvm::zip(getMaps(op), getOperandSpecs(op)))
    if (spec.name == "output")
      return map;
  llvm_unreachable("an sdpa has an output");
}

FailureOr<Values> attn::padSequences(OpBuilder &builder, SdpaOp op) {
  Location loc = op.getLoc();
  Padder padder(builder, op);
  SmallVector<AffineMap> maps = getMaps(op);
  SmallVector<OpFoldResult> sizes = getDomainSizes(builder, op);
  OpFoldResult rows = sizes[2], keys = sizes[3];
  Value query = padder.pad(op.getQuery(), maps[0], op.getCuSeqlensQ(), rows);
  bool arePacked = hasPackedKeys(op);
  Value key = arePacked ? padder.pad(op.getKey(), maps[1], op.getCuSeqlensK(), keys) : op.getKey();
  Value value = arePacked ? padder.pad(op.getValue(), maps[2], op.getCuSeqlensK(), keys) : op.getValue();
  if (!query || !key || !value)
    return failure();
  SmallVector<OpFoldResult> outShape = {sizes[0], sizes[1], rows, sizes[5]}, rowShape = {sizes[0], sizes[1], rows};
  Value out = op.getAccumulate()
                  ? padder.pad(op.getOutput(), getOutputMap(op), op.getCuSeqlensQ(), rows)
                  : tensor::EmptyOp::create(builder, loc, outShape, getElementTypeOrSelf(op.getOutput().getType()));
  if (!out)
    return failure();
  auto createRows = [&](Value statistic) -> Value {
    if (!statistic || op.getAccumulate())
      return statistic ? padder.padRows(statistic, op.getCuSeqlensQ(), rows) : Value();
    return tensor::EmptyOp::create(builder, loc, rowShape, getElementTypeOrSelf(statistic.getType()));
  };
  Values rowInits;
  for (Value statistic : {op.getLse(), op.getMax(), op.getLogSum()})
    rowInits.push_back(createRows(statistic));
  Value queryLengths = padder.getLengths(op.getCuSeqlensQ());
  Value keyLengths = arePacked ? padder.getLengths(op.getCuSeqlensK()) : Value();

  IRMapping mapping;
  auto padded = cast<SdpaOp>(builder.clone(*op, mapping));
  padded.getQueryMutable().assign(query);
  padded.getKeyMutable().assign(key);
  padded.getValueMutable().assign(value);
  padded.getOutputMutable().assign(out);
  for (auto [statistic, init] : llvm::zip(
           SmallVector<MutableOperandRange>{padded.getLseMutable(), padded.getMaxMutable(), padded.getLogSumMutable()},
           rowInits))
    if (init)
      statistic.assign(init);
  Values inits(cast<DestinationStyleOpInterface>(*padded).getDpsInits());
  for (auto [result, init] : llvm::zip_equal(padded->getResults(), inits))
    result.setType(init.getType());
  padded.getCuSeqlensQMutable().clear();
  padded.getCuSeqlensKMutable().clear();
  padded.getQLengthsMutable().assign(queryLengths);
  if (arePacked)
    padded.getKvLengthsMutable().assign(keyLengths);
  shareHeads(builder, op, padded);

  int64_t minRows = op.getMinQueries().value_or(0);
  padded.removeMinQueriesAttr();
  Values results = {
      padder.unpad(padded->getResult(0), op.getOutput(), op.getCuSeqlensQ(), /*headFirst=*/false, minRows)};
  Values outputs(cast<DestinationStyleOpInterface>(*op).getDpsInits());
  for (auto [result, output] : llvm::drop_begin(llvm::zip_equal(padded->getResults(), outputs)))
    results.push_back(padder.unpad(result, output, op.getCuSeqlensQ(), /*headFirst=*/true, minRows));
  return results;
}

FailureOr<Values> attn::padSequences(OpBuilder &builder, SdpaBackwardOp op) {
  Location loc = op.getLoc();
  Padder padder(builder, op);
  SmallVector<AffineMap> maps = getMaps(op);
  SmallVector<OpFoldResult> sizes = getDomainSizes(builder, op);
  OpFoldResult rows = sizes[2], keys = sizes[3];
  Value ofQueries = op.getCuSeqlensQ(), ofKeys = op.getCuSeqlensK();
  Value query = padder.pad(op.getQuery(), maps[0], ofQueries, rows);
  Value key = ofKeys ? padder.pad(op.getKey(), maps[1], ofKeys, keys) : op.getKey();
  Value value = ofKeys ? padder.pad(op.getValue(), maps[2], ofKeys, keys) : op.getValue();
  Value output = padder.pad(op.getOutput(), maps[3], ofQueries, rows);
  Value dout = padder.pad(op.getDout(), maps[5], ofQueries, rows);
  if (!query || !key || !value || !output || !dout)
    return failure();
  auto createEmpty = [&](Value packed, OpFoldResult length) -> Value {
    SmallVector<OpFoldResult> shape = {sizes[0], tensor::getMixedSize(builder, loc, packed, 1), length,
                                       tensor::getMixedSize(builder, loc, packed, 2)};
    return tensor::EmptyOp::create(builder, loc, shape, getElementTypeOrSelf(packed.getType()));
  };
  auto createInit = [&](StringRef name, Value packed, Value sequences, OpFoldResult length) -> Value {
    if (!sequences)
      return packed;
    if (!accumulatesInto(op, name))
      return createEmpty(packed, length);
    for (auto [map, spec] : llvm::zip(maps, getOperandSpecs(op)))
      if (spec.name == name)
        return padder.pad(packed, map, sequences, length);
    return {};
  };
  Value gradients[] = {createInit("dquery", op.getDquery(), ofQueries, rows),
                       createInit("dkey", op.getDkey(), ofKeys, keys),
                       createInit("dvalue", op.getDvalue(), ofKeys, keys)};
  if (llvm::is_contained(gradients, Value()))
    return failure();
  Value lse = padder.padRows(op.getLse(), ofQueries, rows);
  Value dlse = op.getDlse() ? padder.padRows(op.getDlse(), ofQueries, rows) : Value();
  Value logSum = op.getLogSum() ? padder.padRows(op.getLogSum(), ofQueries, rows) : Value();
  Value queryLengths = padder.getLengths(ofQueries), keyLengths = ofKeys ? padder.getLengths(ofKeys) : Value();

  IRMapping mapping;
  auto padded = cast<SdpaBackwardOp>(builder.clone(*op, mapping));
  for (auto [result, gradient] : llvm::zip(padded->getResults(), gradients))
    result.setType(gradient.getType());
  padded.getQueryMutable().assign(query);
  padded.getKeyMutable().assign(key);
  padded.getValueMutable().assign(value);
  padded.getOutputMutable().assign(output);
  padded.getLseMutable().assign(lse);
  padded.getDoutMutable().assign(dout);
  if (dlse)
    padded.getDlseMutable().assign(dlse);
  if (logSum)
    padded.getLogSumMutable().assign(logSum);
  padded.getDqueryMutable().assign(gradients[0]);
  padded.getDkeyMutable().assign(gradients[1]);
  padded.getDvalueMutable().assign(gradients[2]);
  padded.getCuSeqlensQMutable().clear();
  padded.getCuSeqlensKMutable().clear();
  padded.getQLengthsMutable().assign(queryLengths);
  if (ofKeys)
    padded.getKvLengthsMutable().assign(keyLengths);
  shareHeads(builder, op, padded);

  // Rows after the last sequence have gradients, too: 0.
  Values results(padded->getResults());
  Value outputs[] = {op.getDquery(), op.getDkey(), op.getDvalue()};
  for (auto [i, destination] : llvm::enumerate(outputs)) {
    if (i > 0 && !ofKeys)
      continue; // keys are not packed
    constexpr StringRef names[] = {"dquery", "dkey", "dvalue"};
    Type type = getElementTypeOrSelf(destination.getType());
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type)), rest = destination;
    if (!accumulatesInto(op, names[i]))
      rest = linalg::FillOp::create(builder, loc, zero, destination).getResult(0);
    results[i] = padder.unpad(padded->getResult(i), rest, i == 0 ? ofQueries : ofKeys, /*headFirst=*/false);
  }
  return results;
}

FailureOr<Value> attn::decomposeGatherPages(OpBuilder &builder, GatherPagesOp op) {
  if (!isa<RankedTensorType>(op.getOutput().getType()) || op.getBatch())
    return failure();
  Location loc = op.getLoc();
  auto cache = cast<RankedTensorType>(op.getCache().getType());
  Type type = cache.getElementType();
  SmallVector<OpFoldResult> shape = tensor::getMixedSizes(builder, loc, op.getOutput());
  Value result = generate(builder, loc, shape, type, [&](OpBuilder &b, Location at, ValueRange ivs) {
    Value length = extractIndex(b, at, op.getLengths(), ivs[0]);
    return guard(b, at, isLess(b, at, ivs[2], length), type, [&](OpBuilder &inside) -> Value {
      SmallVector<Value, 4> position = op.getCachePosition(inside, at, ivs[0], ivs[1], ivs[2]);
      llvm::append_range(position, ivs.drop_front(3));
      return tensor::ExtractOp::create(inside, at, op.getCache(), position);
    });
  });
  if (result.getType() != op.getOutput().getType())
    result = tensor::CastOp::create(builder, loc, op.getOutput().getType(), result);
  return result;
}
