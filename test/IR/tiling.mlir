// TilingInterface through the transform dialect: what each dimension of the domain may be tiled by.
// RUN: attn-opt %s --transform-interpreter --split-input-file --canonicalize --cse | FileCheck %s

// Batch, head and query rows are parallel; K and V of a head are shared, never copied.
// CHECK-LABEL: func @sdpa_over_batch_head_query(
//  CHECK-SAME:     %[[Q:.*]]: tensor<2x8x128x64xf32>, %[[K:.*]]: tensor<2x2x203x64xf32>
//       CHECK:   scf.forall (%[[B:.*]], %[[H:.*]], %[[T:.*]]) in (2, 8, 4)
//   CHECK-DAG:     %[[ROW:.*]] = affine.apply {{.*}}(%[[T]])
//   CHECK-DAG:     %[[KVHEAD:.*]] = affine.apply {{.*}}(%[[H]])
//   CHECK-DAG:     %[[QT:.*]] = tensor.extract_slice %[[Q]][%[[B]], %[[H]], %[[ROW]], 0] [1, 1, 32, 64]
//   CHECK-DAG:     %[[KT:.*]] = tensor.extract_slice %[[K]][%[[B]], %[[KVHEAD]], 0, 0] [1, 1, 203, 64]
//       CHECK:     attn.sdpa ins(%[[QT]], %[[KT]], %{{.*}} : tensor<1x1x32x64xf32>, tensor<1x1x203x64xf32>
func.func @sdpa_over_batch_head_query(%q: tensor<2x8x128x64xf32>, %k: tensor<2x2x203x64xf32>,
                                      %v: tensor<2x2x203x80xf32>, %o: tensor<2x8x128x80xf32>) -> tensor<2x8x128x80xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x8x128x64xf32>, tensor<2x2x203x64xf32>, tensor<2x2x203x80xf32>)
      outs(%o : tensor<2x8x128x80xf32>) {scale = 0.125 : f64} -> tensor<2x8x128x80xf32>
  return %r : tensor<2x8x128x80xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [1, 1, 32] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A causal mask counts rows of the whole problem: its tile has a region, shifted by the tile's first row.
