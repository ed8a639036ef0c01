// jax case llama_block; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_llama_block {
  func.func @model(%arg0: tensor<2x33x96xf32>, %arg1: tensor<96x96xf32>, %arg2: tensor<96x48xf32>, %arg3: tensor<96x48xf32>, %arg4: tensor<96x96xf32>, %arg5: tensor<96x384xf32>, %arg6: tensor<384x96xf32>, %arg7: tensor<96x384xf32>) -> tensor<2x33x96xf32> {
    %cst = arith.constant 1.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 4.89897966 : f32
    %cst_2 = arith.constant 1.000000e+04 : f32
    %cst_3 = arith.constant 2.400000e+01 : f32
    %c2_i32 = arith.constant 2 : i32
    %cst_4 = arith.constant 9.99999974E-6 : f32
    %cst_5 = arith.constant 9.600000e+01 : f32
    %cst_6 = arith.constant 0.000000e+00 : f32
    %cst_7 = arith.constant 1.000000e-01 : f32
    %0 = tensor.empty() : tensor<96x96xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<96x96xf32>) outs(%0 : tensor<96x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.mulf %in, %cst_7 : f32
      linalg.yield %205 : f32
    } -> tensor<96x96xf32>
    %2 = tensor.empty() : tensor<96x48xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg2 : tensor<96x48xf32>) outs(%2 : tensor<96x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.mulf %in, %cst_7 : f32
      linalg.yield %205 : f32
    } -> tensor<96x48xf32>
    %4 = tensor.empty() : tensor<96x48xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<96x48xf32>) outs(%4 : tensor<96x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.mulf %in, %cst_7 : f32
      linalg.yield %205 : f32
    } -> tensor<96x48xf32>
    %6 = tensor.empty() : tensor<96x96xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg4 : tensor<96x96xf32>) outs(%6 : tensor<96x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.mulf %in, %cst_7 : f32
      linalg.yield %205 : f32
    } -> tensor<96x96xf32>
    %8 = tensor.empty() : tensor<96x384xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg5 : tensor<96x384xf32>) outs(%8 : tensor<96x384xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.mulf %in, %cst_7 : f32
      linalg.yield %205 : f32
    } -> tensor<96x384xf32>
    %10 = tensor.empty() : tensor<384x96xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg6 : tensor<384x96xf32>) outs(%10 : tensor<384x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.mulf %in, %cst_7 : f32
      linalg.yield %205 : f32
    } -> tensor<384x96xf32>
    %12 = tensor.empty() : tensor<96x384xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg7 : tensor<96x384xf32>) outs(%12 : tensor<96x384xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.mulf %in, %cst_7 : f32
      linalg.yield %205 : f32
    } -> tensor<96x384xf32>
    %14 = tensor.empty() : tensor<2x33xf32>
    %15 = linalg.fill ins(%cst_6 : f32) outs(%14 : tensor<2x33xf32>) -> tensor<2x33xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0 : tensor<2x33x96xf32>) outs(%15 : tensor<2x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.addf %out, %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x33xf32>
    %expanded = tensor.expand_shape %16 [[0], [1, 2]] output_shape [2, 33, 1] : tensor<2x33xf32> into tensor<2x33x1xf32>
    %17 = tensor.empty() : tensor<2x33x1xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x33x1xf32>) outs(%17 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.divf %in, %cst_5 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x1xf32>
    %19 = tensor.empty() : tensor<2x33x96xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%18 : tensor<2x33x1xf32>) outs(%19 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x96xf32>
    %21 = tensor.empty() : tensor<2x33x96xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %20 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%21 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.subf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x96xf32>
    %23 = tensor.empty() : tensor<2x33x96xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22 : tensor<2x33x96xf32>) outs(%23 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.mulf %in, %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x96xf32>
    %25 = tensor.empty() : tensor<2x33xf32>
    %26 = linalg.fill ins(%cst_6 : f32) outs(%25 : tensor<2x33xf32>) -> tensor<2x33xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%24 : tensor<2x33x96xf32>) outs(%26 : tensor<2x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.addf %out, %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x33xf32>
    %expanded_8 = tensor.expand_shape %27 [[0], [1, 2]] output_shape [2, 33, 1] : tensor<2x33xf32> into tensor<2x33x1xf32>
    %28 = tensor.empty() : tensor<2x33x1xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_8 : tensor<2x33x1xf32>) outs(%28 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.divf %in, %cst_5 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x1xf32>
    %30 = tensor.empty() : tensor<2x33x1xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%29 : tensor<2x33x1xf32>) outs(%30 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.addf %in, %cst_4 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x1xf32>
    %32 = tensor.empty() : tensor<2x33x1xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%31 : tensor<2x33x1xf32>) outs(%32 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = math.rsqrt %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x1xf32>
    %34 = tensor.empty() : tensor<2x33x96xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%33 : tensor<2x33x1xf32>) outs(%34 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x96xf32>
    %36 = tensor.empty() : tensor<2x33x96xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22, %35 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%36 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.mulf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x96xf32>
    %collapsed = tensor.collapse_shape %37 [[0, 1], [2]] : tensor<2x33x96xf32> into tensor<66x96xf32>
    %38 = tensor.empty() : tensor<66x96xf32>
    %39 = linalg.fill ins(%cst_6 : f32) outs(%38 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %40 = linalg.matmul ins(%collapsed, %1 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%39 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_9 = tensor.expand_shape %40 [[0, 1], [2, 3]] output_shape [2, 33, 4, 24] : tensor<66x96xf32> into tensor<2x33x4x24xf32>
    %41 = tensor.empty() : tensor<2x4x33x24xf32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<2x33x4x24xf32>) outs(%41 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x24xf32>
    %43 = tensor.empty() : tensor<33xi32>
    %44 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%43 : tensor<33xi32>) {
    ^bb0(%out: i32):
      %205 = linalg.index 0 : index
      %206 = arith.index_cast %205 : index to i32
      linalg.yield %206 : i32
    } -> tensor<33xi32>
    %45 = tensor.empty() : tensor<33xf32>
    %46 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%44 : tensor<33xi32>) outs(%45 : tensor<33xf32>) {
    ^bb0(%in: i32, %out: f32):
      %205 = arith.sitofp %in : i32 to f32
      linalg.yield %205 : f32
    } -> tensor<33xf32>
    %expanded_10 = tensor.expand_shape %46 [[0, 1]] output_shape [33, 1] : tensor<33xf32> into tensor<33x1xf32>
    %47 = tensor.empty() : tensor<12xi32>
    %48 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%47 : tensor<12xi32>) {
    ^bb0(%out: i32):
      %205 = linalg.index 0 : index
      %206 = arith.index_cast %205 : index to i32
      linalg.yield %206 : i32
    } -> tensor<12xi32>
    %49 = tensor.empty() : tensor<12xi32>
    %50 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%48 : tensor<12xi32>) outs(%49 : tensor<12xi32>) {
    ^bb0(%in: i32, %out: i32):
      %205 = arith.muli %in, %c2_i32 : i32
      linalg.yield %205 : i32
    } -> tensor<12xi32>
    %51 = tensor.empty() : tensor<12xf32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%50 : tensor<12xi32>) outs(%51 : tensor<12xf32>) {
    ^bb0(%in: i32, %out: f32):
      %205 = arith.sitofp %in : i32 to f32
      linalg.yield %205 : f32
    } -> tensor<12xf32>
    %53 = tensor.empty() : tensor<12xf32>
    %54 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%52 : tensor<12xf32>) outs(%53 : tensor<12xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.divf %in, %cst_3 : f32
      linalg.yield %205 : f32
    } -> tensor<12xf32>
    %55 = tensor.empty() : tensor<12xf32>
    %56 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%54 : tensor<12xf32>) outs(%55 : tensor<12xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = math.powf %cst_2, %in : f32
      linalg.yield %205 : f32
    } -> tensor<12xf32>
    %57 = tensor.empty() : tensor<33x12xf32>
    %58 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%expanded_10 : tensor<33x1xf32>) outs(%57 : tensor<33x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<33x12xf32>
    %59 = tensor.empty() : tensor<33x12xf32>
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%56 : tensor<12xf32>) outs(%59 : tensor<33x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<33x12xf32>
    %61 = tensor.empty() : tensor<33x12xf32>
    %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%58, %60 : tensor<33x12xf32>, tensor<33x12xf32>) outs(%61 : tensor<33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.divf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<33x12xf32>
    %extracted_slice = tensor.extract_slice %42[0, 0, 0, 0] [2, 4, 33, 12] [1, 1, 1, 2] : tensor<2x4x33x24xf32> to tensor<2x4x33x12xf32>
    %extracted_slice_11 = tensor.extract_slice %42[0, 0, 0, 1] [2, 4, 33, 12] [1, 1, 1, 2] : tensor<2x4x33x24xf32> to tensor<2x4x33x12xf32>
    %63 = tensor.empty() : tensor<33x12xf32>
    %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%62 : tensor<33x12xf32>) outs(%63 : tensor<33x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = math.cos %in : f32
      linalg.yield %205 : f32
    } -> tensor<33x12xf32>
    %65 = tensor.empty() : tensor<33x12xf32>
    %66 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%62 : tensor<33x12xf32>) outs(%65 : tensor<33x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = math.sin %in : f32
      linalg.yield %205 : f32
    } -> tensor<33x12xf32>
    %67 = tensor.empty() : tensor<2x4x33x12xf32>
    %68 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%64 : tensor<33x12xf32>) outs(%67 : tensor<2x4x33x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x12xf32>
    %69 = tensor.empty() : tensor<2x4x33x12xf32>
    %70 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice, %68 : tensor<2x4x33x12xf32>, tensor<2x4x33x12xf32>) outs(%69 : tensor<2x4x33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.mulf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33x12xf32>
    %71 = tensor.empty() : tensor<2x4x33x12xf32>
    %72 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%66 : tensor<33x12xf32>) outs(%71 : tensor<2x4x33x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x12xf32>
    %73 = tensor.empty() : tensor<2x4x33x12xf32>
    %74 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_11, %72 : tensor<2x4x33x12xf32>, tensor<2x4x33x12xf32>) outs(%73 : tensor<2x4x33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.mulf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33x12xf32>
    %75 = tensor.empty() : tensor<2x4x33x12xf32>
    %76 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%70, %74 : tensor<2x4x33x12xf32>, tensor<2x4x33x12xf32>) outs(%75 : tensor<2x4x33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.subf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33x12xf32>
    %77 = tensor.empty() : tensor<2x4x33x12xf32>
    %78 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice, %72 : tensor<2x4x33x12xf32>, tensor<2x4x33x12xf32>) outs(%77 : tensor<2x4x33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.mulf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33x12xf32>
    %79 = tensor.empty() : tensor<2x4x33x12xf32>
    %80 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_11, %68 : tensor<2x4x33x12xf32>, tensor<2x4x33x12xf32>) outs(%79 : tensor<2x4x33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.mulf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33x12xf32>
    %81 = tensor.empty() : tensor<2x4x33x12xf32>
    %82 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%78, %80 : tensor<2x4x33x12xf32>, tensor<2x4x33x12xf32>) outs(%81 : tensor<2x4x33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.addf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33x12xf32>
    %expanded_12 = tensor.expand_shape %76 [[0], [1], [2], [3, 4]] output_shape [2, 4, 33, 12, 1] : tensor<2x4x33x12xf32> into tensor<2x4x33x12x1xf32>
    %expanded_13 = tensor.expand_shape %82 [[0], [1], [2], [3, 4]] output_shape [2, 4, 33, 12, 1] : tensor<2x4x33x12xf32> into tensor<2x4x33x12x1xf32>
    %83 = tensor.empty() : tensor<2x4x33x12x2xf32>
    %inserted_slice = tensor.insert_slice %expanded_12 into %83[0, 0, 0, 0, 0] [2, 4, 33, 12, 1] [1, 1, 1, 1, 1] : tensor<2x4x33x12x1xf32> into tensor<2x4x33x12x2xf32>
    %inserted_slice_14 = tensor.insert_slice %expanded_13 into %inserted_slice[0, 0, 0, 0, 1] [2, 4, 33, 12, 1] [1, 1, 1, 1, 1] : tensor<2x4x33x12x1xf32> into tensor<2x4x33x12x2xf32>
    %84 = tensor.empty() : tensor<66x48xf32>
    %85 = linalg.fill ins(%cst_6 : f32) outs(%84 : tensor<66x48xf32>) -> tensor<66x48xf32>
    %86 = linalg.matmul ins(%collapsed, %3 : tensor<66x96xf32>, tensor<96x48xf32>) outs(%85 : tensor<66x48xf32>) -> tensor<66x48xf32>
    %expanded_15 = tensor.expand_shape %86 [[0, 1], [2, 3]] output_shape [2, 33, 2, 24] : tensor<66x48xf32> into tensor<2x33x2x24xf32>
    %87 = tensor.empty() : tensor<2x2x33x24xf32>
    %88 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_15 : tensor<2x33x2x24xf32>) outs(%87 : tensor<2x2x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x33x24xf32>
    %extracted_slice_16 = tensor.extract_slice %88[0, 0, 0, 0] [2, 2, 33, 12] [1, 1, 1, 2] : tensor<2x2x33x24xf32> to tensor<2x2x33x12xf32>
    %extracted_slice_17 = tensor.extract_slice %88[0, 0, 0, 1] [2, 2, 33, 12] [1, 1, 1, 2] : tensor<2x2x33x24xf32> to tensor<2x2x33x12xf32>
    %89 = tensor.empty() : tensor<2x2x33x12xf32>
    %90 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%64 : tensor<33x12xf32>) outs(%89 : tensor<2x2x33x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x33x12xf32>
    %91 = tensor.empty() : tensor<2x2x33x12xf32>
    %92 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_16, %90 : tensor<2x2x33x12xf32>, tensor<2x2x33x12xf32>) outs(%91 : tensor<2x2x33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.mulf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x2x33x12xf32>
    %93 = tensor.empty() : tensor<2x2x33x12xf32>
    %94 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%66 : tensor<33x12xf32>) outs(%93 : tensor<2x2x33x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x33x12xf32>
    %95 = tensor.empty() : tensor<2x2x33x12xf32>
    %96 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_17, %94 : tensor<2x2x33x12xf32>, tensor<2x2x33x12xf32>) outs(%95 : tensor<2x2x33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.mulf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x2x33x12xf32>
    %97 = tensor.empty() : tensor<2x2x33x12xf32>
    %98 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%92, %96 : tensor<2x2x33x12xf32>, tensor<2x2x33x12xf32>) outs(%97 : tensor<2x2x33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.subf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x2x33x12xf32>
    %99 = tensor.empty() : tensor<2x2x33x12xf32>
    %100 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_16, %94 : tensor<2x2x33x12xf32>, tensor<2x2x33x12xf32>) outs(%99 : tensor<2x2x33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.mulf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x2x33x12xf32>
    %101 = tensor.empty() : tensor<2x2x33x12xf32>
    %102 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_17, %90 : tensor<2x2x33x12xf32>, tensor<2x2x33x12xf32>) outs(%101 : tensor<2x2x33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.mulf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x2x33x12xf32>
    %103 = tensor.empty() : tensor<2x2x33x12xf32>
    %104 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%100, %102 : tensor<2x2x33x12xf32>, tensor<2x2x33x12xf32>) outs(%103 : tensor<2x2x33x12xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.addf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x2x33x12xf32>
    %expanded_18 = tensor.expand_shape %98 [[0], [1], [2], [3, 4]] output_shape [2, 2, 33, 12, 1] : tensor<2x2x33x12xf32> into tensor<2x2x33x12x1xf32>
    %expanded_19 = tensor.expand_shape %104 [[0], [1], [2], [3, 4]] output_shape [2, 2, 33, 12, 1] : tensor<2x2x33x12xf32> into tensor<2x2x33x12x1xf32>
    %105 = tensor.empty() : tensor<2x2x33x12x2xf32>
    %inserted_slice_20 = tensor.insert_slice %expanded_18 into %105[0, 0, 0, 0, 0] [2, 2, 33, 12, 1] [1, 1, 1, 1, 1] : tensor<2x2x33x12x1xf32> into tensor<2x2x33x12x2xf32>
    %inserted_slice_21 = tensor.insert_slice %expanded_19 into %inserted_slice_20[0, 0, 0, 0, 1] [2, 2, 33, 12, 1] [1, 1, 1, 1, 1] : tensor<2x2x33x12x1xf32> into tensor<2x2x33x12x2xf32>
    %collapsed_22 = tensor.collapse_shape %inserted_slice_21 [[0], [1], [2], [3, 4]] : tensor<2x2x33x12x2xf32> into tensor<2x2x33x24xf32>
    %106 = tensor.empty() : tensor<66x48xf32>
    %107 = linalg.fill ins(%cst_6 : f32) outs(%106 : tensor<66x48xf32>) -> tensor<66x48xf32>
    %108 = linalg.matmul ins(%collapsed, %5 : tensor<66x96xf32>, tensor<96x48xf32>) outs(%107 : tensor<66x48xf32>) -> tensor<66x48xf32>
    %expanded_23 = tensor.expand_shape %108 [[0, 1], [2, 3]] output_shape [2, 33, 2, 24] : tensor<66x48xf32> into tensor<2x33x2x24xf32>
    %109 = tensor.empty() : tensor<2x2x33x24xf32>
    %110 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_23 : tensor<2x33x2x24xf32>) outs(%109 : tensor<2x2x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x33x24xf32>
    %111 = tensor.empty() : tensor<2x2x2x33x24xf32>
    %112 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_22 : tensor<2x2x33x24xf32>) outs(%111 : tensor<2x2x2x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x33x24xf32>
    %collapsed_24 = tensor.collapse_shape %112 [[0], [1, 2], [3], [4]] : tensor<2x2x2x33x24xf32> into tensor<2x4x33x24xf32>
    %113 = tensor.empty() : tensor<2x2x2x33x24xf32>
    %114 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%110 : tensor<2x2x33x24xf32>) outs(%113 : tensor<2x2x2x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x33x24xf32>
    %115 = tensor.empty() : tensor<33x33xi32>
    %116 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%44 : tensor<33xi32>) outs(%115 : tensor<33x33xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x33xi32>
    %117 = tensor.empty() : tensor<33x33xi32>
    %118 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%44 : tensor<33xi32>) outs(%117 : tensor<33x33xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x33xi32>
    %119 = tensor.empty() : tensor<33x33xi1>
    %120 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%116, %118 : tensor<33x33xi32>, tensor<33x33xi32>) outs(%119 : tensor<33x33xi1>) {
    ^bb0(%in: i32, %in_40: i32, %out: i1):
      %205 = arith.cmpi sge, %in, %in_40 : i32
      linalg.yield %205 : i1
    } -> tensor<33x33xi1>
    %121 = tensor.empty() : tensor<2x4x24x33xf32>
    %122 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_24 : tensor<2x4x33x24xf32>) outs(%121 : tensor<2x4x24x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x33xf32>
    %collapsed_25 = tensor.collapse_shape %inserted_slice_14 [[0, 1], [2], [3, 4]] : tensor<2x4x33x12x2xf32> into tensor<8x33x24xf32>
    %collapsed_26 = tensor.collapse_shape %122 [[0, 1], [2], [3]] : tensor<2x4x24x33xf32> into tensor<8x24x33xf32>
    %123 = tensor.empty() : tensor<8x33x33xf32>
    %124 = linalg.fill ins(%cst_6 : f32) outs(%123 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %125 = linalg.batch_matmul ins(%collapsed_25, %collapsed_26 : tensor<8x33x24xf32>, tensor<8x24x33xf32>) outs(%124 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %expanded_27 = tensor.expand_shape %125 [[0, 1], [2], [3]] output_shape [2, 4, 33, 33] : tensor<8x33x33xf32> into tensor<2x4x33x33xf32>
    %126 = tensor.empty() : tensor<2x4x33x33xf32>
    %127 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_27 : tensor<2x4x33x33xf32>) outs(%126 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.divf %in, %cst_1 : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33x33xf32>
    %128 = tensor.empty() : tensor<2x4x33x33xi1>
    %129 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%120 : tensor<33x33xi1>) outs(%128 : tensor<2x4x33x33xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x33x33xi1>
    %130 = tensor.empty() : tensor<2x4x33x33xf32>
    %131 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%129, %127 : tensor<2x4x33x33xi1>, tensor<2x4x33x33xf32>) outs(%130 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: i1, %in_40: f32, %out: f32):
      %205 = arith.select %in, %in_40, %cst_0 : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33x33xf32>
    %132 = tensor.empty() : tensor<2x4x33xf32>
    %133 = linalg.fill ins(%cst_0 : f32) outs(%132 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %134 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%131 : tensor<2x4x33x33xf32>) outs(%133 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.maximumf %out, %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33xf32>
    %135 = tensor.empty() : tensor<2x4x33x33xf32>
    %136 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%134 : tensor<2x4x33xf32>) outs(%135 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x33xf32>
    %137 = tensor.empty() : tensor<2x4x33x33xf32>
    %138 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%131, %136 : tensor<2x4x33x33xf32>, tensor<2x4x33x33xf32>) outs(%137 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.subf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33x33xf32>
    %139 = tensor.empty() : tensor<2x4x33x33xf32>
    %140 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%138 : tensor<2x4x33x33xf32>) outs(%139 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = math.exp %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33x33xf32>
    %141 = tensor.empty() : tensor<2x4x33xf32>
    %142 = linalg.fill ins(%cst_6 : f32) outs(%141 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %143 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%140 : tensor<2x4x33x33xf32>) outs(%142 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.addf %out, %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33xf32>
    %144 = tensor.empty() : tensor<2x4x33x33xf32>
    %145 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%143 : tensor<2x4x33xf32>) outs(%144 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x33xf32>
    %146 = tensor.empty() : tensor<2x4x33x33xf32>
    %147 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%140, %145 : tensor<2x4x33x33xf32>, tensor<2x4x33x33xf32>) outs(%146 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.divf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x4x33x33xf32>
    %collapsed_28 = tensor.collapse_shape %147 [[0, 1], [2], [3]] : tensor<2x4x33x33xf32> into tensor<8x33x33xf32>
    %collapsed_29 = tensor.collapse_shape %114 [[0, 1, 2], [3], [4]] : tensor<2x2x2x33x24xf32> into tensor<8x33x24xf32>
    %148 = tensor.empty() : tensor<8x33x24xf32>
    %149 = linalg.fill ins(%cst_6 : f32) outs(%148 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %150 = linalg.batch_matmul ins(%collapsed_28, %collapsed_29 : tensor<8x33x33xf32>, tensor<8x33x24xf32>) outs(%149 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_30 = tensor.expand_shape %150 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %151 = tensor.empty() : tensor<2x33x4x24xf32>
    %152 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_30 : tensor<2x4x33x24xf32>) outs(%151 : tensor<2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x4x24xf32>
    %collapsed_31 = tensor.collapse_shape %152 [[0, 1], [2, 3]] : tensor<2x33x4x24xf32> into tensor<66x96xf32>
    %153 = tensor.empty() : tensor<66x96xf32>
    %154 = linalg.fill ins(%cst_6 : f32) outs(%153 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %155 = linalg.matmul ins(%collapsed_31, %7 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%154 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_32 = tensor.expand_shape %155 [[0, 1], [2]] output_shape [2, 33, 96] : tensor<66x96xf32> into tensor<2x33x96xf32>
    %156 = tensor.empty() : tensor<2x33x96xf32>
    %157 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %expanded_32 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%156 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.addf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x96xf32>
    %158 = tensor.empty() : tensor<2x33xf32>
    %159 = linalg.fill ins(%cst_6 : f32) outs(%158 : tensor<2x33xf32>) -> tensor<2x33xf32>
    %160 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%157 : tensor<2x33x96xf32>) outs(%159 : tensor<2x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.addf %out, %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x33xf32>
    %expanded_33 = tensor.expand_shape %160 [[0], [1, 2]] output_shape [2, 33, 1] : tensor<2x33xf32> into tensor<2x33x1xf32>
    %161 = tensor.empty() : tensor<2x33x1xf32>
    %162 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_33 : tensor<2x33x1xf32>) outs(%161 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.divf %in, %cst_5 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x1xf32>
    %163 = tensor.empty() : tensor<2x33x96xf32>
    %164 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%162 : tensor<2x33x1xf32>) outs(%163 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x96xf32>
    %165 = tensor.empty() : tensor<2x33x96xf32>
    %166 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%157, %164 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%165 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.subf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x96xf32>
    %167 = tensor.empty() : tensor<2x33x96xf32>
    %168 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%166 : tensor<2x33x96xf32>) outs(%167 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.mulf %in, %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x96xf32>
    %169 = tensor.empty() : tensor<2x33xf32>
    %170 = linalg.fill ins(%cst_6 : f32) outs(%169 : tensor<2x33xf32>) -> tensor<2x33xf32>
    %171 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%168 : tensor<2x33x96xf32>) outs(%170 : tensor<2x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.addf %out, %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x33xf32>
    %expanded_34 = tensor.expand_shape %171 [[0], [1, 2]] output_shape [2, 33, 1] : tensor<2x33xf32> into tensor<2x33x1xf32>
    %172 = tensor.empty() : tensor<2x33x1xf32>
    %173 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_34 : tensor<2x33x1xf32>) outs(%172 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.divf %in, %cst_5 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x1xf32>
    %174 = tensor.empty() : tensor<2x33x1xf32>
    %175 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%173 : tensor<2x33x1xf32>) outs(%174 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.addf %in, %cst_4 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x1xf32>
    %176 = tensor.empty() : tensor<2x33x1xf32>
    %177 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%175 : tensor<2x33x1xf32>) outs(%176 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = math.rsqrt %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x1xf32>
    %178 = tensor.empty() : tensor<2x33x96xf32>
    %179 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%177 : tensor<2x33x1xf32>) outs(%178 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x96xf32>
    %180 = tensor.empty() : tensor<2x33x96xf32>
    %181 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%166, %179 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%180 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.mulf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x96xf32>
    %collapsed_35 = tensor.collapse_shape %181 [[0, 1], [2]] : tensor<2x33x96xf32> into tensor<66x96xf32>
    %182 = tensor.empty() : tensor<66x384xf32>
    %183 = linalg.fill ins(%cst_6 : f32) outs(%182 : tensor<66x384xf32>) -> tensor<66x384xf32>
    %184 = linalg.matmul ins(%collapsed_35, %9 : tensor<66x96xf32>, tensor<96x384xf32>) outs(%183 : tensor<66x384xf32>) -> tensor<66x384xf32>
    %expanded_36 = tensor.expand_shape %184 [[0, 1], [2]] output_shape [2, 33, 384] : tensor<66x384xf32> into tensor<2x33x384xf32>
    %185 = tensor.empty() : tensor<2x33x384xf32>
    %186 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_36 : tensor<2x33x384xf32>) outs(%185 : tensor<2x33x384xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.negf %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x384xf32>
    %187 = tensor.empty() : tensor<2x33x384xf32>
    %188 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%186 : tensor<2x33x384xf32>) outs(%187 : tensor<2x33x384xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = math.exp %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x384xf32>
    %189 = tensor.empty() : tensor<2x33x384xf32>
    %190 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%188 : tensor<2x33x384xf32>) outs(%189 : tensor<2x33x384xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.addf %in, %cst : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x384xf32>
    %191 = tensor.empty() : tensor<2x33x384xf32>
    %192 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%190 : tensor<2x33x384xf32>) outs(%191 : tensor<2x33x384xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.divf %cst, %in : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x384xf32>
    %193 = tensor.empty() : tensor<2x33x384xf32>
    %194 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_36, %192 : tensor<2x33x384xf32>, tensor<2x33x384xf32>) outs(%193 : tensor<2x33x384xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.mulf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x384xf32>
    %195 = tensor.empty() : tensor<66x384xf32>
    %196 = linalg.fill ins(%cst_6 : f32) outs(%195 : tensor<66x384xf32>) -> tensor<66x384xf32>
    %197 = linalg.matmul ins(%collapsed_35, %13 : tensor<66x96xf32>, tensor<96x384xf32>) outs(%196 : tensor<66x384xf32>) -> tensor<66x384xf32>
    %expanded_37 = tensor.expand_shape %197 [[0, 1], [2]] output_shape [2, 33, 384] : tensor<66x384xf32> into tensor<2x33x384xf32>
    %198 = tensor.empty() : tensor<2x33x384xf32>
    %199 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%194, %expanded_37 : tensor<2x33x384xf32>, tensor<2x33x384xf32>) outs(%198 : tensor<2x33x384xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.mulf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x384xf32>
    %collapsed_38 = tensor.collapse_shape %199 [[0, 1], [2]] : tensor<2x33x384xf32> into tensor<66x384xf32>
    %200 = tensor.empty() : tensor<66x96xf32>
    %201 = linalg.fill ins(%cst_6 : f32) outs(%200 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %202 = linalg.matmul ins(%collapsed_38, %11 : tensor<66x384xf32>, tensor<384x96xf32>) outs(%201 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_39 = tensor.expand_shape %202 [[0, 1], [2]] output_shape [2, 33, 96] : tensor<66x96xf32> into tensor<2x33x96xf32>
    %203 = tensor.empty() : tensor<2x33x96xf32>
    %204 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%157, %expanded_39 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%203 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_40: f32, %out: f32):
      %205 = arith.addf %in, %in_40 : f32
      linalg.yield %205 : f32
    } -> tensor<2x33x96xf32>
    return %204 : tensor<2x33x96xf32>
  }
}