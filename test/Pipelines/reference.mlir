// The worked examples as chain and as attn.sdpa, on the reference path.
// DEFINE: %{lower} = --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// DEFINE:   --convert-linalg-to-loops --expand-strided-metadata --lower-affine --convert-scf-to-cf --convert-math-to-libm \
// DEFINE:   --convert-to-llvm --reconcile-unrealized-casts
// DEFINE: %{execute} = mlir-runner -e examples --entry-point-result=void \
// DEFINE:   --shared-libs=%mlir_lib_dir/libmlir_runner_utils.so,%mlir_lib_dir/libmlir_c_runner_utils.so
// RUN: attn-opt %s --attn-to-reference %{lower} | %{execute} | FileCheck %s
// RUN: attn-opt %s --attn-to-reference=compute-type=f64 %{lower} | %{execute} | FileCheck %s
// RUN: attn-opt %s --attn-fuse --attn-to-reference %{lower} | %{execute} | FileCheck %s

func.func private @printMemrefF32(tensor<*xf32>)

// base + row * (i + 1) + column * (j + 1)
func.func private @fill(%rows: index, %columns: index, %base: f32, %row: f32, %column: f32) -> tensor<?x?xf32> {
  %one = arith.constant 1 : index
  %t = tensor.generate %rows, %columns {
  ^bb0(%i: index, %j: index):
    %i1 = arith.addi %i, %one : index
    %j1 = arith.addi %j, %one : index
    %i32 = arith.index_cast %i1 : index to i32
    %j32 = arith.index_cast %j1 : index to i32
    %x = arith.sitofp %i32 : i32 to f32
    %y = arith.sitofp %j32 : i32 to f32
    %a = arith.mulf %x, %row : f32
    %b = arith.mulf %y, %column : f32
    %c = arith.addf %base, %a : f32
    %d = arith.addf %c, %b : f32
    tensor.yield %d : f32
  } : tensor<?x?xf32>
  return %t : tensor<?x?xf32>
}

func.func private @print(%t: tensor<?x?xf32>) {
  %u = tensor.cast %t : tensor<?x?xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}

// One query: q = (.1 .2 .3 .4), three keys.
func.func private @one_query() {
  %q = arith.constant dense<[[0.1, 0.2, 0.3, 0.4]]> : tensor<1x4xf32>
  %k = arith.constant dense<[[0.0, 0.1, 0.0, 0.1], [0.2, 0.1, 0.0, 0.0], [0.1, 0.0, 0.3, 0.1]]> : tensor<3x4xf32>
  %v = arith.constant dense<[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]> : tensor<3x2xf32>
  %e = tensor.empty() : tensor<1x3xf32>
  %o = tensor.empty() : tensor<1x2xf32>
  %s = attn.scores ins(%q, %k : tensor<1x4xf32>, tensor<3x4xf32>) outs(%e : tensor<1x3xf32>) -> tensor<1x3xf32>
  %t = attn.scale ins(%s : tensor<1x3xf32>) outs(%e : tensor<1x3xf32>) {scale = 0.5 : f64} -> tensor<1x3xf32>
  %p = attn.softmax ins(%t : tensor<1x3xf32>) outs(%e : tensor<1x3xf32>) -> tensor<1x3xf32>
  %chain = attn.apply ins(%p, %v : tensor<1x3xf32>, tensor<3x2xf32>) outs(%o : tensor<1x2xf32>) -> tensor<1x2xf32>
  %sdpa = attn.sdpa ins(%q, %k, %v : tensor<1x4xf32>, tensor<3x4xf32>, tensor<3x2xf32>) outs(%o : tensor<1x2xf32>)
      -> tensor<1x2xf32>
  %x = tensor.cast %chain : tensor<1x2xf32> to tensor<?x?xf32>
  %y = tensor.cast %sdpa : tensor<1x2xf32> to tensor<?x?xf32>
  call @print(%x) : (tensor<?x?xf32>) -> ()
  call @print(%y) : (tensor<?x?xf32>) -> ()
  return
}

