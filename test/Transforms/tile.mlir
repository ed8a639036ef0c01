// Shapes of the loops; test/Pipelines/agreement.mlir runs them on numbers.
// RUN: attn-opt %s --attn-analyze-mask --attn-convert-to-online --attn-tile --canonicalize --cse --split-input-file \
// RUN:     | FileCheck %s

// Two batch dimensions and two query tiles in one loop; Q goes in with rows innermost, the state stays in the tile.
// CHECK-LABEL: func @whole_tiles(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: tensor<2x8x8x16xf32>, %[[K:[a-z0-9]*]]: tensor<2x2x12x16xf32>
//       CHECK:   scf.forall (%[[B:.*]], %[[H:.*]], %[[T:.*]]) in (2, 8, 2) shared_outs(%[[OUT:.*]] = %{{.*}})
//       CHECK:     %[[ROW:.*]] = affine.apply {{.*}}(%[[T]])
//       CHECK:     %[[QROWS:.*]] = tensor.extract_slice %[[Q]][%[[B]], %[[H]], %[[ROW]], 0] [1, 1, 4, 16]
//       CHECK:     %[[QT:.*]] = attn.pack ins(%[[QROWS]] : {{.*}}) outs(%{{.*}} : tensor<1x1x16x4xf32>)
//       CHECK:     %[[EMPTY:.*]]:3 = attn.init_state outs({{.*}} : tensor<1x1x8x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>)
//       CHECK:     %[[ALL:.*]]:3 = scf.for %[[KEY:[a-z0-9]*]] = %c0 to %c12 step %c4 iter_args(%{{.*}} = %[[EMPTY]]#0,
//       CHECK:       %[[G:.*]] = affine.apply {{.*}}(%[[H]])
//       CHECK:       %[[KT:.*]] = tensor.extract_slice %[[K]][%[[B]], %[[G]], %[[KEY]], 0] [1, 1, 4, 16]
//       CHECK:       attn.online_step ins(%[[QT]], %[[KT]], %{{.*}} schedule =
//   CHECK-NOT:     scf.for %
//       CHECK:     %[[TILE:.*]] = attn.finalize ins(%[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2
//       CHECK:     tensor.parallel_insert_slice %[[TILE]] into %[[OUT]][%[[B]], %[[H]], %[[ROW]], 0] [1, 1, 4, 8]
func.func @whole_tiles(%q: tensor<2x8x8x16xf32>, %k: tensor<2x2x12x16xf32>, %v: tensor<2x2x12x8xf32>,
                       %o: tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x8x8x16xf32>, tensor<2x2x12x16xf32>, tensor<2x2x12x8xf32>)
      outs(%o : tensor<2x8x8x8xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 1, block_vectors = 1>}
      -> tensor<2x8x8x8xf32>
  return %r : tensor<2x8x8x8xf32>
}

// -----

// 9 rows are two tiles of 4 and one of 1; 11 keys are five tiles of 2 and a step of one key.
// CHECK-LABEL: func @tails(
//       CHECK:   scf.forall (%[[T:.*]]) in (3)
//       CHECK:     %[[ROWS:.*]] = affine.min {{.*}}(%[[T]])
//       CHECK:     tensor.extract_slice %{{.*}}, 0] [%[[ROWS]], 16] [1, 1]
//       CHECK:     attn.pack ins(%{{.*}} : tensor<?x16xf32>) outs(%{{.*}} : tensor<16x4xf32>)
//       CHECK:     scf.for %{{.*}} = %c0 to %c10 step %c2
//       CHECK:       attn.online_step ins({{.*}}tensor<2x16xf32>, tensor<2x8xf32>)
//   CHECK-NOT:     scf.for %
//       CHECK:       attn.online_step ins({{.*}}tensor<1x16xf32>, tensor<1x8xf32>)
//       CHECK:     attn.finalize {{.*}} outs(%{{.*}} : tensor<?x8xf32>)
func.func @tails(%q: tensor<9x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                 %o: tensor<9x8xf32>) -> tensor<9x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<9x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<9x8xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 2, lanes = 4, block_rows = 1, block_vectors = 1>}
      -> tensor<9x8xf32>
  return %r : tensor<9x8xf32>
}

// -----

