//===- SpecializeSequences.cpp - attn-specialize-sequences ----------------===//
//
// A step of a serving engine packs queries of many sequences: prompts, single tokens on long caches, and drafts of a
// few tokens. Prompts need another kind of kernel than the others, so the sdpa is split by kind:
//
//   rows of sequences of one query → (B, Hq, 1, D) → sdpa of one query → their rows of the outputs
//   the same for sequences of 2 to 4 and of 5 to 8 queries, if any: (B, Hq, 4, D) and (B, Hq, 8, D)
//   sdpa {min_queries = 9} of all others
//
// The kind depends only on the length of a sequence, so its result is bitwise the same in any batch. The copies are 2
// Hq rows per query; the keys are 2 Hkv Sk rows.
//
// Before: sdpa with cu_seqlens of queries alone, masks spelled out. After: one sdpa for each kind of sequence.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Specialize.h"
#include "Tile/TileBuilder.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn {
#define GEN_PASS_DEF_SPECIALIZESEQUENCESPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Most queries of the sequences that are computed together. Padding a sequence costs time; each class costs compile
/// time.
constexpr int64_t kClasses[] = {1, 4, 8};

/// Builds the sdpa of sequences of `least` to `most` queries, and copies their rows.
class ShortSequences {
public:
  ShortSequences(OpBuilder &builder, SdpaOp op, int64_t least, int64_t most)
      : b(builder), op(op), loc(op.getLoc()), least(least), most(most),
        count(tensor::getMixedSize(b, loc, op.getKey(), 0)) {}

  /// The outputs of `op` with the rows of these sequences.
  SmallVector<Value> create() {
    if (most == 1)
      return scatter(createDense());
    return createBranch(
        b, loc, findAny(), [&] { return scatter(createDense()); },
        [&] { return SmallVector<Value>(op.getDpsInits()); });
  }

private:
  /// The sdpa of these sequences only.
  SdpaOp createDense() {
    Value query = gather(op.getQuery()), keys = createKeyLengths();
    auto inits = llvm::map_to_vector(op.getDpsInits(),
                                     [&](Value init) { return op.getAccumulate() ? gather(init) : createEmpty(init); });
    auto dense = cast<SdpaOp>(b.clone(*op));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(dense);
    dense.getCuSeqlensQMutable().clear();
    dense.removeMinQueriesAttr();
    dense.getQueryMutable().assign(query);
    dense.getKvLengthsMutable().assign(keys);
    if (most > 1)
      dense.getQLengthsMutable().assign(createQueryLengths());
    // It visits only pages within these lengths.
    for (OpOperand *rows : {&dense.getKeyMutable(), &dense.getValueMutable()})
      if (auto pages = rows->get().getDefiningOp<GatherPagesOp>()) {
        auto copy = cast<GatherPagesOp>(b.clone(*pages));
        copy.getLengthsMutable().assign(keys);
        rows->set(copy->getResult(0));
      }
    for (auto [operand, init, result] : llvm::zip_equal(dense.getDpsInitsMutable(), inits, dense->getResults())) {
      operand.set(init);
      result.setType(init.getType());
    }
    return dense;
  }

  SmallVector<Value> scatter(SdpaOp dense) {
    SmallVector<Value> results;
    for (auto [result, output] : llvm::zip_equal(dense->getResults(), op.getDpsInits()))
      results.push_back(scatter(result, output));
    return results;
  }

  /// Called with a sequence index, its first row, its number of rows, and the loop-carried value.
  using Body = function_ref<Value(Value sequence, Value start, Value rows, Value carried)>;

