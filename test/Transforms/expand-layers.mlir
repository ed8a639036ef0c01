// RUN: attn-opt %s --attn-expand-layers | FileCheck %s

// Heads are columns: a view of the projection, which sdpa reads through its maps; the output likewise.
//   CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d4)>
//   CHECK-DAG: #[[K:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 floordiv 2, d4)>
//   CHECK-DAG: #[[V:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 floordiv 2, d5)>
//   CHECK-DAG: #[[O:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d5)>
// CHECK-LABEL: func @heads_are_views(
//       CHECK:   %[[XQ:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<2x?x8xf32>, tensor<8x16xf32>)
//       CHECK:   %[[QUERY:.*]] = tensor.expand_shape %[[XQ]] {{\[\[}}0], [1], [2, 3]] output_shape [2, %{{.*}}, 4, 4]
//       CHECK:   %[[XK:.*]] = linalg.generic {{.*}} ins(%arg0, %arg2 : tensor<2x?x8xf32>, tensor<8x8xf32>)
//       CHECK:   %[[KEY:.*]] = tensor.expand_shape %[[XK]] {{.*}} into tensor<2x?x2x4xf32>
//       CHECK:   %[[XV:.*]] = linalg.generic {{.*}} ins(%arg0, %arg3 : tensor<2x?x8xf32>, tensor<8x6xf32>)
//       CHECK:   %[[VALUE:.*]] = tensor.expand_shape %[[XV]] {{.*}} into tensor<2x?x2x3xf32>
//   CHECK-NOT:   transpose
//       CHECK:   %[[OUT:.*]] = attn.sdpa ins(%[[QUERY]], %[[KEY]], %[[VALUE]]
//  CHECK-SAME:     causal = #attn.causal<top_left>, maps = [#[[Q]], #[[K]], #[[V]], #[[O]]], softcap = 3.000000e+01
//       CHECK:   %[[CONCAT:.*]] = tensor.collapse_shape %[[OUT]] {{.*}} : tensor<2x?x4x3xf32> into tensor<2x?x12xf32>
//       CHECK:   %[[ZERO:.*]] = linalg.fill {{.*}} outs(%arg5
//       CHECK:   %[[Y:.*]] = linalg.generic {{.*}} ins(%[[CONCAT]], %arg4 {{.*}} outs(%[[ZERO]]
//       CHECK:   return %[[Y]]
func.func @heads_are_views(%x: tensor<2x?x8xf32>, %wq: tensor<8x16xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x6xf32>,
                           %wo: tensor<12x5xf32>, %y: tensor<2x?x5xf32>) -> tensor<2x?x5xf32> {
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x?x8xf32>, tensor<8x16xf32>, tensor<8x8xf32>,
                           tensor<8x6xf32>, tensor<12x5xf32>) outs(%y : tensor<2x?x5xf32>)
      {heads = 4, kv_heads = 2, causal, softcap = 30.0 : f64} -> tensor<2x?x5xf32>
  return %r : tensor<2x?x5xf32>
}

// A window needs no alignment: there are as many queries as keys.
// CHECK-LABEL: func @window(
//       CHECK:   attn.sdpa {{.*}}window = #attn.window<left = 2>}
func.func @window(%x: tensor<1x5x8xf32>, %w: tensor<8x8xf32>, %y: tensor<1x5x8xf32>) -> tensor<1x5x8xf32> {
  %r = attn.multi_head ins(%x, %w, %w, %w, %w : tensor<1x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>,
                           tensor<8x8xf32>) outs(%y : tensor<1x5x8xf32>)
      {heads = 2, window = #attn.window<left = 2>} -> tensor<1x5x8xf32>
  return %r : tensor<1x5x8xf32>
}

// Narrow rows are summed up wide, and rounded once.
// CHECK-LABEL: func @general(
//       CHECK:   %[[SUM:.*]] = linalg.generic {{.*}} ins(%arg0, %arg2 : tensor<2x4x16xf16>, tensor<16x16xf16>) outs({{.*}} : tensor<2x4x16xf32>)
//       CHECK:   %[[ROWS:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<2x4x16xf32>) outs({{.*}} : tensor<2x4x16xf16>)
//       CHECK:     arith.truncf
//       CHECK:   attn.scores ins(%[[ROWS]], %arg1 : tensor<2x4x16xf16>, tensor<2x6x16xf16>) outs(
//   CHECK-NOT:   weights
//   CHECK-NOT:   kind
func.func @general(%q: tensor<2x4x16xf16>, %k: tensor<2x6x16xf16>, %w: tensor<16x16xf16>, %s: tensor<2x4x6xf16>)
    -> tensor<2x4x6xf16> {
  %r = attn.scores ins(%q, %k : tensor<2x4x16xf16>, tensor<2x6x16xf16>) weights(%w : tensor<16x16xf16>)
      outs(%s : tensor<2x4x6xf16>) {kind = #attn.score_kind<general>} -> tensor<2x4x6xf16>
  return %r : tensor<2x4x6xf16>
}

// Each side by its own weight, wherever its columns are.
// CHECK-LABEL: func @additive(
//       CHECK:   %[[Q:.*]] = linalg.generic {{.*}} ins(%arg0, %arg2 : tensor<16x4xf32>, tensor<16x24xf32>) outs({{.*}} : tensor<24x4xf32>)
//       CHECK:   %[[K:.*]] = linalg.generic {{.*}} ins(%arg1, %arg3 : tensor<6x16xf32>, tensor<16x24xf32>) outs({{.*}} : tensor<6x24xf32>)
//       CHECK:   attn.scores ins(%[[Q]], %[[K]] : {{.*}}) weights(%arg4 : tensor<24xf32>)
func.func @additive(%q: tensor<16x4xf32>, %k: tensor<6x16xf32>, %wq: tensor<16x24xf32>, %wk: tensor<16x24xf32>,
                    %w: tensor<24xf32>, %s: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = attn.scores ins(%q, %k : tensor<16x4xf32>, tensor<6x16xf32>)
      weights(%wq, %wk, %w : tensor<16x24xf32>, tensor<16x24xf32>, tensor<24xf32>) outs(%s : tensor<4x6xf32>)
      {kind = #attn.score_kind<additive>,
       maps = [affine_map<(i, j, d) -> (d, i)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]}
      -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
