// Attention sinks, as in gpt-oss: one learned score a head that takes part in the softmax and has no value.
//
// A sink lets a head attend to nothing: it adds exp(sink - m) to the sum, so that the weights of the keys add up to
// less than 1. It is in the units of the scaled scores and is not scaled itself. A window of 128 keys stands beside it,
// as in that model. The log-sum-exp holds the sink.
//
//   attnc run examples/sinks.mlir --check
//
// RUN: attnc run %s --check --fail-on-fallback | FileCheck %s
// CHECK:      output: largest error {{.*}}: ok
// CHECK-NEXT: lse: largest error {{.*}}: ok
func.func @sinks(%q: tensor<1x8x203x64xf32>, %k: tensor<1x1x203x64xf32>, %v: tensor<1x1x203x64xf32>,
                 %sink: tensor<8xf32> {attn.name = "sink"}) -> (tensor<1x8x203x64xf32>, tensor<1x8x203xf32>) {
  %o = tensor.empty() : tensor<1x8x203x64xf32>
  %l = tensor.empty() : tensor<1x8x203xf32>
  %out, %lse = attn.sdpa ins(%q, %k, %v : tensor<1x8x203x64xf32>, tensor<1x1x203x64xf32>, tensor<1x1x203x64xf32>)
      sink(%sink : tensor<8xf32>) outs(%o, %l : tensor<1x8x203x64xf32>, tensor<1x8x203xf32>)
      {causal = #attn.causal<top_left>, window = #attn.window<left = 127>}
      -> tensor<1x8x203x64xf32>, tensor<1x8x203xf32>
  return %out, %lse : tensor<1x8x203x64xf32>, tensor<1x8x203xf32>
}
