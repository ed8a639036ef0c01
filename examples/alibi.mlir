// ALiBi (Press et al., arXiv:2108.12409): each head subtracts its own slope times the distance of the key.
//
// The scores stay in registers: score_mod is a function of one score, compiled over the lanes of a vector. Positions
// come from attn.index, the slopes from a tensor captured from outside, one more argument of the kernel (attn.name is
// its name in C). No bias of 8 x 113 x 113 numbers exists anywhere.
//
//   attnc run examples/alibi.mlir --check
//
// RUN: attnc run %s --check --fail-on-fallback | FileCheck %s --check-prefix=NUMBERS
// RUN: attnc %s -o %t.o --header=%t.h && FileCheck %s --check-prefix=HEADER < %t.h
//
// NUMBERS: output: largest error {{.*}}: ok
// HEADER: void alibi(const float *query, const float *key, const float *value, const float *slopes, float *output);
func.func @alibi(%q: tensor<2x8x113x64xf32>, %k: tensor<2x8x113x64xf32>, %v: tensor<2x8x113x64xf32>,
                 %slopes: tensor<8xf32> {attn.name = "slopes"}) -> tensor<2x8x113x64xf32> {
  %o = tensor.empty() : tensor<2x8x113x64xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<2x8x113x64xf32>, tensor<2x8x113x64xf32>, tensor<2x8x113x64xf32>)
      outs(%o : tensor<2x8x113x64xf32>) {causal = #attn.causal<top_left>} score_mod {
  ^bb0(%score: f32):
    // score - slopes[h] * (i - j)
    %h = attn.index head : index
    %i = attn.index query : index
    %j = attn.index key : index
    %slope = tensor.extract %slopes[%h] : tensor<8xf32>
    %distance = arith.subi %i, %j : index
    %integer = arith.index_cast %distance : index to i32
    %real = arith.sitofp %integer : i32 to f32
    %penalty = arith.mulf %slope, %real : f32
    %biased = arith.subf %score, %penalty : f32
    attn.yield %biased : f32
  } -> tensor<2x8x113x64xf32>
  return %out : tensor<2x8x113x64xf32>
}
