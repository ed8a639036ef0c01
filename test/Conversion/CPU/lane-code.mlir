// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse | FileCheck %s

// What is the same for all lanes stays scalar: only the query index and the comparison are vectors.
// CHECK-LABEL: func @predicate(
//   CHECK-DAG:   %[[MINUSINF:.*]] = arith.constant dense<0xFF800000> : vector<4xf32>
//       CHECK:   scf.for %[[J:[a-z0-9]*]] =
//       CHECK:   %[[SUM:.*]] = arith.addi %[[J]], %c7 : index
//       CHECK:   %[[KEY:.*]] = vector.broadcast %[[SUM]] : index to vector<4xindex>
//       CHECK:   %[[KEEP:.*]] = arith.cmpi sle, %[[KEY]], %{{.*}} : vector<4xindex>
//       CHECK:   arith.select %[[KEEP]], %{{.*}}, %[[MINUSINF]] : vector<4xi1>, vector<4xf32>
func.func @predicate(%q: memref<16x4xf32>, %k: memref<4x16xf32>, %v: memref<4x8xf32>,
                     %a: memref<8x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  attn.online_step ins(%q, %k, %v : memref<16x4xf32>, memref<4x16xf32>, memref<4x8xf32>)
      outs(%a, %m, %l : memref<8x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64, schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 1, block_vectors = 1>} mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %c = arith.constant 7 : index
    %k7 = arith.addi %j, %c : index
    %keep = arith.cmpi sle, %k7, %i : index
    attn.yield %keep : i1
  }
  return
}

// Scale, cap, bias, mask: in the order of the formula.
// CHECK-LABEL: func @order(
//  CHECK-SAME:     %[[BIAS:[a-z0-9]*]]: memref<1xbf16>, %[[MASK:[a-z0-9]*]]: memref<1x4xi8>)
//       CHECK:   scf.yield
//       CHECK:   %[[SCALED:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<4xf32>
//       CHECK:   arith.mulf %[[SCALED]]
//       CHECK:   memref.load %[[BIAS]]
//       CHECK:   arith.extf
//       CHECK:   arith.addf
//       CHECK:   %[[BYTES:.*]] = vector.load %[[MASK]][%c0, %c0] : memref<1x4xi8>, vector<4xi8>
//       CHECK:   %[[KEEP:.*]] = arith.cmpi ne, %[[BYTES]]
//       CHECK:   arith.select %[[KEEP]]
func.func @order(%q: memref<16x4xf32>, %k: memref<1x16xf32>, %v: memref<1x8xf32>,
                 %a: memref<8x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>, %b: memref<1xbf16>, %x: memref<1x4xi8>) {
  attn.online_step ins(%q, %k, %v : memref<16x4xf32>, memref<1x16xf32>, memref<1x8xf32>)
      bias(%b : memref<1xbf16>) mask(%x : memref<1x4xi8>)
      outs(%a, %m, %l : memref<8x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (j)>, affine_map<(i, j, d, e) -> (j, i)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.75 : f64, schedule = #attn.prefill<query_tile = 4, key_tile = 1, lanes = 4, block_rows = 1, block_vectors = 1>}
      score_mod {
  ^bb0(%score: f32):
    %c = attn.cap %score {limit = 3.0 : f64} : f32
    attn.yield %c : f32
  }
  return
}
