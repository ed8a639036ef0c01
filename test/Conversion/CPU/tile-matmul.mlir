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

#rows = affine_map<(b, s, n, k) -> (b, s, k)>
#weights = affine_map<(b, s, n, k) -> (k, n)>
#result = affine_map<(b, s, n, k) -> (b, s, n)>
#same = affine_map<(b, s, n) -> (b, s, n)>
#each = affine_map<(b, s, n) -> (n)>

// Rows of all sequences are one dimension. A tile of an open number of rows has whole register blocks (of 6); the
// product is computed in the tiles alone, whose bounds are sizes of the input.
// CHECK-LABEL: func @open_rows(
//  CHECK-SAME:     %[[X:[^:]*]]: tensor<?x?x96xf32>
//   CHECK-NOT:   linalg.generic
//       CHECK:   %[[ROWS:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2]]
//   CHECK-NOT:   linalg.generic
//       CHECK:   scf.forall {{.*}} = (0, 0) to (%{{.*}}, 128) step (126, 64)
//       CHECK:     tensor.empty() : tensor<126x64xf32>
//       CHECK:     linalg.generic {{.*}} "reduction"
//       CHECK:     linalg.generic
//       CHECK:   tensor.expand_shape
//   CHECK-NOT:   linalg.generic
//       CHECK:   return
func.func @open_rows(%x: tensor<?x?x96xf32>, %w: tensor<96x128xf32>, %bias: tensor<128xf32>) -> tensor<?x?x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0.0 : f32
  %batch = tensor.dim %x, %c0 : tensor<?x?x96xf32>
  %length = tensor.dim %x, %c1 : tensor<?x?x96xf32>
  %empty = tensor.empty(%batch, %length) : tensor<?x?x128xf32>
  %zero = linalg.fill ins(%cst : f32) outs(%empty : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %p = linalg.generic {indexing_maps = [#rows, #weights, #result],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x?x96xf32>, tensor<96x128xf32>) outs(%zero : tensor<?x?x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %sum = arith.addf %c, %m : f32
    linalg.yield %sum : f32
  } -> tensor<?x?x128xf32>
  %y = linalg.generic {indexing_maps = [#same, #each, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %bias : tensor<?x?x128xf32>, tensor<128xf32>) outs(%empty : tensor<?x?x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  } -> tensor<?x?x128xf32>
  return %y : tensor<?x?x128xf32>
}
