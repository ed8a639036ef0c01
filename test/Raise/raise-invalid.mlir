// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-raise{fail-on-fallback=true allow-unsafe-softmax=false}))' --split-input-file --verify-diagnostics

// The softmax is over the queries.
func.func @over_queries(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>,
      affine_map<(i, j, d) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<4x8xf32>, tensor<4x8xf32>) outs(%fill : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<4x4xf32>
  %p = linalg.softmax dimension(0) ins(%s : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %oe = tensor.empty() : tensor<4x8xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @+1 {{attention not raised: expected a linalg.softmax over the keys}}
  %o = linalg.matmul ins(%p, %v : tensor<4x4xf32>, tensor<4x8xf32>) outs(%of : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The denominator has an epsilon.
func.func @epsilon(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %epsilon = arith.constant 0.001 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %r = tensor.empty() : tensor<4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) -> tensor<4x6xf32>
  %x = linalg.exp ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %si = linalg.fill ins(%epsilon : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<4x6xf32>) outs(%si : tensor<4xf32>) dimensions = [1]
  %b = linalg.broadcast ins(%sum : tensor<4xf32>) outs(%e : tensor<4x6xf32>) dimensions = [1]
  %p = linalg.div ins(%x, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %oe = tensor.empty() : tensor<4x8xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @+1 {{attention not raised: expected a denominator that is a sum over the keys}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%of : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Without its maximum, large scores overflow: that is another function.
func.func @no_maximum(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %z = arith.constant dense<0.0> : tensor<4x6xf32>
  %zr = arith.constant dense<0.0> : tensor<4xf32>
  %zq = arith.constant dense<0.0> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
  %x = linalg.exp ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<4x6xf32>) outs(%zr : tensor<4xf32>) dimensions = [1]
  %b = linalg.broadcast ins(%sum : tensor<4xf32>) outs(%e : tensor<4x6xf32>) dimensions = [1]
  %p = linalg.div ins(%x, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-error @+1 {{attention not raised: expected exponentials of scores minus their maximum over the keys, found none; write allow-unsafe-softmax=true where overflow is no part of what is meant}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zq : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
