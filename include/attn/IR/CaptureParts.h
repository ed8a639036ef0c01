//===- CaptureParts.h - sums of gradients of captured tensors ---*- C++ -*-===//
//
// Tasks that run at the same time add to a captured tensor's gradient, at positions
// that a region computes. Each has a part of its own: a slice of the tensor where
// the position says whose it is, otherwise a copy, which are summed afterwards.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_CAPTUREPARTS_H
#define ATTN_IR_CAPTUREPARTS_H

#include "attn/IR/Attn.h"

namespace attn {

/// Elements of f32 of all parts of a gradient, at most: 256 MB.
constexpr int64_t kMaxPartElements = int64_t(1) << 26;
/// Of the part of one task, where each call says how many there are: a tile of a task takes as much.
constexpr int64_t kMaxTaskPartElements = int64_t(1) << 15;

/// Of the gradient of one captured tensor.
struct CaptureParts {
  /// Its dimension whose position is attn.index batch, and that whose position is attn.index head or kv_head: no two
  /// batch indices, or heads of K, add to one element.
  std::optional<unsigned> batchDim, headDim;
  bool isByKvHead = false;
  /// The keys of a row do not lie one after the other: each lane of a vector of keys has an element of its own, of f64,
  /// since many scores add to it.
  bool hasLanes = false;
};

/// What `scoreGrad` adds to `destination`.
CaptureParts getCaptureParts(mlir::Region &scoreGrad, mlir::Value destination);

/// True where the parts of all gradients of captured tensors of `op`, a sdpa_backward or backward_step, fit memory: of
/// vectors of `panelKeys` keys.
bool haveCapturePartsRoom(mlir::Operation *op, int64_t panelKeys);

} // namespace attn

#endif // ATTN_IR_CAPTUREPARTS_H
