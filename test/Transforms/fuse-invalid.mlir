// Chains that are left alone, each with the reason in a missed remark.
// RUN: attn-opt %s --attn-fuse --remarks-filter-missed=attn --remark-format=emitRemark --verify-diagnostics \
// RUN:     | FileCheck %s --implicit-check-not=attn.sdpa

// CHECK: attn.apply

// The weights are read by someone else as well.
func.func @weights_returned(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                            %o: tensor<4x8xf32>, %copy: tensor<4x6xf32>) -> (tensor<4x8xf32>, tensor<4x6xf32>) {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %twice = linalg.copy ins(%p : tensor<4x6xf32>) outs(%copy : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: the weights have another use; fused, they would be computed twice}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r, %twice : tensor<4x8xf32>, tensor<4x6xf32>
}

// The scores are a destination as well.
func.func @scores_used_twice(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                             %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = attn.scale ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {scale = 0.5 : f64} -> tensor<4x6xf32>
  %u = attn.scale ins(%t : tensor<4x6xf32>) outs(%s : tensor<4x6xf32>) {scale = 0.5 : f64} -> tensor<4x6xf32>
  %p = attn.softmax ins(%u : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: attn.scores has another use; fused, it would be computed twice}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Nobody knows Q and K.
func.func @given_scores(%s: tensor<4x6xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                        %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: the scores do not come from attn.scores}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Weights that are no softmax.
func.func @given_weights(%p: tensor<4x6xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-remark @below {{chain not fused: the weights do not come from attn.softmax}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// A scale after the softcap is not the scale of the formula.
func.func @scale_after_softcap(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                               %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = attn.softcap ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {softcap = 2.0 : f64} -> tensor<4x6xf32>
  %u = attn.scale ins(%t : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {scale = 0.5 : f64} -> tensor<4x6xf32>
  %p = attn.softmax ins(%u : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: a softcap stands before a later step of the formula}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// A softcap of biased scores.
func.func @bias_before_softcap(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                               %o: tensor<4x8xf32>, %b: tensor<6xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = attn.mask ins(%s : tensor<4x6xf32>) bias(%b : tensor<6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %u = attn.softcap ins(%t : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {softcap = 2.0 : f64} -> tensor<4x6xf32>
  %p = attn.softmax ins(%u : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: a bias stands before a later step of the formula}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// A negative scale makes a removed key the best one.
func.func @scale_after_mask(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                            %o: tensor<4x8xf32>, %m: tensor<6xi1>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = attn.mask ins(%s : tensor<4x6xf32>) mask(%m : tensor<6xi1>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %u = attn.scale ins(%t : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {scale = -1.0 : f64} -> tensor<4x6xf32>
  %p = attn.softmax ins(%u : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: a mask stands before a later step of the formula}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// An infinite bias would bring a removed key back as NaN.
func.func @bias_after_mask(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                           %o: tensor<4x8xf32>, %m: tensor<6xi1>, %b: tensor<6xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = attn.mask ins(%s : tensor<4x6xf32>) mask(%m : tensor<6xi1>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %u = attn.mask ins(%t : tensor<4x6xf32>) bias(%b : tensor<6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = attn.softmax ins(%u : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: a mask stands before a later step of the formula}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// sdpa holds one bias.
func.func @two_biases(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                      %o: tensor<4x8xf32>, %b: tensor<6xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = attn.mask ins(%s : tensor<4x6xf32>) bias(%b : tensor<6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %u = attn.mask ins(%t : tensor<4x6xf32>) bias(%b : tensor<6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = attn.softmax ins(%u : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: there are two biases}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// sdpa holds one boolean mask.
func.func @two_masks(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                     %o: tensor<4x8xf32>, %m: tensor<6xi1>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = attn.mask ins(%s : tensor<4x6xf32>) mask(%m : tensor<6xi1>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %u = attn.mask ins(%t : tensor<4x6xf32>) mask(%m : tensor<6xi1>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = attn.softmax ins(%u : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: there are two boolean masks}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// sdpa holds one softcap.
func.func @two_softcaps(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                        %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = attn.softcap ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {softcap = 2.0 : f64} -> tensor<4x6xf32>
  %u = attn.softcap ins(%t : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {softcap = 2.0 : f64} -> tensor<4x6xf32>
  %p = attn.softmax ins(%u : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: there are two softcaps}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// 1e60 is no number of f32.
func.func @overflowing_scales(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                              %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = attn.scale ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {scale = 1.0e30 : f64} -> tensor<4x6xf32>
  %u = attn.scale ins(%t : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {scale = 1.0e30 : f64} -> tensor<4x6xf32>
  %p = attn.softmax ins(%u : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: the product of its scales overflows}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// The scores lie as (key, query): softmax runs along the queries of the product.
func.func @transposed_scores(%q: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<6x6xf32>,
                             %o: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %s = attn.scores ins(%q, %q : tensor<6x16xf32>, tensor<6x16xf32>) outs(%e : tensor<6x6xf32>)
      {maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (j, i)>]}
      -> tensor<6x6xf32>
  %p = attn.softmax ins(%s : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  // expected-remark @below {{chain not fused: attn.scores is not in the layout}}
  %r = attn.apply ins(%p, %v : tensor<6x6xf32>, tensor<6x8xf32>) outs(%o : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// A softmax over the queries.
func.func @transposed_softmax(%q: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<6x6xf32>,
                              %o: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %s = attn.scores ins(%q, %q : tensor<6x16xf32>, tensor<6x16xf32>) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  %p = attn.softmax ins(%s : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>)
      {maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (j, i)>]}
      -> tensor<6x6xf32>
  // expected-remark @below {{chain not fused: the weights are not in the layout}}
  %r = attn.apply ins(%p, %v : tensor<6x6xf32>, tensor<6x8xf32>) outs(%o : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// attn.apply sums over what softmax calls the queries.
func.func @transposed_weights(%q: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<6x6xf32>,
                              %o: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %s = attn.scores ins(%q, %q : tensor<6x16xf32>, tensor<6x16xf32>) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  %p = attn.softmax ins(%s : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  // expected-remark @below {{chain not fused: attn.apply does not read the weights in the layout}}
  %r = attn.apply ins(%p, %v : tensor<6x6xf32>, tensor<6x8xf32>) outs(%o : tensor<6x8xf32>)
      {maps = [affine_map<(i, j, e) -> (j, i)>, affine_map<(i, j, e) -> (j, e)>, affine_map<(i, j, e) -> (i, e)>]}
      -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// sdpa has one type for Q, K and V.
func.func @types_of_query_and_value(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf16>,
                                    %e: tensor<4x6xf32>, %o: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: query and value have different element types}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf16>) outs(%o : tensor<4x8xf16>) -> tensor<4x8xf16>
  return %r : tensor<4x8xf16>
}

// The softmax is computed once, before the loop.
func.func @softmax_outside_of_the_loop(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                                       %o: tensor<4x8xf32>, %n: index) -> tensor<4x8xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%x = %o) -> tensor<4x8xf32> {
    // expected-remark @below {{chain not fused: attn.softmax stands in another block; fused, it would be computed each time}}
    %y = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %y : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// V is made of the log-sum-exp, which the fused op would give at the same time.
func.func @value_of_lse(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %init: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                        %l: tensor<4xf32>, %o: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p, %lse = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e, %l : tensor<4x6xf32>, tensor<4xf32>)
      -> tensor<4x6xf32>, tensor<4xf32>
  %sum = linalg.exp ins(%lse : tensor<4xf32>) outs(%l : tensor<4xf32>) -> tensor<4xf32>
  %x = tensor.extract %sum[%c0] : tensor<4xf32>
  %v = linalg.fill ins(%x : f32) outs(%init : tensor<6x8xf32>) -> tensor<6x8xf32>
  // expected-remark @below {{chain not fused: value, output or dropout depend on the log-sum-exp; one attn.sdpa gives both}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r, %sum : tensor<4x8xf32>, tensor<4xf32>
}

// The same through a region.
func.func @value_of_lse_in_a_region(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %e: tensor<4x6xf32>,
                                    %l: tensor<4xf32>, %o: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p, %lse = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e, %l : tensor<4x6xf32>, tensor<4xf32>)
      -> tensor<4x6xf32>, tensor<4xf32>
  %v = tensor.generate {
  ^bb0(%i: index, %j: index):
    %x = tensor.extract %lse[%c0] : tensor<4xf32>
    tensor.yield %x : f32
  } : tensor<6x8xf32>
  // expected-remark @below {{chain not fused: value, output or dropout depend on the log-sum-exp; one attn.sdpa gives both}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r, %lse : tensor<4x8xf32>, tensor<4xf32>
}

// V comes from a call, which stays behind the first use of the log-sum-exp.
func.func private @get_value() -> tensor<6x8xf32>
func.func @value_of_a_call(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %e: tensor<4x6xf32>,
                           %l: tensor<4xf32>, %o: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p, %lse = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e, %l : tensor<4x6xf32>, tensor<4xf32>)
      -> tensor<4x6xf32>, tensor<4xf32>
  %sum = linalg.exp ins(%lse : tensor<4xf32>) outs(%l : tensor<4xf32>) -> tensor<4xf32>
  %v = call @get_value() : () -> tensor<6x8xf32>
  // expected-remark @below {{chain not fused: the log-sum-exp is read before value, output or dropout can be made}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r, %sum : tensor<4x8xf32>, tensor<4xf32>
}

// Rows of f64 and weights of f32: the log-sum-exp of the fused op would be f64.
func.func @narrow_weights(%q: tensor<4x16xf64>, %k: tensor<6x16xf64>, %v: tensor<6x8xf64>, %e: tensor<4x6xf32>,
                          %l: tensor<4xf32>, %o: tensor<4x8xf64>) -> (tensor<4x8xf64>, tensor<4xf32>) {
  %s = attn.scores ins(%q, %k : tensor<4x16xf64>, tensor<6x16xf64>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p, %lse = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e, %l : tensor<4x6xf32>, tensor<4xf32>)
      -> tensor<4x6xf32>, tensor<4xf32>
  // expected-remark @below {{chain not fused: scores and weights are calculated in f32, those of attn.sdpa in f64, the type of its query's accumulation}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf64>) outs(%o : tensor<4x8xf64>) -> tensor<4x8xf64>
  return %r, %lse : tensor<4x8xf64>, tensor<4xf32>
}

// Rows of f32 and scores of f64: a score_mod, a scale and a softcap that f32 does not hold.
func.func @wide_scores(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf64>,
                       %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf64>) -> tensor<4x6xf64>
  %t = attn.scale ins(%s : tensor<4x6xf64>) outs(%e : tensor<4x6xf64>) {scale = 1.0e200 : f64} -> tensor<4x6xf64>
  %m = attn.modify ins(%t : tensor<4x6xf64>) outs(%e : tensor<4x6xf64>) score_mod {
  ^bb0(%x: f64):
    %y = arith.addf %x, %x : f64
    attn.yield %y : f64
  } -> tensor<4x6xf64>
  %c = attn.softcap ins(%m : tensor<4x6xf64>) outs(%e : tensor<4x6xf64>) {softcap = 1.0e-200 : f64} -> tensor<4x6xf64>
  %p = attn.softmax ins(%c : tensor<4x6xf64>) outs(%e : tensor<4x6xf64>) -> tensor<4x6xf64>
  // expected-remark @below {{chain not fused: scores and weights are calculated in f64, those of attn.sdpa in f32, the type of its query's accumulation}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf64>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Dropout counts its weights as (key, query).
func.func @transposed_dropout(%q: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<6x6xf32>, %o: tensor<6x8xf32>,
                              %x: i64) -> tensor<6x8xf32> {
  %s = attn.scores ins(%q, %q : tensor<6x16xf32>, tensor<6x16xf32>) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  %p = attn.softmax ins(%s : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  %d = attn.dropout ins(%p : tensor<6x6xf32>) dropout(%x, %x : i64, i64) outs(%e : tensor<6x6xf32>)
      {dropout_p = 0.5 : f64, maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (j, i)>]} -> tensor<6x6xf32>
  // expected-remark @below {{chain not fused: attn.dropout is not in the layout (batch…, query, key), or in another block}}
  %r = attn.apply ins(%d, %v : tensor<6x6xf32>, tensor<6x8xf32>) outs(%o : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// sdpa holds one score_mod.
func.func @two_modifications(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                             %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = attn.modify ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %y = math.tanh %x : f32
    attn.yield %y : f32
  } -> tensor<4x6xf32>
  %u = attn.modify ins(%t : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %y = math.absf %x : f32
    attn.yield %y : f32
  } -> tensor<4x6xf32>
  %p = attn.softmax ins(%u : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: there are two attn.modify}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// The scale turns the scores around.
func.func @transposed_scale(%q: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<6x6xf32>, %o: tensor<6x8xf32>)
    -> tensor<6x8xf32> {
  %s = attn.scores ins(%q, %q : tensor<6x16xf32>, tensor<6x16xf32>) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  %t = attn.scale ins(%s : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>)
      {scale = 0.5 : f64, maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>]} -> tensor<6x6xf32>
  %p = attn.softmax ins(%t : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  // expected-remark @below {{chain not fused: attn.scale is not in the layout (batch…, query, key)}}
  %r = attn.apply ins(%p, %v : tensor<6x6xf32>, tensor<6x8xf32>) outs(%o : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// Queries come through a projection of the general score.
func.func @projections(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                       %w: tensor<16x16xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) weights(%w : tensor<16x16xf32>)
      outs(%e : tensor<4x6xf32>) {kind = #attn.score_kind<general>} -> tensor<4x6xf32>
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark @below {{chain not fused: the scores have projections; run attn-expand-layers}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Rows behind the length are empty: the sink of the chain has weight in them, that of sdpa has none.
func.func @sink_without_lengths(%q: tensor<2x3x4x16xf32>, %k: tensor<2x3x6x16xf32>, %v: tensor<2x3x6x8xf32>,
                                %e: tensor<2x3x4x6xf32>, %o: tensor<2x3x4x8xf32>, %sink: tensor<3xf32>,
                                %n: tensor<2xi32>) -> tensor<2x3x4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<2x3x4x16xf32>, tensor<2x3x6x16xf32>) outs(%e : tensor<2x3x4x6xf32>)
      -> tensor<2x3x4x6xf32>
  %t = attn.mask ins(%s : tensor<2x3x4x6xf32>) q_lengths(%n : tensor<2xi32>) outs(%e : tensor<2x3x4x6xf32>)
      -> tensor<2x3x4x6xf32>
  %p = attn.softmax ins(%t : tensor<2x3x4x6xf32>) sink(%sink : tensor<3xf32>) outs(%e : tensor<2x3x4x6xf32>)
      -> tensor<2x3x4x6xf32>
  // expected-remark @below {{chain not fused: attn.mask has q_lengths and attn.softmax a sink without them}}
  %r = attn.apply ins(%p, %v : tensor<2x3x4x6xf32>, tensor<2x3x6x8xf32>) outs(%o : tensor<2x3x4x8xf32>)
      -> tensor<2x3x4x8xf32>
  return %r : tensor<2x3x4x8xf32>
}

// The other way round, keys of rows behind the length have weight.
func.func @lengths_of_the_sink(%q: tensor<2x3x4x16xf32>, %k: tensor<2x3x6x16xf32>, %v: tensor<2x3x6x8xf32>,
                               %e: tensor<2x3x4x6xf32>, %o: tensor<2x3x4x8xf32>, %sink: tensor<3xf32>,
                               %n: tensor<2xi32>) -> tensor<2x3x4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<2x3x4x16xf32>, tensor<2x3x6x16xf32>) outs(%e : tensor<2x3x4x6xf32>)
      -> tensor<2x3x4x6xf32>
  %p = attn.softmax ins(%s : tensor<2x3x4x6xf32>) sink(%sink : tensor<3xf32>) q_lengths(%n : tensor<2xi32>)
      outs(%e : tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  // expected-remark @below {{chain not fused: attn.softmax has a sink and q_lengths that no attn.mask has}}
  %r = attn.apply ins(%p, %v : tensor<2x3x4x6xf32>, tensor<2x3x6x8xf32>) outs(%o : tensor<2x3x4x8xf32>)
      -> tensor<2x3x4x8xf32>
  return %r : tensor<2x3x4x8xf32>
}
