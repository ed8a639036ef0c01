// Which instruction multiplies bf16 is a fact of the processor: pairs where they are faster than f32, as on Zen 5 and
// not on Sapphire Rapids, which has the instruction too.
// RUN: attn-opt %s --attn-select-schedule=target=znver5 | FileCheck %s --check-prefixes=CHECK,ZEN
// RUN: attn-opt %s --attn-select-schedule=target=sapphirerapids | FileCheck %s --check-prefixes=CHECK,INTEL
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v4 | FileCheck %s --check-prefixes=CHECK,INTEL

// CHECK-LABEL: func @bf16(
//         ZEN:   query_tile = 128, {{.*}} instruction = pairs
//   INTEL-NOT:   instruction = pairs
func.func @bf16(%q: tensor<256x64xbf16>, %o: tensor<256x64xbf16>) -> tensor<256x64xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<256x64xbf16>, tensor<256x64xbf16>, tensor<256x64xbf16>)
      outs(%o : tensor<256x64xbf16>) -> tensor<256x64xbf16>
  return %r : tensor<256x64xbf16>
}

// The last element of an odd head has no other one beside it.
// CHECK-LABEL: func @odd_head(
//   CHECK-NOT:   instruction = pairs
func.func @odd_head(%q: tensor<256x59xbf16>, %o: tensor<256x59xbf16>) -> tensor<256x59xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<256x59xbf16>, tensor<256x59xbf16>, tensor<256x59xbf16>)
      outs(%o : tensor<256x59xbf16>) -> tensor<256x59xbf16>
  return %r : tensor<256x59xbf16>
}

// The elements of a pair lie together in memory, those of these keys do not.
// CHECK-LABEL: func @columns_of_keys(
//   CHECK-NOT:   instruction = pairs
func.func @columns_of_keys(%q: tensor<256x64xbf16>, %k: tensor<64x256xbf16>, %o: tensor<256x64xbf16>) -> tensor<256x64xbf16> {
  %r = attn.sdpa ins(%q, %k, %q : tensor<256x64xbf16>, tensor<64x256xbf16>, tensor<256x64xbf16>)
      outs(%o : tensor<256x64xbf16>)
      {maps = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (d, j)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (i, e)>]} -> tensor<256x64xbf16>
  return %r : tensor<256x64xbf16>
}

// CHECK-LABEL: func @f16(
//   CHECK-NOT:   instruction = pairs
//   CHECK-NOT:   prefetch
func.func @f16(%q: tensor<256x64xf16>, %o: tensor<256x64xf16>) -> tensor<256x64xf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<256x64xf16>, tensor<256x64xf16>, tensor<256x64xf16>)
      outs(%o : tensor<256x64xf16>) -> tensor<256x64xf16>
  return %r : tensor<256x64xf16>
}

// Rows of K and V are prefetched where the products read them as they lie and they leave the second-level cache; a mask
// keeps tiles small.
// CHECK-LABEL: func @f32(
//         ZEN:   query_tile = 64, {{.*}} prefetch = 128>
//   INTEL-NOT:   instruction = pairs
func.func @f32(%q: tensor<4096x64xf32>, %o: tensor<4096x64xf32>) -> tensor<4096x64xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<4096x64xf32>, tensor<4096x64xf32>, tensor<4096x64xf32>)
      outs(%o : tensor<4096x64xf32>) -> tensor<4096x64xf32>
  return %r : tensor<4096x64xf32>
}

// Tiles hold K and V of 8 bits as bf16; beside f16 they are no pairs of bf16.
// CHECK-LABEL: func @bytes(
//         ZEN:   query_tile = 128, {{.*}} instruction = pairs
//   INTEL-NOT:   instruction = pairs
func.func @bytes(%q: tensor<1x256x64xbf16>, %k: tensor<1x256x64xi8>, %s: tensor<1xf32>, %o: tensor<1x256x64xbf16>) -> tensor<1x256x64xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x256x64xbf16>, tensor<1x256x64xi8>, tensor<1x256x64xi8>)
      kv_scale(%s, %s : tensor<1xf32>, tensor<1xf32>) outs(%o : tensor<1x256x64xbf16>) -> tensor<1x256x64xbf16>
  return %r : tensor<1x256x64xbf16>
}

// CHECK-LABEL: func @bytes_beside_f16(
//   CHECK-NOT:   instruction = pairs
func.func @bytes_beside_f16(%q: tensor<1x256x64xf16>, %k: tensor<1x256x64xi8>, %s: tensor<1xf32>, %o: tensor<1x256x64xf16>) -> tensor<1x256x64xf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x256x64xf16>, tensor<1x256x64xi8>, tensor<1x256x64xi8>)
      kv_scale(%s, %s : tensor<1xf32>, tensor<1xf32>) outs(%o : tensor<1x256x64xf16>) -> tensor<1x256x64xf16>
  return %r : tensor<1x256x64xf16>
}