  /// True for (Hq, total_q), false for (total_q, Hq, column).
  static bool isStatistic(Value packed) { return cast<ShapedType>(packed.getType()).getRank() == 2; }
  /// (B, Hq, most), or (B, Hq, most, column).
  Value createEmpty(Value packed) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, packed);
    SmallVector<OpFoldResult> dense = {count, sizes[isStatistic(packed) ? 0 : 1], b.getIndexAttr(most)};
    if (!isStatistic(packed))
      dense.push_back(sizes[2]);
    return tensor::EmptyOp::create(b, loc, dense, getElementTypeOrSelf(packed.getType()));
  }

  Value getIndex(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value getStart(Value sequence) {
    Value start = tensor::ExtractOp::create(b, loc, op.getCuSeqlensQ(), sequence);
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), start);
  }
  Value getRows(Value sequence, Value start) {
    Value end = getStart(arith::AddIOp::create(b, loc, sequence, getIndex(1)));
    return arith::SubIOp::create(b, loc, end, start);
  }
  /// True for a sequence of this class.
  Value isShort(Value rows) {
    auto compare = [&](arith::CmpIPredicate predicate, int64_t number) -> Value {
      return arith::CmpIOp::create(b, loc, predicate, rows, getIndex(number));
    };
    if (least == most)
      return compare(arith::CmpIPredicate::eq, least);
    return arith::AndIOp::create(b, loc, compare(arith::CmpIPredicate::sge, least),
                                 compare(arith::CmpIPredicate::sle, most));
  }

  /// `init` after `body` for each of these sequences.
  Value forEach(Value init, Body body) {
    auto loop =
        scf::ForOp::create(b, loc, getIndex(0), getValueOrCreateConstantIndexOp(b, loc, count), getIndex(1), init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value sequence = loop.getInductionVar(), carried = loop.getRegionIterArg(0), start = getStart(sequence),
          rows = getRows(sequence, start);
    auto branch = scf::IfOp::create(b, loc, init.getType(), isShort(rows), /*withElseRegion=*/true);
    scf::YieldOp::create(b, loc, branch.getResult(0));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, carried);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, body(sequence, start, rows, carried));
    return loop.getResult(0);
  }
  Value findAny() {
    Value none = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
    return forEach(none, [&](Value, Value, Value, Value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    });
  }
  /// `init` after copy(carried, sequence, row of it, packed row) for each row of these sequences.
  Value forEachRow(Value init, function_ref<Value(Value, Value, Value, Value)> copy) {
    return forEach(init, [&](Value sequence, Value start, Value rows, Value carried) {
      if (most == 1)
        return copy(carried, sequence, getIndex(0), start);
      auto loop = scf::ForOp::create(b, loc, getIndex(0), rows, getIndex(1), carried);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value row = loop.getInductionVar(), packed = arith::AddIOp::create(b, loc, start, row);
      scf::YieldOp::create(b, loc, copy(loop.getRegionIterArg(0), sequence, row, packed));
      return loop.getResult(0);
    });
  }

  /// One index in each of these dimensions, and all of the others.
  Slice getRow(Value whole, ArrayRef<std::pair<unsigned, Value>> indices) {
    Slice slice;
    slice.sizes = tensor::getMixedSizes(b, loc, whole);
    slice.offsets.assign(slice.sizes.size(), b.getIndexAttr(0));
    slice.strides.assign(slice.sizes.size(), b.getIndexAttr(1));
    for (auto [dim, index] : indices) {
      slice.offsets[dim] = index;
      slice.sizes[dim] = b.getIndexAttr(1);
    }
    return slice;
  }
  Slice getPackedRow(Value packed, Value row) { return getRow(packed, {{isStatistic(packed) ? 1 : 0, row}}); }
  Slice getDenseRow(Value dense, Value sequence, Value row) { return getRow(dense, {{0, sequence}, {2, row}}); }
  Value copy(Value from, const Slice &source, Value to, const Slice &target, ArrayRef<int64_t> shape) {
    auto type = RankedTensorType::get(shape, getElementTypeOrSelf(from.getType()));
    Value part = tensor::ExtractSliceOp::create(b, loc, type, from, source.offsets, source.sizes, source.strides);
    return tensor::InsertSliceOp::create(b, loc, part, to, target.offsets, target.sizes, target.strides);
  }
  /// (Hq, column), or (Hq): the shape of a row without unit dimensions.
  static SmallVector<int64_t> getRowShape(Value packed) {
    auto type = cast<ShapedType>(packed.getType());
    return isStatistic(packed) ? SmallVector<int64_t>{type.getDimSize(0)}
                               : SmallVector<int64_t>{type.getDimSize(1), type.getDimSize(2)};
  }

  Value gather(Value packed) {
    return forEachRow(createEmpty(packed), [&](Value carried, Value sequence, Value row, Value packedRow) {
      return copy(packed, getPackedRow(packed, packedRow), carried, getDenseRow(carried, sequence, row),
                  getRowShape(packed));
    });
  }
  Value scatter(Value dense, Value packed) {
    return forEachRow(packed, [&](Value carried, Value sequence, Value row, Value packedRow) {
      return copy(dense, getDenseRow(dense, sequence, row), carried, getPackedRow(packed, packedRow),
                  getRowShape(packed));
    });
  }

  /// A length for each of these sequences, 0 for others.
  Value createLengths(Type type, function_ref<Value(Value sequence, Value rows)> getLength) {
    auto zeros =
        tensor::SplatOp::create(b, loc, arith::ConstantOp::create(b, loc, b.getZeroAttr(type)), ArrayRef(count));
    return forEach(zeros, [&](Value sequence, Value, Value rows, Value carried) -> Value {
      return tensor::InsertOp::create(b, loc, getLength(sequence, rows), carried, sequence);
    });
  }
  Value createQueryLengths() {
    Type type = getElementTypeOrSelf(op.getCuSeqlensQ().getType());
    return createLengths(type,
                         [&](Value, Value rows) -> Value { return arith::IndexCastOp::create(b, loc, type, rows); });
  }
  Value createKeyLengths() {
    Value lengths = op.getKvLengths();
    Type type = lengths ? getElementTypeOrSelf(lengths.getType()) : b.getI32Type();
    Value keys = arith::IndexCastOp::create(
        b, loc, type, getValueOrCreateConstantIndexOp(b, loc, tensor::getMixedSize(b, loc, op.getKey(), 2)));
    return createLengths(type, [&](Value sequence, Value) -> Value {
      return lengths ? tensor::ExtractOp::create(b, loc, lengths, sequence).getResult() : keys;
    });
  }

  OpBuilder &b;
  SdpaOp op;
  Location loc;
  int64_t least, most;
  OpFoldResult count; ///< of sequences
};

} // namespace

/// Builds an sdpa for each kind of sequence of `op` where only its queries are packed.
static LogicalResult specializeSequences(RewriterBase &rewriter, SdpaOp op, const TargetInfo &target) {
  bool isStep = op.getCuSeqlensQ() && !hasPackedKeys(op) && !op.getMinQueries() && !op.getMaps();
  if (!isStep || op.getSchedule() || target.gpu || !isa<RankedTensorType>(op.getOutput().getType()))
    return success();
  rewriter.setInsertionPoint(op);
  giveOwnDestinations(rewriter, op);
  int64_t least = 1;
  for (int64_t most : kClasses) {
    SmallVector<Value> outputs = ShortSequences(rewriter, op, least, most).create();
    rewriter.modifyOpInPlace(op, [&] {
      for (auto [init, output] : llvm::zip_equal(op.getDpsInitsMutable(), outputs))
        init.set(output);
      op.setMinQueries(most + 1);
    });
    least = most + 1;
  }
  return success();
}

namespace {
struct SpecializeSequencesPass : public attn::impl::SpecializeSequencesPassBase<SpecializeSequencesPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(specializeAll(getOperation(), getArgument(), target, specializeSequences)))
      signalPassFailure();
  }
};
} // namespace
