// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64-v3 --canonicalize --cse | FileCheck %s

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#dk = affine_map<(i, j, d, e) -> (d, j)>
#dv = affine_map<(i, j, d, e) -> (e, j)>
#schedule = #attn.backward<query_tile = 4, key_tile = 16, lanes = 8, block_rows = 2, block_vectors = 1>

// Two panels of eight keys. G of both is kept, P of one lies behind them. S = Q K^T, dW = dO V^T, then P and G in their
// place, dV += dO^T P and dK += Q^T G; behind all panels dQ += G K.
// CHECK-LABEL: func @step(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: memref<4x8xf32>, %[[K:[a-z0-9]*]]: memref<16x8xf32>, %[[V:[a-z0-9]*]]: memref<16x8xf32>, %{{.*}}: memref<4xf32>, %[[DO:[a-z0-9]*]]: memref<4x8xf32>, %{{.*}}: memref<4xf32>, %[[KT:[a-z0-9]*]]: memref<8x16xf32>, %[[VT:[a-z0-9]*]]: memref<8x16xf32>, %[[DQ:[a-z0-9]*]]: memref<4x8xf32>, %[[DK:[a-z0-9]*]]: memref<8x16xf32>, %[[DV:[a-z0-9]*]]: memref<8x16xf32>)
//       CHECK:   %[[ALL:.*]] = memref.alloca() {{.*}} : memref<3x6x8xf32>
//       CHECK:   %[[P:.*]] = memref.subview %[[ALL]][2, 0, 0]
//       CHECK:   scf.for %[[PANEL:[a-z0-9]*]] = %c0 to %c2 step %c1 {
//       CHECK:     %[[G:.*]] = memref.subview %[[ALL]][%[[PANEL]], 0, 0]
//       CHECK:     scf.execute_region no_inline
//       CHECK:       vector.load %[[KT]]
//       CHECK:       memref.load %[[Q]]
//       CHECK:       vector.store %{{.*}}, %[[P]]
//       CHECK:     scf.execute_region no_inline
//       CHECK:       vector.load %[[VT]]
//       CHECK:       memref.load %[[DO]]
//       CHECK:       vector.store %{{.*}}, %[[G]]
//       CHECK:     scf.for
//   CHECK-DAG:       vector.load %[[P]]
//   CHECK-DAG:       vector.load %[[G]]
//       CHECK:       vector.store %{{.*}}, %[[P]]
//       CHECK:       vector.store %{{.*}}, %[[G]]
//       CHECK:     scf.execute_region no_inline
//       CHECK:       vector.load %[[P]]
//       CHECK:       memref.load %[[DO]]
//       CHECK:       vector.store %{{.*}}, %[[DV]]
//       CHECK:     scf.execute_region no_inline
//       CHECK:       vector.load %[[G]]
//       CHECK:       memref.load %[[Q]]
//       CHECK:       vector.store %{{.*}}, %[[DK]]
//       CHECK:   scf.execute_region no_inline
//       CHECK:     vector.load %[[K]]
//       CHECK:     memref.load %[[ALL]]
//       CHECK:     vector.store %{{.*}}, %[[DQ]]
//   CHECK-NOT:   %[[V]]
func.func @step(%q: memref<4x8xf32>, %k: memref<16x8xf32>, %v: memref<16x8xf32>, %lse: memref<4xf32>,
                %do: memref<4x8xf32>, %delta: memref<4xf32>, %kt: memref<8x16xf32>, %vt: memref<8x16xf32>,
                %dq: memref<4x8xf32>, %dk: memref<8x16xf32>, %dv: memref<8x16xf32>) {
  attn.backward_step ins(%q, %k, %v, %lse, %do, %delta : memref<4x8xf32>, memref<16x8xf32>, memref<16x8xf32>,
      memref<4xf32>, memref<4x8xf32>, memref<4xf32>) transposed(%kt, %vt : memref<8x16xf32>, memref<8x16xf32>)
      dquery(%dq : memref<4x8xf32>) dkey(%dk : memref<8x16xf32>) dvalue(%dv : memref<8x16xf32>)
      {maps = [#q, #k, #v, #r, #o, #r, #q, #dk, #dv], scale = 0.5 : f64, schedule = #schedule}
  return
}

// dV needs P alone: neither V nor delta is read.
// CHECK-LABEL: func @values(
//  CHECK-SAME:     %{{.*}}: memref<4x8xf32>, %{{.*}}: memref<16x8xf32>, %{{.*}}: memref<16x8xf32>, %{{.*}}: memref<4xf32>, %{{.*}}: memref<4x8xf32>, %[[DELTA:[a-z0-9]*]]: memref<4xf32>, %{{.*}}: memref<8x16xf32>, %[[VT:[a-z0-9]*]]: memref<8x16xf32>, %[[DV:[a-z0-9]*]]: memref<8x16xf32>)
//   CHECK-NOT:   load %[[DELTA]][
//   CHECK-NOT:   load %[[VT]][
//       CHECK:   vector.store %{{.*}}, %[[DV]]
//   CHECK-NOT:   execute_region
//       CHECK:   return
func.func @values(%q: memref<4x8xf32>, %k: memref<16x8xf32>, %v: memref<16x8xf32>, %lse: memref<4xf32>,
                  %do: memref<4x8xf32>, %delta: memref<4xf32>, %kt: memref<8x16xf32>, %vt: memref<8x16xf32>,
                  %dv: memref<8x16xf32>) {
  attn.backward_step ins(%q, %k, %v, %lse, %do, %delta : memref<4x8xf32>, memref<16x8xf32>, memref<16x8xf32>,
      memref<4xf32>, memref<4x8xf32>, memref<4xf32>) transposed(%kt, %vt : memref<8x16xf32>, memref<8x16xf32>)
      dvalue(%dv : memref<8x16xf32>) {maps = [#q, #k, #v, #r, #o, #r, #dv], schedule = #schedule}
  return
}

// A partial tile: rows from the first one that keeps a key of the panel, down to a multiple of the block. G is 0 behind
// the last one, in the block that dQ reads.
// CHECK-LABEL: func @partial(
//       CHECK:   %[[BOUNDS:.*]] = memref.alloca() {{.*}} : memref<2x2xindex>
//       CHECK:   %[[ALL:.*]] = memref.alloca() {{.*}} : memref<3x6x8xf32>
//       CHECK:   scf.for %[[PANEL:[a-z0-9]*]] = %c0 to %c2 step %c1 {
//       CHECK:     %[[KEY:.*]] = arith.muli %[[PANEL]], %c8
//       CHECK:     %[[LOWER:.*]] = arith.maxsi %[[KEY]], %c0
//       CHECK:     %[[ROW:.*]] = arith.minsi %[[LOWER]], %c4
//       CHECK:     %[[REST:.*]] = arith.remui %[[ROW]], %c2
//       CHECK:     %[[FIRST:.*]] = arith.subi %[[ROW]], %[[REST]]
//       CHECK:     memref.store %[[FIRST]], %[[BOUNDS]][%[[PANEL]], %c0]
//       CHECK:     vector.store %{{.*}}, %[[ALL]][%[[PANEL]], %{{.*}}, %c0]
//       CHECK:   scf.execute_region no_inline
func.func @partial(%q: memref<4x8xf32>, %k: memref<16x8xf32>, %v: memref<16x8xf32>, %lse: memref<4xf32>,
                   %do: memref<4x8xf32>, %delta: memref<4xf32>, %kt: memref<8x16xf32>, %vt: memref<8x16xf32>,
                   %dq: memref<4x8xf32>) {
  attn.backward_step ins(%q, %k, %v, %lse, %do, %delta : memref<4x8xf32>, memref<16x8xf32>, memref<16x8xf32>,
      memref<4xf32>, memref<4x8xf32>, memref<4xf32>) transposed(%kt, %vt : memref<8x16xf32>, memref<8x16xf32>)
      dquery(%dq : memref<4x8xf32>) {maps = [#q, #k, #v, #r, #o, #r, #q], schedule = #schedule} mask_mod {
    %j = attn.index key : index
    %i = attn.index query : index
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  } query_ranges {
    %first = attn.index first_key : index
    %all = arith.constant 4 : index
    attn.yield %first, %all, %first, %all : index, index, index, index
  }
  return
}
