// Products that are only started, and the wait for them, printed and parsed again.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func @asynchronous(
//       CHECK:   attn.product {{.*}} {accumulate, async, contraction = #attn.contraction<values>}
//       CHECK:   attn.rescale {{.*}} {deferred}
//       CHECK:   attn.wait_product %[[ACC:.*]] : memref<4x8xf32>
//       CHECK:   attn.rescale_acc %[[ACC]] : memref<4x8xf32>
func.func @asynchronous(%p: memref<4x6xf32>, %v: memref<6x8xf32>, %a: memref<4x8xf32>, %n: memref<4xf32>,
                        %m: memref<4xf32>, %l: memref<4xf32>) {
  attn.product ins(%p, %v : memref<4x6xf32>, memref<6x8xf32>) outs(%a : memref<4x8xf32>)
      {accumulate, async, contraction = #attn.contraction<values>}
  attn.rescale ins(%n : memref<4xf32>) outs(%a, %m, %l : memref<4x8xf32>, memref<4xf32>, memref<4xf32>) {deferred}
  attn.wait_product %a : memref<4x8xf32>
  attn.rescale_acc %a : memref<4x8xf32>
  return
}
