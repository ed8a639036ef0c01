// A batch of sequences of different lengths, packed one after the other without padding.
//
// cu_seqlens are the places where sequences start, and the end of the last: sequence b has rows cu_seqlens[b] to
// cu_seqlens[b + 1] - 1. Queries and keys count from the start of their own sequence, and each sequence sees itself
// only. All sizes but those of the heads are dynamic: one kernel serves every batch.
//
//   attnc run examples/packed-sequences.mlir --check
//   attnc examples/packed-sequences.mlir -o packed.o --header=packed.h
//
// RUN: attnc run %s --check --fail-on-fallback | FileCheck %s
// RUN: attnc run %s --check --seed=2 | FileCheck %s
// CHECK: output: largest error {{.*}}: ok
func.func @packed(%q: tensor<?x8x64xf32>, %k: tensor<?x2x64xf32>, %v: tensor<?x2x64xf32>,
                  %starts: tensor<?xi32> {attn.name = "cu_seqlens"}) -> tensor<?x8x64xf32> {
  %c0 = arith.constant 0 : index
  %total = tensor.dim %q, %c0 : tensor<?x8x64xf32>
  %o = tensor.empty(%total) : tensor<?x8x64xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<?x8x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32>)
      cu_seqlens(%starts, %starts : tensor<?xi32>, tensor<?xi32>) outs(%o : tensor<?x8x64xf32>)
      {causal = #attn.causal<top_left>} -> tensor<?x8x64xf32>
  return %out : tensor<?x8x64xf32>
}
