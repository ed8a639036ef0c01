// Words of attention beside a sharding, and layouts.
//
// RUN: attn-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(sharding-propagation,shard-partition),canonicalize,cse)" | FileCheck %s

// A sink is of a head, lengths are of a batch index: they are on the device of theirs.
shard.grid @grid(shape = 2x4)
// CHECK-LABEL: func.func @sink_and_lengths
//       CHECK: attn.sdpa {{.*}} sink(%{{.*}} : tensor<2xf32>) kv_lengths(%{{.*}} : tensor<3xi32>)
//  CHECK-SAME: -> tensor<3x2x16x16xf32>
func.func @sink_and_lengths(%q: tensor<6x8x16x16xf32>, %k: tensor<6x4x16x16xf32>, %v: tensor<6x4x16x16xf32>,
    %sink: tensor<8xf32>, %n: tensor<6xi32>, %o: tensor<6x8x16x16xf32>) -> tensor<6x8x16x16xf32> {
  %s = shard.sharding @grid split_axes = [[0], [1]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : tensor<6x8x16x16xf32>
  %r = attn.sdpa ins(%q1, %k, %v : tensor<6x8x16x16xf32>, tensor<6x4x16x16xf32>, tensor<6x4x16x16xf32>)
      sink(%sink : tensor<8xf32>) kv_lengths(%n : tensor<6xi32>) outs(%o : tensor<6x8x16x16xf32>)
      -> tensor<6x8x16x16xf32>
  return %r : tensor<6x8x16x16xf32>
}

// -----

// One key head for all: it is on every device.
shard.grid @grid(shape = 4)
// CHECK-LABEL: func.func @one_key_head
//       CHECK: attn.sdpa ins({{.*}} : tensor<1x2x16x16xf32>, tensor<1x1x16x16xf32>, tensor<1x1x16x16xf32>)
func.func @one_key_head(%q: tensor<1x8x16x16xf32>, %k: tensor<1x1x16x16xf32>, %v: tensor<1x1x16x16xf32>,
                        %o: tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : tensor<1x8x16x16xf32>
  %r = attn.sdpa ins(%q1, %k, %v : tensor<1x8x16x16xf32>, tensor<1x1x16x16xf32>, tensor<1x1x16x16xf32>)
      outs(%o : tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  return %r : tensor<1x8x16x16xf32>
}

// -----

// Rows along two axes: the first is the slowest. The offset that the op has comes first.
shard.grid @grid(shape = 2x4)
// CHECK-LABEL: func.func @two_axes
//  CHECK-SAME: %[[GIVEN:[a-z0-9]*]]: tensor<1xi64>
//       CHECK: %[[INDEX:.*]]:2 = shard.process_multi_index on @grid axes = [0, 1]
//       CHECK: %[[SLOW:.*]] = arith.muli %[[INDEX]]#0, %c4
//       CHECK: %[[DEVICE:.*]] = arith.addi %[[SLOW]], %[[INDEX]]#1
//       CHECK: arith.muli %[[DEVICE]], %c8
//       CHECK: arith.addi %[[GIVEN]], %{{.*}} : tensor<1xi64>
func.func @two_axes(%off: tensor<1xi64>, %q: tensor<1x2x64x16xf32>, %k: tensor<1x2x64x16xf32>, %v: tensor<1x2x64x16xf32>,
                    %o: tensor<1x2x64x16xf32>) -> tensor<1x2x64x16xf32> {
  %s = shard.sharding @grid split_axes = [[], [], [0, 1]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : tensor<1x2x64x16xf32>
  %r = attn.sdpa ins(%q1, %k, %v : tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>)
      causal_offset(%off : tensor<1xi64>) outs(%o : tensor<1x2x64x16xf32>) {causal = #attn.causal<offset>}
      -> tensor<1x2x64x16xf32>
  return %r : tensor<1x2x64x16xf32>
}

// -----

// (batch, row, head, column): the rows are the second dimension.
#q = affine_map<(b, h, i, j, d, e) -> (b, i, h, d)>
#k = affine_map<(b, h, i, j, d, e) -> (b, j, h, d)>
#v = affine_map<(b, h, i, j, d, e) -> (b, j, h, e)>
#o = affine_map<(b, h, i, j, d, e) -> (b, i, h, e)>
shard.grid @grid(shape = 4)
// CHECK-LABEL: func.func @rows_before_heads
//       CHECK: arith.muli %{{.*}}, %c16
//       CHECK: attn.sdpa ins({{.*}} : tensor<1x16x2x32xf32>, tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>) causal_offset
func.func @rows_before_heads(%q: tensor<1x64x2x32xf32>, %k: tensor<1x64x2x32xf32>, %v: tensor<1x64x2x32xf32>,
                             %o: tensor<1x64x2x32xf32>) -> tensor<1x64x2x32xf32> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : tensor<1x64x2x32xf32>
  %r = attn.sdpa ins(%q1, %k, %v : tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>)
      outs(%o : tensor<1x64x2x32xf32>) {causal = #attn.causal<top_left>, maps = [#q, #k, #v, #o]}
      -> tensor<1x64x2x32xf32>
  return %r : tensor<1x64x2x32xf32>
}

// -----

// A bias of rows and keys has the shard's; its dimensions of size 1 are whole.
shard.grid @grid(shape = 4)
// CHECK-LABEL: func.func @bias
//       CHECK: attn.sdpa {{.*}} bias(%{{.*}} : tensor<1x2x16x64xf32>)
func.func @bias(%q: tensor<3x2x64x16xf32>, %k: tensor<3x2x64x16xf32>, %v: tensor<3x2x64x16xf32>,
                %bias: tensor<1x2x64x64xf32>, %o: tensor<3x2x64x16xf32>) -> tensor<3x2x64x16xf32> {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : tensor<3x2x64x16xf32>
  %r = attn.sdpa ins(%q1, %k, %v : tensor<3x2x64x16xf32>, tensor<3x2x64x16xf32>, tensor<3x2x64x16xf32>)
      bias(%bias : tensor<1x2x64x64xf32>) outs(%o : tensor<3x2x64x16xf32>) -> tensor<3x2x64x16xf32>
  return %r : tensor<3x2x64x16xf32>
}

// -----

// Rows along one axis and keys along the other, of sizes of the run: the offset is first row - first key.
shard.grid @grid(shape = 2x3)
!q = tensor<?x4x16x8xf32>
!kv = tensor<?x2x?x8xf32>
// CHECK-LABEL: func.func @rows_and_keys
//       CHECK: %[[ROWS:.*]] = shard.process_multi_index on @grid axes = [0]
//       CHECK: %[[ROW:.*]] = arith.muli %[[ROWS]], %c8
//       CHECK: %[[KEYS:.*]] = shard.process_multi_index on @grid axes = [1]
//       CHECK: %[[KEY:.*]] = arith.muli %[[KEYS]], %{{.*}}
//       CHECK: arith.subi %[[ROW]], %[[KEY]]
//       CHECK: shard.all_reduce %{{.*}} on @grid grid_axes = [1] reduction = max
func.func @rows_and_keys(%q: !q, %k: !kv, %v: !kv, %o: !q) -> !q {
  %rows = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %keys = shard.sharding @grid split_axes = [[], [], [1]] : !shard.sharding
  %q1 = shard.shard %q to %rows annotate_for_users : !q
  %k1 = shard.shard %k to %keys annotate_for_users : !kv
  %r = attn.sdpa ins(%q1, %k1, %v : !q, !kv, !kv) outs(%o : !q) {causal = #attn.causal<top_left>} -> !q
  return %r : !q
}

// -----

// What is whole on each device has any word.
shard.grid @grid(shape = 2)
!packed = tensor<16x4x8xf32>
// CHECK-LABEL: func.func @whole
//       CHECK: attn.sdpa {{.*}} cu_seqlens({{.*}} -> tensor<16x4x8xf32>
func.func @whole(%q: !packed, %k: !packed, %v: !packed, %o: !packed, %sums: tensor<3xi32>) -> !packed {
  %s = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !packed
  %r = attn.sdpa ins(%q1, %k, %v : !packed, !packed, !packed) cu_seqlens(%sums, %sums : tensor<3xi32>, tensor<3xi32>)
      outs(%o : !packed) -> !packed
  return %r : !packed
}

// -----

// Columns of V are those of the output.
shard.grid @grid(shape = 2)
!q = tensor<1x4x16x8xf32>
// CHECK-LABEL: func.func @columns
//       CHECK: attn.sdpa {{.*}} : tensor<1x4x16x8xf32>, tensor<1x4x16x8xf32>, tensor<1x4x16x4xf32>)
func.func @columns(%q: !q, %k: !q, %v: !q, %o: !q) -> !q {
  %s = shard.sharding @grid split_axes = [[], [], [], [0]] : !shard.sharding
  %v1 = shard.shard %v to %s annotate_for_users : !q
  %r = attn.sdpa ins(%q, %k, %v1 : !q, !q, !q) outs(%o : !q) -> !q
  return %r : !q
}

// -----

// What a device has of the lengths: min(max(n - first key, 0), keys). The diagonal ends where those of the whole do.
shard.grid @grid(shape = 2)
!q = tensor<1x4x16x8xf32>
// CHECK-LABEL: func.func @key_lengths
//  CHECK-SAME: %[[N:[a-z0-9]*]]: tensor<1xi64>
//       CHECK: %[[KEY:.*]] = arith.muli %{{.*}}, %c8
//       CHECK: %[[ALL:.*]] = arith.minsi %{{.*}}, %{{.*}} : tensor<1xi64>
//       CHECK: arith.trunci %[[ALL]] : tensor<1xi64> to tensor<1xi32>
//       CHECK: %[[BEHIND:.*]] = arith.subi %[[N]], %{{.*}} : tensor<1xi64>
//       CHECK: arith.maxsi %[[BEHIND]]
//       CHECK: %[[LENGTHS:.*]] = arith.minsi
//       CHECK: attn.sdpa {{.*}} kv_lengths(%[[LENGTHS]] : tensor<1xi64>) causal_offset(%{{.*}} : tensor<1xi32>)
func.func @key_lengths(%n: tensor<1xi64>, %q: !q, %k: !q, %v: !q, %o: !q) -> !q {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %k1 = shard.shard %k to %s annotate_for_users : !q
  %r = attn.sdpa ins(%q, %k1, %v : !q, !q, !q) kv_lengths(%n : tensor<1xi64>) outs(%o : !q)
      {causal = #attn.causal<bottom_right>} -> !q
  return %r : !q
}
