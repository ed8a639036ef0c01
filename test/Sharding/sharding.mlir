// Attention by upstream's sharding passes: one annotation a function says what is on several devices.
//
// RUN: attn-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(sharding-propagation,shard-partition),canonicalize,cse)" | FileCheck %s

// Heads: the op on a part of them, with groups of one size. Nothing is sent.
shard.grid @grid(shape = 4)
// CHECK-LABEL: func.func @heads
//  CHECK-SAME: %{{.*}}: tensor<1x2x256x64xf32>, %{{.*}}: tensor<1x1x256x64xf32>
//   CHECK-NOT: all_reduce
//       CHECK: attn.sdpa ins({{.*}}) outs({{.*}}) {causal = #attn.causal<top_left>} -> tensor<1x2x256x64xf32>
func.func @heads(%q: tensor<1x8x256x64xf32>, %k: tensor<1x4x256x64xf32>, %v: tensor<1x4x256x64xf32>)
    -> tensor<1x8x256x64xf32> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : tensor<1x8x256x64xf32>
  %o = tensor.empty() : tensor<1x8x256x64xf32>
  %r = attn.sdpa ins(%q1, %k, %v : tensor<1x8x256x64xf32>, tensor<1x4x256x64xf32>, tensor<1x4x256x64xf32>)
      outs(%o : tensor<1x8x256x64xf32>) {causal = #attn.causal<top_left>} -> tensor<1x8x256x64xf32>
  return %r : tensor<1x8x256x64xf32>
}

// -----

