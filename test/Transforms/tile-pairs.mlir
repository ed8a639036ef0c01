// instruction = pairs: tiles of pairs of bf16; test/python/test_bf16_pairs.py runs them on numbers.
// RUN: attn-opt %s --attn-canonicalize --attn-analyze-mask --attn-convert-to-online --attn-tile --canonicalize --cse \
// RUN:     --split-input-file | FileCheck %s

// Q in pairs along its head, once a tile; K as it lies; V in pairs of keys, a key tile at a time. 11 keys are left, the
// last of them alone in its pair.
// CHECK-DAG: #[[$ROWS:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ALONG_ROW:.*]] = affine_map<(d0, d1) -> (d1 floordiv 2, d0, d1 mod 2)>
// CHECK-DAG: #[[$ALONG_KEYS:.*]] = affine_map<(d0, d1) -> (d0 floordiv 2, d1, d0 mod 2)>
// CHECK-DAG: #[[$Q:.*]] = affine_map<(d0, d1, d2, d3) -> (d2 floordiv 2, d0, d2 mod 2)>
// CHECK-DAG: #[[$V:.*]] = affine_map<(d0, d1, d2, d3) -> (d1 floordiv 2, d3, d1 mod 2)>
// CHECK-LABEL: func @pairs(
//       CHECK:   %[[QT:.*]] = attn.pack ins(%{{.*}} : tensor<?x32xbf16>) outs(%{{.*}} : tensor<16x32x2xbf16>) {maps = [#[[$ROWS]], #[[$ALONG_ROW]]]}
//       CHECK:   scf.for
//       CHECK:     %[[K:.*]] = tensor.extract_slice %{{.*}} : tensor<75x32xbf16> to tensor<32x32xbf16>
//       CHECK:     %[[VT:.*]] = attn.pack ins(%{{.*}} : tensor<32x59xbf16>) outs(%{{.*}} : tensor<16x59x2xbf16>) {maps = [#[[$ROWS]], #[[$ALONG_KEYS]]]}
//       CHECK:     attn.online_step ins(%[[QT]], %[[K]], %[[VT]] : {{.*}} {maps = [#[[$Q]], #{{[^,]*}}, #[[$V]], {{.*}} instruction = pairs>}
//       CHECK:   attn.pack ins(%{{.*}} : tensor<11x59xbf16>) outs(%{{.*}} : tensor<6x59x2xbf16>)
func.func @pairs(%q: tensor<113x32xbf16>, %k: tensor<75x32xbf16>, %v: tensor<75x59xbf16>,
                 %o: tensor<113x59xbf16>) -> tensor<113x59xbf16> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<113x32xbf16>, tensor<75x32xbf16>, tensor<75x59xbf16>)
      outs(%o : tensor<113x59xbf16>)
      {schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, instruction = pairs>}
      -> tensor<113x59xbf16>
  return %r : tensor<113x59xbf16>
}

// -----

// As many pairs as the keys of a tile on the diagonal have.
// CHECK-DAG: #[[$HALF:.*]] = affine_map<(d0) -> (d0 ceildiv 2)>
// CHECK-LABEL: func @causal(
//       CHECK:   scf.for
//       CHECK:   scf.for
//       CHECK:     %[[KEYS:.*]] = arith.minsi
//       CHECK:     %[[PAIRS:.*]] = affine.apply #[[$HALF]](%[[KEYS]])
//       CHECK:     tensor.extract_slice %{{.*}}[0, 0, 0] [%[[PAIRS]], 32, 2]
//       CHECK:     attn.pack ins(%{{.*}} : tensor<?x32xbf16>) outs(%{{.*}} : tensor<?x32x2xbf16>)
func.func @causal(%q: tensor<64x32xbf16>, %o: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>)
      outs(%o : tensor<64x32xbf16>)
      {causal = #attn.causal<top_left>,
       schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, instruction = pairs>}
      -> tensor<64x32xbf16>
  return %r : tensor<64x32xbf16>
}

// -----

