// RUN: attn-opt %s --attn-describe-kernels=all-functions --attn-bind-destinations | FileCheck %s

// A result is materialised in a new argument.
// CHECK-LABEL: func @result(
//  CHECK-SAME:     %[[S:[a-z0-9]*]]: memref<4x6xf32>, %[[O:[a-z0-9]*]]: memref<4x6xf32>)
//       CHECK:   %[[T:.*]] = bufferization.to_tensor %[[S]] restrict
//       CHECK:   %[[P:.*]] = attn.softmax ins(%[[T]]
//       CHECK:   bufferization.materialize_in_destination %[[P]] in restrict writable %[[O]]
func.func @result(%s: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %o = tensor.empty() : tensor<4x6xf32>
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %p : tensor<4x6xf32>
}

// An input is no destination, though upstream's elementwise ops begin as if it were: its values are not read through outs.
// CHECK-LABEL: func @elementwise(
//       CHECK:   %[[A:.*]] = bufferization.to_tensor %{{.*}} restrict : memref<?x6xf32>
//       CHECK:   %[[E:.*]] = tensor.empty(%{{.*}}) : tensor<?x6xf32>
//       CHECK:   linalg.generic {{.*}} ins(%[[A]] : tensor<?x6xf32>) outs(%[[E]] : tensor<?x6xf32>)
func.func @elementwise(%a: tensor<?x6xf32>) -> tensor<?x6xf32> attributes {attn.sizes = ["n"], attn.arguments = [
    {name = "a", output = false, sizes = array<i32: 0, -1>, type = tensor<?x6xf32>},
    {name = "output", output = true, sizes = array<i32: 0, -1>, type = tensor<?x6xf32>}]} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%a : tensor<?x6xf32>) outs(%a : tensor<?x6xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<?x6xf32>
  return %r : tensor<?x6xf32>
}

// A destination that is an argument already stays one.
// CHECK-LABEL: func @destination(
//  CHECK-SAME:     %{{[a-z0-9]*}}: memref<4x6xf32>, %[[O:[a-z0-9]*]]: memref<4x6xf32>) attributes
//       CHECK:   bufferization.materialize_in_destination %{{.*}} in restrict writable %[[O]]
func.func @destination(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %p : tensor<4x6xf32>
}

// Sixteen ops share a destination, the next ones have another: bufferisation compares them all with each other.
// CHECK-LABEL: func.func private @shared
//       CHECK:   %[[E:.*]] = tensor.empty()
// CHECK-COUNT-16: linalg.exp {{.*}} outs(%[[E]] :
//  CHECK-NEXT:   %[[F:.*]] = tensor.empty()
//  CHECK-NEXT:   linalg.exp {{.*}} outs(%[[F]] :
//  CHECK-NEXT:   linalg.exp {{.*}} outs(%[[F]] :
func.func private @shared(%a0: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %a1 = linalg.exp ins(%a0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a2 = linalg.exp ins(%a1 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a3 = linalg.exp ins(%a2 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a4 = linalg.exp ins(%a3 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a5 = linalg.exp ins(%a4 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a6 = linalg.exp ins(%a5 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a7 = linalg.exp ins(%a6 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a8 = linalg.exp ins(%a7 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a9 = linalg.exp ins(%a8 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a10 = linalg.exp ins(%a9 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a11 = linalg.exp ins(%a10 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a12 = linalg.exp ins(%a11 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a13 = linalg.exp ins(%a12 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a14 = linalg.exp ins(%a13 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a15 = linalg.exp ins(%a14 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a16 = linalg.exp ins(%a15 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a17 = linalg.exp ins(%a16 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a18 = linalg.exp ins(%a17 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %a18 : tensor<4xf32>
}
