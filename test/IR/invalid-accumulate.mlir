// What attn.accumulate adds to, and where it may stand.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

// One index for a tensor of two dimensions.
func.func @f(%x: f32, %d: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{expected an index for each of 2 dimensions of the destination, found 1 index}}
  attn.accumulate %x into %d[%i] : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: f32, %d: tensor<f32>, %i: index) {
  // expected-error @below {{expected an index for each of 0 dimensions of the destination, found 2 indices}}
  attn.accumulate %x into %d[%i, %i] : tensor<f32>
  return
}

// -----

// No region of scores around.
func.func @f(%x: f32, %d: memref<8xf32>, %i: index) {
  // expected-error @below {{expected to stand directly in a region of an attn op, found it in func.func}}
  attn.accumulate %x into %d[%i] : memref<8xf32>
  return
}

// -----

// The score of f64 has a gradient of f64.
func.func @f(%x: f64, %d: tensor<8xf32>, %i: index) {
  // expected-error @below {{failed to verify that value has the element type of destination}}
  "attn.accumulate"(%x, %d, %i) : (f64, tensor<8xf32>, index) -> ()
  return
}

// -----

// score_mod changes scores and adds to nothing.
func.func @f(%s: tensor<4x6xf32>, %d: tensor<4xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{C10: expected only pure arith, math and attn.index ops on scalars, and tensor.extract of tensors from outside, in score_mod, found attn.accumulate}}
  %r = attn.modify ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %i = attn.index query : index
    // expected-note @below {{the op is here}}
    attn.accumulate %x into %d[%i] : tensor<4xf32>
    attn.yield %x : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
