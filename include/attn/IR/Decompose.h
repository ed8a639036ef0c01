//===- Decompose.h - attn ops in terms of simpler ones ----------*- C++ -*-===//
//
// The formulas of the ops as linalg on tensors, and the two rewrites between
// levels of the dialect that more than one layer needs: spelled-out masks to
// one mask_mod region, and sdpa to the online form.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_DECOMPOSE_H
#define ATTN_IR_DECOMPOSE_H

#include "attn/IR/Attn.h"

namespace attn {

/// Decomposes a structured op on tensors: sdpa into the online form, the others into linalg. Steps of the chain and
/// sdpa are computed in `computeType` (null: the accumulation type); ops on a state in the type of the state.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> decompose(mlir::OpBuilder &builder, mlir::Operation *op,
                                                          mlir::Type computeType);

/// True where `op` spells a mask out in attributes (causal, window …); and where it does or holds a mask_mod region.
bool hasSpelledOutMask(mlir::Operation *op);
bool hasPredicate(mlir::Operation *op);

/// Fills the empty `region` with the conjunction of the spelled-out masks of `op` (sdpa or mask) and its mask_mod. This
/// is the only place that knows what causal means; a new kind of spelled-out mask is a few lines in it.
void buildPredicate(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Region &region);

/// Copies those attributes; removes them, once a region stands for them.
void copySpelledOutMasks(mlir::Operation *from, mlir::Operation *to);
void removeSpelledOutMasks(mlir::Operation *op);

/// How the state of the online form is laid out.
enum class StateLayout {
  RowMajor,  ///< acc (batch…, query, value)
  LaneMajor, ///< acc (batch…, value, query): query rows are vector lanes
};

/// sdpa → init_state, online_step over all keys, finalize. Returns the finalize op.
mlir::FailureOr<FinalizeOp> buildOnlineForm(mlir::OpBuilder &builder, SdpaOp op, mlir::Type stateType,
                                            StateLayout layout);

/// The maps of an online_step's state over the domain (batch…, query, value) of the other state ops.
llvm::SmallVector<mlir::AffineMap> getStateMaps(OnlineStepOp op);

/// Drops from the maps' domain every dimension that `kept` does not list.
mlir::AffineMap restrictDomain(mlir::AffineMap map, llvm::ArrayRef<unsigned> kept);

/// The element -inf (or zero) of a float type, as a constant.
mlir::Value createFloatConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value);

/// A float value in another float type.
mlir::Value convertFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type to);

/// Clones the ops of a mask_mod region at the builder's position, with `getIndex` in the place of attn.index, and
/// returns the yielded value.
mlir::Value inlinePredicate(mlir::OpBuilder &builder, mlir::Region &region,
                            llvm::function_ref<mlir::Value(IndexOp)> getIndex);

} // namespace attn

#endif // ATTN_IR_DECOMPOSE_H
