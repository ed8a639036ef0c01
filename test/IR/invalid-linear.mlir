// RUN: attn-opt %s --split-input-file --verify-diagnostics

// Four heads of value cannot share three of key.
func.func @f(%q: tensor<1x3x5x8xf32>, %k: tensor<1x3x5x8xf32>, %v: tensor<1x4x5x6xf32>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{L1: expected the number of heads of value (4) to be a multiple of that of key, found 3}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x3x5x8xf32>, tensor<1x3x5x8xf32>, tensor<1x4x5x6xf32>) 
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>)  -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
  return
}

// -----

// Query has two heads and key one.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x1x5x8xf32>, %v: tensor<1x4x5x6xf32>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{L1: expected as many heads of key as of query (2), found 1}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x1x5x8xf32>, tensor<1x4x5x6xf32>) 
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>)  -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
  return
}

// -----

// Query and key are multiplied.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf16>, %v: tensor<1x4x5x6xf32>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{L1: expected query and key of one rank and element type, found 'tensor<1x2x5x8xf32>' and 'tensor<1x2x5x8xf16>'}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf16>, tensor<1x4x5x6xf32>) 
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>)  -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
  return
}

// -----

// Key has another number of tokens.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x4x5x6xf32>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{C2: expected the query dimension of key to be 5, found 4}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x4x8xf32>, tensor<1x4x5x6xf32>) 
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>)  -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
  return
}

// -----

// A state of (Dv, D) needs a map.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x4x5x6xf32>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x6x8xf32>) {
  // expected-error @below {{C2: expected the head-size dimension of state to be 8, found 6}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf32>) 
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x6x8xf32>)  -> tensor<1x4x5x6xf32>, tensor<1x4x6x8xf32>
  return
}

// -----

// Integers are no rows.
func.func @f(%q: tensor<1x2x5x8xi32>, %k: tensor<1x2x5x8xi32>, %v: tensor<1x4x5x6xi32>, %o: tensor<1x4x5x6xi32>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{L2: expected query of f32, f64, bf16 or f16, found 'i32'}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xi32>, tensor<1x2x5x8xi32>, tensor<1x4x5x6xi32>) 
      outs(%o, %s : tensor<1x4x5x6xi32>, tensor<1x4x8x6xf32>)  -> tensor<1x4x5x6xi32>, tensor<1x4x8x6xf32>
  return
}

// -----

// Value is of another type.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x4x5x6xf16>, %o: tensor<1x4x5x6xf16>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{L2: expected value to have element type 'f32', that of query, found 'f16'}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf16>) 
      outs(%o, %s : tensor<1x4x5x6xf16>, tensor<1x4x8x6xf32>)  -> tensor<1x4x5x6xf16>, tensor<1x4x8x6xf32>
  return
}

// -----

// A state in 16 bits loses what many tokens add.
func.func @f(%q: tensor<1x2x5x8xbf16>, %k: tensor<1x2x5x8xbf16>, %v: tensor<1x4x5x6xbf16>, %o: tensor<1x4x5x6xbf16>, %s: tensor<1x4x8x6xbf16>) {
  // expected-error @below {{L2: expected state to have element type 'f32', that of the accumulation, found 'bf16'}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<1x4x5x6xbf16>) 
      outs(%o, %s : tensor<1x4x5x6xbf16>, tensor<1x4x8x6xbf16>)  -> tensor<1x4x5x6xbf16>, tensor<1x4x8x6xbf16>
  return
}

// -----

// A decay wider than the sums.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x4x5x6xf32>, %x0: tensor<1x4x5xf64>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{L2: expected decay to have element type 'f32', or a narrower float of at least 16 bits, found 'f64'}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf32>) decay(%x0 : tensor<1x4x5xf64>)
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>)  -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
  return
}

// -----

// What is erased is given twice.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x4x5x6xf32>, %x0: tensor<1x4x5xf32>, %x1: tensor<1x4x5x8xf32>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{L3: expected beta or erase, found both; write erase(%a) of -beta key, and beta value as value}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf32>) beta(%x0 : tensor<1x4x5xf32>) erase(%x1 : tensor<1x4x5x8xf32>)
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>)  -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
  return
}

