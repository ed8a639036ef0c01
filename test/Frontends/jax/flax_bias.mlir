// jax case flax_bias; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_flax_bias {
  func.func @model(%arg0: tensor<2x33x4x24xf32>, %arg1: tensor<2x49x4x24xf32>, %arg2: tensor<2x49x4x24xf32>, %arg3: tensor<2x4x33x49xf32>) -> tensor<2x33x4x24xf32> {
    %cst = arith.constant 4.89897966 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<f32>
    %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%0 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst : f32
    } -> tensor<f32>
    %2 = tensor.empty() : tensor<2x33x4x24xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<f32>) outs(%2 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    %4 = tensor.empty() : tensor<2x33x4x24xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %3 : tensor<2x33x4x24xf32>, tensor<2x33x4x24xf32>) outs(%4 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %40 = arith.divf %in, %in_6 : f32
      linalg.yield %40 : f32
    } -> tensor<2x33x4x24xf32>
    %6 = tensor.empty() : tensor<2x4x33x24xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<2x33x4x24xf32>) outs(%6 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x24xf32>
    %8 = tensor.empty() : tensor<2x4x24x49xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x49x4x24xf32>) outs(%8 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %7 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_2 = tensor.collapse_shape %9 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %10 = tensor.empty() : tensor<8x33x49xf32>
    %11 = linalg.fill ins(%cst_1 : f32) outs(%10 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %12 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%11 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %12 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %13 = tensor.empty() : tensor<2x4x33x49xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %arg3 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%13 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %40 = arith.addf %in, %in_6 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33x49xf32>
    %15 = tensor.empty() : tensor<2x4x33xf32>
    %16 = linalg.fill ins(%cst_0 : f32) outs(%15 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%14 : tensor<2x4x33x49xf32>) outs(%16 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.maximumf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33xf32>
    %18 = tensor.empty() : tensor<2x4x33x49xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<2x4x33xf32>) outs(%18 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %20 = tensor.empty() : tensor<2x4x33x49xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %19 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%20 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %40 = arith.subf %in, %in_6 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33x49xf32>
    %22 = tensor.empty() : tensor<2x4x33x49xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<2x4x33x49xf32>) outs(%22 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = math.exp %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33x49xf32>
    %24 = tensor.empty() : tensor<2x4x33xf32>
    %25 = linalg.fill ins(%cst_1 : f32) outs(%24 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%23 : tensor<2x4x33x49xf32>) outs(%25 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.addf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33xf32>
    %27 = tensor.empty() : tensor<2x4x33x49xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<2x4x33xf32>) outs(%27 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %29 = tensor.empty() : tensor<2x4x33x49xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23, %28 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%29 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %40 = arith.divf %in, %in_6 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33x49xf32>
    %31 = tensor.empty() : tensor<2x4x24x49xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x49x4x24xf32>) outs(%31 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %33 = tensor.empty() : tensor<2x4x49x33xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<2x4x33x49xf32>) outs(%33 : tensor<2x4x49x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x49x33xf32>
    %collapsed_3 = tensor.collapse_shape %32 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %collapsed_4 = tensor.collapse_shape %34 [[0, 1], [2], [3]] : tensor<2x4x49x33xf32> into tensor<8x49x33xf32>
    %35 = tensor.empty() : tensor<8x24x33xf32>
    %36 = linalg.fill ins(%cst_1 : f32) outs(%35 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %37 = linalg.batch_matmul ins(%collapsed_3, %collapsed_4 : tensor<8x24x49xf32>, tensor<8x49x33xf32>) outs(%36 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %expanded_5 = tensor.expand_shape %37 [[0, 1], [2], [3]] output_shape [2, 4, 24, 33] : tensor<8x24x33xf32> into tensor<2x4x24x33xf32>
    %38 = tensor.empty() : tensor<2x33x4x24xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x4x24x33xf32>) outs(%38 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    return %39 : tensor<2x33x4x24xf32>
  }
}