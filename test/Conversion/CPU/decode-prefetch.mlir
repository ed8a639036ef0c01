// Which cache a decode kernel asks for K and V: the first, and on Zen 4 the second. What is asked for at once, beside no
// product, is for the first on both.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64-v4 --canonicalize --cse | FileCheck %s -DLEVEL=3
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=znver4 --canonicalize --cse | FileCheck %s -DLEVEL=2

// CHECK-LABEL: func @step(
//  CHECK-SAME:     %{{.*}}: memref<2x1x16xf32>, %[[K:[a-z0-9]*]]: memref<1x16x16xf32>, %[[V:[a-z0-9]*]]: memref<1x16x16xf32>
//       CHECK:   memref.prefetch %[[K]][%c0, %c0, %c0]{{.*}} locality<3>
//   CHECK-NOT:   memref.prefetch
//       CHECK:   scf.for
//       CHECK:     memref.prefetch %[[V]]{{.*}} locality<[[LEVEL]]>
//       CHECK:   scf.for
//       CHECK:     memref.prefetch %[[K]]{{.*}} locality<[[LEVEL]]>
#rows = affine_map<(r, c) -> (0, r, c)>
func.func @step(%q: memref<2x1x16xf32>, %k: memref<1x16x16xf32>, %v: memref<1x16x16xf32>, %a: memref<2x1x16xf32>,
                %m: memref<2x1xf32>, %l: memref<2x1xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  attn.prefetch %k[%c0, %c0] {rows = 1 : i64, columns = 16 : i64, map = #rows} : memref<1x16x16xf32>
  attn.prefetch %k[%c16, %c0] {rows = 16 : i64, columns = 16 : i64, beside = #attn.contraction<values>, map = #rows}
      : memref<1x16x16xf32>
  attn.prefetch %v[%c0, %c0] {rows = 16 : i64, columns = 16 : i64, beside = #attn.contraction<scores>, map = #rows}
      : memref<1x16x16xf32>
  attn.online_step ins(%q, %k, %v : memref<2x1x16xf32>, memref<1x16x16xf32>, memref<1x16x16xf32>)
      outs(%a, %m, %l : memref<2x1x16xf32>, memref<2x1xf32>, memref<2x1xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (h floordiv 2, j, d)>,
               affine_map<(h, i, j, d, e) -> (h floordiv 2, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>],
       scale = 0.5 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 16, lanes = 16, block_queries = 2, prefetch = 16>}
  return
}
