// jax case one_length; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_one_length {
  func.func @model(%arg0: tensor<2x4x1x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<i32>) -> tensor<2x4x1x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %c1_i32 = arith.constant 1 : i32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x24x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%0 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x1x24xf32> into tensor<8x1x24xf32>
    %collapsed_2 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %2 = tensor.empty() : tensor<8x1x49xf32>
    %3 = linalg.fill ins(%cst_1 : f32) outs(%2 : tensor<8x1x49xf32>) -> tensor<8x1x49xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<8x1x24xf32>, tensor<8x24x49xf32>) outs(%3 : tensor<8x1x49xf32>) -> tensor<8x1x49xf32>
    %expanded = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 1, 49] : tensor<8x1x49xf32> into tensor<2x4x1x49xf32>
    %5 = tensor.empty() : tensor<2x4x1x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x1x49xf32>) outs(%5 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.mulf %in, %cst_0 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x1x49xf32>
    %7 = tensor.empty() : tensor<49xi32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%7 : tensor<49xi32>) {
    ^bb0(%out: i32):
      %40 = linalg.index 0 : index
      %41 = arith.index_cast %40 : index to i32
      linalg.yield %41 : i32
    } -> tensor<49xi32>
    %9 = tensor.empty() : tensor<1x49xi32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<49xi32>) outs(%9 : tensor<1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x49xi32>
    %11 = tensor.empty() : tensor<i32>
    %12 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg3 : tensor<i32>) outs(%11 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %40 = arith.maxsi %in, %c1_i32 : i32
      linalg.yield %40 : i32
    } -> tensor<i32>
    %13 = tensor.empty() : tensor<1x49xi32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%12 : tensor<i32>) outs(%13 : tensor<1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x49xi32>
    %15 = tensor.empty() : tensor<1x49xi1>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10, %14 : tensor<1x49xi32>, tensor<1x49xi32>) outs(%15 : tensor<1x49xi1>) {
    ^bb0(%in: i32, %in_6: i32, %out: i1):
      %40 = arith.cmpi slt, %in, %in_6 : i32
      linalg.yield %40 : i1
    } -> tensor<1x49xi1>
    %17 = tensor.empty() : tensor<2x4x1x49xi1>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<1x49xi1>) outs(%17 : tensor<2x4x1x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x1x49xi1>
    %19 = tensor.empty() : tensor<2x4x1x49xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %6 : tensor<2x4x1x49xi1>, tensor<2x4x1x49xf32>) outs(%19 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: i1, %in_6: f32, %out: f32):
      %40 = arith.select %in, %in_6, %cst : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x1x49xf32>
    %21 = tensor.empty() : tensor<2x4x1xf32>
    %22 = linalg.fill ins(%cst : f32) outs(%21 : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%20 : tensor<2x4x1x49xf32>) outs(%22 : tensor<2x4x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.maximumf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x1xf32>
    %24 = tensor.empty() : tensor<2x4x1x49xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x4x1xf32>) outs(%24 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x1x49xf32>
    %26 = tensor.empty() : tensor<2x4x1x49xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %25 : tensor<2x4x1x49xf32>, tensor<2x4x1x49xf32>) outs(%26 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %40 = arith.subf %in, %in_6 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x1x49xf32>
    %28 = tensor.empty() : tensor<2x4x1x49xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<2x4x1x49xf32>) outs(%28 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = math.exp %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x1x49xf32>
    %30 = tensor.empty() : tensor<2x4x1xf32>
    %31 = linalg.fill ins(%cst_1 : f32) outs(%30 : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%29 : tensor<2x4x1x49xf32>) outs(%31 : tensor<2x4x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.addf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x1xf32>
    %33 = tensor.empty() : tensor<2x4x1x49xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<2x4x1xf32>) outs(%33 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x1x49xf32>
    %35 = tensor.empty() : tensor<2x4x1x49xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29, %34 : tensor<2x4x1x49xf32>, tensor<2x4x1x49xf32>) outs(%35 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %40 = arith.divf %in, %in_6 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x1x49xf32>
    %collapsed_3 = tensor.collapse_shape %36 [[0, 1], [2], [3]] : tensor<2x4x1x49xf32> into tensor<8x1x49xf32>
    %collapsed_4 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %37 = tensor.empty() : tensor<8x1x24xf32>
    %38 = linalg.fill ins(%cst_1 : f32) outs(%37 : tensor<8x1x24xf32>) -> tensor<8x1x24xf32>
    %39 = linalg.batch_matmul ins(%collapsed_3, %collapsed_4 : tensor<8x1x49xf32>, tensor<8x49x24xf32>) outs(%38 : tensor<8x1x24xf32>) -> tensor<8x1x24xf32>
    %expanded_5 = tensor.expand_shape %39 [[0, 1], [2], [3]] output_shape [2, 4, 1, 24] : tensor<8x1x24xf32> into tensor<2x4x1x24xf32>
    return %expanded_5 : tensor<2x4x1x24xf32>
  }
}