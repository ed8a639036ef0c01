// What the verifiers say of origins and of the sizes of a whole.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

// C13: origins of another batch.
func.func @f(%q: tensor<2x3x4x8xf32>, %n: tensor<3xi32>) {
  // expected-error @below {{C13: expected q_origin to have 2 elements, one a batch index, found 3}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
      q_origin(%n : tensor<3xi32>) outs(%q : tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  return
}

// -----

// C13: origins that are no integers.
func.func @f(%s: tensor<2x3x4x4xf32>, %n: tensor<2xf32>) {
  // expected-error @below {{C13: expected k_origin to have one dimension of i32 or i64, found 'tensor<2xf32>'}}
  %r = attn.mask ins(%s : tensor<2x3x4x4xf32>) k_origin(%n : tensor<2xf32>) outs(%s : tensor<2x3x4x4xf32>)
      -> tensor<2x3x4x4xf32>
  return
}

// -----

// C27: where the lower right corner of the whole lies is not known.
func.func @f(%q: tensor<2x3x4x8xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{C27: expected no alignment #attn.causal<bottom_right> beside q_origin and k_origin, whose numbers of queries and keys are not those of the whole; write #attn.causal<offset> with Sk - Sq of the whole as causal_offset}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
      q_origin(%n : tensor<2xi32>) outs(%q : tensor<2x3x4x8xf32>) {causal = #attn.causal<bottom_right>}
      -> tensor<2x3x4x8xf32>
  return
}

// -----

// C27: equal sizes of a part say nothing of the whole.
func.func @f(%s: tensor<2x3x4x4xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{C27: expected causal to say its alignment beside q_origin and k_origin}}
  %r = attn.mask ins(%s : tensor<2x3x4x4xf32>) k_origin(%n : tensor<2xi32>) outs(%s : tensor<2x3x4x4xf32>) {causal}
      -> tensor<2x3x4x4xf32>
  return
}

// -----

// C12: nor of where a window lies.
func.func @f(%s: tensor<2x3x4x4xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{C12: a window or chunk without causal needs an alignment}}
  %r = attn.mask ins(%s : tensor<2x3x4x4xf32>) k_origin(%n : tensor<2xi32>) outs(%s : tensor<2x3x4x4xf32>)
      {window = #attn.window<left = 3, right = 0>} -> tensor<2x3x4x4xf32>
  return
}

// -----

// C27: dropout of a part counts by the sizes of the whole.
func.func @f(%q: tensor<2x3x4x8xf32>, %x: i64) {
  // expected-error @below {{C27: expected the sizes of the whole beside dropout with an origin, found none; write whole(%hq, %sq, %sk : i64, i64, i64)}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
      dropout(%x, %x : i64, i64) h_origin(%x : i64) outs(%q : tensor<2x3x4x8xf32>) {dropout_p = 0.5 : f64}
      -> tensor<2x3x4x8xf32>
  return
}

// -----

// C27: nothing else reads them.
func.func @f(%q: tensor<2x3x4x8xf32>, %x: i64) {
  // expected-error @below {{C27: expected whole beside dropout, which alone reads it, found it alone; leave it out}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
      whole(%x, %x, %x : i64, i64, i64) outs(%q : tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  return
}