// Tiles of keys that all rows keep, without the predicate; then those on the diagonal, with it and as short as need be;
// none beyond.
// CHECK-LABEL: func @causal(
//       CHECK:     scf.for %{{.*}} = %c0 to %[[FULL:.*]] step %c4
//       CHECK:       attn.online_step ins({{.*}}tensor<4x16xf32>, tensor<4x8xf32>)
//   CHECK-NOT:       mask_mod
//       CHECK:     scf.for %[[KEY:[a-z0-9]*]] = %[[FULL]] to %[[VISITED:.*]] step %c4
//       CHECK:       %[[LEFT:.*]] = arith.subi %[[VISITED]], %[[KEY]]
//       CHECK:       arith.minsi %[[LEFT]], %c4
//       CHECK:       attn.online_step ins({{.*}}tensor<?x16xf32>, tensor<?x8xf32>) {{.*}} mask_mod {
//       CHECK:         %[[J:.*]] = attn.index key : index
//       CHECK:         %[[COLUMN:.*]] = arith.addi %[[J]], %[[KEY]]
//       CHECK:         %[[I:.*]] = attn.index query : index
//       CHECK:         %[[ROW:.*]] = arith.addi %[[I]], %{{.*}}
//       CHECK:         arith.cmpi sle, %[[COLUMN]], %[[ROW]]
//   CHECK-NOT:     scf.for %
func.func @causal(%q: tensor<12x16xf32>, %k: tensor<12x16xf32>, %v: tensor<12x8xf32>,
                  %o: tensor<12x8xf32>) -> tensor<12x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<12x16xf32>, tensor<12x16xf32>, tensor<12x8xf32>)
      outs(%o : tensor<12x8xf32>)
      {causal = #attn.causal<top_left>,
       schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 1, block_vectors = 1>}
      -> tensor<12x8xf32>
  return %r : tensor<12x8xf32>
}

// -----

// A window has partial tiles on both sides of the full ones: a loop of two rounds has their code once.
// CHECK-LABEL: func @window(
//       CHECK:     scf.for %[[ROUND:.*]] = %c0 to %c2 step %c1 iter_args({{.*}}, %[[FROM:.*]] = %{{.*}})
//       CHECK:       %[[FIRST:.*]] = arith.cmpi eq, %[[ROUND]], %c0
//       CHECK:       %[[STOP:.*]] = arith.select %[[FIRST]]
//       CHECK:       scf.for %{{.*}} = %[[FROM]] to %[[STOP]]
//       CHECK:         attn.online_step {{.*}} mask_mod {
//       CHECK:       scf.for %{{.*}} = %[[STOP]] to %[[END:.*]] step
//       CHECK:         attn.online_step
//   CHECK-NOT:         mask_mod
//       CHECK:       scf.yield {{.*}}, %[[END]] :
//   CHECK-NOT:     scf.for %
func.func @window(%q: tensor<64x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x8xf32>,
                  %o: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x8xf32>)
      outs(%o : tensor<64x8xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 1, block_vectors = 1>} mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %ten = arith.constant 10 : index
    %first = arith.subi %i, %ten : index
    %right = arith.cmpi sle, %j, %i : index
    %left = arith.cmpi sge, %j, %first : index
    %keep = arith.andi %left, %right : i1
    attn.yield %keep : i1
  }
      -> tensor<64x8xf32>
  return %r : tensor<64x8xf32>
}

// -----

// A mask with rows is packed into lanes, as bytes; a bias without rows is the same for all lanes.
// CHECK-LABEL: func @dense_operands(
//       CHECK:     scf.for
//   CHECK-DAG:       %[[B:.*]] = tensor.extract_slice %{{.*}}[%{{.*}}] [4] [1] : tensor<12xf32> to tensor<4xf32>
//   CHECK-DAG:       %[[M:.*]] = attn.pack ins(%{{.*}} : tensor<4x4xi1>) outs(%{{.*}} : tensor<4x4xi8>)
//       CHECK:       attn.online_step ins({{.*}}) bias(%[[B]] : tensor<4xf32>) mask(%[[M]] : tensor<4x4xi8>)
//   CHECK-NOT:     scf.for %
func.func @dense_operands(%q: tensor<8x16xf32>, %k: tensor<12x16xf32>, %v: tensor<12x8xf32>, %o: tensor<8x8xf32>,
                          %b: tensor<12xf32>, %m: tensor<8x12xi1>) -> tensor<8x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<12x16xf32>, tensor<12x8xf32>) bias(%b : tensor<12xf32>)
      mask(%m : tensor<8x12xi1>)
      outs(%o : tensor<8x8xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 1, block_vectors = 1>}
      -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// Both outputs of finalize go to their slices.
