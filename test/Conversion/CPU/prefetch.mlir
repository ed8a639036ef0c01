// What attn.prefetch names, a request a cache line, in parts beside the products of the step behind it: as many rows and
// columns, from the row and column on that it says.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse | FileCheck %s
// RUN: sed '/attn.prefetch/,/: memref/d' %s | attn-opt --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse \
// RUN:     | FileCheck %s --check-prefix=NONE
// NONE-NOT: memref.prefetch

// CHECK-LABEL: func @tile(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: memref<4x16xf32>, %{{.*}}: memref<16x4xf32>, %[[K:[a-z0-9]*]]: memref<4x16xf32>, %[[V:[a-z0-9]*]]: memref<4x24xf32>, %[[B:[a-z0-9]*]]: memref<4x16xf32>
//       CHECK:   scf.for %[[J:[a-z0-9]*]] = %c0 to %c4 step %c2
//       CHECK:     %[[AHEAD:.*]] = arith.addi %[[J]], %c8
//       CHECK:     memref.prefetch %[[K]][%[[AHEAD]], %c0], read, locality<2>, data : memref<4x16xf32>
//       CHECK:     %[[NEXT:.*]] = arith.addi %[[J]], %c4
//       CHECK:     memref.prefetch %[[Q]][%[[NEXT]], %c0]
//   CHECK-NOT:     memref.prefetch %[[K]][%[[AHEAD]], %c16]
//       CHECK:   scf.for %[[E:[a-z0-9]*]] = %c0 to %c24 step %c2
//       CHECK:     memref.prefetch %[[B]][%[[ROW:[a-z0-9]*]], %c19], read, locality<2>, data : memref<4x16xf32>
//       CHECK:     memref.prefetch %[[V]][%{{.*}}, %{{.*}}]
//       CHECK:     memref.prefetch %[[B]][
//       CHECK:     memref.prefetch %[[V]][%{{.*}}, %{{.*}}]
//   CHECK-NOT:   memref.prefetch
#rows = affine_map<(r, c) -> (r, c)>
func.func @tile(%q: memref<4x16xf32>, %qt: memref<16x4xf32>, %k: memref<4x16xf32>, %v: memref<4x24xf32>,
                %b: memref<4x16xf32>, %a: memref<24x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c19 = arith.constant 19 : index
  attn.prefetch %k[%c8, %c0] {rows = 4 : i64, columns = 16 : i64, beside = #attn.contraction<scores>, map = #rows}
      : memref<4x16xf32>
  attn.prefetch %q[%c4, %c0] {rows = 4 : i64, columns = 16 : i64, beside = #attn.contraction<scores>, map = #rows}
      : memref<4x16xf32>
  attn.prefetch %b[%c0, %c19] {rows = 4 : i64, columns = 4 : i64, beside = #attn.contraction<values>, map = #rows}
      : memref<4x16xf32>
  attn.prefetch %v[%c8, %c0] {rows = 4 : i64, columns = 24 : i64, beside = #attn.contraction<values>, map = #rows}
      : memref<4x24xf32>
  attn.online_step ins(%qt, %k, %v : memref<16x4xf32>, memref<4x16xf32>, memref<4x24xf32>)
      outs(%a, %m, %l : memref<24x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 2, block_vectors = 1, prefetch = 8>}
  return
}
