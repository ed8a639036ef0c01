// RUN: attn-opt %s --attn-lower-elementwise-to-vector=target=x86-64-v3 --canonicalize --cse | FileCheck %s
// RUN: not attn-opt %s --attn-lower-elementwise-to-vector=target=i8086 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: attn-lower-elementwise-to-vector: unknown target 'i8086'

// Lanes are the innermost dimension of the result; the row's own number is one for all lanes. 37 columns are four whole
// vectors and five lanes. The exponential is arithmetic.
// CHECK-LABEL: func @exponentials(
//       CHECK:   scf.for %[[I:.*]] = %c0 to %c5 step %c1 {
//       CHECK:     scf.for %[[J:.*]] = %c0 to %c32 step %c8 {
//   CHECK-DAG:       vector.load %arg0[%[[I]], %[[J]]] : memref<5x37xf32>, vector<8xf32>
//   CHECK-DAG:       %[[M:.*]] = memref.load %arg1[%[[I]]]
//   CHECK-DAG:       vector.broadcast %[[M]] : f32 to vector<8xf32>
//   CHECK-NOT:       math.exp
//       CHECK:       vector.store %{{.*}}, %arg2[%[[I]], %[[J]]]
//       CHECK:     vector.maskedload %arg0[%[[I]], %c32]
//       CHECK:     vector.maskedstore %arg2[%[[I]], %c32]
func.func @exponentials(%s: memref<5x37xf32>, %max: memref<5xf32>, %p: memref<5x37xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%s, %max : memref<5x37xf32>, memref<5xf32>) outs(%p : memref<5x37xf32>) {
  ^bb0(%x: f32, %m: f32, %old: f32):
    %d = arith.subf %x, %m : f32
    %e = math.exp %d : f32
    linalg.yield %e : f32
  }
  return
}

// A sum of rows: four vectors side by side, then single ones, then lanes that are there; 100 = 3 * 32 + 4. In memory the
// result stays as it was but for what is added.
// CHECK-LABEL: func @sums(
//       CHECK:     %[[FOUR:.*]]:4 = scf.for %{{.*}} = %c0 to %c96 step %c32 iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
//       CHECK:     vector.maskedload
//       CHECK:     %[[NEXT:.*]] = arith.addf
//       CHECK:     %[[LAST:.*]] = arith.select %{{.*}}, %[[NEXT]], %{{.*}} : vector<8xi1>, vector<8xf32>
//       CHECK:     vector.shuffle
//       CHECK:     %[[OLD:.*]] = memref.load %arg1
//       CHECK:     %[[SUM:.*]] = arith.addf %[[OLD]]
//       CHECK:     memref.store %[[SUM]], %arg1
func.func @sums(%x: memref<5x100xf32>, %sums: memref<5xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<5x100xf32>) outs(%sums : memref<5xf32>) dimensions = [1]
  return
}

// The number of a key is a vector, of booleans bytes; what lies across is read one by one, in a table by a gather.
// Half as many lanes of f64. Rows of a large op are a parallel loop.
// CHECK-LABEL: func @keys(
//       CHECK:   scf.forall (%[[H:.*]]) in (64) {
//       CHECK:     scf.for %[[I:.*]] = %c0 to %c64 step %c1 {
//       CHECK:       scf.for %[[J:.*]] = %c0 to %c128 step %c4 {
//   CHECK-DAG:         vector.step : vector<4xindex>
//   CHECK-DAG:         vector.load %{{.*}} : memref<128xi8>, vector<4xi8>
//   CHECK-DAG:         memref.load %arg1[%[[J]], %[[I]]]
//   CHECK-DAG:         vector.gather
//       CHECK:         vector.store %{{.*}}, %arg3[%[[H]], %[[I]], %[[J]]]
func.func @keys(%keep: memref<128xi1>, %across: memref<128x64xf64>, %table: memref<7xf64>, %out: memref<64x64x128xf64>) {
  linalg.generic {
      indexing_maps = [affine_map<(h, i, j) -> (j)>, affine_map<(h, i, j) -> (j, i)>, affine_map<(h, i, j) -> (h, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%keep, %across : memref<128xi1>, memref<128x64xf64>) outs(%out : memref<64x64x128xf64>) {
  ^bb0(%k: i1, %x: f64, %old: f64):
    %j = linalg.index 2 : index
    %seven = arith.constant 7 : index
    %at = arith.remui %j, %seven : index
    %t = memref.load %table[%at] : memref<7xf64>
    %s = arith.addf %x, %t : f64
    %r = arith.select %k, %s, %old : f64
    linalg.yield %r : f64
  }
  return
}

// A sum over neighbours, as a convolution of channels has: 37 columns are four vectors that are summed at once, and a
// block of one whose lanes are masked. Sums are loaded and stored once; neighbours are one load.
// CHECK-LABEL: func @neighbours(
//       CHECK:   scf.for %[[C:.*]] = %c0 to %c6
//       CHECK:     %[[SUMS:.*]]:4 = scf.for %{{.*}} = %c0 to %c3 step %c1 iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-4:       vector.load %arg0[%[[C]], %{{.*}}] : memref<6x39xf32>, vector<8xf32>
//   CHECK-NOT:       vector.store
//       CHECK:     vector.store %[[SUMS]]#0, %arg2
//       CHECK:     scf.for %{{.*}} = %c0 to %c3 step %c1 iter_args({{.*}}) -> (vector<8xf32>)
//       CHECK:       vector.maskedload %arg0
//       CHECK:     vector.maskedstore %arg2
func.func @neighbours(%x: memref<6x39xf32>, %w: memref<6x3xf32>, %y: memref<6x37xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(c, k, i) -> (c, i + k)>, affine_map<(c, k, i) -> (c, k)>, affine_map<(c, k, i) -> (c, i)>],
      iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x, %w : memref<6x39xf32>, memref<6x3xf32>) outs(%y : memref<6x37xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %old, %p : f32
    linalg.yield %s : f32
  }
  return
}

// Every second element is two loads and a shuffle; every third is one by one.
// CHECK-LABEL: func @every_second(
//       CHECK:   %[[LOW:.*]] = vector.load %arg0
//       CHECK:   %[[HIGH:.*]] = vector.maskedload %arg0
//       CHECK:   vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK-COUNT-8: memref.load %arg1
func.func @every_second(%x: memref<15xf32>, %z: memref<24xf32>, %y: memref<8xf32>, %u: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i * 2)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<15xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i * 3)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%z : memref<24xf32>) outs(%u : memref<8xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  }
  return
}

// Left alone: products of matrices, sums of all elements, results that lie across, and bodies with loops in them.
// CHECK-LABEL: func @others(
//       CHECK:   linalg.matmul
//       CHECK:   linalg.reduce
//       CHECK:   linalg.map
//       CHECK:   linalg.map
//       CHECK:     scf.if
func.func @others(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %sum: memref<f32>,
                  %across: memref<64x64xf32, strided<[1, 64]>>) {
  linalg.matmul ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%y : memref<64x64xf32>)
  linalg.reduce { arith.addf } ins(%x : memref<64x64xf32>) outs(%sum : memref<f32>) dimensions = [0, 1]
  linalg.map { math.absf } ins(%x : memref<64x64xf32>) outs(%across : memref<64x64xf32, strided<[1, 64]>>)
  linalg.map ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>) (%e: f32, %old: f32) {
    %c = arith.cmpf olt, %e, %e : f32
    %r = scf.if %c -> f32 {
      scf.yield %e : f32
    } else {
      %n = arith.negf %e : f32
      scf.yield %n : f32
    }
    linalg.yield %r : f32
  }
  return
}
