// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s --attn-lower-to-reference | FileCheck %s --check-prefix=LINALG

// The ops of the backward pass as they are printed, and that the reference has them.

// CHECK-LABEL: func.func @words
//       CHECK:   attn.sdpa_backward ins(%{{.*}}) dlse(%{{.*}} : tensor<2x4x5xf32>) bias(%{{.*}} : tensor<4x5x7xf32>) sink(
//  CHECK-SAME:     kv_lengths(%{{.*}} : tensor<2xi32>)
//  CHECK-SAME:     outs(%{{.*}}) dbias(%{{.*}} : tensor<4x5x7xf32>) dsink(%{{.*}} : tensor<4xf32>)
//  CHECK-SAME:     {causal = #attn.causal<bottom_right>, softcap = 5.000000e+00 : f64}
// LINALG-LABEL: func.func @words
//   LINALG-NOT:   attn.
//       LINALG:   return
func.func @words(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x6xf32>, %o: tensor<2x4x5x6xf32>,
                 %lse: tensor<2x4x5xf32>, %do: tensor<2x4x5x6xf32>, %bias: tensor<4x5x7xf32>, %sink: tensor<4xf32>,
                 %n: tensor<2xi32>)
    -> (tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x6xf32>, tensor<4x5x7xf32>, tensor<4xf32>) {
  %dq0 = tensor.empty() : tensor<2x4x5x8xf32>
  %dk0 = tensor.empty() : tensor<2x2x7x8xf32>
  %dv0 = tensor.empty() : tensor<2x2x7x6xf32>
  %db0 = tensor.empty() : tensor<4x5x7xf32>
  %ds0 = tensor.empty() : tensor<4xf32>
  %dq, %dk, %dv, %db, %ds = attn.sdpa_backward
      ins(%q, %k, %v, %o, %lse, %do : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x6xf32>,
          tensor<2x4x5x6xf32>, tensor<2x4x5xf32>, tensor<2x4x5x6xf32>)
      dlse(%lse : tensor<2x4x5xf32>) bias(%bias : tensor<4x5x7xf32>) sink(%sink : tensor<4xf32>)
      kv_lengths(%n : tensor<2xi32>)
      outs(%dq0, %dk0, %dv0 : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x6xf32>)
      dbias(%db0 : tensor<4x5x7xf32>) dsink(%ds0 : tensor<4xf32>)
      {causal = #attn.causal<bottom_right>, softcap = 5.0 : f64}
      -> tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x6xf32>, tensor<4x5x7xf32>, tensor<4xf32>
  return %dq, %dk, %dv, %db, %ds
      : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x6xf32>, tensor<4x5x7xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @step
//       CHECK:   attn.row_delta ins(%{{.*}}) dlse(%{{.*}} : tensor<4xf32>) outs(%{{.*}} : tensor<4xf32>)
//       CHECK:   attn.backward_step ins(%{{.*}}) dquery(%{{.*}}) dkey(%{{.*}}) dvalue(%{{.*}}) {scale = 2.500000e-01 : f64} score_mod {
//       CHECK:   score_grad {
//       CHECK:   ^bb0(%{{.*}}: f32, %{{.*}}: f32):
//       CHECK:   mask_mod {
//       CHECK:   query_ranges {
//       CHECK:     attn.index first_key
// LINALG-LABEL: func.func @step
//   LINALG-NOT:   attn.
//       LINALG:   return
func.func @step(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>,
                %lse: tensor<4xf32>, %do: tensor<4x8xf32>, %dq0: tensor<4x16xf32>, %dk0: tensor<6x16xf32>,
                %dv0: tensor<6x8xf32>) -> (tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) {
  %init = tensor.empty() : tensor<4xf32>
  %delta = attn.row_delta ins(%o, %do, %lse : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>)
      dlse(%lse : tensor<4xf32>) outs(%init : tensor<4xf32>) -> tensor<4xf32>
  %dq, %dk, %dv = attn.backward_step
      ins(%q, %k, %v, %lse, %do, %delta : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<4xf32>,
          tensor<4x8xf32>, tensor<4xf32>)
      dquery(%dq0 : tensor<4x16xf32>) dkey(%dk0 : tensor<6x16xf32>) dvalue(%dv0 : tensor<6x8xf32>) {scale = 0.25 : f64}
      score_mod {
      ^bb0(%s: f32):
        %t = math.tanh %s : f32
        attn.yield %t : f32
      } score_grad {
      ^bb0(%s: f32, %ds: f32):
        %t = math.tanh %s : f32
        %square = arith.mulf %t, %t : f32
        %one = arith.constant 1.0 : f32
        %slope = arith.subf %one, %square : f32
        %g = arith.mulf %ds, %slope : f32
        attn.yield %g : f32
      } mask_mod {
        %i = attn.index query : index
        %j = attn.index key : index
        %keep = arith.cmpi sle, %j, %i : index
        attn.yield %keep : i1
      } query_ranges {
        %first = attn.index first_key : index
        %end = attn.index end_key : index
        %all = arith.constant 4 : index
        attn.yield %first, %all, %end, %all : index, index, index, index
      } -> tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
  return %dq, %dk, %dv : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
}
