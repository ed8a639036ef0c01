//===- Onnx.h - ONNX models as IR -------------------------------*- C++ -*-===//
//
// A model whose graph holds Attention nodes (opset 23 to 28) becomes one IR
// file with a public function a node.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_ONNX_ONNX_H
#define ATTN_ONNX_ONNX_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace attn {

/// The IR file of a serialised ModelProto. A function is called as its node is, made a C identifier, or attention_<i>;
/// its arguments and results are those that the node has, with the names of the operator's definition (Q, K, V,
/// attn_mask, past_key, past_value, nonpad_kv_seqlen; Y, present_key, present_value, qk_matmul_output).
///
/// A node becomes attn.sdpa, and with qk_matmul_output the chain, which materialises the scores. Where all keys of a
/// row are removed Y is 0, as everywhere here; ONNX's function body gives NaN.
///
/// Errors start with `name` and the node and say what was expected.
llvm::Expected<std::string> onnxToMLIR(llvm::StringRef bytes, llvm::StringRef name);

} // namespace attn

#endif // ATTN_ONNX_ONNX_H