// -----

// Nothing is erased that write could be of.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x4x5x6xf32>, %x0: tensor<1x4x5x8xf32>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{L3: expected erase beside write, found none}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf32>) write(%x0 : tensor<1x4x5x8xf32>)
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>)  -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
  return
}

// -----

// Nothing is erased before a decay.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x4x5x6xf32>, %x0: tensor<1x4x5xf32>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{L3: expected erase beside before, found none}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf32>) decay(%x0 : tensor<1x4x5xf32>)
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>) {before} -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
  return
}

// -----

// A decay has the heads of value.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x4x5x6xf32>, %x0: tensor<1x2x5xf32>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{C2: expected the head (last batch) dimension of decay to be 4, found 2}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf32>) decay(%x0 : tensor<1x2x5xf32>)
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>)  -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
  return
}

// -----

// Two sequences need three sums.
func.func @f(%q: tensor<5x2x8xf32>, %k: tensor<5x2x8xf32>, %v: tensor<5x4x6xf32>, %x0: tensor<2xi32>, %o: tensor<5x4x6xf32>, %s: tensor<2x4x8x6xf32>) {
  // expected-error @below {{L5: expected cu_seqlens to have 3 elements, one more than there are sequences, found 2}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<5x2x8xf32>, tensor<5x2x8xf32>, tensor<5x4x6xf32>) cu_seqlens(%x0 : tensor<2xi32>)
      outs(%o, %s : tensor<5x4x6xf32>, tensor<2x4x8x6xf32>)  -> tensor<5x4x6xf32>, tensor<2x4x8x6xf32>
  return
}

// -----

// Sums are of i32.
func.func @f(%q: tensor<5x2x8xf32>, %k: tensor<5x2x8xf32>, %v: tensor<5x4x6xf32>, %x0: tensor<3xi64>, %o: tensor<5x4x6xf32>, %s: tensor<2x4x8x6xf32>) {
  // expected-error @below {{L5: expected cu_seqlens of one dimension, of i32, found 'tensor<3xi64>'}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<5x2x8xf32>, tensor<5x2x8xf32>, tensor<5x4x6xf32>) cu_seqlens(%x0 : tensor<3xi64>)
      outs(%o, %s : tensor<5x4x6xf32>, tensor<2x4x8x6xf32>)  -> tensor<5x4x6xf32>, tensor<2x4x8x6xf32>
  return
}

// -----

// One batch index has one slot.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x4x5x6xf32>, %x0: tensor<2xi32>, %o: tensor<1x4x5x6xf32>, %s: tensor<7x4x8x6xf32>) {
  // expected-error @below {{L6: expected slots to have 1 elements, one a batch index, found 2}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf32>) slots(%x0 : tensor<2xi32>)
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<7x4x8x6xf32>)  -> tensor<1x4x5x6xf32>, tensor<7x4x8x6xf32>
  return
}

// -----

// The layout of the state is made at compile time.
func.func @f(%q: tensor<1x2x5x?xf32>, %k: tensor<1x2x5x?xf32>, %v: tensor<1x4x5x6xf32>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x?x6xf32>) {
  // expected-error @below {{L7: expected a static head size of key of at least 1, found ?}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x?xf32>, tensor<1x2x5x?xf32>, tensor<1x4x5x6xf32>) 
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x?x6xf32>)  -> tensor<1x4x5x6xf32>, tensor<1x4x?x6xf32>
  return
}

// -----

// A row of zeros would be divided by 0.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x4x5x6xf32>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{L7: expected normalize above 0, found 0.000000e+00 : f64; write normalize = 1.0e-6 : f64}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf32>) 
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>) {normalize = 0.0 : f64} -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
  return
}

// -----

// No output would be finite.
func.func @f(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x4x5x6xf32>, %o: tensor<1x4x5x6xf32>, %s: tensor<1x4x8x6xf32>) {
  // expected-error @below {{L7: expected a finite scale, found 0x7FF0000000000000 : f64}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf32>) 
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>) {scale = 0x7FF0000000000000 : f64} -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
  return
}

// -----

