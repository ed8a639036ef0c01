// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse | FileCheck %s
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize | FileCheck %s --check-prefix=STACK

// alpha from the maxima, P in the place of the scores, then the sums of the tile, which those of all keys are added to;
// the state is stored once.
// CHECK-LABEL: func @order(
//  CHECK-SAME:     %[[A:[a-z0-9]*]]: memref<8x4xf32>, %[[M:[a-z0-9]*]]: memref<4xf32>, %[[L:[a-z0-9]*]]: memref<4xf32>)
//       CHECK:   %[[S:.*]] = memref.alloca() {{.*}} : memref<6x4xf32>
//       CHECK:   %[[ALPHA:.*]] = memref.alloca() {{.*}} : memref<4xf32>
//       CHECK:   %[[OLD:.*]] = vector.load %[[M]]
//       CHECK:   vector.store %{{.*}}, %[[S]]
//       CHECK:   arith.subf %[[OLD]], %[[NEW:.*]] : vector<4xf32>
//       CHECK:   vector.store %[[NEW]], %[[M]]
//       CHECK:   vector.store %{{.*}}, %[[ALPHA]]
//       CHECK:   scf.for {{.*}} = %c0 to %c6 step %c1
//       CHECK:     vector.load %[[S]]
//       CHECK:     vector.store %{{.*}}, %[[S]]
//       CHECK:   vector.store %{{.*}}, %[[L]]
//       CHECK:   scf.for %{{.*}} = %c0 to %c8 step %c4
//       CHECK:     scf.for {{.*}} = %c0 to %c6 step %c1
//       CHECK:     vector.load %[[ALPHA]]
//       CHECK:     vector.load %[[A]]
//       CHECK:     vector.store %{{.*}}, %[[A]]

// No buffer grows with the problem: the scores and alpha of one tile are all.
// STACK-COUNT-2: memref.alloca
//     STACK-NOT: memref.alloc
func.func @order(%q: memref<16x4xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>,
                 %a: memref<8x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  attn.online_step ins(%q, %k, %v : memref<16x4xf32>, memref<6x16xf32>, memref<6x8xf32>)
      outs(%a, %m, %l : memref<8x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64, schedule = #attn.prefill<query_tile = 4, key_tile = 6, lanes = 4, block_rows = 4, block_vectors = 1>}
  return
}
