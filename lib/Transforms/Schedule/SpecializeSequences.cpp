//===- SpecializeSequences.cpp - attn-specialize-sequences ----------------===//
//
// A step of a serving engine has queries of many sequences packed: prompts, and single tokens on long caches. Each of
// the two has its kind of kernel, so the sdpa becomes two:
//
//   rows of sequences of one query → (B, Hq, 1, D) → sdpa of one query → their rows of the outputs
//   sdpa {min_queries = 2} of all others
//
// Which of the two a sequence takes depends on its own length alone: its bits are the same in any batch. The copies are
// 2 Hq rows a sequence; its keys are 2 Hkv Sk rows.
//
// Before: sdpa with cu_seqlens of queries alone, masks spelled out. After: two of them.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Specialize.h"
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

/// Makes the sdpa of single queries, and copies their rows.
class SingleQueries {
public:
  SingleQueries(OpBuilder &builder, SdpaOp op)
      : b(builder), op(op), loc(op.getLoc()), count(tensor::getMixedSize(b, loc, op.getKey(), 0)) {}

  /// The outputs of `op` with the rows of sequences of one query.
  SmallVector<Value> create() {
    Value query = gather(op.getQuery()), lengths = createLengths();
    auto inits = llvm::map_to_vector(op.getDpsInits(), [&](Value init) { return createEmpty(init); });
    auto single = cast<SdpaOp>(b.clone(*op));
    single.getCuSeqlensQMutable().clear();
    single.getQueryMutable().assign(query);
    single.getKvLengthsMutable().assign(lengths);
    // Pages within these lengths are all that it visits.
    for (OpOperand *rows : {&single.getKeyMutable(), &single.getValueMutable()})
      if (auto pages = rows->get().getDefiningOp<GatherPagesOp>()) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(single);
        auto copy = cast<GatherPagesOp>(b.clone(*pages));
        copy.getLengthsMutable().assign(lengths);
        rows->set(copy->getResult(0));
      }
    for (auto [operand, init] : llvm::zip_equal(single.getDpsInitsMutable(), inits))
      operand.set(init);
    SmallVector<Value> results;
    for (auto [result, part, output] : llvm::zip_equal(single->getResults(), single.getDpsInits(), op.getDpsInits())) {
      result.setType(part.getType());
      results.push_back(scatter(result, output));
    }
    return results;
  }

