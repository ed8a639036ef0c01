// RUN: attn-opt %s --attn-tile-linear=target=znver4 --split-input-file | FileCheck %s
// RUN: not attn-opt %s --attn-tile-linear=target=i8086 --split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: attn-tile-linear: unknown target 'i8086'

// A task is a head of key; it has two heads of value, whose states are panels. Chunks of 32 tokens are products, the
// solve between the first two of a panel.
// CHECK-LABEL: func @chunks(
//       CHECK:   scf.forall (%{{.*}}, %{{.*}}) in (1, 2) {
//       CHECK:     %[[VALUES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x64xf32>
//       CHECK:     %[[STATES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<256x64xf32>
//       CHECK:     scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
//       CHECK:       linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<64x128xf32{{.*}}>, memref<32x128xf32{{.*}}>) outs(%{{.*}} : memref<64x32xf32
//       CHECK:       math.exp
//       CHECK:       linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<64x128xf32{{.*}}>, memref<128x64xf32{{.*}}>) outs(%{{.*}} : memref<64x64xf32
//       CHECK:       attn.solve ins(%{{.*}} : memref<32x32xf32>) outs(%{{.*}} : memref<32x64xf32
//       CHECK:       linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<16x16xf32{{.*}}>, memref<16x64xf32{{.*}}>) outs(%{{.*}} : memref<16x64xf32
//       CHECK:       linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<16x32xf32{{.*}}>, memref<32x64xf32{{.*}}>) outs(%{{.*}} : memref<16x64xf32
//       CHECK:       linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<32x128xf32{{.*}}>, memref<32x64xf32{{.*}}>) outs(%{{.*}} : memref<128x64xf32
func.func @chunks(%q: memref<1x2x64x128xf32>, %k: memref<1x2x64x128xf32>, %v: memref<1x4x64x64xf32>,
                  %g: memref<1x4x64xf32>, %b: memref<1x4x64xf32>, %o: memref<1x4x64x64xf32>,
                  %s: memref<1x4x128x64xf32>) {
  attn.linear ins(%q, %k, %v : memref<1x2x64x128xf32>, memref<1x2x64x128xf32>, memref<1x4x64x64xf32>)
      decay(%g : memref<1x4x64xf32>) beta(%b : memref<1x4x64xf32>)
      outs(%o, %s : memref<1x4x64x64xf32>, memref<1x4x128x64xf32>)
  return
}

// -----

// One token reads and writes the state where it lies, in two passes.
// CHECK-LABEL: func @token(
//   CHECK-NOT:   attn.solve
//       CHECK:   %[[STATE:.*]] = memref.subview %{{.*}} : memref<1x4x128x64xf32> to memref<1x1x128x64xf32
//       CHECK:   %[[ROWS:.*]] = memref.subview %[[STATE]]
//       CHECK:   linalg.generic {{.*}} ins(%{{.*}}, %[[ROWS]] :
//   CHECK-NOT:   attn.solve
func.func @token(%q: memref<1x4x1x128xf32>, %k: memref<1x4x1x128xf32>, %v: memref<1x4x1x64xf32>,
                 %b: memref<1x4x1xf32>, %o: memref<1x4x1x64xf32>, %s: memref<1x4x128x64xf32>) {
  attn.linear ins(%q, %k, %v : memref<1x4x1x128xf32>, memref<1x4x1x128xf32>, memref<1x4x1x64xf32>)
      beta(%b : memref<1x4x1xf32>) outs(%o, %s : memref<1x4x1x64xf32>, memref<1x4x128x64xf32>)
  return
}

// -----

// Of an open number of tokens, one is a branch.
// CHECK-LABEL: func @open(
//       CHECK:   %[[IS_ONE:.*]] = arith.cmpi eq
//       CHECK:   scf.if %[[IS_ONE]] {
//       CHECK:   } else {
//       CHECK:     scf.for
func.func @open(%q: memref<1x4x?x16xf32>, %k: memref<1x4x?x16xf32>, %v: memref<1x4x?x16xf32>,
                %o: memref<1x4x?x16xf32>, %s: memref<1x4x16x16xf32>) {
  attn.linear ins(%q, %k, %v : memref<1x4x?x16xf32>, memref<1x4x?x16xf32>, memref<1x4x?x16xf32>)
      outs(%o, %s : memref<1x4x?x16xf32>, memref<1x4x16x16xf32>)
  return
}

// A task is a head of value. It goes through its chunks twice: the solve, and back, its transpose.
// CHECK-LABEL: func.func @gradients
// CHECK:         scf.forall (%{{.*}}) in (2)
// CHECK:           scf.for
// CHECK:             attn.solve
// CHECK:           scf.for
// CHECK:             attn.solve
// CHECK-NOT:     attn.linear
func.func @gradients(%q: memref<1x70x16xf32>, %v: memref<2x70x16xf32>, %b: memref<2x70xf32>, %s: memref<2x16x16xf32>,
                     %dq: memref<2x70x16xf32>, %dk: memref<2x70x16xf32>, %dv: memref<2x70x16xf32>, %db: memref<2x70xf32>,
                     %ds: memref<2x16x16xf32>) {
  attn.linear_backward ins(%q, %q, %v : memref<1x70x16xf32>, memref<1x70x16xf32>, memref<2x70x16xf32>)
      beta(%b : memref<2x70xf32>) dout(%v : memref<2x70x16xf32>) state(%s : memref<2x16x16xf32>)
      outs(%dq, %dk, %dv : memref<2x70x16xf32>, memref<2x70x16xf32>, memref<2x70x16xf32>) dbeta(%db : memref<2x70xf32>)
      dstate(%ds : memref<2x16x16xf32>)
  return
}
