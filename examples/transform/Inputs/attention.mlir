// attention.mlir
func.func @attend(%q: tensor<8x64x32xf32>, %k: tensor<8x64x32xf32>, %v: tensor<8x64x32xf32>) -> tensor<8x64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %s = tensor.empty() : tensor<8x64x64xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s : tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
  %s1 = linalg.batch_matmul
      indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>,
                       affine_map<(b, i, j, d) -> (b, i, j)>]
      ins(%q, %k : tensor<8x64x32xf32>, tensor<8x64x32xf32>) outs(%s0 : tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
  %s2 = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i, j)>],
                        iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s1 : tensor<8x64x64xf32>) outs(%s : tensor<8x64x64xf32>) {
  ^bb0(%score: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %keep = arith.cmpi sle, %j, %i : index
    %masked = arith.select %keep, %score, %infinity : f32
    linalg.yield %masked : f32
  } -> tensor<8x64x64xf32>
  %p = linalg.softmax dimension(2) ins(%s2 : tensor<8x64x64xf32>) outs(%s : tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
  %o = tensor.empty() : tensor<8x64x32xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o : tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
  %out = linalg.batch_matmul ins(%p, %v : tensor<8x64x64xf32>, tensor<8x64x32xf32>)
      outs(%o0 : tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
  return %out : tensor<8x64x32xf32>
}
