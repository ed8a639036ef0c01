// RUN: attn-opt %s --attn-select-schedule=target=cascadelake | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: attn-opt %s --attn-select-schedule=target=alderlake | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v4 | FileCheck %s --check-prefixes=CHECK,FLOATS

// Beside a Q of 16 bits int8 K and V are multiplied as bytes where the target has that: a tile of 8 KB of each.
// CHECK-LABEL: func @bytes(
//    BYTES:   key_tile = 64, {{.*}}, instruction = bytes, split_keys = 2048, prefetch = 64>
//   FLOATS:   key_tile = 128, {{.*}}block_queries = {{[0-9]+}}, split_keys = 2048, prefetch = 128>
func.func @bytes(%q: tensor<4x1x128xbf16>, %k: tensor<1x4096x128xi8>, %v: tensor<1x4096x128xi8>,
                 %ks: tensor<1xf32>, %vs: tensor<1xf32>, %o: tensor<4x1x128xbf16>) -> tensor<4x1x128xbf16> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x1x128xbf16>, tensor<1x4096x128xi8>, tensor<1x4096x128xi8>)
      kv_scale(%ks, %vs : tensor<1xf32>, tensor<1xf32>)
      outs(%o : tensor<4x1x128xbf16>) -> tensor<4x1x128xbf16>
  return %r : tensor<4x1x128xbf16>
}

// Of few rows memory takes longer than the products do: tiles of 4 KB, nothing asked for.
// CHECK-LABEL: func @few_rows(
//    BYTES:   key_tile = 32, {{.*}}, instruction = bytes, split_keys = 2048>
//   FLOATS:   key_tile = 128, {{.*}}block_queries = {{[0-9]+}}, split_keys = 2048, prefetch = 128>
func.func @few_rows(%q: tensor<2x1x128xbf16>, %k: tensor<1x4096x128xi8>, %v: tensor<1x4096x128xi8>,
                    %ks: tensor<1xf32>, %vs: tensor<1xf32>, %o: tensor<2x1x128xbf16>) -> tensor<2x1x128xbf16> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x1x128xbf16>, tensor<1x4096x128xi8>, tensor<1x4096x128xi8>)
      kv_scale(%ks, %vs : tensor<1xf32>, tensor<1xf32>)
      outs(%o : tensor<2x1x128xbf16>) -> tensor<2x1x128xbf16>
  return %r : tensor<2x1x128xbf16>
}

// Integers of 16 bits would not be exact enough for f32.
// CHECK-LABEL: func @f32(
//   CHECK-NOT:   instruction =
//       CHECK:   return
func.func @f32(%q: tensor<4x1x128xf32>, %k: tensor<1x4096x128xi8>, %v: tensor<1x4096x128xi8>,
               %ks: tensor<1xf32>, %vs: tensor<1xf32>, %o: tensor<4x1x128xf32>) -> tensor<4x1x128xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x1x128xf32>, tensor<1x4096x128xi8>, tensor<1x4096x128xi8>)
      kv_scale(%ks, %vs : tensor<1xf32>, tensor<1xf32>)
      outs(%o : tensor<4x1x128xf32>) -> tensor<4x1x128xf32>
  return %r : tensor<4x1x128xf32>
}

// Nor do shuffles take rows that are no multiples of 16.
// CHECK-LABEL: func @odd(
//   CHECK-NOT:   instruction =
//       CHECK:   return
func.func @odd(%q: tensor<4x1x59xbf16>, %k: tensor<1x4096x59xi8>, %v: tensor<1x4096x64xi8>,
               %ks: tensor<1xf32>, %vs: tensor<1xf32>, %o: tensor<4x1x64xbf16>) -> tensor<4x1x64xbf16> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x1x59xbf16>, tensor<1x4096x59xi8>, tensor<1x4096x64xi8>)
      kv_scale(%ks, %vs : tensor<1xf32>, tensor<1xf32>)
      outs(%o : tensor<4x1x64xbf16>) -> tensor<4x1x64xbf16>
  return %r : tensor<4x1x64xbf16>
}
