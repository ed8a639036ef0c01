// RUN: attn-opt %s --attn-describe-kernels=all-functions | FileCheck %s

// Inputs by the role that they have in the op, then the results that become destinations.
// CHECK-LABEL: func @sdpa(
//  CHECK-SAME:   attn.arguments = [{name = "query", output = false, type = tensor<4x16xf32>},
//  CHECK-SAME:     {name = "key", output = false, type = tensor<6x16xf32>}, {name = "value", output = false, type = tensor<6x8xf32>},
//  CHECK-SAME:     {name = "scale", output = false, type = f32},
//  CHECK-SAME:     {name = "output", output = true, type = tensor<4x8xf32>}, {name = "lse", output = true, type = tensor<4xf32>}]
func.func @sdpa(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>,
                %s: f32) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %o = tensor.empty() : tensor<4x8xf32>
  %l = tensor.empty() : tensor<4xf32>
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) scale_value(%s : f32)
      outs(%o, %l : tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>
  return %r#0, %r#1 : tensor<4x8xf32>, tensor<4xf32>
}

// A result whose destination is an argument is that argument, in its place.
// CHECK-LABEL: func @destination(
//  CHECK-SAME:   attn.arguments = [{name = "output", output = true, type = tensor<4x6xf32>},
//  CHECK-SAME:     {name = "input", output = false, type = tensor<4x6xf32>}]
func.func @destination(%o: tensor<4x6xf32>, %s: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %p : tensor<4x6xf32>
}

