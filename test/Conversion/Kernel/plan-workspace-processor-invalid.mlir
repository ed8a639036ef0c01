// RUN: attn-opt %s --attn-plan-workspace=processor=true --split-input-file --verify-diagnostics

// The buffer of a round is read in the next one, which has another.
func.func @carried(%x: memref<4xf32>) attributes {
    attn.arguments = [{name = "x", output = true, type = tensor<4xf32>}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%last = %x) -> memref<4xf32> {
    // expected-error @below {{has no place in a workspace of the caller: expected buffers of a whole call, found one of a round of a loop; compile it with --workspace=heap}}
    %a = memref.alloc() : memref<4xf32>
    memref.copy %last, %a : memref<4xf32> to memref<4xf32>
    scf.yield %a : memref<4xf32>
  }
  memref.copy %0, %x : memref<4xf32> to memref<4xf32>
  return
}

// -----

// The body of a parallel loop.
func.func private @body(%n: index) {
  // expected-error @below {{expected buffers of a whole call, found one of each thread}}
  %a = memref.alloc(%n) : memref<?xf32>
  memref.dealloc %a : memref<?xf32>
  return
}
func.func @kernel(%x: memref<4xf32>) attributes {
    attn.arguments = [{name = "x", output = true, type = tensor<4xf32>}]} {
  %c4 = arith.constant 4 : index
  call @body(%c4) : (index) -> ()
  return
}