// CHECK-LABEL: func @causal_over_query(
//       CHECK:   scf.for %[[ROW:[a-z0-9]*]] =
//       CHECK:     attn.sdpa ins(%{{.*}} : tensor<4x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
//   CHECK-NOT:       causal
//       CHECK:       %[[I:.*]] = attn.index query : index
//       CHECK:       %[[SHIFTED:.*]] = arith.addi %[[I]], %[[ROW]]
//       CHECK:       %[[LAST:.*]] = arith.addi %[[SHIFTED]], %c3
//       CHECK:       arith.cmpi sle, %{{.*}}, %[[LAST]]
func.func @causal_over_query(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                             %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>) outs(%o : tensor<8x8xf32>)
      {causal = #attn.causal<bottom_right>} -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A window moves with its tile as well.
// CHECK-LABEL: func @window_over_query(
//       CHECK:   scf.for %[[ROW:[a-z0-9]*]] =
//       CHECK:     attn.sdpa ins(%{{.*}} : tensor<4x16xf32>, tensor<8x16xf32>, tensor<8x8xf32>)
//   CHECK-NOT:       window
//       CHECK:       %[[I:.*]] = attn.index query : index
//       CHECK:       arith.addi %[[I]], %[[ROW]]
//       CHECK:       arith.andi
func.func @window_over_query(%q: tensor<8x16xf32>, %v: tensor<8x8xf32>, %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = attn.sdpa ins(%q, %q, %v : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x8xf32>) outs(%o : tensor<8x8xf32>)
      {window = #attn.window<left = 3, right = 1>} -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// kv_head is the group of the whole problem's head.
// CHECK-LABEL: func @kv_head_over_head(
//       CHECK:   scf.for %[[HEAD:[a-z0-9]*]] =
//       CHECK:     attn.sdpa ins(%{{.*}} : tensor<2x8x16xf32>, tensor<1x11x16xf32>, tensor<1x11x8xf32>)
//       CHECK:       %[[H:.*]] = attn.index head : index
//       CHECK:       %[[SHIFTED:.*]] = arith.addi %[[H]], %[[HEAD]]
//       CHECK:       arith.divui %[[SHIFTED]], %c4
func.func @kv_head_over_head(%q: tensor<8x8x16xf32>, %k: tensor<2x11x16xf32>, %v: tensor<2x11x8xf32>,
                             %o: tensor<8x8x8xf32>) -> tensor<8x8x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x8x16xf32>, tensor<2x11x16xf32>, tensor<2x11x8xf32>)
      outs(%o : tensor<8x8x8xf32>) mask_mod {
    %g = attn.index kv_head : index
    %j = attn.index key : index
    %keep = arith.cmpi sle, %g, %j : index
    attn.yield %keep : i1
  } -> tensor<8x8x8xf32>
  return %r : tensor<8x8x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Sizes that are not known are whole where no tile is asked for.
// CHECK-LABEL: func @dynamic_over_query(
//       CHECK:   scf.for
//       CHECK:     attn.sdpa ins(%{{.*}} : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>)
func.func @dynamic_over_query(%q: tensor<?x?xf32>, %k: tensor<?x?xf32>, %v: tensor<?x?xf32>, %scale: f32,
                              %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) scale_value(%scale : f32)
      outs(%o : tensor<?x?xf32>) {causal = #attn.causal<bottom_right>} -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The state is carried from one range of keys to the next.
// CHECK-LABEL: func @online_step_over_keys(
//       CHECK:   scf.for %[[KEY:[a-z0-9]*]] = %{{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}})
//       CHECK:     attn.online_step ins(%{{.*}} : tensor<4x16xf32>, tensor<3x16xf32>, tensor<3x8xf32>) outs(%[[A]], %[[M]], %[[L]]
//       CHECK:       %[[J:.*]] = attn.index key : index
//       CHECK:       arith.addi %[[J]], %[[KEY]]
func.func @online_step_over_keys(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>,
                                 %m: tensor<4xf32>, %l: tensor<4xf32>) -> tensor<4x8xf32> {
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  } -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0 : tensor<4x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_step"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [0, 3] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// As a partial reduction, the keys fold into an empty state that is merged into the given one.
// CHECK-LABEL: func @partial_reduction_over_keys(
//  CHECK-SAME:     %[[A:[^:]*]]: tensor<4x8xf32>, %[[M:[^:]*]]: tensor<4xf32>, %[[L:[^:]*]]: tensor<4xf32>)
//       CHECK:   %[[EMPTY:.*]]:3 = attn.init_state
//       CHECK:   %[[PART:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %[[EMPTY]]#0, %{{.*}} = %[[EMPTY]]#1, %{{.*}} = %[[EMPTY]]#2)
//       CHECK:     attn.online_step
//       CHECK:   attn.merge_states ins(%[[PART]]#0, %[[PART]]#1, %[[PART]]#2 : {{.*}}) outs(%[[A]], %[[M]], %[[L]] :
func.func @partial_reduction_over_keys(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>,
                                       %a: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>) -> tensor<4x8xf32> {
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0 : tensor<4x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_step"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_reduction_using_for %op by tile_sizes = [0, 3]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The step that a tile of finalize needs is computed in the tile's loop.
// CHECK-LABEL: func @fuse_step_into_finalize(
//       CHECK:   scf.forall
//       CHECK:     %[[STATE:.*]]:3 = attn.online_step ins(%{{.*}} : tensor<2x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
//       CHECK:     attn.finalize ins(%[[STATE]]#0
func.func @fuse_step_into_finalize(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>,
                                   %m: tensor<4xf32>, %l: tensor<4xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %step = transform.structured.match ops{["attn.online_step"]} in %root : (!transform.any_op) -> !transform.any_op
    %op = transform.structured.match ops{["attn.finalize"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.fuse_into_containing_op %step into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Scales of quantised keys are sliced as the keys are: a tile of heads has those of its key heads.
// CHECK-LABEL: func @scales_over_batch_and_head(
//  CHECK-SAME:     %[[K:[^:]*]]: tensor<2x2x7x16xi8>, %[[S:[^:]*]]: tensor<2x2x7xf32>
//       CHECK:   scf.forall (%[[B:.*]], %[[H:.*]]) in (2, 4)
//       CHECK:     tensor.extract_slice %[[K]][%[[B]], %[[KVHEAD:.*]], 0, 0] [1, 1, 7, 16]
//       CHECK:     %[[ST:.*]] = tensor.extract_slice %[[S]][%[[B]], %[[KVHEAD]], 0] [1, 1, 7] [1, 1, 1] :
//       CHECK:     attn.sdpa ins(%{{.*}} : tensor<1x2x5x16xf32>, tensor<1x1x7x16xi8>, tensor<1x1x7x16xi8>) kv_scale(%[[ST]], %{{.*}} : tensor<1x1x7xf32>
func.func @scales_over_batch_and_head(%q: tensor<2x8x5x16xf32>, %k: tensor<2x2x7x16xi8>, %s: tensor<2x2x7xf32>,
                                      %o: tensor<2x8x5x16xf32>) -> tensor<2x8x5x16xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<2x8x5x16xf32>, tensor<2x2x7x16xi8>, tensor<2x2x7x16xi8>)
      kv_scale(%s, %s : tensor<2x2x7xf32>, tensor<2x2x7xf32>) outs(%o : tensor<2x8x5x16xf32>) -> tensor<2x8x5x16xf32>
  return %r : tensor<2x8x5x16xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [1, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A sink is its head's. A length is that of the rows from the tile's first one on.
// CHECK-LABEL: func @sink_over_head_and_query(
//  CHECK-SAME:     %[[SINK:[^:]*]]: tensor<3xf32>, %[[LENGTHS:[^:]*]]: tensor<2xi32>
//       CHECK:   scf.forall (%[[B:.*]], %[[H:.*]], %[[T:.*]]) in (2, 3, 2)
//   CHECK-DAG:     %[[ST:.*]] = tensor.extract_slice %[[SINK]][%[[H]]] [1] [1]
//   CHECK-DAG:     %[[LT:.*]] = tensor.extract_slice %[[LENGTHS]][%[[B]]] [1] [1]
//   CHECK-DAG:     %[[FIRST:.*]] = arith.index_cast %{{.*}} : index to i32
//       CHECK:     %[[LEFT:.*]] = linalg.map ins(%[[LT]] : tensor<1xi32>)
//       CHECK:       arith.subi %{{.*}}, %[[FIRST]]
//       CHECK:     attn.softmax ins(%{{.*}} : tensor<1x1x2x6xf32>) sink(%[[ST]] : tensor<1xf32>) q_lengths(%[[LEFT]] : tensor<1xi32>)
func.func @sink_over_head_and_query(%s: tensor<2x3x4x6xf32>, %sink: tensor<3xf32>, %lengths: tensor<2xi32>,
                                    %o: tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32> {
  %r = attn.softmax ins(%s : tensor<2x3x4x6xf32>) sink(%sink : tensor<3xf32>) q_lengths(%lengths : tensor<2xi32>)
      outs(%o : tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  return %r : tensor<2x3x4x6xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.softmax"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [1, 1, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Which weights are kept is a function of their place in the whole problem: a region, shifted by the tile's offsets.
// CHECK-LABEL: func @dropout_over_query(
//       CHECK:   scf.forall (%[[T:.*]]) in (2)
//       CHECK:     attn.modify ins(%{{.*}} : tensor<2x2x6xf32>)
//       CHECK:       attn.index query
//       CHECK:       arith.addi
//   CHECK-NOT:   attn.dropout ins
func.func @dropout_over_query(%p: tensor<2x4x6xf32>, %seed: i64, %offset: i64, %o: tensor<2x4x6xf32>)
    -> tensor<2x4x6xf32> {
  %r = attn.dropout ins(%p : tensor<2x4x6xf32>) dropout(%seed, %offset : i64, i64) outs(%o : tensor<2x4x6xf32>)
      {dropout_p = 0.5 : f64} -> tensor<2x4x6xf32>
  return %r : tensor<2x4x6xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.dropout"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The slice of an operand of size 0, which is an empty tensor, has its encoding.
// CHECK-LABEL: func @empty_slice_with_encoding(
//       CHECK:   scf.forall
//       CHECK:     tensor.empty() : tensor<1x0x16xf32, "mine">
func.func @empty_slice_with_encoding(%q: tensor<2x4x16xf32>, %k: tensor<2x0x16xf32, "mine">, %v: tensor<2x0x8xf32>,
                                     %o: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x4x16xf32>, tensor<2x0x16xf32, "mine">, tensor<2x0x8xf32>)
      outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
