//===- VectorTile.h - what the CPU tile lowerings share ---------*- C++ -*-===//
//
// A builder that knows the vector type of the target, and one function an op.
// Lanes are query rows; `v` counts vectors, `lane` counts elements.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_VECTORTILE_H
#define ATTN_LIB_CONVERSION_CPU_VECTORTILE_H

#include "attn/Conversion/Loops.h"
#include "attn/IR/ScoreFunctions.h"
#include "attn/Target/TargetInfo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include <functional>

namespace attn::cpu {

using Values = llvm::SmallVector<mlir::Value>;

/// Bytes to which stack buffers are aligned: a cache line, and the widest vector.
constexpr int64_t kBufferAlignment = 64;
/// Registers that hold the coefficients of 2^x beside several vectors.
constexpr unsigned kManyRegisters = 32;

struct Operand;

/// Builds vector code for one element type on one target.
class VectorBuilder {
public:
  VectorBuilder(mlir::OpBuilder &builder, mlir::Location loc, const TargetInfo &target, mlir::FloatType elementType)
      : b(builder), loc(loc), target(target), elementType(elementType), lanes(target.getLanes(elementType.getWidth())),
        vectorType(mlir::VectorType::get({lanes}, elementType)) {}

  /// Uses as many lanes as another element type has.
  void setLanes(int64_t count) {
    lanes = count;
    vectorType = mlir::VectorType::get({count}, elementType);
  }

  mlir::Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(b, loc, value); }
  mlir::Value add(mlir::Value lhs, mlir::Value rhs) { return b.createOrFold<mlir::arith::AddIOp>(loc, lhs, rhs); }
  mlir::Value add(mlir::Value lhs, int64_t rhs) { return rhs == 0 ? lhs : add(lhs, index(rhs)); }
  mlir::Value subtract(mlir::Value lhs, mlir::Value rhs) { return b.createOrFold<mlir::arith::SubIOp>(loc, lhs, rhs); }
  mlir::Value multiply(mlir::Value lhs, int64_t rhs) {
    return b.createOrFold<mlir::arith::MulIOp>(loc, lhs, index(rhs));
  }
  mlir::Value divide(mlir::Value lhs, int64_t rhs) {
    return b.createOrFold<mlir::arith::DivUIOp>(loc, lhs, index(rhs));
  }
  mlir::Value remainder(mlir::Value lhs, int64_t rhs) {
    return b.createOrFold<mlir::arith::RemUIOp>(loc, lhs, index(rhs));
  }
  mlir::Value minimum(mlir::Value lhs, mlir::Value rhs) { return b.createOrFold<mlir::arith::MinSIOp>(loc, lhs, rhs); }

  /// The same float in every lane.
  mlir::Value splat(double value);
  mlir::Value zero(mlir::Type type) { return mlir::arith::ConstantOp::create(b, loc, b.getZeroAttr(type)); }
  mlir::Value broadcast(mlir::Value scalar);
  mlir::Value load(mlir::Value memref, mlir::ValueRange indices);
  /// Loads the lanes of `mask`, others 0; all lanes if it is null.
  mlir::Value loadMasked(mlir::Value memref, mlir::ValueRange indices, mlir::Value mask);
  /// A vector along dimension `position` of the domain: one load or two where neighbours are near (with 0 in lanes
  /// outside of `mask`), else element by element (with anything there).
  mlir::Value loadAlong(const Operand &operand, unsigned position, llvm::ArrayRef<mlir::Value> domain,
                        mlir::Value mask);
  /// The same element by element, with any stride of the operand.
  mlir::Value loadStrided(const Operand &operand, unsigned position, llvm::ArrayRef<mlir::Value> domain,
                          mlir::Value mask);
  void store(mlir::Value vector, mlir::Value memref, mlir::ValueRange indices);
  void storeMasked(mlir::Value vector, mlir::Value memref, mlir::ValueRange indices, mlir::Value mask);
  /// The first `count` lanes; null for all of them.
  mlir::Value getMask(int64_t count);
  /// The same for a dynamic count.
  mlir::Value createMask(mlir::Value count);

