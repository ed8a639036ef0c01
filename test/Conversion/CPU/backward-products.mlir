// RUN: attn-opt %s --attn-lower-tile-to-vector=target=znver5 --canonicalize --cse | FileCheck %s

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#dk = affine_map<(i, j, d, e) -> (d, j)>
#dv = affine_map<(i, j, d, e) -> (e, j)>
!r = memref<4xf32>

// Sums of the keys of a last panel have a mask, loads of its packed columns none. Rows of dQ are of a vector and of 4
// numbers more; a row without keys gets nothing, whatever K holds.
// CHECK-LABEL: func @tail(
//  CHECK-SAME:     memref<8x32xf32>, %[[DQ:[a-z0-9]*]]: memref<4x20xf32>, %[[DK:[a-z0-9]*]]: memref<20x?xf32>)
//   CHECK-DAG:   %[[NONE:.*]] = arith.constant 0xFF800000 : f32
//   CHECK-DAG:   %[[FOUR:.*]] = arith.constant dense<[true, true, true, true, false,
//       CHECK:   %[[KEYS:.*]] = memref.dim
//       CHECK:   scf.for %[[PANEL:[a-z0-9]*]] =
//       CHECK:     %[[LEFT:.*]] = arith.subi %[[KEYS]], %{{.*}}
//       CHECK:     %[[WHOLE:.*]] = arith.cmpi sge, %[[LEFT]], %c16
//       CHECK:     scf.if %[[WHOLE]]
//       CHECK:     scf.execute_region no_inline
//       CHECK:       scf.if %[[WHOLE]]
//       CHECK:         vector.store %{{.*}}, %[[DK]]
//       CHECK:       } else {
//       CHECK:         %[[MASK:.*]] = vector.create_mask %[[LEFT]]
//       CHECK:         vector.maskedstore %[[DK]][%{{.*}}], %[[MASK]]
//       CHECK:   scf.execute_region no_inline
//       CHECK:     %[[SUMS:.*]]:2 = scf.for
//       CHECK:       arith.minsi %{{.*}}, %c16
//       CHECK:     %[[EMPTY:.*]] = arith.cmpf oeq, %{{.*}}, %[[NONE]]
//       CHECK:     arith.select %[[EMPTY]], %{{.*}}, %[[SUMS]]#0
//       CHECK:     vector.store %{{.*}}, %[[DQ]][%{{.*}}, %c0]
//       CHECK:     scf.for
//       CHECK:     vector.maskedstore %[[DQ]][%{{.*}}, %c16], %[[FOUR]]
func.func @tail(%q: memref<4x20xf32>, %k: memref<?x20xf32>, %v: memref<?x8xf32>, %lse: !r, %do: memref<4x8xf32>,
                %delta: !r, %kt: memref<20x32xf32>, %vt: memref<8x32xf32>, %dq: memref<4x20xf32>, %dk: memref<20x?xf32>) {
  attn.backward_step ins(%q, %k, %v, %lse, %do, %delta : memref<4x20xf32>, memref<?x20xf32>, memref<?x8xf32>, !r,
      memref<4x8xf32>, !r) transposed(%kt, %vt : memref<20x32xf32>, memref<8x32xf32>)
      dquery(%dq : memref<4x20xf32>) dkey(%dk : memref<20x?xf32>)
      {maps = [#q, #k, #v, #r, #o, #r, #q, #dk],
       schedule = #attn.backward<query_tile = 4, key_tile = 32, lanes = 16, block_rows = 2, block_vectors = 1>}
  return
}

// Pairs: of columns for S and dW, of rows for dV and dK, of keys for dQ, which is of a vector's half. An odd last row
// has zeros beside it.
// CHECK-LABEL: func @pairs(
//  CHECK-SAME:     %[[DQ:[a-z0-9]*]]: memref<4x8xf32>, %[[DK:[a-z0-9]*]]: memref<8x16xf32>, %[[DV:[a-z0-9]*]]: memref<8x16xf32>)
//   CHECK-DAG:   %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
//       CHECK:   scf.execute_region no_inline
//       CHECK:     vector.load %{{.*}} : memref<4x32xbf16>, vector<32xbf16>
//       CHECK:     x86vector.avx512.dot
//       CHECK:   scf.execute_region no_inline
//       CHECK:     scf.yield{{$}}
//       CHECK:   scf.for %[[ROW:[a-z0-9]*]] = %{{.*}} to %[[EVEN:.*]] step %c2 {
//       CHECK:     %[[PAIR:.*]] = arith.divui %[[ROW]], %c2
//       CHECK:     vector.interleave
//       CHECK:     vector.store %{{.*}}, %[[P:[a-z0-9_]*]][%[[PAIR]], %c0] : memref<3x32xbf16>, vector<32xbf16>
//       CHECK:     vector.store %{{.*}}, %[[G:[a-z0-9_]*]][%[[PAIR]], %c0] : memref<3x32xbf16>, vector<32xbf16>
//       CHECK:   scf.for %{{[a-z0-9]*}} = %[[EVEN]] to
//       CHECK:     %[[NOTHING:.*]] = x86vector.avx512.cvt.packed.f32_to_bf16 %[[ZERO]]
//       CHECK:     vector.interleave %{{.*}}, %[[NOTHING]]
//       CHECK:   scf.execute_region no_inline
//       CHECK:     vector.load %[[P]]
//       CHECK:     x86vector.avx512.dot
//       CHECK:     vector.store %{{.*}}, %[[DV]]
//       CHECK:   scf.execute_region no_inline
//       CHECK:     vector.load %[[G]]
//       CHECK:     x86vector.avx512.dot
//       CHECK:     vector.store %{{.*}}, %[[DK]]
//       CHECK:   scf.execute_region no_inline
//       CHECK:     vector.maskedload %{{.*}} : memref<8x16xbf16>, vector<32xi1>, vector<32xbf16>
//       CHECK:     x86vector.avx512.dot
//       CHECK:     vector.maskedstore %[[DQ]]
func.func @pairs(%q: memref<4x8xbf16>, %k: memref<16x8xbf16>, %v: memref<16x8xbf16>, %lse: !r, %do: memref<4x8xbf16>,
                 %delta: !r, %kt: memref<4x16x2xbf16>, %vt: memref<4x16x2xbf16>, %kp: memref<8x8x2xbf16>,
                 %dq: memref<4x8xf32>, %dk: memref<8x16xf32>, %dv: memref<8x16xf32>) {
  attn.backward_step ins(%q, %k, %v, %lse, %do, %delta : memref<4x8xbf16>, memref<16x8xbf16>, memref<16x8xbf16>, !r,
      memref<4x8xbf16>, !r) transposed(%kt, %vt, %kp : memref<4x16x2xbf16>, memref<4x16x2xbf16>, memref<8x8x2xbf16>)
      dquery(%dq : memref<4x8xf32>) dkey(%dk : memref<8x16xf32>) dvalue(%dv : memref<8x16xf32>)
      {maps = [#q, #k, #v, #r, #o, #r, #q, #dk, #dv],
       schedule = #attn.backward<query_tile = 4, key_tile = 16, lanes = 16, block_rows = 2, block_vectors = 1,
                                  instruction = pairs>}
  return
}
