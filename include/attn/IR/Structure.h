//===- Structure.h - dimensions of the structured attn ops ------*- C++ -*-===//
//
// What each operand of each op is made of: a table of dimension names, from
// which default indexing maps, sizes, verification and slices of tiles follow.
// A new operand is one row of the table in lib/IR/Structure.cpp.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_STRUCTURE_H
#define ATTN_IR_STRUCTURE_H

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"

namespace attn {

class SdpaBackwardOp;

/// The named dimensions of an iteration domain; batch dimensions come before them.
enum class DimKind { Query, Key, HeadSize, ValueSize };

/// Which dimensions of a cache of four are the rows, of a page where it has pages, and the heads: the first is the page
/// or batch index, the last the column.
struct CacheDims {
  unsigned row, head;

  template <typename T> llvm::SmallVector<T, 4> getPosition(T page, T atRow, T atHead, T column) const {
    llvm::SmallVector<T, 4> position = {page, atRow, atHead, column};
    position[row] = atRow;
    position[head] = atHead;
    return position;
  }
};

/// How many of the batch dimensions an operand follows in its own way.
enum class OperandRole {
  Plain,      ///< has every dimension of its row of the table
  SharedHead, ///< K and V: contiguous groups of query heads share one of theirs
  Broadcast,  ///< bias and mask: any dimension may have size 1 or be left out in front
  State,      ///< may hold more query rows than there are (padding lanes)
};

/// One row of the table: a shaped operand that is present.
struct OperandSpec {
  llvm::StringRef name;
  llvm::SmallVector<DimKind, 2> dims;
  OperandRole role = OperandRole::Plain;
};

/// The names of the dimensions that follow the batch dimensions in the op's iteration domain.
llvm::ArrayRef<DimKind> getDomainDims(mlir::Operation *op);

/// One entry a shaped operand that is present, in operand order.
llvm::SmallVector<OperandSpec> getOperandSpecs(mlir::Operation *op);

/// True for the ops that the functions of this header take.
bool isStructuredOp(mlir::Operation *op);
/// True for those that work on a whole matrix of scores.
bool isChainOp(mlir::Operation *op);

/// True for the attn ops that read what their destinations hold: they add to it, or write a part of it.
bool readsInits(mlir::Operation *op);
/// The same of one destination: `accumulate` of attn.sdpa_backward names some.
bool readsInit(mlir::OpOperand &init);
/// True where that gradient, by its name in the table, is added to what the destination holds.
bool accumulatesInto(SdpaBackwardOp op, llvm::StringRef output);
/// True for a destination of an attn or linalg op that is written without being read: an empty tensor would do.
bool isUnreadInit(mlir::OpOperand &operand);
/// The tensor that a value is written to: through ops in destination-passing style, to an argument or a tensor.empty.
mlir::Value getDestination(mlir::Value value);

unsigned getNumBatchDims(mlir::Operation *op);
unsigned getDomainPosition(mlir::Operation *op, DimKind kind);
llvm::SmallVector<mlir::utils::IteratorType> getIteratorTypes(mlir::Operation *op);

/// The `maps` attribute, or the maps of the default layout.
mlir::ArrayAttr getIndexingMaps(mlir::Operation *op);
/// The maps that `op` spells out; null where it has none, or an empty array of them: its maps are then the default
/// ones.
mlir::ArrayAttr getExplicitMaps(mlir::Operation *op);
llvm::SmallVector<mlir::AffineMap> getMaps(mlir::Operation *op);

/// (head) -> (kv_head): h floordiv G from the map of the first operand that shares heads, 0 where none has heads.
mlir::AffineMap getKvHeadMap(mlir::Operation *op);
/// That G; 1 where heads have keys of their own, or all the same.
int64_t getGroupSize(mlir::Operation *op);

/// Pairs for dot products, which are two results of a map: `d floordiv 2` says which pair, `d mod 2` the place in it.
/// The position of such a `d`; nothing for other results. Only dimensions behind the batch dimensions come in pairs.
std::optional<unsigned> getPairedDim(mlir::AffineExpr expr, unsigned numBatch);
/// True where `map` holds dimension `position` in pairs.
bool isPaired(mlir::AffineMap map, unsigned position);

/// Parts of bf16 that add up to an element: `operand` has them in a dimension for which its map has 0. 1 for others.
int64_t getNumParts(mlir::Value operand, mlir::AffineMap map);
/// So many hold any f32.
constexpr int64_t kMaxElementParts = 3;

/// Static sizes of the iteration domain, kDynamic where none is known.
llvm::SmallVector<int64_t> getStaticDomain(mlir::Operation *op);
int64_t getStaticSize(mlir::Operation *op, DimKind kind);
/// The same as values, from the operand that holds the dimension.
llvm::SmallVector<mlir::OpFoldResult> getDomainSizes(mlir::OpBuilder &builder, mlir::Operation *op);

/// True where [offset, offset + size) is all of dimension `position` of the domain.
bool coversDim(mlir::Operation *op, unsigned position, mlir::OpFoldResult offset, mlir::OpFoldResult size);

/// The slice of `operand`, indexed by `map`, that a tile [offsets, offsets + sizes) of the domain touches.
struct Slice {
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;
};
Slice getOperandSlice(mlir::OpBuilder &builder, mlir::Location loc, mlir::AffineMap map,
                      llvm::ArrayRef<mlir::OpFoldResult> offsets, llvm::ArrayRef<mlir::OpFoldResult> sizes);
mlir::Value createSlice(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value operand, const Slice &slice);

/// Verifies C1, C2, C3, C7 and C11: ranks, sizes and forms of all shaped operands.
mlir::LogicalResult verifyStructure(mlir::Operation *op);

/// No attribute that has the name of one of attn's, or nearly, and is not one of this op: it would
/// change nothing.
mlir::LogicalResult verifyAttributes(mlir::Operation *op);

/// True for a tile that the threads of a GPU hold in registers: a tensor with that encoding.
bool isInRegisters(mlir::Type type);
/// The type of such a tile.
mlir::RankedTensorType getRegisterType(llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

/// The type that products of `elementType` are accumulated in: f64 for f64, otherwise f32.
mlir::Type getAccumulationType(mlir::Type elementType);

/// True for the types of keys and values that stand for a scale times themselves: i8, f8E4M3FN and f8E5M2.
bool isQuantised(mlir::Type elementType);

/// The cu_seqlens of the query rows, where sequences are packed; null otherwise.
mlir::Value getPackedSequences(mlir::Operation *op);
/// Its keys are packed too; those of a cache are (batch, head, key, column) beside packed queries.
bool hasPackedKeys(mlir::Operation *op);

/// Adds the offsets of a tile to the positions that attn.index gives in `region`: what tiling does to a predicate.
/// `op` is the structured op whose domain the region counts in; new values are built at the builder's position, which
/// dominates the region.
void shiftIndex(mlir::OpBuilder &builder, mlir::Region &region, llvm::ArrayRef<mlir::OpFoldResult> domainOffsets,
                mlir::Operation *op);

} // namespace attn

#endif // ATTN_IR_STRUCTURE_H
