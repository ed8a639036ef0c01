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

// expected-error @below {{expected one of argument0, argument1, argument2, found "x"}}
func.func @no_such_argument(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32>
    attributes {attn.grad = ["x"]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected each argument once, found argument0 twice}}
func.func @twice(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32>
    attributes {attn.grad = [0, 0]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected arguments that attn.sdpa reads once, found argument0 as several of its operands}}
func.func @self(%x: tensor<4x16xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {attn.grad = [0]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%x, %x, %v : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected one attn.sdpa, or a chain that fuses into one, found 0}}
func.func @nothing(%q: tensor<4x16xf32>) -> tensor<4x16xf32> attributes {attn.grad = [0]} {
  return %q : tensor<4x16xf32>
}

// -----

// expected-error @below {{expected a chain that fuses into one attn.sdpa, found one that does not: the scores do not come from attn.scores}}
func.func @given_scores(%s: tensor<4x6xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>, %o: tensor<4x8xf32>)
    -> tensor<4x8xf32> attributes {attn.grad = [1]} {
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected no other op of attention than attn.sdpa, found attn.gather_pages, which has no rule}}
func.func @pages(%q: tensor<1x2x4x16xf32>, %cache: tensor<3x8x2x16xf32>, %table: tensor<1x2xi32>, %l: tensor<1xi32>)
    -> tensor<1x2x4x16xf32> attributes {attn.grad = [0]} {
  %e = tensor.empty() : tensor<1x2x16x16xf32>
  %k = attn.gather_pages ins(%cache, %table : tensor<3x8x2x16xf32>, tensor<1x2xi32>) lengths(%l : tensor<1xi32>)
      outs(%e : tensor<1x2x16x16xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<1x2x16x16xf32>
  %o = tensor.empty() : tensor<1x2x4x16xf32>
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x2x4x16xf32>, tensor<1x2x16x16xf32>, tensor<1x2x16x16xf32>)
      kv_lengths(%l : tensor<1xi32>) outs(%o : tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32>
  return %r : tensor<1x2x4x16xf32>
}

// -----

// expected-error @below {{expected results that are those of attn.sdpa, as they are or reshaped, found another as result 0}}
func.func @doubled(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32>
    attributes {attn.grad = [0]} {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  %twice = linalg.add ins(%r, %r : tensor<4x8xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %twice : tensor<4x8xf32>
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