// m = n = 4, D = 3, Dv = 2, causal.
func.func private @causal() {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %f0 = arith.constant 0.0 : f32
  %f01 = arith.constant 0.01 : f32
  %f02 = arith.constant 0.02 : f32
  %f05 = arith.constant 0.05 : f32
  %f1 = arith.constant 0.1 : f32
  %f2 = arith.constant 0.2 : f32
  %m1 = arith.constant -0.1 : f32
  %q0 = call @fill(%c4, %c3, %f0, %f1, %f01) : (index, index, f32, f32, f32) -> tensor<?x?xf32>
  %k0 = call @fill(%c4, %c3, %f0, %f05, %f02) : (index, index, f32, f32, f32) -> tensor<?x?xf32>
  %v0 = call @fill(%c4, %c2, %m1, %f2, %f1) : (index, index, f32, f32, f32) -> tensor<?x?xf32>
  %q = tensor.cast %q0 : tensor<?x?xf32> to tensor<4x3xf32>
  %k = tensor.cast %k0 : tensor<?x?xf32> to tensor<4x3xf32>
  %v = tensor.cast %v0 : tensor<?x?xf32> to tensor<4x2xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %o = tensor.empty() : tensor<4x2xf32>
  %s = attn.scores ins(%q, %k : tensor<4x3xf32>, tensor<4x3xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = attn.scale ins(%s : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {scale = 0.57735026918962584 : f64}
      -> tensor<4x4xf32>
  %u = attn.mask ins(%t : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {causal} -> tensor<4x4xf32>
  %p = attn.softmax ins(%u : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %chain = attn.apply ins(%p, %v : tensor<4x4xf32>, tensor<4x2xf32>) outs(%o : tensor<4x2xf32>) -> tensor<4x2xf32>
  %sdpa = attn.sdpa ins(%q, %k, %v : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x2xf32>) outs(%o : tensor<4x2xf32>)
      {causal} -> tensor<4x2xf32>
  %x = tensor.cast %chain : tensor<4x2xf32> to tensor<?x?xf32>
  %y = tensor.cast %sdpa : tensor<4x2xf32> to tensor<?x?xf32>
  call @print(%x) : (tensor<?x?xf32>) -> ()
  call @print(%y) : (tensor<?x?xf32>) -> ()
  return
}

// n = 5, d_model = 8, two heads: heads are views of the projections, by maps.
func.func private @multi_head() {
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %f0 = arith.constant 0.0 : f32
  %f0001 = arith.constant 0.0001 : f32
  %f001 = arith.constant 0.001 : f32
  %f01 = arith.constant 0.01 : f32
  %f02 = arith.constant 0.02 : f32
  %f03 = arith.constant 0.03 : f32
  %f04 = arith.constant 0.04 : f32
  %f05 = arith.constant 0.05 : f32
  %x = call @fill(%c5, %c8, %f0, %f01, %f02) : (index, index, f32, f32, f32) -> tensor<?x?xf32>
  %wq = call @fill(%c8, %c8, %f05, %f001, %f0001) : (index, index, f32, f32, f32) -> tensor<?x?xf32>
  %wk = call @fill(%c8, %c8, %f04, %f001, %f0001) : (index, index, f32, f32, f32) -> tensor<?x?xf32>
  %wv = call @fill(%c8, %c8, %f03, %f001, %f0001) : (index, index, f32, f32, f32) -> tensor<?x?xf32>
  %wo = call @fill(%c8, %c8, %f02, %f001, %f0001) : (index, index, f32, f32, f32) -> tensor<?x?xf32>
  %q = call @project(%x, %wq) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<5x8xf32>
  %k = call @project(%x, %wk) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<5x8xf32>
  %v = call @project(%x, %wv) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<5x8xf32>
  %qh = tensor.expand_shape %q [[0], [1, 2]] output_shape [5, 2, 4] : tensor<5x8xf32> into tensor<5x2x4xf32>
  %kh = tensor.expand_shape %k [[0], [1, 2]] output_shape [5, 2, 4] : tensor<5x8xf32> into tensor<5x2x4xf32>
  %vh = tensor.expand_shape %v [[0], [1, 2]] output_shape [5, 2, 4] : tensor<5x8xf32> into tensor<5x2x4xf32>
  %e = tensor.empty() : tensor<5x2x4xf32>
  %o = attn.sdpa ins(%qh, %kh, %vh : tensor<5x2x4xf32>, tensor<5x2x4xf32>, tensor<5x2x4xf32>)
      outs(%e : tensor<5x2x4xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (i, h, d)>, affine_map<(h, i, j, d, e) -> (j, h, d)>,
               affine_map<(h, i, j, d, e) -> (j, h, e)>, affine_map<(h, i, j, d, e) -> (i, h, e)>]} -> tensor<5x2x4xf32>
  %merged = tensor.collapse_shape %o [[0], [1, 2]] : tensor<5x2x4xf32> into tensor<5x8xf32>
  %y = tensor.cast %merged : tensor<5x8xf32> to tensor<?x?xf32>
  %r = call @project(%y, %wo) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<5x8xf32>
  %s = tensor.cast %r : tensor<5x8xf32> to tensor<?x?xf32>
  call @print(%s) : (tensor<?x?xf32>) -> ()
  return
}

func.func private @project(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>) -> tensor<5x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<5x8xf32>) -> tensor<5x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x?xf32>, tensor<?x?xf32>) outs(%init : tensor<5x8xf32>) -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// Rows 0, 1 and 4 of causal weights from given scores.
func.func private @causal_weights() {
  %s = arith.constant dense<[[2.75, -8.12, -7.71, 1.17, 2.54], [12.48, -7.92, 3.38, -2.43, 7.11],
                             [0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0],
                             [-6.87, 10.78, -8.21, -6.12, 1.18]]> : tensor<5x5xf32>
  %e = tensor.empty() : tensor<5x5xf32>
  %t = attn.scale ins(%s : tensor<5x5xf32>) outs(%e : tensor<5x5xf32>) {scale = 0.125 : f64} -> tensor<5x5xf32>
  %u = attn.mask ins(%t : tensor<5x5xf32>) outs(%e : tensor<5x5xf32>) {causal} -> tensor<5x5xf32>
  %p = attn.softmax ins(%u : tensor<5x5xf32>) outs(%e : tensor<5x5xf32>) -> tensor<5x5xf32>
  %x = tensor.cast %p : tensor<5x5xf32> to tensor<?x?xf32>
  call @print(%x) : (tensor<?x?xf32>) -> ()
  return
}

func.func @examples() {
  // CHECK-COUNT-2: {{\[\[}}0.673344, 0.670061]]
  call @one_query() : () -> ()
  // CHECK:      {{\[\[}}0.2, 0.3],
  // CHECK-NEXT:  [0.300953, 0.400953],
  // CHECK-NEXT:  [0.403695, 0.503695],
  // CHECK-NEXT:  [0.50909, 0.60909]]
  // CHECK:      {{\[\[}}0.2, 0.3],
  // CHECK-NEXT:  [0.300953, 0.400953],
  // CHECK-NEXT:  [0.403695, 0.503695],
  // CHECK-NEXT:  [0.50909, 0.60909]]
  call @causal() : () -> ()
  // CHECK: {{\[\[}}0.0067727{{[0-9]*}}, 0.006800{{[0-9]*}}, 0.006827{{[0-9]*}}, 0.006855{{[0-9]*}}, 0.006882{{[0-9]*}}, 0.00691
  call @multi_head() : () -> ()
  // CHECK: {{\[\[}}1, 0, 0, 0, 0],
  // CHECK:  [0.92757{{[0-9]*}}, 0.07242{{[0-9]*}}, 0, 0, 0],
  // CHECK:  [0.06774{{[0-9]*}}, 0.6152{{[0-9]*}}, 0.05729{{[0-9]*}}, 0.07440{{[0-9]*}}, 0.1853{{[0-9]*}}]]
  call @causal_weights() : () -> ()
  return
}
