// Where copies and waits stand. That kernels are right by them: test/python/test_gpu_emulated.py.

// DEFINE: %{line} =
// DEFINE: %{steps} = attnc --problem=%{line} --target=sm_80 --stop-after=gpu -o - | \
// DEFINE:   attn-opt --attn-decompose-step --attn-pipeline-copies --canonicalize

// The keys of a loop with a mask follow those of the loop without one: its first token is the last one of that.
// REDEFINE: %{line} = 'b1 hq2 sq256 d64 bf16 causal=top_left'
// RUN: %{steps} | FileCheck %s --check-prefix=CAUSAL
//      CAUSAL: %[[FIRST:.*]] = attn.copy {{.*}} from %
//      CAUSAL: %[[FULL:.*]] = scf.for {{.*}} iter_args(%[[KEYS:.*]] = %[[FIRST]]) -> (!attn.token)
//      CAUSAL:   attn.wait %{{.*}}, %[[KEYS]]
//      CAUSAL:   %[[VALUES:.*]] = attn.copy
// CAUSAL-NEXT:   attn.product
//      CAUSAL:   attn.wait %[[VALUES]]
//      CAUSAL:   %[[NEXT:.*]] = attn.copy {{.*}} from %
//      CAUSAL:   scf.yield %[[NEXT]]
//      CAUSAL: scf.for {{.*}} iter_args(%{{.*}} = %[[FULL]]) -> (!attn.token)
//      CAUSAL:   attn.map_scores
//  CAUSAL-NOT: gpu.barrier

// attn-tile has said so of both loops.
// RUN: attnc --problem=%{line} --target=sm_80 --stop-after=tile -o - | FileCheck %s --check-prefix=ORDER
//      ORDER: scf.for
//      ORDER:   attn.online_step
//      ORDER: } {attn.consecutive}
//      ORDER: scf.for
//      ORDER:   attn.online_step
//      ORDER: } {attn.consecutive}

// Pages are gathered by each step, behind those that read the tiles before; what gathers has no token.
// REDEFINE: %{line} = 'b2 hq4 hkv1 sq1 sk203 d64 bf16 kv_lengths paged=16'
// RUN: %{steps} | FileCheck %s --check-prefix=PAGES
//      PAGES: scf.for
//      PAGES:   gpu.barrier
// PAGES-NEXT:   attn.gather_pages {{.*}} outs(%[[K:.*]] : memref<1x1x64x64xbf16, #gpu.address_space<workgroup>>)
//      PAGES:   gpu.barrier
// PAGES-NEXT:   attn.gather_pages
//      PAGES:   attn.wait{{ *$}}
//      PAGES:   attn.product ins(%{{.*}}, %[[K]] :

// Bytes are converted on their way to the tile.
// REDEFINE: %{line} = 'b1 hq2 sq64 sk128 d64 bf16 kv=int8 kvscale=head'
// RUN: %{steps} | FileCheck %s --check-prefix=BYTES
//      BYTES: scf.for
//      BYTES:   gpu.barrier
//      BYTES:   %[[K:.*]] = attn.copy {{.*}}xi8, {{.*}} outs(%{{.*}}xbf16, #gpu.address_space<workgroup>>)
//      BYTES:   gpu.barrier
//      BYTES:   %[[V:.*]] = attn.copy {{.*}}xi8, {{.*}} outs(%{{.*}}xbf16, #gpu.address_space<workgroup>>)
//      BYTES:   attn.wait %{{.*}}, %[[K]], %[[V]]{{$}}

// The tile of the last keys had the buffer of the tiles before it: each step waits for its own copies.
// REDEFINE: %{line} = 'b1 hq2 sq64 sk203 d64 bf16 kv=int8 kvscale=head'
// RUN: %{steps} | FileCheck %s --check-prefix=TAIL
//      TAIL: scf.for
//      TAIL:   %[[K:.*]] = attn.copy {{.*}}memref<1x1x64x64xi8
//      TAIL:   %[[V:.*]] = attn.copy {{.*}}memref<1x1x64x64xi8
//      TAIL:   attn.wait %{{.*}}, %[[K]], %[[V]]{{$}}
//      TAIL: %[[TAIL_K:.*]] = attn.copy {{.*}}memref<1x1x11x64xi8
//      TAIL: %[[TAIL_V:.*]] = attn.copy {{.*}}memref<1x1x11x64xi8
//      TAIL: attn.wait %{{[^,]*}}, %[[TAIL_V]], %[[TAIL_K]]{{$}}

// Decode with two stages has three tiles on their way, and waits until so many are left.
// REDEFINE: %{line} = 'b1 hq4 hkv1 sq1 sk1600 d128 bf16'
// RUN: %{steps} | FileCheck %s --check-prefix=STAGES
//      STAGES: #attn.block<{{.*}}key_tile = 32, {{.*}}stages = 2>
//      STAGES: memref.alloc() : memref<2x1x1x32x128xbf16, #gpu.address_space<workgroup>>
//      STAGES: %[[K0:.*]] = attn.copy {{.*}} from %
//      STAGES: %[[V0:.*]] = attn.copy {{.*}} from %
//      STAGES: %[[K1:.*]] = attn.copy {{.*}} from %
//      STAGES: scf.for {{.*}} iter_args(%[[K:.*]] = %[[K0]], %[[NEXT_K:.*]] = %[[K1]], %[[V:.*]] = %[[V0]], %[[STAGE:.*]] = %{{.*}})
//      STAGES:   attn.wait %{{.*}}, %[[K]] {pending = 2 : i64}
//      STAGES:   %[[NEXT_V:.*]] = attn.copy {{.*}} from %c32
//      STAGES:   attn.product
//      STAGES:   attn.wait %[[V]] {pending = 2 : i64}
//      STAGES:   %[[LAST_K:.*]] = attn.copy {{.*}} from %c64
//      STAGES:   scf.yield %[[NEXT_K]], %[[LAST_K]], %[[NEXT_V]], %

// Columns of gradients are copied one round ahead, to the other stage.
// REDEFINE: %{line} = 'b1 hq2 sq256 d64 bf16 grad=q,k,v'
// RUN: %{steps} | FileCheck %s --check-prefix=AHEAD
//      AHEAD: memref.alloc() : memref<2x1x1x64x64xbf16, #gpu.address_space<workgroup>>
//      AHEAD: gpu.barrier
//      AHEAD: %[[A0:.*]] = attn.copy {{.*}} from %
//      AHEAD: %[[B0:.*]] = attn.copy {{.*}} from %
//      AHEAD: scf.for {{.*}} iter_args(%[[A:.*]] = %[[A0]], %[[B:.*]] = %[[B0]], %[[STAGE:.*]] = %c0)
//  AHEAD-NOT:   gpu.barrier
//      AHEAD:   attn.wait %{{.*}}, %{{.*}}, %[[A]], %[[B]]{{$}}
//      AHEAD:   %[[OTHER:.*]] = arith.subi %c1, %[[STAGE]]
//      AHEAD:   %[[A1:.*]] = attn.copy {{.*}} from %c64
//      AHEAD:   %[[B1:.*]] = attn.copy {{.*}} from %c64
//  AHEAD-NOT:   attn.wait
//      AHEAD:   scf.yield %[[A1]], %[[B1]], %[[OTHER]]
