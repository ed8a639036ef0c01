// Attention of the same rows over two disjoint ranges of keys, each with its out, largest score and ln of its row sum, as
// attention over both. ring.c and decode.c call it for the blocks of other ranks. In lse, which is one number, a large
// score would leave no bits for ln of the sum.
//
// RUN: attnc run %s --check | FileCheck %s
// CHECK: out: largest error {{.*}}: ok
// CHECK: max: largest error {{.*}}: ok
// CHECK: log_sum: largest error {{.*}}: ok
!out = tensor<?x32xf32>
!row = tensor<?xf32>
#element = affine_map<(i, e) -> (i, e)>
#row = affine_map<(i, e) -> (i)>
func.func @merge(%out1: !out {attn.name = "out1"}, %max1: !row {attn.name = "max1"},
                 %log_sum1: !row {attn.name = "log_sum1"}, %out2: !out {attn.name = "out2"},
                 %max2: !row {attn.name = "max2"}, %log_sum2: !row {attn.name = "log_sum2"})
    -> (!out {attn.name = "out"}, !row {attn.name = "max"}, !row {attn.name = "log_sum"}) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %max1, %c0 : !row
  %acc0 = tensor.empty(%rows) : !out
  // What a kernel returns is a state: (l out, m, l).
  %l1 = math.exp %log_sum1 : !row
  %acc1 = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]}
      ins(%out1, %l1 : !out, !row) outs(%acc0 : !out) {
  ^bb0(%x: f32, %sum: f32, %ignored: f32):
    %product = arith.mulf %x, %sum : f32
    linalg.yield %product : f32
  } -> !out
  %l2 = math.exp %log_sum2 : !row
  %acc2 = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]}
      ins(%out2, %l2 : !out, !row) outs(%acc0 : !out) {
  ^bb0(%x: f32, %sum: f32, %ignored: f32):
    %product = arith.mulf %x, %sum : f32
    linalg.yield %product : f32
  } -> !out
  %acc, %m, %l = attn.merge_states ins(%acc2, %max2, %l2 : !out, !row, !row) outs(%acc1, %max1, %l1 : !out, !row, !row)
      -> !out, !row, !row
  %out0 = tensor.empty(%rows) : !out
  %max0 = tensor.empty(%rows) : !row
  %log_sum0 = tensor.empty(%rows) : !row
  %out, %max, %log_sum = attn.finalize ins(%acc, %m, %l : !out, !row, !row)
      outs(%out0 : !out) max(%max0 : !row) log_sum(%log_sum0 : !row) -> !out, !row, !row
  return %out, %max, %log_sum : !out, !row, !row
}
