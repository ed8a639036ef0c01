// A decode step by tiles: 16 heads are the rows of both products; test/python/test_amx.py runs them on numbers.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=sapphirerapids --canonicalize --cse | FileCheck %s

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
#schedule = #attn.decode<query_tile = 1, key_tile = 32, lanes = 16, block_queries = 1, instruction = amx>

// CHECK-LABEL: func @f(
//  CHECK-SAME:   %[[Q:[^:]*]]: memref<16x1x32xbf16>, %{{.*}}: memref<1x?x32xbf16>, %{{.*}}: memref<1x?x64xbf16>, %[[A:[^:]*]]: memref<16x1x64xf32>
//   CHECK-DAG:   %[[SCORES:.*]] = memref.alloca() {{.*}} : memref<16x32xf32>
//   CHECK-DAG:   %[[WEIGHTS:.*]] = memref.alloca() {{.*}} : memref<16x32xbf16>
//   CHECK-DAG:   %[[ROWS:.*]] = memref.collapse_shape %[[Q]] {{\[\[}}0, 1], [2]] : memref<16x1x32xbf16> into memref<16x32xbf16>
//       CHECK:   amx.tile_load %[[ROWS]]
//       CHECK:   amx.tile_mulf
//       CHECK:   amx.tile_store %[[SCORES]]
//       CHECK:   %[[SUMS:.*]] = memref.collapse_shape %[[A]] {{\[\[}}0, 1], [2]] : memref<16x1x64xf32> into memref<16x64xf32>
//       CHECK:   amx.tile_load %[[SUMS]]
//       CHECK:   amx.tile_load %[[WEIGHTS]]
//       CHECK:   amx.tile_mulf
//       CHECK:   amx.tile_store %[[SUMS]]
func.func @f(%q: memref<16x1x32xbf16>, %k: memref<1x?x32xbf16>, %v: memref<1x?x64xbf16>, %a: memref<16x1x64xf32>,
             %m: memref<16x1xf32>, %l: memref<16x1xf32>) {
  attn.online_step ins(%q, %k, %v : memref<16x1x32xbf16>, memref<1x?x32xbf16>, memref<1x?x64xbf16>)
      outs(%a, %m, %l : memref<16x1x64xf32>, memref<16x1xf32>, memref<16x1xf32>)
      {maps = [#q, #k, #v, #acc, #row, #row], schedule = #schedule}
  return
}
