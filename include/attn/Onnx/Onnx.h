//===- Onnx.h - ONNX models as IR -------------------------------*- C++ -*-===//
//
// A model becomes one IR file, with a public function an Attention node, and
// one of the whole graph where all of it is covered.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_ONNX_ONNX_H
#define ATTN_ONNX_ONNX_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <optional>
#include <string>

namespace attn {

// On the module, where there are any: lines on the nodes that no function is made of, and on the Attention nodes among
// them. The compiler makes remarks of them, the latter missed ones.
inline constexpr llvm::StringLiteral kSkippedAttr = "attn.skipped", kRefusedAttr = "attn.refused";
// On a function: what of the model it is, "node", "graph" or "part". The manifest says it, too.
inline constexpr llvm::StringLiteral kOnnxAttr = "attn.onnx";

/// The IR of a serialised ModelProto.
///
/// A function an Attention node (and com.microsoft's MultiHeadAttention and GroupQueryAttention), called as the node
/// is, made a C identifier, or attention_<i>; its arguments and results are those that the node has, with the names of
/// the operator's definition (Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen; Y, present_key,
/// present_value, qk_matmul_output). A node becomes attn.sdpa, and with qk_matmul_output the chain, which materialises
/// the scores. Where all keys of a row are removed Y is 0, as everywhere here; ONNX's function body gives NaN.
///
/// Where each node is covered by a rule, a function of the whole graph, too, called as the graph is: linalg, in which
/// attn-raise finds attention; an Attention node that has the graph's inputs and outputs is that function already.
/// Where a node is not covered, a function a part of the graph that is and holds a softmax between products, called as
/// its first softmax is.
///
/// Weights may lie in other files in `folder`, that of the model; without a folder no file is read.
///
/// Errors start with `name` and the node and say what was expected.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(mlir::MLIRContext &context, llvm::StringRef bytes,
                                                             llvm::StringRef name,
                                                             std::optional<llvm::StringRef> folder = std::nullopt);

/// The same as an IR file called `name` as IR: bytecode, which has weights as they are and ops with the names of their
/// nodes as locations; or text, as a reader wants it.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> onnxToMLIR(llvm::StringRef bytes, llvm::StringRef name,
                                                               std::optional<llvm::StringRef> folder = std::nullopt,
                                                               bool isText = false);

/// A model for ONNX Runtime in which attention nodes are nodes `Kernel` of the domain `attn`, and all else is as it
/// was. Such a node has the IR of the node's function as its attribute `source`, and takes and gives what the function
/// does; libattn_ort.so (lib/OnnxRuntime) compiles and runs it.
struct OnnxRuntimeModel {
  std::string bytes;
  std::vector<std::string> left; ///< why other attention nodes stay, each with its name
};

/// Errors start with `name`: there is no attention node, or there is none that becomes a kernel.
llvm::Expected<OnnxRuntimeModel> rewriteForOnnxRuntime(llvm::StringRef bytes, llvm::StringRef name,
                                                       llvm::StringRef folder);

} // namespace attn

#endif // ATTN_ONNX_ONNX_H
