// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v3 | FileCheck %s --check-prefixes=CHECK,V3
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v4 | FileCheck %s --check-prefixes=CHECK,V4

// As many queries as a vector has lanes: a register kernel of one vector waits for its accumulators, sums over lanes
// take less.
// CHECK-LABEL: func @one_vector_of_avx2(
//       CHECK:   #attn.decode<query_tile = 8
func.func @one_vector_of_avx2(%q: tensor<8x8x128xf32>, %k: tensor<8x2048x128xf32>, %o: tensor<8x8x128xf32>)
    -> tensor<8x8x128xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<8x8x128xf32>, tensor<8x2048x128xf32>, tensor<8x2048x128xf32>)
      outs(%o : tensor<8x8x128xf32>) -> tensor<8x8x128xf32>
  return %r : tensor<8x8x128xf32>
}

// CHECK-LABEL: func @one_vector_of_avx512(
//          V3:   #attn.prefill<query_tile = 16
//          V4:   #attn.decode<query_tile = 16
func.func @one_vector_of_avx512(%q: tensor<8x16x128xf32>, %k: tensor<8x2048x128xf32>, %o: tensor<8x16x128xf32>)
    -> tensor<8x16x128xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<8x16x128xf32>, tensor<8x2048x128xf32>, tensor<8x2048x128xf32>)
      outs(%o : tensor<8x16x128xf32>) -> tensor<8x16x128xf32>
  return %r : tensor<8x16x128xf32>
}

// Two whole vectors take less than their sums.
// CHECK-LABEL: func @two_vectors(
//       CHECK:   #attn.prefill<query_tile = 32
func.func @two_vectors(%q: tensor<8x32x128xf32>, %k: tensor<8x2048x128xf32>, %o: tensor<8x32x128xf32>)
    -> tensor<8x32x128xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<8x32x128xf32>, tensor<8x2048x128xf32>, tensor<8x2048x128xf32>)
      outs(%o : tensor<8x32x128xf32>) -> tensor<8x32x128xf32>
  return %r : tensor<8x32x128xf32>
}

// 128 heads on one key head: a tile has as many of them as stay in the cache.
// CHECK-LABEL: func @latent_heads(
//       CHECK:   #attn.decode<query_tile = 1, {{.*}} heads = 16>
func.func @latent_heads(%q: tensor<128x1x576xf32>, %k: tensor<1x4096x576xf32>, %v: tensor<1x4096x512xf32>,
                        %o: tensor<128x1x512xf32>) -> tensor<128x1x512xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<128x1x576xf32>, tensor<1x4096x576xf32>, tensor<1x4096x512xf32>)
      outs(%o : tensor<128x1x512xf32>) -> tensor<128x1x512xf32>
  return %r : tensor<128x1x512xf32>
}
