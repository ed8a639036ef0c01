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
