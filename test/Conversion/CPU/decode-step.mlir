// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse | FileCheck %s

// Two rows times two keys: four products, their lanes added up as a tree; V is read once for both rows.
// CHECK-LABEL: func @step(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: memref<2x1x8xf32>, %[[K:[a-z0-9]*]]: memref<1x4x8xbf16>, %[[V:[a-z0-9]*]]: memref<1x4x4xbf16>
//       CHECK:   scf.for
//       CHECK:     scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)
//       CHECK:       memref.prefetch %[[V]]
// CHECK-COUNT-2:     vector.load %[[K]]
// CHECK-COUNT-2:     vector.load %[[Q]]
//       CHECK:     vector.shuffle %{{.*}}, %{{.*}} [0, 2, 4, 6]
//       CHECK:     vector.shuffle %{{.*}}, %{{.*}} [1, 3, 5, 7]
//       CHECK:     vector.store %{{.*}} : memref<2x4xf32>, vector<2xf32>
// Unrolled, none of the loads would walk from line to line.
//       CHECK:   } {loop_annotation
// The maximum of a row moves where a score is larger: alpha, l and acc.
//       CHECK:   vector.reduction <or>
//       CHECK:   scf.if
//       CHECK:     memref.store %{{.*}}, %[[M:[a-z0-9]*]][%{{.*}}, %c0] : memref<2x1xf32>
//       CHECK:     vector.store %{{.*}}, %[[A:[a-z0-9]*]][%{{.*}}, %c0, %c0] : memref<2x1x4xf32>
//       CHECK:   } else {
// V goes by once for both rows, whose sums are in acc.
//       CHECK:   scf.for
//       CHECK:     memref.prefetch %[[K]]
// CHECK-COUNT-2:     vector.load %[[V]]
//   CHECK-NOT:     vector.load %[[V]]
// CHECK-COUNT-2:     vector.store %{{.*}}, %[[A]][
//       CHECK:   } {loop_annotation
//       CHECK:   return
func.func @step(%q: memref<2x1x8xf32>, %k: memref<1x4x8xbf16>, %v: memref<1x4x4xbf16>, %a: memref<2x1x4xf32>,
                %m: memref<2x1xf32>, %l: memref<2x1xf32>) {
  attn.online_step ins(%q, %k, %v : memref<2x1x8xf32>, memref<1x4x8xbf16>, memref<1x4x4xbf16>)
      outs(%a, %m, %l : memref<2x1x4xf32>, memref<2x1xf32>, memref<2x1xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (h floordiv 2, j, d)>,
               affine_map<(h, i, j, d, e) -> (h floordiv 2, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>],
       scale = 0.5 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 2, prefetch = 4>}
  return
}

// Two tiles, each of two places 16 keys apart, whose first rows are asked for. The distance is 0: the rest is hardware's.
// CHECK-LABEL: func @walk(
//  CHECK-SAME:     %{{.*}}: memref<2x1x8xf32>, %[[K:[a-z0-9]*]]: memref<1x32x8xf32>, %[[V:[a-z0-9]*]]: memref<1x32x4xf32>
// CHECK-COUNT-2:   memref.prefetch %[[K]]
// CHECK-COUNT-2:   memref.prefetch %[[V]]
//   CHECK-NOT:   memref.prefetch
//       CHECK:   scf.for %[[ROW:.*]] = %c0 to %c16 step %c8
//       CHECK:     arith.addi %[[ROW]], %c16
//   CHECK-NOT:   memref.prefetch
//       CHECK:   return
func.func @walk(%q: memref<2x1x8xf32>, %k: memref<1x32x8xf32>, %v: memref<1x32x4xf32>, %a: memref<2x1x4xf32>,
                %m: memref<2x1xf32>, %l: memref<2x1xf32>) {
  attn.online_step ins(%q, %k, %v : memref<2x1x8xf32>, memref<1x32x8xf32>, memref<1x32x4xf32>)
      outs(%a, %m, %l : memref<2x1x4xf32>, memref<2x1xf32>, memref<2x1xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (h floordiv 2, j, d)>,
               affine_map<(h, i, j, d, e) -> (h floordiv 2, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>],
       scale = 0.5 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 16, lanes = 4, block_queries = 2>}
  return
}
