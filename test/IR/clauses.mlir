// Lengths, sinks, dropout, packed sequences, pages: every clause is printed as it is read.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func @clauses(
//       CHECK:   attn.sdpa ins({{[^)]*}}) sink(%{{[^)]*}} : tensor<3xf32>) q_lengths(%{{[^)]*}} : tensor<2xi32>)
//  CHECK-SAME:     kv_lengths(%{{[^)]*}} : tensor<2xi32>) causal_offset(%{{[^)]*}} : tensor<2xi32>)
//  CHECK-SAME:     score_weight(%{{[^)]*}} : tensor<8xf32>) dropout(%{{[^)]*}}, %{{[^)]*}} : i64, i64) outs({{[^)]*}})
//  CHECK-SAME:     {causal = #attn.causal<offset>, dropout_p = 2.500000e-01 : f64} score_mod {
//       CHECK:   ^bb0(%[[S:.*]]: f32):
//       CHECK:     attn.yield %[[S]] : f32
//       CHECK:   } mask_mod {
//       CHECK:     attn.yield %{{.*}} : i1
//       CHECK:   } -> tensor<2x3x4x8xf32>
func.func @clauses(%q: tensor<2x3x4x8xf32>, %s: tensor<3xf32>, %n: tensor<2xi32>, %w: tensor<8xf32>, %x: i64)
    -> tensor<2x3x4x8xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
      sink(%s : tensor<3xf32>) q_lengths(%n : tensor<2xi32>) kv_lengths(%n : tensor<2xi32>)
      causal_offset(%n : tensor<2xi32>) score_weight(%w : tensor<8xf32>) dropout(%x, %x : i64, i64)
      outs(%q : tensor<2x3x4x8xf32>) {causal = #attn.causal<offset>, dropout_p = 0.25 : f64} score_mod {
  ^bb0(%score: f32):
    attn.yield %score : f32
  } mask_mod {
    %keep = arith.constant true
    attn.yield %keep : i1
  } -> tensor<2x3x4x8xf32>
  return %r : tensor<2x3x4x8xf32>
}

// CHECK-LABEL: func @packed(
//       CHECK:   attn.sdpa ins({{.*}}) cu_seqlens(%{{.*}}, %{{.*}} : tensor<3xi32>, tensor<3xi32>) outs
func.func @packed(%q: tensor<9x3x8xf32>, %c: tensor<3xi32>, %l: tensor<3x9xf32>) -> tensor<3x9xf32> {
  %r:2 = attn.sdpa ins(%q, %q, %q : tensor<9x3x8xf32>, tensor<9x3x8xf32>, tensor<9x3x8xf32>)
      cu_seqlens(%c, %c : tensor<3xi32>, tensor<3xi32>) outs(%q, %l : tensor<9x3x8xf32>, tensor<3x9xf32>)
      -> tensor<9x3x8xf32>, tensor<3x9xf32>
  return %r#1 : tensor<3x9xf32>
}

// CHECK-LABEL: func @chain(
//       CHECK:   attn.softmax ins({{.*}}) sink(%{{.*}} : tensor<3xf32>) q_lengths(%{{.*}} : tensor<2xi32>) outs(%{{.*}}, %{{.*}} :
//       CHECK:   attn.dropout ins({{.*}}) dropout(%{{.*}}, %{{.*}} : i64, i64) outs({{.*}}) {dropout_p = 5.000000e-01 : f64}
func.func @chain(%p: tensor<2x3x4x5xf32>, %l: tensor<2x3x4xf32>, %s: tensor<3xf32>, %n: tensor<2xi32>, %x: i64)
    -> tensor<2x3x4x5xf32> {
  %a:2 = attn.softmax ins(%p : tensor<2x3x4x5xf32>) sink(%s : tensor<3xf32>) q_lengths(%n : tensor<2xi32>)
      outs(%p, %l : tensor<2x3x4x5xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4x5xf32>, tensor<2x3x4xf32>
  %b = attn.dropout ins(%a#0 : tensor<2x3x4x5xf32>) dropout(%x, %x : i64, i64) outs(%p : tensor<2x3x4x5xf32>)
      {dropout_p = 0.5 : f64} -> tensor<2x3x4x5xf32>
  return %b : tensor<2x3x4x5xf32>
}

// CHECK-LABEL: func @classify(
//       CHECK:   attn.classify_tile rows(%{{.*}}) keys(%{{.*}}) {lanes = 4 : i64, query_tile = 8 : i64} mask_mod {
//       CHECK:   } : i8
func.func @classify(%rows: index, %keys: index) -> i8 {
  %kind = attn.classify_tile rows(%rows) keys(%keys) {query_tile = 8, lanes = 4} mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %keep = arith.cmpi ne, %i, %j : index
    attn.yield %keep : i1
  } : i8
  return %kind : i8
}

// CHECK-LABEL: func @pages(
//       CHECK:   attn.gather_pages ins({{.*}}) lengths(%{{.*}} : tensor<2xi32>) outs({{.*}}) {page_layout = #attn.page_layout<nhd>}
func.func @pages(%c: tensor<7x16x2x8xf32>, %t: tensor<2x3xi32>, %n: tensor<2xi32>, %o: tensor<2x2x48x8xf32>)
    -> tensor<2x2x48x8xf32> {
  %r = attn.gather_pages ins(%c, %t : tensor<7x16x2x8xf32>, tensor<2x3xi32>) lengths(%n : tensor<2xi32>)
      outs(%o : tensor<2x2x48x8xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x2x48x8xf32>
  return %r : tensor<2x2x48x8xf32>
}
