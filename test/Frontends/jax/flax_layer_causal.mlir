// jax case flax_layer_causal; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_flax_layer_causal {
  func.func @model(%arg0: tensor<4x24xf32>, %arg1: tensor<96x4x24xf32>, %arg2: tensor<96xf32>, %arg3: tensor<4x24x96xf32>, %arg4: tensor<4x24xf32>, %arg5: tensor<96x4x24xf32>, %arg6: tensor<4x24xf32>, %arg7: tensor<96x4x24xf32>, %arg8: tensor<2x33x96xf32>) -> tensor<2x33x96xf32> {
    %cst = arith.constant 4.89897966 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant -3.40282347E+38 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<33xi32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<33xi32>) {
    ^bb0(%out: i32):
      %84 = linalg.index 0 : index
      %85 = arith.index_cast %84 : index to i32
      linalg.yield %85 : i32
    } -> tensor<33xi32>
    %2 = tensor.empty() : tensor<2x33x33xi32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1 : tensor<33xi32>) outs(%2 : tensor<2x33x33xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x33x33xi32>
    %4 = tensor.empty() : tensor<2x33x33xi32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1 : tensor<33xi32>) outs(%4 : tensor<2x33x33xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x33x33xi32>
    %6 = tensor.empty() : tensor<2x33x33xi1>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3, %5 : tensor<2x33x33xi32>, tensor<2x33x33xi32>) outs(%6 : tensor<2x33x33xi1>) {
    ^bb0(%in: i32, %in_21: i32, %out: i1):
      %84 = arith.cmpi sge, %in, %in_21 : i32
      linalg.yield %84 : i1
    } -> tensor<2x33x33xi1>
    %8 = tensor.empty() : tensor<2x33x33xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%7 : tensor<2x33x33xi1>) outs(%8 : tensor<2x33x33xf32>) {
    ^bb0(%in: i1, %out: f32):
      %84 = arith.uitofp %in : i1 to f32
      linalg.yield %84 : f32
    } -> tensor<2x33x33xf32>
    %10 = tensor.empty() : tensor<2x1x33x33xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x33x33xf32>) outs(%10 : tensor<2x1x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x1x33x33xf32>
    %collapsed = tensor.collapse_shape %arg8 [[0, 1], [2]] : tensor<2x33x96xf32> into tensor<66x96xf32>
    %collapsed_3 = tensor.collapse_shape %arg5 [[0], [1, 2]] : tensor<96x4x24xf32> into tensor<96x96xf32>
    %12 = tensor.empty() : tensor<66x96xf32>
    %13 = linalg.fill ins(%cst_2 : f32) outs(%12 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %14 = linalg.matmul ins(%collapsed, %collapsed_3 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%13 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded = tensor.expand_shape %14 [[0, 1], [2, 3]] output_shape [2, 33, 4, 24] : tensor<66x96xf32> into tensor<2x33x4x24xf32>
    %expanded_4 = tensor.expand_shape %arg4 [[0, 1, 2], [3]] output_shape [1, 1, 4, 24] : tensor<4x24xf32> into tensor<1x1x4x24xf32>
    %15 = tensor.empty() : tensor<2x33x4x24xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<1x1x4x24xf32>) outs(%15 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    %17 = tensor.empty() : tensor<2x33x4x24xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %16 : tensor<2x33x4x24xf32>, tensor<2x33x4x24xf32>) outs(%17 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %in_21: f32, %out: f32):
      %84 = arith.addf %in, %in_21 : f32
      linalg.yield %84 : f32
    } -> tensor<2x33x4x24xf32>
    %collapsed_5 = tensor.collapse_shape %arg1 [[0], [1, 2]] : tensor<96x4x24xf32> into tensor<96x96xf32>
    %19 = tensor.empty() : tensor<66x96xf32>
    %20 = linalg.fill ins(%cst_2 : f32) outs(%19 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %21 = linalg.matmul ins(%collapsed, %collapsed_5 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%20 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_6 = tensor.expand_shape %21 [[0, 1], [2, 3]] output_shape [2, 33, 4, 24] : tensor<66x96xf32> into tensor<2x33x4x24xf32>
    %expanded_7 = tensor.expand_shape %arg0 [[0, 1, 2], [3]] output_shape [1, 1, 4, 24] : tensor<4x24xf32> into tensor<1x1x4x24xf32>
    %22 = tensor.empty() : tensor<2x33x4x24xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7 : tensor<1x1x4x24xf32>) outs(%22 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    %24 = tensor.empty() : tensor<2x33x4x24xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6, %23 : tensor<2x33x4x24xf32>, tensor<2x33x4x24xf32>) outs(%24 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %in_21: f32, %out: f32):
      %84 = arith.addf %in, %in_21 : f32
      linalg.yield %84 : f32
    } -> tensor<2x33x4x24xf32>
    %collapsed_8 = tensor.collapse_shape %arg7 [[0], [1, 2]] : tensor<96x4x24xf32> into tensor<96x96xf32>
    %26 = tensor.empty() : tensor<66x96xf32>
    %27 = linalg.fill ins(%cst_2 : f32) outs(%26 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %28 = linalg.matmul ins(%collapsed, %collapsed_8 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%27 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_9 = tensor.expand_shape %28 [[0, 1], [2, 3]] output_shape [2, 33, 4, 24] : tensor<66x96xf32> into tensor<2x33x4x24xf32>
    %expanded_10 = tensor.expand_shape %arg6 [[0, 1, 2], [3]] output_shape [1, 1, 4, 24] : tensor<4x24xf32> into tensor<1x1x4x24xf32>
    %29 = tensor.empty() : tensor<2x33x4x24xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10 : tensor<1x1x4x24xf32>) outs(%29 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    %31 = tensor.empty() : tensor<2x33x4x24xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9, %30 : tensor<2x33x4x24xf32>, tensor<2x33x4x24xf32>) outs(%31 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %in_21: f32, %out: f32):
      %84 = arith.addf %in, %in_21 : f32
      linalg.yield %84 : f32
    } -> tensor<2x33x4x24xf32>
    %33 = tensor.empty() : tensor<f32>
    %34 = linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%33 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst : f32
    } -> tensor<f32>
    %35 = tensor.empty() : tensor<2x33x4x24xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%34 : tensor<f32>) outs(%35 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    %37 = tensor.empty() : tensor<2x33x4x24xf32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %36 : tensor<2x33x4x24xf32>, tensor<2x33x4x24xf32>) outs(%37 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %in_21: f32, %out: f32):
      %84 = arith.divf %in, %in_21 : f32
      linalg.yield %84 : f32
    } -> tensor<2x33x4x24xf32>
    %39 = tensor.empty() : tensor<2x4x33x24xf32>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%38 : tensor<2x33x4x24xf32>) outs(%39 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x24xf32>
    %41 = tensor.empty() : tensor<2x4x24x33xf32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<2x33x4x24xf32>) outs(%41 : tensor<2x4x24x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x33xf32>
    %collapsed_11 = tensor.collapse_shape %40 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_12 = tensor.collapse_shape %42 [[0, 1], [2], [3]] : tensor<2x4x24x33xf32> into tensor<8x24x33xf32>
    %43 = tensor.empty() : tensor<8x33x33xf32>
    %44 = linalg.fill ins(%cst_2 : f32) outs(%43 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %45 = linalg.batch_matmul ins(%collapsed_11, %collapsed_12 : tensor<8x33x24xf32>, tensor<8x24x33xf32>) outs(%44 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %expanded_13 = tensor.expand_shape %45 [[0, 1], [2], [3]] output_shape [2, 4, 33, 33] : tensor<8x33x33xf32> into tensor<2x4x33x33xf32>
    %46 = tensor.empty() : tensor<2x1x33x33xi1>
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x1x33x33xf32>) outs(%46 : tensor<2x1x33x33xi1>) {
    ^bb0(%in: f32, %out: i1):
      %84 = arith.cmpf une, %in, %cst_2 : f32
      linalg.yield %84 : i1
    } -> tensor<2x1x33x33xi1>
    %48 = tensor.empty() : tensor<2x4x33x33xi1>
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%47 : tensor<2x1x33x33xi1>) outs(%48 : tensor<2x4x33x33xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x33x33xi1>
    %50 = tensor.empty() : tensor<2x4x33x33xf32>
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%49, %expanded_13 : tensor<2x4x33x33xi1>, tensor<2x4x33x33xf32>) outs(%50 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: i1, %in_21: f32, %out: f32):
      %84 = arith.select %in, %in_21, %cst_1 : f32
      linalg.yield %84 : f32
    } -> tensor<2x4x33x33xf32>
    %52 = tensor.empty() : tensor<2x4x33xf32>
    %53 = linalg.fill ins(%cst_0 : f32) outs(%52 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%51 : tensor<2x4x33x33xf32>) outs(%53 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %84 = arith.maximumf %out, %in : f32
      linalg.yield %84 : f32
    } -> tensor<2x4x33xf32>
    %55 = tensor.empty() : tensor<2x4x33x33xf32>
    %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%54 : tensor<2x4x33xf32>) outs(%55 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x33xf32>
    %57 = tensor.empty() : tensor<2x4x33x33xf32>
    %58 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%51, %56 : tensor<2x4x33x33xf32>, tensor<2x4x33x33xf32>) outs(%57 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_21: f32, %out: f32):
      %84 = arith.subf %in, %in_21 : f32
      linalg.yield %84 : f32
    } -> tensor<2x4x33x33xf32>
    %59 = tensor.empty() : tensor<2x4x33x33xf32>
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%58 : tensor<2x4x33x33xf32>) outs(%59 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %84 = math.exp %in : f32
      linalg.yield %84 : f32
    } -> tensor<2x4x33x33xf32>
    %61 = tensor.empty() : tensor<2x4x33xf32>
    %62 = linalg.fill ins(%cst_2 : f32) outs(%61 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %63 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%60 : tensor<2x4x33x33xf32>) outs(%62 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %84 = arith.addf %out, %in : f32
      linalg.yield %84 : f32
    } -> tensor<2x4x33xf32>
    %64 = tensor.empty() : tensor<2x4x33x33xf32>
    %65 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%63 : tensor<2x4x33xf32>) outs(%64 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x33xf32>
    %66 = tensor.empty() : tensor<2x4x33x33xf32>
    %67 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%60, %65 : tensor<2x4x33x33xf32>, tensor<2x4x33x33xf32>) outs(%66 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_21: f32, %out: f32):
      %84 = arith.divf %in, %in_21 : f32
      linalg.yield %84 : f32
    } -> tensor<2x4x33x33xf32>
    %68 = tensor.empty() : tensor<2x4x24x33xf32>
    %69 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<2x33x4x24xf32>) outs(%68 : tensor<2x4x24x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x33xf32>
    %70 = tensor.empty() : tensor<2x4x33x33xf32>
    %71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%67 : tensor<2x4x33x33xf32>) outs(%70 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x33xf32>
    %collapsed_14 = tensor.collapse_shape %69 [[0, 1], [2], [3]] : tensor<2x4x24x33xf32> into tensor<8x24x33xf32>
    %collapsed_15 = tensor.collapse_shape %71 [[0, 1], [2], [3]] : tensor<2x4x33x33xf32> into tensor<8x33x33xf32>
    %72 = tensor.empty() : tensor<8x24x33xf32>
    %73 = linalg.fill ins(%cst_2 : f32) outs(%72 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %74 = linalg.batch_matmul ins(%collapsed_14, %collapsed_15 : tensor<8x24x33xf32>, tensor<8x33x33xf32>) outs(%73 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %expanded_16 = tensor.expand_shape %74 [[0, 1], [2], [3]] output_shape [2, 4, 24, 33] : tensor<8x24x33xf32> into tensor<2x4x24x33xf32>
    %75 = tensor.empty() : tensor<2x33x4x24xf32>
    %76 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_16 : tensor<2x4x24x33xf32>) outs(%75 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    %collapsed_17 = tensor.collapse_shape %76 [[0, 1], [2, 3]] : tensor<2x33x4x24xf32> into tensor<66x96xf32>
    %collapsed_18 = tensor.collapse_shape %arg3 [[0, 1], [2]] : tensor<4x24x96xf32> into tensor<96x96xf32>
    %77 = tensor.empty() : tensor<66x96xf32>
    %78 = linalg.fill ins(%cst_2 : f32) outs(%77 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %79 = linalg.matmul ins(%collapsed_17, %collapsed_18 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%78 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_19 = tensor.expand_shape %79 [[0, 1], [2]] output_shape [2, 33, 96] : tensor<66x96xf32> into tensor<2x33x96xf32>
    %expanded_20 = tensor.expand_shape %arg2 [[0, 1, 2]] output_shape [1, 1, 96] : tensor<96xf32> into tensor<1x1x96xf32>
    %80 = tensor.empty() : tensor<2x33x96xf32>
    %81 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_20 : tensor<1x1x96xf32>) outs(%80 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x96xf32>
    %82 = tensor.empty() : tensor<2x33x96xf32>
    %83 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_19, %81 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%82 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_21: f32, %out: f32):
      %84 = arith.addf %in, %in_21 : f32
      linalg.yield %84 : f32
    } -> tensor<2x33x96xf32>
    return %83 : tensor<2x33x96xf32>
  }
}