// RUN: attn-opt %s --attn-specialize-strides=target=x86-64-v3 | FileCheck %s
// RUN: attn-opt %s --attn-specialize-strides=target=sm_80 | FileCheck %s --check-prefix=GPU

// The order of K and of V in memory is that of their strides; each result has one destination in both branches.
// CHECK-LABEL: func @both_orders(
//       CHECK:   %[[K:.*]] = bufferization.to_buffer %arg1 read_only
//       CHECK:   %{{.*}}:3, %[[KS:.*]]:3 = memref.extract_strided_metadata %[[K]]
//       CHECK:   %[[KEY:.*]] = arith.cmpi slt, %[[KS]]#0, %[[KS]]#1
//       CHECK:   %[[V:.*]] = bufferization.to_buffer %arg2 read_only
//       CHECK:   %{{.*}}:3, %[[VS:.*]]:3 = memref.extract_strided_metadata %[[V]]
//       CHECK:   %[[VALUE:.*]] = arith.cmpi slt, %[[VS]]#0, %[[VS]]#1
//       CHECK:   %[[OUT:.*]] = tensor.empty()
//       CHECK:   %[[BOTH:.*]] = arith.andi %[[KEY]], %[[VALUE]]
//       CHECK:   scf.if %[[BOTH]]
//       CHECK:     attn.sdpa {{.*}} outs(%[[OUT]] {{.*}}#attn.decode<{{.*}}kv_heads = 4
//       CHECK:   else
//       CHECK:     attn.sdpa {{.*}} outs(%[[OUT]] {{.*}}#attn.decode<
//   CHECK-NOT:       kv_heads
//       CHECK:   return
// GPU-LABEL: func @both_orders(
//   GPU-NOT:   scf.if
func.func @both_orders(%q: tensor<8x1x64xf32> {attn.strided}, %k: tensor<4x?x64xf32> {attn.strided},
                       %v: tensor<4x?x64xf32> {attn.strided}) -> tensor<8x1x64xf32> {
  %o = tensor.empty() : tensor<8x1x64xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x1x64xf32>, tensor<4x?x64xf32>, tensor<4x?x64xf32>)
      outs(%o : tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
  return %r : tensor<8x1x64xf32>
}

// A dense V; many queries; one key head; rows of 64 bytes: one kernel.
// CHECK-LABEL: func @one_kernel(
//   CHECK-NOT:   scf.if
func.func @one_kernel(%q: tensor<8x1x64xf32>, %k: tensor<4x9x64xf32> {attn.strided}, %dense: tensor<4x9x64xf32>,
                      %many: tensor<8x99x64xf32>, %one: tensor<1x9x64xf32> {attn.strided}, %p: tensor<8x1x16xf32>,
                      %short: tensor<4x9x16xf32> {attn.strided})
    -> (tensor<8x1x64xf32>, tensor<8x99x64xf32>, tensor<8x1x64xf32>, tensor<8x1x16xf32>) {
  %o = tensor.empty() : tensor<8x1x64xf32>
  %0 = attn.sdpa ins(%q, %k, %dense : tensor<8x1x64xf32>, tensor<4x9x64xf32>, tensor<4x9x64xf32>)
      outs(%o : tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
  %n = tensor.empty() : tensor<8x99x64xf32>
  %1 = attn.sdpa ins(%many, %k, %k : tensor<8x99x64xf32>, tensor<4x9x64xf32>, tensor<4x9x64xf32>)
      outs(%n : tensor<8x99x64xf32>) -> tensor<8x99x64xf32>
  %2 = attn.sdpa ins(%q, %one, %one : tensor<8x1x64xf32>, tensor<1x9x64xf32>, tensor<1x9x64xf32>)
      outs(%o : tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
  %s = tensor.empty() : tensor<8x1x16xf32>
  %3 = attn.sdpa ins(%p, %short, %short : tensor<8x1x16xf32>, tensor<4x9x16xf32>, tensor<4x9x16xf32>)
      outs(%s : tensor<8x1x16xf32>) -> tensor<8x1x16xf32>
  return %0, %1, %2, %3 : tensor<8x1x64xf32>, tensor<8x99x64xf32>, tensor<8x1x64xf32>, tensor<8x1x16xf32>
}
