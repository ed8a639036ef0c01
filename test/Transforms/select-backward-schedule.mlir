// What the policy makes of shape and processor: tiles of whole blocks, pairs of bf16 where they are faster, and chunks
// where there are few heads. The number of threads is no part of it: it would change the order of sums.
// RUN: attn-opt %s --attn-select-schedule=target=znver5 | FileCheck %s --check-prefixes=CHECK,ZEN
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v3 | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: attn-opt %s --attn-select-schedule=target=sapphirerapids | FileCheck %s --check-prefixes=CHECK,TILES

// CHECK-LABEL: func @eight_heads(
//   ZEN: #attn.backward<query_tile = 96, key_tile = 128, lanes = 16, block_rows = 12, block_vectors = 2>
//  AVX2: #attn.backward<query_tile = 96, key_tile = 128, lanes = 8, block_rows = 6, block_vectors = 2>
func.func @eight_heads(%q: tensor<8x4096x64xf32>, %l: tensor<8x4096xf32>)
    -> (tensor<8x4096x64xf32>, tensor<8x4096x64xf32>, tensor<8x4096x64xf32>) {
  %r:3 = attn.sdpa_backward
      ins(%q, %q, %q, %q, %l, %q : tensor<8x4096x64xf32>, tensor<8x4096x64xf32>, tensor<8x4096x64xf32>,
          tensor<8x4096x64xf32>, tensor<8x4096xf32>, tensor<8x4096x64xf32>)
      outs(%q, %q, %q : tensor<8x4096x64xf32>, tensor<8x4096x64xf32>, tensor<8x4096x64xf32>)
      -> tensor<8x4096x64xf32>, tensor<8x4096x64xf32>, tensor<8x4096x64xf32>
  return %r#0, %r#1, %r#2 : tensor<8x4096x64xf32>, tensor<8x4096x64xf32>, tensor<8x4096x64xf32>
}

// CHECK-LABEL: func @one_head(
//       CHECK: block_vectors = 2, chunks = 8>
func.func @one_head(%q: tensor<4096x64xf32>, %l: tensor<4096xf32>)
    -> (tensor<4096x64xf32>, tensor<4096x64xf32>, tensor<4096x64xf32>) {
  %r:3 = attn.sdpa_backward
      ins(%q, %q, %q, %q, %l, %q : tensor<4096x64xf32>, tensor<4096x64xf32>, tensor<4096x64xf32>, tensor<4096x64xf32>,
          tensor<4096xf32>, tensor<4096x64xf32>)
      outs(%q, %q, %q : tensor<4096x64xf32>, tensor<4096x64xf32>, tensor<4096x64xf32>)
      -> tensor<4096x64xf32>, tensor<4096x64xf32>, tensor<4096x64xf32>
  return %r#0, %r#1, %r#2 : tensor<4096x64xf32>, tensor<4096x64xf32>, tensor<4096x64xf32>
}

// Three heads of Q share one of K: that is one task.
// CHECK-LABEL: func @short(
//       CHECK: block_vectors = 2, chunks = 2>
func.func @short(%q: tensor<3x1100x64xf32>, %k: tensor<1x1100x64xf32>, %l: tensor<3x1100xf32>)
    -> (tensor<3x1100x64xf32>, tensor<1x1100x64xf32>, tensor<1x1100x64xf32>) {
  %r:3 = attn.sdpa_backward
      ins(%q, %k, %k, %q, %l, %q : tensor<3x1100x64xf32>, tensor<1x1100x64xf32>, tensor<1x1100x64xf32>,
          tensor<3x1100x64xf32>, tensor<3x1100xf32>, tensor<3x1100x64xf32>)
      outs(%q, %k, %k : tensor<3x1100x64xf32>, tensor<1x1100x64xf32>, tensor<1x1100x64xf32>)
      -> tensor<3x1100x64xf32>, tensor<1x1100x64xf32>, tensor<1x1100x64xf32>
  return %r#0, %r#1, %r#2 : tensor<3x1100x64xf32>, tensor<1x1100x64xf32>, tensor<1x1100x64xf32>
}

// CHECK-LABEL: func @bf16(
//         ZEN: #attn.backward<query_tile = 36, key_tile = 32, lanes = 16, block_rows = 12, block_vectors = 2, instruction = pairs>
//    AVX2-NOT: instruction = pairs
//       TILES: #attn.backward<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 32, block_vectors = 2, instruction = amx>
func.func @bf16(%q: tensor<30x64xbf16>, %l: tensor<30xf32>) -> (tensor<30x64xbf16>, tensor<30x64xbf16>, tensor<30x64xbf16>) {
  %r:3 = attn.sdpa_backward
      ins(%q, %q, %q, %q, %l, %q : tensor<30x64xbf16>, tensor<30x64xbf16>, tensor<30x64xbf16>, tensor<30x64xbf16>,
          tensor<30xf32>, tensor<30x64xbf16>)
      outs(%q, %q, %q : tensor<30x64xbf16>, tensor<30x64xbf16>, tensor<30x64xbf16>)
      -> tensor<30x64xbf16>, tensor<30x64xbf16>, tensor<30x64xbf16>
  return %r#0, %r#1, %r#2 : tensor<30x64xbf16>, tensor<30x64xbf16>, tensor<30x64xbf16>
}

// Pairs along V need an even number of its columns.
// CHECK-LABEL: func @odd_columns(
//   CHECK-NOT: instruction = pairs
func.func @odd_columns(%q: tensor<30x64xbf16>, %v: tensor<30x59xbf16>, %l: tensor<30xf32>)
    -> (tensor<30x64xbf16>, tensor<30x64xbf16>, tensor<30x59xbf16>) {
  %r:3 = attn.sdpa_backward
      ins(%q, %q, %v, %v, %l, %v : tensor<30x64xbf16>, tensor<30x64xbf16>, tensor<30x59xbf16>, tensor<30x59xbf16>,
          tensor<30xf32>, tensor<30x59xbf16>)
      outs(%q, %q, %v : tensor<30x64xbf16>, tensor<30x64xbf16>, tensor<30x59xbf16>)
      -> tensor<30x64xbf16>, tensor<30x64xbf16>, tensor<30x59xbf16>
  return %r#0, %r#1, %r#2 : tensor<30x64xbf16>, tensor<30x64xbf16>, tensor<30x59xbf16>
}
