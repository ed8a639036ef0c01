// pack_first: the key tiles of V are packed in front of the query tiles, once for all of them; test/python/test_amx.py
// runs them on numbers.
// RUN: attn-opt %s --attn-canonicalize --attn-analyze-mask --attn-convert-to-online --attn-tile --canonicalize --cse \
// RUN:     --split-input-file | FileCheck %s

// Two heads of Q share one of V. The last tile has 11 keys, which are the first ones of a whole tile.
// CHECK-DAG: #[[$ROWS:.*]] = affine_map<(d0, d1, d2) -> (0, d1, d2)>
// CHECK-DAG: #[[$COLUMNS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// CHECK-DAG: #[[$SHARED:.*]] = affine_map<(d0) -> (d0 floordiv 2)>
// CHECK-DAG: #[[$TILE:.*]] = affine_map<(d0) -> (d0 floordiv 32)>
// CHECK-LABEL: func @group(
//       CHECK:   %[[ALL:.*]] = tensor.empty() : tensor<2x3x64x32xbf16>
//       CHECK:   %[[PACKED:.*]] = scf.forall (%[[HEAD:[a-z0-9]+]], %[[KEYS:[a-z0-9]+]]) in (2, 3) shared_outs({{.*}} = %[[ALL]])
//       CHECK:     attn.pack ins(%{{.*}} : tensor<1x?x64xbf16>) outs(%{{.*}} : tensor<1x64x32xbf16>) {maps = [#[[$ROWS]], #[[$COLUMNS]]]}
//       CHECK:     tensor.parallel_insert_slice {{.*}}[%[[HEAD]], %[[KEYS]], 0, 0] [1, 1, 64, 32]
//       CHECK:   scf.forall (%[[QUERY_HEAD:[a-z0-9]+]], %{{.*}}) in (4, 4)
//       CHECK:     scf.for %[[KEY:[a-z0-9]+]] =
//   CHECK-DAG:       %[[OWN:.*]] = affine.apply #[[$SHARED]](%[[QUERY_HEAD]])
//   CHECK-DAG:       %[[INDEX:.*]] = affine.apply #[[$TILE]](%[[KEY]])
//       CHECK:       %[[VT:.*]] = tensor.extract_slice %[[PACKED]][%[[OWN]], %[[INDEX]], 0, 0] [1, 1, 64, 32]
//   CHECK-NOT:       attn.pack
//       CHECK:       attn.online_step ins(%{{.*}}, %{{.*}}, %[[VT]] :
//       CHECK:     %[[LAST:.*]] = tensor.extract_slice %[[PACKED]][%{{.*}}, 2, 0, 0] [1, 1, 64, 32]
//       CHECK:     tensor.extract_slice %[[LAST]][0, 0, 0] [1, 64, 11]
func.func @group(%q: tensor<4x113x32xbf16>, %k: tensor<2x75x32xbf16>, %v: tensor<2x75x64xbf16>,
                 %o: tensor<4x113x64xbf16>) -> tensor<4x113x64xbf16> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x113x32xbf16>, tensor<2x75x32xbf16>, tensor<2x75x64xbf16>)
      outs(%o : tensor<4x113x64xbf16>)
      {schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, instruction = amx, pack_first = true>}
      -> tensor<4x113x64xbf16>
  return %r : tensor<4x113x64xbf16>
}

// -----

// A window: steps begin at multiples of a tile. The first tile, which no query visits, is not packed.
// CHECK-DAG: #[[$ALIGN:.*]] = affine_map<(d0) -> ((d0 floordiv 32) * 32)>
// CHECK-LABEL: func @window(
//       CHECK:   %[[PACKED:.*]] = scf.forall (%[[KEYS:[a-z0-9]+]]) in (3)
//       CHECK:     %[[FIRST:.*]] = arith.maxsi %[[KEYS]], %c1
//       CHECK:     scf.for %{{.*}} = %[[FIRST]] to
//       CHECK:       attn.pack
//       CHECK:   scf.forall
//       CHECK:     affine.apply #[[$ALIGN]]
//       CHECK:     scf.for
//       CHECK:       tensor.extract_slice %[[PACKED]]
func.func @window(%q: tensor<32x32xbf16>, %k: tensor<96x32xbf16>, %o: tensor<32x32xbf16>) -> tensor<32x32xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<32x32xbf16>, tensor<96x32xbf16>, tensor<96x32xbf16>)
      outs(%o : tensor<32x32xbf16>)
      {window = #attn.window<left = 10>, align = #attn.causal<bottom_right>,
       schedule = #attn.prefill<query_tile = 16, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 1, instruction = amx, pack_first = true>}
      -> tensor<32x32xbf16>
  return %r : tensor<32x32xbf16>
}

