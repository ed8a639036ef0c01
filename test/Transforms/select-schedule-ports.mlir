// Where multiply-adds take the ports of all other vector code, blocks have 24 accumulators, tiles of D 136 more keys, and
// K and V that stay in the second-level cache are not prefetched. Other processors have what they had.
// Heads of multiples of 32 are multiplied by tiles there.
// RUN: attn-opt %s --attn-select-schedule=target=sapphirerapids | FileCheck %s --check-prefix=SHARED
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v4 | FileCheck %s --check-prefix=OWN
// RUN: attn-opt %s --attn-select-schedule=target=znver5 | FileCheck %s --check-prefix=OWN

// SHARED-LABEL: func @d72(
//       SHARED:   #attn.prefill<query_tile = 64, key_tile = 64, lanes = 16, block_rows = 6, block_vectors = 4>
//    OWN-LABEL: func @d72(
//          OWN:   #attn.prefill<query_tile = 64, key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 4, prefetch = 128>
func.func @d72(%q: tensor<1024x72xf32>, %o: tensor<1024x72xf32>) -> tensor<1024x72xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<1024x72xf32>, tensor<1024x72xf32>, tensor<1024x72xf32>)
      outs(%o : tensor<1024x72xf32>) -> tensor<1024x72xf32>
  return %r : tensor<1024x72xf32>
}

// SHARED-LABEL: func @d136(
//       SHARED:   #attn.prefill<query_tile = 64, key_tile = 128, lanes = 16, block_rows = 6, block_vectors = 4, prefetch = 128>
//    OWN-LABEL: func @d136(
//          OWN:   key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 4, prefetch = 128>
func.func @d136(%q: tensor<1024x136xf32>, %o: tensor<1024x136xf32>) -> tensor<1024x136xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<1024x136xf32>, tensor<1024x136xf32>, tensor<1024x136xf32>)
      outs(%o : tensor<1024x136xf32>) -> tensor<1024x136xf32>
  return %r : tensor<1024x136xf32>
}

// K and V of a head leave the cache.
// SHARED-LABEL: func @d72_4k(
//       SHARED:   key_tile = 64, lanes = 16, block_rows = 6, block_vectors = 4, prefetch = 128>
func.func @d72_4k(%q: tensor<4096x72xf32>, %o: tensor<4096x72xf32>) -> tensor<4096x72xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<4096x72xf32>, tensor<4096x72xf32>, tensor<4096x72xf32>)
      outs(%o : tensor<4096x72xf32>) -> tensor<4096x72xf32>
  return %r : tensor<4096x72xf32>
}

// In short heads the prefetch reaches the next one.
// SHARED-LABEL: func @short(
//       SHARED:   block_rows = 6, block_vectors = 4, prefetch = 128>
func.func @short(%q: tensor<128x72xf32>, %o: tensor<128x72xf32>) -> tensor<128x72xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<128x72xf32>, tensor<128x72xf32>, tensor<128x72xf32>)
      outs(%o : tensor<128x72xf32>) -> tensor<128x72xf32>
  return %r : tensor<128x72xf32>
}
