// --remarks prints why each decision was taken: what was done, what was not and why, what was found.

// RUN: attnc %s -o %t.o --remarks=all 2>&1 | FileCheck %s --check-prefixes=PASSED,MISSED,ANALYSIS
// RUN: attnc %s -o %t.o --remarks=passed 2>&1 | FileCheck %s --check-prefix=PASSED --implicit-check-not=missed --implicit-check-not=analysis
// RUN: attnc %s -o %t.o --remarks=missed 2>&1 | FileCheck %s --check-prefix=MISSED --implicit-check-not=passed --implicit-check-not=analysis
// RUN: attnc %s -o %t.o --remarks=analysis 2>&1 | FileCheck %s --check-prefix=ANALYSIS --implicit-check-not=passed --implicit-check-not=missed
// RUN: attnc %s -o %t.o 2>&1 | count 0

// A kernel on the slow path is an error where one asks for it, and nothing is written.
// RUN: rm -f %t.fallback.o
// RUN: not attnc %s -o %t.fallback.o --fail-on-fallback 2>&1 | FileCheck %s --check-prefix=FALLBACK
// RUN: not ls %t.fallback.o
// FALLBACK: attnc-remarks.mlir:[[#]]:{{[0-9]+}}: error: 'attn.scores' op falls back to the materialised path (--fail-on-fallback); fuse the chain

// The kernel that is fused passes.
// RUN: attnc %S/Inputs/small.mlir -o %t.o --fail-on-fallback 2>&1 | count 0

// PASSED:   attnc-remarks.mlir:[[# @LINE + 11]]:{{[0-9]+}}: remark: passed chain-fused: chain fused into attn.sdpa [chain]
// MISSED:   attnc-remarks.mlir:[[# @LINE + 21]]:{{[0-9]+}}: remark: missed chain-not-fused: {{.*}}weights have another use{{.*}} [weights_too]
// MISSED:   remark: missed materialized: attn.scores runs on the materialised path, not as a flash kernel [weights_too]
// ANALYSIS: remark: analysis schedule-selected: #attn.{{.*}}query_tile = {{[0-9]+}}, key_tile = {{[0-9]+}}, lanes = {{.*}} [chain]
// PASSED:   remark: passed tiled: flash loop over tiles of {{.*}}: 1 full, 0 partial, 0 skipped per head [chain]

func.func @chain(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>) -> tensor<5x8xf32> {
  %s = tensor.empty() : tensor<5x7xf32>
  %o = tensor.empty() : tensor<5x8xf32>
  %scores = attn.scores ins(%q, %k : tensor<5x8xf32>, tensor<7x8xf32>) outs(%s : tensor<5x7xf32>) -> tensor<5x7xf32>
  %p = attn.softmax ins(%scores : tensor<5x7xf32>) outs(%s : tensor<5x7xf32>) -> tensor<5x7xf32>
  %out = attn.apply ins(%p, %v : tensor<5x7xf32>, tensor<7x8xf32>) outs(%o : tensor<5x8xf32>) -> tensor<5x8xf32>
  return %out : tensor<5x8xf32>
}

// Weights that are returned have to be in memory.
func.func @weights_too(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>)
    -> (tensor<5x8xf32>, tensor<5x7xf32>) {
  %s = tensor.empty() : tensor<5x7xf32>
  %o = tensor.empty() : tensor<5x8xf32>
  %scores = attn.scores ins(%q, %k : tensor<5x8xf32>, tensor<7x8xf32>) outs(%s : tensor<5x7xf32>) -> tensor<5x7xf32>
  %p = attn.softmax ins(%scores : tensor<5x7xf32>) outs(%s : tensor<5x7xf32>) -> tensor<5x7xf32>
  %out = attn.apply ins(%p, %v : tensor<5x7xf32>, tensor<7x8xf32>) outs(%o : tensor<5x8xf32>) -> tensor<5x8xf32>
  return %out, %p : tensor<5x8xf32>, tensor<5x7xf32>
}
