// Origins of a part in its whole: every clause is printed as it is read, and what they say becomes sums on indices.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --attn-analyze-mask | FileCheck %s --check-prefix=RANGES

// CHECK-LABEL: func @clauses(
//       CHECK:   attn.sdpa ins({{[^)]*}}) causal_offset(%{{[^)]*}} : tensor<2xi32>)
//  CHECK-SAME:     q_origin(%{{.*}} : tensor<2xi32>) k_origin(%{{.*}} : tensor<2xi64>)
//  CHECK-SAME:     dropout(%{{.*}}, %{{.*}} : i64, i64) b_origin(%{{.*}} : i64) h_origin(%{{.*}} : i64)
//  CHECK-SAME:     whole(%{{.*}}, %{{.*}}, %{{.*}} : i64, i64, i64) outs({{.*}})
// Dropout, which is built later, still reads the origins.
// RANGES-LABEL: func @clauses(
//       RANGES:   attn.sdpa {{.*}} q_origin({{.*}}) k_origin({{.*}}) dropout({{.*}}) b_origin({{.*}}) h_origin
func.func @clauses(%q: tensor<2x3x4x8xf32>, %n: tensor<2xi32>, %w: tensor<2xi64>, %x: i64) -> tensor<2x3x4x8xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
      causal_offset(%n : tensor<2xi32>) q_origin(%n : tensor<2xi32>) k_origin(%w : tensor<2xi64>)
      dropout(%x, %x : i64, i64) b_origin(%x : i64) h_origin(%x : i64) whole(%x, %x, %x : i64, i64, i64)
      outs(%q : tensor<2x3x4x8xf32>) {causal = #attn.causal<offset>, dropout_p = 0.25 : f64} -> tensor<2x3x4x8xf32>
  return %r : tensor<2x3x4x8xf32>
}

// Keys behind the last row of a tile are not visited, wherever the shard lies: no map of tiles is made.
// RANGES-LABEL: func @skipped(
//   RANGES-NOT:   block_map
//   RANGES-NOT:   q_origin
//       RANGES:   mask_mod {
//       RANGES:     %[[K:.*]] = tensor.extract %arg2[%{{.*}}] : tensor<2xi32>
//       RANGES:     %[[Q:.*]] = tensor.extract %arg1[%{{.*}}] : tensor<2xi32>
//       RANGES:     arith.cmpi sle
//       RANGES:     arith.floordivsi
//       RANGES:     arith.cmpi eq
//       RANGES:   key_ranges {
//       RANGES:     attn.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : index, index, index, index
func.func @skipped(%q: tensor<2x3x64x8xf32>, %a: tensor<2xi32>, %b: tensor<2xi32>) -> tensor<2x3x64x8xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x64x8xf32>, tensor<2x3x64x8xf32>, tensor<2x3x64x8xf32>)
      q_origin(%a : tensor<2xi32>) k_origin(%b : tensor<2xi32>)
      outs(%q : tensor<2x3x64x8xf32>) {causal = #attn.causal<top_left>, chunk = 16 : i64} -> tensor<2x3x64x8xf32>
  return %r : tensor<2x3x64x8xf32>
}

// A score_mod has the sums in it.
// RANGES-LABEL: func @functions(
//       RANGES:   score_mod {
//       RANGES:     %[[I:.*]] = attn.index query
//       RANGES:     %[[AT:.*]] = tensor.extract %arg1
//       RANGES:     %[[FIRST:.*]] = arith.index_cast %[[AT]]
//       RANGES:     %[[WHOLE:.*]] = arith.addi %[[I]], %[[FIRST]]
//       RANGES:     %[[H:.*]] = attn.index head
//       RANGES:     arith.addi %[[H]], %{{.*}}
func.func @functions(%q: tensor<2x3x64x8xf32>, %a: tensor<2xi32>, %h: i64) -> tensor<2x3x64x8xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x64x8xf32>, tensor<2x3x64x8xf32>, tensor<2x3x64x8xf32>)
      q_origin(%a : tensor<2xi32>) h_origin(%h : i64) outs(%q : tensor<2x3x64x8xf32>) score_mod {
  ^bb0(%s: f32):
    %i = attn.index query : index
    %head = attn.index head : index
    %sum = arith.addi %i, %head : index
    %narrow = arith.index_cast %sum : index to i64
    %float = arith.sitofp %narrow : i64 to f32
    %t = arith.addf %s, %float : f32
    attn.yield %t : f32
  } -> tensor<2x3x64x8xf32>
  return %r : tensor<2x3x64x8xf32>
}
