// Attention over the keys of two parties, each with out, the largest score and ln of the row sum, as attention over both:
// of other keys into what `out`, `max` and `log_sum` hold, in place. decode.c calls it for what other ranks have
// computed. A kernel that has the keys adds them itself, as ring.c's with into=state. In lse, which is one number, a large
// score would leave no bits for ln of the sum.
//
// RUN: attnc run %s --check | FileCheck %s
// CHECK: out: largest error {{.*}}: ok
// CHECK: max: largest error {{.*}}: ok
// CHECK: log_sum: largest error {{.*}}: ok
// RUN: attnc %s --stop-after=vector | FileCheck %s --check-prefix=LOOPS
// LOOPS-NOT: memref.alloc{{.*}}x32x
// LOOPS-NOT: memref.copy
!out = tensor<?x32xf32>
!row = tensor<?xf32>
#element = affine_map<(i, e) -> (i, e)>
#row = affine_map<(i, e) -> (i)>
#each = affine_map<(i) -> (i)>
func.func @merge(%out2: !out {attn.name = "out2"}, %max2: !row {attn.name = "max2"},
                 %log_sum2: !row {attn.name = "log_sum2"}, %out1: !out {attn.name = "out"},
                 %max1: !row {attn.name = "max"}, %log_sum1: !row {attn.name = "log_sum"})
    -> (!out {attn.name = "out"}, !row {attn.name = "max"}, !row {attn.name = "log_sum"}) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %max1, %c0 : !row
  %none = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %any = tensor.empty(%rows) : !row
  // w = exp(m - M + log_sum) of each, 0 where there is no key.
  %w1 = linalg.generic {indexing_maps = [#each, #each, #each, #each], iterator_types = ["parallel"]}
      ins(%max1, %log_sum1, %max2 : !row, !row, !row) outs(%any : !row) {
  ^bb0(%m: f32, %s: f32, %other: f32, %ignored: f32):
    %largest = arith.maximumf %m, %other : f32
    %d = arith.subf %m, %largest : f32
    %e = arith.addf %d, %s : f32
    %p = math.exp %e : f32
    %is = arith.cmpf oeq, %m, %none : f32
    %w = arith.select %is, %zero, %p : f32
    linalg.yield %w : f32
  } -> !row
  %w2 = linalg.generic {indexing_maps = [#each, #each, #each, #each], iterator_types = ["parallel"]}
      ins(%max2, %log_sum2, %max1 : !row, !row, !row) outs(%any : !row) {
  ^bb0(%m: f32, %s: f32, %other: f32, %ignored: f32):
    %largest = arith.maximumf %m, %other : f32
    %d = arith.subf %m, %largest : f32
    %e = arith.addf %d, %s : f32
    %p = math.exp %e : f32
    %is = arith.cmpf oeq, %m, %none : f32
    %w = arith.select %is, %zero, %p : f32
    linalg.yield %w : f32
  } -> !row
  // The factors of the outs are w / W, with W = w1 + w2.
  %f1 = linalg.generic {indexing_maps = [#each, #each, #each], iterator_types = ["parallel"]}
      ins(%w1, %w2 : !row, !row) outs(%any : !row) {
  ^bb0(%w: f32, %other: f32, %ignored: f32):
    %all = arith.addf %w, %other : f32
    %ratio = arith.divf %w, %all : f32
    %is = arith.cmpf oeq, %w, %zero : f32
    %f = arith.select %is, %zero, %ratio : f32
    linalg.yield %f : f32
  } -> !row
  %f2 = linalg.generic {indexing_maps = [#each, #each, #each], iterator_types = ["parallel"]}
      ins(%w2, %w1 : !row, !row) outs(%any : !row) {
  ^bb0(%w: f32, %other: f32, %ignored: f32):
    %all = arith.addf %w, %other : f32
    %ratio = arith.divf %w, %all : f32
    %is = arith.cmpf oeq, %w, %zero : f32
    %f = arith.select %is, %zero, %ratio : f32
    linalg.yield %f : f32
  } -> !row
  // One loop over both outs. What stands beside a factor of 0 may be NaN.
  %out = linalg.generic {indexing_maps = [#element, #row, #row, #element], iterator_types = ["parallel", "parallel"]}
      ins(%out2, %f1, %f2 : !out, !row, !row) outs(%out1 : !out) {
  ^bb0(%x2: f32, %a: f32, %b: f32, %x1: f32):
    %is1 = arith.cmpf oeq, %a, %zero : f32
    %is2 = arith.cmpf oeq, %b, %zero : f32
    %p1 = arith.mulf %x1, %a : f32
    %p2 = arith.mulf %x2, %b : f32
    %y1 = arith.select %is1, %zero, %p1 : f32
    %y2 = arith.select %is2, %zero, %p2 : f32
    %sum = arith.addf %y1, %y2 : f32
    linalg.yield %sum : f32
  } -> !out
  %log_sum = linalg.generic {indexing_maps = [#each, #each, #each], iterator_types = ["parallel"]}
      ins(%w1, %w2 : !row, !row) outs(%log_sum1 : !row) {
  ^bb0(%w: f32, %other: f32, %ignored: f32):
    %all = arith.addf %w, %other : f32
    %log = math.log %all : f32
    linalg.yield %log : f32
  } -> !row
  %max = linalg.generic {indexing_maps = [#each, #each], iterator_types = ["parallel"]}
      ins(%max2 : !row) outs(%max1 : !row) {
  ^bb0(%m2: f32, %m1: f32):
    %m = arith.maximumf %m1, %m2 : f32
    linalg.yield %m : f32
  } -> !row
  return %out, %max, %log_sum : !out, !row, !row
}
