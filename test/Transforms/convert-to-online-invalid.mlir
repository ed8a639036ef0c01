// RUN: attn-opt %s --attn-convert-to-online --verify-diagnostics

// 1/sqrt(D) of a D that is only known at run time.
func.func @dynamic_head_size(%q: tensor<4x?xf32>, %v: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{expected a scale where the head size is dynamic; write scale = … or scale_value(…)}}
  %r = attn.sdpa ins(%q, %q, %v : tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
