// RUN: attn-opt %s --attn-tile-matmul=target=znver4 | FileCheck %s

#identity = affine_map<(d0, d1) -> (d0, d1)>

// Quantised weights move into the product, which reads bytes and scales of blocks of 32 rows; others stay.
//       CHECK: #[[BLOCK:.*]] = affine_map<(d0, d1, d2) -> (d2 floordiv 32, d1)>
// CHECK-LABEL: func @quantised(
//   CHECK-NOT:   tensor<2048x1024xf32>
//       CHECK:   scf.forall
//       CHECK:     linalg.generic {indexing_maps = [{{.*}}, #[[BLOCK]], {{.*}}]
//  CHECK-SAME:         ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<1x2048xf32>, tensor<2048x64xi8>, tensor<64x64xf32>)
//       CHECK:       arith.sitofp
//       CHECK:       arith.mulf
//       CHECK:       arith.mulf
//       CHECK:       arith.addf
func.func @quantised(%x: tensor<1x2048xf32>) -> tensor<1x1024xf32> {
  %q = arith.constant dense<3> : tensor<2048x1024xi8>
  %s = arith.constant dense<0.5> : tensor<64x1024xf32>
  %cst = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<2048x1024xf32>
  %e1 = tensor.empty() : tensor<1x1024xf32>
  %w = linalg.generic {indexing_maps = [#identity, affine_map<(d0, d1) -> (d0 floordiv 32, d1)>, #identity],
                       iterator_types = ["parallel", "parallel"]}
      ins(%q, %s : tensor<2048x1024xi8>, tensor<64x1024xf32>) outs(%e0 : tensor<2048x1024xf32>) {
  ^bb0(%a: i8, %b: f32, %c: f32):
    %f = arith.sitofp %a : i8 to f32
    %p = arith.mulf %f, %b : f32
    linalg.yield %p : f32
  } -> tensor<2048x1024xf32>
  %z = linalg.fill ins(%cst : f32) outs(%e1 : tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
                                        affine_map<(d0, d1, d2) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<1x2048xf32>, tensor<2048x1024xf32>) outs(%z : tensor<1x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<1x1024xf32>
  return %y : tensor<1x1024xf32>
}
