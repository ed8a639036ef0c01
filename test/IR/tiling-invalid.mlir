// Tiles that TilingInterface refuses, with the reason.
// RUN: attn-opt %s --transform-interpreter --split-input-file --verify-diagnostics=only-expected

// Keys of sdpa are a reduction inside the op: only the online form can be split over them.
func.func @sdpa_over_keys(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>,
                          %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{cannot be tiled over a dimension that it reduces: only the keys of attn.online_step can}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [0, 3] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The head size is reduced by the product.
func.func @scores_over_head_size(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{cannot be tiled over a dimension that it reduces}}
  %r = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.scores"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [0, 0, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Two tiles of value columns would both fold the keys into the row sums.
func.func @online_step_over_columns(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>,
                                    %a: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{cannot be tiled over the value columns: each tile would write the row statistics again}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0 : tensor<4x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_step"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [0, 0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Heads 3, 4 and 5 read two heads of K, which no floordiv of a tile's own head says.
func.func @three_heads_of_groups_of_four(%q: tensor<8x4x16xf32>, %k: tensor<2x6x16xf32>, %v: tensor<2x6x8xf32>,
                                         %o: tensor<8x4x8xf32>) -> tensor<8x4x8xf32> {
  // expected-error @below {{cannot be tiled across groups of heads: expected a divisor or a multiple of the 4 heads that share one}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>)
      outs(%o : tensor<8x4x8xf32>) -> tensor<8x4x8xf32>
  return %r : tensor<8x4x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [3] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A tile could hold half of a pair.
func.func @pack_over_pairs(%v: tensor<6x8xbf16>, %o: tensor<3x8x2xbf16>) -> tensor<3x8x2xbf16> {
  // expected-error @below {{cannot be tiled over a dimension that it holds in pairs; tile before packing them}}
  %r = attn.pack ins(%v : tensor<6x8xbf16>) outs(%o : tensor<3x8x2xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (i floordiv 2, d, i mod 2)>]} -> tensor<3x8x2xbf16>
  return %r : tensor<3x8x2xbf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.pack"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [3] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Which weights are kept is a function of the position in the whole problem.
func.func @dropout(%q: tensor<2x4x16xf32>, %k: tensor<2x6x16xf32>, %v: tensor<2x6x8xf32>, %o: tensor<2x4x8xf32>,
                   %seed: i64, %offset: i64) -> tensor<2x4x8xf32> {
  // expected-error @below {{cannot be tiled through TilingInterface: its dropout counts heads and rows of the whole problem; attn-tile can, after attn-fuse}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>)
      dropout(%seed, %offset : i64, i64) outs(%o : tensor<2x4x8xf32>) {dropout_p = 0.5 : f64} -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
