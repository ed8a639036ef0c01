//===- Weights.h - constants in a file that programs map --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_COMPILER_WEIGHTS_H
#define ATTN_LIB_COMPILER_WEIGHTS_H

#include "attn/Compiler/Compiler.h"

namespace attn {

/// The functions of attn-c/attn_runtime.h that an object with weights in a file contains.
inline constexpr llvm::StringRef kMapWeights = "attn_map_weights", kDescribeNoWeights = "attn_describe_no_weights";

/// Large constants, each at its offset in the file.
struct Weights {
  uint64_t size = 0, key = 0; ///< of the file
  std::vector<std::pair<uint64_t, mlir::DenseElementsAttr>> tensors;
};

/// The symbol of the function that maps the file.
std::string getMapWeightsName(llvm::StringRef kernel);

} // namespace attn

#endif // ATTN_LIB_COMPILER_WEIGHTS_H
