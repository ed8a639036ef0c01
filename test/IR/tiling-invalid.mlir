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

// -----

// Rows that pad the output are of no tile of the input's rows.
func.func @pack_with_padding(%q: tensor<5x4xf32>, %o: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @below {{cannot be tiled where it pads its rows, which are no tile's: expected as many rows of the output as of the input, of static size; tile before packing them}}
  %r = attn.pack ins(%q : tensor<5x4xf32>) outs(%o : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.pack"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Its consumer's tiles would read rows that the input does not have.
func.func @fuse_pack_with_padding(%q: tensor<5x4xf32>, %o: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @below {{cannot be tiled where it pads its rows}}
  %r = attn.pack ins(%q : tensor<5x4xf32>) outs(%o : tensor<8x4xf32>) -> tensor<8x4xf32>
  %s = linalg.exp ins(%r : tensor<8x4xf32>) outs(%o : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %s : tensor<8x4xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.fuse %op tile_sizes [3] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Heads 3 and 4 of the tile that starts at 3 read two heads of K.
func.func @unaligned_heads(%q: tensor<8x4x16xf32>, %k: tensor<2x6x16xf32>, %o: tensor<8x4x16xf32>, %y: tensor<6x4x16xf32>)
    -> tensor<6x4x16xf32> {
  // expected-error @below {{cannot be tiled across groups of heads: expected a divisor or a multiple of the 4 heads that share one, from a multiple of it on}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<8x4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x16xf32>) outs(%o : tensor<8x4x16xf32>)
      -> tensor<8x4x16xf32>
  %z = scf.forall (%h) in (3) shared_outs(%s = %y) -> (tensor<6x4x16xf32>) {
    %to = affine.apply affine_map<(d0) -> (d0 * 2)>(%h)
    %from = affine.apply affine_map<(d0) -> (d0 * 2 + 1)>(%h)
    %tile = tensor.extract_slice %r[%from, 0, 0] [2, 4, 16] [1, 1, 1] : tensor<8x4x16xf32> to tensor<2x4x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %tile into %s[%to, 0, 0] [2, 4, 16] [1, 1, 1] : tensor<2x4x16xf32> into tensor<6x4x16xf32>
    }
  }
  return %z : tensor<6x4x16xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    %loop = transform.structured.match ops{["scf.forall"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.fuse_into_containing_op %op into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The lengths of a tile of rows are computed, and buffers have no place for them.
func.func @lengths_of_buffers(%s: memref<2x4x6xf32>, %n: memref<2xi32>, %o: memref<2x4x6xf32>) {
  // expected-error @below {{cannot be tiled over rows of memrefs, as each tile has q_lengths of its own: tile the op on tensors, then bufferise}}
  attn.softmax ins(%s : memref<2x4x6xf32>) q_lengths(%n : memref<2xi32>) outs(%o : memref<2x4x6xf32>)
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.softmax"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Partial states come one after the other.
func.func @parallel_reduction(%q: tensor<4x16xf32>, %k: tensor<7x16xf32>, %v: tensor<7x8xf32>, %a: tensor<4x8xf32>,
                              %m: tensor<4xf32>, %l: tensor<4xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{cannot be tiled to partial results at once: expected one part after the other, as tile_reduction_using_for has them}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<7x16xf32>, tensor<7x8xf32>)
      outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0 : tensor<4x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_step"]} in %root : (!transform.any_op) -> !transform.any_op
    %r:6 = transform.structured.tile_reduction_using_forall %op by num_threads = [0, 3] tile_sizes = [0, 3]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Nor over anything but keys.
func.func @reduction_of_head_size(%q: tensor<4x16xf32>, %k: tensor<7x16xf32>, %v: tensor<7x8xf32>, %a: tensor<4x8xf32>,
                                  %m: tensor<4xf32>, %l: tensor<4xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{cannot be tiled to partial results over a dimension other than its keys}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<7x16xf32>, tensor<7x8xf32>)
      outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0 : tensor<4x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_step"]} in %root : (!transform.any_op) -> !transform.any_op
    %r:6 = transform.structured.tile_reduction_using_for %op by tile_sizes = [0, 0, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Digits of Q are rows of a tile.
func.func @query_bytes(%q: tensor<2x1x64xf32>, %k: tensor<1x64x64xi8>, %d: tensor<2x1x2x64xi8>, %s: tensor<2x1xf32>,
                       %w: tensor<2x1xi32>, %a: tensor<2x1x64xf32>, %m: tensor<2x1xf32>) -> tensor<2x1x64xf32> {
  // expected-error @below {{cannot be tiled: query_bytes are rows of a tile; tile before packing them}}
  %r:3 = attn.online_step ins(%q, %k, %k : tensor<2x1x64xf32>, tensor<1x64x64xi8>, tensor<1x64x64xi8>)
      query_bytes(%d, %s, %w : tensor<2x1x2x64xi8>, tensor<2x1xf32>, tensor<2x1xi32>)
      outs(%a, %m, %m : tensor<2x1x64xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
      -> tensor<2x1x64xf32>, tensor<2x1xf32>, tensor<2x1xf32>
  return %r#0 : tensor<2x1x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_step"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A slice of a part is no slice of the element.
func.func @pack_parts(%v: tensor<6x8xf32>, %o: tensor<2x6x8xbf16>) -> tensor<2x6x8xbf16> {
  // expected-error @below {{cannot be tiled: its operands are parts of elements; tile before packing them}}
  %r = attn.pack ins(%v : tensor<6x8xf32>) outs(%o : tensor<2x6x8xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (0, i, d)>]} -> tensor<2x6x8xbf16>
  return %r : tensor<2x6x8xbf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.pack"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
