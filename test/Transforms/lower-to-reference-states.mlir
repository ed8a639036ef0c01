// RUN: attn-opt %s --attn-lower-to-reference="chain-only=true fail-on-fallback=true" | FileCheck %s

// Merging states of whole tensors is elementwise and no fallback: no scores are in memory.
// CHECK-LABEL: func @merge(
//   CHECK-NOT:   attn.
//       CHECK:   math.exp
//       CHECK:   math.log
func.func @merge(%a0: tensor<4x8xf32>, %m0: tensor<4xf32>, %l0: tensor<4xf32>, %a1: tensor<4x8xf32>, %m1: tensor<4xf32>,
                 %l1: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %o = tensor.empty() : tensor<4x8xf32>
  %s = tensor.empty() : tensor<4xf32>
  %a, %m, %l = attn.merge_states ins(%a0, %m0, %l0 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%a1, %m1, %l1 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  %out, %lse = attn.finalize ins(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%o, %s : tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>
  return %out, %lse : tensor<4x8xf32>, tensor<4xf32>
}
