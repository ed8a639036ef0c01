// Attention as a front end writes it: products and linalg.softmax. Its arguments have no names.
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#all = affine_map<(b, h, i, j) -> (b, h, i, j)>
func.func @main(%q: tensor<1x2x8x16xf32>, %k: tensor<1x2x12x16xf32>, %v: tensor<1x2x12x16xf32>) -> tensor<1x2x8x16xf32>
    attributes {attn.grad = ["query", "k", 2]} {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.25 : f32
  %se = tensor.empty() : tensor<1x2x8x12xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<1x2x8x12xf32>) -> tensor<1x2x8x12xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel",
      "reduction"]} ins(%q, %k : tensor<1x2x8x16xf32>, tensor<1x2x12x16xf32>) outs(%sz : tensor<1x2x8x12xf32>) {
  ^bb0(%a: f32, %b: f32, %z: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %z, %m : f32
    linalg.yield %n : f32
  } -> tensor<1x2x8x12xf32>
  %t = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x2x8x12xf32>) outs(%se : tensor<1x2x8x12xf32>) {
  ^bb0(%a: f32, %z: f32):
    %m = arith.mulf %a, %scale : f32
    linalg.yield %m : f32
  } -> tensor<1x2x8x12xf32>
  %p = linalg.softmax dimension(3) ins(%t : tensor<1x2x8x12xf32>) outs(%se : tensor<1x2x8x12xf32>)
      -> tensor<1x2x8x12xf32>
  %oe = tensor.empty() : tensor<1x2x8x16xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<1x2x8x16xf32>) -> tensor<1x2x8x16xf32>
  %o = linalg.generic {indexing_maps = [#s, #k, #q], iterator_types = ["parallel", "parallel", "parallel", "reduction",
      "parallel"]} ins(%p, %v : tensor<1x2x8x12xf32>, tensor<1x2x12x16xf32>) outs(%oz : tensor<1x2x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %z: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %z, %m : f32
    linalg.yield %n : f32
  } -> tensor<1x2x8x16xf32>
  return %o : tensor<1x2x8x16xf32>
}
