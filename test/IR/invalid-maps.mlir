// C1, C3: a map holds the batch dimensions and those of its operand's row of the table, and groups of at least one head.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

// C1: keys of their own for each query.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16x4xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C1: expected the map of key to hold batch, key and head-size dimensions only, found the query dimension in affine_map<(d0, d1, d2, d3) -> (d1, d2, d0)>}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16x4xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      {maps = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d, i)>,
               affine_map<(i, j, d, e) -> (j, e)>, affine_map<(i, j, d, e) -> (i, e)>]}
      -> tensor<4x8xf32>
  return
}

// -----

// C1: rows of Q of their own for each key.
func.func @f(%q: tensor<4x16x6xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C1: expected the map of query to hold batch, query and head-size dimensions only, found the key dimension}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16x6xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      {maps = [affine_map<(i, j, d, e) -> (i, d, j)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (j, e)>, affine_map<(i, j, d, e) -> (i, e)>]}
      -> tensor<4x8xf32>
  return
}

// -----

// C1: an output for each key, over which the op sums.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8x6xf32>) {
  // expected-error @below {{C1: expected the map of output to hold batch, query and value-size dimensions only, found the key dimension}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8x6xf32>)
      {maps = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (j, e)>, affine_map<(i, j, d, e) -> (i, e, j)>]}
      -> tensor<4x8x6xf32>
  return
}

// -----

// C1: a bias of columns.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<4x16xf32>, %v: tensor<4x8xf32>, %b: tensor<16x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C1: expected the map of bias to hold batch, query and key dimensions only, found the head-size dimension}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>) bias(%b : tensor<16x8xf32>)
      outs(%o : tensor<4x8xf32>)
      {maps = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (j, e)>, affine_map<(i, j, d, e) -> (d, e)>,
               affine_map<(i, j, d, e) -> (i, e)>]}
      -> tensor<4x8xf32>
  return
}

// -----

// C1: keys of their own for each query, in a chain.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<4x6x16xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C1: expected the map of key to hold batch, key and head-size dimensions only, found the query dimension}}
  %r = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<4x6x16xf32>) outs(%o : tensor<4x6xf32>)
      {maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (i, j, d)>, affine_map<(i, j, d) -> (i, j)>]}
      -> tensor<4x6xf32>
  return
}

// -----

// C1: a log-sum-exp of each key.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %l: tensor<4x6xf32>) {
  // expected-error @below {{C1: expected the map of lse to hold batch and query dimensions only, found the key dimension}}
  %r:2 = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o, %l : tensor<4x6xf32>, tensor<4x6xf32>)
      {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
      -> tensor<4x6xf32>, tensor<4x6xf32>
  return
}

// -----

// C1: a maximum for each column of V.
func.func @f(%a: tensor<4x8xf32>, %m: tensor<4x8xf32>, %l: tensor<4xf32>) {
  // expected-error @below {{C1: expected the map of row_max to hold batch and query dimensions only, found the value-size dimension}}
  %r:3 = attn.init_state outs(%a, %m, %l : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>)
      {maps = [affine_map<(i, e) -> (i, e)>, affine_map<(i, e) -> (i, e)>, affine_map<(i, e) -> (i)>]}
      -> tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

// C1: V in pairs of columns of Q.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8x8x2xf32>, %a: tensor<4x8xf32>,
             %m: tensor<4xf32>, %l: tensor<4xf32>) {
  // expected-error @below {{C1: expected the map of value to hold batch, key and value-size dimensions only, found the head-size dimension}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8x8x2xf32>)
      outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (j, e, d floordiv 2, d mod 2)>, affine_map<(i, j, d, e) -> (i, e)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>]}
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C3: groups of no head, where their number is dynamic.
func.func @f(%q: tensor<2x4x16xf32>, %k: tensor<?x4x16xf32>, %v: tensor<?x4x8xf32>, %o: tensor<2x4x8xf32>) {
  // expected-error @below {{C3: expected groups of at least 1 query head, found 0 in the map of key}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x8xf32>) outs(%o : tensor<2x4x8xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (h floordiv 0, j, d)>,
               affine_map<(h, i, j, d, e) -> (h floordiv 0, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>]}
      -> tensor<2x4x8xf32>
  return
}

// -----

// C3: and of fewer than none.
func.func @f(%q: tensor<2x4x16xf32>, %k: tensor<?x4x16xf32>, %v: tensor<?x4x8xf32>, %o: tensor<2x4x8xf32>) {
  // expected-error @below {{C3: expected groups of at least 1 query head, found -1 in the map of key}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x8xf32>) outs(%o : tensor<2x4x8xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (h floordiv -1, j, d)>,
               affine_map<(h, i, j, d, e) -> (h floordiv -1, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>]}
      -> tensor<2x4x8xf32>
  return
}

// -----

// C3: a part of a group. Kernels count tiles of whole groups, and found none here.
func.func @part_of_a_group(%q: tensor<2x7x16xf32>, %k: tensor<?x9x16xf32>, %o: tensor<2x7x16xf32>) -> tensor<2x7x16xf32> {
  // expected-error @below {{C3: expected the number of query heads (2) to be a multiple of the 4 heads of a group in the map of key; write 0 in its place where all heads share one}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<2x7x16xf32>, tensor<?x9x16xf32>, tensor<?x9x16xf32>) outs(%o : tensor<2x7x16xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (h floordiv 4, j, d)>,
               affine_map<(h, i, j, d, e) -> (h floordiv 4, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>]}
      -> tensor<2x7x16xf32>
  return %r : tensor<2x7x16xf32>
}

// -----

// C3: groups of 4 and 2 heads.
func.func @unequal_groups(%q: tensor<6x7x16xf32>, %k: tensor<2x9x16xf32>, %o: tensor<6x7x9xf32>) -> tensor<6x7x9xf32> {
  // expected-error @below {{C3: expected the number of query heads (6) to be a multiple of the 4 heads of a group in the map of key}}
  %r = attn.scores ins(%q, %k : tensor<6x7x16xf32>, tensor<2x9x16xf32>) outs(%o : tensor<6x7x9xf32>)
      {maps = [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (h floordiv 4, j, d)>,
               affine_map<(h, i, j, d) -> (h, i, j)>]} -> tensor<6x7x9xf32>
  return %r : tensor<6x7x9xf32>
}
