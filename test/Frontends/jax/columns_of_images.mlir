// jax case columns_of_images; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_columns_of_images {
  func.func @model(%arg0: tensor<2x10x12x4x24xf32>, %arg1: tensor<2x10x12x4x24xf32>, %arg2: tensor<2x10x12x4x24xf32>) -> tensor<2x10x12x4x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x12x10x24xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x10x12x4x24xf32>) outs(%0 : tensor<2x4x12x10x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x12x10x24xf32>
    %2 = tensor.empty() : tensor<2x4x12x24x10xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x10x12x4x24xf32>) outs(%2 : tensor<2x4x12x24x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x12x24x10xf32>
    %collapsed = tensor.collapse_shape %1 [[0, 1, 2], [3], [4]] : tensor<2x4x12x10x24xf32> into tensor<96x10x24xf32>
    %collapsed_2 = tensor.collapse_shape %3 [[0, 1, 2], [3], [4]] : tensor<2x4x12x24x10xf32> into tensor<96x24x10xf32>
    %4 = tensor.empty() : tensor<96x10x10xf32>
    %5 = linalg.fill ins(%cst_1 : f32) outs(%4 : tensor<96x10x10xf32>) -> tensor<96x10x10xf32>
    %6 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<96x10x24xf32>, tensor<96x24x10xf32>) outs(%5 : tensor<96x10x10xf32>) -> tensor<96x10x10xf32>
    %expanded = tensor.expand_shape %6 [[0, 1, 2], [3], [4]] output_shape [2, 4, 12, 10, 10] : tensor<96x10x10xf32> into tensor<2x4x12x10x10xf32>
    %7 = tensor.empty() : tensor<2x4x12x10x10xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x12x10x10xf32>) outs(%7 : tensor<2x4x12x10x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = arith.mulf %in, %cst_0 : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x12x10x10xf32>
    %9 = tensor.empty() : tensor<2x4x12x10xf32>
    %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<2x4x12x10xf32>) -> tensor<2x4x12x10xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%8 : tensor<2x4x12x10x10xf32>) outs(%10 : tensor<2x4x12x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = arith.maximumf %out, %in : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x12x10xf32>
    %12 = tensor.empty() : tensor<2x4x12x10x10xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x4x12x10xf32>) outs(%12 : tensor<2x4x12x10x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x12x10x10xf32>
    %14 = tensor.empty() : tensor<2x4x12x10x10xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%8, %13 : tensor<2x4x12x10x10xf32>, tensor<2x4x12x10x10xf32>) outs(%14 : tensor<2x4x12x10x10xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %34 = arith.subf %in, %in_6 : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x12x10x10xf32>
    %16 = tensor.empty() : tensor<2x4x12x10x10xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x12x10x10xf32>) outs(%16 : tensor<2x4x12x10x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = math.exp %in : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x12x10x10xf32>
    %18 = tensor.empty() : tensor<2x4x12x10xf32>
    %19 = linalg.fill ins(%cst_1 : f32) outs(%18 : tensor<2x4x12x10xf32>) -> tensor<2x4x12x10xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x4x12x10x10xf32>) outs(%19 : tensor<2x4x12x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = arith.addf %out, %in : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x12x10xf32>
    %21 = tensor.empty() : tensor<2x4x12x10x10xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<2x4x12x10xf32>) outs(%21 : tensor<2x4x12x10x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x12x10x10xf32>
    %23 = tensor.empty() : tensor<2x4x12x10x10xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%17, %22 : tensor<2x4x12x10x10xf32>, tensor<2x4x12x10x10xf32>) outs(%23 : tensor<2x4x12x10x10xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %34 = arith.divf %in, %in_6 : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x12x10x10xf32>
    %25 = tensor.empty() : tensor<2x12x4x24x10xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x10x12x4x24xf32>) outs(%25 : tensor<2x12x4x24x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x12x4x24x10xf32>
    %27 = tensor.empty() : tensor<2x12x4x10x10xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<2x4x12x10x10xf32>) outs(%27 : tensor<2x12x4x10x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x12x4x10x10xf32>
    %collapsed_3 = tensor.collapse_shape %26 [[0, 1, 2], [3], [4]] : tensor<2x12x4x24x10xf32> into tensor<96x24x10xf32>
    %collapsed_4 = tensor.collapse_shape %28 [[0, 1, 2], [3], [4]] : tensor<2x12x4x10x10xf32> into tensor<96x10x10xf32>
    %29 = tensor.empty() : tensor<96x24x10xf32>
    %30 = linalg.fill ins(%cst_1 : f32) outs(%29 : tensor<96x24x10xf32>) -> tensor<96x24x10xf32>
    %31 = linalg.batch_matmul ins(%collapsed_3, %collapsed_4 : tensor<96x24x10xf32>, tensor<96x10x10xf32>) outs(%30 : tensor<96x24x10xf32>) -> tensor<96x24x10xf32>
    %expanded_5 = tensor.expand_shape %31 [[0, 1, 2], [3], [4]] output_shape [2, 12, 4, 24, 10] : tensor<96x24x10xf32> into tensor<2x12x4x24x10xf32>
    %32 = tensor.empty() : tensor<2x10x12x4x24xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x12x4x24x10xf32>) outs(%32 : tensor<2x10x12x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x10x12x4x24xf32>
    return %33 : tensor<2x10x12x4x24xf32>
  }
}