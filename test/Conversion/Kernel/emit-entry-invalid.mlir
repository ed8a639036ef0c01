// RUN: attn-opt %s --attn-emit-entry --split-input-file --verify-diagnostics

// An argument that nothing describes.
// expected-error @below {{expected 1 buffers and no results after bufferisation, as attn.arguments says, found 2 and 0}}
func.func @arguments(%x: memref<4xf32>, %y: memref<4xf32>) attributes {attn.arguments = [
    {name = "x", output = true, type = tensor<4xf32>}]} {
  return
}

// -----

// The call would pass a memref where the entry takes a pointer.
// expected-error @below {{expected no call of a kernel; a function that is called must be private}}
func.func @called(%x: memref<4xf32>) attributes {attn.arguments = [{name = "x", output = true, type = tensor<4xf32>}]} {
  return
}
func.func @caller(%x: memref<4xf32>) {
  call @called(%x) : (memref<4xf32>) -> ()
  return
}

// -----

// expected-error @below {{expected buffers of the shapes that attn.arguments says, found 'memref<5xf32>' for 'x'}}
func.func @shapes(%x: memref<5xf32>) attributes {attn.arguments = [{name = "x", output = true, type = tensor<4xf32>}]} {
  return
}
