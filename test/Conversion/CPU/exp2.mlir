// 2^x without a call: rounding by the magic constant, a polynomial, and the exponent by a shift of integer bits.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse | FileCheck %s --implicit-check-not=math.exp

// Degree 5 in f32.
// CHECK-LABEL: func @single(
//   CHECK-DAG:   %[[MAGIC:.*]] = arith.constant dense<0x4B40007F> : vector<4xf32>
//   CHECK-DAG:   %[[BITS:.*]] = arith.constant dense<23> : vector<4xi32>
//   CHECK-DAG:   %[[LOWEST:.*]] = arith.constant dense<-1.270000e+02> : vector<4xf32>
//       CHECK:   %[[SHIFTED:.*]] = arith.addf %[[X:.*]], %[[MAGIC]]
//       CHECK:   %[[ROUNDED:.*]] = arith.subf %[[SHIFTED]], %[[MAGIC]]
//       CHECK:   %[[F:.*]] = arith.subf %[[X]], %[[ROUNDED]]
// CHECK-COUNT-5: arith.mulf %{{.*}}
//       CHECK:   %[[N:.*]] = arith.bitcast %[[SHIFTED]] : vector<4xf32> to vector<4xi32>
//       CHECK:   arith.shli %[[N]], %[[BITS]]
//       CHECK:   %[[POWER:.*]] = arith.bitcast %{{.*}} : vector<4xi32> to vector<4xf32>
//       CHECK:   arith.mulf %{{.*}}, %[[POWER]]
func.func @single(%q: memref<16x4xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>,
                  %a: memref<8x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  attn.online_step ins(%q, %k, %v : memref<16x4xf32>, memref<6x16xf32>, memref<6x8xf32>)
      outs(%a, %m, %l : memref<8x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64, schedule = #attn.prefill<query_tile = 4, key_tile = 6, lanes = 4, block_rows = 4, block_vectors = 1>}
  return
}

// Degree 12 in f64.
// CHECK-LABEL: func @double(
//   CHECK-DAG:   arith.constant dense<52> : vector<2xi64>
//   CHECK-DAG:   arith.constant dense<-1.023000e+03> : vector<2xf64>
//       CHECK:   arith.bitcast %{{.*}} : vector<2xf64> to vector<2xi64>
func.func @double(%q: memref<16x4xf64>, %k: memref<6x16xf64>, %v: memref<6x8xf64>,
                  %a: memref<8x4xf64>, %m: memref<4xf64>, %l: memref<4xf64>) {
  attn.online_step ins(%q, %k, %v : memref<16x4xf64>, memref<6x16xf64>, memref<6x8xf64>)
      outs(%a, %m, %l : memref<8x4xf64>, memref<4xf64>, memref<4xf64>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64, schedule = #attn.prefill<query_tile = 4, key_tile = 6, lanes = 2, block_rows = 4, block_vectors = 1>}
  return
}