// L has as many rows as x.
func.func @solve(%l: memref<4x4xf32>, %x: memref<5x6xf32>) {
  // expected-error @below {{L8: expected lower (C, C) and x (C, N) of static sizes, found 'memref<4x4xf32>' and 'memref<5x6xf32>'}}
  attn.solve ins(%l : memref<4x4xf32>) outs(%x : memref<5x6xf32>)
  return
}

// -----

// L and x are multiplied.
func.func @solve(%l: memref<4x4xf64>, %x: memref<4x6xf32>) {
  // expected-error @below {{L8: expected lower and x of one type, f32 or f64, found 'memref<4x4xf64>' and 'memref<4x6xf32>'}}
  attn.solve ins(%l : memref<4x4xf64>) outs(%x : memref<4x6xf32>)
  return
}

// -----

// Rows are read as vectors.
func.func @solve(%l: memref<4x4xf32>, %x: memref<4x6xf32, strided<[1, 4]>>) {
  // expected-error @below {{L8: expected x with contiguous rows, found 'memref<4x6xf32, strided<[1, 4]>>'}}
  attn.solve ins(%l : memref<4x4xf32>) outs(%x : memref<4x6xf32, strided<[1, 4]>>)
  return
}

// -----

// A decay has a gradient too.
func.func @f(%q: tensor<2x5x8xf32>, %v: tensor<2x5x6xf32>, %g: tensor<2x5xf32>, %s: tensor<2x8x6xf32>) {
  // expected-error @below {{L9: expected ddecay beside decay, found none}}
  %r:4 = attn.linear_backward ins(%q, %q, %v : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x6xf32>)
      decay(%g : tensor<2x5xf32>) dout(%v : tensor<2x5x6xf32>) state(%s : tensor<2x8x6xf32>)
      outs(%q, %q, %v : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x6xf32>) dstate(%s : tensor<2x8x6xf32>)
      -> tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x6xf32>, tensor<2x8x6xf32>
  return
}

// -----

// There is no beta that this could be the gradient of.
func.func @f(%q: tensor<2x5x8xf32>, %v: tensor<2x5x6xf32>, %g: tensor<2x5xf32>, %s: tensor<2x8x6xf32>) {
  // expected-error @below {{L9: expected beta beside dbeta, found none}}
  %r:5 = attn.linear_backward ins(%q, %q, %v : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x6xf32>)
      dout(%v : tensor<2x5x6xf32>) state(%s : tensor<2x8x6xf32>)
      outs(%q, %q, %v : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x6xf32>) dbeta(%g : tensor<2x5xf32>)
      dstate(%s : tensor<2x8x6xf32>)
      -> tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x6xf32>, tensor<2x5xf32>, tensor<2x8x6xf32>
  return
}

// -----

// A gradient is not narrower than its input.
func.func @f(%q: tensor<2x5x8xf32>, %v: tensor<2x5x6xf32>, %d: tensor<2x5x8xf16>, %s: tensor<2x8x6xf32>) {
  // expected-error @below {{L9: expected dkey to have element type 'f32', that of key, or 'f32', that of the accumulation, found 'f16'}}
  %r:4 = attn.linear_backward ins(%q, %q, %v : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x6xf32>)
      dout(%v : tensor<2x5x6xf32>) state(%s : tensor<2x8x6xf32>)
      outs(%q, %d, %v : tensor<2x5x8xf32>, tensor<2x5x8xf16>, tensor<2x5x6xf32>) dstate(%s : tensor<2x8x6xf32>)
      -> tensor<2x5x8xf32>, tensor<2x5x8xf16>, tensor<2x5x6xf32>, tensor<2x8x6xf32>
  return
}

// -----

// Gradients have the lists of the forward pass, and their sizes.
func.func @f(%q: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %i: tensor<2xi32>, %s: tensor<7x2x8x6xf32>) {
  // expected-error @below {{L6: expected slots to have 1 elements, one a batch index, found 2}}
  %r:4 = attn.linear_backward ins(%q, %q, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>)
      dout(%v : tensor<1x2x5x6xf32>) state(%s : tensor<7x2x8x6xf32>) slots(%i : tensor<2xi32>)
      outs(%q, %q, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) dstate(%s : tensor<7x2x8x6xf32>)
      -> tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<7x2x8x6xf32>
  return
}
