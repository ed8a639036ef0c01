// RUN: attn-opt %s --attn-specialize-sequences=target=x86-64-v3 --cse | FileCheck %s
// Twice is once.
// RUN: attn-opt %s --attn-specialize-sequences=target=x86-64-v3 --attn-specialize-sequences=target=x86-64-v3 --cse | FileCheck %s
// RUN: attn-opt %s --attn-specialize-sequences=target=sm_80 | FileCheck %s --check-prefix=GPU

// GPU-NOT: min_queries

!q = tensor<20x4x32xf32>
!cache = tensor<12x16x2x32xf32>
!k = tensor<3x2x64x32xf32>
!lse = tensor<4x20xf32>

// Rows of sequences of one query become dense, what is made of them goes to their rows; so do those of 2 to 4 and of 5 to
// 8, if there are any, and the others follow.
// CHECK-LABEL: func @step(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: tensor<20x4x32xf32>, {{.*}} %[[N:[a-z0-9]*]]: tensor<3xi32>, %[[SUMS:[a-z0-9]*]]: tensor<4xi32>
//       CHECK:   %[[ROWS:.*]] = scf.for {{.*}} -> (tensor<3x4x1x32xf32>) {
//       CHECK:     %[[ONE:.*]] = arith.cmpi eq, %{{.*}}, %c1
//       CHECK:     scf.if %[[ONE]]
//       CHECK:       tensor.extract_slice %[[Q]]
//       CHECK:   %[[LENGTHS:.*]] = scf.for {{.*}} -> (tensor<3xi32>) {
//       CHECK:   attn.gather_pages {{.*}} lengths(%[[LENGTHS]] :
//       CHECK:   attn.gather_pages {{.*}} lengths(%[[LENGTHS]] :
//       CHECK:   %[[SINGLE:.*]]:2 = attn.sdpa ins(%[[ROWS]], {{.*}} kv_lengths(%[[LENGTHS]] : tensor<3xi32>) outs
//  CHECK-SAME:     causal = #attn.causal<bottom_right>
//   CHECK-NOT:     min_queries
//       CHECK:   %[[OUT:.*]] = scf.for {{.*}} -> (tensor<20x4x32xf32>) {
//       CHECK:     tensor.extract_slice %[[SINGLE]]#0
//       CHECK:   %[[LSE:.*]] = scf.for {{.*}} -> (tensor<4x20xf32>) {
//       CHECK:     tensor.extract_slice %[[SINGLE]]#1
//       CHECK:   %[[ANY:.*]] = scf.for {{.*}} -> (i1) {
//       CHECK:   %[[FOUR:.*]]:2 = scf.if %[[ANY]]
//       CHECK:     %[[ROWS4:.*]] = scf.for {{.*}} -> (tensor<3x4x4x32xf32>) {
//       CHECK:     attn.sdpa ins(%[[ROWS4]], {{.*}} q_lengths(%{{.*}}) kv_lengths(%{{.*}}) outs
//   CHECK-NOT:     min_queries
//       CHECK:     scf.yield %[[OUT]], %[[LSE]] :
//       CHECK:   %[[EIGHT:.*]]:2 = scf.if
//       CHECK:     attn.sdpa ins({{.*}} : tensor<3x4x8x32xf32>
//       CHECK:     scf.yield %[[FOUR]]#0, %[[FOUR]]#1 :
//       CHECK:   attn.sdpa ins(%[[Q]], {{.*}} kv_lengths(%[[N]] : tensor<3xi32>) cu_seqlens(%[[SUMS]] : tensor<4xi32>)
//  CHECK-SAME:     outs(%[[EIGHT]]#0, %[[EIGHT]]#1 : {{.*}} min_queries = 9
func.func @step(%q: !q, %kc: !cache, %vc: !cache, %n: tensor<3xi32>, %sums: tensor<4xi32>, %table: tensor<3x4xi32>)
    -> (!q, !lse) {
  %k0 = tensor.empty() : !k
  %v0 = tensor.empty() : !k
  %k = attn.gather_pages ins(%kc, %table : !cache, tensor<3x4xi32>) lengths(%n : tensor<3xi32>) outs(%k0 : !k)
      {page_layout = #attn.page_layout<nhd>} -> !k
  %v = attn.gather_pages ins(%vc, %table : !cache, tensor<3x4xi32>) lengths(%n : tensor<3xi32>) outs(%v0 : !k)
      {page_layout = #attn.page_layout<nhd>} -> !k
  %o0 = tensor.empty() : !q
  %l0 = tensor.empty() : !lse
  %o:2 = attn.sdpa ins(%q, %k, %v : !q, !k, !k) kv_lengths(%n : tensor<3xi32>) cu_seqlens(%sums : tensor<4xi32>)
      outs(%o0, %l0 : !q, !lse) {causal = #attn.causal<bottom_right>} -> !q, !lse
  return %o#0, %o#1 : !q, !lse
}

// Packed keys have no kernel for single queries, nor has a schedule by hand another one.
// CHECK-LABEL: func @packed(
//   CHECK-NOT:   scf.for
//   CHECK-NOT:   min_queries
func.func @packed(%q: !q, %k: tensor<30x2x32xf32>, %sums: tensor<4xi32>, %keys: tensor<4xi32>) -> !q {
  %o0 = tensor.empty() : !q
  %o = attn.sdpa ins(%q, %k, %k : !q, tensor<30x2x32xf32>, tensor<30x2x32xf32>)
      cu_seqlens(%sums, %keys : tensor<4xi32>, tensor<4xi32>) outs(%o0 : !q) -> !q
  return %o : !q
}
// CHECK-LABEL: func @scheduled(
//   CHECK-NOT:   scf.for
//   CHECK-NOT:   min_queries
func.func @scheduled(%q: !q, %k: !k, %sums: tensor<4xi32>) -> !q {
  %o0 = tensor.empty() : !q
  %o = attn.sdpa ins(%q, %k, %k : !q, !k, !k) cu_seqlens(%sums : tensor<4xi32>) outs(%o0 : !q)
      {schedule = #attn.prefill<query_tile = 8, key_tile = 16, lanes = 8, block_rows = 4, block_vectors = 1>} -> !q
  return %o : !q
}
