// A step in units (`overlap`): rounds of products by tiles have weights of another unit behind each multiplication.
// test/python/test_amx.py runs them on numbers.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=sapphirerapids --split-input-file --canonicalize --cse | FileCheck %s

// Two units of 32 rows have two places for scores and weights of 64 keys. Nothing is beside the first scores and the last output.
// CHECK-LABEL: func @units(
//   CHECK-DAG:   %[[S:.*]] = memref.alloca() {{.*}} : memref<128x32xf32>
//   CHECK-DAG:   %[[P:.*]] = memref.alloca() {{.*}} : memref<64x64xbf16>
//       CHECK:   scf.for {{.*}} -> (!amx.tile<16x16xf32>, !amx.tile<16x16xf32>, !amx.tile<16x16xf32>, !amx.tile<16x16xf32>) {
// CHECK-COUNT-4:   amx.tile_mulf
//   CHECK-NOT:     vreduceps
//       CHECK:   amx.tile_store %[[S]]
//       CHECK:   scf.for %[[UNIT:.*]] = %c0 to %c2 step %c1 {
//       CHECK:     %[[NEXT:.*]] = arith.addi %[[UNIT]], %c1
//       CHECK:     %[[HAS_NEXT:.*]] = arith.cmpi slt, %[[NEXT]], %c2
//       CHECK:     scf.if %[[HAS_NEXT]]
//       CHECK:       amx.tile_zero
//       CHECK:       scf.for {{.*}} -> (!amx.tile<16x16xf32>, {{.*}}, index, vector<16xf32>, vector<16xf32>) {
// CHECK-COUNT-4:       amx.tile_load
// Four pairs of keys in two vectors of rows: sixteen weights a vector of rows, a quarter of them behind each multiplication.
//       CHECK:         amx.tile_mulf
// CHECK-COUNT-4:       vreduceps
//       CHECK:         amx.tile_mulf
// CHECK-COUNT-4:       vreduceps
//       CHECK:         amx.tile_mulf
// CHECK-COUNT-4:       vreduceps
//       CHECK:         amx.tile_mulf
// CHECK-COUNT-4:       vreduceps
//   CHECK-NOT:         vreduceps
//       CHECK:         scf.yield
//       CHECK:       amx.tile_store %[[S]]
// The maxima of these scores; then the output of the unit before, with as many weights, and the factors alpha.
//       CHECK:       arith.cmpf ogt
//       CHECK:     scf.if
//       CHECK:       amx.tile_load %arg3
//       CHECK:       scf.for {{.*}} -> (!amx.tile<16x16xf32>, {{.*}}, index, vector<16xf32>, vector<16xf32>) {
// CHECK-COUNT-4:       amx.tile_mulf
//       CHECK:       amx.tile_store %arg3
//       CHECK:       arith.mulf
//       CHECK:     } else {
//   CHECK-NOT:       amx
// What is left of the weights of the first unit and of the last.
//       CHECK:     scf.for {{.*}} to %c32
//       CHECK:       vreduceps
//       CHECK:   scf.for
//       CHECK:     amx.tile_load %arg3
//   CHECK-NOT:     vreduceps
//       CHECK:     amx.tile_store %arg3
func.func @units(%q: memref<32x64x2xbf16>, %k: memref<64x64xbf16>, %v: memref<64x64xbf16>, %a: memref<64x64xf32>,
                 %m: memref<64xf32>, %l: memref<64xf32>) {
  attn.online_step ins(%q, %k, %v : memref<32x64x2xbf16>, memref<64x64xbf16>, memref<64x64xbf16>)
      outs(%a, %m, %l : memref<64x64xf32>, memref<64xf32>, memref<64xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d floordiv 2, i, d mod 2)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (e, j)>, affine_map<(i, j, d, e) -> (e, i)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64,
       schedule = #attn.prefill<query_tile = 64, key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx, overlap = true>}
  return
}

// -----

// Less than a whole key tile: one place for all scores of the step.
// CHECK-LABEL: func @short(
//       CHECK:   memref.alloca() {{.*}} : memref<64x64xf32>
//   CHECK-NOT:   -> (!amx.tile
func.func @short(%q: memref<32x64x2xbf16>, %keys: memref<64x64xbf16>, %values: memref<64x64xbf16>, %a: memref<64x64xf32>,
                 %m: memref<64xf32>, %l: memref<64xf32>, %n: index) {
  %k = memref.subview %keys[0, 0] [%n, 64] [1, 1] : memref<64x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
  %v = memref.subview %values[0, 0] [64, %n] [1, 1] : memref<64x64xbf16> to memref<64x?xbf16, strided<[64, 1]>>
  attn.online_step ins(%q, %k, %v : memref<32x64x2xbf16>, memref<?x64xbf16, strided<[64, 1]>>, memref<64x?xbf16, strided<[64, 1]>>)
      outs(%a, %m, %l : memref<64x64xf32>, memref<64xf32>, memref<64xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d floordiv 2, i, d mod 2)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (e, j)>, affine_map<(i, j, d, e) -> (e, i)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64,
       schedule = #attn.prefill<query_tile = 64, key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx, overlap = true>}
  return
}
