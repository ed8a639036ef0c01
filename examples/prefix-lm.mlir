// A prefix language model: the first 40 tokens see each other in both directions, the rest is causal.
//
// As attributes it is `causal` beside `prefix = 40 : i64`. Here a region says it: `j <= i or j < 40` is arithmetic on
// positions, and the analysis solves it for ranges of keys as it solves the attributes. Both cost the same.
//
//   attnc run examples/prefix-lm.mlir --check
//   attnc run examples/prefix-lm.mlir --remarks=all
//
// RUN: attnc run %s --check --fail-on-fallback | FileCheck %s --check-prefix=NUMBERS
// RUN: attnc %s -o %t.o --target=x86-64-v3 --remarks=all 2>&1 | FileCheck %s
//
// NUMBERS: output: largest error {{.*}}: ok
// CHECK: mask-analyzed: predicate: 0 conjuncts always hold, 1 became key ranges, 0 are tested on every key
func.func @prefix_lm(%q: tensor<2x4x203x64xf32>, %k: tensor<2x4x203x64xf32>, %v: tensor<2x4x203x64xf32>)
    -> tensor<2x4x203x64xf32> {
  %prefix = arith.constant 40 : index
  %o = tensor.empty() : tensor<2x4x203x64xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<2x4x203x64xf32>, tensor<2x4x203x64xf32>, tensor<2x4x203x64xf32>)
      outs(%o : tensor<2x4x203x64xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %is_past = arith.cmpi sle, %j, %i : index
    %is_prefix = arith.cmpi slt, %j, %prefix : index
    %keep = arith.ori %is_past, %is_prefix : i1
    attn.yield %keep : i1
  } -> tensor<2x4x203x64xf32>
  return %out : tensor<2x4x203x64xf32>
}
