// RUN: attnc run --check %s | FileCheck %s
// The factors of a sum of products are what the body says, not its arguments.
// CHECK: output: {{.*}}: ok

func.func @product_of_exponentials(%a: tensor<33x24xf32>, %b: tensor<49x24xf32>) -> tensor<33x49xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<33x49xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<33x49xf32>) -> tensor<33x49xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>,
      affine_map<(i, j, d) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<33x24xf32>, tensor<49x24xf32>) outs(%fill : tensor<33x49xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %left = math.exp %x : f32
    %right = math.exp %y : f32
    %product = arith.mulf %left, %right : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<33x49xf32>
  return %r : tensor<33x49xf32>
}
