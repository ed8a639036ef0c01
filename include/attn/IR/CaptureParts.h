//===- CaptureParts.h - sums of gradients of captured tensors ---*- C++ -*-===//
//
// Concurrent tasks add to a captured tensor's gradient, at positions that a region computes. Each has a part of its
// own: a slice of the tensor if the position identifies the task, otherwise a copy; copies are summed afterwards.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_CAPTUREPARTS_H
#define ATTN_IR_CAPTUREPARTS_H

#include "attn/IR/Attn.h"

namespace attn {

/// Most f32 elements in all parts of a gradient: 256 MB.
constexpr int64_t kMaxPartElements = int64_t(1) << 26;
/// Most elements in the part of one task, if their number is dynamic: a tile of a task needs as many.
constexpr int64_t kMaxTaskPartElements = int64_t(1) << 15;

/// The parts of the gradient of one captured tensor.
struct CaptureParts {
  /// The dimension indexed by attn.index batch, and that indexed by attn.index head or kv_head: no two batch indices,
  /// or key heads, add to one element.
  std::optional<unsigned> batchDim, headDim;
  bool isByKvHead = false;
  /// The keys of a row are not consecutive: each lane of a vector of keys has an element of its own, in f64, as many
  /// scores add to it.
  bool hasLanes = false;
};

/// The parts of the contributions of `scoreGrad` to `destination`.
CaptureParts getCaptureParts(mlir::Region &scoreGrad, mlir::Value destination);

/// True where the parts of all gradients of captured tensors of `op`, a sdpa_backward or backward_step, fit in memory,
/// with vectors of `panelKeys` keys.
bool haveCapturePartsRoom(mlir::Operation *op, int64_t panelKeys);

} // namespace attn

#endif // ATTN_IR_CAPTUREPARTS_H
