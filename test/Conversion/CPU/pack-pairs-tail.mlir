// A pack of pairs of rows into a whole tile: what a product by tiles reads behind the last row is 0.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=sapphirerapids --canonicalize --cse | FileCheck %s

#rows = affine_map<(d0, d1) -> (d0, d1)>
#pairs = affine_map<(d0, d1) -> (d0 floordiv 2, d1, d0 mod 2)>

// CHECK-LABEL: func @tail(
//  CHECK-SAME:   %{{.*}}: memref<?x32xbf16>, %[[TILE:.*]]: memref<16x32x2xbf16>)
//       CHECK:   %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<2xbf16>
//       CHECK:   %[[PAIRS:.*]] = memref.collapse_shape %[[TILE]]
//       CHECK:   scf.for %{{.*}} = %{{.*}} to %c16
//       CHECK:     vector.store %[[ZERO]], %[[PAIRS]]
func.func @tail(%rows: memref<?x32xbf16>, %tile: memref<16x32x2xbf16>) {
  attn.pack ins(%rows : memref<?x32xbf16>) outs(%tile : memref<16x32x2xbf16>) {maps = [#rows, #pairs]}
  return
}

// All of a part of a tile is written.
// CHECK-LABEL: func @part(
//   CHECK-NOT:   to %c16
func.func @part(%rows: memref<?x32xbf16>, %part: memref<?x32x2xbf16>) {
  attn.pack ins(%rows : memref<?x32xbf16>) outs(%part : memref<?x32x2xbf16>) {maps = [#rows, #pairs]}
  return
}
