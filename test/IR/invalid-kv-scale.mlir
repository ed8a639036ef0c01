// C21 and C4 of keys and values that have a type of their own.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

// C4: K and V of two types.
func.func @f(%q: tensor<4x5x8xf32>, %k: tensor<2x7x8xi8>, %v: tensor<2x7x8xf8E4M3FN>, %s: tensor<2xf32>, %o: tensor<4x5x8xf32>) {
  // expected-error @below {{C4: expected key and value to have one element type, found 'i8' and 'f8E4M3FN'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x5x8xf32>, tensor<2x7x8xi8>, tensor<2x7x8xf8E4M3FN>)
      kv_scale(%s, %s : tensor<2xf32>, tensor<2xf32>) outs(%o : tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  return
}

// -----

// C4: f16 keys beside f64.
func.func @f(%q: tensor<4x5x8xf64>, %k: tensor<2x7x8xf16>, %o: tensor<4x5x8xf64>) {
  // expected-error @below {{C4: expected key and value to have element type 'f64', that of query, f16 or bf16 beside f32, or i8, f8E4M3FN or f8E5M2 with kv_scale, found 'f16'}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x5x8xf64>, tensor<2x7x8xf16>, tensor<2x7x8xf16>)
      outs(%o : tensor<4x5x8xf64>) -> tensor<4x5x8xf64>
  return
}

// -----

// C4: another type of eight bits.
func.func @f(%q: tensor<4x5x8xf32>, %k: tensor<2x7x8xf8E5M2FNUZ>, %o: tensor<4x5x8xf32>) {
  // expected-error @below {{C4: expected key and value to have element type 'f32', that of query,}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x5x8xf32>, tensor<2x7x8xf8E5M2FNUZ>, tensor<2x7x8xf8E5M2FNUZ>)
      outs(%o : tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  return
}

// -----

// C21: numbers without scales.
func.func @f(%q: tensor<4x5x8xf32>, %k: tensor<2x7x8xi8>, %o: tensor<4x5x8xf32>) {
  // expected-error @below {{C21: expected kv_scale beside keys and values of type 'i8', found none; write kv_scale(%ks, %vs :}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x5x8xf32>, tensor<2x7x8xi8>, tensor<2x7x8xi8>)
      outs(%o : tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  return
}

// -----

// C21: scales of what needs none.
func.func @f(%q: tensor<4x5x8xf32>, %k: tensor<2x7x8xf32>, %s: tensor<2xf32>, %o: tensor<4x5x8xf32>) {
  // expected-error @below {{C21: expected kv_scale only beside keys and values of type i8, f8E4M3FN or f8E5M2, found them of type 'f32'}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x5x8xf32>, tensor<2x7x8xf32>, tensor<2x7x8xf32>)
      kv_scale(%s, %s : tensor<2xf32>, tensor<2xf32>) outs(%o : tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  return
}

// -----

// C21: the scale of a key is no factor of tanh(q + k).
func.func @f(%q: tensor<4x5x8xf32>, %k: tensor<2x7x8xi8>, %w: tensor<8xf32>, %s: tensor<2xf32>, %o: tensor<4x5x8xf32>) {
  // expected-error @below {{C21: expected kv_scale without score_weight, as the scale of a key is no factor of additive scores}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x5x8xf32>, tensor<2x7x8xi8>, tensor<2x7x8xi8>) score_weight(%w : tensor<8xf32>)
      kv_scale(%s, %s : tensor<2xf32>, tensor<2xf32>) outs(%o : tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  return
}

// -----

// C21: no heads that could have scales.
func.func @f(%q: tensor<5x8xf32>, %k: tensor<7x8xi8>, %s: tensor<1xf32>, %o: tensor<5x8xf32>) {
  // expected-error @below {{C21: expected a batch dimension, the heads, beside kv_scale, found none}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<5x8xf32>, tensor<7x8xi8>, tensor<7x8xi8>)
      kv_scale(%s, %s : tensor<1xf32>, tensor<1xf32>) outs(%o : tensor<5x8xf32>) -> tensor<5x8xf32>
  return
}

// -----

// C21: scales of 16 bits.
func.func @f(%q: tensor<4x5x8xf32>, %k: tensor<2x7x8xi8>, %s: tensor<2xf32>, %t: tensor<2xf16>, %o: tensor<4x5x8xf32>) {
  // expected-error @below {{C21: expected the value scale to be f32 of shape (kv_heads) or (batch, kv_heads, keys), found 'tensor<2xf16>'}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x5x8xf32>, tensor<2x7x8xi8>, tensor<2x7x8xi8>)
      kv_scale(%s, %t : tensor<2xf32>, tensor<2xf16>) outs(%o : tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  return
}

// -----

// C21: a scale a query head.
func.func @f(%q: tensor<?x4x5x8xf32>, %k: tensor<?x2x7x8xi8>, %s: tensor<4xf32>, %o: tensor<?x4x5x8xf32>) {
  // expected-error @below {{C21: expected the key scale to be of shape (2), found (4)}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<?x4x5x8xf32>, tensor<?x2x7x8xi8>, tensor<?x2x7x8xi8>)
      kv_scale(%s, %s : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<?x4x5x8xf32>) -> tensor<?x4x5x8xf32>
  return
}

// -----

// C21: a scale a token of another number of keys.
func.func @f(%q: tensor<?x4x5x8xf32>, %k: tensor<?x2x7x8xi8>, %s: tensor<?x2x7xf32>, %t: tensor<?x2x9xf32>, %o: tensor<?x4x5x8xf32>) {
  // expected-error @below {{C21: expected the value scale to be of shape (?, 2, 7), found (?, 2, 9)}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<?x4x5x8xf32>, tensor<?x2x7x8xi8>, tensor<?x2x7x8xi8>)
      kv_scale(%s, %t : tensor<?x2x7xf32>, tensor<?x2x9xf32>) outs(%o : tensor<?x4x5x8xf32>) -> tensor<?x4x5x8xf32>
  return
}

// -----

// C21: one a head and one a token.
func.func @f(%q: tensor<1x4x5x8xf32>, %k: tensor<1x2x7x8xi8>, %s: tensor<1x2x7xf32>, %t: tensor<2xf32>, %o: tensor<1x4x5x8xf32>) {
  // expected-error @below {{C21: expected both scales a head or both a token, found 'tensor<1x2x7xf32>' and 'tensor<2xf32>'}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x4x5x8xf32>, tensor<1x2x7x8xi8>, tensor<1x2x7x8xi8>)
      kv_scale(%s, %t : tensor<1x2x7xf32>, tensor<2xf32>) outs(%o : tensor<1x4x5x8xf32>) -> tensor<1x4x5x8xf32>
  return
}

// -----

// C21: keys of heads alone have no (batch, head, key).
func.func @f(%q: tensor<4x5x8xf32>, %k: tensor<2x7x8xi8>, %s: tensor<1x2x7xf32>, %o: tensor<4x5x8xf32>) {
  // expected-error @below {{C21: expected a scale a token with the batch dimensions (batch, head) and keys that are not packed, found 1 batch dimensions; write scales of shape (kv_heads)}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x5x8xf32>, tensor<2x7x8xi8>, tensor<2x7x8xi8>)
      kv_scale(%s, %s : tensor<1x2x7xf32>, tensor<1x2x7xf32>) outs(%o : tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  return
}

// -----

// C21: packed keys have no dimension of their own in (batch, head, key).
func.func @f(%q: tensor<9x4x8xf32>, %k: tensor<9x2x8xi8>, %cu: tensor<3xi32>, %s: tensor<2x2x9xf32>, %o: tensor<9x4x8xf32>) {
  // expected-error @below {{C21: expected a scale a token with the batch dimensions (batch, head) and keys that are not packed, found cu_seqlens}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<9x4x8xf32>, tensor<9x2x8xi8>, tensor<9x2x8xi8>)
      cu_seqlens(%cu, %cu : tensor<3xi32>, tensor<3xi32>) kv_scale(%s, %s : tensor<2x2x9xf32>, tensor<2x2x9xf32>)
      outs(%o : tensor<9x4x8xf32>) -> tensor<9x4x8xf32>
  return
}
