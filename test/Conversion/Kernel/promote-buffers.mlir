// RUN: attn-opt %s --pass-pipeline="builtin.module(func.func(attn-promote-buffers))" | FileCheck %s
// RUN: attn-opt %s --pass-pipeline="builtin.module(func.func(attn-promote-buffers{tiles-only=true}))" | FileCheck %s --check-prefix=TILES
// What the pipelines run is what --dump-pass-pipeline says: the passes that it prints make the same code.
// RUN: attn-opt %S/../../../examples/causal.mlir --attn-to-flash=target=x86-64-v3 --attn-to-llvm="target=x86-64-v3 parallel=false" \
// RUN:   --dump-pass-pipeline -o %t.mlir 2> %t.txt
// RUN: grep -v "^Pass Manager" %t.txt | tr -d '\n' > %t.pipeline
// RUN: bash -c 'attn-opt %S/../../../examples/causal.mlir --pass-pipeline="$(cat %t.pipeline)"' | diff %t.mlir -

// Small buffers of a function, and larger ones of a tile.
// CHECK-LABEL: func @buffers(
//       CHECK:   memref.alloca() {alignment = 64 : i64} : memref<16384xf32>
//       CHECK:   memref.alloc() {alignment = 64 : i64} : memref<16385xf32>
//       CHECK:   scf.forall
//       CHECK:     memref.alloca() {alignment = 64 : i64} : memref<262144xf32>
//       CHECK:   scf.forall
//       CHECK:     memref.alloc() {alignment = 64 : i64} : memref<262145xf32>
// TILES-LABEL: func @buffers(
//       TILES:   memref.alloc() {alignment = 64 : i64} : memref<16384xf32>
//       TILES:   memref.alloc() {alignment = 64 : i64} : memref<16385xf32>
//       TILES:   scf.forall
//       TILES:     memref.alloca() {alignment = 64 : i64} : memref<262144xf32>
//       TILES:   scf.forall
//       TILES:     memref.alloc() {alignment = 64 : i64} : memref<262145xf32>
func.func @buffers(%x: f32) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() {alignment = 64 : i64} : memref<16384xf32>
  memref.store %x, %a[%c0] : memref<16384xf32>
  %b = memref.alloc() {alignment = 64 : i64} : memref<16385xf32>
  memref.store %x, %b[%c0] : memref<16385xf32>
  scf.forall (%i) in (4) {
    %c = memref.alloc() {alignment = 64 : i64} : memref<262144xf32>
    memref.store %x, %c[%c0] : memref<262144xf32>
  }
  scf.forall (%i) in (4) {
    %c = memref.alloc() {alignment = 64 : i64} : memref<262145xf32>
    memref.store %x, %c[%c0] : memref<262145xf32>
  }
  return
}
