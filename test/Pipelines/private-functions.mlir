// attnc moves private functions into the kernels that call them: an attention in parts is fused, and sizes are known.
// RUN: attnc %s -o %t.o --manifest=- --fail-on-fallback | FileCheck %s
// CHECK: "path": "flash"
// RUN: attnc run %s --check --size=b=2,sq=5,sk=9 | FileCheck %s --check-prefix=VALUES
// What no kernel calls is gone, also beside GPU kernels.
// RUN: attnc %s --target=sm_80 --emit=ptx -o - | FileCheck %s --check-prefix=PTX
// PTX: .entry attention_kernel
// PTX-NOT: .entry
// VALUES: output: largest error {{.*}}: ok
func.func private @weights(%q: tensor<?x4x?x8xf32>, %k: tensor<?x4x?x8xf32>) -> tensor<?x4x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x8xf32>
  %sq = tensor.dim %q, %c2 : tensor<?x4x?x8xf32>
  %sk = tensor.dim %k, %c2 : tensor<?x4x?x8xf32>
  %e = tensor.empty(%b, %sq, %sk) : tensor<?x4x?x?xf32>
  %s = attn.scores ins(%q, %k : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>) outs(%e : tensor<?x4x?x?xf32>)
      -> tensor<?x4x?x?xf32>
  %p = attn.softmax ins(%s : tensor<?x4x?x?xf32>) outs(%e : tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  return %p : tensor<?x4x?x?xf32>
}
func.func @attention(%q: tensor<?x4x?x8xf32>, %k: tensor<?x4x?x8xf32>, %v: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x8xf32>
  %sq = tensor.dim %q, %c2 : tensor<?x4x?x8xf32>
  %p = call @weights(%q, %k) : (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>) -> tensor<?x4x?x?xf32>
  %e = tensor.empty(%b, %sq) : tensor<?x4x?x8xf32>
  %o = attn.apply ins(%p, %v : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>) outs(%e : tensor<?x4x?x8xf32>)
      -> tensor<?x4x?x8xf32>
  return %o : tensor<?x4x?x8xf32>
}
func.func private @unused(%q: tensor<1x4x16x8xf16>) -> tensor<1x4x16x8xf16> {
  %e = tensor.empty() : tensor<1x4x16x8xf16>
  %o = attn.sdpa ins(%q, %q, %q : tensor<1x4x16x8xf16>, tensor<1x4x16x8xf16>, tensor<1x4x16x8xf16>)
      outs(%e : tensor<1x4x16x8xf16>) -> tensor<1x4x16x8xf16>
  return %o : tensor<1x4x16x8xf16>
}
