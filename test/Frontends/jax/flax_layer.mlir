// jax case flax_layer; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_flax_layer {
  func.func @model(%arg0: tensor<4x24xf32>, %arg1: tensor<96x4x24xf32>, %arg2: tensor<96xf32>, %arg3: tensor<4x24x96xf32>, %arg4: tensor<4x24xf32>, %arg5: tensor<96x4x24xf32>, %arg6: tensor<4x24xf32>, %arg7: tensor<96x4x24xf32>, %arg8: tensor<2x33x96xf32>) -> tensor<2x33x96xf32> {
    %cst = arith.constant 4.89897966 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %collapsed = tensor.collapse_shape %arg8 [[0, 1], [2]] : tensor<2x33x96xf32> into tensor<66x96xf32>
    %collapsed_2 = tensor.collapse_shape %arg5 [[0], [1, 2]] : tensor<96x4x24xf32> into tensor<96x96xf32>
    %0 = tensor.empty() : tensor<66x96xf32>
    %1 = linalg.fill ins(%cst_1 : f32) outs(%0 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %2 = linalg.matmul ins(%collapsed, %collapsed_2 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%1 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded = tensor.expand_shape %2 [[0, 1], [2, 3]] output_shape [2, 33, 4, 24] : tensor<66x96xf32> into tensor<2x33x4x24xf32>
    %expanded_3 = tensor.expand_shape %arg4 [[0, 1, 2], [3]] output_shape [1, 1, 4, 24] : tensor<4x24xf32> into tensor<1x1x4x24xf32>
    %3 = tensor.empty() : tensor<2x33x4x24xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_3 : tensor<1x1x4x24xf32>) outs(%3 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    %5 = tensor.empty() : tensor<2x33x4x24xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %4 : tensor<2x33x4x24xf32>, tensor<2x33x4x24xf32>) outs(%5 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %in_20: f32, %out: f32):
      %66 = arith.addf %in, %in_20 : f32
      linalg.yield %66 : f32
    } -> tensor<2x33x4x24xf32>
    %collapsed_4 = tensor.collapse_shape %arg1 [[0], [1, 2]] : tensor<96x4x24xf32> into tensor<96x96xf32>
    %7 = tensor.empty() : tensor<66x96xf32>
    %8 = linalg.fill ins(%cst_1 : f32) outs(%7 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %9 = linalg.matmul ins(%collapsed, %collapsed_4 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%8 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_5 = tensor.expand_shape %9 [[0, 1], [2, 3]] output_shape [2, 33, 4, 24] : tensor<66x96xf32> into tensor<2x33x4x24xf32>
    %expanded_6 = tensor.expand_shape %arg0 [[0, 1, 2], [3]] output_shape [1, 1, 4, 24] : tensor<4x24xf32> into tensor<1x1x4x24xf32>
    %10 = tensor.empty() : tensor<2x33x4x24xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<1x1x4x24xf32>) outs(%10 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    %12 = tensor.empty() : tensor<2x33x4x24xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5, %11 : tensor<2x33x4x24xf32>, tensor<2x33x4x24xf32>) outs(%12 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %in_20: f32, %out: f32):
      %66 = arith.addf %in, %in_20 : f32
      linalg.yield %66 : f32
    } -> tensor<2x33x4x24xf32>
    %collapsed_7 = tensor.collapse_shape %arg7 [[0], [1, 2]] : tensor<96x4x24xf32> into tensor<96x96xf32>
    %14 = tensor.empty() : tensor<66x96xf32>
    %15 = linalg.fill ins(%cst_1 : f32) outs(%14 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %16 = linalg.matmul ins(%collapsed, %collapsed_7 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%15 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_8 = tensor.expand_shape %16 [[0, 1], [2, 3]] output_shape [2, 33, 4, 24] : tensor<66x96xf32> into tensor<2x33x4x24xf32>
    %expanded_9 = tensor.expand_shape %arg6 [[0, 1, 2], [3]] output_shape [1, 1, 4, 24] : tensor<4x24xf32> into tensor<1x1x4x24xf32>
    %17 = tensor.empty() : tensor<2x33x4x24xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<1x1x4x24xf32>) outs(%17 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    %19 = tensor.empty() : tensor<2x33x4x24xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8, %18 : tensor<2x33x4x24xf32>, tensor<2x33x4x24xf32>) outs(%19 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %in_20: f32, %out: f32):
      %66 = arith.addf %in, %in_20 : f32
      linalg.yield %66 : f32
    } -> tensor<2x33x4x24xf32>
    %21 = tensor.empty() : tensor<f32>
    %22 = linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%21 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst : f32
    } -> tensor<f32>
    %23 = tensor.empty() : tensor<2x33x4x24xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<f32>) outs(%23 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    %25 = tensor.empty() : tensor<2x33x4x24xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %24 : tensor<2x33x4x24xf32>, tensor<2x33x4x24xf32>) outs(%25 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %in_20: f32, %out: f32):
      %66 = arith.divf %in, %in_20 : f32
      linalg.yield %66 : f32
    } -> tensor<2x33x4x24xf32>
    %27 = tensor.empty() : tensor<2x4x33x24xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<2x33x4x24xf32>) outs(%27 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x24xf32>
    %29 = tensor.empty() : tensor<2x4x24x33xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x33x4x24xf32>) outs(%29 : tensor<2x4x24x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x33xf32>
    %collapsed_10 = tensor.collapse_shape %28 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_11 = tensor.collapse_shape %30 [[0, 1], [2], [3]] : tensor<2x4x24x33xf32> into tensor<8x24x33xf32>
    %31 = tensor.empty() : tensor<8x33x33xf32>
    %32 = linalg.fill ins(%cst_1 : f32) outs(%31 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %33 = linalg.batch_matmul ins(%collapsed_10, %collapsed_11 : tensor<8x33x24xf32>, tensor<8x24x33xf32>) outs(%32 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %expanded_12 = tensor.expand_shape %33 [[0, 1], [2], [3]] output_shape [2, 4, 33, 33] : tensor<8x33x33xf32> into tensor<2x4x33x33xf32>
    %34 = tensor.empty() : tensor<2x4x33xf32>
    %35 = linalg.fill ins(%cst_0 : f32) outs(%34 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_12 : tensor<2x4x33x33xf32>) outs(%35 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.maximumf %out, %in : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33xf32>
    %37 = tensor.empty() : tensor<2x4x33x33xf32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x4x33xf32>) outs(%37 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x33xf32>
    %39 = tensor.empty() : tensor<2x4x33x33xf32>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_12, %38 : tensor<2x4x33x33xf32>, tensor<2x4x33x33xf32>) outs(%39 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_20: f32, %out: f32):
      %66 = arith.subf %in, %in_20 : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33x33xf32>
    %41 = tensor.empty() : tensor<2x4x33x33xf32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%40 : tensor<2x4x33x33xf32>) outs(%41 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = math.exp %in : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33x33xf32>
    %43 = tensor.empty() : tensor<2x4x33xf32>
    %44 = linalg.fill ins(%cst_1 : f32) outs(%43 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%42 : tensor<2x4x33x33xf32>) outs(%44 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.addf %out, %in : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33xf32>
    %46 = tensor.empty() : tensor<2x4x33x33xf32>
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%45 : tensor<2x4x33xf32>) outs(%46 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x33xf32>
    %48 = tensor.empty() : tensor<2x4x33x33xf32>
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%42, %47 : tensor<2x4x33x33xf32>, tensor<2x4x33x33xf32>) outs(%48 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_20: f32, %out: f32):
      %66 = arith.divf %in, %in_20 : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33x33xf32>
    %50 = tensor.empty() : tensor<2x4x24x33xf32>
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<2x33x4x24xf32>) outs(%50 : tensor<2x4x24x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x33xf32>
    %52 = tensor.empty() : tensor<2x4x33x33xf32>
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%49 : tensor<2x4x33x33xf32>) outs(%52 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x33xf32>
    %collapsed_13 = tensor.collapse_shape %51 [[0, 1], [2], [3]] : tensor<2x4x24x33xf32> into tensor<8x24x33xf32>
    %collapsed_14 = tensor.collapse_shape %53 [[0, 1], [2], [3]] : tensor<2x4x33x33xf32> into tensor<8x33x33xf32>
    %54 = tensor.empty() : tensor<8x24x33xf32>
    %55 = linalg.fill ins(%cst_1 : f32) outs(%54 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %56 = linalg.batch_matmul ins(%collapsed_13, %collapsed_14 : tensor<8x24x33xf32>, tensor<8x33x33xf32>) outs(%55 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %expanded_15 = tensor.expand_shape %56 [[0, 1], [2], [3]] output_shape [2, 4, 24, 33] : tensor<8x24x33xf32> into tensor<2x4x24x33xf32>
    %57 = tensor.empty() : tensor<2x33x4x24xf32>
    %58 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_15 : tensor<2x4x24x33xf32>) outs(%57 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    %collapsed_16 = tensor.collapse_shape %58 [[0, 1], [2, 3]] : tensor<2x33x4x24xf32> into tensor<66x96xf32>
    %collapsed_17 = tensor.collapse_shape %arg3 [[0, 1], [2]] : tensor<4x24x96xf32> into tensor<96x96xf32>
    %59 = tensor.empty() : tensor<66x96xf32>
    %60 = linalg.fill ins(%cst_1 : f32) outs(%59 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %61 = linalg.matmul ins(%collapsed_16, %collapsed_17 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%60 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_18 = tensor.expand_shape %61 [[0, 1], [2]] output_shape [2, 33, 96] : tensor<66x96xf32> into tensor<2x33x96xf32>
    %expanded_19 = tensor.expand_shape %arg2 [[0, 1, 2]] output_shape [1, 1, 96] : tensor<96xf32> into tensor<1x1x96xf32>
    %62 = tensor.empty() : tensor<2x33x96xf32>
    %63 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_19 : tensor<1x1x96xf32>) outs(%62 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x96xf32>
    %64 = tensor.empty() : tensor<2x33x96xf32>
    %65 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_18, %63 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%64 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_20: f32, %out: f32):
      %66 = arith.addf %in, %in_20 : f32
      linalg.yield %66 : f32
    } -> tensor<2x33x96xf32>
    return %65 : tensor<2x33x96xf32>
  }
}