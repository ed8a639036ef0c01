//===- Structure.h - dimensions of the structured attn ops ------*- C++ -*-===//
//
// The structure of each operand of each op: a table of dimension names, from which default indexing maps, sizes,
// verification and slices of tiles follow. A new operand is one row of the table in lib/IR/Structure.cpp.
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

/// The row and head dimensions of a cache with four dimensions (rows of a page, where it has pages): the first
/// dimension is the page or batch index, the last one the column.
struct CacheDims {
  unsigned row, head;

  template <typename T> llvm::SmallVector<T, 4> getPosition(T page, T atRow, T atHead, T column) const {
    llvm::SmallVector<T, 4> position = {page, atRow, atHead, column};
    position[row] = atRow;
    position[head] = atHead;
    return position;
  }
};

/// How an operand follows the batch dimensions.
enum class OperandRole {
  Plain,      ///< has every dimension of its row of the table
  SharedHead, ///< K and V: contiguous groups of query heads share one of their heads
  Broadcast,  ///< bias and mask: any dimension may have size 1, and leading ones may be absent
  State,      ///< may have more query rows than exist (padding lanes)
  Pool,       ///< its first dimension is of places, which a list gives to batch indices
};

/// One row of the table: a shaped operand that is present.
struct OperandSpec {
  llvm::StringRef name;
  llvm::SmallVector<DimKind, 2> dims;
  OperandRole role = OperandRole::Plain;
};

/// The names of the dimensions that follow the batch dimensions in the op's iteration domain.
llvm::ArrayRef<DimKind> getDomainDims(mlir::Operation *op);

/// One entry per shaped operand that is present, in operand order.
llvm::SmallVector<OperandSpec> getOperandSpecs(mlir::Operation *op);

/// True for the ops that the functions of this header accept.
bool isStructuredOp(mlir::Operation *op);
/// True for the ops on a whole score matrix.
bool isChainOp(mlir::Operation *op);

/// True for attn ops that read the contents of their destinations: they add to them, or write a part of them.
bool readsInits(mlir::Operation *op);
/// The same for one destination: `accumulate` of attn.sdpa_backward names some.
bool readsInit(mlir::OpOperand &init);
/// True where that gradient, by its name in the table, is added to the contents of its destination.
bool accumulatesInto(SdpaBackwardOp op, llvm::StringRef output);
/// True for a destination of an attn or linalg op that is written without being read: an empty tensor would do.
bool isUnreadInit(mlir::OpOperand &operand);
/// The tensor into which a value is written: followed through ops in destination-passing style, to an argument or a
/// tensor.empty.
mlir::Value getDestination(mlir::Value value);

unsigned getNumBatchDims(mlir::Operation *op);
unsigned getDomainPosition(mlir::Operation *op, DimKind kind);
llvm::SmallVector<mlir::utils::IteratorType> getIteratorTypes(mlir::Operation *op);

/// The `maps` attribute, or the maps of the default layout.
mlir::ArrayAttr getIndexingMaps(mlir::Operation *op);
/// The maps that `op` spells out; null where it has none, or an empty array: the default ones apply.
mlir::ArrayAttr getExplicitMaps(mlir::Operation *op);
llvm::SmallVector<mlir::AffineMap> getMaps(mlir::Operation *op);

/// (head) -> (kv_head): h floordiv G from the map of the first operand that shares heads; 0 where no operand has heads.
mlir::AffineMap getKvHeadMap(mlir::Operation *op);
/// The G of this map; 1 if each head has its own keys, or all heads share them.
int64_t getGroupSize(mlir::Operation *op);

/// Pairs for dot products are two results of a map: `d floordiv 2` is the pair, `d mod 2` the element in it. Returns
/// the position of `d`; nothing for other results. Only dimensions after the batch dimensions are paired.
std::optional<unsigned> getPairedDim(mlir::AffineExpr expr, unsigned numBatch);
/// True where `map` has dimension `position` in pairs.
bool isPaired(mlir::AffineMap map, unsigned position);

/// Parts of bf16 whose sum is an element: `operand` has them in a dimension for which its map is 0. 1 for others.
int64_t getNumParts(mlir::Value operand, mlir::AffineMap map);
/// This many parts represent any f32.
constexpr int64_t kMaxElementParts = 3;

/// Static sizes of the iteration domain; kDynamic where unknown.
llvm::SmallVector<int64_t> getStaticDomain(mlir::Operation *op);
int64_t getStaticSize(mlir::Operation *op, DimKind kind);
/// The same as values, from operands that have the dimensions.
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

/// Verifies that no attribute has the name of another attn op's attribute, or nearly: it would have no effect.
mlir::LogicalResult verifyAttributes(mlir::Operation *op);

/// True for a tile in the registers of a GPU's threads: a tensor with that encoding.
bool isInRegisters(mlir::Type type);
/// The type of such a tile.
mlir::RankedTensorType getRegisterType(llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

/// The type that products of `elementType` are accumulated in: f64 for f64, otherwise f32.
mlir::Type getAccumulationType(mlir::Type elementType);

/// True for the types of keys and values with a scale: i8, f8E4M3FN and f8E5M2.
bool isQuantised(mlir::Type elementType);

/// The cu_seqlens of the query rows, if sequences are packed; null otherwise.
mlir::Value getPackedSequences(mlir::Operation *op);
/// True if its keys are packed too; with packed queries, those of a cache are (batch, head, key, column).
bool hasPackedKeys(mlir::Operation *op);

/// Adds the offsets of a tile to the results of attn.index in `region`, as tiling does to a predicate. `op` is the
/// structured op that defines the region's domain; new values are built at the builder's position, which dominates the
/// region.
void shiftIndex(mlir::OpBuilder &builder, mlir::Region &region, llvm::ArrayRef<mlir::OpFoldResult> domainOffsets,
                mlir::Operation *op);

} // namespace attn

#endif // ATTN_IR_STRUCTURE_H
