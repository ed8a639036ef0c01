// Causal self-attention as one op, and how a mask becomes less work.
//
// `causal` needs an alignment wherever the numbers of queries and keys differ: with 113 queries and 203 keys,
// `bottom_right` means that the last query sees every key (a prompt that continues a cache), `top_left` that the first
// query sees only the first key. Systems disagree about the default, so attn has none: leave the alignment out here,
// and the error says what to write.
//
//   attn-opt --attn-canonicalize --attn-analyze-mask examples/causal.mlir
//
// The analysis turns the word `causal` into a predicate, and solves it for the keys that a tile of queries [first, end)
// visits at all, below end + 90, and for those that need no test, below first + 91: the difference is the diagonal.
//
// RUN: attn-opt --attn-canonicalize --attn-analyze-mask %s | FileCheck %s
// RUN: attnc run %s --check --fail-on-fallback | FileCheck %s --check-prefix=NUMBERS
// RUN: sed -e 's/causal = #attn.causal<bottom_right>/causal/' %s | not attn-opt 2>&1 | FileCheck %s --check-prefix=ERROR
//
// CHECK-LABEL: func.func @causal
// CHECK:         attn.sdpa
// CHECK-SAME:      mask_mod
// CHECK:         attn.yield %{{.*}} : i1
// CHECK:         key_ranges
// CHECK-DAG:       attn.index first_query
// CHECK-DAG:       attn.index end_query
// CHECK:           attn.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : index, index, index, index
//
// NUMBERS:      output: largest error {{.*}}: ok
// NUMBERS-NEXT: lse: largest error {{.*}}: ok
// ERROR: error: {{.*}}C5: {{.*}}bottom_right
//
// The log-sum-exp of each row is a second result, for those who merge states or write a backward pass.
func.func @causal(%q: tensor<2x8x113x64xf32>, %k: tensor<2x8x203x64xf32>, %v: tensor<2x8x203x80xf32>)
    -> (tensor<2x8x113x80xf32>, tensor<2x8x113xf32>) {
  %o = tensor.empty() : tensor<2x8x113x80xf32>
  %l = tensor.empty() : tensor<2x8x113xf32>
  %out, %lse = attn.sdpa
      ins(%q, %k, %v : tensor<2x8x113x64xf32>, tensor<2x8x203x64xf32>, tensor<2x8x203x80xf32>)
      outs(%o, %l : tensor<2x8x113x80xf32>, tensor<2x8x113xf32>) {causal = #attn.causal<bottom_right>}
      -> tensor<2x8x113x80xf32>, tensor<2x8x113xf32>
  return %out, %lse : tensor<2x8x113x80xf32>, tensor<2x8x113xf32>
}