  /// a * b + c, in one instruction where the target has it: fma in software would be a call a lane.
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value c);
  /// a * b + c in lanes where a is not 0, c in others, whatever b is.
  mlir::Value multiplyAddNonZero(mlir::Value a, mlir::Value b, mlir::Value c);
  /// One max instruction: b where a is NaN. b must not be NaN.
  mlir::Value max(mlir::Value a, mlir::Value b);
  /// Lane-wise a == constant.
  mlir::Value isEqual(mlir::Value a, double constant);
  /// A float, or a vector of them, in another float type.
  mlir::Value convert(mlir::Value value, mlir::Type to);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return mlir::arith::SelectOp::create(this->b, loc, condition, a, b);
  }

  /// 2^x lane-wise, as exact as the element type, or `roundedTo` where the result is rounded to that, needs (Exp2.cpp).
  mlir::Value exp2(mlir::Value x, mlir::Type roundedTo = {});
  /// exp(x - max) lane-wise.
  mlir::Value expDifference(mlir::Value x, mlir::Value max, mlir::Type roundedTo = {});
  /// exp(min(score - max, 0) - logSum) lane-wise, as 2^(min(score - max, 0) log2 e - logSum log2 e): the weight of a
  /// key, from max and logSum of an earlier pass. Its scores may be rounded differently. logSum may be null for 0.
  mlir::Value weightOf(mlir::Value score, mlir::Value max, mlir::Value logSum);

  // Pairs of bf16, as their dot products take them. `pairs` holds them innermost, (…, pair, 2 * other).
  /// Collapses the last two dimensions.
  mlir::Value collapsePairs(mlir::Value memref);
  /// Two adjacent elements as the bits of one integer.
  mlir::Value loadPair(mlir::Value memref, mlir::ValueRange indices);
  mlir::Value loadPairs(mlir::Value pairs, mlir::ValueRange indices);
  /// Pairs of the first `count` lanes, others 0.
  mlir::Value loadFirstPairs(mlir::Value pairs, mlir::ValueRange indices, int64_t count);
  /// Rounded to bf16.
  mlir::Value narrow(mlir::Value vector);
  /// (even, odd) lane-wise, rounded.
  mlir::Value makePairs(mlir::Value even, mlir::Value odd);
  /// The same with ties away from 0, by integers; a NaN whose payload is all ones may become 0.
  mlir::Value makePairsByIntegers(mlir::Value even, mlir::Value odd);
  /// (even, odd) lane-wise of the upper halves of integers, which are bf16.
  mlir::Value joinPairs(mlir::Value even, mlir::Value odd);
  /// The parts of a float, or of each lane of a vector of f32, as integers whose upper halves they are (attn.pack).
  Values splitParts(mlir::Value value, int64_t parts);
  /// The bf16 in the upper half of such an integer.
  mlir::Value getUpperHalf(mlir::Value bits);
  /// acc + the sum of the products of each lane's pairs; `pair` may be an integer in all lanes.
  mlir::Value multiplyAddPairs(mlir::Value pair, mlir::Value pairs, mlir::Value acc);
  /// The same without products of zeros of `pair`, in full precision; `pair` is in all lanes.
  mlir::Value multiplyAddNonZeroPairs(mlir::Value pair, mlir::Value pairs, mlir::Value acc);

  /// An instruction without side effects that no dialect has: LLVM's intrinsics are ops of unknown effects.
  mlir::Value assembly(mlir::Type type, mlir::ValueRange operands, llvm::StringRef code, llvm::StringRef constraints);

  /// for i = 0 to count step `step`, with carried values; count is static.
  Values loop(int64_t count, int64_t step, mlir::ValueRange init,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  Values loop(mlir::Value lower, mlir::Value upper, int64_t step, mlir::ValueRange init,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);

  /// A buffer on the stack; OutlineParallel moves it to the entry of its function.
  mlir::Value stackBuffer(llvm::ArrayRef<int64_t> shape, mlir::Type type = {});

  mlir::OpBuilder &b;
  mlir::Location loc;
  const TargetInfo &target;
  mlir::FloatType elementType;
  int64_t lanes;
  mlir::VectorType vectorType;
};

/// A memref operand with its indexing map: turns domain positions into indices.
struct Operand {
  mlir::Value memref;
  mlir::AffineMap map;
  bool isWhole = false; ///< no tile: shared heads and broadcast dimensions may have any size

