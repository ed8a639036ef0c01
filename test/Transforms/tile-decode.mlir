// RUN: attn-opt %s --attn-tile --canonicalize --cse --split-input-file | FileCheck %s

// The four heads that share a head of K are rows of one tile; keys are split into ranges of 8 and merged;
// a loop folds the tiles of a range.
// CHECK-LABEL: func @split(
//       CHECK:   %[[STATES:.*]]:3 = scf.forall (%[[HEAD:.*]], %[[RANGE:.*]]) in (2, 3)
//  CHECK-SAME:       -> (tensor<3x8x1x16xf32>, tensor<3x8x1xf32>, tensor<3x8x1xf32>)
//       CHECK:     tensor.extract_slice {{.*}} [4, 1, 16] [1, 1, 1] : tensor<8x1x16xf32> to tensor<4x1x16xf32>
//       CHECK:     attn.init_state
//       CHECK:     scf.for
//       CHECK:       tensor.extract_slice {{.*}}[%[[HEAD]], {{.*}}, 0] [1, 4, 16] [1, 1, 1]
//       CHECK:       attn.online_step
//   CHECK-NOT:     attn.finalize
//       CHECK:     tensor.parallel_insert_slice {{.*}}[%[[RANGE]], {{.*}} [1, 4, 1, 16]
//       CHECK:   scf.forall ({{.*}}) in (2) {{.*}} -> (tensor<8x1x16xf32>)
//       CHECK:     scf.for
//       CHECK:       attn.merge_states
//       CHECK:     attn.finalize
func.func @split(%q: tensor<8x1x16xf32>, %k: tensor<2x24x16xf32>, %v: tensor<2x24x16xf32>, %o: tensor<8x1x16xf32>,
                 %a: tensor<8x1x16xf32>, %m: tensor<8x1xf32>, %l: tensor<8x1xf32>) -> tensor<8x1x16xf32> {
  %s:3 = attn.init_state outs(%a, %m, %l : tensor<8x1x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
      -> tensor<8x1x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>
  %t:3 = attn.online_step ins(%q, %k, %v : tensor<8x1x16xf32>, tensor<2x24x16xf32>, tensor<2x24x16xf32>)
      outs(%s#0, %s#1, %s#2 : tensor<8x1x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
      {scale = 0.25 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 4, split_keys = 8>}
      -> tensor<8x1x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>
  %r = attn.finalize ins(%t#0, %t#1, %t#2 : tensor<8x1x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
      outs(%o : tensor<8x1x16xf32>) -> tensor<8x1x16xf32>
  return %r : tensor<8x1x16xf32>
}

// -----

// On a GPU the merge of ranges has blocks of 32 columns of V. All compute the log-sum-exp, the first one writes it.
// CHECK-LABEL: func @columns(
//       CHECK:   scf.forall {{.*}} in (2, 3) {{.*}} -> (tensor<3x8x1x64xf32>, tensor<3x8x1xf32>, tensor<3x8x1xf32>)
//       CHECK:   scf.forall (%{{.*}}, %[[BLOCK:.*]]) in (2, 2) {{.*}} -> (tensor<8x1x64xf32>, tensor<8x1xf32>)
//   CHECK-DAG:     %[[COLUMN:.*]] = affine.apply {{.*}}(%[[BLOCK]])
//       CHECK:     scf.for
//       CHECK:       tensor.extract_slice {{.*}}, %[[COLUMN]]] [1, 4, 1, 32]
//       CHECK:       attn.merge_states
//       CHECK:     %[[FIRST:.*]] = arith.cmpi eq, %[[BLOCK]], %c0
//       CHECK:     %[[ROWS:.*]] = arith.select %[[FIRST]], %c1, %c0
//       CHECK:     tensor.extract_slice {{.*}} [4, %[[ROWS]]]
//       CHECK:     attn.finalize
//       CHECK:     tensor.parallel_insert_slice {{.*}}, 0, %[[COLUMN]]] [4, 1, 32]
//       CHECK:     tensor.parallel_insert_slice {{.*}} [4, %[[ROWS]]]
func.func @columns(%q: tensor<8x1x16xf16>, %k: tensor<2x96x16xf16>, %v: tensor<2x96x64xf16>, %o: tensor<8x1x64xf32>,
                   %e: tensor<8x1xf32>, %a: tensor<8x1x64xf32>, %m: tensor<8x1xf32>, %l: tensor<8x1xf32>)
    -> (tensor<8x1x64xf32>, tensor<8x1xf32>) {
  %s:3 = attn.init_state outs(%a, %m, %l : tensor<8x1x64xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
      -> tensor<8x1x64xf32>, tensor<8x1xf32>, tensor<8x1xf32>
  %t:3 = attn.online_step ins(%q, %k, %v : tensor<8x1x16xf16>, tensor<2x96x16xf16>, tensor<2x96x64xf16>)
      outs(%s#0, %s#1, %s#2 : tensor<8x1x64xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
      {scale = 0.25 : f64,
       schedule = #attn.block<query_tile = 1, key_tile = 32, warps = 1, warp_rows = 16, instruction = mma,
                              shared_keys = true, split_keys = 32>}
      -> tensor<8x1x64xf32>, tensor<8x1xf32>, tensor<8x1xf32>
  %r:2 = attn.finalize ins(%t#0, %t#1, %t#2 : tensor<8x1x64xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
      outs(%o, %e : tensor<8x1x64xf32>, tensor<8x1xf32>) -> tensor<8x1x64xf32>, tensor<8x1xf32>
  return %r#0, %r#1 : tensor<8x1x64xf32>, tensor<8x1xf32>
}

// -----

// Two heads of K and the four of Q that share them make a tile: its state is of all four, and each key tile goes
// through the heads, with the part of the state that is theirs. Two halves of it are segments.
// CHECK-LABEL: func @heads(
//       CHECK:   scf.forall {{.*}} in (2, 2)
//       CHECK:     attn.init_state {{.*}} tensor<1x4x1x16xf32>
//       CHECK:     scf.for %[[KEY:[a-z0-9]*]] = {{.*}} iter_args(%[[ACC:[a-z0-9]*]] =
//       CHECK:       scf.for %[[HEAD:[a-z0-9]*]] = %c0 to %c2 step %c1 iter_args(%[[PART:[a-z0-9]*]] = %[[ACC]]
//       CHECK:         tensor.extract_slice %[[PART]][0, %{{.*}}, 0, 0] [1, 2, 1, 16]
//       CHECK:         tensor.extract_slice {{.*}}[%{{.*}}, %[[KEY]], %{{.*}}, 0] [1, 2, 1, 16]
//       CHECK:         attn.online_step {{.*}} segments keys(
//       CHECK:         tensor.insert_slice {{.*}} into %[[PART]][0, %{{.*}}, 0, 0] [1, 2, 1, 16]
//       CHECK:     attn.finalize
func.func @heads(%q: tensor<2x8x1x16xf32>, %k: tensor<2x24x4x16xf32>, %v: tensor<2x24x4x16xf32>, %o: tensor<2x8x1x16xf32>,
                 %a: tensor<2x8x1x16xf32>, %m: tensor<2x8x1xf32>, %l: tensor<2x8x1xf32>) -> tensor<2x8x1x16xf32> {
  %s:3 = attn.init_state outs(%a, %m, %l : tensor<2x8x1x16xf32>, tensor<2x8x1xf32>, tensor<2x8x1xf32>)
      -> tensor<2x8x1x16xf32>, tensor<2x8x1xf32>, tensor<2x8x1xf32>
  %t:3 = attn.online_step ins(%q, %k, %v : tensor<2x8x1x16xf32>, tensor<2x24x4x16xf32>, tensor<2x24x4x16xf32>)
      outs(%s#0, %s#1, %s#2 : tensor<2x8x1x16xf32>, tensor<2x8x1xf32>, tensor<2x8x1xf32>)
      {scale = 0.25 : f64,
       maps = [affine_map<(b, h, q, k, d, v) -> (b, h, q, d)>, affine_map<(b, h, q, k, d, v) -> (b, k, h floordiv 2, d)>,
               affine_map<(b, h, q, k, d, v) -> (b, k, h floordiv 2, v)>, affine_map<(b, h, q, k, d, v) -> (b, h, q, v)>,
               affine_map<(b, h, q, k, d, v) -> (b, h, q)>, affine_map<(b, h, q, k, d, v) -> (b, h, q)>],
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 4, kv_heads = 2>}
      -> tensor<2x8x1x16xf32>, tensor<2x8x1xf32>, tensor<2x8x1xf32>
  %r = attn.finalize ins(%t#0, %t#1, %t#2 : tensor<2x8x1x16xf32>, tensor<2x8x1xf32>, tensor<2x8x1xf32>)
      outs(%o : tensor<2x8x1x16xf32>) -> tensor<2x8x1x16xf32>
  return %r : tensor<2x8x1x16xf32>
}

// -----

// One row, and four keys of a block: a tile has its four keys from as many segments, a quarter of all keys apart. The
// rest of 26 keys is a tile of two.
// CHECK-LABEL: func @segments(
//  CHECK-SAME:     %{{.*}}: tensor<1x1x16xf32>, %[[K:[a-z0-9]*]]: tensor<1x26x16xf32>
//       CHECK:     scf.for %[[ROW:[a-z0-9]*]] = %c0 to %c6 step %c1
//   CHECK-DAG:       %[[K1:.*]] = arith.addi %[[ROW]], %c6
//   CHECK-DAG:       %[[K2:.*]] = arith.addi %[[ROW]], %c12
//   CHECK-DAG:       %[[K3:.*]] = arith.addi %[[ROW]], %c18
//   CHECK-DAG:       %[[S0:.*]] = tensor.extract_slice %[[K]][0, %[[ROW]], 0] [1, 1, 16]
//   CHECK-DAG:       %[[S1:.*]] = tensor.extract_slice %[[K]][0, %[[K1]], 0] [1, 1, 16]
//   CHECK-DAG:       %[[S2:.*]] = tensor.extract_slice %[[K]][0, %[[K2]], 0] [1, 1, 16]
//   CHECK-DAG:       %[[S3:.*]] = tensor.extract_slice %[[K]][0, %[[K3]], 0] [1, 1, 16]
//       CHECK:       attn.online_step ins(%{{.*}}, %[[S0]], {{.*}} segments keys(%[[S1]], %[[S2]], %[[S3]] :
//       CHECK:     %[[REST:.*]] = tensor.extract_slice %[[K]][0, 24, 0] [1, 2, 16]
//       CHECK:     attn.online_step ins(%{{.*}}, %[[REST]],
func.func @segments(%q: tensor<1x1x16xf32>, %k: tensor<1x26x16xf32>, %v: tensor<1x26x16xf32>, %o: tensor<1x1x16xf32>,
                    %a: tensor<1x1x16xf32>, %m: tensor<1x1xf32>, %l: tensor<1x1xf32>) -> tensor<1x1x16xf32> {
  %s:3 = attn.init_state outs(%a, %m, %l : tensor<1x1x16xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> tensor<1x1x16xf32>, tensor<1x1xf32>, tensor<1x1xf32>
  %t:3 = attn.online_step ins(%q, %k, %v : tensor<1x1x16xf32>, tensor<1x26x16xf32>, tensor<1x26x16xf32>)
      outs(%s#0, %s#1, %s#2 : tensor<1x1x16xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      {scale = 0.25 : f64, schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 1>}
      -> tensor<1x1x16xf32>, tensor<1x1xf32>, tensor<1x1xf32>
  %r = attn.finalize ins(%t#0, %t#1, %t#2 : tensor<1x1x16xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      outs(%o : tensor<1x1x16xf32>) -> tensor<1x1x16xf32>
  return %r : tensor<1x1x16xf32>
}

// -----

// A tile that divides the page is a view of the cache: nothing is gathered, and tiles start where pages do. A round has
// a tile of four pages each, whose rows are segments of a step, one after another.
// CHECK-LABEL: func @pages(
//  CHECK-SAME:     %[[TABLE:[a-z0-9]*]]: tensor<2x3xi32>
//       CHECK:   scf.forall
//       CHECK:     scf.for %[[KEY:[a-z0-9]*]] =
//       CHECK:       %[[ENTRY:.*]] = affine.apply {{.*}}(%[[KEY]])
//       CHECK:       tensor.extract %[[TABLE]][{{.*}}, %[[ENTRY]]]
//   CHECK-NOT:       attn.gather_pages
//       CHECK:       tensor.extract_slice {{.*}} [1, 4, 1, 16] [1, 1, 1, 1] : tensor<6x8x1x16xf32> to tensor<1x4x1x16xf32>
//       CHECK:       scf.for
//       CHECK:         attn.online_step {{.*}} segments keys(
//       CHECK:     scf.for
//   CHECK-NOT:       segments
//       CHECK:       attn.online_step
func.func @pages(%t: tensor<2x3xi32>, %n: tensor<2xi32>, %q: tensor<2x1x1x16xf32>, %kc: tensor<6x8x1x16xf32>,
                 %vc: tensor<6x8x1x16xf32>, %o: tensor<2x1x1x16xf32>, %a: tensor<2x1x1x16xf32>, %m: tensor<2x1x1xf32>,
                 %l: tensor<2x1x1xf32>, %i: tensor<2x1x24x16xf32>) -> tensor<2x1x1x16xf32> {
  %k = attn.gather_pages ins(%kc, %t : tensor<6x8x1x16xf32>, tensor<2x3xi32>) lengths(%n : tensor<2xi32>)
      outs(%i : tensor<2x1x24x16xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x1x24x16xf32>
  %v = attn.gather_pages ins(%vc, %t : tensor<6x8x1x16xf32>, tensor<2x3xi32>) lengths(%n : tensor<2xi32>)
      outs(%i : tensor<2x1x24x16xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x1x24x16xf32>
  %s:3 = attn.init_state outs(%a, %m, %l : tensor<2x1x1x16xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
      -> tensor<2x1x1x16xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>
  %u:3 = attn.online_step ins(%q, %k, %v : tensor<2x1x1x16xf32>, tensor<2x1x24x16xf32>, tensor<2x1x24x16xf32>)
      outs(%s#0, %s#1, %s#2 : tensor<2x1x1x16xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
      {scale = 0.25 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 1>}
      mask_mod {
        %batch = attn.index batch : index
        %key = attn.index key : index
        %length = tensor.extract %n[%batch] : tensor<2xi32>
        %end = arith.index_cast %length : i32 to index
        %kept = arith.cmpi slt, %key, %end : index
        attn.yield %kept : i1
      } key_ranges {
        %batch = attn.index batch : index
        %length = tensor.extract %n[%batch] : tensor<2xi32>
        %end = arith.index_cast %length : i32 to index
        %zero = arith.constant 0 : index
        attn.yield %zero, %end, %zero, %end : index, index, index, index
      } -> tensor<2x1x1x16xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>
  %r = attn.finalize ins(%u#0, %u#1, %u#2 : tensor<2x1x1x16xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
      outs(%o : tensor<2x1x1x16xf32>) -> tensor<2x1x1x16xf32>
  return %r : tensor<2x1x1x16xf32>
}

// -----

// Beyond the lengths of V, which are others, its rows are 0: they are gathered.
// CHECK-LABEL: func @other_lengths(
//       CHECK:   scf.for
//   CHECK-NOT:     attn.gather_pages ins(%{{.*}} : tensor<6x8x1x16xf32>, tensor<2x3xi32>) lengths(%arg1
//       CHECK:     attn.gather_pages
//   CHECK-NOT:     attn.gather_pages
//       CHECK:     attn.online_step
func.func @other_lengths(%t: tensor<2x3xi32>, %n: tensor<2xi32>, %fewer: tensor<2xi32>, %q: tensor<2x1x1x16xf32>, %kc: tensor<6x8x1x16xf32>,
                 %vc: tensor<6x8x1x16xf32>, %o: tensor<2x1x1x16xf32>, %a: tensor<2x1x1x16xf32>, %m: tensor<2x1x1xf32>,
                 %l: tensor<2x1x1xf32>, %i: tensor<2x1x24x16xf32>) -> tensor<2x1x1x16xf32> {
  %k = attn.gather_pages ins(%kc, %t : tensor<6x8x1x16xf32>, tensor<2x3xi32>) lengths(%n : tensor<2xi32>)
      outs(%i : tensor<2x1x24x16xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x1x24x16xf32>
  %v = attn.gather_pages ins(%vc, %t : tensor<6x8x1x16xf32>, tensor<2x3xi32>) lengths(%fewer : tensor<2xi32>)
      outs(%i : tensor<2x1x24x16xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x1x24x16xf32>
  %s:3 = attn.init_state outs(%a, %m, %l : tensor<2x1x1x16xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
      -> tensor<2x1x1x16xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>
  %u:3 = attn.online_step ins(%q, %k, %v : tensor<2x1x1x16xf32>, tensor<2x1x24x16xf32>, tensor<2x1x24x16xf32>)
      outs(%s#0, %s#1, %s#2 : tensor<2x1x1x16xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
      {scale = 0.25 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 1>}
      mask_mod {
        %batch = attn.index batch : index
        %key = attn.index key : index
        %length = tensor.extract %n[%batch] : tensor<2xi32>
        %end = arith.index_cast %length : i32 to index
        %kept = arith.cmpi slt, %key, %end : index
        attn.yield %kept : i1
      } key_ranges {
        %batch = attn.index batch : index
        %length = tensor.extract %n[%batch] : tensor<2xi32>
        %end = arith.index_cast %length : i32 to index
        %zero = arith.constant 0 : index
        attn.yield %zero, %end, %zero, %end : index, index, index, index
      } -> tensor<2x1x1x16xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>
  %r = attn.finalize ins(%u#0, %u#1, %u#2 : tensor<2x1x1x16xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
      outs(%o : tensor<2x1x1x16xf32>) -> tensor<2x1x1x16xf32>
  return %r : tensor<2x1x1x16xf32>
}

// -----

// The only batch dimension is that of the heads: a tile of four of them has one batch index, and a head a row.
// CHECK-LABEL: func @batch_is_head(
//       CHECK:   attn.online_step
//       CHECK:     %[[ROW:.*]] = attn.index head : index
//       CHECK:     %[[HEAD:.*]] = arith.addi %[[ROW]],
//       CHECK:     tensor.extract %{{.*}}[%[[HEAD]]] : tensor<8xf32>
func.func @batch_is_head(%q: tensor<8x1x16xf32>, %k: tensor<2x24x16xf32>, %v: tensor<2x24x16xf32>, %o: tensor<8x1x16xf32>,
                         %a: tensor<8x1x16xf32>, %m: tensor<8x1xf32>, %l: tensor<8x1xf32>, %w: tensor<8xf32>)
    -> tensor<8x1x16xf32> {
  %s:3 = attn.init_state outs(%a, %m, %l : tensor<8x1x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
      -> tensor<8x1x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>
  %t:3 = attn.online_step ins(%q, %k, %v : tensor<8x1x16xf32>, tensor<2x24x16xf32>, tensor<2x24x16xf32>)
      outs(%s#0, %s#1, %s#2 : tensor<8x1x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
      {scale = 0.25 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 4>}
      score_mod {
      ^bb0(%score: f32):
        %b = attn.index batch : index
        %factor = tensor.extract %w[%b] : tensor<8xf32>
        %scaled = arith.mulf %score, %factor : f32
        attn.yield %scaled : f32
      } -> tensor<8x1x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>
  %r = attn.finalize ins(%t#0, %t#1, %t#2 : tensor<8x1x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
      outs(%o : tensor<8x1x16xf32>) -> tensor<8x1x16xf32>
  return %r : tensor<8x1x16xf32>
}
