// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-raise))' --remarks-filter-missed=attn \
// RUN:     --remark-format=emitRemark --verify-diagnostics

// What MatchScores.cpp, MatchMask.cpp and CreateChain.cpp refuse of scores, masks and biases.

#ij = affine_map<(i, j) -> (i, j)>
#sum = affine_map<(i, j) -> (i + j)>
#i = affine_map<(i, j) -> (i)>
#all = affine_map<(a, b, c, i, j) -> (a, b, c, i, j)>
#qs = affine_map<(a, b, c, i, j, d) -> (a, b, c, i, d)>
#ks = affine_map<(a, b, c, i, j, d) -> (a, b, c, j, d)>
#ss = affine_map<(a, b, c, i, j, d) -> (a, b, c, i, j)>
#vs = affine_map<(a, b, c, i, j, e) -> (a, b, c, j, e)>
#os = affine_map<(a, b, c, i, j, e) -> (a, b, c, i, e)>
!q = tensor<4x8xf32>
!k = tensor<8x6xf32>
!v = tensor<6x8xf32>
!s = tensor<4x6xf32>
!r = tensor<4xf32>
!qb = tensor<2x3x2x4x8xf32>
!kb = tensor<2x3x2x6x8xf32>
!sb = tensor<2x3x2x4x6xf32>

// 2^(s + bias): ln 2 would scale the bias, too.
func.func @bias_in_powers_of_2(%q: !q, %k: !k, %v: !v, %bias: !s) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %zr = arith.constant dense<0.0> : !r
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %x = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : !s, !s) outs(%e : !s) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.addf %a, %b : f32
    %n = math.exp2 %m : f32
    linalg.yield %n : f32
  } -> !s
  %l = linalg.reduce { arith.addf } ins(%x : !s) outs(%zr : !r) dimensions = [1]
  %b = linalg.broadcast ins(%l : !r) outs(%e : !s) dimensions = [1]
  %p = linalg.div ins(%x, %b : !s, !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected a softmax in powers of 2 of a product that is only scaled and masked}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// The scores are calculated by an op of another dialect.
func.func @other_op(%q: !q, %k: !k, %v: !v) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %t = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s : !s) outs(%e : !s) {
  ^bb0(%a: f32, %c: f32):
    %j = linalg.index 1 : index
    %j2 = affine.apply affine_map<(j) -> (j floordiv 2)>(%j)
    %i32 = arith.index_cast %j2 : index to i32
    %f = arith.sitofp %i32 : i32 to f32
    %n = arith.mulf %a, %f : f32
    linalg.yield %n : f32
  } -> !s
  %p = linalg.softmax dimension(1) ins(%t : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected scores calculated by ops of arith and math and by reads of tensors, found affine.apply}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// The first product adds to a tensor.
func.func @not_from_zero(%q: !q, %k: !k, %v: !v, %bias: !s) -> !q {
  %zq = arith.constant dense<0.0> : !q
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%bias : !s) -> !s
  %p = linalg.softmax dimension(1) ins(%s : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected scores that are calculated from a product of two matrices, found none that depends on the keys}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// Each key has queries of its own.
func.func @queries_of_keys(%q: tensor<4x6x8xf32>, %k: tensor<6x8xf32>, %v: !v) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %e = tensor.empty() : !s
  %s = linalg.contract indexing_maps = [affine_map<(i, j, d) -> (i, j, d)>, affine_map<(i, j, d) -> (j, d)>,
      affine_map<(i, j, d) -> (i, j)>] ins(%q, %k : tensor<4x6x8xf32>, tensor<6x8xf32>) outs(%z : !s) -> !s
  %p = linalg.softmax dimension(1) ins(%s : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected a product of queries and keys of which one depends on the keys, found a product of two that do}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// The weights are masked, and the scores are not: the others do not add up to 1.
