// Products by AMX tiles; test/python/test_amx.py runs them on numbers.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=sapphirerapids --canonicalize --cse | FileCheck %s

// 32 keys by 48 query rows, two tiles by two and two by one, of a head of 32 in one product each; then the softmax; then 32
// columns of V, whose keys lie together, onto what alpha has left of the sums.
// CHECK-LABEL: func @step(
//  CHECK-SAME:     %[[Q:[a-z0-9]+]]: memref<16x48x2xbf16>, %[[K:[a-z0-9]+]]: memref<32x32xbf16>, %[[V:[a-z0-9]+]]: memref<32x32xbf16>,
//  CHECK-SAME:     %[[ACC:[a-z0-9]+]]: memref<32x48xf32>
//   CHECK-DAG:   %[[QP:.*]] = memref.collapse_shape %[[Q]] {{\[}}[0], [1, 2]] : memref<16x48x2xbf16> into memref<16x96xbf16>
//   CHECK-DAG:   %[[S:.*]] = memref.alloca() {{.*}} : memref<32x48xf32>
//   CHECK-DAG:   %[[P:.*]] = memref.alloca() {{.*}} : memref<16x96xbf16>
// CHECK-COUNT-4:   amx.tile_zero : !amx.tile<16x16xf32>
//       CHECK:   %[[K0:.*]] = amx.tile_load %[[K]][%c0, %c0] : memref<32x32xbf16> into !amx.tile<16x32xbf16>
//       CHECK:   %[[K1:.*]] = amx.tile_load %[[K]][%c16, %c0]
//       CHECK:   %[[Q0:.*]] = amx.tile_load %[[QP]][%c0, %c0] : memref<16x96xbf16> into !amx.tile<16x32xbf16>
//       CHECK:   %[[Q1:.*]] = amx.tile_load %[[QP]][%c0, %c32]
//       CHECK:   amx.tile_mulf %[[K0]], %[[Q0]]
//       CHECK:   amx.tile_mulf %[[K0]], %[[Q1]]
//       CHECK:   amx.tile_mulf %[[K1]], %[[Q0]]
//       CHECK:   amx.tile_mulf %[[K1]], %[[Q1]]
//       CHECK:   amx.tile_store %[[S]][%c0, %c0]
//       CHECK:   amx.tile_store %[[S]][%c0, %c16]
//       CHECK:   amx.tile_store %[[S]][%c16, %c0]
//       CHECK:   amx.tile_store %[[S]][%c16, %c16]
//       CHECK:   amx.tile_load %[[QP]][%c0, %c64]
//       CHECK:   amx.tile_store %[[S]][%c0, %c32]
//       CHECK:   scf.for
//       CHECK:     vector.load %[[S]]
//       CHECK:   amx.tile_load %[[ACC]][%c0, %c0] : memref<32x48xf32> into !amx.tile<16x16xf32>
//       CHECK:   amx.tile_load %[[V]][%c0, %c0]
//       CHECK:   amx.tile_load %[[P]][%c0, %c0]
//       CHECK:   amx.tile_mulf
//       CHECK:   amx.tile_store %[[ACC]][%c0, %c0]
func.func @step(%q: memref<16x48x2xbf16>, %k: memref<32x32xbf16>, %v: memref<32x32xbf16>, %a: memref<32x48xf32>,
                %m: memref<48xf32>, %l: memref<48xf32>) {
  attn.online_step ins(%q, %k, %v : memref<16x48x2xbf16>, memref<32x32xbf16>, memref<32x32xbf16>)
      outs(%a, %m, %l : memref<32x48xf32>, memref<48xf32>, memref<48xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d floordiv 2, i, d mod 2)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (e, j)>, affine_map<(i, j, d, e) -> (e, i)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64,
       schedule = #attn.prefill<query_tile = 48, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 3, instruction = amx>}
  return
}
