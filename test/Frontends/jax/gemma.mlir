// jax case gemma; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_gemma {
  func.func @model(%arg0: tensor<2x33x4x24xf32>, %arg1: tensor<2x49x2x24xf32>, %arg2: tensor<2x49x2x24xf32>, %arg3: tensor<2x33x49xi1>) -> tensor<2x33x96xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant -2.38197633E+38 : f32
    %cst_1 = arith.constant 5.000000e+01 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %cst_3 = arith.constant 2.000000e-01 : f32
    %0 = tensor.empty() : tensor<2x33x4x24xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x33x4x24xf32>) outs(%0 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = arith.mulf %in, %cst_3 : f32
      linalg.yield %46 : f32
    } -> tensor<2x33x4x24xf32>
    %expanded = tensor.expand_shape %1 [[0], [1], [2, 3], [4]] output_shape [2, 33, 2, 2, 24] : tensor<2x33x4x24xf32> into tensor<2x33x2x2x24xf32>
    %2 = tensor.empty() : tensor<2x2x49x24xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x49x2x24xf32>) outs(%2 : tensor<2x2x49x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x49x24xf32>
    %4 = tensor.empty() : tensor<2x2x24x33x2xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x33x2x2x24xf32>) outs(%4 : tensor<2x2x24x33x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x24x33x2xf32>
    %collapsed = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<2x2x49x24xf32> into tensor<4x49x24xf32>
    %collapsed_4 = tensor.collapse_shape %5 [[0, 1], [2], [3, 4]] : tensor<2x2x24x33x2xf32> into tensor<4x24x66xf32>
    %6 = tensor.empty() : tensor<4x49x66xf32>
    %7 = linalg.fill ins(%cst_2 : f32) outs(%6 : tensor<4x49x66xf32>) -> tensor<4x49x66xf32>
    %8 = linalg.batch_matmul ins(%collapsed, %collapsed_4 : tensor<4x49x24xf32>, tensor<4x24x66xf32>) outs(%7 : tensor<4x49x66xf32>) -> tensor<4x49x66xf32>
    %expanded_5 = tensor.expand_shape %8 [[0, 1], [2], [3, 4]] output_shape [2, 2, 49, 33, 2] : tensor<4x49x66xf32> into tensor<2x2x49x33x2xf32>
    %9 = tensor.empty() : tensor<2x33x2x2x49xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x2x49x33x2xf32>) outs(%9 : tensor<2x33x2x2x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x2x2x49xf32>
    %11 = tensor.empty() : tensor<2x33x2x2x49xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<2x33x2x2x49xf32>) outs(%11 : tensor<2x33x2x2x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = arith.divf %in, %cst_1 : f32
      linalg.yield %46 : f32
    } -> tensor<2x33x2x2x49xf32>
    %13 = tensor.empty() : tensor<2x33x2x2x49xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%12 : tensor<2x33x2x2x49xf32>) outs(%13 : tensor<2x33x2x2x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = math.tanh %in : f32
      linalg.yield %46 : f32
    } -> tensor<2x33x2x2x49xf32>
    %15 = tensor.empty() : tensor<2x33x2x2x49xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<2x33x2x2x49xf32>) outs(%15 : tensor<2x33x2x2x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = arith.mulf %in, %cst_1 : f32
      linalg.yield %46 : f32
    } -> tensor<2x33x2x2x49xf32>
    %17 = tensor.empty() : tensor<2x33x2x2x49xi1>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<2x33x49xi1>) outs(%17 : tensor<2x33x2x2x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x33x2x2x49xi1>
    %19 = tensor.empty() : tensor<2x33x2x2x49xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%18, %16 : tensor<2x33x2x2x49xi1>, tensor<2x33x2x2x49xf32>) outs(%19 : tensor<2x33x2x2x49xf32>) {
    ^bb0(%in: i1, %in_10: f32, %out: f32):
      %46 = arith.select %in, %in_10, %cst_0 : f32
      linalg.yield %46 : f32
    } -> tensor<2x33x2x2x49xf32>
    %21 = tensor.empty() : tensor<2x33x2x2xf32>
    %22 = linalg.fill ins(%cst : f32) outs(%21 : tensor<2x33x2x2xf32>) -> tensor<2x33x2x2xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%20 : tensor<2x33x2x2x49xf32>) outs(%22 : tensor<2x33x2x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = arith.maximumf %out, %in : f32
      linalg.yield %46 : f32
    } -> tensor<2x33x2x2xf32>
    %24 = tensor.empty() : tensor<2x33x2x2x49xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x33x2x2xf32>) outs(%24 : tensor<2x33x2x2x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x2x2x49xf32>
    %26 = tensor.empty() : tensor<2x33x2x2x49xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%20, %25 : tensor<2x33x2x2x49xf32>, tensor<2x33x2x2x49xf32>) outs(%26 : tensor<2x33x2x2x49xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %46 = arith.subf %in, %in_10 : f32
      linalg.yield %46 : f32
    } -> tensor<2x33x2x2x49xf32>
    %28 = tensor.empty() : tensor<2x33x2x2x49xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<2x33x2x2x49xf32>) outs(%28 : tensor<2x33x2x2x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = math.exp %in : f32
      linalg.yield %46 : f32
    } -> tensor<2x33x2x2x49xf32>
    %30 = tensor.empty() : tensor<2x33x2x2xf32>
    %31 = linalg.fill ins(%cst_2 : f32) outs(%30 : tensor<2x33x2x2xf32>) -> tensor<2x33x2x2xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%29 : tensor<2x33x2x2x49xf32>) outs(%31 : tensor<2x33x2x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = arith.addf %out, %in : f32
      linalg.yield %46 : f32
    } -> tensor<2x33x2x2xf32>
    %33 = tensor.empty() : tensor<2x33x2x2x49xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<2x33x2x2xf32>) outs(%33 : tensor<2x33x2x2x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x2x2x49xf32>
    %35 = tensor.empty() : tensor<2x33x2x2x49xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%29, %34 : tensor<2x33x2x2x49xf32>, tensor<2x33x2x2x49xf32>) outs(%35 : tensor<2x33x2x2x49xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %46 = arith.divf %in, %in_10 : f32
      linalg.yield %46 : f32
    } -> tensor<2x33x2x2x49xf32>
    %37 = tensor.empty() : tensor<2x2x24x49xf32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x49x2x24xf32>) outs(%37 : tensor<2x2x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x24x49xf32>
    %39 = tensor.empty() : tensor<2x2x49x33x2xf32>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x33x2x2x49xf32>) outs(%39 : tensor<2x2x49x33x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x49x33x2xf32>
    %collapsed_6 = tensor.collapse_shape %38 [[0, 1], [2], [3]] : tensor<2x2x24x49xf32> into tensor<4x24x49xf32>
    %collapsed_7 = tensor.collapse_shape %40 [[0, 1], [2], [3, 4]] : tensor<2x2x49x33x2xf32> into tensor<4x49x66xf32>
    %41 = tensor.empty() : tensor<4x24x66xf32>
    %42 = linalg.fill ins(%cst_2 : f32) outs(%41 : tensor<4x24x66xf32>) -> tensor<4x24x66xf32>
    %43 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<4x24x49xf32>, tensor<4x49x66xf32>) outs(%42 : tensor<4x24x66xf32>) -> tensor<4x24x66xf32>
    %expanded_8 = tensor.expand_shape %43 [[0, 1], [2], [3, 4]] output_shape [2, 2, 24, 33, 2] : tensor<4x24x66xf32> into tensor<2x2x24x33x2xf32>
    %44 = tensor.empty() : tensor<2x33x2x2x24xf32>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8 : tensor<2x2x24x33x2xf32>) outs(%44 : tensor<2x33x2x2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x2x2x24xf32>
    %collapsed_9 = tensor.collapse_shape %45 [[0], [1], [2, 3, 4]] : tensor<2x33x2x2x24xf32> into tensor<2x33x96xf32>
    return %collapsed_9 : tensor<2x33x96xf32>
  }
}