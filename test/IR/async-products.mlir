// Products that are only started, and the wait for them, printed and parsed again.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

!weights = tensor<4x6xbf16, #attn.registers>
!acc = tensor<4x8xf32, #attn.registers>
!rows = tensor<4xf32, #attn.registers>

// CHECK-LABEL: func @asynchronous(
//  CHECK-SAME:   %[[ACC:.*]]: tensor<4x8xf32, #attn.registers>
//       CHECK:   %[[STARTED:.*]] = attn.product {{.*}} outs(%[[ACC]] : {{.*}} {accumulate, async, contraction = #attn.contraction<values>}
//  CHECK-SAME:     -> tensor<4x8xf32, #attn.registers>
//       CHECK:   %[[F:.*]], %{{.*}}, %{{.*}} = attn.rescale_rows ins(%{{.*}}) outs(%{{.*}}, %{{.*}}) : tensor<4xf32, #attn.registers>
//       CHECK:   %[[ADDED:.*]] = attn.wait_product %[[STARTED]] : tensor<4x8xf32, #attn.registers>
//       CHECK:   attn.rescale_acc %[[ADDED]] by %[[F]] : tensor<4x8xf32, #attn.registers>, tensor<4xf32, #attn.registers>
func.func @asynchronous(%a: !acc, %p: !weights, %v: memref<6x8xbf16>, %n: !rows, %m: !rows, %l: !rows) -> !acc {
  %a0 = attn.product ins(%p, %v : !weights, memref<6x8xbf16>) outs(%a : !acc)
      {accumulate, async, contraction = #attn.contraction<values>} -> !acc
  %f, %m1, %l1 = attn.rescale_rows ins(%n) outs(%m, %l) : !rows
  %a1 = attn.wait_product %a0 : !acc
  %a2 = attn.rescale_acc %a1 by %f : !acc, !rows
  return %a2 : !acc
}

// Tiles in registers stand beside memrefs.
// CHECK-LABEL: func @store(
//       CHECK:   attn.store_state ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xf32, #attn.registers>, tensor<4xf32, #attn.registers>, tensor<4xf32, #attn.registers>)
//  CHECK-SAME:     outs(%{{.*}}, %{{.*}}, %{{.*}} : memref<4x8xf32>, memref<4xf32>, memref<4xf32>)
func.func @store(%a: !acc, %m: !rows, %l: !rows, %x: memref<4x8xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  attn.store_state ins(%a, %m, %l : !acc, !rows, !rows) outs(%x, %y, %z : memref<4x8xf32>, memref<4xf32>, memref<4xf32>)
  return
}
