// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse | FileCheck %s
// RUN: not attn-opt %s --attn-lower-tile-to-vector=target=x86-64-v3 2>&1 \
// RUN:     | FileCheck %s --check-prefix=LANES
// LANES: error: 'attn.online_step' op schedule: expected lanes to be 8, those of a vector of 'f32' on target x86-64-v3, found 4; write lanes = 8

// Four keys by one vector of query rows: one load of Q and four broadcasts of K feed four accumulators; two keys are left.
// CHECK-LABEL: func @blocks_and_rest(
//       CHECK:   scf.for %[[D:[a-z0-9]*]] = %c0 to %c16 step %c1 iter_args({{.*}}) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)
//  CHECK-NEXT:     %[[Q:.*]] = vector.load %{{.*}}[%[[D]], %c0] : memref<16x4xf32>, vector<4xf32>
//       CHECK:     %[[K0:.*]] = memref.load %{{.*}}[%c0, %[[D]]] : memref<6x16xf32>
//       CHECK:     %[[B0:.*]] = vector.broadcast %[[K0]]
//       CHECK:     %[[P0:.*]] = arith.mulf %[[B0]], %[[Q]]
//       CHECK:     arith.addf %[[P0]], %{{.*}}
//       CHECK:     memref.load %{{.*}}[%c3, %[[D]]]
//       CHECK:   scf.for %{{.*}} = %c0 to %c16 step %c1 iter_args({{.*}}) -> (vector<4xf32>, vector<4xf32>) {
//       CHECK:     memref.load %{{.*}}[%c5,
//   CHECK-NOT:   vector.load %{{.*}} memref<16x4xf32>
func.func @blocks_and_rest(%q: memref<16x4xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>,
                           %a: memref<8x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  attn.online_step ins(%q, %k, %v : memref<16x4xf32>, memref<6x16xf32>, memref<6x8xf32>)
      outs(%a, %m, %l : memref<8x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64, schedule = #attn.prefill<query_tile = 4, key_tile = 6, lanes = 4, block_rows = 4, block_vectors = 1>}
  return
}
