// jax case library_lengths; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_library_lengths {
  func.func @model(%arg0: tensor<2x33x4x24xf32>, %arg1: tensor<2x49x4x24xf32>, %arg2: tensor<2x49x4x24xf32>, %arg3: tensor<2xi32>, %arg4: tensor<2xi32>) -> tensor<2x33x4x24xf32> {
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
      %74 = arith.mulf %in, %cst_1 : f32
      linalg.yield %74 : f32
    } -> tensor<2x4x33x1x49xf32>
    %9 = tensor.empty() : tensor<33xi32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%9 : tensor<33xi32>) {
    ^bb0(%out: i32):
      %74 = linalg.index 0 : index
      %75 = arith.index_cast %74 : index to i32
      linalg.yield %75 : i32
    } -> tensor<33xi32>
    %11 = tensor.empty() : tensor<2x33x1xi32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10 : tensor<33xi32>) outs(%11 : tensor<2x33x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x33x1xi32>
    %13 = tensor.empty() : tensor<2x33x1xi32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg3 : tensor<2xi32>) outs(%13 : tensor<2x33x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x33x1xi32>
    %15 = tensor.empty() : tensor<2x33x1xi1>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12, %14 : tensor<2x33x1xi32>, tensor<2x33x1xi32>) outs(%15 : tensor<2x33x1xi1>) {
    ^bb0(%in: i32, %in_12: i32, %out: i1):
      %74 = arith.cmpi slt, %in, %in_12 : i32
      linalg.yield %74 : i1
    } -> tensor<2x33x1xi1>
    %17 = tensor.empty() : tensor<49xi32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%17 : tensor<49xi32>) {
    ^bb0(%out: i32):
      %74 = linalg.index 0 : index
      %75 = arith.index_cast %74 : index to i32
      linalg.yield %75 : i32
    } -> tensor<49xi32>
    %19 = tensor.empty() : tensor<2x1x49xi32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%18 : tensor<49xi32>) outs(%19 : tensor<2x1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x1x49xi32>
    %21 = tensor.empty() : tensor<2x1x49xi32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg4 : tensor<2xi32>) outs(%21 : tensor<2x1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x1x49xi32>
    %23 = tensor.empty() : tensor<2x1x49xi1>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20, %22 : tensor<2x1x49xi32>, tensor<2x1x49xi32>) outs(%23 : tensor<2x1x49xi1>) {
    ^bb0(%in: i32, %in_12: i32, %out: i1):
      %74 = arith.cmpi slt, %in, %in_12 : i32
      linalg.yield %74 : i1
    } -> tensor<2x1x49xi1>
    %25 = tensor.empty() : tensor<2x33x49xi1>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%16 : tensor<2x33x1xi1>) outs(%25 : tensor<2x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x33x49xi1>
    %27 = tensor.empty() : tensor<2x33x49xi1>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24 : tensor<2x1x49xi1>) outs(%27 : tensor<2x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x33x49xi1>
    %29 = tensor.empty() : tensor<2x33x49xi1>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%26, %28 : tensor<2x33x49xi1>, tensor<2x33x49xi1>) outs(%29 : tensor<2x33x49xi1>) {
    ^bb0(%in: i1, %in_12: i1, %out: i1):
      %74 = arith.andi %in, %in_12 : i1
      linalg.yield %74 : i1
    } -> tensor<2x33x49xi1>
    %31 = tensor.empty() : tensor<2x4x33x49xi1>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<2x33x49xi1>) outs(%31 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x33x49xi1>
    %33 = tensor.empty() : tensor<1x2x4x33x49xi1>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<2x4x33x49xi1>) outs(%33 : tensor<1x2x4x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x2x4x33x49xi1>
    %collapsed_5 = tensor.collapse_shape %8 [[0, 1, 2, 3, 4]] : tensor<2x4x33x1x49xf32> into tensor<12936xf32>
    %expanded_6 = tensor.expand_shape %collapsed_5 [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 33, 49] : tensor<12936xf32> into tensor<1x2x4x33x49xf32>
    %35 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%34, %expanded_6 : tensor<1x2x4x33x49xi1>, tensor<1x2x4x33x49xf32>) outs(%35 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_12: f32, %out: f32):
      %74 = arith.select %in, %in_12, %cst_0 : f32
      linalg.yield %74 : f32
    } -> tensor<1x2x4x33x49xf32>
    %37 = tensor.empty() : tensor<1x2x4x33xf32>
    %38 = linalg.fill ins(%cst : f32) outs(%37 : tensor<1x2x4x33xf32>) -> tensor<1x2x4x33xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%36 : tensor<1x2x4x33x49xf32>) outs(%38 : tensor<1x2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %74 = arith.maximumf %out, %in : f32
      linalg.yield %74 : f32
    } -> tensor<1x2x4x33xf32>
    %40 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%39 : tensor<1x2x4x33xf32>) outs(%40 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x33x49xf32>
    %42 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36, %41 : tensor<1x2x4x33x49xf32>, tensor<1x2x4x33x49xf32>) outs(%42 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %74 = arith.subf %in, %in_12 : f32
      linalg.yield %74 : f32
    } -> tensor<1x2x4x33x49xf32>
    %44 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%43 : tensor<1x2x4x33x49xf32>) outs(%44 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %74 = math.exp %in : f32
      linalg.yield %74 : f32
    } -> tensor<1x2x4x33x49xf32>
    %46 = tensor.empty() : tensor<1x2x4x33xf32>
    %47 = linalg.fill ins(%cst_2 : f32) outs(%46 : tensor<1x2x4x33xf32>) -> tensor<1x2x4x33xf32>
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%45 : tensor<1x2x4x33x49xf32>) outs(%47 : tensor<1x2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %74 = arith.addf %out, %in : f32
      linalg.yield %74 : f32
    } -> tensor<1x2x4x33xf32>
    %49 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%48 : tensor<1x2x4x33xf32>) outs(%49 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x33x49xf32>
    %51 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%45, %50 : tensor<1x2x4x33x49xf32>, tensor<1x2x4x33x49xf32>) outs(%51 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %74 = arith.divf %in, %in_12 : f32
      linalg.yield %74 : f32
    } -> tensor<1x2x4x33x49xf32>
    %53 = tensor.empty() : tensor<2x4x24x49xf32>
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x49x4x24xf32>) outs(%53 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %55 = tensor.empty() : tensor<2x4x49x1x33xf32>
    %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%52 : tensor<1x2x4x33x49xf32>) outs(%55 : tensor<2x4x49x1x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x49x1x33xf32>
    %collapsed_7 = tensor.collapse_shape %54 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %collapsed_8 = tensor.collapse_shape %56 [[0, 1], [2], [3, 4]] : tensor<2x4x49x1x33xf32> into tensor<8x49x33xf32>
    %57 = tensor.empty() : tensor<8x24x33xf32>
    %58 = linalg.fill ins(%cst_2 : f32) outs(%57 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %59 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<8x24x49xf32>, tensor<8x49x33xf32>) outs(%58 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %expanded_9 = tensor.expand_shape %59 [[0, 1], [2], [3, 4]] output_shape [2, 4, 24, 1, 33] : tensor<8x24x33xf32> into tensor<2x4x24x1x33xf32>
    %60 = tensor.empty() : tensor<1x2x33x4x24xf32>
    %61 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<2x4x24x1x33xf32>) outs(%60 : tensor<1x2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x33x4x24xf32>
    %62 = tensor.empty() : tensor<2x33xi32>
    %63 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10 : tensor<33xi32>) outs(%62 : tensor<2x33xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x33xi32>
    %64 = tensor.empty() : tensor<2x33xi32>
    %65 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<2xi32>) outs(%64 : tensor<2x33xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x33xi32>
    %66 = tensor.empty() : tensor<2x33xi1>
    %67 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%63, %65 : tensor<2x33xi32>, tensor<2x33xi32>) outs(%66 : tensor<2x33xi1>) {
    ^bb0(%in: i32, %in_12: i32, %out: i1):
      %74 = arith.cmpi slt, %in, %in_12 : i32
      linalg.yield %74 : i1
    } -> tensor<2x33xi1>
    %68 = tensor.empty() : tensor<2x33xf32>
    %69 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%67 : tensor<2x33xi1>) outs(%68 : tensor<2x33xf32>) {
    ^bb0(%in: i1, %out: f32):
      %74 = arith.uitofp %in : i1 to f32
      linalg.yield %74 : f32
    } -> tensor<2x33xf32>
    %expanded_10 = tensor.expand_shape %69 [[0], [1, 2, 3]] output_shape [2, 33, 1, 1] : tensor<2x33xf32> into tensor<2x33x1x1xf32>
    %70 = tensor.empty() : tensor<1x2x33x4x24xf32>
    %71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, 0, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10 : tensor<2x33x1x1xf32>) outs(%70 : tensor<1x2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x33x4x24xf32>
    %72 = tensor.empty() : tensor<1x2x33x4x24xf32>
    %73 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%61, %71 : tensor<1x2x33x4x24xf32>, tensor<1x2x33x4x24xf32>) outs(%72 : tensor<1x2x33x4x24xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %74 = arith.mulf %in, %in_12 : f32
      linalg.yield %74 : f32
    } -> tensor<1x2x33x4x24xf32>
    %collapsed_11 = tensor.collapse_shape %73 [[0, 1], [2], [3], [4]] : tensor<1x2x33x4x24xf32> into tensor<2x33x4x24xf32>
    return %collapsed_11 : tensor<2x33x4x24xf32>
  }
}