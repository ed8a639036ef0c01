// jax case fairseq; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_fairseq {
  func.func @model(%arg0: tensor<33x2x96xf32>, %arg1: tensor<49x2x96xf32>, %arg2: tensor<49x2x96xf32>) -> tensor<33x2x96xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant 0.204124153 : f32
    %0 = tensor.empty() : tensor<33x2x96xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<33x2x96xf32>) outs(%0 : tensor<33x2x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = arith.mulf %in, %cst_1 : f32
      linalg.yield %34 : f32
    } -> tensor<33x2x96xf32>
    %collapsed = tensor.collapse_shape %1 [[0, 1, 2]] : tensor<33x2x96xf32> into tensor<6336xf32>
    %expanded = tensor.expand_shape %collapsed [[0, 1, 2]] output_shape [33, 8, 24] : tensor<6336xf32> into tensor<33x8x24xf32>
    %2 = tensor.empty() : tensor<8x33x24xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<33x8x24xf32>) outs(%2 : tensor<8x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x33x24xf32>
    %collapsed_2 = tensor.collapse_shape %arg1 [[0, 1, 2]] : tensor<49x2x96xf32> into tensor<9408xf32>
    %expanded_3 = tensor.expand_shape %collapsed_2 [[0, 1, 2]] output_shape [49, 8, 24] : tensor<9408xf32> into tensor<49x8x24xf32>
    %4 = tensor.empty() : tensor<8x49x24xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_3 : tensor<49x8x24xf32>) outs(%4 : tensor<8x49x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x49x24xf32>
    %collapsed_4 = tensor.collapse_shape %arg2 [[0, 1, 2]] : tensor<49x2x96xf32> into tensor<9408xf32>
    %expanded_5 = tensor.expand_shape %collapsed_4 [[0, 1, 2]] output_shape [49, 8, 24] : tensor<9408xf32> into tensor<49x8x24xf32>
    %6 = tensor.empty() : tensor<8x49x24xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<49x8x24xf32>) outs(%6 : tensor<8x49x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x49x24xf32>
    %8 = tensor.empty() : tensor<8x24x49xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%5 : tensor<8x49x24xf32>) outs(%8 : tensor<8x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x24x49xf32>
    %10 = tensor.empty() : tensor<8x33x49xf32>
    %11 = linalg.fill ins(%cst_0 : f32) outs(%10 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %12 = linalg.batch_matmul ins(%3, %9 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%11 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %13 = tensor.empty() : tensor<8x33xf32>
    %14 = linalg.fill ins(%cst : f32) outs(%13 : tensor<8x33xf32>) -> tensor<8x33xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%12 : tensor<8x33x49xf32>) outs(%14 : tensor<8x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = arith.maximumf %out, %in : f32
      linalg.yield %34 : f32
    } -> tensor<8x33xf32>
    %16 = tensor.empty() : tensor<8x33x49xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%15 : tensor<8x33xf32>) outs(%16 : tensor<8x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x33x49xf32>
    %18 = tensor.empty() : tensor<8x33x49xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12, %17 : tensor<8x33x49xf32>, tensor<8x33x49xf32>) outs(%18 : tensor<8x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %34 = arith.subf %in, %in_8 : f32
      linalg.yield %34 : f32
    } -> tensor<8x33x49xf32>
    %20 = tensor.empty() : tensor<8x33x49xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%19 : tensor<8x33x49xf32>) outs(%20 : tensor<8x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = math.exp %in : f32
      linalg.yield %34 : f32
    } -> tensor<8x33x49xf32>
    %22 = tensor.empty() : tensor<8x33xf32>
    %23 = linalg.fill ins(%cst_0 : f32) outs(%22 : tensor<8x33xf32>) -> tensor<8x33xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%21 : tensor<8x33x49xf32>) outs(%23 : tensor<8x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = arith.addf %out, %in : f32
      linalg.yield %34 : f32
    } -> tensor<8x33xf32>
    %25 = tensor.empty() : tensor<8x33x49xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24 : tensor<8x33xf32>) outs(%25 : tensor<8x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x33x49xf32>
    %27 = tensor.empty() : tensor<8x33x49xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%21, %26 : tensor<8x33x49xf32>, tensor<8x33x49xf32>) outs(%27 : tensor<8x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %34 = arith.divf %in, %in_8 : f32
      linalg.yield %34 : f32
    } -> tensor<8x33x49xf32>
    %29 = tensor.empty() : tensor<8x33x24xf32>
    %30 = linalg.fill ins(%cst_0 : f32) outs(%29 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %31 = linalg.batch_matmul ins(%28, %7 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%30 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %32 = tensor.empty() : tensor<33x8x24xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%31 : tensor<8x33x24xf32>) outs(%32 : tensor<33x8x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<33x8x24xf32>
    %collapsed_6 = tensor.collapse_shape %33 [[0, 1, 2]] : tensor<33x8x24xf32> into tensor<6336xf32>
    %expanded_7 = tensor.expand_shape %collapsed_6 [[0, 1, 2]] output_shape [33, 2, 96] : tensor<6336xf32> into tensor<33x2x96xf32>
    return %expanded_7 : tensor<33x2x96xf32>
  }
}