// RUN: attn-opt %s --attn-tile-matmul=target=znver4 | FileCheck %s
// RUN: not attn-opt %s --attn-tile-matmul=target=i8086 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: attn-tile-matmul: unknown target 'i8086'

#identity = affine_map<(d0, d1) -> (d0, d1)>

// A bias is added where its product is, in the buffer of the tile; the last tile has as large a one, and fewer rows.
// CHECK-LABEL: func @bias(
//       CHECK:   scf.forall (%[[I:.*]], %{{.*}}) = (0, 0) to (201, 128) step (101, 64)
//       CHECK:     %[[ROWS:.*]] = affine.min
//       CHECK:     %[[BUFFER:.*]] = tensor.empty() : tensor<101x64xf32>
//       CHECK:     %[[PART:.*]] = tensor.extract_slice %[[BUFFER]][0, 0] [%[[ROWS]], 64]
//       CHECK:     %[[ZERO:.*]] = linalg.fill {{.*}} outs(%[[PART]] :
//       CHECK:     %[[PRODUCT:.*]] = linalg.matmul {{.*}} outs(%[[ZERO]] :
//       CHECK:     linalg.generic {{.*}} ins(%[[PRODUCT]], %{{.*}} :
//       CHECK:     tensor.parallel_insert_slice
func.func @bias(%x: tensor<201x96xf32>, %w: tensor<96x128xf32>, %bias: tensor<128xf32>) -> tensor<201x128xf32> {
  %cst = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<201x128xf32>
  %zero = linalg.fill ins(%cst : f32) outs(%empty : tensor<201x128xf32>) -> tensor<201x128xf32>
  %p = linalg.matmul ins(%x, %w : tensor<201x96xf32>, tensor<96x128xf32>)
      outs(%zero : tensor<201x128xf32>) -> tensor<201x128xf32>
  %y = linalg.generic {indexing_maps = [#identity, affine_map<(d0, d1) -> (d1)>, #identity],
                       iterator_types = ["parallel", "parallel"]}
      ins(%p, %bias : tensor<201x128xf32>, tensor<128xf32>) outs(%empty : tensor<201x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  } -> tensor<201x128xf32>
  return %y : tensor<201x128xf32>
}

// A result that two ops read is whole; partial panels, few rows and little work are no tiles.
// CHECK-LABEL: func @others(
//       CHECK:   %[[WHOLE:.*]] = scf.forall
//   CHECK-NOT:     linalg.add
//       CHECK:   linalg.add ins(%[[WHOLE]], %[[WHOLE]] :
//   CHECK-NOT:   scf.forall
func.func @others(%x: tensor<128x96xf32>, %w: tensor<96x128xf32>, %v: tensor<96x100xf32>, %few: tensor<8x2048xf32>,
                  %u: tensor<2048x128xf32>) -> (tensor<128x128xf32>, tensor<128x100xf32>, tensor<8x128xf32>) {
  %cst = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<128x128xf32>
  %e1 = tensor.empty() : tensor<128x100xf32>
  %e2 = tensor.empty() : tensor<8x128xf32>
  %z0 = linalg.fill ins(%cst : f32) outs(%e0 : tensor<128x128xf32>) -> tensor<128x128xf32>
  %z1 = linalg.fill ins(%cst : f32) outs(%e1 : tensor<128x100xf32>) -> tensor<128x100xf32>
  %z2 = linalg.fill ins(%cst : f32) outs(%e2 : tensor<8x128xf32>) -> tensor<8x128xf32>
  %p0 = linalg.matmul ins(%x, %w : tensor<128x96xf32>, tensor<96x128xf32>)
      outs(%z0 : tensor<128x128xf32>) -> tensor<128x128xf32>
  %twice = linalg.add ins(%p0, %p0 : tensor<128x128xf32>, tensor<128x128xf32>)
      outs(%e0 : tensor<128x128xf32>) -> tensor<128x128xf32>
  %p1 = linalg.matmul ins(%x, %v : tensor<128x96xf32>, tensor<96x100xf32>)
      outs(%z1 : tensor<128x100xf32>) -> tensor<128x100xf32>
  %p2 = linalg.matmul ins(%few, %u : tensor<8x2048xf32>, tensor<2048x128xf32>)
      outs(%z2 : tensor<8x128xf32>) -> tensor<8x128xf32>
  return %twice, %p1, %p2 : tensor<128x128xf32>, tensor<128x100xf32>, tensor<8x128xf32>
}
