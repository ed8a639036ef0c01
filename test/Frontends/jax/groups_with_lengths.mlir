// jax case groups_with_lengths; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_groups_with_lengths {
  func.func @model(%arg0: tensor<2x4x24xf32>, %arg1: tensor<2x49x2x24xf32>, %arg2: tensor<2x49x2x24xf32>, %arg3: tensor<2xi32>) -> tensor<2x4x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant -1.000000e+30 : f32
    %cst_1 = arith.constant 2.000000e-01 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x2x24x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x49x2x24xf32>) outs(%0 : tensor<2x2x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1, 2]] : tensor<2x4x24xf32> into tensor<192xf32>
    %expanded = tensor.expand_shape %collapsed [[0, 1, 2]] output_shape [4, 2, 24] : tensor<192xf32> into tensor<4x2x24xf32>
    %collapsed_3 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x2x24x49xf32> into tensor<4x24x49xf32>
    %2 = tensor.empty() : tensor<4x2x49xf32>
    %3 = linalg.fill ins(%cst_2 : f32) outs(%2 : tensor<4x2x49xf32>) -> tensor<4x2x49xf32>
    %4 = linalg.batch_matmul ins(%expanded, %collapsed_3 : tensor<4x2x24xf32>, tensor<4x24x49xf32>) outs(%3 : tensor<4x2x49xf32>) -> tensor<4x2x49xf32>
    %expanded_4 = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 2, 2, 49] : tensor<4x2x49xf32> into tensor<2x2x2x49xf32>
    %5 = tensor.empty() : tensor<2x2x2x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x2x2x49xf32>) outs(%5 : tensor<2x2x2x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.mulf %in, %cst_1 : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2x49xf32>
    %7 = tensor.empty() : tensor<49xi32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%7 : tensor<49xi32>) {
    ^bb0(%out: i32):
      %40 = linalg.index 0 : index
      %41 = arith.index_cast %40 : index to i32
      linalg.yield %41 : i32
    } -> tensor<49xi32>
    %9 = tensor.empty() : tensor<2x1x1x49xi32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<49xi32>) outs(%9 : tensor<2x1x1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x1x1x49xi32>
    %11 = tensor.empty() : tensor<2x1x1x49xi32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<2xi32>) outs(%11 : tensor<2x1x1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x1x1x49xi32>
    %13 = tensor.empty() : tensor<2x1x1x49xi1>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %12 : tensor<2x1x1x49xi32>, tensor<2x1x1x49xi32>) outs(%13 : tensor<2x1x1x49xi1>) {
    ^bb0(%in: i32, %in_9: i32, %out: i1):
      %40 = arith.cmpi slt, %in, %in_9 : i32
      linalg.yield %40 : i1
    } -> tensor<2x1x1x49xi1>
    %15 = tensor.empty() : tensor<2x2x2x49xi1>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<2x1x1x49xi1>) outs(%15 : tensor<2x2x2x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x2x2x49xi1>
    %17 = tensor.empty() : tensor<2x2x2x49xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %6 : tensor<2x2x2x49xi1>, tensor<2x2x2x49xf32>) outs(%17 : tensor<2x2x2x49xf32>) {
    ^bb0(%in: i1, %in_9: f32, %out: f32):
      %40 = arith.select %in, %in_9, %cst_0 : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2x49xf32>
    %19 = tensor.empty() : tensor<2x2x2xf32>
    %20 = linalg.fill ins(%cst : f32) outs(%19 : tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%18 : tensor<2x2x2x49xf32>) outs(%20 : tensor<2x2x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.maximumf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2xf32>
    %22 = tensor.empty() : tensor<2x2x2x49xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<2x2x2xf32>) outs(%22 : tensor<2x2x2x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x49xf32>
    %24 = tensor.empty() : tensor<2x2x2x49xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %23 : tensor<2x2x2x49xf32>, tensor<2x2x2x49xf32>) outs(%24 : tensor<2x2x2x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %40 = arith.subf %in, %in_9 : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2x49xf32>
    %26 = tensor.empty() : tensor<2x2x2x49xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<2x2x2x49xf32>) outs(%26 : tensor<2x2x2x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = math.exp %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2x49xf32>
    %28 = tensor.empty() : tensor<2x2x2xf32>
    %29 = linalg.fill ins(%cst_2 : f32) outs(%28 : tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%27 : tensor<2x2x2x49xf32>) outs(%29 : tensor<2x2x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.addf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2xf32>
    %31 = tensor.empty() : tensor<2x2x2x49xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<2x2x2xf32>) outs(%31 : tensor<2x2x2x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x49xf32>
    %33 = tensor.empty() : tensor<2x2x2x49xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27, %32 : tensor<2x2x2x49xf32>, tensor<2x2x2x49xf32>) outs(%33 : tensor<2x2x2x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %40 = arith.divf %in, %in_9 : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2x49xf32>
    %35 = tensor.empty() : tensor<2x2x49x24xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x49x2x24xf32>) outs(%35 : tensor<2x2x49x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x49x24xf32>
    %collapsed_5 = tensor.collapse_shape %34 [[0, 1], [2], [3]] : tensor<2x2x2x49xf32> into tensor<4x2x49xf32>
    %collapsed_6 = tensor.collapse_shape %36 [[0, 1], [2], [3]] : tensor<2x2x49x24xf32> into tensor<4x49x24xf32>
    %37 = tensor.empty() : tensor<4x2x24xf32>
    %38 = linalg.fill ins(%cst_2 : f32) outs(%37 : tensor<4x2x24xf32>) -> tensor<4x2x24xf32>
    %39 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<4x2x49xf32>, tensor<4x49x24xf32>) outs(%38 : tensor<4x2x24xf32>) -> tensor<4x2x24xf32>
    %collapsed_7 = tensor.collapse_shape %39 [[0, 1, 2]] : tensor<4x2x24xf32> into tensor<192xf32>
    %expanded_8 = tensor.expand_shape %collapsed_7 [[0, 1, 2]] output_shape [2, 4, 24] : tensor<192xf32> into tensor<2x4x24xf32>
    return %expanded_8 : tensor<2x4x24xf32>
  }
}