// A schedule by hand that an op can have stays as it is.
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v3 | FileCheck %s

// CHECK-LABEL: func @by_hand(
//       CHECK:   schedule = #attn.prefill<query_tile = 8, key_tile = 24, lanes = 8, block_rows = 1, block_vectors = 2>
func.func @by_hand(%q: tensor<256x64xf32>, %k: tensor<256x64xf32>, %v: tensor<256x64xf32>,
                   %o: tensor<256x64xf32>) -> tensor<256x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<256x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>)
      outs(%o : tensor<256x64xf32>)
      {schedule = #attn.prefill<query_tile = 8, key_tile = 24, lanes = 8, block_rows = 1, block_vectors = 2>} -> tensor<256x64xf32>
  return %r : tensor<256x64xf32>
}
