// RUN: attn-opt %s --split-input-file --verify-diagnostics

// The output of the forward pass is that of an op with this query.
func.func @c24_output(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xbf16>,
                      %lse: tensor<4xf32>, %do: tensor<4x8xf32>)
    -> (tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) {
  // expected-error @below {{C24: expected output to have element type 'f32', found 'bf16'}}
  %dq, %dk, %dv = attn.sdpa_backward
      ins(%q, %k, %v, %o, %lse, %do : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<4x8xbf16>,
          tensor<4xf32>, tensor<4x8xf32>)
      outs(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      -> tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
  return %dq, %dk, %dv : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
}

// -----

// A log-sum-exp of 16 bits would make weights of nothing.
func.func @c24_lse(%q: tensor<4x16xbf16>, %k: tensor<6x16xbf16>, %v: tensor<6x8xbf16>, %o: tensor<4x8xbf16>,
                   %lse: tensor<4xbf16>) -> (tensor<4x16xbf16>, tensor<6x16xbf16>, tensor<6x8xbf16>) {
  // expected-error @below {{C24: expected lse to have element type 'f32', found 'bf16'}}
  %dq, %dk, %dv = attn.sdpa_backward
      ins(%q, %k, %v, %o, %lse, %o : tensor<4x16xbf16>, tensor<6x16xbf16>, tensor<6x8xbf16>, tensor<4x8xbf16>,
          tensor<4xbf16>, tensor<4x8xbf16>)
      outs(%q, %k, %v : tensor<4x16xbf16>, tensor<6x16xbf16>, tensor<6x8xbf16>)
      -> tensor<4x16xbf16>, tensor<6x16xbf16>, tensor<6x8xbf16>
  return %dq, %dk, %dv : tensor<4x16xbf16>, tensor<6x16xbf16>, tensor<6x8xbf16>
}

// -----

// A function of the scores without its derivative.
func.func @c25_derivative(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>,
                          %lse: tensor<4xf32>) -> (tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) {
  // expected-error @below {{C25: expected score_grad exactly where score_mod stands, found score_mod alone; run attn-differentiate, or write score_grad}}
  %dq, %dk, %dv = attn.sdpa_backward
      ins(%q, %k, %v, %o, %lse, %o : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<4x8xf32>,
          tensor<4xf32>, tensor<4x8xf32>)
      outs(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      score_mod {
      ^bb0(%s: f32):
        %t = math.tanh %s : f32
        attn.yield %t : f32
      } -> tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
  return %dq, %dk, %dv : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
}

// -----

// A derivative takes the score and the gradient of what score_mod yields.
func.func @c25_arguments(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>,
                         %lse: tensor<4xf32>) -> (tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) {
  // expected-error @below {{C10: expected score_grad to take two arguments, the score and the gradient}}
  %dq, %dk, %dv = attn.sdpa_backward
      ins(%q, %k, %v, %o, %lse, %o : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<4x8xf32>,
          tensor<4xf32>, tensor<4x8xf32>)
      outs(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      score_mod {
      ^bb0(%s: f32):
        attn.yield %s : f32
      } score_grad {
      ^bb0(%ds: f32):
        attn.yield %ds : f32
      } -> tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
  return %dq, %dk, %dv : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
}

// -----

func.func @c26_bias(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>,
                    %lse: tensor<4xf32>, %b: tensor<4x6xf32>)
    -> (tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<4x6xf32>) {
  // expected-error @below {{C26: expected dbias beside bias, found it alone}}
  %dq, %dk, %dv, %db = attn.sdpa_backward
      ins(%q, %k, %v, %o, %lse, %o : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<4x8xf32>,
          tensor<4xf32>, tensor<4x8xf32>)
      outs(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) dbias(%b : tensor<4x6xf32>)
      -> tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<4x6xf32>
  return %dq, %dk, %dv, %db : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<4x6xf32>
}

// -----

// Heads of K may share a gradient; those of Q may not.
func.func @c1_heads(%q: tensor<4x4x16xf32>, %k: tensor<2x6x16xf32>, %v: tensor<2x6x8xf32>, %o: tensor<4x4x8xf32>,
                    %lse: tensor<4x4xf32>, %dq0: tensor<4x16xf32>)
    -> (tensor<4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>) {
  // expected-error @below {{C1: expected the map of dquery to hold the head (last batch) dimension once, found}}
  %dq, %dk, %dv = attn.sdpa_backward
      ins(%q, %k, %v, %o, %lse, %o : tensor<4x4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>, tensor<4x4x8xf32>,
          tensor<4x4xf32>, tensor<4x4x8xf32>)
      outs(%dq0, %k, %v : tensor<4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (h floordiv 2, j, d)>,
               affine_map<(h, i, j, d, e) -> (h floordiv 2, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (i, d)>, affine_map<(h, i, j, d, e) -> (h floordiv 2, j, d)>,
               affine_map<(h, i, j, d, e) -> (h floordiv 2, j, e)>]}
      -> tensor<4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>
  return %dq, %dk, %dv : tensor<4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>
}

// -----

// Nobody passed the sink.
func.func @c26_sink(%q: tensor<1x4x16xf32>, %k: tensor<1x6x16xf32>, %v: tensor<1x6x8xf32>, %o: tensor<1x4x8xf32>,
                    %lse: tensor<1x4xf32>, %s: tensor<1xf32>) {
  // expected-error @below {{C26: expected dsink beside sink, found it alone}}
  %dq, %dk, %dv, %ds = attn.sdpa_backward
      ins(%q, %k, %v, %o, %lse, %o : tensor<1x4x16xf32>, tensor<1x6x16xf32>, tensor<1x6x8xf32>, tensor<1x4x8xf32>,
          tensor<1x4xf32>, tensor<1x4x8xf32>)
      outs(%q, %k, %v : tensor<1x4x16xf32>, tensor<1x6x16xf32>, tensor<1x6x8xf32>) dsink(%s : tensor<1xf32>)
      -> tensor<1x4x16xf32>, tensor<1x6x16xf32>, tensor<1x6x8xf32>, tensor<1xf32>
  return
}

// -----

// The region adds to a tensor that is no result.
func.func @c25_destination(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>,
                           %lse: tensor<4xf32>, %d: tensor<6xf32>) {
  // expected-error @below {{C25: expected attn.accumulate into one of dcaptures, found it into another 'tensor<6xf32>'}}
  %dq, %dk, %dv = attn.sdpa_backward
      ins(%q, %k, %v, %o, %lse, %o : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<4x8xf32>,
          tensor<4xf32>, tensor<4x8xf32>)
      outs(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) score_mod {
  ^bb0(%s: f32):
    attn.yield %s : f32
  } score_grad {
  ^bb0(%s: f32, %g: f32):
    %j = attn.index key : index
    attn.accumulate %g into %d[%j] : tensor<6xf32>
    attn.yield %g : f32
  } -> tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
  return
}

// -----

func.func @c4_delta(%o: tensor<4x8xf32>, %lse: tensor<4xf32>, %d: tensor<4xf16>) -> tensor<4xf16> {
  // expected-error @below {{C4: expected delta to be f32 or f64, found 'f16'}}
  %r = attn.row_delta ins(%o, %o, %lse : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>) outs(%d : tensor<4xf16>)
      -> tensor<4xf16>
  return %r : tensor<4xf16>
}

// -----

func.func @c4_integers(%o: tensor<4x8xi32>, %lse: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{C4: expected floating-point operands, found 'i32'}}
  %r = attn.row_delta ins(%o, %o, %lse : tensor<4x8xi32>, tensor<4x8xi32>, tensor<4xf32>) outs(%lse : tensor<4xf32>)
      -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// A gradient of scores is made of that of weights.
func.func @gradients_alone(%s: tensor<4x6xf32>, %lse: tensor<4xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{expected dweights and delta where gradients stands, found gradients alone}}
  %g = attn.score_gradients ins(%s, %lse : tensor<4x6xf32>, tensor<4xf32>) gradients(%s : tensor<4x6xf32>)
      -> tensor<4x6xf32>
  return %g : tensor<4x6xf32>
}

// -----

// Weights lie where the scores do.
func.func @c1_weights(%s: tensor<6x6xf32>, %lse: tensor<6xf32>) -> tensor<6x6xf32> {
  // expected-error @below {{C1: expected the map of scores for weights, found another one}}
  %p = attn.score_gradients ins(%s, %lse : tensor<6x6xf32>, tensor<6xf32>) weights(%s : tensor<6x6xf32>)
      {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j, i)>]}
      -> tensor<6x6xf32>
  return %p : tensor<6x6xf32>
}

// -----

// A tile of keys visits queries from its first key on.
func.func @query_ranges(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>,
                        %lse: tensor<4xf32>) {
  %dq, %dk, %dv = attn.sdpa_backward
      ins(%q, %k, %v, %o, %lse, %o : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<4x8xf32>,
          tensor<4xf32>, tensor<4x8xf32>)
      outs(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) query_ranges {
    // expected-error @below {{expected first_key and end_key in query_ranges, found query}}
    %i = attn.index query : index
    attn.yield %i, %i, %i, %i : index, index, index, index
  } -> tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
  return
}
