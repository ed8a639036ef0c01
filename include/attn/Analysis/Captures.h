//===- Captures.h - where regions read captured tensors ---------*- C++ -*-===//
//
// How a backward pass can add up the gradient of a captured tensor, without two
// that add to one element at a time, follows from what the position that is read
// depends on.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_CAPTURES_H
#define ATTN_ANALYSIS_CAPTURES_H

#include "attn/IR/Attn.h"

namespace attn {

/// What the position of an access depends on.
enum class CaptureClass {
  HeadBatch, ///< neither query nor key: all scores of a head share one element (slopes, temperatures)
  Query,     ///< the query: all keys of a row share one element
  Key,       ///< the key: all rows of a key share one element (a bias of padding)
  QueryKey,  ///< each query and key of a head has an element of its own (a bias)
  Scattered, ///< anything else: tables by the distance of query and key, positions that depend on the score
};

struct CaptureAccess {
  CaptureClass kind;
  bool isOfBatch = false; ///< no two batch entries share an element
  bool isOfHead = false;  ///< no two heads of K share an element
};

/// The access at `indices`, those of a tensor.extract, memref.load or attn.accumulate, in a region of scores or
/// gradients.
CaptureAccess classifyCapture(mlir::Region &region, mlir::ValueRange indices);

} // namespace attn

#endif // ATTN_ANALYSIS_CAPTURES_H