// Rows of Q: the mask of the device's rows, one offset a batch index.
shard.grid @grid(shape = 4)
// CHECK-LABEL: func.func @rows
//       CHECK: %[[INDEX:.*]] = shard.process_multi_index on @grid axes = [0]
//       CHECK: %[[ROW:.*]] = arith.muli %[[INDEX]], %c64
//       CHECK: %[[OFFSET:.*]] = arith.index_cast %[[ROW]]
//       CHECK: %[[OFFSETS:.*]] = tensor.splat %[[OFFSET]] : tensor<2xi32>
//       CHECK: attn.sdpa ins({{.*}} : tensor<2x8x64x64xf32>, tensor<2x4x256x64xf32>, tensor<2x4x256x64xf32>)
//  CHECK-SAME: causal_offset(%[[OFFSETS]] : tensor<2xi32>) {{.*}} {causal = #attn.causal<offset>}
func.func @rows(%q: tensor<2x8x256x64xf32>, %k: tensor<2x4x256x64xf32>, %v: tensor<2x4x256x64xf32>,
                %o: tensor<2x8x256x64xf32>) -> tensor<2x8x256x64xf32> {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : tensor<2x8x256x64xf32>
  %r = attn.sdpa ins(%q1, %k, %v : tensor<2x8x256x64xf32>, tensor<2x4x256x64xf32>, tensor<2x4x256x64xf32>)
      outs(%o : tensor<2x8x256x64xf32>) {causal = #attn.causal<top_left>} -> tensor<2x8x256x64xf32>
  return %r : tensor<2x8x256x64xf32>
}

// -----

// A window without causal, whose diagonal ends at the bottom right of the whole: 203 - 112 lies before the rows.
shard.grid @grid(shape = 4)
// CHECK-LABEL: func.func @window
//       CHECK: %[[BEHIND:.*]] = arith.constant dense<91> : tensor<1xi32>
//       CHECK: arith.addi %{{.*}}, %[[BEHIND]]
//       CHECK: attn.sdpa {{.*}} causal_offset(%{{.*}} : tensor<1xi32>)
//  CHECK-SAME: align = #attn.causal<offset>
func.func @window(%q: tensor<1x8x112x64xf32>, %k: tensor<1x4x203x64xf32>, %v: tensor<1x4x203x64xf32>,
                  %o: tensor<1x8x112x64xf32>) -> tensor<1x8x112x64xf32> {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : tensor<1x8x112x64xf32>
  %r = attn.sdpa ins(%q1, %k, %v : tensor<1x8x112x64xf32>, tensor<1x4x203x64xf32>, tensor<1x4x203x64xf32>)
      outs(%o : tensor<1x8x112x64xf32>) {window = #attn.window<left = 8, right = 3>, align = #attn.causal<bottom_right>}
      -> tensor<1x8x112x64xf32>
  return %r : tensor<1x8x112x64xf32>
}

// -----

// Keys: out, not rounded, and the two terms of lse of the device's keys, joined by three sums or maxima over the devices.
shard.grid @grid(shape = 4)
// CHECK-LABEL: func.func @keys
//       CHECK: %[[OUT:.*]]:3 = attn.sdpa ins({{.*}} : tensor<1x8x1x64xbf16>, tensor<1x4x64x64xbf16>, tensor<1x4x64x64xbf16>)
//  CHECK-SAME: -> tensor<1x8x1x64xf32>, tensor<1x8x1xf32>, tensor<1x8x1xf32>
//       CHECK: %[[MOST:.*]] = shard.all_reduce %[[OUT]]#1 on @grid grid_axes = [0] reduction = max
//       CHECK: %[[W:.*]] = arith.select
//       CHECK: %[[SUM:.*]] = shard.all_reduce %[[W]] on @grid grid_axes = [0]
//       CHECK: arith.divf %[[W]], %[[SUM]]
//       CHECK: shard.all_reduce %{{.*}} on @grid grid_axes = [0] {{.*}}tensor<1x8x1x64xf32>
//       CHECK: arith.truncf
func.func @keys(%q: tensor<1x8x1x64xbf16>, %k: tensor<1x4x256x64xbf16>, %v: tensor<1x4x256x64xbf16>,
                %o: tensor<1x8x1x64xbf16>) -> tensor<1x8x1x64xbf16> {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %k1 = shard.shard %k to %s annotate_for_users : tensor<1x4x256x64xbf16>
  %v1 = shard.shard %v to %s annotate_for_users : tensor<1x4x256x64xbf16>
  %r = attn.sdpa ins(%q, %k1, %v1 : tensor<1x8x1x64xbf16>, tensor<1x4x256x64xbf16>, tensor<1x4x256x64xbf16>)
      outs(%o : tensor<1x8x1x64xbf16>) -> tensor<1x8x1x64xbf16>
  return %r : tensor<1x8x1x64xbf16>
}

// -----

// The gradients of sharded rows: dkey and dvalue are sums over the devices, dquery is not.
shard.grid @grid(shape = 2)
// CHECK-LABEL: func.func @backward
//       CHECK: %[[D:.*]]:3 = attn.sdpa_backward {{.*}} -> tensor<1x4x32x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>
//   CHECK-DAG: %[[DK:.*]] = shard.all_reduce %[[D]]#1 on @grid grid_axes = [0]
//   CHECK-DAG: %[[DV:.*]] = shard.all_reduce %[[D]]#2 on @grid grid_axes = [0]
//       CHECK: return %[[D]]#0, %[[DK]], %[[DV]]
func.func @backward(%q: tensor<1x4x64x16xf32>, %k: tensor<1x2x64x16xf32>, %v: tensor<1x2x64x16xf32>,
                    %o: tensor<1x4x64x16xf32>, %l: tensor<1x4x64xf32>, %do: tensor<1x4x64x16xf32>,
                    %dq: tensor<1x4x64x16xf32>, %dk: tensor<1x2x64x16xf32>, %dv: tensor<1x2x64x16xf32>)
    -> (tensor<1x4x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>) {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : tensor<1x4x64x16xf32>
  %r:3 = attn.sdpa_backward ins(%q1, %k, %v, %o, %l, %do : tensor<1x4x64x16xf32>, tensor<1x2x64x16xf32>,
      tensor<1x2x64x16xf32>, tensor<1x4x64x16xf32>, tensor<1x4x64xf32>, tensor<1x4x64x16xf32>)
      outs(%dq, %dk, %dv : tensor<1x4x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>)
      {causal = #attn.causal<top_left>} -> tensor<1x4x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>
  return %r#0, %r#1, %r#2 : tensor<1x4x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>
}

// -----

// Heads that share one of K: their devices have terms of its gradient.
shard.grid @grid(shape = 2)
// CHECK-LABEL: func.func @one_key_head_gradients
//       CHECK: %[[D:.*]]:3 = attn.sdpa_backward {{.*}} -> tensor<1x2x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>
//   CHECK-DAG: %[[DK:.*]] = shard.all_reduce %[[D]]#1 on @grid grid_axes = [0]
//   CHECK-DAG: %[[DV:.*]] = shard.all_reduce %[[D]]#2 on @grid grid_axes = [0]
//       CHECK: return %[[D]]#0, %[[DK]], %[[DV]]
!q = tensor<1x4x16x8xf32>
!kv = tensor<1x1x16x8xf32>
func.func @one_key_head_gradients(%q: !q, %k: !kv, %v: !kv, %o: !q, %l: tensor<1x4x16xf32>, %do: !q, %dq: !q, %dk: !kv,
                                  %dv: !kv) -> (!q, !kv, !kv) {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  %r:3 = attn.sdpa_backward ins(%q1, %k, %v, %o, %l, %do : !q, !kv, !kv, !q, tensor<1x4x16xf32>, !q)
      outs(%dq, %dk, %dv : !q, !kv, !kv) -> !q, !kv, !kv
  return %r#0, %r#1, %r#2 : !q, !kv, !kv
}
