// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-raise,attn-canonicalize,attn-fuse))' | FileCheck %s
// RUN: attnc run --kernel=causal_constant --check %s
// RUN: attnc run --kernel=spelled_out --check %s
// RUN: attnc run --kernel=group --check %s
// RUN: attnc run --kernel=weights_before --check %s
// RUN: attnc run --kernel=weights_in_values --check %s
// RUN: attnc run --kernel=divided_again --check %s
// RUN: attnc run --kernel=diagonal_mask --check %s

// A constant triangle of 0 and -inf is the word causal.
// CHECK-LABEL: @causal_constant
// CHECK: attn.sdpa {{.*}}causal = #attn.causal<top_left>
// CHECK-NOT: linalg.softmax
func.func @causal_constant(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %mask = arith.constant dense<[[0.0, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000, 0xFF800000],
                                [0.0, 0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %e = tensor.empty() : tensor<2x4x4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %kt_init = tensor.empty() : tensor<2x8x4xf32>
  %kt = linalg.transpose ins(%k : tensor<2x4x8xf32>) outs(%kt_init : tensor<2x8x4xf32>) permutation = [0, 2, 1]
  %s = linalg.batch_matmul ins(%q, %kt : tensor<2x4x8xf32>, tensor<2x8x4xf32>) outs(%fill : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %b = linalg.broadcast ins(%mask : tensor<4x4xf32>) outs(%e : tensor<2x4x4xf32>) dimensions = [0]
  %t = linalg.add ins(%s, %b : tensor<2x4x4xf32>, tensor<2x4x4xf32>) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %p = linalg.softmax dimension(2) ins(%t : tensor<2x4x4xf32>) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %oe = tensor.empty() : tensor<2x4x8xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x4x4xf32>, tensor<2x4x8xf32>) outs(%of : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----

// An op each, the comparison of positions as a select of finfo.min: row 0 keeps key 0, so that it is a mask.
// CHECK-LABEL: @spelled_out
// CHECK: attn.sdpa
// CHECK: mask_mod
// CHECK: arith.cmpi
// CHECK-NOT: math.exp
func.func @spelled_out(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x6xf32>) -> tensor<5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %removed = arith.constant -3.40282347E+38 : f32
  %scale = arith.constant 0.35 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %r = tensor.empty() : tensor<5xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>,
      affine_map<(i, j, d) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<5x8xf32>, tensor<7x8xf32>) outs(%fill : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<5x7xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%s : tensor<5x7xf32>) outs(%e : tensor<5x7xf32>) {
  ^bb0(%a: f32, %c: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %keep = arith.cmpi sle, %j, %i : index
    %m = arith.mulf %a, %scale : f32
    %n = arith.select %keep, %m, %removed : f32
    linalg.yield %n : f32
  } -> tensor<5x7xf32>
  %mi = linalg.fill ins(%lowest : f32) outs(%r : tensor<5xf32>) -> tensor<5xf32>
  %max = linalg.reduce ins(%t : tensor<5x7xf32>) outs(%mi : tensor<5xf32>) dimensions = [1] (%a: f32, %c: f32) {
    %n = arith.maximumf %a, %c : f32
    linalg.yield %n : f32
  }
  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%t, %max : tensor<5x7xf32>, tensor<5xf32>) outs(%e : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.subf %a, %b : f32
    %n = math.exp %m : f32
    linalg.yield %n : f32
  } -> tensor<5x7xf32>
  %si = linalg.fill ins(%zero : f32) outs(%r : tensor<5xf32>) -> tensor<5xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<5x7xf32>) outs(%si : tensor<5xf32>) dimensions = [1]
  %p = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<5x7xf32>, tensor<5xf32>) outs(%e : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %n = arith.divf %a, %b : f32
    linalg.yield %n : f32
  } -> tensor<5x7xf32>
  %oe = tensor.empty() : tensor<5x6xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<5x6xf32>) -> tensor<5x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<5x7xf32>, tensor<7x6xf32>) outs(%of : tensor<5x6xf32>) -> tensor<5x6xf32>
  return %o : tensor<5x6xf32>
}

// -----

// Heads of a group beside each other: one dimension of heads, of which K has one in two.
// CHECK-LABEL: @group
// CHECK: tensor.collapse_shape
// CHECK: attn.sdpa
// CHECK: tensor.expand_shape
func.func @group(%q: tensor<3x2x5x8xf32>, %k: tensor<3x7x8xf32>, %v: tensor<3x7x8xf32>) -> tensor<3x2x5x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x2x5x7xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<3x2x5x7xf32>) -> tensor<3x2x5x7xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, g, i, j, d) -> (b, g, i, d)>, affine_map<(b, g, i, j, d) -> (b, j, d)>,
      affine_map<(b, g, i, j, d) -> (b, g, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<3x2x5x8xf32>, tensor<3x7x8xf32>) outs(%fill : tensor<3x2x5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<3x2x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<3x2x5x7xf32>) outs(%e : tensor<3x2x5x7xf32>) -> tensor<3x2x5x7xf32>
  %oe = tensor.empty() : tensor<3x2x5x8xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<3x2x5x8xf32>) -> tensor<3x2x5x8xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, g, i, j, d) -> (b, g, i, d)>, affine_map<(b, g, i, j, d) -> (b, d, j)>,
      affine_map<(b, g, i, j, d) -> (b, g, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<3x2x5x7xf32>, tensor<3x7x8xf32>) outs(%of : tensor<3x2x5x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<3x2x5x8xf32>
  return %o : tensor<3x2x5x8xf32>
}

