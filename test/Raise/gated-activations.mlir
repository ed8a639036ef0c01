// Gated activations with a normalisation behind them stand between two products, have exponentials and sums, and are no
// attention: nothing is said of them, and --fail-on-fallback takes them.

// RUN: attnc %s -o %t.o --fail-on-fallback --remarks=missed 2>&1 | FileCheck %s --allow-empty
// RUN: attnc run %s --check
// CHECK-NOT: attention not raised

#rows = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// x · sigmoid(x), over the root of its mean square, times weights.
func.func @silu_and_norm(%x: tensor<5x12xf32>, %w: tensor<12x24xf32>, %down: tensor<24x12xf32>) -> tensor<5x12xf32> {
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<5x24xf32>
  %narrow = tensor.empty() : tensor<5x12xf32>
  %one = tensor.empty() : tensor<5xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<5x24xf32>) -> tensor<5x24xf32>
  %starts = linalg.fill ins(%zero : f32) outs(%one : tensor<5xf32>) -> tensor<5xf32>
  %out = linalg.fill ins(%zero : f32) outs(%narrow : tensor<5x12xf32>) -> tensor<5x12xf32>
  %gate = linalg.matmul ins(%x, %w : tensor<5x12xf32>, tensor<12x24xf32>) outs(%zeros : tensor<5x24xf32>) -> tensor<5x24xf32>
  %silu = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%gate : tensor<5x24xf32>) outs(%wide : tensor<5x24xf32>) {
  ^bb0(%in: f32, %_: f32):
    %c1 = arith.constant 1.0 : f32
    %minus = arith.negf %in : f32
    %e = math.exp %minus : f32
    %sum = arith.addf %e, %c1 : f32
    %y = arith.divf %in, %sum : f32
    linalg.yield %y : f32
  } -> tensor<5x24xf32>
  %squares = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%silu : tensor<5x24xf32>) outs(%starts : tensor<5xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %square = arith.mulf %in, %in : f32
    %sum = arith.addf %acc, %square : f32
    linalg.yield %sum : f32
  } -> tensor<5xf32>
  %normal = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%silu, %squares : tensor<5x24xf32>, tensor<5xf32>) outs(%wide : tensor<5x24xf32>) {
  ^bb0(%in: f32, %square: f32, %_: f32):
    %root = math.sqrt %square : f32
    %y = arith.divf %in, %root : f32
    linalg.yield %y : f32
  } -> tensor<5x24xf32>
  %result = linalg.matmul ins(%normal, %down : tensor<5x24xf32>, tensor<24x12xf32>) outs(%out : tensor<5x12xf32>) -> tensor<5x12xf32>
  return %result : tensor<5x12xf32>
}
