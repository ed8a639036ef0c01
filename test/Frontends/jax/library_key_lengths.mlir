// jax case library_key_lengths; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_library_key_lengths {
  func.func @model(%arg0: tensor<2x33x4x24xf32>, %arg1: tensor<2x49x4x24xf32>, %arg2: tensor<2x49x4x24xf32>, %arg3: tensor<2xi32>) -> tensor<2x33x4x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant -2.38197633E+38 : f32
    %cst_1 = arith.constant 0.204124153 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 33, 4, 1, 24] : tensor<2x33x4x24xf32> into tensor<2x33x4x1x24xf32>
    %0 = tensor.empty() : tensor<2x4x33x1x24xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x33x4x1x24xf32>) outs(%0 : tensor<2x4x33x1x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x1x24xf32>
    %2 = tensor.empty() : tensor<2x4x24x49xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x49x4x24xf32>) outs(%2 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3, 4]] : tensor<2x4x33x1x24xf32> into tensor<8x33x24xf32>
    %collapsed_3 = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %4 = tensor.empty() : tensor<8x33x49xf32>
    %5 = linalg.fill ins(%cst_2 : f32) outs(%4 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %6 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%5 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded_4 = tensor.expand_shape %6 [[0, 1], [2], [3, 4]] output_shape [2, 4, 33, 1, 49] : tensor<8x33x49xf32> into tensor<2x4x33x1x49xf32>
    %7 = tensor.empty() : tensor<2x4x33x1x49xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x4x33x1x49xf32>) outs(%7 : tensor<2x4x33x1x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = arith.mulf %in, %cst_1 : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x33x1x49xf32>
    %9 = tensor.empty() : tensor<49xi32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%9 : tensor<49xi32>) {
    ^bb0(%out: i32):
      %48 = linalg.index 0 : index
      %49 = arith.index_cast %48 : index to i32
      linalg.yield %49 : i32
    } -> tensor<49xi32>
    %11 = tensor.empty() : tensor<2x1x49xi32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10 : tensor<49xi32>) outs(%11 : tensor<2x1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x1x49xi32>
    %13 = tensor.empty() : tensor<2x1x49xi32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg3 : tensor<2xi32>) outs(%13 : tensor<2x1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x1x49xi32>
    %15 = tensor.empty() : tensor<2x1x49xi1>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12, %14 : tensor<2x1x49xi32>, tensor<2x1x49xi32>) outs(%15 : tensor<2x1x49xi1>) {
    ^bb0(%in: i32, %in_11: i32, %out: i1):
      %48 = arith.cmpi slt, %in, %in_11 : i32
      linalg.yield %48 : i1
    } -> tensor<2x1x49xi1>
    %17 = tensor.empty() : tensor<2x4x33x49xi1>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<2x1x49xi1>) outs(%17 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x33x49xi1>
    %19 = tensor.empty() : tensor<1x2x4x33x49xi1>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x4x33x49xi1>) outs(%19 : tensor<1x2x4x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x2x4x33x49xi1>
    %collapsed_5 = tensor.collapse_shape %8 [[0, 1, 2, 3, 4]] : tensor<2x4x33x1x49xf32> into tensor<12936xf32>
    %expanded_6 = tensor.expand_shape %collapsed_5 [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 33, 49] : tensor<12936xf32> into tensor<1x2x4x33x49xf32>
    %21 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%20, %expanded_6 : tensor<1x2x4x33x49xi1>, tensor<1x2x4x33x49xf32>) outs(%21 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_11: f32, %out: f32):
      %48 = arith.select %in, %in_11, %cst_0 : f32
      linalg.yield %48 : f32
    } -> tensor<1x2x4x33x49xf32>
    %23 = tensor.empty() : tensor<1x2x4x33xf32>
    %24 = linalg.fill ins(%cst : f32) outs(%23 : tensor<1x2x4x33xf32>) -> tensor<1x2x4x33xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%22 : tensor<1x2x4x33x49xf32>) outs(%24 : tensor<1x2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = arith.maximumf %out, %in : f32
      linalg.yield %48 : f32
    } -> tensor<1x2x4x33xf32>
    %26 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<1x2x4x33xf32>) outs(%26 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x33x49xf32>
    %28 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%22, %27 : tensor<1x2x4x33x49xf32>, tensor<1x2x4x33x49xf32>) outs(%28 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %48 = arith.subf %in, %in_11 : f32
      linalg.yield %48 : f32
    } -> tensor<1x2x4x33x49xf32>
    %30 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%29 : tensor<1x2x4x33x49xf32>) outs(%30 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = math.exp %in : f32
      linalg.yield %48 : f32
    } -> tensor<1x2x4x33x49xf32>
    %32 = tensor.empty() : tensor<1x2x4x33xf32>
    %33 = linalg.fill ins(%cst_2 : f32) outs(%32 : tensor<1x2x4x33xf32>) -> tensor<1x2x4x33xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%31 : tensor<1x2x4x33x49xf32>) outs(%33 : tensor<1x2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = arith.addf %out, %in : f32
      linalg.yield %48 : f32
    } -> tensor<1x2x4x33xf32>
    %35 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%34 : tensor<1x2x4x33xf32>) outs(%35 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x33x49xf32>
    %37 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%31, %36 : tensor<1x2x4x33x49xf32>, tensor<1x2x4x33x49xf32>) outs(%37 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %48 = arith.divf %in, %in_11 : f32
      linalg.yield %48 : f32
    } -> tensor<1x2x4x33x49xf32>
    %39 = tensor.empty() : tensor<2x4x24x49xf32>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x49x4x24xf32>) outs(%39 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %41 = tensor.empty() : tensor<2x4x49x1x33xf32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%38 : tensor<1x2x4x33x49xf32>) outs(%41 : tensor<2x4x49x1x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x49x1x33xf32>
    %collapsed_7 = tensor.collapse_shape %40 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %collapsed_8 = tensor.collapse_shape %42 [[0, 1], [2], [3, 4]] : tensor<2x4x49x1x33xf32> into tensor<8x49x33xf32>
    %43 = tensor.empty() : tensor<8x24x33xf32>
    %44 = linalg.fill ins(%cst_2 : f32) outs(%43 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %45 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<8x24x49xf32>, tensor<8x49x33xf32>) outs(%44 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %expanded_9 = tensor.expand_shape %45 [[0, 1], [2], [3, 4]] output_shape [2, 4, 24, 1, 33] : tensor<8x24x33xf32> into tensor<2x4x24x1x33xf32>
    %46 = tensor.empty() : tensor<1x2x33x4x24xf32>
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<2x4x24x1x33xf32>) outs(%46 : tensor<1x2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x33x4x24xf32>
    %collapsed_10 = tensor.collapse_shape %47 [[0, 1], [2], [3], [4]] : tensor<1x2x33x4x24xf32> into tensor<2x33x4x24xf32>
    return %collapsed_10 : tensor<2x33x4x24xf32>
  }
}