// instruction = amx: V as columns of keys. The last 11 keys are the first ones of a tile, of K as well.
// CHECK-DAG: #[[$COLUMNS:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[$V:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d1)>
// CHECK-LABEL: func @tiles(
//       CHECK:   attn.pack ins(%{{.*}} : tensor<?x32xbf16>) outs(%{{.*}} : tensor<16x32x2xbf16>)
//       CHECK:   scf.for
//       CHECK:     %[[VT:.*]] = attn.pack ins(%{{.*}} : tensor<32x64xbf16>) outs(%{{.*}} : tensor<64x32xbf16>) {maps = [#{{.*}}, #[[$COLUMNS]]]}
//       CHECK:     attn.online_step ins(%{{.*}}, %{{.*}}, %[[VT]] : {{.*}} {maps = [{{.*}}, #[[$V]], {{.*}} instruction = amx>}
//       CHECK:   %[[TILE:.*]] = attn.pack ins(%{{.*}} : tensor<11x32xbf16>) outs(%{{.*}} : tensor<32x32xbf16>)
//       CHECK:   %[[LAST:.*]] = tensor.extract_slice %[[TILE]][0, 0] [11, 32] [1, 1]
//       CHECK:   %[[COLUMNS:.*]] = attn.pack ins(%{{.*}} : tensor<11x64xbf16>) outs(%{{.*}} : tensor<64x32xbf16>)
//       CHECK:   %[[LAST_V:.*]] = tensor.extract_slice %[[COLUMNS]][0, 0] [64, 11] [1, 1]
//       CHECK:   attn.online_step ins(%{{.*}}, %[[LAST]], %[[LAST_V]] : {{.*}} instruction = amx>}
func.func @tiles(%q: tensor<113x32xbf16>, %k: tensor<75x32xbf16>, %v: tensor<75x64xbf16>,
                 %o: tensor<113x64xbf16>) -> tensor<113x64xbf16> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<113x32xbf16>, tensor<75x32xbf16>, tensor<75x64xbf16>)
      outs(%o : tensor<113x64xbf16>)
      {schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, instruction = amx>}
      -> tensor<113x64xbf16>
  return %r : tensor<113x64xbf16>
}

// -----

// The tiles on the diagonal as well, but for a last one that is short.
// CHECK-LABEL: func @causal_tiles(
//       CHECK:   scf.for
//       CHECK:     scf.for
//       CHECK:       attn.pack ins(%{{.*}} : tensor<32x32xbf16>) outs(%{{.*}} : tensor<32x32xbf16>)
//       CHECK:       attn.online_step {{.*}} instruction = amx>}
//       CHECK:     scf.for
//       CHECK:       attn.pack ins(%{{.*}} : tensor<32x32xbf16>) outs(%{{.*}} : tensor<32x32xbf16>)
//       CHECK:       attn.online_step {{.*}} instruction = amx>} mask_mod
//       CHECK:     scf.for
//       CHECK:       attn.pack ins(%{{.*}} : tensor<?x32xbf16>) outs(%{{.*}} : tensor<32x32xbf16>)
//       CHECK:       attn.pack ins(%{{.*}} : tensor<?x32xbf16>) outs(%{{.*}} : tensor<32x32xbf16>)
//       CHECK:       attn.online_step {{.*}} instruction = amx>} mask_mod
func.func @causal_tiles(%q: tensor<64x32xbf16>, %o: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>)
      outs(%o : tensor<64x32xbf16>)
      {causal = #attn.causal<top_left>,
       schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, instruction = amx>}
      -> tensor<64x32xbf16>
  return %r : tensor<64x32xbf16>
}

// -----

// parts = 3: rows of f32 are split into parts of bf16, and then packed part by part.
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$PARTS:.*]] = affine_map<(d0, d1) -> (0, d0, d1)>
// CHECK-DAG: #[[$PAIRS:.*]] = affine_map<(d0, d1) -> (0, d1 floordiv 2, d0, d1 mod 2)>
// CHECK-DAG: #[[$COLUMNS:.*]] = affine_map<(d0, d1) -> (0, d1, d0)>
// CHECK-LABEL: func @parts(
//       CHECK:   %[[Q:.*]] = attn.pack ins(%{{.*}} : tensor<?x32xf32>) outs(%{{.*}} : tensor<3x32x32xbf16>) {maps = [#[[$ROW]], #[[$PARTS]]]}
//       CHECK:   %[[QP:.*]] = attn.pack ins(%[[Q]] : {{.*}}) outs(%{{.*}} : tensor<3x16x32x2xbf16>) {maps = [#[[$PARTS]], #[[$PAIRS]]]}
//       CHECK:   scf.for
//       CHECK:     %[[K:.*]] = attn.pack ins(%{{.*}} : tensor<32x32xf32>) outs(%{{.*}} : tensor<3x32x32xbf16>)
//       CHECK:     %[[V:.*]] = attn.pack ins(%{{.*}} : tensor<32x64xf32>) outs(%{{.*}} : tensor<3x32x64xbf16>)
//       CHECK:     %[[VT:.*]] = attn.pack ins(%[[V]] : {{.*}}) outs(%{{.*}} : tensor<3x64x32xbf16>) {maps = [#[[$PARTS]], #[[$COLUMNS]]]}
//       CHECK:     attn.online_step ins(%[[QP]], %[[K]], %[[VT]] :
//       CHECK:   attn.pack ins(%{{.*}} : tensor<11x32xf32>) outs(%{{.*}} : tensor<3x32x32xbf16>)
//       CHECK:   tensor.extract_slice %{{.*}}[0, 0, 0] [3, 11, 32] [1, 1, 1]
func.func @parts(%q: tensor<113x32xf32>, %k: tensor<75x32xf32>, %v: tensor<75x64xf32>,
                 %o: tensor<113x64xf32>) -> tensor<113x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<113x32xf32>, tensor<75x32xf32>, tensor<75x64xf32>)
      outs(%o : tensor<113x64xf32>)
      {schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, instruction = amx, parts = 3>}
      -> tensor<113x64xf32>
  return %r : tensor<113x64xf32>
}
