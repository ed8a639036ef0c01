// RUN: attn-opt %s --split-input-file --verify-diagnostics

// C22: a segment of K without one of V.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %a: tensor<4x16xf32>, %m: tensor<4xf32>) {
  // expected-error @below {{C22: expected as many segments of values as of keys (2), found 1}}
  %r:3 = attn.online_step ins(%q, %k, %k : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>)
      segments keys(%k, %k : tensor<6x16xf32>, tensor<6x16xf32>) values(%k : tensor<6x16xf32>)
      outs(%a, %m, %m : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C22: a segment of another size.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %other: tensor<5x16xf32>, %a: tensor<4x16xf32>, %m: tensor<4xf32>) {
  // expected-error @below {{C22: expected segments of one size and element type, found 'tensor<6x16xf32>' and 'tensor<5x16xf32>'}}
  %r:3 = attn.online_step ins(%q, %k, %k : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>)
      segments keys(%other : tensor<5x16xf32>) values(%k : tensor<6x16xf32>)
      outs(%a, %m, %m : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C22: a bias says which key is which.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %b: tensor<4x6xf32>, %a: tensor<4x16xf32>, %m: tensor<4xf32>) {
  // expected-error @below {{C22: expected no bias, mask, mask_mod or region that asks for the key beside segments}}
  %r:3 = attn.online_step ins(%q, %k, %k : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>)
      bias(%b : tensor<4x6xf32>) segments keys(%k : tensor<6x16xf32>) values(%k : tensor<6x16xf32>)
      outs(%a, %m, %m : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C22: digits alone say nothing of their scale.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %d: tensor<4x2x64xi8>, %a: tensor<4x16xf32>, %m: tensor<4xf32>) {
  // expected-error @below {{C22: expected query_bytes to be digits, scales and offsets, found 1 operands}}
  %r:3 = attn.online_step ins(%q, %k, %k : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>)
      query_bytes(%d : tensor<4x2x64xi8>)
      outs(%a, %m, %m : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C23: three digits.
func.func @f(%q: tensor<4x16xf32>, %d: tensor<4x3x64xi8>, %s: tensor<4xf32>, %o: tensor<4xi32>) {
  // expected-error @below {{C23: expected rows of floats, and digits (batch…, row, 2, column) of i8}}
  %r:3 = attn.pack_bytes ins(%q : tensor<4x16xf32>) outs(%d, %s, %o : tensor<4x3x64xi8>, tensor<4xf32>, tensor<4xi32>)
      -> tensor<4x3x64xi8>, tensor<4xf32>, tensor<4xi32>
  return
}

// -----

// C24: the map of rows alone.
func.func @f(%k: tensor<6x16xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{C24: expected a map from (row, column) to the dimensions of 'tensor<6x16xf32>', found}}
  attn.prefetch %k[%c0, %c0] {rows = 1 : i64, columns = 16 : i64, map = affine_map<(r, c) -> (r)>} : tensor<6x16xf32>
  return
}
