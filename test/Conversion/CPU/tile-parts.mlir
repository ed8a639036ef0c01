// Parts of bf16 that AMX tiles multiply; test/python/test_amx_parts.py runs them on numbers.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=sapphirerapids --canonicalize --cse --split-input-file | FileCheck %s

// The upper half of a float is its first part, and the rest, or a tiny number where there is none, is split further. Rows
// that are not there are 0.
// CHECK-LABEL: func @split(
//  CHECK-SAME:     %[[X:.*]]: memref<5x32xf32>, %[[P:.*]]: memref<2x16x32xbf16>
//   CHECK-DAG:   %[[UPPER:.*]] = arith.constant dense<-65536> : vector<16xi32>
//   CHECK-DAG:   %[[TINY:.*]] = arith.constant dense<9.09494702E-13> : vector<16xf32>
//   CHECK-DAG:   %[[HALF:.*]] = arith.constant dense<32768> : vector<16xi32>
//       CHECK:   %[[ALL:.*]] = vector.load %[[X]]
//       CHECK:   %[[BITS:.*]] = arith.bitcast %[[ALL]]
//       CHECK:   %[[FIRST:.*]] = arith.andi %[[BITS]], %[[UPPER]]
//       CHECK:   %[[FLOAT:.*]] = arith.bitcast %[[FIRST]]
//       CHECK:   %[[REST:.*]] = arith.subf %[[ALL]], %[[FLOAT]]
//       CHECK:   %[[IS_SOME:.*]] = arith.cmpf one, %[[REST]]
//       CHECK:   %[[LITTLE:.*]] = arith.mulf %[[ALL]], %[[TINY]]
//       CHECK:   %[[NEXT:.*]] = arith.select %[[IS_SOME]], %[[REST]], %[[LITTLE]]
//       CHECK:   %[[NEXT_BITS:.*]] = arith.bitcast %[[NEXT]]
//       CHECK:   arith.addi %[[NEXT_BITS]], %[[HALF]]
//       CHECK:   vector.store %{{.*}}, %[[P]][%c0, %{{.*}}] : {{.*}}, vector<16xbf16>
//       CHECK:   vector.store %{{.*}}, %[[P]][%c1, %{{.*}}] : {{.*}}, vector<16xbf16>
//       CHECK:   scf.for %{{.*}} = %c5 to %c16
func.func @split(%x: memref<5x32xf32>, %p: memref<2x16x32xbf16>) {
  attn.pack ins(%x : memref<5x32xf32>) outs(%p : memref<2x16x32xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (0, i, d)>]}
  return
}

// -----

// Parts of a matrix lie below each other: those of 32 keys and of 16 pairs of columns. The three pairs of two parts.
// CHECK-LABEL: func @step(
//   CHECK-DAG:   %[[K:.*]] = memref.collapse_shape %{{.*}} {{\[}}[0, 1], [2]] : memref<2x32x32xbf16> into memref<64x32xbf16>
//   CHECK-DAG:   %[[Q:.*]] = memref.collapse_shape %{{.*}} {{\[}}[0, 1], [2, 3]] : memref<2x16x32x2xbf16> into memref<32x64xbf16>
//       CHECK:   amx.tile_load %[[K]][%c32, %c0]
//       CHECK:   amx.tile_load %[[Q]][%c0, %c0]
// CHECK-COUNT-4:   amx.tile_mulf
//       CHECK:   amx.tile_load %[[K]][%c0, %c0]
// CHECK-COUNT-4:   amx.tile_mulf
//       CHECK:   amx.tile_load %[[Q]][%c16, %c0]
// CHECK-COUNT-4:   amx.tile_mulf
// CHECK-COUNT-4:   amx.tile_store
func.func @step(%q: memref<2x16x32x2xbf16>, %k: memref<2x32x32xbf16>, %v: memref<2x32x32xbf16>, %a: memref<32x32xf32>,
                %m: memref<32xf32>, %l: memref<32xf32>) {
  attn.online_step ins(%q, %k, %v : memref<2x16x32x2xbf16>, memref<2x32x32xbf16>, memref<2x32x32xbf16>)
      outs(%a, %m, %l : memref<32x32xf32>, memref<32xf32>, memref<32xf32>)
      {maps = [affine_map<(i, j, d, e) -> (0, d floordiv 2, i, d mod 2)>, affine_map<(i, j, d, e) -> (0, j, d)>,
               affine_map<(i, j, d, e) -> (0, e, j)>, affine_map<(i, j, d, e) -> (e, i)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 2, block_vectors = 2, instruction = amx, parts = 2>}
  return
}
