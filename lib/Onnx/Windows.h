//===- Windows.h - what convolutions and pools read -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_WINDOWS_H
#define ATTN_LIB_ONNX_WINDOWS_H

#include "Shared.h"

namespace attn::onnx {

/// One of the spatial dimensions of an image (batch, channels, x…): result x reads the padded elements
/// x * stride + k * dilation, for k below `kernel`.
struct Spatial {
  int64_t before = 0, after = 0, stride = 1, dilation = 1, kernel = 0;
  Size size;
  /// The extent of the input that one result reads.
  int64_t getReach() const { return dilation * (kernel - 1) + 1; }
};

/// The spatial dimensions of input 0, by the attributes of the node; an error if they are wrong. `kernel` has the sizes
/// that each result reads.
llvm::Expected<std::vector<Spatial>> readSpatial(NodeView &view, const Sizes &kernel);
/// (size + before + after - reach) / stride + 1; 0 where the run's input is shorter than the kernel.
Size getOutputSize(GraphBuilder &b, const Spatial &dim);
/// `pad` around the input, where there are any pads.
Value addPads(GraphBuilder &b, const Value &image, llvm::ArrayRef<Spatial> spatial, mlir::Value pad);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_WINDOWS_H
