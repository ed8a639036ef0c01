// jax case sink_last; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_sink_last {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<4xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x24x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%0 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_2 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %2 = tensor.empty() : tensor<8x33x49xf32>
    %3 = linalg.fill ins(%cst_1 : f32) outs(%2 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%3 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %5 = tensor.empty() : tensor<2x4x33x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x49xf32>) outs(%5 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %29 = arith.mulf %in, %cst_0 : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x33x49xf32>
    %7 = tensor.empty() : tensor<2x4x33x1xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<4xf32>) outs(%7 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x1xf32>
    %9 = tensor.empty() : tensor<2x4x33x50xf32>
    %inserted_slice = tensor.insert_slice %6 into %9[0, 0, 0, 0] [2, 4, 33, 49] [1, 1, 1, 1] : tensor<2x4x33x49xf32> into tensor<2x4x33x50xf32>
    %inserted_slice_3 = tensor.insert_slice %8 into %inserted_slice[0, 0, 0, 49] [2, 4, 33, 1] [1, 1, 1, 1] : tensor<2x4x33x1xf32> into tensor<2x4x33x50xf32>
    %10 = tensor.empty() : tensor<2x4x33xf32>
    %11 = linalg.fill ins(%cst : f32) outs(%10 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%inserted_slice_3 : tensor<2x4x33x50xf32>) outs(%11 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %29 = arith.maximumf %out, %in : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x33xf32>
    %13 = tensor.empty() : tensor<2x4x33x50xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12 : tensor<2x4x33xf32>) outs(%13 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x50xf32>
    %15 = tensor.empty() : tensor<2x4x33x50xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%inserted_slice_3, %14 : tensor<2x4x33x50xf32>, tensor<2x4x33x50xf32>) outs(%15 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %29 = arith.subf %in, %in_7 : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x33x50xf32>
    %17 = tensor.empty() : tensor<2x4x33x50xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<2x4x33x50xf32>) outs(%17 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %out: f32):
      %29 = math.exp %in : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x33x50xf32>
    %19 = tensor.empty() : tensor<2x4x33xf32>
    %20 = linalg.fill ins(%cst_1 : f32) outs(%19 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%18 : tensor<2x4x33x50xf32>) outs(%20 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %29 = arith.addf %out, %in : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x33xf32>
    %22 = tensor.empty() : tensor<2x4x33x50xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<2x4x33xf32>) outs(%22 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x50xf32>
    %24 = tensor.empty() : tensor<2x4x33x50xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %23 : tensor<2x4x33x50xf32>, tensor<2x4x33x50xf32>) outs(%24 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %29 = arith.divf %in, %in_7 : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x33x50xf32>
    %extracted_slice = tensor.extract_slice %25[0, 0, 0, 0] [2, 4, 33, 49] [1, 1, 1, 1] : tensor<2x4x33x50xf32> to tensor<2x4x33x49xf32>
    %collapsed_4 = tensor.collapse_shape %extracted_slice [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_5 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %26 = tensor.empty() : tensor<8x33x24xf32>
    %27 = linalg.fill ins(%cst_1 : f32) outs(%26 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %28 = linalg.batch_matmul ins(%collapsed_4, %collapsed_5 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%27 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_6 = tensor.expand_shape %28 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_6 : tensor<2x4x33x24xf32>
  }
}