// jax case transposed; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_transposed {
  func.func @model(%arg0: tensor<33x24xf32>, %arg1: tensor<49x24xf32>, %arg2: tensor<49x24xf32>) -> tensor<33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 2.000000e-01 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<24x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg2 : tensor<49x24xf32>) outs(%0 : tensor<24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x49xf32>
    %2 = tensor.empty() : tensor<24x33xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<33x24xf32>) outs(%2 : tensor<24x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x33xf32>
    %4 = tensor.empty() : tensor<49x33xf32>
    %5 = linalg.fill ins(%cst_1 : f32) outs(%4 : tensor<49x33xf32>) -> tensor<49x33xf32>
    %6 = linalg.matmul ins(%arg1, %3 : tensor<49x24xf32>, tensor<24x33xf32>) outs(%5 : tensor<49x33xf32>) -> tensor<49x33xf32>
    %7 = tensor.empty() : tensor<49x33xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<49x33xf32>) outs(%7 : tensor<49x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.mulf %in, %cst_0 : f32
      linalg.yield %30 : f32
    } -> tensor<49x33xf32>
    %9 = tensor.empty() : tensor<33xf32>
    %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<33xf32>) -> tensor<33xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%8 : tensor<49x33xf32>) outs(%10 : tensor<33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.maximumf %out, %in : f32
      linalg.yield %30 : f32
    } -> tensor<33xf32>
    %12 = tensor.empty() : tensor<49x33xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%11 : tensor<33xf32>) outs(%12 : tensor<49x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<49x33xf32>
    %14 = tensor.empty() : tensor<49x33xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8, %13 : tensor<49x33xf32>, tensor<49x33xf32>) outs(%14 : tensor<49x33xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %30 = arith.subf %in, %in_2 : f32
      linalg.yield %30 : f32
    } -> tensor<49x33xf32>
    %16 = tensor.empty() : tensor<49x33xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%15 : tensor<49x33xf32>) outs(%16 : tensor<49x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = math.exp %in : f32
      linalg.yield %30 : f32
    } -> tensor<49x33xf32>
    %18 = tensor.empty() : tensor<33xf32>
    %19 = linalg.fill ins(%cst_1 : f32) outs(%18 : tensor<33xf32>) -> tensor<33xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%17 : tensor<49x33xf32>) outs(%19 : tensor<33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.addf %out, %in : f32
      linalg.yield %30 : f32
    } -> tensor<33xf32>
    %21 = tensor.empty() : tensor<49x33xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%20 : tensor<33xf32>) outs(%21 : tensor<49x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<49x33xf32>
    %23 = tensor.empty() : tensor<49x33xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%17, %22 : tensor<49x33xf32>, tensor<49x33xf32>) outs(%23 : tensor<49x33xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %30 = arith.divf %in, %in_2 : f32
      linalg.yield %30 : f32
    } -> tensor<49x33xf32>
    %25 = tensor.empty() : tensor<24x33xf32>
    %26 = linalg.fill ins(%cst_1 : f32) outs(%25 : tensor<24x33xf32>) -> tensor<24x33xf32>
    %27 = linalg.matmul ins(%1, %24 : tensor<24x49xf32>, tensor<49x33xf32>) outs(%26 : tensor<24x33xf32>) -> tensor<24x33xf32>
    %28 = tensor.empty() : tensor<33x24xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%27 : tensor<24x33xf32>) outs(%28 : tensor<33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<33x24xf32>
    return %29 : tensor<33x24xf32>
  }
}