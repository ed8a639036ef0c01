// What shard-partition refuses: it would not be attention of the whole.
//
// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline="builtin.module(func.func(sharding-propagation,shard-partition))"

!q = tensor<1x4x16x8xf32>
!kv = tensor<1x2x16x8xf32>
// Scores are sums over the head.
shard.grid @grid(shape = 2)
func.func @head_size(%q: !q, %k: !kv, %v: !kv, %o: !q) -> !q {
  %s = shard.sharding @grid split_axes = [[], [], [], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  // expected-error @+1 {{expected the head size whole on each device, found it sharded}}
  %r = attn.sdpa ins(%q1, %k, %v : !q, !kv, !kv) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!q = tensor<1x4x16x8xf32>
!kv = tensor<1x2x16x8xf32>
// Two groups of heads, four devices.
shard.grid @grid(shape = 4)
func.func @groups(%q: !q, %k: !kv, %v: !kv, %o: !q) -> !q {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  // expected-error @+1 {{expected a size that 4 devices divide in dimension 1 of key, found 2}}
  %r = attn.sdpa ins(%q1, %k, %v : !q, !kv, !kv) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!q = tensor<1x4x16x8xf32>
!kv = tensor<1x2x16x8xf32>
// A region's positions are those of the shard.
shard.grid @grid(shape = 2)
func.func @region(%q: !q, %k: !kv, %v: !kv, %o: !q) -> !q {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  // expected-error @+1 {{expected no region beside a sharding, found one}}
  %r = attn.sdpa ins(%q1, %k, %v : !q, !kv, !kv) outs(%o : !q) mask_mod {
    %true = arith.constant true
    attn.yield %true : i1
  } -> !q
  return %r : !q
}

// -----

!q = tensor<1x4x?x8xf32>
!kv = tensor<1x2x16x8xf32>
// Each device would drop other weights than one process does: by which sizes is not known.
shard.grid @grid(shape = 2)
func.func @dropout(%q: !q, %k: !kv, %v: !kv, %o: !q) -> !q {
  %seed = arith.constant 42 : i64
  %offset = arith.constant 0 : i64
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  // expected-error @+1 {{expected static sizes beside dropout and a sharding, found dynamic ones; write whole(%hq, %sq, %sk : i64, i64, i64)}}
  %r = attn.sdpa ins(%q1, %k, %v : !q, !kv, !kv) dropout(%seed, %offset : i64, i64) outs(%o : !q)
      {dropout_p = 0.1 : f64} -> !q
  return %r : !q
}

// -----

!q = tensor<1x4x16x8xf32>
!kv = tensor<1x2x16x8xf32>
// The sink would count on every device.
shard.grid @grid(shape = 2)
func.func @sink(%q: !q, %k: !kv, %v: !kv, %o: !q, %sink: tensor<4xf32>) -> !q {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %k1 = shard.shard %k to %s annotate_for_users : !kv
  // expected-error @+1 {{expected no sink beside sharded keys: it would count once a shard}}
  %r = attn.sdpa ins(%q, %k1, %v : !q, !kv, !kv) sink(%sink : tensor<4xf32>) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!q = tensor<1x4x16x8xf32>
!kv = tensor<1x2x?x8xf32>
// Where the diagonal ends depends on the number of keys of the whole.
shard.grid @grid(shape = 2)
func.func @bottom_right(%q: !q, %k: !kv, %v: !kv, %o: !q) -> !q {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  // expected-error @+1 {{expected static numbers of rows and keys beside #attn.causal<bottom_right>}}
  %r = attn.sdpa ins(%q1, %k, %v : !q, !kv, !kv) outs(%o : !q) {causal = #attn.causal<bottom_right>} -> !q
  return %r : !q
}

// -----

!q = tensor<16x8xf32>
// There is no batch index to have an offset.
shard.grid @grid(shape = 2)
func.func @no_batch(%q: !q, %k: !q, %v: !q, %o: !q) -> !q {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  // expected-error @+1 {{expected a batch dimension beside sharded rows or keys and a mask of positions, found none}}
  %r = attn.sdpa ins(%q1, %k, %v : !q, !q, !q) outs(%o : !q) {causal} -> !q
  return %r : !q
}

// -----

!q = tensor<1x4x16x8xf32>
!row = tensor<1x4x16xf32>
// The gradient of a sink is a sum over rows.
shard.grid @grid(shape = 2)
func.func @sink_gradient(%q: !q, %k: !q, %v: !q, %o: !q, %l: !row, %do: !q, %sink: tensor<4xf32>, %dq: !q, %dk: !q,
                         %dv: !q, %ds: tensor<4xf32>) -> !q {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  // expected-error @+1 {{expected dquery, dkey and dvalue alone beside a sharding, found another gradient or a sink}}
  %r:4 = attn.sdpa_backward ins(%q1, %k, %v, %o, %l, %do : !q, !q, !q, !q, !row, !q) sink(%sink : tensor<4xf32>)
      outs(%dq, %dk, %dv : !q, !q, !q) dsink(%ds : tensor<4xf32>) -> !q, !q, !q, tensor<4xf32>
  return %r#0 : !q
}
