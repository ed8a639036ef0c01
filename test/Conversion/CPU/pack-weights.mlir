// RUN: attn-opt %s --attn-tile-matmul=target=x86-64-v3 --attn-pack-weights | FileCheck %s

#rows = affine_map<(d0, d1, d2) -> (d0, d2)>
#columns = affine_map<(d0, d1, d2) -> (d1, d2)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>

// Columns of the product are rows of the constant, 2 j + k: two panels of 16 columns have them innermost, and the
// matrix itself is gone.
//       CHECK: #[[$PANEL:.*]] = affine_map<(d0) -> (d0 floordiv 16)>
//       CHECK: #[[$COLUMNS:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-LABEL: func @transposed(
//       CHECK:   %[[PANELS:.*]] = arith.constant
//  CHECK-SAME:     0.000000e+00, 2.000000e+00, 4.000000e+00
//  CHECK-SAME:     3.000000e+01], [1.000000e+00, 3.000000e+00
//  CHECK-SAME:     3.200000e+01, 3.400000e+01
//  CHECK-SAME:     6.300000e+01]]]> : tensor<2x2x16xf32>
//   CHECK-NOT:   tensor<32x2xf32>
//       CHECK:   scf.forall (%{{.*}}, %[[J:.*]]) = (0, 0) to (%{{.*}}, 32) step (126, 16)
//       CHECK:     %[[NUMBER:.*]] = affine.apply #[[$PANEL]](%[[J]])
//       CHECK:     %[[PANEL:.*]] = tensor.extract_slice %[[PANELS]][%[[NUMBER]], 0, 0] [1, 2, 16] [1, 1, 1]
//       CHECK:     linalg.generic {indexing_maps = [#{{.*}}, #[[$COLUMNS]], #{{.*}}], {{.*}} ins(%{{.*}}, %[[PANEL]] :
func.func @transposed(%x: tensor<?x2xf32>, %empty: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %cst = arith.constant 0.0 : f32
  %w = arith.constant dense<[
      [0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, 9.0], [10.0, 11.0], [12.0, 13.0], [14.0, 15.0],
      [16.0, 17.0], [18.0, 19.0], [20.0, 21.0], [22.0, 23.0], [24.0, 25.0], [26.0, 27.0], [28.0, 29.0],
      [30.0, 31.0], [32.0, 33.0], [34.0, 35.0], [36.0, 37.0], [38.0, 39.0], [40.0, 41.0], [42.0, 43.0],
      [44.0, 45.0], [46.0, 47.0], [48.0, 49.0], [50.0, 51.0], [52.0, 53.0], [54.0, 55.0], [56.0, 57.0],
      [58.0, 59.0], [60.0, 61.0], [62.0, 63.0]]> : tensor<32x2xf32>
  %zero = linalg.fill ins(%cst : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %p = linalg.generic {indexing_maps = [#rows, #columns, #result],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x2xf32>, tensor<32x2xf32>) outs(%zero : tensor<?x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %sum = arith.addf %c, %m : f32
    linalg.yield %sum : f32
  } -> tensor<?x32xf32>
  return %p : tensor<?x32xf32>
}

// Of a matrix of one number every panel is the same.
// CHECK-LABEL: func @splat(
//       CHECK:   %[[W:.*]] = arith.constant dense<1.000000e+00> : tensor<2x16xf32>
//       CHECK:   linalg.matmul ins(%{{.*}}, %[[W]] :
func.func @splat(%x: tensor<?x2xf32>, %empty: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %w = arith.constant dense<1.0> : tensor<2x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<?x2xf32>, tensor<2x32xf32>) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %p : tensor<?x32xf32>
}
