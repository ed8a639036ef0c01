// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-raise))' --remarks-filter-missed=attn \
// RUN:     --remark-format=emitRemark --verify-diagnostics

// What MatchAttention.cpp, Operands.cpp, Domain.cpp and CreateChain.cpp refuse of the two products and their operands.

#q = affine_map<(i, j, d) -> (i, d)>
#k = affine_map<(i, j, d) -> (j, d)>
#s = affine_map<(i, j, d) -> (i, j)>
!q = tensor<4x8xf32>
!k = tensor<8x6xf32>
!v = tensor<6x8xf32>
!s = tensor<4x6xf32>

// The second product adds to a tensor.
func.func @not_from_zero(%q: !q, %k: !k, %v: !v, %residual: !q) -> !q {
  %z = arith.constant dense<0.0> : !s
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %p = linalg.softmax dimension(1) ins(%s : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected a product of weights and values}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%residual : !q) -> !q
  return %o : !q
}

// Values of f64 in a result of f32.
func.func @wide_values(%q: !q, %k: !k, %v: tensor<6x8xf64>) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %p = linalg.softmax dimension(1) ins(%s : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected queries, keys and values that are tensors of floats, no wider than the result's}}
  %o = linalg.generic {indexing_maps = [affine_map<(i, e, j) -> (i, j)>, affine_map<(i, e, j) -> (j, e)>,
      affine_map<(i, e, j) -> (i, e)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %v : !s, tensor<6x8xf64>) outs(%zq : !q) {
  ^bb0(%a: f32, %b: f64, %c: f32):
    %w = arith.extf %a : f32 to f64
    %m = arith.mulf %w, %b : f64
    %t = arith.truncf %m : f64 to f32
    %n = arith.addf %c, %t : f32
    linalg.yield %n : f32
  } -> !q
  return %o : !q
}

// Queries are made of positions, of which no tensor says how many there are.
func.func @size_of_nothing(%q: tensor<8xf32>, %k: tensor<6x8xf32>, %v: !v, %n: index) -> tensor<?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x6xf32>
  %eq = tensor.empty(%n) : tensor<?x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x6xf32>) -> tensor<?x6xf32>
  %zq = linalg.fill ins(%zero : f32) outs(%eq : tensor<?x8xf32>) -> tensor<?x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, d) -> (d)>, #k, #s],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<8xf32>, tensor<6x8xf32>) outs(%z : tensor<?x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %i = linalg.index 0 : index
    %i32 = arith.index_cast %i : index to i32
    %f = arith.sitofp %i32 : i32 to f32
    %r = arith.mulf %a, %f : f32
    %m = arith.mulf %r, %b : f32
    %x = arith.addf %c, %m : f32
    linalg.yield %x : f32
  } -> tensor<?x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<?x6xf32>) outs(%e : tensor<?x6xf32>) -> tensor<?x6xf32>
  // expected-remark @below {{expected queries, keys and values whose sizes are those of the tensors that they are made of}}
  %o = linalg.matmul ins(%p, %v : tensor<?x6xf32>, !v) outs(%zq : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %o : tensor<?x8xf32>
}

// Three dimensions are the head size.
func.func @three_head_dimensions(%q: tensor<4x2x2x2xf32>, %k: tensor<6x2x2x2xf32>, %v: !v) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %e = tensor.empty() : !s
  %s = linalg.contract indexing_maps = [affine_map<(i, j, a, b, c) -> (i, a, b, c)>,
      affine_map<(i, j, a, b, c) -> (j, a, b, c)>, affine_map<(i, j, a, b, c) -> (i, j)>]
      ins(%q, %k : tensor<4x2x2x2xf32>, tensor<6x2x2x2xf32>) outs(%z : !s) -> !s
  %p = linalg.softmax dimension(1) ins(%s : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected keys and the head size to be a dimension each, found reshapes that cut them}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// Q has the two dimensions of its head in another order than K.
func.func @order_of_head_dimensions(%q: tensor<4x2x4xf32>, %k: tensor<6x4x2xf32>, %v: !v) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %e = tensor.empty() : !s
  %s = linalg.contract indexing_maps = [affine_map<(i, j, a, b) -> (i, a, b)>, affine_map<(i, j, a, b) -> (j, b, a)>,
      affine_map<(i, j, a, b) -> (i, j)>]
      ins(%q, %k : tensor<4x2x4xf32>, tensor<6x4x2xf32>) outs(%z : !s) -> !s
  %p = linalg.softmax dimension(1) ins(%s : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected queries, keys, values and result whose dimensions are whole ones of (batch, query, key, head, value)}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// The queries are a diagonal.
func.func @diagonal(%q: tensor<4x4x8xf32>, %k: tensor<6x8xf32>, %v: !v) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %e = tensor.empty() : !s
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, d) -> (i, i, d)>, #k, #s],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<4x4x8xf32>, tensor<6x8xf32>) outs(%z : !s) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> !s
  %p = linalg.softmax dimension(1) ins(%s : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected queries, keys, values and result whose dimensions are whole ones}}
  %o = linalg.matmul ins(%p, %v : !s, !v) outs(%zq : !q) -> !q
  return %o : !q
}

