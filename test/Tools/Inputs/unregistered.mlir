// Ops of a dialect that nobody registered, at every place where a pass may meet one.
"foreign.of_module"() : () -> ()
func.func @beside(%q: tensor<1x2x16x8xf32>, %k: tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32> {
  "foreign.before"(%q) : (tensor<1x2x16x8xf32>) -> ()
  %o = tensor.empty() : tensor<1x2x16x8xf32>
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>)
      outs(%o : tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
  "foreign.behind"() : () -> ()
  return %r : tensor<1x2x16x8xf32>
}

// -----

func.func @makes_operands(%q: tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32> {
  %k, %o = "foreign.make"(%q) : (tensor<1x2x16x8xf32>) -> (tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>)
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>)
      outs(%o : tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
  return %r : tensor<1x2x16x8xf32>
}

// -----

func.func @reads_result(%q: tensor<1x2x16x8xf32>, %k: tensor<1x2x?x8xf32>) -> tensor<1x2x16x8xf32> {
  %o = tensor.empty() : tensor<1x2x16x8xf32>
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x2x16x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>)
      outs(%o : tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
  %s = "foreign.read"(%r) : (tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
  return %s : tensor<1x2x16x8xf32>
}

// -----

func.func @around(%q: tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32> {
  %r = "foreign.region"() ({
  ^bb0(%k: tensor<1x2x16x8xf32>):
    %o = tensor.empty() : tensor<1x2x16x8xf32>
    %s = attn.sdpa ins(%q, %k, %k : tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>)
        outs(%o : tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
    "foreign.yield"(%s) : (tensor<1x2x16x8xf32>) -> ()
  }) : () -> tensor<1x2x16x8xf32>
  return %r : tensor<1x2x16x8xf32>
}

// -----

"foreign.module"() ({
  func.func @inside(%s: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %e = tensor.empty() : tensor<4x6xf32>
    %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
    return %p : tensor<4x6xf32>
  }
}) : () -> ()

// -----

// In loops, between blocks, and as a terminator.
func.func @control_flow(%q: tensor<2x4x8xf32>, %n: index, %c: i1) -> tensor<2x4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.cond_br %c, ^bb1(%q : tensor<2x4x8xf32>), ^bb2
^bb1(%x: tensor<2x4x8xf32>):
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<2x4x8xf32> {
    %r = attn.sdpa ins(%a, %q, %q : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
        outs(%x : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    "foreign.in_loop"(%i) : (index) -> ()
    scf.yield %r : tensor<2x4x8xf32>
  }
  return %y : tensor<2x4x8xf32>
^bb2:
  "foreign.branch"(%q)[^bb1] : (tensor<2x4x8xf32>) -> ()
}

// -----

// In linalg on tensors, which attention is raised from.
func.func @textbook(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zero = "foreign.zero"() : () -> f32
  %e = tensor.empty() : tensor<4x6xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = "foreign.scalar"(%x) : (f32) -> f32
    linalg.yield %y : f32
  } -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%t : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %w = "foreign.weights"(%p) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %oe = tensor.empty() : tensor<4x8xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = linalg.matmul ins(%w, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%of : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Beside gradients.
func.func @differentiated(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {attn.grad = [0, 1]} {
  %e = tensor.empty() : tensor<4x8xf32>
  %s = "foreign.make"(%q) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = attn.sdpa ins(%s, %k, %k : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = "foreign.read"(%r) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %t : tensor<4x8xf32>
}

// -----

// On memrefs.
func.func @memrefs(%q: memref<2x4x8xf32>, %k: memref<2x4x8xf32>, %o: memref<2x4x8xf32>) {
  %m = "foreign.make"() : () -> memref<2x4x8xf32>
  attn.sdpa ins(%m, %k, %k : memref<2x4x8xf32>, memref<2x4x8xf32>, memref<2x4x8xf32>) outs(%o : memref<2x4x8xf32>)
  "foreign.read"(%o) : (memref<2x4x8xf32>) -> ()
  return
}
