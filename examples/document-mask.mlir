// Documents packed into one row of tokens: a query sees the keys of its own document, causally.
//
// Which document a token belongs to is data, known at run time only, so no range of keys follows from it at compile
// time. The kernel evaluates the region once for each tile before its main loop and skips the tiles that keep nothing;
// the causal part, which is affine, is solved at compile time as usual. The remark says which part became what.
//
//   attnc run examples/document-mask.mlir --check
//   attnc run examples/document-mask.mlir --remarks=all
//
// RUN: attnc run %s --check --fail-on-fallback | FileCheck %s --check-prefix=NUMBERS
// RUN: attnc %s -o %t.o --remarks=all 2>&1 | FileCheck %s
//
// NUMBERS: output: largest error {{.*}}: ok
// CHECK: mask-analyzed: predicate: {{.*}} 1 became key ranges, 1 are tested on every key, once a call, for a map
func.func @documents(%q: tensor<2x4x203x64xf32>, %k: tensor<2x4x203x64xf32>, %v: tensor<2x4x203x64xf32>,
                     %documents: tensor<2x203xi32> {attn.name = "documents"}) -> tensor<2x4x203x64xf32> {
  %o = tensor.empty() : tensor<2x4x203x64xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<2x4x203x64xf32>, tensor<2x4x203x64xf32>, tensor<2x4x203x64xf32>)
      outs(%o : tensor<2x4x203x64xf32>) {causal = #attn.causal<top_left>} mask_mod {
    // documents[b, i] == documents[b, j]
    %b = attn.index batch : index
    %i = attn.index query : index
    %j = attn.index key : index
    %query_document = tensor.extract %documents[%b, %i] : tensor<2x203xi32>
    %key_document = tensor.extract %documents[%b, %j] : tensor<2x203xi32>
    %is_same = arith.cmpi eq, %query_document, %key_document : i32
    attn.yield %is_same : i1
  } -> tensor<2x4x203x64xf32>
  return %out : tensor<2x4x203x64xf32>
}