// -----

// Packed sequences: a round has the tiles of one, which begin behind those of the one before.
// CHECK-DAG: #[[$COUNT:.*]] = affine_map<()[s0, s1] -> (s1 + s0 floordiv 32 - 1)>
// CHECK-DAG: #[[$START:.*]] = affine_map<(d0, d1) -> (d1 + d0 floordiv 32)>
// CHECK-LABEL: func @sequences(
//       CHECK:   %[[TILES:.*]] = affine.apply #[[$COUNT]]()
//       CHECK:   tensor.empty(%[[TILES]]) : tensor<1x2x?x32x32xbf16>
//       CHECK:   %[[PACKED:.*]] = scf.forall (%[[SEQUENCE:[a-z0-9]+]], %[[HEAD:[a-z0-9]+]]) in (%{{.*}}, 2)
//       CHECK:     %[[START:.*]] = affine.apply #[[$START]](%{{.*}}, %[[SEQUENCE]])
//       CHECK:     tensor.extract_slice %{{.*}}[0, %[[HEAD]], %[[START]], 0, 0] [1, 1, %[[COUNT:[a-z0-9]+]], 32, 32]
//       CHECK:     scf.for
//       CHECK:       attn.pack
//       CHECK:     tensor.parallel_insert_slice %{{.*}}[0, %[[HEAD]], %[[START]], 0, 0] [1, 1, %[[COUNT]], 32, 32]
//       CHECK:   scf.forall
//       CHECK:     tensor.extract_slice %[[PACKED]][0,
func.func @sequences(%q: tensor<?x2x32xbf16>, %s: tensor<?xi32>, %o: tensor<?x2x32xbf16>) -> tensor<?x2x32xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<?x2x32xbf16>, tensor<?x2x32xbf16>, tensor<?x2x32xbf16>)
      cu_seqlens(%s, %s : tensor<?xi32>, tensor<?xi32>) outs(%o : tensor<?x2x32xbf16>)
      {schedule = #attn.prefill<query_tile = 16, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 1, instruction = amx, pack_first = true>}
      -> tensor<?x2x32xbf16>
  return %r : tensor<?x2x32xbf16>
}

// -----

// K of bytes is widened in front as well.
// CHECK-LABEL: func @bytes(
//       CHECK:   %[[PACKED:.*]]:2 = scf.forall
//       CHECK:     attn.pack ins({{.*}}xi8>)
//       CHECK:     attn.pack {{.*}} outs(%{{.*}} : tensor<1x64x32xbf16>)
//       CHECK:     attn.pack ins({{.*}}xi8>)
//   CHECK-NOT:     attn.pack
//       CHECK:   scf.forall
//       CHECK:     attn.pack {{.*}} outs(%{{.*}} : tensor<1x32x32x2xbf16>)
//       CHECK:     scf.for
//   CHECK-NOT:       attn.pack
//   CHECK-DAG:       %[[K:.*]] = tensor.extract_slice %[[PACKED]]#1
//   CHECK-DAG:       %[[VT:.*]] = tensor.extract_slice %[[PACKED]]#0
//       CHECK:       attn.online_step ins(%{{.*}}, %[[K]], %[[VT]] :
func.func @bytes(%q: tensor<1x64x64xbf16>, %k: tensor<1x64x64xi8>, %s: tensor<1xf32>, %o: tensor<1x64x64xbf16>) -> tensor<1x64x64xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x64x64xbf16>, tensor<1x64x64xi8>, tensor<1x64x64xi8>)
      kv_scale(%s, %s : tensor<1xf32>, tensor<1xf32>) outs(%o : tensor<1x64x64xbf16>)
      {schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, instruction = amx, pack_first = true>}
      -> tensor<1x64x64xbf16>
  return %r : tensor<1x64x64xbf16>
}