// attn.name is made a C identifier of its own, and is gone afterwards.
// CHECK-LABEL: func @names(
//  CHECK-SAME:     %{{[a-z0-9]*}}: tensor<4x6xf32>, %{{[a-z0-9]*}}: tensor<4x6xf32>) -> tensor<4x6xf32>
//  CHECK-SAME:   {name = "_2x_y", {{.*}}{name = "_2x_y2", {{.*}}{name = "z",
func.func @names(%s: tensor<4x6xf32> {attn.name = "2x-y"}, %t: tensor<4x6xf32> {attn.name = "2x y"})
    -> (tensor<4x6xf32> {attn.name = "z"}) {
  %o = tensor.empty() : tensor<4x6xf32>
  %p = attn.mask ins(%s : tensor<4x6xf32>) bias(%t : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %p : tensor<4x6xf32>
}

// One tensor as Q, K and V has no role.
// CHECK-LABEL: func @self_attention(
//  CHECK-SAME:   attn.arguments = [{name = "input", output = false,
func.func @self_attention(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %o = tensor.empty() : tensor<4x16xf32>
  %r = attn.sdpa ins(%x, %x, %x : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) outs(%o : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// Sizes that one dimension of the domain indexes are one size, with its name; a result has those of its destination.
// CHECK-LABEL: func @dynamic(
//  CHECK-SAME:   {name = "query", output = false, sizes = array<i32: 0, -1, 1, -1>, type = tensor<?x4x?x8xf32>}
//  CHECK-SAME:   {name = "key", output = false, sizes = array<i32: 0, -1, 2, -1>,
//  CHECK-SAME:   {name = "value", output = false, sizes = array<i32: 0, -1, 2, -1>,
//  CHECK-SAME:   {name = "output", output = true, sizes = array<i32: 0, -1, 1, -1>,
//  CHECK-SAME:   attn.sizes = ["b", "sq", "sk"]
func.func @dynamic(%q: tensor<?x4x?x8xf32>, %k: tensor<?x2x?x8xf32>, %v: tensor<?x2x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x8xf32>
  %n = tensor.dim %q, %c2 : tensor<?x4x?x8xf32>
  %o = tensor.empty(%b, %n) : tensor<?x4x?x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>)
      outs(%o : tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32>
  return %r : tensor<?x4x?x8xf32>
}

// Integers that ops index memory with are checked by the entry: each use adds a check, in terms of the arguments' sizes.
// CHECK-LABEL: func @paged(
//  CHECK-SAME:   {name = "k", output = false, sizes = array<i32: 1, -1, -1, -1>, type = tensor<?x4x2x8xf32>}
//  CHECK-SAME:   {checks = [{kind = "block_table", lengths = 3 : i64, limit = array<i64: 1, 0, -1, 1>, page = array<i64: -1, 4>,
//  CHECK-SAME:     name = "block_table"
//  CHECK-SAME:   {checks = [{kind = "lengths", lengths = -1 : i64, limit = array<i64: -1, 9, -1, 1>,
//  CHECK-SAME:     name = "kv_lengths"
//  CHECK-SAME:   attn.sizes = ["b", "pages"]
func.func @paged(%q: tensor<?x4x3x8xf32>, %k: tensor<?x4x2x8xf32> {attn.name = "k"}, %t: tensor<?x3xi32>,
                 %n: tensor<?xi32> {attn.name = "kv_lengths"}, %o: tensor<?x4x3x8xf32>) -> tensor<?x4x3x8xf32> {
  %zero = arith.constant 0 : index
  %b = tensor.dim %q, %zero : tensor<?x4x3x8xf32>
  %init = tensor.empty(%b) : tensor<?x2x9x8xf32>
  %keys = attn.gather_pages ins(%k, %t : tensor<?x4x2x8xf32>, tensor<?x3xi32>) lengths(%n : tensor<?xi32>)
      outs(%init : tensor<?x2x9x8xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<?x2x9x8xf32>
  %r = attn.sdpa ins(%q, %keys, %keys : tensor<?x4x3x8xf32>, tensor<?x2x9x8xf32>, tensor<?x2x9x8xf32>)
      kv_lengths(%n : tensor<?xi32>) outs(%o : tensor<?x4x3x8xf32>) -> tensor<?x4x3x8xf32>
  return %r : tensor<?x4x3x8xf32>
}

// Packed sequences and positions of new rows.
// CHECK-LABEL: func @sums(
//  CHECK-SAME:   {checks = [{kind = "prefix_sums", lengths = -1 : i64, limit = array<i64: 0, 0, -1, 1>,
//  CHECK-SAME:   {checks = [{kind = "prefix_sums", lengths = -1 : i64, limit = array<i64: -1, 7, -1, 1>,
//  CHECK-SAME:   attn.sizes = ["sq", "b_plus_1"]
func.func @sums(%q: tensor<?x2x8xf32>, %k: tensor<7x2x8xf32>, %cq: tensor<?xi32>, %ck: tensor<?xi32>,
                %o: tensor<?x2x8xf32>) -> tensor<?x2x8xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<?x2x8xf32>, tensor<7x2x8xf32>, tensor<7x2x8xf32>)
      cu_seqlens(%cq, %ck : tensor<?xi32>, tensor<?xi32>) outs(%o : tensor<?x2x8xf32>) -> tensor<?x2x8xf32>
  return %r : tensor<?x2x8xf32>
}

// Packed queries on pages: one more of the sums than of the lengths, argument 2.
// CHECK-LABEL: func @step(
//  CHECK-SAME:   {checks = [{kind = "lengths", {{.*}}name = "n"
//  CHECK-SAME:   {checks = [{kind = "prefix_sums", lengths = 2 : i64, limit = array<i64: 0, 0, -1, 1>, {{.*}}name = "sums"
//  CHECK-SAME:   attn.sizes = ["sq", "pages", "b", "b_plus_1", "max_pages", "sk"]
func.func @step(%q: tensor<?x4x8xf32>, %cache: tensor<?x16x2x8xf32>, %n: tensor<?xi32> {attn.name = "n"},
                %sums: tensor<?xi32> {attn.name = "sums"}, %table: tensor<?x?xi32>, %keys: tensor<?x2x?x8xf32>,
                %o: tensor<?x4x8xf32>) -> tensor<?x4x8xf32> {
  %rows = attn.gather_pages ins(%cache, %table : tensor<?x16x2x8xf32>, tensor<?x?xi32>) lengths(%n : tensor<?xi32>)
      outs(%keys : tensor<?x2x?x8xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<?x2x?x8xf32>
  %r = attn.sdpa ins(%q, %rows, %rows : tensor<?x4x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>)
      kv_lengths(%n : tensor<?xi32>) cu_seqlens(%sums : tensor<?xi32>) outs(%o : tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
  return %r : tensor<?x4x8xf32>
}

// CHECK-LABEL: func @append(
//  CHECK-SAME:   {name = "rows", output = false,
//  CHECK-SAME:   {checks = [{kind = "positions", lengths = -1 : i64, limit = array<i64: -1, 20, -1, 1>, {{.*}} rows = array<i64: -1, 2>}]
//  CHECK-SAME:   {name = "cache", output = true, type = tensor<3x2x20x8xf32>, updated}
func.func @append(%x: tensor<3x2x2x8xf32>, %p: tensor<3xi32>, %cache: tensor<3x2x20x8xf32>) -> tensor<3x2x20x8xf32> {
  %r = attn.kv_append ins(%x : tensor<3x2x2x8xf32>) positions(%p : tensor<3xi32>) outs(%cache : tensor<3x2x20x8xf32>)
      -> tensor<3x2x20x8xf32>
  return %r : tensor<3x2x20x8xf32>
}

// What becomes outs(%a) later is no destination that the user wrote; an operand that is both is updated.
// CHECK-LABEL: func @elementwise(
//  CHECK-SAME:   {name = "input", output = false, sizes = array<i32: 0, -1>, type = tensor<?x8xf32>}
//  CHECK-SAME:   {name = "output", output = true, sizes = array<i32: 0, -1>, type = tensor<?x8xf32>}
func.func @elementwise(%a: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = math.exp %a : tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// CHECK-LABEL: func @accumulate(
//  CHECK-SAME:   {name = "input", output = false, type = tensor<4x8xf32>}
//  CHECK-SAME:   {name = "output", output = true, type = tensor<4x8xf32>, updated}
func.func @accumulate(%a: tensor<4x8xf32>, %sum: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = linalg.add ins(%a, %sum : tensor<4x8xf32>, tensor<4x8xf32>) outs(%sum : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// New rows into a cache: the batch of what is inserted is the one of its slice, and the entry compares them.
// CHECK-LABEL: func @cache(
//  CHECK-SAME:   sizes = array<i32: 0, -1>, type = tensor<?x8xf32>}, {{.*}} sizes = array<i32: 0, -1, -1>, type = tensor<?x2x8xf32>}
//  CHECK-SAME:   attn.sizes = ["n0"]
func.func @cache(%q: tensor<?x8xf32>, %new: tensor<?x2x8xf32>) -> tensor<?x6x8xf32> {
  %zero = arith.constant 0 : index
  %b = tensor.dim %q, %zero : tensor<?x8xf32>
  %init = tensor.empty(%b) : tensor<?x6x8xf32>
  %r = tensor.insert_slice %new into %init[0, 4, 0] [%b, 2, 8] [1, 1, 1] : tensor<?x2x8xf32> into tensor<?x6x8xf32>
  return %r : tensor<?x6x8xf32>
}

// CHECK-LABEL: func private @private(
//   CHECK-NOT:   attn.arguments
func.func private @private(%s: tensor<4x?xf32>) -> tensor<4x?xf32> {
  return %s : tensor<4x?xf32>
}
