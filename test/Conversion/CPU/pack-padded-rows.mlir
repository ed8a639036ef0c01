// attn.pack of rows as they are into a tile of more rows: zeros behind them, and nothing behind the input is read.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=sapphirerapids --split-input-file --cse | FileCheck %s

// CHECK-LABEL: func @static(
//   CHECK-DAG:   %[[ROWS:.*]] = arith.constant 3 : index
//   CHECK-DAG:   %[[ALL:.*]] = arith.constant 32 : index
//       CHECK:   scf.for %{{.*}} = %{{.*}} to %[[ROWS]]
//       CHECK:     vector.load
//       CHECK:   scf.for %[[ROW:.*]] = %[[ROWS]] to %[[ALL]]
//       CHECK:     vector.store %{{.*}}, %{{.*}}[%[[ROW]], %{{.*}}] : memref<32x32xbf16>, vector<32xbf16>
func.func @static(%k: memref<3x32xbf16>, %tile: memref<32x32xbf16>) {
  attn.pack ins(%k : memref<3x32xbf16>) outs(%tile : memref<32x32xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (i, d)>]}
  return
}

// -----

// CHECK-LABEL: func @dynamic(
//  CHECK-SAME:     %[[K:.*]]: memref<?x32xbf16>
//       CHECK:   %[[ROWS:.*]] = memref.dim %[[K]]
//       CHECK:   scf.for %{{.*}} = %{{.*}} to %[[ROWS]]
//       CHECK:   scf.for %{{.*}} = %[[ROWS]] to %{{.*}}
func.func @dynamic(%k: memref<?x32xbf16>, %tile: memref<32x32xbf16>) {
  attn.pack ins(%k : memref<?x32xbf16>) outs(%tile : memref<32x32xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (i, d)>]}
  return
}
