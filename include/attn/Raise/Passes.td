//===- Passes.td - the pass that finds attention ------------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_RAISE_PASSES_TD
#define ATTN_RAISE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ImportForeignPass : Pass<"attn-import-foreign", "::mlir::func::FuncOp"> {
  let summary = "read attention ops of IREE and torch-mlir";
  let description = [{
    Replaces `iree_linalg_ext.attention`, `iree_linalg_ext.online_attention`,
    `tm_tensor.attention` and `torch.aten.scaled_dot_product_attention` by
    `attn.sdpa`. Their dialects are not linked: the ops are read in generic form, as
    `iree-opt --mlir-print-op-generic` and `torch-mlir-opt --mlir-print-op-generic`
    print them, with unregistered dialects allowed.

    Maps, a scale, a mask (i1: a mask; floats: a bias), a region on the score, `is_causal` and grouped heads are
    supported. Arguments and results of `!torch.vtensor` become builtin tensors.

    Rejects dropout; an `online_attention` whose state has uses other than a division by its sum; queries, keys and
    values that `attn.sdpa` rejects.

    ```mlir
    // before
    %r = "tm_tensor.attention"(%q, %k, %v, %o) <{scale = 0.5 : f64}> : (…) -> tensor<5x2x3x4xf32>
    // after
    %r = attn.sdpa ins(%q, %k, %v : …) outs(%o : …) {scale = 0.5 : f64, maps = […]} -> tensor<5x2x3x4xf32>
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def LowerTosaPass : Pass<"attn-lower-tosa", "::mlir::func::FuncOp"> {
  let summary = "lower TOSA to linalg, by upstream's passes";
  let description = [{
    Runs `tosa-to-linalg-named`, `tosa-to-linalg`, `tosa-to-tensor` and `tosa-to-arith` on functions with TOSA ops only,
    so that `attn-raise` finds attention there too.

    ```mlir
    // before
    %s = tosa.matmul %q, %kt, %zp, %zp : …
    // after
    %s = linalg.batch_matmul ins(%q, %kt : …) outs(%zero : …) -> tensor<8x64x64xf32>
    ```
  }];
}

def RaisePass : Pass<"attn-raise", "::mlir::func::FuncOp"> {
  let summary = "find attention in linalg and write it as attn ops";
  let description = [{
    Front ends write attention as a product, a softmax of any number of ops, and a second product, with reshapes,
    transposes and casts between them. The pass traces the computation of one element of the result, so that neither the
    order of dimensions nor the number of ops matters, and replaces it by `attn.scores`, `attn.scale`, `attn.modify`,
    `attn.softcap`, `attn.mask`, `attn.softmax`, `attn.apply`, which `attn-fuse` turns into one `attn.sdpa`.

    It proves that the weights are exponentials divided by the sum of the same exponentials over the dimension that the
    second product sums over. Any other function of the scores becomes the region of `attn.modify`; constant triangles
    and bands become `causal` and `window`; selects of -inf and comparisons of positions become masks. docs/Frontends.md
    has the forms and the relaxations.

    Rejects nothing: ops that do not match stay unchanged. If there is a likely softmax between two products, a missed
    remark names the step that did not match; with `fail-on-fallback` it is an error.

    ```mlir
    // before
    %s = linalg.batch_matmul_transpose_b ins(%q, %k : …) outs(%zero : …) -> tensor<8x64x64xf32>
    %p = linalg.softmax dimension(2) ins(%s : …) outs(%e : …) -> tensor<8x64x64xf32>
    %o = linalg.batch_matmul ins(%p, %v : …) outs(%zeros : …) -> tensor<8x64x32xf32>
    // after
    %s = attn.scores ins(%q, %k : tensor<8x64x32xf32>, tensor<8x64x32xf32>) outs(…) -> tensor<8x64x64xf32>
    %t = attn.scale ins(%s : …) outs(…) {scale = 1.0 : f64} -> tensor<8x64x64xf32>
    %p = attn.softmax ins(%t : …) outs(…) -> tensor<8x64x64xf32>
    %o = attn.apply ins(%p, %v : …) outs(…) -> tensor<8x64x32xf32>
    ```
  }];
  let options = [
    Option<"assumeFiniteMask", "assume-finite-mask", "bool", "true",
           "Take a constant of at most -1e30 for -inf where each row is proved to keep a key">,
    Option<"allowUnsafeSoftmax", "allow-unsafe-softmax", "bool", "true",
           "Find a softmax without its maximum, which overflows where attn does not">,
    Option<"failOnFallback", "fail-on-fallback", "bool", "false", "An error where a softmax is left">,
    Option<"gradientsOnly", "gradients-only", "bool", "false",
           "Only in functions with attn.grad, whose arith and math on tensors become linalg first">];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

#endif // ATTN_RAISE_PASSES_TD
