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

// -----

// expected-error @below {{cannot be differentiated: expected a function of one block}}
func.func @blocks(%q: tensor<4x16xf32>) -> tensor<4x16xf32> attributes {attn.grad = [0]} {
  cf.br ^end
^end:
  return %q : tensor<4x16xf32>
}

// -----

// Behind bufferisation it is too late.
// expected-error @below {{expected attn.sdpa on tensors, found memrefs}}
func.func @memrefs(%q: memref<4x16xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>, %o: memref<4x8xf32>)
    attributes {attn.grad = [0]} {
  attn.sdpa ins(%q, %k, %v : memref<4x16xf32>, memref<6x16xf32>, memref<6x8xf32>) outs(%o : memref<4x8xf32>)
  return
}

// -----

// expected-error @below {{expected each result of attn.sdpa to be returned once, found one as results 0 and 1}}
func.func @returned_twice(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {attn.grad = [0]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r, %r : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// expected-error @below {{expected the output of attn.sdpa to be returned}}
func.func @lse_alone(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>) -> tensor<4xf32>
    attributes {attn.grad = [0]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %l = tensor.empty() : tensor<4xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o, %l : tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>
  return %r#1 : tensor<4xf32>
}

// -----

// Additive scores, fused.
// expected-error @below {{expected scores that are products, found score_weight}}
func.func @additive(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %w: tensor<16xf32>)
    -> tensor<4x8xf32> attributes {attn.grad = [0]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) score_weight(%w : tensor<16xf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// The same beside another op.
// expected-error @below {{expected scores that are products, found score_weight}}
func.func @additive_in_a_body(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %w: tensor<16xf32>)
    -> tensor<4x8xf32> attributes {attn.grad = [0]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) score_weight(%w : tensor<16xf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.exp ins(%r : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected gradients of floats, found that of 'i8' asked for; leave it out}}
func.func @bytes(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xi8>, %v: tensor<2x6x8xi8>, %s: tensor<2xf32>)
    -> tensor<2x4x8xf32> attributes {attn.grad = [1]} {
  %e = tensor.empty() : tensor<2x4x8xf32>
  %o = attn.sdpa ins(%q, %k, %v : tensor<2x4x8xf32>, tensor<2x6x8xi8>, tensor<2x6x8xi8>)
      kv_scale(%s, %s : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----

// expected-error @below {{expected gradients of tensors of floats, found that of m asked for, of type 'tensor<4x6xi1>'}}
func.func @booleans(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>,
                    %m: tensor<4x6xi1> {attn.name = "m"}) -> tensor<4x8xf32> attributes {attn.grad = ["m"]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) mask(%m : tensor<4x6xi1>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.exp ins(%r : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// The row maximum has no gradient.
// expected-error @below {{expected no gradient through max and log_sum of attn.sdpa, which have none}}
func.func @row_maximum(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>)
    -> (tensor<4x8xf32>, tensor<4xf32>) attributes {attn.grad = [0]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %l = tensor.empty() : tensor<4xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      max(%l : tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>
  %y = linalg.exp ins(%r#1 : tensor<4xf32>) outs(%l : tensor<4xf32>) -> tensor<4xf32>
  return %r#0, %y : tensor<4x8xf32>, tensor<4xf32>
}

// -----

// The diagonal of a tensor.
// expected-error @below {{expected linalg ops whose maps are dimensions, each once, found linalg.generic with another, which has no rule}}
func.func @diagonal(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x4xf32>) -> tensor<4xf32>
    attributes {attn.grad = [0]} {
  %o = tensor.empty() : tensor<4x4xf32>
  %d = tensor.empty() : tensor<4xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x4xf32>) outs(%o : tensor<4x4xf32>)
      -> tensor<4x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%r : tensor<4x4xf32>) outs(%d : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %x = arith.mulf %a, %a : f32
    linalg.yield %x : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected linalg ops with one result, found linalg.generic with 2}}
func.func @two_results(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {attn.grad = [0]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  %y:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%r : tensor<4x8xf32>) outs(%o, %o : tensor<4x8xf32>, tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %a : f32
    %z = math.exp %a : f32
    linalg.yield %x, %z : f32, f32
  } -> (tensor<4x8xf32>, tensor<4x8xf32>)
  return %y#0, %y#1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// The state behind the last token has a cotangent.
// expected-error @below {{cannot be differentiated: expected a function of an attn.linear to return its output and its state}}
func.func @f(%q: tensor<1x5x8xf32>, %v: tensor<1x5x6xf32>, %s: tensor<1x8x6xf32>) -> tensor<1x5x6xf32>
    attributes {attn.grad = ["v"]} {
  %o = tensor.empty() : tensor<1x5x6xf32>
  %r:2 = attn.linear ins(%q, %q, %v : tensor<1x5x8xf32>, tensor<1x5x8xf32>, tensor<1x5x6xf32>)
      outs(%o, %s : tensor<1x5x6xf32>, tensor<1x8x6xf32>) -> tensor<1x5x6xf32>, tensor<1x8x6xf32>
  return %r#0 : tensor<1x5x6xf32>
}