// -----

// Weights that are read before the second product: what makes them moves there.
// CHECK-LABEL: @weights_before
//       CHECK:   %[[P:.*]] = attn.softmax
//       CHECK:   linalg.reduce {{.*}}ins(%[[P]]
//       CHECK:   attn.apply ins(%[[P]]
func.func @weights_before(%q: tensor<2x4x8xf32>, %k: tensor<2x8x6xf32>, %v: tensor<2x6x8xf32>)
    -> (tensor<2x4x8xf32>, tensor<2x6xf32>, tensor<2x4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x6xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x4x8xf32>, tensor<2x8x6xf32>) outs(%fill : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x4x6xf32>) outs(%e : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %re = tensor.empty() : tensor<2x6xf32>
  %rf = linalg.fill ins(%zero : f32) outs(%re : tensor<2x6xf32>) -> tensor<2x6xf32>
  %sum = linalg.reduce { arith.addf } ins(%p : tensor<2x4x6xf32>) outs(%rf : tensor<2x6xf32>) dimensions = [1]
  %oe = tensor.empty() : tensor<2x4x8xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x4x6xf32>, tensor<2x6x8xf32>) outs(%of : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o, %sum, %p : tensor<2x4x8xf32>, tensor<2x6xf32>, tensor<2x4x6xf32>
}

// -----

// Values that are made of the weights, too.
// CHECK-LABEL: @weights_in_values
//       CHECK:   %[[P:.*]] = attn.softmax
//       CHECK:   linalg.transpose ins(%[[P]]
//       CHECK:   attn.apply ins(%[[P]]
func.func @weights_in_values(%q: tensor<2x6x8xf32>, %k: tensor<2x8x6xf32>, %v: tensor<2x6x8xf32>) -> tensor<2x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6x6xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x6x8xf32>, tensor<2x8x6xf32>) outs(%fill : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x6x6xf32>) outs(%e : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %te = tensor.empty() : tensor<2x6x6xf32>
  %t = linalg.transpose ins(%p : tensor<2x6x6xf32>) outs(%te : tensor<2x6x6xf32>) permutation = [0, 2, 1]
  %oe = tensor.empty() : tensor<2x6x8xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %w = linalg.batch_matmul ins(%t, %v : tensor<2x6x6xf32>, tensor<2x6x8xf32>) outs(%of : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %o = linalg.batch_matmul ins(%p, %w : tensor<2x6x6xf32>, tensor<2x6x8xf32>) outs(%of : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}

// -----

// What divides the output of a softmax's product is no sum of it, and stays behind the attention.
// CHECK-LABEL: @divided_again
//       CHECK:   %[[O:.*]] = attn.sdpa
//       CHECK:   linalg.div ins(%[[O]],
func.func @divided_again(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %l: tensor<4xf32>) -> tensor<4x8xf32> {
  %z = arith.constant dense<0.0> : tensor<4x6xf32>
  %zq = arith.constant dense<0.0> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %eq = tensor.empty() : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zq : tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = linalg.broadcast ins(%l : tensor<4xf32>) outs(%eq : tensor<4x8xf32>) dimensions = [1]
  %r = linalg.div ins(%o, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%eq : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// The diagonal of a mask is read by the predicate.
// CHECK-LABEL: @diagonal_mask(
//  CHECK-SAME:     %[[MASK:[a-z0-9]*]]: tensor<4x4x6xi1>
//       CHECK:   attn.sdpa
//       CHECK:     %[[I0:.*]] = attn.index query
//       CHECK:     %[[I1:.*]] = attn.index query
//       CHECK:     %[[J:.*]] = attn.index key
//       CHECK:     tensor.extract %[[MASK]][%[[I0]], %[[I1]], %[[J]]]
func.func @diagonal_mask(%mask: tensor<4x4x6xi1>, %q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>)
    -> tensor<4x8xf32> {
  %z = arith.constant dense<0.0> : tensor<4x6xf32>
  %zq = arith.constant dense<0.0> : tensor<4x8xf32>
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %mask : tensor<4x6xf32>, tensor<4x4x6xi1>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: i1, %c: f32):
    %n = arith.select %b, %a, %lowest : f32
    linalg.yield %n : f32
  } -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%t : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zq : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
