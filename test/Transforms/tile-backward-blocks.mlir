// Gradients on a GPU: a kernel for delta, one for dQ, one for dK and dV; heads beyond 128 have one for each.

// RUN: attnc --problem="b1 hq4 hkv2 sq128 sk128 d64 bf16 grad=q,k,v" --target=sm_80 --stop-after=tile -o - | FileCheck %s
// RUN: attnc --problem="b1 hq1 sq128 sk128 d256 bf16 grad=q,k,v" --target=sm_80 --stop-after=tile -o - \
// RUN:   | FileCheck %s --check-prefix=LARGE
// RUN: attnc --problem="b1 hq1 sq128 sk128 d64 bf16 grad=v" --target=sm_80 --stop-after=tile -o - \
// RUN:   | FileCheck %s --check-prefix=VALUE
// RUN: attnc --problem="b2 hq1 sq128 sk128 d64 bf16 bias=1,1,128,128 grad=q,bias" --target=sm_80 --stop-after=tile -o - \
// RUN:   | FileCheck %s --check-prefix=BIAS
// RUN: attnc --problem="b1 hq64 sq4096 d128 bf16 causal=top_left grad=q,k,v" --target=sm_90a --stop-after=tile -o - \
// RUN:   | FileCheck %s --check-prefix=FUSED

// CHECK-LABEL: func.func @sdpa_backward
//       CHECK: scf.forall (%{{.*}}, %{{.*}}) in (4, 2)
//       CHECK:   attn.row_delta
//       CHECK: scf.forall (%{{.*}}, %{{.*}}) in (4, 2)
//       CHECK:   attn.backward_step {{.*}} dquery(
//  CHECK-SAME:     #attn.block<query_tile = 64, key_tile = 64, warps = 4, warp_rows = 16, instruction = mma, stages = 2>
//       CHECK: scf.forall (%{{.*}}, %{{.*}}) in (2, 2)
//       CHECK:   scf.for %{{.*}} = %c0 to %c2
//       CHECK:     attn.backward_step {{.*}} dkey({{.*}} dvalue(

// LARGE-LABEL: func.func @sdpa_backward
//       LARGE: attn.backward_step {{.*}} dquery(
//       LARGE: attn.backward_step
//   LARGE-NOT: dvalue(
//  LARGE-SAME: dkey(
//       LARGE: attn.backward_step {{.*}} dvalue(

// A gradient that nothing reads is not computed.
// VALUE-LABEL: func.func @sdpa_backward
//   VALUE-NOT: dquery(
//   VALUE-NOT: dkey(
//       VALUE: attn.backward_step {{.*}} dvalue(
//   VALUE-NOT: attn.backward_step

// A block adds up what all batch indices add to its tile of the bias.
// BIAS-LABEL: func.func @sdpa_backward
//       BIAS: attn.backward_step {{.*}} dquery(
//   BIAS-NOT: attn.accumulate
//       BIAS: scf.forall (%{{.*}}) in (2) shared_outs(%[[ALL:.*]] = %{{.*}}) -> (tensor<1x1x128x128xf32>)
//       BIAS:   %[[TILE:.*]] = tensor.extract_slice %[[ALL]]
//       BIAS:   scf.for %{{.*}} iter_args(%{{.*}} = %[[TILE]])
//       BIAS:     scf.for
//       BIAS:       attn.backward_step {{.*}} dcaptures(
//       BIAS:         attn.accumulate

// All gradients in one kernel, whose blocks add to dQ in the order of the key tiles: tiles of queries begin at the same
// rows in all of them, below the first query that the mask keeps.
// FUSED-LABEL: func.func @sdpa_backward
//       FUSED: %[[TURNS:.*]] = memref.alloc() : memref<4097xi32>
//       FUSED: scf.forall (%[[BLOCK:[^,]*]], %{{.*}}) in (32, 64) shared_outs(%[[DQ:[^ ]*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
//       FUSED:   arith.divsi %{{.*}}, %c64
//       FUSED:   scf.for %[[QUERY:.*]] = %{{.*}} to
//       FUSED:     arith.divsi %[[QUERY]], %c64
//       FUSED:     attn.await_order %[[TURNS]][%[[PLACE:.*]]] at %[[BLOCK]]
//       FUSED:     attn.backward_step {{.*}} dquery({{.*}} dkey({{.*}} dvalue(
//  FUSED-SAME:       fused = true
//       FUSED:     attn.pass_order %[[TURNS]][%[[PLACE]]] at %[[BLOCK]]
