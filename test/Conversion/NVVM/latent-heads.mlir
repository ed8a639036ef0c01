// Decode of latent heads: 64 heads are the rows of a wgmma, and two groups of warps have half of V's columns each.
// RUN: attnc %s --target=sm_90a --stop-after=steps -o - | FileCheck %s
// RUN: attnc %s --target=sm_90 --remarks=missed --stop-after=select-schedule -o - 2>&1 | FileCheck %s --check-prefix=PARTS

// V is the first columns of K: a tile of K is copied once, read by both products, and released behind the second one.
// CHECK-LABEL: gpu.func @columns_of_key_kernel(
//  CHECK-SAME:   key_tile = 64, warps = 8, {{.*}} instruction = wgmma, shared_keys = true, {{.*}} stages = 2, producer = true>
//       CHECK:   attn.warp_roles stages(2 of %[[K:.*]] : memref<1x1x64x576xbf16, #gpu.address_space<workgroup>>)
//   CHECK-NOT:   outs({{.*}}x512xbf16
//       CHECK:   attn.wait stages(%[[K]] :
//       CHECK:   attn.product ins(%{{.*}}, %[[K]] :
//   CHECK-NOT:   attn.release
//       CHECK:   %[[V:.*]] = memref.subview %[[K]][0, 0, 0, 0] [1, 1, 64, 512]
//       CHECK:   attn.product ins(%{{.*}}, %[[V]] :
//       CHECK:   attn.release %[[K]]
func.func @columns_of_key(%q: tensor<2x64x1x576xbf16>, %k: tensor<2x1x4096x576xbf16>, %o: tensor<2x64x1x512xbf16>)
    -> tensor<2x64x1x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [2, 1, 4096, 512] [1, 1, 1, 1]
      : tensor<2x1x4096x576xbf16> to tensor<2x1x4096x512xbf16>
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x64x1x576xbf16>, tensor<2x1x4096x576xbf16>, tensor<2x1x4096x512xbf16>)
      outs(%o : tensor<2x64x1x512xbf16>) -> tensor<2x64x1x512xbf16>
  return %r : tensor<2x64x1x512xbf16>
}

// A tensor of its own for V, with fewer keys a tile; of 128 heads a block has 64, and splits fill the device once.
// CHECK-LABEL: gpu.func @many_kernel(
//  CHECK-SAME:   key_tile = 32, warps = 8, {{.*}} split_keys = 256, stages = 2, producer = true>
//       CHECK:   attn.warp_roles stages(2 of %{{.*}}, %{{.*}} : memref<1x1x32x576xf16, {{.*}}>, memref<1x1x32x512xf16,
//       CHECK:   attn.store_state ins({{.*}} : tensor<1x64x1x512xf32, #attn.registers>
//       CHECK:   gpu.launch_func {{ *}}@{{.*}}::@many_kernel blocks in (%c64,

// Without wgmma, parts of V.
//       PARTS:  scores-again: 512 columns of V do not fit the registers of a block: 2 kernels
func.func @many(%q: tensor<2x128x1x576xf16>, %k: tensor<2x1x4096x576xf16>, %v: tensor<2x1x4096x512xf16>,
                %o: tensor<2x128x1x512xf16>) -> tensor<2x128x1x512xf16> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x128x1x576xf16>, tensor<2x1x4096x576xf16>, tensor<2x1x4096x512xf16>)
      outs(%o : tensor<2x128x1x512xf16>) -> tensor<2x128x1x512xf16>
  return %r : tensor<2x128x1x512xf16>
}
