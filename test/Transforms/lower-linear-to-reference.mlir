// RUN: attn-opt %s --attn-lower-to-reference | FileCheck %s
// RUN: not attn-opt %s --attn-lower-to-reference=gpu=true 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: 'attn.linear' op has no kernel on a GPU; compile it for a processor, as --target=host

// A loop over sequences, and in it one over tokens: decay, what is erased, the new state, the output.
// CHECK-LABEL: func @packed(
//       CHECK:   scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(
//       CHECK:     tensor.extract %{{.*}} : tensor<3xi32>
//       CHECK:     tensor.extract %{{.*}} : tensor<2xi32>
//       CHECK:     %[[SLOT:.*]] = arith.index_cast
//       CHECK:     %[[IS_NONE:.*]] = arith.cmpi slt, %[[SLOT]]
//       CHECK:     arith.maxsi %[[SLOT]]
//       CHECK:     arith.select %[[IS_NONE]]
//       CHECK:     scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(
//       CHECK:       math.exp
//       CHECK:       arith.negf
//       CHECK:       tensor.insert_slice
//       CHECK:     arith.select %[[IS_NONE]]
//       CHECK:     tensor.insert_slice
//   CHECK-NOT:   attn.linear
func.func @packed(%q: tensor<9x2x8xf32>, %k: tensor<9x2x8xf32>, %v: tensor<9x4x6xf32>, %g: tensor<9x4xf32>,
                  %b: tensor<9x4xf32>, %c: tensor<3xi32>, %i: tensor<2xi32>, %o: tensor<9x4x6xf32>,
                  %s: tensor<7x4x8x6xf32>) -> (tensor<9x4x6xf32>, tensor<7x4x8x6xf32>) {
  %r:2 = attn.linear ins(%q, %k, %v : tensor<9x2x8xf32>, tensor<9x2x8xf32>, tensor<9x4x6xf32>)
      decay(%g : tensor<9x4xf32>) beta(%b : tensor<9x4xf32>) cu_seqlens(%c : tensor<3xi32>) slots(%i : tensor<2xi32>)
      outs(%o, %s : tensor<9x4x6xf32>, tensor<7x4x8x6xf32>) -> tensor<9x4x6xf32>, tensor<7x4x8x6xf32>
  return %r#0, %r#1 : tensor<9x4x6xf32>, tensor<7x4x8x6xf32>
}
