// Grouped heads: 8 heads of queries share 2 heads of keys and values, and nobody expands them.
//
// Query head h reads key head h floordiv 4. K and V stay as they are, 2 heads each: the op says which head belongs to
// which by the sizes alone, or by its indexing maps, written out below for the second function, whose Q has heads and
// rows the other way round (batch, rows, heads, columns). Both are the same kernel on another layout.
//
//   attn-opt --attn-to-flash examples/grouped-heads.mlir
//
// RUN: attn-opt --pass-pipeline="builtin.module(attn-to-flash{target=x86-64-v3})" %s | FileCheck %s
// RUN: attnc run %s --kernel=grouped --check --fail-on-fallback | FileCheck %s --check-prefix=NUMBERS
// RUN: attnc run %s --kernel=rows_first --check --fail-on-fallback | FileCheck %s --check-prefix=NUMBERS
//
// CHECK-LABEL: func.func @grouped
// CHECK:         scf.forall
// CHECK:         attn.online_step
// CHECK-NOT:     tensor<1x8x128x64xf32>, tensor<1x8x
//
// CHECK-LABEL: func.func @rows_first
// CHECK:         scf.forall
// CHECK:         attn.online_step
//
// NUMBERS: output: largest error {{.*}}: ok
func.func @grouped(%q: tensor<1x8x128x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>)
    -> tensor<1x8x128x64xf32> {
  %o = tensor.empty() : tensor<1x8x128x64xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<1x8x128x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>)
      outs(%o : tensor<1x8x128x64xf32>) -> tensor<1x8x128x64xf32>
  return %out : tensor<1x8x128x64xf32>
}

// From (batch, head, query, key, head size, value size) to the dimensions of each operand.
#rows_first = affine_map<(b, h, i, j, d, e) -> (b, i, h, d)>
#key = affine_map<(b, h, i, j, d, e) -> (b, h floordiv 4, j, d)>
#value = affine_map<(b, h, i, j, d, e) -> (b, h floordiv 4, j, e)>
#out = affine_map<(b, h, i, j, d, e) -> (b, i, h, e)>

func.func @rows_first(%q: tensor<1x128x8x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>)
    -> tensor<1x128x8x64xf32> {
  %o = tensor.empty() : tensor<1x128x8x64xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<1x128x8x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>)
      outs(%o : tensor<1x128x8x64xf32>) {maps = [#rows_first, #key, #value, #out]} -> tensor<1x128x8x64xf32>
  return %out : tensor<1x128x8x64xf32>
}