// CHECK-LABEL: func @lse(
//       CHECK:   scf.forall {{.*}} shared_outs(%[[O:.*]] = %{{.*}}, %[[LSE:.*]] = %{{.*}}) ->
//       CHECK:     %[[TILE:.*]]:2 = attn.finalize
//   CHECK-DAG:     tensor.parallel_insert_slice %[[TILE]]#0 into %[[O]]
//   CHECK-DAG:     tensor.parallel_insert_slice %[[TILE]]#1 into %[[LSE]]
func.func @lse(%q: tensor<8x16xf32>, %k: tensor<12x16xf32>, %v: tensor<12x8xf32>, %o: tensor<8x8xf32>,
               %l: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<12x16xf32>, tensor<12x8xf32>)
      outs(%o, %l : tensor<8x8xf32>, tensor<8xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 1, block_vectors = 1>}
      -> tensor<8x8xf32>, tensor<8xf32>
  return %r#0, %r#1 : tensor<8x8xf32>, tensor<8xf32>
}

// -----

// No key is visited.
// CHECK-LABEL: func @nothing_kept(
//   CHECK-NOT:   attn.online_step
//       CHECK:   attn.finalize
func.func @nothing_kept(%q: tensor<8x16xf32>, %k: tensor<12x16xf32>, %v: tensor<12x8xf32>,
                        %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<12x16xf32>, tensor<12x8xf32>)
      outs(%o : tensor<8x8xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 1, block_vectors = 1>} mask_mod {
    %keep = arith.constant false
    attn.yield %keep : i1
  }
      -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// Sk = 0.
// CHECK-LABEL: func @no_keys(
//   CHECK-NOT:   attn.online_step
//       CHECK:   attn.finalize
func.func @no_keys(%q: tensor<8x16xf32>, %k: tensor<0x16xf32>, %v: tensor<0x8xf32>,
                   %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<0x16xf32>, tensor<0x8xf32>)
      outs(%o : tensor<8x8xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 1, block_vectors = 1>}
      -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// kv_head is the group of the head that the loop is at.
// CHECK-LABEL: func @kv_head(
//       CHECK:   scf.forall (%[[H:.*]], %{{.*}}) in (4, 2)
//       CHECK:     attn.online_step
//       CHECK:       %[[LOCAL:.*]] = attn.index head : index
//       CHECK:       %[[HEAD:.*]] = arith.addi %[[LOCAL]], %[[H]]
//       CHECK:       arith.divui %[[HEAD]], %c2
func.func @kv_head(%q: tensor<4x8x16xf32>, %k: tensor<2x12x16xf32>, %v: tensor<2x12x8xf32>,
                   %o: tensor<4x8x8xf32>) -> tensor<4x8x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x8x16xf32>, tensor<2x12x16xf32>, tensor<2x12x8xf32>)
      outs(%o : tensor<4x8x8xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 1, block_vectors = 1>} mask_mod {
    %g = attn.index kv_head : index
    %j = attn.index key : index
    %keep = arith.cmpi sle, %g, %j : index
    attn.yield %keep : i1
  }
      -> tensor<4x8x8xf32>
  return %r : tensor<4x8x8xf32>
}

// -----

// Of a dynamic number of rows, a tile of few rows and keys is made of vectors of rows, one after the other.
// CHECK-LABEL: func @few_rows(
//       CHECK:   scf.forall
//       CHECK:     %[[ROWS:.*]] = affine.min
//       CHECK:     %[[FEW:.*]] = arith.cmpi sle, %[[ROWS]], %c8 : index
//       CHECK:     %[[FEW_KEYS:.*]] = arith.cmpi sle, %{{.*}}, %c4 : index
//       CHECK:     %[[SHORT:.*]] = arith.andi %[[FEW]], %[[FEW_KEYS]]
//       CHECK:     %[[TILE:.*]] = scf.if %[[SHORT]]
//       CHECK:       scf.for %{{.*}} = %c0 to %[[ROWS]] step %c4
//       CHECK:         attn.pack ins({{.*}}) outs(%{{.*}} : tensor<16x4xf32>)
//       CHECK:         attn.online_step {{.*}} schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 2, block_vectors = 1>
//   CHECK-NOT:         attn.online_step
//       CHECK:         attn.finalize
//       CHECK:         tensor.insert_slice
//       CHECK:     } else {
//       CHECK:       attn.pack ins({{.*}}) outs(%{{.*}} : tensor<16x16xf32>)
//       CHECK:       attn.online_step {{.*}} schedule = #attn.prefill<query_tile = 16,
//       CHECK:     tensor.parallel_insert_slice %[[TILE]] into
func.func @few_rows(%q: tensor<?x16xf32>, %k: tensor<?x16xf32>, %v: tensor<?x8xf32>,
                    %o: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x8xf32>)
      outs(%o : tensor<?x8xf32>)
      {schedule = #attn.prefill<query_tile = 16, key_tile = 4, lanes = 4, block_rows = 1, block_vectors = 2>}
      -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
