// Where writing in place would lose what is still read, one copy is made.
// RUN: attn-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN:     | FileCheck %s

// The output starts from Q, which the op reads.
// CHECK-LABEL: func @output_over_input(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: memref<4x8xf32>
//       CHECK:   %[[NEW:.*]] = memref.alloc
//       CHECK:   attn.sdpa ins(%[[Q]], {{.*}}) outs(%[[NEW]] :
func.func @output_over_input(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>) outs(%q : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// The old state is read again after the step: its contents move along.
// CHECK-LABEL: func @state_read_later(
//  CHECK-SAME:     %[[A:[a-z0-9]*]]: memref<4x8xf32>
//       CHECK:   %[[NEW:.*]] = memref.alloc() {{.*}} : memref<4x8xf32>
//       CHECK:   memref.copy %[[A]], %[[NEW]]
//       CHECK:   attn.merge_states {{.*}} outs(%[[NEW]],
func.func @state_read_later(%a: tensor<4x8xf32>, %m: tensor<4xf32>, %b: tensor<4x8xf32>, %n: tensor<4xf32>,
                            %l: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %r:3 = attn.merge_states ins(%b, %m, %m : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%a, %n, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %a : tensor<4x8xf32>, tensor<4x8xf32>
}
