// RUN: attn-opt %s --attn-tile-matmul=target=x86-64-v4 --attn-pack-weights | FileCheck %s

#identity = affine_map<(d0, d1) -> (d0, d1)>

// Two rows of weights from -8 to 7 are one of bytes: 7 below -8 is 0x87. The product takes them apart.
//       CHECK: #[[PAIR:.*]] = affine_map<(d0, d1, d2) -> (d2 floordiv 2, d1)>
// CHECK-LABEL: func @nibbles(
//       CHECK:   arith.constant dense<-121> : tensor<2x1x48xi8>
//       CHECK:   linalg.generic {indexing_maps = [{{.*}}, #[[PAIR]], {{.*}}]
//       CHECK:     %[[ROW:.*]] = linalg.index 2
//       CHECK:     %[[WIDE:.*]] = arith.index_cast %[[ROW]]
//       CHECK:     %[[ODD:.*]] = arith.trunci %[[WIDE]] : i64 to i1
//       CHECK:     %[[SHIFT:.*]] = arith.select %[[ODD]], %c0_i8{{.*}}, %c4_i8
//       CHECK:     %[[UP:.*]] = arith.shli %{{.*}}, %[[SHIFT]] : i8
//       CHECK:     %[[NIBBLE:.*]] = arith.shrsi %[[UP]], %c4_i8
//       CHECK:     arith.sitofp %[[NIBBLE]]
func.func @nibbles(%x: tensor<16384x2xf32>, %s: tensor<1x96xf32>) -> tensor<16384x96xf32> {
  %q = arith.constant dense<[[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
                             7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
                             7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
                             [-8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8,
                             -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8,
                             -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8, -8]]> : tensor<2x96xi8>
  %cst = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<2x96xf32>
  %e1 = tensor.empty() : tensor<16384x96xf32>
  %w = linalg.generic {indexing_maps = [#identity, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>, #identity],
                       iterator_types = ["parallel", "parallel"]}
      ins(%q, %s : tensor<2x96xi8>, tensor<1x96xf32>) outs(%e0 : tensor<2x96xf32>) {
  ^bb0(%a: i8, %b: f32, %c: f32):
    %f = arith.sitofp %a : i8 to f32
    %p = arith.mulf %f, %b : f32
    linalg.yield %p : f32
  } -> tensor<2x96xf32>
  %z = linalg.fill ins(%cst : f32) outs(%e1 : tensor<16384x96xf32>) -> tensor<16384x96xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
                                        affine_map<(d0, d1, d2) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16384x2xf32>, tensor<2x96xf32>) outs(%z : tensor<16384x96xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<16384x96xf32>
  return %y : tensor<16384x96xf32>
}
