// What counts positions beside a sharding: a device says where its part begins.
//
// RUN: attn-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(sharding-propagation,shard-partition),canonicalize,cse)" | FileCheck %s

// Dropout counts by heads and sizes of the whole.
shard.grid @grid(shape = 2)
!q = tensor<1x4x16x8xf32>
// CHECK-LABEL: func.func @heads
//   CHECK-DAG:   %[[HQ:.*]] = arith.constant 4 : i64
//   CHECK-DAG:   %[[S:.*]] = arith.constant 16 : i64
//       CHECK:   %[[AT:.*]] = shard.process_multi_index on @grid axes = [0]
//       CHECK:   %[[START:.*]] = arith.muli %[[AT]], %c2
//       CHECK:   %[[FIRST:.*]] = arith.index_cast %[[START]] : index to i64
//       CHECK:   attn.sdpa {{.*}} h_origin(%[[FIRST]] : i64) whole(%[[HQ]], %[[S]], %[[S]] : i64, i64, i64)
func.func @heads(%q: !q, %k: !q, %v: !q, %o: !q) -> !q {
  %x = arith.constant 42 : i64
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  %r = attn.sdpa ins(%q1, %k, %v : !q, !q, !q) dropout(%x, %x : i64, i64) outs(%o : !q) {dropout_p = 0.1 : f64} -> !q
  return %r : !q
}

// -----

// A prefix beside sharded keys: they begin at the index of the device times its keys.
shard.grid @grid(shape = 2)
!q = tensor<3x4x16x8xf32>
// CHECK-LABEL: func.func @keys
//       CHECK:   %[[AT:.*]] = shard.process_multi_index on @grid axes = [0]
//       CHECK:   %[[START:.*]] = arith.muli %[[AT]], %c8
//       CHECK:   %[[FIRST:.*]] = arith.index_cast %[[START]] : index to i32
//       CHECK:   %[[EACH:.*]] = tensor.splat %[[FIRST]] : tensor<3xi32>
//       CHECK:   attn.sdpa {{.*}} q_origin(%{{.*}} : tensor<3xi32>) k_origin(%[[EACH]] : tensor<3xi32>)
//  CHECK-SAME:   causal = #attn.causal<top_left>, prefix = 5 : i64
//       CHECK:   shard.all_reduce
func.func @keys(%q: !q, %k: !q, %v: !q, %o: !q) -> !q {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %k1 = shard.shard %k to %s annotate_for_users : !q
  %r = attn.sdpa ins(%q, %k1, %v : !q, !q, !q) outs(%o : !q) {causal, prefix = 5 : i64} -> !q
  return %r : !q
}

// -----

// Rows and keys, from the lower right corner of the whole, beside dropout.
shard.grid @grid(shape = 2x2)
!q = tensor<1x4x16x8xf32>
!kv = tensor<1x4x32x8xf32>
// CHECK-LABEL: func.func @rows_and_keys
//   CHECK-DAG:   %[[BEHIND:.*]] = arith.constant dense<16> : tensor<1xi32>
//       CHECK:   attn.sdpa {{.*}} causal_offset(%[[BEHIND]] : tensor<1xi32>) q_origin({{.*}}) k_origin({{.*}}) dropout({{.*}}) whole
//  CHECK-SAME:   causal = #attn.causal<offset>
func.func @rows_and_keys(%q: !q, %k: !kv, %v: !kv, %o: !q) -> !q {
  %x = arith.constant 42 : i64
  %rows = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %keys = shard.sharding @grid split_axes = [[], [], [1]] : !shard.sharding
  %q1 = shard.shard %q to %rows annotate_for_users : !q
  %k1 = shard.shard %k to %keys annotate_for_users : !kv
  %r = attn.sdpa ins(%q1, %k1, %v : !q, !kv, !kv) dropout(%x, %x : i64, i64) outs(%o : !q)
      {causal = #attn.causal<bottom_right>, dropout_p = 0.1 : f64} -> !q
  return %r : !q
}
