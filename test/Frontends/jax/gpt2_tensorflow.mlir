// jax case gpt2_tensorflow; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit__lambda {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 1.000000e+10 : f32
    %cst_1 = arith.constant 1.000000e+00 : f32
    %c16_i32 = arith.constant 16 : i32
    %cst_2 = arith.constant 0.204124153 : f32
    %cst_3 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x24x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%0 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_4 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %2 = tensor.empty() : tensor<8x33x49xf32>
    %3 = linalg.fill ins(%cst_3 : f32) outs(%2 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_4 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%3 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %5 = tensor.empty() : tensor<2x4x33x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x49xf32>) outs(%5 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = arith.mulf %in, %cst_2 : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x33x49xf32>
    %7 = tensor.empty() : tensor<33x49xi32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%7 : tensor<33x49xi32>) {
    ^bb0(%out: i32):
      %48 = linalg.index 0 : index
      %49 = arith.index_cast %48 : index to i32
      linalg.yield %49 : i32
    } -> tensor<33x49xi32>
    %9 = tensor.empty() : tensor<33x49xi32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<33x49xi32>) outs(%9 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %48 = arith.addi %in, %c16_i32 : i32
      linalg.yield %48 : i32
    } -> tensor<33x49xi32>
    %11 = tensor.empty() : tensor<33x49xi32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%11 : tensor<33x49xi32>) {
    ^bb0(%out: i32):
      %48 = linalg.index 1 : index
      %49 = arith.index_cast %48 : index to i32
      linalg.yield %49 : i32
    } -> tensor<33x49xi32>
    %13 = tensor.empty() : tensor<33x49xi1>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10, %12 : tensor<33x49xi32>, tensor<33x49xi32>) outs(%13 : tensor<33x49xi1>) {
    ^bb0(%in: i32, %in_8: i32, %out: i1):
      %48 = arith.cmpi sge, %in, %in_8 : i32
      linalg.yield %48 : i1
    } -> tensor<33x49xi1>
    %15 = tensor.empty() : tensor<33x49xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<33x49xi1>) outs(%15 : tensor<33x49xf32>) {
    ^bb0(%in: i1, %out: f32):
      %48 = arith.select %in, %cst_1, %cst_3 : f32
      linalg.yield %48 : f32
    } -> tensor<33x49xf32>
    %17 = tensor.empty() : tensor<2x4x33x49xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<33x49xf32>) outs(%17 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %19 = tensor.empty() : tensor<2x4x33x49xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %18 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%19 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %48 = arith.mulf %in, %in_8 : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x33x49xf32>
    %21 = tensor.empty() : tensor<33x49xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%16 : tensor<33x49xf32>) outs(%21 : tensor<33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = arith.subf %cst_1, %in : f32
      linalg.yield %48 : f32
    } -> tensor<33x49xf32>
    %23 = tensor.empty() : tensor<33x49xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%22 : tensor<33x49xf32>) outs(%23 : tensor<33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = arith.mulf %in, %cst_0 : f32
      linalg.yield %48 : f32
    } -> tensor<33x49xf32>
    %25 = tensor.empty() : tensor<2x4x33x49xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<33x49xf32>) outs(%25 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %27 = tensor.empty() : tensor<2x4x33x49xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %26 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%27 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %48 = arith.subf %in, %in_8 : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x33x49xf32>
    %29 = tensor.empty() : tensor<2x4x33xf32>
    %30 = linalg.fill ins(%cst : f32) outs(%29 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%28 : tensor<2x4x33x49xf32>) outs(%30 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = arith.maximumf %out, %in : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x33xf32>
    %32 = tensor.empty() : tensor<2x4x33x49xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31 : tensor<2x4x33xf32>) outs(%32 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %34 = tensor.empty() : tensor<2x4x33x49xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %33 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%34 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %48 = arith.subf %in, %in_8 : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x33x49xf32>
    %36 = tensor.empty() : tensor<2x4x33x49xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<2x4x33x49xf32>) outs(%36 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = math.exp %in : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x33x49xf32>
    %38 = tensor.empty() : tensor<2x4x33xf32>
    %39 = linalg.fill ins(%cst_3 : f32) outs(%38 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%37 : tensor<2x4x33x49xf32>) outs(%39 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = arith.addf %out, %in : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x33xf32>
    %41 = tensor.empty() : tensor<2x4x33x49xf32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%40 : tensor<2x4x33xf32>) outs(%41 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %43 = tensor.empty() : tensor<2x4x33x49xf32>
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%37, %42 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%43 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %48 = arith.divf %in, %in_8 : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_5 = tensor.collapse_shape %44 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_6 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %45 = tensor.empty() : tensor<8x33x24xf32>
    %46 = linalg.fill ins(%cst_3 : f32) outs(%45 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %47 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%46 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_7 = tensor.expand_shape %47 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_7 : tensor<2x4x33x24xf32>
  }
}