// Random weights of projections leave rows normal: scores of a layer as wide as those of models do not saturate the
// softmax, where roundings of f32 decide.

// RUN: attnc run %s --check | FileCheck %s
// CHECK: output: largest error {{.*}} <= 1e-05: ok

!rows = tensor<4x64x512xf32>
!weight = tensor<512x512xf32>

func.func @layer(%x: !rows, %q: !weight, %k: !weight, %v: !weight, %o: !weight) -> !rows {
  %init = tensor.empty() : !rows
  %y = attn.multi_head ins(%x, %q, %k, %v, %o : !rows, !weight, !weight, !weight, !weight) outs(%init : !rows) {heads = 8}
      -> !rows
  return %y : !rows
}