  /// Indices of the element at `domain`, one value a domain dimension; null values are tile dimensions of size 1.
  Values getIndices(VectorBuilder &vb, llvm::ArrayRef<mlir::Value> domain) const;
  int64_t getSize(int64_t dim) const { return mlir::cast<mlir::MemRefType>(memref.getType()).getDimSize(dim); }
  /// True where domain dimension `position` is the last dimension of the memref and has stride 1.
  bool isInnermost(unsigned position) const;
  /// Elements of memory between neighbours in a domain dimension that, times 1 or 2, is a summand of the last index and
  /// occurs in no other; nothing for any other dimension.
  std::optional<int64_t> getStrideAlong(unsigned position) const;
};

/// rows x vectors accumulators: acc[r][v] += sum_k scalarAt(r, k) * vectorAt(k, v), for k in [0, depth). `combine`, if
/// given, makes the next accumulator from k, the scalar in all lanes, the vector, and the accumulator.
using Combine = llvm::function_ref<mlir::Value(mlir::Value k, mlir::Value scalar, mlir::Value vector, mlir::Value acc)>;
Values emitRegisterKernel(VectorBuilder &vb, int64_t rows, int64_t vectors, mlir::Value depth, mlir::ValueRange init,
                          llvm::function_ref<mlir::Value(int64_t row, mlir::Value k)> scalarAt,
                          llvm::function_ref<mlir::Value(mlir::Value k, int64_t v)> vectorAt, Combine combine = {});

/// Lanes of a vector of f32, of which a multiply-add reads one as a factor (TargetInfo::takesLanes).
constexpr int64_t kQuadLanes = 4;

/// The same with one load for kQuadLanes scalars, of which each multiply-add reads a lane: kQuadLanes steps of k of a
/// row if `isAlongDepth`, else kQuadLanes rows at each k. `quadAt(r, k)` loads them. An iteration has `unroll` steps of
/// k, which divides the depth.
Values emitLaneKernel(VectorBuilder &vb, int64_t rows, int64_t vectors, mlir::Value depth, mlir::ValueRange init,
                      bool isAlongDepth, llvm::function_ref<mlir::Value(int64_t row, mlir::Value k)> quadAt,
                      llvm::function_ref<mlir::Value(mlir::Value k, int64_t v)> vectorAt, int64_t unroll);

/// sums = left right by a tile instruction, or sums += left right with `isAdded`: `left` holds rows of bf16, `right`
/// pairs of them (pair, 2 · column + 0 or 1), `sums` rows of f32; matrices of static size (TileProducts.cpp). With
/// `parts`, the rows of one part are stored below those of another.
void emitTileProduct(VectorBuilder &vb, mlir::Value left, mlir::Value right, mlir::Value sums, bool isAdded,
                     int64_t parts = 1);
/// The matrix of two dimensions of an operand's domain; its others have size 1.
mlir::Value getMatrix(VectorBuilder &vb, const Operand &operand, unsigned row, unsigned column);
/// True for a tile that has parts of its elements, or for the first rows or columns of one, if it is contiguous and has
/// these dimensions of the domain innermost; and the matrix of all of it.
bool hasPartsInOrder(const Operand &operand, unsigned row, unsigned column);
mlir::Value getPartsMatrix(VectorBuilder &vb, mlir::Value memref);
/// True for an operand with `count` positions in a dimension of the domain, or the first ones of a tile with that many.
bool hasWholeTile(const Operand &operand, unsigned position, int64_t count);
/// The operand with all these positions.
Operand getWholeTile(VectorBuilder &vb, const Operand &operand, unsigned position, int64_t count);
/// The matrix of the last two dimensions of collapsed pairs, of all parts.
mlir::Value getPairMatrix(VectorBuilder &vb, mlir::Value pairs, int64_t parts = 1);

/// Calls `body` for blocks of `block` rows over [0, count), then for the rest with fewer rows: once where count is a
/// constant, otherwise row by row.
Values forEachBlock(VectorBuilder &vb, mlir::OpFoldResult count, int64_t block, mlir::ValueRange init,
                    llvm::function_ref<Values(mlir::Value first, int64_t rows, mlir::ValueRange)> body);

/// A view of booleans as bytes, which have a vector form; other memrefs unchanged.
mlir::Value viewAsBytes(mlir::OpBuilder &b, mlir::Location loc, mlir::Value memref);