private:
  /// True for (Hq, total_q), false for (total_q, Hq, column).
  static bool isStatistic(Value packed) { return cast<ShapedType>(packed.getType()).getRank() == 2; }
  /// (B, Hq, 1), or (B, Hq, 1, column).
  Value createEmpty(Value packed) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, packed);
    SmallVector<OpFoldResult> dense = {count, sizes[isStatistic(packed) ? 0 : 1], b.getIndexAttr(1)};
    if (!isStatistic(packed))
      dense.push_back(sizes[2]);
    return tensor::EmptyOp::create(b, loc, dense, getElementTypeOrSelf(packed.getType()));
  }

  Value getStart(Value sequence) {
    Value start = tensor::ExtractOp::create(b, loc, op.getCuSeqlensQ(), sequence);
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), start);
  }
  /// Whether the sequence whose rows begin at `start` has one query.
  Value isSingle(Value sequence, Value start) {
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    Value end = getStart(arith::AddIOp::create(b, loc, sequence, one));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, arith::SubIOp::create(b, loc, end, start), one);
  }

  /// `init` after body(sequence, row, carried) for each sequence of one query.
  Value forEachSingle(Value init, function_ref<Value(Value, Value, Value)> body) {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0), one = arith::ConstantIndexOp::create(b, loc, 1);
    auto loop = scf::ForOp::create(b, loc, zero, getValueOrCreateConstantIndexOp(b, loc, count), one, init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value sequence = loop.getInductionVar(), carried = loop.getRegionIterArg(0), start = getStart(sequence);
    auto branch = scf::IfOp::create(b, loc, init.getType(), isSingle(sequence, start), /*withElseRegion=*/true);
    scf::YieldOp::create(b, loc, branch.getResult(0));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, carried);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, body(sequence, start, carried));
    return loop.getResult(0);
  }

  /// One index of a dimension, and all others.
  Slice getRow(Value whole, unsigned dim, Value index) {
    Slice slice;
    slice.sizes = tensor::getMixedSizes(b, loc, whole);
    slice.offsets.assign(slice.sizes.size(), b.getIndexAttr(0));
    slice.strides.assign(slice.sizes.size(), b.getIndexAttr(1));
    slice.offsets[dim] = index;
    slice.sizes[dim] = b.getIndexAttr(1);
    return slice;
  }
  Slice getPackedRow(Value packed, Value row) { return getRow(packed, isStatistic(packed) ? 1 : 0, row); }
  Slice getDenseRow(Value dense, Value sequence) { return getRow(dense, 0, sequence); }
  Value copy(Value from, const Slice &source, Value to, const Slice &target, ArrayRef<int64_t> shape) {
    auto type = RankedTensorType::get(shape, getElementTypeOrSelf(from.getType()));
    Value part = tensor::ExtractSliceOp::create(b, loc, type, from, source.offsets, source.sizes, source.strides);
    return tensor::InsertSliceOp::create(b, loc, part, to, target.offsets, target.sizes, target.strides);
  }
  /// (Hq, column), or (Hq): what a row has without its unit dimensions.
  static SmallVector<int64_t> getRowShape(Value packed) {
    auto type = cast<ShapedType>(packed.getType());
    return isStatistic(packed) ? SmallVector<int64_t>{type.getDimSize(0)}
                               : SmallVector<int64_t>{type.getDimSize(1), type.getDimSize(2)};
  }

  Value gather(Value packed) {
    return forEachSingle(createEmpty(packed), [&](Value sequence, Value row, Value carried) {
      return copy(packed, getPackedRow(packed, row), carried, getDenseRow(carried, sequence), getRowShape(packed));
    });
  }
  Value scatter(Value dense, Value packed) {
    return forEachSingle(packed, [&](Value sequence, Value row, Value carried) {
      return copy(dense, getDenseRow(dense, sequence), carried, getPackedRow(packed, row), getRowShape(packed));
    });
  }

  /// The keys of each sequence of one query, 0 for others.
  Value createLengths() {
    Value lengths = op.getKvLengths();
    Type type = lengths ? getElementTypeOrSelf(lengths.getType()) : b.getI32Type();
    Value keys = arith::IndexCastOp::create(
        b, loc, type, getValueOrCreateConstantIndexOp(b, loc, tensor::getMixedSize(b, loc, op.getKey(), 2)));
    auto zeros =
        tensor::SplatOp::create(b, loc, arith::ConstantOp::create(b, loc, b.getZeroAttr(type)), ArrayRef(count));
    return forEachSingle(zeros, [&](Value sequence, Value, Value carried) -> Value {
      Value length = lengths ? tensor::ExtractOp::create(b, loc, lengths, sequence).getResult() : keys;
      return tensor::InsertOp::create(b, loc, length, carried, sequence);
    });
  }

  OpBuilder &b;
  SdpaOp op;
  Location loc;
  OpFoldResult count; ///< of sequences
};

} // namespace

/// Makes two of `op` where its queries alone are packed.
static LogicalResult specializeSequences(RewriterBase &rewriter, SdpaOp op, const TargetInfo &target) {
  bool isStep = op.getCuSeqlensQ() && !hasPackedKeys(op) && !op.getMinQueries() && !op.getMaps();
  if (!isStep || op.getSchedule() || target.gpu || !isa<RankedTensorType>(op.getOutput().getType()))
    return success();
  rewriter.setInsertionPoint(op);
  giveOwnDestinations(rewriter, op);
  SmallVector<Value> outputs = SingleQueries(rewriter, op).create();
  rewriter.modifyOpInPlace(op, [&] {
    for (auto [init, output] : llvm::zip_equal(op.getDpsInitsMutable(), outputs))
      init.set(output);
    op.setMinQueries(2);
  });
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