// A row of values is a matrix.
func.func @two_value_dimensions(%q: !q, %k: !k, %v: tensor<6x2x4xf32>) -> tensor<4x2x4xf32> {
  %z = arith.constant dense<0.0> : !s
  %zo = arith.constant dense<0.0> : tensor<4x2x4xf32>
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %p = linalg.softmax dimension(1) ins(%s : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected the columns of values to be one dimension, found reshapes that cut them}}
  %o = linalg.contract indexing_maps = [affine_map<(i, a, b, j) -> (i, j)>, affine_map<(i, a, b, j) -> (j, a, b)>,
      affine_map<(i, a, b, j) -> (i, a, b)>] ins(%p, %v : !s, tensor<6x2x4xf32>) outs(%zo : tensor<4x2x4xf32>)
      -> tensor<4x2x4xf32>
  return %o : tensor<4x2x4xf32>
}

// All keys have the same values.
func.func @values_without_keys(%q: !q, %k: !k, %v: tensor<8xf32>) -> !q {
  %z = arith.constant dense<0.0> : !s
  %zq = arith.constant dense<0.0> : !q
  %e = tensor.empty() : !s
  %s = linalg.matmul ins(%q, %k : !q, !k) outs(%z : !s) -> !s
  %p = linalg.softmax dimension(1) ins(%s : !s) outs(%e : !s) -> !s
  // expected-remark @below {{expected the products to be over (query, head) and (key, head), then (query, key) and (key, value)}}
  %o = linalg.generic {indexing_maps = [affine_map<(i, e, j) -> (i, j)>, affine_map<(i, e, j) -> (e)>,
      affine_map<(i, e, j) -> (i, e)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %v : !s, tensor<8xf32>) outs(%zq : !q) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> !q
  return %o : !q
}

// The weights are returned with keys outermost.
func.func @weights_transposed(%q: !q, %k: tensor<6x8xf32>, %v: !v) -> (!q, tensor<6x4xf32>) {
  %z = arith.constant dense<0.0> : tensor<6x4xf32>
  %zq = arith.constant dense<0.0> : !q
  %e = tensor.empty() : tensor<6x4xf32>
  %s = linalg.contract indexing_maps = [#q, #k, affine_map<(i, j, d) -> (j, i)>]
      ins(%q, %k : !q, tensor<6x8xf32>) outs(%z : tensor<6x4xf32>) -> tensor<6x4xf32>
  %p = linalg.softmax dimension(0) ins(%s : tensor<6x4xf32>) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  // expected-remark @below {{expected weights, which have other uses, in the layout (batch, query, key)}}
  %o = linalg.contract indexing_maps = [affine_map<(i, e, j) -> (j, i)>, affine_map<(i, e, j) -> (j, e)>,
      affine_map<(i, e, j) -> (i, e)>] ins(%p, %v : tensor<6x4xf32>, !v) outs(%zq : !q) -> !q
  return %o, %p : !q, tensor<6x4xf32>
}

// exp(s) / (sum(exp(s)) + exp(sink)), with one sink for each row.
func.func @sink_of_rows(%q: tensor<2x4x8xf32>, %k: tensor<2x8x6xf32>, %v: tensor<2x6x8xf32>, %sink: tensor<4xf32>)
    -> tensor<2x4x8xf32> {
  %z = arith.constant dense<0.0> : tensor<2x4x6xf32>
  %zq = arith.constant dense<0.0> : tensor<2x4x8xf32>
  %zr = arith.constant dense<0.0> : tensor<2x4xf32>
  %e = tensor.empty() : tensor<2x4x6xf32>
  %er = tensor.empty() : tensor<2x4xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x4x8xf32>, tensor<2x8x6xf32>) outs(%z : tensor<2x4x6xf32>)
      -> tensor<2x4x6xf32>
  %x = linalg.exp ins(%s : tensor<2x4x6xf32>) outs(%e : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %l = linalg.reduce { arith.addf } ins(%x : tensor<2x4x6xf32>) outs(%zr : tensor<2x4xf32>) dimensions = [2]
  %sb = linalg.broadcast ins(%sink : tensor<4xf32>) outs(%er : tensor<2x4xf32>) dimensions = [0]
  %t = linalg.exp ins(%sb : tensor<2x4xf32>) outs(%er : tensor<2x4xf32>) -> tensor<2x4xf32>
  %n = linalg.add ins(%l, %t : tensor<2x4xf32>, tensor<2x4xf32>) outs(%er : tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = linalg.broadcast ins(%n : tensor<2x4xf32>) outs(%e : tensor<2x4x6xf32>) dimensions = [2]
  %p = linalg.div ins(%x, %b : tensor<2x4x6xf32>, tensor<2x4x6xf32>) outs(%e : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  // expected-remark @below {{expected a sink that is one number for each head}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x4x6xf32>, tensor<2x6x8xf32>) outs(%zq : tensor<2x4x8xf32>)
      -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}
