// linalg.softmax between scores and attn.apply. Numbers are those of the RUN lines with --check.
// RUN: attn-opt %s --split-input-file --attn-canonicalize --attn-fuse | FileCheck %s
// RUN: sed -e '/^\/\/ -----/,$d' %s | attnc run - --check --fail-on-fallback | FileCheck %s --check-prefix=RIGHT
// RUN: sed -e '1,/^\/\/ -----/d' %s | attnc run - --check --remarks=missed 2>&1 | FileCheck %s --check-prefix=OTHER
// RIGHT-COUNT-2: : ok

// CHECK-LABEL: func @over_keys(
//   CHECK-NOT:   softmax
//       CHECK:   attn.sdpa
func.func @over_keys(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>) -> tensor<2x4x8xf32> {
  %s = tensor.empty() : tensor<2x4x6xf32>
  %o = tensor.empty() : tensor<2x4x8xf32>
  %scores = attn.scores ins(%q, %k : tensor<2x4x8xf32>, tensor<2x6x8xf32>) outs(%s : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %masked = attn.mask ins(%scores : tensor<2x4x6xf32>) outs(%s : tensor<2x4x6xf32>) {causal = #attn.causal<top_left>} -> tensor<2x4x6xf32>
  %p = linalg.softmax dimension(2) ins(%masked : tensor<2x4x6xf32>) outs(%s : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %r = attn.apply ins(%p, %v : tensor<2x4x6xf32>, tensor<2x6x8xf32>) outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// CHECK-LABEL: func @dropped(
//   CHECK-NOT:   linalg.softmax
//       CHECK:   attn.sdpa
func.func @dropped(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %a: i64, %b: i64) -> tensor<2x4x8xf32> {
  %s = tensor.empty() : tensor<2x4x6xf32>
  %o = tensor.empty() : tensor<2x4x8xf32>
  %scores = attn.scores ins(%q, %k : tensor<2x4x8xf32>, tensor<2x6x8xf32>) outs(%s : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %p = linalg.softmax dimension(2) ins(%scores : tensor<2x4x6xf32>) outs(%s : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %d = attn.dropout ins(%p : tensor<2x4x6xf32>) dropout(%a, %b : i64, i64) outs(%s : tensor<2x4x6xf32>) {dropout_p = 0.5 : f64} -> tensor<2x4x6xf32>
  %r = attn.apply ins(%d, %v : tensor<2x4x6xf32>, tensor<2x6x8xf32>) outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// -----

// Over the queries it is another function, which stays right.
// OTHER: remark: missed chain-not-fused: chain not fused: the weights come from a linalg.softmax over dimension 1, not over that of the keys, 2
// OTHER: : ok
// CHECK-LABEL: func @over_queries(
//       CHECK:   linalg.softmax dimension(1)
func.func @over_queries(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>) -> tensor<2x4x8xf32> {
  %s = tensor.empty() : tensor<2x4x6xf32>
  %o = tensor.empty() : tensor<2x4x8xf32>
  %scores = attn.scores ins(%q, %k : tensor<2x4x8xf32>, tensor<2x6x8xf32>) outs(%s : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %p = linalg.softmax dimension(1) ins(%scores : tensor<2x4x6xf32>) outs(%s : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %r = attn.apply ins(%p, %v : tensor<2x4x6xf32>, tensor<2x6x8xf32>) outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// -----

// Weights that lie transposed: their keys are dimension 0.
// OTHER: : ok
// CHECK-LABEL: func @transposed(
//       CHECK:   attn.softmax {{.*}} {maps = [
func.func @transposed(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %s = tensor.empty() : tensor<6x4xf32>
  %o = tensor.empty() : tensor<4x8xf32>
  %scores = attn.scores ins(%q, %k : tensor<4x8xf32>, tensor<6x8xf32>) outs(%s : tensor<6x4xf32>)
      {maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (j, i)>]} -> tensor<6x4xf32>
  %p = linalg.softmax dimension(0) ins(%scores : tensor<6x4xf32>) outs(%s : tensor<6x4xf32>) -> tensor<6x4xf32>
  %r = attn.apply ins(%p, %v : tensor<6x4xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      {maps = [affine_map<(i, j, e) -> (j, i)>, affine_map<(i, j, e) -> (j, e)>, affine_map<(i, j, e) -> (i, e)>]} -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
