// RUN: attn-opt %s --attn-describe-kernels --attn-bind-destinations | FileCheck %s

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

// A destination that is an argument already stays one.
// CHECK-LABEL: func @destination(
//  CHECK-SAME:     %{{[a-z0-9]*}}: memref<4x6xf32>, %[[O:[a-z0-9]*]]: memref<4x6xf32>) attributes
//       CHECK:   bufferization.materialize_in_destination %{{.*}} in restrict writable %[[O]]
func.func @destination(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %p : tensor<4x6xf32>
}
