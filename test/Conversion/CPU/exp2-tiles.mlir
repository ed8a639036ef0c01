// 2^x beside tiles, whose ports do fewer multiply-adds: the fraction and the power are one instruction each.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=sapphirerapids --canonicalize --cse | FileCheck %s --implicit-check-not=arith.shli

// CHECK-LABEL: func @single(
//   CHECK-DAG:   %[[ALL:.*]] = arith.constant -1 : i16
//   CHECK-DAG:   %[[ROUNDING:.*]] = arith.constant 4 : i32
//       CHECK:   %[[F:.*]] = llvm.inline_asm {{.*}}"vreduceps $$9, $1, $0", "=v,v" %[[X:.*]] : (vector<16xf32>) -> vector<16xf32>
// CHECK-COUNT-5: vector.fma %{{.*}}, %[[F]]
//       CHECK:   x86vector.avx512.mask.scalef %[[P:.*]], %[[X]], %[[P]], %[[ALL]], %[[ROUNDING]]
func.func @single(%q: memref<16x16xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>,
                  %a: memref<8x16xf32>, %m: memref<16xf32>, %l: memref<16xf32>) {
  attn.online_step ins(%q, %k, %v : memref<16x16xf32>, memref<6x16xf32>, memref<6x8xf32>)
      outs(%a, %m, %l : memref<8x16xf32>, memref<16xf32>, memref<16xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64, schedule = #attn.prefill<query_tile = 16, key_tile = 6, lanes = 16, block_rows = 4, block_vectors = 1>}
  return
}
