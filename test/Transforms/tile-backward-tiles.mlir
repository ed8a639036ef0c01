// instruction = amx: what tiles of gradients pack; test/python/test_amx.py runs them on numbers.
// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-analyze-mask,attn-select-schedule{target=sapphirerapids},attn-convert-to-online,attn-tile,attn-verify-phase{phase=tile},canonicalize,cse))' \
// RUN:   | FileCheck %s

// Of a key tile, K and V in pairs of columns, and K in pairs of keys: whole tiles, with zeros behind the last key. Of a
// query tile, Q and dout as rows of their columns.
// CHECK-DAG: #[[$ROWS:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$COLUMNS:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[$ALONG_ROW:.*]] = affine_map<(d0, d1) -> (d1 floordiv 2, d0, d1 mod 2)>
// CHECK-DAG: #[[$ALONG_KEYS:.*]] = affine_map<(d0, d1) -> (d0 floordiv 2, d1, d0 mod 2)>
// CHECK-LABEL: func @f(
//       CHECK:   %[[KT:.*]] = attn.pack ins(%{{.*}} : tensor<?x64xbf16>) outs(%{{.*}} : tensor<32x128x2xbf16>) {maps = [#[[$ROWS]], #[[$ALONG_ROW]]]}
//       CHECK:   %[[VT:.*]] = attn.pack ins(%{{.*}} : tensor<?x32xbf16>) outs(%{{.*}} : tensor<16x128x2xbf16>) {maps = [#[[$ROWS]], #[[$ALONG_ROW]]]}
//       CHECK:   %[[KP:.*]] = attn.pack ins(%{{.*}} : tensor<?x64xbf16>) outs(%{{.*}} : tensor<64x64x2xbf16>) {maps = [#[[$ROWS]], #[[$ALONG_KEYS]]]}
//       CHECK:   scf.for
//       CHECK:     %[[Q:.*]] = attn.pack ins(%{{.*}} : tensor<?x64xbf16>) outs(%{{.*}} : tensor<64x128xbf16>) {maps = [#[[$ROWS]], #[[$COLUMNS]]]}
//       CHECK:     %[[O:.*]] = attn.pack ins(%{{.*}} : tensor<?x32xbf16>) outs(%{{.*}} : tensor<32x128xbf16>) {maps = [#[[$ROWS]], #[[$COLUMNS]]]}
//       CHECK:     attn.backward_step
//  CHECK-SAME:         transposed(%[[KT]], %[[VT]], %[[KP]], %[[Q]], %[[O]] :
//  CHECK-SAME:         #attn.backward<query_tile = 128, key_tile = 128, lanes = 16, block_rows = 32, block_vectors = 2, instruction = amx>
func.func @f(%q: tensor<300x64xbf16>, %k: tensor<200x64xbf16>, %v: tensor<200x32xbf16>, %o: tensor<300x32xbf16>,
             %l: tensor<300xf32>) -> (tensor<300x64xbf16>, tensor<200x64xbf16>, tensor<200x32xbf16>) {
  %e0 = tensor.empty() : tensor<300x64xbf16>
  %e1 = tensor.empty() : tensor<200x64xbf16>
  %e2 = tensor.empty() : tensor<200x32xbf16>
  %r:3 = attn.sdpa_backward
      ins(%q, %k, %v, %o, %l, %o : tensor<300x64xbf16>, tensor<200x64xbf16>, tensor<200x32xbf16>, tensor<300x32xbf16>,
          tensor<300xf32>, tensor<300x32xbf16>)
      outs(%e0, %e1, %e2 : tensor<300x64xbf16>, tensor<200x64xbf16>, tensor<200x32xbf16>)
      -> tensor<300x64xbf16>, tensor<200x64xbf16>, tensor<200x32xbf16>
  return %r#0, %r#1, %r#2 : tensor<300x64xbf16>, tensor<200x64xbf16>, tensor<200x32xbf16>
}
