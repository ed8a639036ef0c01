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
