// RUN: attnc run %s --kernel=buffers --check | FileCheck %s
// RUN: attnc run %s --kernel=value_first --check | FileCheck %s
// RUN: attnc run %s --kernel=heads_in_turn --check | FileCheck %s
// RUN: attnc run %s --kernel=twice --check | FileCheck %s
// CHECK-DAG: state: {{.*}}: ok
// CHECK-DAG: output: {{.*}}: ok

// The form without results; the state is updated in place.
func.func @buffers(%q: memref<1x2x45x16xf32>, %k: memref<1x2x45x16xf32>, %v: memref<1x4x45x8xf32>,
                   %decay: memref<1x4x45xf32>, %beta: memref<1x4x45xf32>, %o: memref<1x4x45x8xf32>,
                   %state: memref<1x4x16x8xf32>) {
  attn.linear ins(%q, %k, %v : memref<1x2x45x16xf32>, memref<1x2x45x16xf32>, memref<1x4x45x8xf32>)
      decay(%decay : memref<1x4x45xf32>) beta(%beta : memref<1x4x45xf32>)
      outs(%o, %state : memref<1x4x45x8xf32>, memref<1x4x16x8xf32>) {normalize = 1.0e-6 : f64}
  return
}

// A state of (value, key), as in ggml, of one token: it is not where the products could write it.
#q = affine_map<(b, h, t, d, e) -> (b, h floordiv 2, t, d)>
#v = affine_map<(b, h, t, d, e) -> (b, h, t, e)>
#g = affine_map<(b, h, t, d, e) -> (b, h, t)>
#s = affine_map<(b, h, t, d, e) -> (b, h, e, d)>
func.func @value_first(%q: tensor<1x2x1x16xf32>, %k: tensor<1x2x1x16xf32>, %v: tensor<1x4x1x8xf32>,
                       %decay: tensor<1x4x1xf32>, %beta: tensor<1x4x1xf32>, %state: tensor<1x4x8x16xf32>)
    -> (tensor<1x4x1x8xf32>, tensor<1x4x8x16xf32>) {
  %e = tensor.empty() : tensor<1x4x1x8xf32>
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x1x16xf32>, tensor<1x2x1x16xf32>, tensor<1x4x1x8xf32>)
      decay(%decay : tensor<1x4x1xf32>) beta(%beta : tensor<1x4x1xf32>)
      outs(%e, %state : tensor<1x4x1x8xf32>, tensor<1x4x8x16xf32>) {maps = [#q, #q, #v, #g, #g, #v, #s]}
      -> tensor<1x4x1x8xf32>, tensor<1x4x8x16xf32>
  return %r#0, %r#1 : tensor<1x4x1x8xf32>, tensor<1x4x8x16xf32>
}

// Head h of 6 reads head h mod 2, as in ggml: two batch dimensions, of which keys have the second.
#key = affine_map<(b, g, h, t, d, e) -> (b, h, t, d)>
#value = affine_map<(b, g, h, t, d, e) -> (b, g, h, t, e)>
#state = affine_map<(b, g, h, t, d, e) -> (b, g, h, d, e)>
func.func @heads_in_turn(%q: tensor<1x2x40x16xf32>, %k: tensor<1x2x40x16xf32>, %v: tensor<1x3x2x40x8xf32>,
                         %state: tensor<1x3x2x16x8xf32>) -> (tensor<1x3x2x40x8xf32>, tensor<1x3x2x16x8xf32>) {
  %e = tensor.empty() : tensor<1x3x2x40x8xf32>
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x40x16xf32>, tensor<1x2x40x16xf32>, tensor<1x3x2x40x8xf32>)
      outs(%e, %state : tensor<1x3x2x40x8xf32>, tensor<1x3x2x16x8xf32>) {maps = [#key, #key, #value, #value, #state]}
      -> tensor<1x3x2x40x8xf32>, tensor<1x3x2x16x8xf32>
  return %r#0, %r#1 : tensor<1x3x2x40x8xf32>, tensor<1x3x2x16x8xf32>
}

// The second op continues the state of the first one.
func.func @twice(%q: tensor<1x2x5x16xf32>, %v: tensor<1x2x5x8xf32>, %s: tensor<1x2x16x8xf32>)
    -> (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x16x8xf32>) {
  %e = tensor.empty() : tensor<1x2x5x8xf32>
  %a:2 = attn.linear ins(%q, %q, %v : tensor<1x2x5x16xf32>, tensor<1x2x5x16xf32>, tensor<1x2x5x8xf32>)
      outs(%e, %s : tensor<1x2x5x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x5x8xf32>, tensor<1x2x16x8xf32>
  %f = tensor.empty() : tensor<1x2x5x8xf32>
  %b:2 = attn.linear ins(%q, %q, %v : tensor<1x2x5x16xf32>, tensor<1x2x5x16xf32>, tensor<1x2x5x8xf32>)
      outs(%f, %a#1 : tensor<1x2x5x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x5x8xf32>, tensor<1x2x16x8xf32>
  return %a#0, %b#0, %b#1 : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x16x8xf32>
}