func.func @mask_behind_softmax(%q: !q, %k: !k, %v: !v, %keep: tensor<4x6xi1>) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %p = linalg.softmax dimension(1) ins(%s : !s) outs(%e : !s) -> !s
  %g = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%p, %keep : !s, tensor<4x6xi1>) outs(%e : !s) {
  ^bb0(%a: f32, %b: i1, %c: f32):
    %n = arith.select %b, %a, %zero : f32
    linalg.yield %n : f32
  } -> !s
  // expected-remark @below {{expected weights that are set to 0 only where the scores are masked, or where the row keeps no key, found another condition; put -inf in the place of the scores instead}}
  %o = linalg.matmul ins(%g, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// A constant mask of i + j, of which no dimension is the query's or the key's.
func.func @diagonals_of_mask(%q: !q, %k: !k, %v: !v) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %lowest = arith.constant 0xFF800000 : f32
  %keep = arith.constant dense<[1, 1, 0, 1, 1, 1, 0, 1, 1]> : tensor<9xi1>
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %t = linalg.generic {indexing_maps = [#ij, #sum, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s, %keep : !s, tensor<9xi1>) outs(%e : !s) {
  ^bb0(%a: f32, %b: i1, %c: f32):
    %n = arith.select %b, %a, %lowest : f32
    linalg.yield %n : f32
  } -> !s
  %p = linalg.softmax dimension(1) ins(%t : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected a constant mask with dimensions of the scores}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// The same of a bias.
func.func @diagonals_of_bias(%q: !q, %k: !k, %v: !v, %table: tensor<9xf32>) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %t = linalg.generic {indexing_maps = [#ij, #sum, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%s, %table : !s, tensor<9xf32>) outs(%e : !s) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %n = arith.addf %a, %b : f32
    linalg.yield %n : f32
  } -> !s
  %p = linalg.softmax dimension(1) ins(%t : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected a bias with dimensions of the scores}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// A mask of the second of three batch dimensions, which no attn.index gives.
func.func @mask_of_middle_dimension(%q: !qb, %k: !kb, %v: !kb) -> !qb {
  %z = arith.constant dense<0.0> : !sb
  %zq = arith.constant dense<0.0> : !qb
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : !sb
  %s = linalg.contract indexing_maps = [#qs, #ks, #ss] ins(%q, %k : !qb, !kb) outs(%z : !sb) -> !sb
  %t = linalg.generic {indexing_maps = [#all, #all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%s : !sb) outs(%e : !sb) {
  ^bb0(%a: f32, %c: f32):
    %b = linalg.index 1 : index
    %j = linalg.index 4 : index
    %keep = arith.cmpi sle, %b, %j : index
    %n = arith.select %keep, %a, %lowest : f32
    linalg.yield %n : f32
  } -> !sb
  %p = linalg.softmax dimension(4) ins(%t : !sb) outs(%e : !sb) -> !sb
  // expected-remark @below {{expected a mask that depends on batch, head, query and key only}}
  %o = linalg.contract indexing_maps = [#ss, #vs, #os] ins(%p, %v : !sb, !kb) outs(%zq : !qb) -> !qb
  return %o : !qb
}

// The same of a score function.
func.func @scores_of_middle_dimension(%q: !qb, %k: !kb, %v: !kb) -> !qb {
  %z = arith.constant dense<0.0> : !sb
  %zq = arith.constant dense<0.0> : !qb
  %e = tensor.empty() : !sb
  %s = linalg.contract indexing_maps = [#qs, #ks, #ss] ins(%q, %k : !qb, !kb) outs(%z : !sb) -> !sb
  %t = linalg.generic {indexing_maps = [#all, #all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%s : !sb) outs(%e : !sb) {
  ^bb0(%a: f32, %c: f32):
    %b = linalg.index 1 : index
    %i32 = arith.index_cast %b : index to i32
    %f = arith.sitofp %i32 : i32 to f32
    %n = arith.mulf %a, %f : f32
    linalg.yield %n : f32
  } -> !sb
  %p = linalg.softmax dimension(4) ins(%t : !sb) outs(%e : !sb) -> !sb
  // expected-remark @below {{expected scores that depend on batch, head, query and key only}}
  %o = linalg.contract indexing_maps = [#ss, #vs, #os] ins(%p, %v : !sb, !kb) outs(%zq : !qb) -> !qb
  return %o : !qb
}
