// Operands in other layouts: views by explicit maps, and what the default maps make of shapes.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --attn-lower-to-reference | FileCheck %s --check-prefix=LINALG

// CHECK-DAG: #[[$BSHD:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d4)>
// CHECK-DAG: #[[$GROUP:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 floordiv 4, d4)>

// The scores' loops are (i, j, d): the transposed K is read as [d, j].
// LINALG-DAG: #[[$TRANSPOSED:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// LINALG-DAG: #[[$SHARED:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 floordiv 4, d3, d4)>
// LINALG-DAG: #[[$ONEKEY:.*]] = affine_map<(d0, d1, d2, d3) -> (0, d2, 0)>

// CHECK-LABEL: func @transposed_key(
//       CHECK:   {maps = [#{{[^,]*}}, #{{[^,]*}}, #{{[^,]*}}]}
// LINALG-LABEL: func @transposed_key(
//       LINALG:   linalg.generic {indexing_maps = [#{{[^,]*}}, #[[$TRANSPOSED]], #{{[^,]*}}]
func.func @transposed_key(%q: tensor<4x16xf32>, %k: tensor<16x6xf32>, %init: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<16x6xf32>) outs(%init : tensor<4x6xf32>)
      {maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (d, j)>, affine_map<(i, j, d) -> (i, j)>]}
      -> tensor<4x6xf32>
  return %s : tensor<4x6xf32>
}

// Q as (batch, row, head, size), K and V with two heads for eight.
// CHECK-LABEL: func @bshd(
//       CHECK:   attn.sdpa {{.*}} {maps = [#[[$BSHD]], #[[$GROUP]], #{{[^,]*}}, #{{[^,]*}}]}
func.func @bshd(%q: tensor<2x113x8x64xf32>, %k: tensor<2x203x2x64xf32>, %v: tensor<2x203x2x80xf32>,
                %init: tensor<2x113x8x80xf32>) -> tensor<2x113x8x80xf32> {
  %o = attn.sdpa ins(%q, %k, %v : tensor<2x113x8x64xf32>, tensor<2x203x2x64xf32>, tensor<2x203x2x80xf32>)
      outs(%init : tensor<2x113x8x80xf32>)
      {maps = [affine_map<(b, h, i, j, d, e) -> (b, i, h, d)>, affine_map<(b, h, i, j, d, e) -> (b, j, h floordiv 4, d)>,
               affine_map<(b, h, i, j, d, e) -> (b, j, h floordiv 4, e)>, affine_map<(b, h, i, j, d, e) -> (b, i, h, e)>]}
      -> tensor<2x113x8x80xf32>
  return %o : tensor<2x113x8x80xf32>
}

// LINALG-LABEL: func @grouped_heads(
//       LINALG:   linalg.generic {indexing_maps = [#{{[^,]*}}, #[[$SHARED]], #{{[^,]*}}]
func.func @grouped_heads(%q: tensor<1x8x4x16xf32>, %k: tensor<1x2x6x16xf32>,
                         %init: tensor<1x8x4x6xf32>) -> tensor<1x8x4x6xf32> {
  %s = attn.scores ins(%q, %k : tensor<1x8x4x16xf32>, tensor<1x2x6x16xf32>) outs(%init : tensor<1x8x4x6xf32>)
      -> tensor<1x8x4x6xf32>
  return %s : tensor<1x8x4x6xf32>
}

// A bias of lower rank and of sizes 1 broadcasts as in NumPy.
// LINALG-LABEL: func @broadcast(
//       LINALG:   linalg.generic {indexing_maps = [#{{[^,]*}}, #[[$ONEKEY]], #{{[^,]*}}]
func.func @broadcast(%s: tensor<2x3x4x6xf32>, %bias: tensor<1x4x1xf32>,
                     %init: tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32> {
  %t = attn.mask ins(%s : tensor<2x3x4x6xf32>) bias(%bias : tensor<1x4x1xf32>) outs(%init : tensor<2x3x4x6xf32>)
      -> tensor<2x3x4x6xf32>
  return %t : tensor<2x3x4x6xf32>
}

// K without heads: all of them read the same.
// CHECK-LABEL: func @one_key_for_all_heads(
func.func @one_key_for_all_heads(%q: tensor<8x4x16xf32>, %k: tensor<6x16xf32>,
                                 %init: tensor<8x4x6xf32>) -> tensor<8x4x6xf32> {
  %s = attn.scores ins(%q, %k : tensor<8x4x16xf32>, tensor<6x16xf32>) outs(%init : tensor<8x4x6xf32>)
      {maps = [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (j, d)>,
               affine_map<(h, i, j, d) -> (h, i, j)>]} -> tensor<8x4x6xf32>
  return %s : tensor<8x4x6xf32>
}