/// The positions of the lanes of a vector of scores: the query rows of one key, or the keys of one query row.
enum class LaneAxis { Queries, Keys };

/// Scalar ops cloned as ops on vectors of lanes where they depend on one (LaneCloner.cpp).
class LaneCloner {
public:
  /// `loadsRows`: consecutive positions may be loaded as rows. Query rows of a tile may not: those past the last one
  /// read the last one.
  LaneCloner(VectorBuilder &vb, bool loadsRows) : vb(vb), loadsRows(loadsRows) {}
  /// first, first + 1, …
  mlir::Value getPositions(mlir::Value first);
  /// Clones `op` and maps its results; with `mask`, only lanes of it read memory.
  void clone(mlir::Operation &op, mlir::IRMapping &mapping, mlir::Value mask);
  mlir::Value toVector(mlir::Value value);
  /// Adds the lanes of `mask` to where attn.accumulate says, 0 in lanes where `isRemoved`; both may be null.
  void accumulate(AccumulateOp op, mlir::IRMapping &mapping, mlir::Value mask, mlir::Value isRemoved);

private:
  mlir::Value emitGather(mlir::Value memref, llvm::ArrayRef<mlir::Value> indices, mlir::Value mask);
  mlir::Value emitRow(mlir::Value memref, llvm::ArrayRef<mlir::Value> indices, mlir::Value mask);

  VectorBuilder &vb;
  bool loadsRows;
  llvm::DenseMap<mlir::Value, mlir::Value> firstOf; // of a vector of consecutive positions: the first
};

/// A score function of vectors of scores; several at once are cheaper (LaneCode.cpp).
Values applyScoreFunction(VectorBuilder &vb, ScoreFunction function, mlir::ValueRange scores);

/// The position of a vector of scores: index `v` of the rows of a block, and the key, or the first key if lanes are
/// keys. `key` may be null if a region has none. With `mask`, only lanes of it read memory.
struct LanePosition {
  int64_t v = 0;
  mlir::Value key, mask = {};
};

/// A region of scalars (mask_mod, score_mod …) evaluated on vectors of lanes (LaneRegion.cpp).
class LaneRegion {
public:
  /// `region` may be null or empty.
  LaneRegion(VectorBuilder &vb, mlir::Region *region, LaneAxis axis = LaneAxis::Queries);
  bool isEmpty() const { return !region || region->empty(); }
  /// Evaluates the ops that depend on neither key nor argument, for each of `queries`: the first of a vector of query
  /// rows, or the row whose keys are the lanes. `head` is the head in the tile, null for the only one.
  void prepare(llvm::ArrayRef<mlir::Value> queries, mlir::Value head = {});
  /// The values that the region yields at these positions, with `getArguments(i)` as its arguments. Its attn.accumulate
  /// adds 0 in lanes of `isRemoved`, if given.
  Values evaluate(llvm::ArrayRef<LanePosition> at, llvm::function_ref<Values(size_t i)> getArguments,
                  mlir::Value isRemoved = {});
  /// The same of one.
  mlir::Value evaluate(LanePosition at, mlir::ValueRange arguments, mlir::Value isRemoved = {});

private:
  void emit(mlir::Operation &op, mlir::IRMapping &mapping, mlir::Value query, mlir::Value key, mlir::Value mask);

  VectorBuilder &vb;
  LaneCloner cloner;
  mlir::Region *region;
  LaneAxis axis;
  mlir::Value head;
  llvm::DenseSet<mlir::Operation *> late; // depends on the key or the argument
  llvm::SmallVector<mlir::IRMapping> prepared;
};

/// The score functions of an op on vectors of scores (LaneCode.cpp).
class LaneCode {
public:
  LaneCode(VectorBuilder &vb, const ScoreFunctions &functions, LaneAxis axis = LaneAxis::Queries);
  /// True where a key may be removed or have a score of -inf: the guarded softmax is needed.
  bool isPartial() const { return functions.mayRemove(); }
  bool modifiesWeights() const { return functions.weightMod; }
  /// The scale of scores without other functions.
  std::optional<double> getOnlyScale() const;
  /// Starts a block, like LaneRegion::prepare.
  void prepare(llvm::ArrayRef<mlir::Value> queries, mlir::Value head = {});
  /// The score of the products at a position.
  mlir::Value apply(mlir::Value raw, LanePosition at);
  /// The two parts of `apply`, for several vectors at once: scale and score_mod; bias and masks.
  Values modify(mlir::ValueRange raw, llvm::ArrayRef<LanePosition> at);
  mlir::Value remove(mlir::Value score, LanePosition at);
  /// Multiplies by the scale.
  mlir::Value scale(mlir::Value raw);
  /// The factor of V that a weight becomes.
  mlir::Value modifyWeight(mlir::Value weight, LanePosition at);

private:
  class Position;
  mlir::Value loadDense(const ScoreOperand &operand, LanePosition at);

