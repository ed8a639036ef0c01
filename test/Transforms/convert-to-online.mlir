// RUN: attn-opt %s --attn-convert-to-online --split-input-file | FileCheck %s

// The state has query rows innermost; every key is folded into an empty one.
// CHECK-DAG: #[[$LANES:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func @state(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: tensor<4x16xf32>, %[[K:[a-z0-9]*]]: {{[^,]*}}, %[[V:[a-z0-9]*]]: {{[^,]*}}, %[[O:[a-z0-9]*]]:
//   CHECK-DAG:   %[[ACC:.*]] = tensor.empty() : tensor<8x4xf32>
//       CHECK:   %[[EMPTY:.*]]:3 = attn.init_state outs(%[[ACC]], {{.*}}) {maps = [#[[$LANES]],
//       CHECK:   %[[ALL:.*]]:3 = attn.online_step ins(%[[Q]], %[[K]], %[[V]] : {{.*}}) outs(%[[EMPTY]]#0, %[[EMPTY]]#1, %[[EMPTY]]#2
//  CHECK-SAME:     scale = 2.500000e-01 : f64
//       CHECK:   attn.finalize ins(%[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2 : {{.*}}) outs(%[[O]] : tensor<4x8xf32>)
func.func @state(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Everything but the outputs moves to the step; lse is an output of finalize.
// CHECK-LABEL: func @every_part(
//       CHECK:   attn.online_step ins({{.*}}) bias(%{{.*}} : tensor<6xf32>) mask(%{{.*}} : tensor<4x6xi1>) scale_value(%{{.*}} : f32)
//  CHECK-SAME:     schedule = #attn.prefill<{{.*}}} score_mod {
//       CHECK:     attn.cap %{{.*}} {limit = 2.000000e+00 : f64} : f32
//       CHECK:   mask_mod
//       CHECK:     %[[I:.*]] = attn.index query : index
//       CHECK:     arith.addi %[[I]], %c2
//       CHECK:   key_ranges
//       CHECK:   attn.finalize {{.*}} outs(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4xf32>)
func.func @every_part(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %b: tensor<6xf32>,
                      %m: tensor<4x6xi1>, %s: f32, %o: tensor<4x8xf32>, %l: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) bias(%b : tensor<6xf32>)
      mask(%m : tensor<4x6xi1>) scale_value(%s : f32) outs(%o, %l : tensor<4x8xf32>, tensor<4xf32>)
      {causal = #attn.causal<bottom_right>, softcap = 2.0 : f64,
       schedule = #attn.prefill<query_tile = 4, key_tile = 2, lanes = 4, block_rows = 1, block_vectors = 1>}
      key_ranges {
    %none = arith.constant 0 : index
    %all = arith.constant 6 : index
    attn.yield %none, %all, %none, %none : index, index, index, index
  } -> tensor<4x8xf32>, tensor<4xf32>
  return %r#1 : tensor<4xf32>
}

// -----

// 16-bit inputs have a state of f32.
// CHECK-LABEL: func @bf16(
//       CHECK:   attn.online_step ins({{.*}}xbf16>) outs({{.*}} : tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
func.func @bf16(%q: tensor<4x16xbf16>, %v: tensor<4x8xbf16>, %o: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %r = attn.sdpa ins(%q, %q, %v : tensor<4x16xbf16>, tensor<4x16xbf16>, tensor<4x8xbf16>) outs(%o : tensor<4x8xbf16>)
      -> tensor<4x8xbf16>
  return %r : tensor<4x8xbf16>
}

// -----

// The sizes of a mask's offset are only known at run time: they are read before the step.
// CHECK-LABEL: func @bottom_right_of_dynamic_sizes(
//       CHECK:   %[[ROWS:.*]] = tensor.dim
//       CHECK:   attn.online_step
//       CHECK:     %[[OFFSET:.*]] = arith.subi %{{.*}}, %{{.*}}
//       CHECK:     arith.addi %{{.*}}, %[[OFFSET]]
func.func @bottom_right_of_dynamic_sizes(%q: tensor<?x16xf32>, %k: tensor<?x16xf32>, %v: tensor<?x8xf32>,
                                         %o: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x8xf32>) outs(%o : tensor<?x8xf32>)
      {causal = #attn.causal<bottom_right>} -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func @memref_is_left(
//       CHECK:   attn.sdpa
func.func @memref_is_left(%q: memref<4x16xf32>, %v: memref<4x8xf32>, %o: memref<4x8xf32>) {
  attn.sdpa ins(%q, %q, %v : memref<4x16xf32>, memref<4x16xf32>, memref<4x8xf32>) outs(%o : memref<4x8xf32>)
  return
}

// -----

// The scale of K stands in front of score_mod, that of V behind dropout, and the step has no other trace of them.
// CHECK-LABEL: func @kv_scale(
//  CHECK-SAME:     %[[KS:[a-z0-9]*]]: tensor<1x2x6xf32>, %[[VS:[a-z0-9]*]]: tensor<1x2x6xf32>
//       CHECK:   attn.online_step ins({{.*}}xi8>) outs({{.*}}) {{.*}} score_mod {
//       CHECK:   ^bb0(%[[SCORE:.*]]: f32):
//   CHECK-DAG:     %[[B:.*]] = attn.index batch
//   CHECK-DAG:     %[[H:.*]] = attn.index kv_head
//   CHECK-DAG:     %[[J:.*]] = attn.index key
//       CHECK:     %[[FACTOR:.*]] = tensor.extract %[[KS]][%[[B]], %[[H]], %[[J]]]
//       CHECK:     %[[SCALED:.*]] = arith.mulf %[[SCORE]], %[[FACTOR]]
//       CHECK:     %[[MODIFIED:.*]] = math.absf %[[SCALED]]
//       CHECK:     attn.yield %[[MODIFIED]]
//       CHECK:   weight_mod {
//       CHECK:     %[[KEPT:.*]] = attn.random_keep
//       CHECK:     %[[DROPPED:.*]] = arith.select %[[KEPT]]
//       CHECK:     %[[FACTOR:.*]] = tensor.extract %[[VS]]
//       CHECK:     %[[SCALED:.*]] = arith.mulf %[[DROPPED]], %[[FACTOR]]
//       CHECK:     attn.yield %[[SCALED]]
func.func @kv_scale(%ks: tensor<1x2x6xf32>, %vs: tensor<1x2x6xf32>, %q: tensor<1x4x4x16xf32>, %k: tensor<1x2x6x16xi8>,
                    %seed: i64, %o: tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x4x4x16xf32>, tensor<1x2x6x16xi8>, tensor<1x2x6x16xi8>)
      kv_scale(%ks, %vs : tensor<1x2x6xf32>, tensor<1x2x6xf32>) dropout(%seed, %seed : i64, i64)
      outs(%o : tensor<1x4x4x16xf32>) {dropout_p = 0.5 : f64} score_mod {
  ^bb0(%score: f32):
    %size = math.absf %score : f32
    attn.yield %size : f32
  } -> tensor<1x4x4x16xf32>
  return %r : tensor<1x4x4x16xf32>
}
