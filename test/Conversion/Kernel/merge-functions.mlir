// RUN: attn-opt %s --attn-merge-functions | FileCheck %s

// Two layers have one body; those that call equal functions are equal in the end.
// CHECK-LABEL: func.func @layers
// CHECK-NEXT:    call @outer(
// CHECK-NEXT:    call @outer(
// CHECK-NEXT:    call @other(
func.func @layers(%x: index) {
  call @outer(%x) : (index) -> ()
  call @outer_again(%x) : (index) -> ()
  call @other(%x) : (index) -> ()
  return
}

// CHECK: func.func private @outer(
// CHECK: call @body(
func.func private @outer(%x: index) {
  %y = call @body(%x) : (index) -> index
  return
}
// CHECK-NOT: @outer_again
func.func private @outer_again(%x: index) {
  %y = call @body_again(%x) : (index) -> index
  return
}

// CHECK: func.func private @body(
func.func private @body(%x: index) -> index {
  %c = arith.constant 1 : index
  %y = arith.addi %x, %c : index
  return %y : index
}
// CHECK-NOT: @body_again
func.func private @body_again(%x: index) -> index {
  %c = arith.constant 1 : index
  %y = arith.addi %x, %c : index
  return %y : index
}

// Another constant, and a public function, stay.
// CHECK: func.func private @other(
func.func private @other(%x: index) {
  %c = arith.constant 2 : index
  %y = arith.addi %x, %c : index
  return
}
// CHECK: func.func @public(
func.func @public(%x: index) -> index {
  %c = arith.constant 1 : index
  %y = arith.addi %x, %c : index
  return %y : index
}
