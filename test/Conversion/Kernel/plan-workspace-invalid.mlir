// RUN: attn-opt %s --attn-plan-workspace --split-input-file --verify-diagnostics

// The size would be read from the memory of the device.
func.func @load(%x: memref<4xindex>) attributes {
    attn.arguments = [{name = "x", output = true, type = tensor<4xi64>}]} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{is left beside the launches of a GPU kernel, and the host cannot do it; expected every step within a launch}}
  %n = memref.load %x[%c0] : memref<4xindex>
  %a = memref.alloc(%n) : memref<?xf32>
  return
}

// -----

// What a loop counts is not known to NAME_workspace_bytes.
func.func @loop(%x: memref<4xf32>) attributes {
    attn.arguments = [{name = "x", output = true, type = tensor<4xf32>}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-note @below {{it comes from here}}
  scf.for %i = %c0 to %c4 step %c1 {
    // expected-error @below {{expected a size that follows from the sizes of the kernel's arguments, found another}}
    %a = memref.alloc(%i) : memref<?xf32>
  }
  return
}

// -----

// A buffer of complex numbers, which no kernel of ours has.
func.func @complex(%x: memref<4xf32>) attributes {
    attn.arguments = [{name = "x", output = true, type = tensor<4xf32>}]} {
  // expected-error @below {{expected a contiguous buffer of numbers, found 'memref<4xcomplex<f32>>'}}
  %a = memref.alloc() : memref<4xcomplex<f32>>
  return
}
