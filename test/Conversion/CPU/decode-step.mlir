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
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  attn.prefetch %k[%c4, %c0] {rows = 4 : i64, columns = 8 : i64, beside = #attn.contraction<values>,
      map = affine_map<(r, c) -> (0, r, c)>} : memref<1x4x8xbf16>
  attn.prefetch %v[%c0, %c0] {rows = 4 : i64, columns = 4 : i64, beside = #attn.contraction<scores>,
      map = affine_map<(r, c) -> (0, r, c)>} : memref<1x4x4xbf16>
  attn.online_step ins(%q, %k, %v : memref<2x1x8xf32>, memref<1x4x8xbf16>, memref<1x4x4xbf16>)
      outs(%a, %m, %l : memref<2x1x4xf32>, memref<2x1xf32>, memref<2x1xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (h floordiv 2, j, d)>,
               affine_map<(h, i, j, d, e) -> (h floordiv 2, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>],
       scale = 0.5 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 2, prefetch = 4>}
  return
}