  VectorBuilder &vb;
  ScoreFunctions functions;
  LaneAxis axis;
  LaneRegion scoreMod, maskMod, weightMod;
  llvm::SmallVector<mlir::Value> queries;
  mlir::Value head;
};

/// dst[c][r] = r < rows ? src[r][c] : 0 (toLanes), or dst[r][c] = src[c][r] for r < rows: the transposes at the two
/// ends of a tile. `source` and `target` give the element (row, column) of their side.
struct TransposeSide {
  Operand operand;
  std::function<Values(mlir::Value row, mlir::Value column)> getIndices;
  bool columnsContiguous = false;
  bool holdsPairs = false; ///< an element of the transpose is two adjacent ones of the operand
};
/// Indices of (row, column) in an operand over the domain (batch…, query, column).
TransposeSide getSide(VectorBuilder &vb, Operand operand, unsigned numBatch);
/// The number of rows of an operand, along the domain's query dimension; null if it broadcasts over them.
mlir::Value getNumRows(VectorBuilder &vb, const Operand &operand, unsigned numBatch);
void emitPack(VectorBuilder &vb, const TransposeSide &source, const TransposeSide &lanes, mlir::Value rows,
              int64_t paddedRows, mlir::OpFoldResult columns);
void emitUnpack(VectorBuilder &vb, const TransposeSide &lanes, const TransposeSide &target, mlir::Value rows,
                int64_t paddedRows, mlir::OpFoldResult columns);

/// pairs[p][c] = (rows[2 p][c], rows[2 p + 1][c]) of bf16, 0 for a row beyond `count`.
void emitPairRows(VectorBuilder &vb, const TransposeSide &rows, mlir::Value count, mlir::Value pairs, int64_t columns);

/// Functions of softcaps and regions on f32 lanes, by upstream's approximations; f64 stays a call a lane.
void populateLaneMathPatterns(mlir::RewritePatternSet &patterns);

// One function per op; an error if the op does not have the form that attn-tile produces.
mlir::LogicalResult lowerPack(mlir::RewriterBase &rewriter, PackOp op, const TargetInfo &target);
/// The same of parts of elements (PackParts.cpp).
mlir::LogicalResult packParts(mlir::RewriterBase &rewriter, PackOp op, const TargetInfo &target);
mlir::LogicalResult lowerInitState(mlir::RewriterBase &rewriter, InitStateOp op, const TargetInfo &target);
mlir::LogicalResult lowerOnlineStep(mlir::RewriterBase &rewriter, OnlineStepOp op, const TargetInfo &target);
mlir::LogicalResult lowerBackwardStep(mlir::RewriterBase &rewriter, BackwardStepOp op, const TargetInfo &target);
mlir::LogicalResult lowerPackBytes(mlir::RewriterBase &rewriter, PackBytesOp op, const TargetInfo &target);
/// Prefetches at once, without products to overlap with.
mlir::LogicalResult lowerPrefetch(mlir::RewriterBase &rewriter, PrefetchOp op, const TargetInfo &target);
mlir::LogicalResult lowerGatherPages(mlir::RewriterBase &rewriter, GatherPagesOp op, const TargetInfo &target);
mlir::LogicalResult lowerClassifyTile(mlir::RewriterBase &rewriter, ClassifyTileOp op, const TargetInfo &target);
mlir::LogicalResult lowerKvAppend(mlir::RewriterBase &rewriter, KvAppendOp op);
mlir::LogicalResult lowerMergeStates(mlir::RewriterBase &rewriter, MergeStatesOp op, const TargetInfo &target);
mlir::LogicalResult lowerFinalize(mlir::RewriterBase &rewriter, FinalizeOp op, const TargetInfo &target);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_VECTORTILE_H
