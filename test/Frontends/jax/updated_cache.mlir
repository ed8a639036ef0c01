// jax case updated_cache; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_updated_cache {
  func.func @model(%arg0: tensor<2x4x1x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<2x4x1x24xf32>, %arg4: tensor<2x4x1x24xf32>, %arg5: tensor<i32>) -> tensor<2x4x1x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %c48 = arith.constant 48 : index
    %c0 = arith.constant 0 : index
    %c49_i32 = arith.constant 49 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = tensor.empty() : tensor<i1>
    %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg5 : tensor<i32>) outs(%0 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %48 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %48 : i1
    } -> tensor<i1>
    %2 = tensor.empty() : tensor<i32>
    %3 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg5 : tensor<i32>) outs(%2 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %48 = arith.addi %in, %c49_i32 : i32
      linalg.yield %48 : i32
    } -> tensor<i32>
    %4 = tensor.empty() : tensor<i32>
    %5 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%1, %3, %arg5 : tensor<i1>, tensor<i32>, tensor<i32>) outs(%4 : tensor<i32>) {
    ^bb0(%in: i1, %in_8: i32, %in_9: i32, %out: i32):
      %48 = arith.select %in, %in_8, %in_9 : i32
      linalg.yield %48 : i32
    } -> tensor<i32>
    %extracted = tensor.extract %5[] : tensor<i32>
    %6 = arith.index_cast %extracted : i32 to index
    %7 = arith.maxsi %6, %c0 : index
    %8 = arith.minsi %7, %c48 : index
    %inserted_slice = tensor.insert_slice %arg3 into %arg1[0, 0, %8, 0] [2, 4, 1, 24] [1, 1, 1, 1] : tensor<2x4x1x24xf32> into tensor<2x4x49x24xf32>
    %extracted_2 = tensor.extract %5[] : tensor<i32>
    %9 = arith.index_cast %extracted_2 : i32 to index
    %10 = arith.maxsi %9, %c0 : index
    %11 = arith.minsi %10, %c48 : index
    %inserted_slice_3 = tensor.insert_slice %arg4 into %arg2[0, 0, %11, 0] [2, 4, 1, 24] [1, 1, 1, 1] : tensor<2x4x1x24xf32> into tensor<2x4x49x24xf32>
    %12 = tensor.empty() : tensor<2x4x24x49xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%inserted_slice : tensor<2x4x49x24xf32>) outs(%12 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x1x24xf32> into tensor<8x1x24xf32>
    %collapsed_4 = tensor.collapse_shape %13 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %14 = tensor.empty() : tensor<8x1x49xf32>
    %15 = linalg.fill ins(%cst_1 : f32) outs(%14 : tensor<8x1x49xf32>) -> tensor<8x1x49xf32>
    %16 = linalg.batch_matmul ins(%collapsed, %collapsed_4 : tensor<8x1x24xf32>, tensor<8x24x49xf32>) outs(%15 : tensor<8x1x49xf32>) -> tensor<8x1x49xf32>
    %expanded = tensor.expand_shape %16 [[0, 1], [2], [3]] output_shape [2, 4, 1, 49] : tensor<8x1x49xf32> into tensor<2x4x1x49xf32>
    %17 = tensor.empty() : tensor<2x4x1x49xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x1x49xf32>) outs(%17 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = arith.mulf %in, %cst_0 : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x1x49xf32>
    %19 = tensor.empty() : tensor<49xi32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%19 : tensor<49xi32>) {
    ^bb0(%out: i32):
      %48 = linalg.index 0 : index
      %49 = arith.index_cast %48 : index to i32
      linalg.yield %49 : i32
    } -> tensor<49xi32>
    %21 = tensor.empty() : tensor<49xi32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg5 : tensor<i32>) outs(%21 : tensor<49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<49xi32>
    %23 = tensor.empty() : tensor<49xi1>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%20, %22 : tensor<49xi32>, tensor<49xi32>) outs(%23 : tensor<49xi1>) {
    ^bb0(%in: i32, %in_8: i32, %out: i1):
      %48 = arith.cmpi sle, %in, %in_8 : i32
      linalg.yield %48 : i1
    } -> tensor<49xi1>
    %25 = tensor.empty() : tensor<2x4x1x49xi1>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<49xi1>) outs(%25 : tensor<2x4x1x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x1x49xi1>
    %27 = tensor.empty() : tensor<2x4x1x49xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26, %18 : tensor<2x4x1x49xi1>, tensor<2x4x1x49xf32>) outs(%27 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: i1, %in_8: f32, %out: f32):
      %48 = arith.select %in, %in_8, %cst : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x1x49xf32>
    %29 = tensor.empty() : tensor<2x4x1xf32>
    %30 = linalg.fill ins(%cst : f32) outs(%29 : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%28 : tensor<2x4x1x49xf32>) outs(%30 : tensor<2x4x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = arith.maximumf %out, %in : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x1xf32>
    %32 = tensor.empty() : tensor<2x4x1x49xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31 : tensor<2x4x1xf32>) outs(%32 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x1x49xf32>
    %34 = tensor.empty() : tensor<2x4x1x49xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %33 : tensor<2x4x1x49xf32>, tensor<2x4x1x49xf32>) outs(%34 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %48 = arith.subf %in, %in_8 : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x1x49xf32>
    %36 = tensor.empty() : tensor<2x4x1x49xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<2x4x1x49xf32>) outs(%36 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = math.exp %in : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x1x49xf32>
    %38 = tensor.empty() : tensor<2x4x1xf32>
    %39 = linalg.fill ins(%cst_1 : f32) outs(%38 : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%37 : tensor<2x4x1x49xf32>) outs(%39 : tensor<2x4x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %48 = arith.addf %out, %in : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x1xf32>
    %41 = tensor.empty() : tensor<2x4x1x49xf32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%40 : tensor<2x4x1xf32>) outs(%41 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x1x49xf32>
    %43 = tensor.empty() : tensor<2x4x1x49xf32>
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%37, %42 : tensor<2x4x1x49xf32>, tensor<2x4x1x49xf32>) outs(%43 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %48 = arith.divf %in, %in_8 : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x1x49xf32>
    %collapsed_5 = tensor.collapse_shape %44 [[0, 1], [2], [3]] : tensor<2x4x1x49xf32> into tensor<8x1x49xf32>
    %collapsed_6 = tensor.collapse_shape %inserted_slice_3 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %45 = tensor.empty() : tensor<8x1x24xf32>
    %46 = linalg.fill ins(%cst_1 : f32) outs(%45 : tensor<8x1x24xf32>) -> tensor<8x1x24xf32>
    %47 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<8x1x49xf32>, tensor<8x49x24xf32>) outs(%46 : tensor<8x1x24xf32>) -> tensor<8x1x24xf32>
    %expanded_7 = tensor.expand_shape %47 [[0, 1], [2], [3]] output_shape [2, 4, 1, 24] : tensor<8x1x24xf32> into tensor<2x4x1x24xf32>
    return %expanded_7 : tensor<2x4x1x24xf32>
  }
}