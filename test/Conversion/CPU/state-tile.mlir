// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse | FileCheck %s
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64-v3 --canonicalize --cse | FileCheck %s --check-prefix=V3

// CHECK-LABEL: func @init_state(
//  CHECK-SAME:     %[[A:[a-z0-9]*]]: memref<8x8xf32>, %[[M:[a-z0-9]*]]: memref<8xf32>, %[[L:[a-z0-9]*]]: memref<8xf32>)
//   CHECK-DAG:   %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4xf32>
//   CHECK-DAG:   %[[MINUSINF:.*]] = arith.constant dense<0xFF800000> : vector<4xf32>
//       CHECK:   vector.store %[[ZERO]], %[[A]]
//       CHECK:   vector.store %[[MINUSINF]], %[[M]]
//       CHECK:   vector.store %[[ZERO]], %[[L]]
func.func @init_state(%a: memref<8x8xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  attn.init_state outs(%a, %m, %l : memref<8x8xf32>, memref<8xf32>, memref<8xf32>)
      {maps = [affine_map<(i, d) -> (d, i)>, affine_map<(i, d) -> (i)>, affine_map<(i, d) -> (i)>]}
  return
}

// The quotient is 0 where the sum is; only the three rows of the output are written; lse is -inf in an empty row.
// CHECK-LABEL: func @finalize(
//  CHECK-SAME:     %[[L:[a-z0-9]*]]: memref<8xf32>, %[[O:[a-z0-9]*]]: memref<3x8xf32>, %[[LSE:[a-z0-9]*]]: memref<3xf32>)
//       CHECK:   %[[SUM:.*]] = vector.load %[[L]]
//       CHECK:   %[[EMPTY:.*]] = arith.cmpf oeq, %[[SUM]], %{{.*}} : vector<4xf32>
//       CHECK:   arith.divf %{{.*}}, %[[SUM]]
//       CHECK:   arith.select %[[EMPTY]]
//       CHECK:   vector.store %{{.*}}, %[[O]]
//       CHECK:   scf.for %{{.*}} = %c0 to %c3 step %c1
//       CHECK:     math.log
//       CHECK:     arith.select
//       CHECK:     memref.store %{{.*}}, %[[LSE]]
func.func @finalize(%a: memref<8x8xf32>, %m: memref<8xf32>, %l: memref<8xf32>, %o: memref<3x8xf32>,
                    %lse: memref<3xf32>) {
  attn.finalize ins(%a, %m, %l : memref<8x8xf32>, memref<8xf32>, memref<8xf32>)
      outs(%o, %lse : memref<3x8xf32>, memref<3xf32>)
      {maps = [affine_map<(i, d) -> (d, i)>, affine_map<(i, d) -> (i)>, affine_map<(i, d) -> (i)>,
               affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (i)>]}
  return
}

// Booleans and narrow floats for a tile of f64, four rows on AVX2: as many lanes as the scores have, not as fit a vector.
// V3-LABEL: func @mask_of_doubles(
//       V3:   vector.store %{{.*}} : memref<4x4xi8>, vector<4xi8>
//       V3:   vector.store %{{.*}} : memref<4x4xbf16>, vector<4xbf16>
func.func @mask_of_doubles(%x: memref<4x4xi1>, %t: memref<4x4xi8>, %y: memref<4x4xbf16>, %u: memref<4x4xbf16>) {
  attn.pack ins(%x : memref<4x4xi1>) outs(%t : memref<4x4xi8>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d, i)>]}
  attn.pack ins(%y : memref<4x4xbf16>) outs(%u : memref<4x4xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d, i)>]}
  return
}
