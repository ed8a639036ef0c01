// RUN: attn-opt %s --attn-outline-regions='repeats=true' --attn-merge-functions | FileCheck %s
// RUN: attn-opt %s --attn-outline-regions | FileCheck %s --check-prefix=WITHOUT

// Two loops that differ in what they capture, as those of layers, are calls of one function; a third one stays.
// CHECK-LABEL: func @layers(
//  CHECK-SAME:     %[[X:[a-z0-9]*]]: memref<8xf32>, %[[Y:[a-z0-9]*]]: memref<8xf32>, %[[N:[a-z0-9]*]]: index)
//       CHECK:   call @layers_part(%[[X]], %[[N]]) : (memref<8xf32>, index) -> ()
//       CHECK:   scf.forall
//       CHECK:     memref.store %{{.*}}, %[[X]]
//       CHECK:   call @layers_part(%[[Y]], %[[N]]) : (memref<8xf32>, index) -> ()
// CHECK-LABEL: func private @layers_part(
//       CHECK:   scf.forall
//       CHECK:     math.exp
//   CHECK-NOT: func private
//   WITHOUT-NOT: func private
func.func @layers(%x: memref<8xf32>, %y: memref<8xf32>, %n: index) {
  %one = arith.constant 1.0 : f32
  scf.forall (%i) in (%n) {
    %a = memref.load %x[%i] : memref<8xf32>
    %b = math.exp %a : f32
    memref.store %b, %x[%i] : memref<8xf32>
  }
  scf.forall (%i) in (%n) {
    memref.store %one, %x[%i] : memref<8xf32>
  }
  scf.forall (%i) in (%n) {
    %a = memref.load %y[%i] : memref<8xf32>
    %b = math.exp %a : f32
    memref.store %b, %y[%i] : memref<8xf32>
  }
  return
}
