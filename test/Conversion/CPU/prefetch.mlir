// A schedule's prefetch, a request a cache line, in parts beside the products: rows of K and V that many rows ahead;
// where Q is packed, the rows of the next tile, and where a bias is, the next keys.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse | FileCheck %s
// RUN: sed 's/, prefetch = 8//' %s | attn-opt --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse \
// RUN:     | FileCheck %s --check-prefix=NONE

// NONE-NOT: memref.prefetch

// CHECK-LABEL: func @tile(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: memref<4x16xf32>, %[[K:[a-z0-9]*]]: memref<4x16xf32>, %[[V:[a-z0-9]*]]: memref<4x24xf32>
//       CHECK:   scf.for %[[J:[a-z0-9]*]] = %c0 to %c4 step %c2
//       CHECK:     %[[AHEAD:.*]] = arith.addi %[[J]], %c8
//       CHECK:     memref.prefetch %[[K]][%[[AHEAD]], %c0], read, locality<2>, data : memref<4x16xf32>
//       CHECK:     %[[NEXT:.*]] = arith.addi %[[J]], %c4
//       CHECK:     memref.prefetch %[[Q]][%[[NEXT]], %c0]
//   CHECK-NOT:     memref.prefetch %[[K]][%[[AHEAD]], %c16]
//       CHECK:   scf.for %[[E:[a-z0-9]*]] = %c0 to %c24 step %c2
//       CHECK:     memref.prefetch %[[BIAS:[a-z0-9]*]][%[[ROW:[a-z0-9]*]], %c19], read, locality<2>, data : memref<4x4xf32, strided<[16, 1]>>
//       CHECK:     memref.prefetch %[[V]][%{{.*}}, %{{.*}}]
//       CHECK:     memref.prefetch %[[BIAS]][
//       CHECK:     memref.prefetch %[[V]][%{{.*}}, %{{.*}}]
//   CHECK-NOT:   memref.prefetch
func.func @tile(%q: memref<4x16xf32>, %k: memref<4x16xf32>, %v: memref<4x24xf32>, %b: memref<4x16xf32>,
                %a: memref<24x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  %qt = memref.alloca() : memref<16x4xf32>
  %bt = memref.alloca() : memref<4x4xf32>
  %keys = memref.subview %b[0, 0] [4, 4] [1, 1] : memref<4x16xf32> to memref<4x4xf32, strided<[16, 1]>>
  attn.pack ins(%q : memref<4x16xf32>) outs(%qt : memref<16x4xf32>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d, i)>]}
  attn.pack ins(%keys : memref<4x4xf32, strided<[16, 1]>>) outs(%bt : memref<4x4xf32>)
      {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>]}
  attn.online_step ins(%qt, %k, %v : memref<16x4xf32>, memref<4x16xf32>, memref<4x24xf32>) bias(%bt : memref<4x4xf32>)
      outs(%a, %m, %l : memref<24x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (j, i)>, affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>,
               affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 2, block_vectors = 1, prefetch = 8>}
  return
}

// Behind the last keys of a row, the bias of the first ones of the next query tile: 4 rows on, and as far back as the loop is.
// CHECK-LABEL: func @last_keys(
//       CHECK:   scf.for %[[KEY:[a-z0-9]*]] = %c0 to %c16 step %c4
//       CHECK:     %[[NEXT:.*]] = arith.addi %[[KEY]], %c4
//       CHECK:     %[[IS_THERE:.*]] = arith.cmpi slt, %[[NEXT]], %c16
//       CHECK:     %[[BACK:.*]] = arith.subi %c0, %[[KEY]]
//   CHECK-DAG:     %[[ROW:.*]] = arith.select %[[IS_THERE]], %c0, %c4
//   CHECK-DAG:     %[[COLUMN:.*]] = arith.select %[[IS_THERE]], %c4, %[[BACK]]
//       CHECK:     %[[LINE:.*]] = arith.addi %{{.*}}, %[[ROW]]
//       CHECK:     %[[LAST:.*]] = arith.addi %[[COLUMN]], %c15
//       CHECK:     memref.prefetch %{{.*}}[%[[LINE]], %[[LAST]]], {{.*}} memref<4x4xf32, strided<[16, 1], offset: ?>>
func.func @last_keys(%q: memref<16x4xf32>, %k: memref<4x16xf32>, %v: memref<4x24xf32>, %b: memref<8x16xf32>,
                     %a: memref<24x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  scf.for %key = %c0 to %c16 step %c4 {
    %bt = memref.alloca() : memref<4x4xf32>
    %keys = memref.subview %b[0, %key] [4, 4] [1, 1] : memref<8x16xf32> to memref<4x4xf32, strided<[16, 1], offset: ?>>
    attn.pack ins(%keys : memref<4x4xf32, strided<[16, 1], offset: ?>>) outs(%bt : memref<4x4xf32>)
        {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>]}
    attn.online_step ins(%q, %k, %v : memref<16x4xf32>, memref<4x16xf32>, memref<4x24xf32>) bias(%bt : memref<4x4xf32>)
        outs(%a, %m, %l : memref<24x4xf32>, memref<4xf32>, memref<4xf32>)
        {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
                 affine_map<(i, j, d, e) -> (j, i)>, affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>,
                 affine_map<(i, j, d, e) -> (i)>],
         schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 2, block_vectors = 1, prefetch = 8>}
  }
  return
}
