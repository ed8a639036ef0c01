// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-raise))' --remarks-filter-missed=attn \
// RUN:     --remark-format=emitRemark --verify-diagnostics

// What MatchSoftmax.cpp refuses: weights that are no softmax over the keys.

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
!q = tensor<4x8xf32>
!k = tensor<8x6xf32>
!v = tensor<6x8xf32>
!s = tensor<4x6xf32>
!r = tensor<4xf32>

// The select that guards rows without keys tests something else.
func.func @other_guard(%q: !q, %k: !k, %v: !v, %flag: tensor<4xi1>) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %p = linalg.softmax dimension(1) ins(%s : !s) outs(%e : !s) -> !s
  %g = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %flag : !s, tensor<4xi1>) outs(%e : !s) {
  ^bb0(%a: f32, %b: i1, %c: f32):
    %n = arith.select %b, %zero, %a : f32
    linalg.yield %n : f32
  } -> !s
  // expected-remark @below {{expected weights that a select replaces by 0 only where the row keeps no key, found another condition; put -inf in the place of the scores instead}}
  %o = linalg.matmul ins(%g, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// A bias is added in front of the numerator alone.
func.func @other_exponentials(%q: !q, %k: !k, %v: !v, %bias: !s) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %zr = arith.constant dense<0.0> : !r
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %t = linalg.add ins(%s, %bias : !s, !s) outs(%e : !s) -> !s
  %x = linalg.exp ins(%t : !s) outs(%e : !s) -> !s
  %y = linalg.exp ins(%s : !s) outs(%e : !s) -> !s
  %l = linalg.reduce { arith.addf } ins(%y : !s) outs(%zr : !r) dimensions = [1]
  %b = linalg.broadcast ins(%l : !r) outs(%e : !s) dimensions = [1]
  %p = linalg.div ins(%x, %b : !s, !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected a denominator that sums the same exponentials that it divides, found others; subtract one maximum from the scores, and mask them, in front of both}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// An epsilon beside the sum is a sink of another maximum.
func.func @epsilon_beside_sum(%q: !q, %k: !k, %v: !v) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %zr = arith.constant dense<0.0> : !r
  %lowest = arith.constant dense<0xFF800000> : !r
  %epsilon = arith.constant dense<1.0e-6> : !r
  %e = tensor.empty() : !s
  %er = tensor.empty() : !r
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %m = linalg.reduce { arith.maximumf } ins(%s : !s) outs(%lowest : !r) dimensions = [1]
  %mb = linalg.broadcast ins(%m : !r) outs(%e : !s) dimensions = [1]
  %d = linalg.sub ins(%s, %mb : !s, !s) outs(%e : !s) -> !s
  %x = linalg.exp ins(%d : !s) outs(%e : !s) -> !s
  %l = linalg.reduce { arith.addf } ins(%x : !s) outs(%zr : !r) dimensions = [1]
  %n = linalg.add ins(%l, %epsilon : !r, !r) outs(%er : !r) -> !r
  %b = linalg.broadcast ins(%n : !r) outs(%e : !s) dimensions = [1]
  %p = linalg.div ins(%x, %b : !s, !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected a denominator whose one more term is the exponential of a score less the same maximum, a sink, found another; leave it out: with the maximum subtracted, the sum is at least 1}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// Each key has a term of its own in the denominator.
func.func @term_of_keys(%q: !q, %k: !k, %v: !v, %term: !s) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %zr = arith.constant dense<0.0> : !r
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %x = linalg.exp ins(%s : !s) outs(%e : !s) -> !s
  %l = linalg.reduce { arith.addf } ins(%x : !s) outs(%zr : !r) dimensions = [1]
  %b = linalg.broadcast ins(%l : !r) outs(%e : !s) dimensions = [1]
  %n = linalg.add ins(%b, %term : !s, !s) outs(%e : !s) -> !s
  %p = linalg.div ins(%x, %n : !s, !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected a denominator whose one more term is the exponential of a score less the same maximum}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// What multiplies the values is 1 less the weights.
func.func @one_less(%q: !q, %k: !k, %v: !v) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %one = arith.constant dense<1.0> : !s
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %p = linalg.softmax dimension(1) ins(%s : !s) outs(%e : !s) -> !s
  %n = linalg.sub ins(%one, %p : !s, !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected weights that are exponentials divided by their sum, found no division by a sum; divide the weights, or the second product, by it}}
  %o = linalg.matmul ins(%n, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// The sum is returned, and divides nothing.
func.func @not_divided(%q: !q, %k: !k, %v: !v) -> (!q, !r) {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %zr = arith.constant dense<0.0> : !r
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %x = linalg.exp ins(%s : !s) outs(%e : !s) -> !s
  %l = linalg.reduce { arith.addf } ins(%x : !s) outs(%zr : !r) dimensions = [1]
  // expected-remark @below {{expected weights that are exponentials divided by their sum, found no division by a sum}}
  %o = linalg.matmul ins(%x, %v : !s, !v) outs(%zq : !q) -> !q
  return %o, %l : !q, !r
}

// exp(s - log(sum(exp(s + bias))))
func.func @other_logarithm(%q: !q, %k: !k, %v: !v, %bias: !s) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %zr = arith.constant dense<0.0> : !r
  %e = tensor.empty() : !s
  %er = tensor.empty() : !r
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %t = linalg.add ins(%s, %bias : !s, !s) outs(%e : !s) -> !s
  %x = linalg.exp ins(%t : !s) outs(%e : !s) -> !s
  %l = linalg.reduce { arith.addf } ins(%x : !s) outs(%zr : !r) dimensions = [1]
  %log = linalg.log ins(%l : !r) outs(%er : !r) -> !r
  %b = linalg.broadcast ins(%log : !r) outs(%e : !s) dimensions = [1]
  %d = linalg.sub ins(%s, %b : !s, !s) outs(%e : !s) -> !s
  %p = linalg.exp ins(%d : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected the logarithm of the sum of the same exponentials, found others}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// (1 + exp(s)) / sum(1 + exp(s))
func.func @one_more(%q: !q, %k: !k, %v: !v) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %zr = arith.constant dense<0.0> : !r
  %one = arith.constant dense<1.0> : !s
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %x = linalg.exp ins(%s : !s) outs(%e : !s) -> !s
  %y = linalg.add ins(%x, %one : !s, !s) outs(%e : !s) -> !s
  %l = linalg.reduce { arith.addf } ins(%y : !s) outs(%zr : !r) dimensions = [1]
  %b = linalg.broadcast ins(%l : !r) outs(%e : !s) dimensions = [1]
  %p = linalg.div ins(%y, %b : !s, !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected weights that are exponentials, found arith.addf}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}
