// Which cache a decode kernel asks for K and V: the first, and on Zen 4 the second. First rows of a range are for the
// first on both.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64-v4 --canonicalize --cse | FileCheck %s -DLEVEL=3
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=znver4 --canonicalize --cse | FileCheck %s -DLEVEL=2

// CHECK-LABEL: func @walk(
//  CHECK-SAME:     %{{.*}}: memref<2x1x16xf32>, %[[K:[a-z0-9]*]]: memref<1x64x16xf32>, %[[V:[a-z0-9]*]]: memref<1x64x16xf32>
//       CHECK:   memref.prefetch %[[K]]{{.*}} locality<3>
//       CHECK:   memref.prefetch %[[V]]{{.*}} locality<3>
//       CHECK:   scf.for
//       CHECK:     memref.prefetch %[[V]]{{.*}} locality<[[LEVEL]]>
//       CHECK:     memref.prefetch %[[K]]{{.*}} locality<[[LEVEL]]>
func.func @walk(%q: memref<2x1x16xf32>, %k: memref<1x64x16xf32>, %v: memref<1x64x16xf32>, %a: memref<2x1x16xf32>,
                %m: memref<2x1xf32>, %l: memref<2x1xf32>) {
  attn.online_step ins(%q, %k, %v : memref<2x1x16xf32>, memref<1x64x16xf32>, memref<1x64x16xf32>)
      outs(%a, %m, %l : memref<2x1x16xf32>, memref<2x1xf32>, memref<2x1xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (h floordiv 2, j, d)>,
               affine_map<(h, i, j, d, e) -> (h floordiv 2, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>],
       scale = 0.5 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 16, lanes = 16, block_queries = 2, prefetch = 16>}
  return
}
