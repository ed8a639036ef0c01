// A step of gradients as small ops. Rows of tiles are those that sums belong to: queries for dQ, keys for dK and dV.

// RUN: attn-opt %s -attn-decompose-step | FileCheck %s
// RUN: attn-opt %s -attn-decompose-step -attn-lower-to-reference | FileCheck %s --check-prefix=LINALG

//       CHECK: #[[TRANSPOSED:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @queries
//       CHECK:   %[[S:.*]] = attn.product ins(%arg0, %arg1 {{.*}} tensor<4x6xf32>
//       CHECK:   %[[DW:.*]] = attn.product ins(%arg4, %arg2 {{.*}} tensor<4x6xf32>
//       CHECK:   %[[G:.*]] = attn.score_gradients ins(%[[S]], %arg3 {{.*}} dweights(%[[DW]], %arg5 {{.*}} gradients(
//       CHECK:   attn.product ins(%[[G]], %arg1 {{.*}}accumulate
// LINALG-LABEL: func.func @queries
//   LINALG-NOT:   attn.
//       LINALG:   return
func.func @queries(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %lse: tensor<4xf32>,
                   %do: tensor<4x8xf32>, %delta: tensor<4xf32>, %dq0: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %dq = attn.backward_step ins(%q, %k, %v, %lse, %do, %delta : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>,
      tensor<4xf32>, tensor<4x8xf32>, tensor<4xf32>) dquery(%dq0 : tensor<4x16xf32>) {scale = 0.25 : f64}
      -> tensor<4x16xf32>
  return %dq : tensor<4x16xf32>
}

// CHECK-LABEL: func.func @keys
//       CHECK:   %[[S:.*]] = attn.product ins(%arg1, %arg0 {{.*}} tensor<6x4xf32>
//       CHECK:   %[[DW:.*]] = attn.product ins(%arg2, %arg4 {{.*}} tensor<6x4xf32>
//       CHECK:   %[[G:.*]]:2 = attn.score_gradients ins(%[[S]], %arg3 {{.*}} weights({{.*}} gradients({{.*}} #[[TRANSPOSED]]
//       CHECK:   attn.product ins(%[[G]]#1, %arg0
//       CHECK:   attn.product ins(%[[G]]#0, %arg4
// LINALG-LABEL: func.func @keys
//   LINALG-NOT:   attn.
//       LINALG:   return
func.func @keys(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %lse: tensor<4xf32>,
                %do: tensor<4x8xf32>, %delta: tensor<4xf32>, %dk0: tensor<6x16xf32>, %dv0: tensor<6x8xf32>)
    -> (tensor<6x16xf32>, tensor<6x8xf32>) {
  %dk, %dv = attn.backward_step ins(%q, %k, %v, %lse, %do, %delta : tensor<4x16xf32>, tensor<6x16xf32>,
      tensor<6x8xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<4xf32>)
      dkey(%dk0 : tensor<6x16xf32>) dvalue(%dv0 : tensor<6x8xf32>) {scale = 0.25 : f64}
      -> tensor<6x16xf32>, tensor<6x8xf32>
  return %dk, %dv : tensor<6x16xf32>, tensor<6x8xf32>
}
