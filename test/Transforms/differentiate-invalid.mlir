// RUN: attn-opt %s --attn-differentiate --split-input-file --verify-diagnostics

// expected-error @below {{cannot be differentiated: expected one of q, k, v, bias, found mask, which has no gradient}}
func.func @of_a_mask(%q: tensor<4x16xf32> {attn.name = "q"}, %k: tensor<6x16xf32> {attn.name = "k"},
                     %v: tensor<6x8xf32> {attn.name = "v"}, %b: tensor<6xf32> {attn.name = "bias"},
                     %m: tensor<4x6xi1> {attn.name = "mask"}) -> tensor<4x8xf32> attributes {attn.grad = ["mask"]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) bias(%b : tensor<6xf32>)
      mask(%m : tensor<4x6xi1>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected one of query, key, value, found "x"; write the attn.name of an argument, what the function's attention calls it (query or q, key or k, value or v, bias, sink, scale, k_scale, v_scale), or its number}}
func.func @no_such_argument(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32>
    attributes {attn.grad = ["x"]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected each argument once, found query twice}}
func.func @twice(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32>
    attributes {attn.grad = [0, 0]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected results that are computed, found an argument as result 0}}
func.func @nothing(%q: tensor<4x16xf32>) -> tensor<4x16xf32> attributes {attn.grad = [0]} {
  return %q : tensor<4x16xf32>
}

// -----

// expected-error @below {{expected ops that have a gradient, found attn.gather_pages, which has none; pass what it computes as an argument}}
func.func @pages(%q: tensor<1x2x4x16xf32>, %cache: tensor<3x8x2x16xf32>, %table: tensor<1x2xi32>, %l: tensor<1xi32>)
    -> tensor<1x2x4x16xf32> attributes {attn.grad = [1]} {
  %e = tensor.empty() : tensor<1x2x16x16xf32>
  %k = attn.gather_pages ins(%cache, %table : tensor<3x8x2x16xf32>, tensor<1x2xi32>) lengths(%l : tensor<1xi32>)
      outs(%e : tensor<1x2x16x16xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<1x2x16x16xf32>
  %o = tensor.empty() : tensor<1x2x4x16xf32>
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x2x4x16xf32>, tensor<1x2x16x16xf32>, tensor<1x2x16x16xf32>)
      kv_lengths(%l : tensor<1xi32>) outs(%o : tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32>
  return %r : tensor<1x2x4x16xf32>
}

// -----

// expected-error @below {{expected arguments that results depend on, found argument1, which has no gradient}}
func.func @unused(%q: tensor<4x16xf32>, %x: tensor<4x16xf32>, %v: tensor<6x8xf32>, %k: tensor<6x16xf32>)
    -> tensor<4x8xf32> attributes {attn.grad = [0, 1]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  %twice = linalg.add ins(%r, %r : tensor<4x8xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %twice : tensor<4x8xf32>
}

// -----

// A maximum is no sum.
// expected-error @below {{expected linalg ops that are elementwise or sums, found linalg.reduce with another reduction, which has no rule}}
func.func @largest(%x: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>) -> tensor<4xf32>
    attributes {attn.grad = [0]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %m = tensor.empty() : tensor<4xf32>
  %r = attn.sdpa ins(%x, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  %y = linalg.reduce { arith.maximumf } ins(%r : tensor<4x8xf32>) outs(%m : tensor<4xf32>) dimensions = [1]
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected ops of attention, linalg and reshapes between arguments that have gradients and the results, found tensor.pad, which has no rule}}
func.func @padded(%x: tensor<3x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32>
    attributes {attn.grad = [0]} {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<4x8xf32>
  %q = tensor.pad %x low[0, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<3x16xf32> to tensor<4x16xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected no gradient of what a region reads where its chain does not fuse, found that of slopes}}
func.func @slopes(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %slopes: tensor<6xf32> {attn.name = "slopes"})
    -> tensor<4x6xf32> attributes {attn.grad = ["slopes"]} {
  %e = tensor.empty() : tensor<4x6xf32>
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %m = attn.modify ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %j = attn.index key : index
    %slope = tensor.extract %slopes[%j] : tensor<6xf32>
    %y = arith.mulf %x, %slope : f32
    attn.yield %y : f32
  } -> tensor<4x6xf32>
  return %m : tensor<4x6xf32>
}

// -----

// expected-error @below {{expected destinations of static sizes, found argument3 of type 'tensor<?x8xf32>'; write tensor.empty with its sizes}}
func.func @destination(%q: tensor<?x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<?x8xf32>)
    -> (tensor<?x8xf32>) attributes {attn.grad = [0]} {
  %r = attn.sdpa ins(%q, %k, %v : tensor<?x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<?x8xf32>)
      -> tensor<?x8xf32>
  %y = linalg.exp ins(%r : tensor<?x8xf32>) outs(%r : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// expected-error @below {{expected attn.grad on a function, an array of names or numbers of its arguments, as ["q", "k"], found "q"}}
func.func @no_array(%q: tensor<4x16xf32>) -> tensor<4x16xf32> attributes {attn.grad = "q"} {
  return %q : tensor<4x16xf32>
}

// -----

// expected-error @below {{expected attn.kind to be "forward" or "backward" beside a name as attn.pair, found "both"}}
func.func @no_kind(%q: tensor<4x16xf32>) -> tensor<4x16xf32> attributes {attn.kind = "both", attn.pair = "f"} {
  return %q : tensor<4x16xf32>
}

// -----

// K and V of all batch indices, with a scale a token of each.
#map_q = affine_map<(b, h, i, j, d, e) -> (b, h, i, d)>
#map_kv = affine_map<(b, h, i, j, d, e) -> (h, j, d)>
#map_v = affine_map<(b, h, i, j, d, e) -> (h, j, e)>
#map_o = affine_map<(b, h, i, j, d, e) -> (b, h, i, e)>
// expected-error @below {{cannot be differentiated: expected K and V of each batch index and head of their own where their scales have gradients}}
func.func @shared(%q: tensor<2x2x4x8xf32>, %k: tensor<2x6x8xi8>, %v: tensor<2x6x8xi8>,
    %ks: tensor<2x2x6xf32> {attn.name = "k_scale"}, %vs: tensor<2x2x6xf32>) -> tensor<2x2x4x8xf32>
    attributes {attn.grad = ["k_scale"]} {
  %e = tensor.empty() : tensor<2x2x4x8xf32>
  %o = attn.sdpa ins(%q, %k, %v : tensor<2x2x4x8xf32>, tensor<2x6x8xi8>, tensor<2x6x8xi8>)
      kv_scale(%ks, %vs : tensor<2x2x6xf32>, tensor<2x2x6xf32>) outs(%e : tensor<2x2x4x8xf32>)
      {maps = [#map_q, #map_kv, #map_v, #map_o]} -> tensor<2x2x4x8xf32>
  return %o : tensor<2x2x4x8xf32>
}
