// Where copies and waits of gradients stand. That kernels are right by them: test/python/test_gpu_gradients.py.

// DEFINE: %{line} =
// DEFINE: %{steps} = attnc --problem=%{line} --target=sm_80 --stop-after=gpu -o - | \
// DEFINE:   attn-opt --attn-decompose-step --attn-pipeline-copies --canonicalize

// Of two stages a loop copies the next tiles of K and V while it multiplies, and waits once. Rows of Q and dO have a
// tile each for the whole block.
// REDEFINE: %{line} = 'hq2 sq256 d64 bf16 grad=q,k,v'
// RUN: %{steps} | FileCheck %s --check-prefix=AHEAD
//      AHEAD: gpu.func @sdpa_backward_kernel_1({{.*}}stages = 2>
//      AHEAD:   %[[Q:.*]] = attn.copy {{.*}} outs(%[[Q_ROWS:[a-z0-9_]*]] : memref<1x1x64x64xbf16, #gpu.address_space<workgroup>>)
//      AHEAD:   %[[DO:.*]] = attn.copy {{.*}} outs(%[[DO_ROWS:[a-z0-9_]*]] : memref<1x1x64x64xbf16, #gpu.address_space<workgroup>>)
//      AHEAD:   gpu.barrier
//      AHEAD:   %[[K0:.*]] = attn.copy {{.*}} from %c0
//      AHEAD:   %[[V0:.*]] = attn.copy {{.*}} from %c0
//      AHEAD:   scf.for {{.*}} iter_args(%[[K:.*]] = %[[K0]], %[[V:.*]] = %[[V0]], %[[STAGE:.*]] = %c0)
//      AHEAD:     attn.wait %[[Q]], %[[DO]], %[[K]], %[[V]]
// AHEAD-NEXT:     %[[OTHER:.*]] = arith.subi %c1, %[[STAGE]]
//      AHEAD:     memref.subview %{{.*}}[%[[OTHER]], 0, 0, 0, 0]
//      AHEAD:     %[[NEXT_K:.*]] = attn.copy {{.*}} from %c64
//      AHEAD:     %[[NEXT_V:.*]] = attn.copy {{.*}} from %c64
//      AHEAD:     %[[K_TILE:.*]] = memref.subview %{{.*}}[%[[STAGE]], 0, 0, 0, 0]
//      AHEAD:     attn.product ins(%[[Q_ROWS]], %[[K_TILE]] :
//  AHEAD-NOT:     attn.wait
//      AHEAD:     attn.product ins(%[[DO_ROWS]],
//      AHEAD:     attn.score_gradients
//      AHEAD:     scf.yield %[[NEXT_K]], %[[NEXT_V]], %[[OTHER]]

// Of one stage, S is multiplied while V is on its way.
// REDEFINE: %{line} = 'hq2 sq256 d256 bf16 grad=q,k,v'
// RUN: %{steps} | FileCheck %s --check-prefix=ONCE
//      ONCE: gpu.func @sdpa_backward_kernel_1(
//      ONCE:   %[[Q:.*]] = attn.copy
//      ONCE:   %[[DO:.*]] = attn.copy
//      ONCE:   scf.for
//      ONCE:     gpu.barrier
//      ONCE:     %[[K:.*]] = attn.copy
//      ONCE:     %[[V:.*]] = attn.copy
//      ONCE:     attn.wait %[[Q]], %[[DO]], %[[K]] {pending = 1 : i64}
//      ONCE:     attn.product
//      ONCE:     attn.wait %[[V]]{{$}}
//      ONCE:     attn.product
//      ONCE:     attn.score_gradients
// Sums of keys and of values have a kernel each; that of values needs neither V nor dP.
//      ONCE: gpu.func @sdpa_backward_kernel_3(
//      ONCE:   scf.for
//      ONCE:     attn.wait %{{[^,]*}}, %{{[^,]*}} {pending = 1 : i64}
// ONCE-COUNT-1:  attn.product
//      ONCE:     attn.score_gradients
//  ONCE-NOT:     dweights
//      ONCE:     attn.product {{.*}}contraction = #attn.contraction<values>

// What is left behind the tiles has no tile ahead, in buffers of the loop's size; in front of it a barrier.
// REDEFINE: %{line} = 'hq2 sq203 d64 bf16 grad=q,k,v'
// RUN: %{steps} | FileCheck %s --check-prefix=TAIL
//      TAIL: gpu.func @sdpa_backward_kernel_1(
//      TAIL:   scf.for
//      TAIL:     scf.yield
//      TAIL:   gpu.barrier
//      TAIL:   %[[K:.*]] = attn.copy ins(%{{.*}} : memref<1x1x11x64xbf16, {{.*}} outs(%{{.*}} : memref<1x1x64x64xbf16,
//      TAIL:   %[[V:.*]] = attn.copy ins(%{{.*}} : memref<1x1x11x64xbf16, {{.*}} outs(%{{.*}} : memref<1x1x64x64xbf16,
//      TAIL:   attn.wait %{{.*}}, %[[K]] {pending = 1 : i64}
//      TAIL:   attn.wait %[[V]]{{$}}

// Where columns are queries and a mask may leave one without keys, Q and dO of it are not read.
// REDEFINE: %{line} = 'hq2 sq256 d64 bf16 grad=q,k,v causal=top_left'
// RUN: %{steps} | FileCheck %s --check-prefix=EMPTY
//      EMPTY: gpu.func @sdpa_backward_kernel_1(
//  EMPTY-NOT:   where(
//      EMPTY: gpu.func @sdpa_backward_kernel_2(
//      EMPTY:   attn.copy
//  EMPTY-NOT:   where(
//      EMPTY:   attn.copy
//      EMPTY:   gpu.barrier
//      EMPTY:   attn.copy {{.*}} where(%[[LSE:[a-z0-9_]*]] :
//      EMPTY:   attn.copy {{.*}} where(%[[LSE]] :
