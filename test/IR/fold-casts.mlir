// Static sizes that are known reach the op; regions that are left out stay so.
// RUN: attn-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @operand_and_destination(
//   CHECK-NOT:   tensor.cast
//       CHECK:   %[[O:.*]] = attn.sdpa ins(%{{.*}} : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
//  CHECK-SAME:       outs(%{{.*}} : tensor<4x8xf32>) mask_mod {
//       CHECK:   } -> tensor<4x8xf32>
//       CHECK:   return %[[O]] : tensor<4x8xf32>
func.func @operand_and_destination(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>,
                                   %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %k1 = tensor.cast %k : tensor<6x16xf32> to tensor<?x16xf32>
  %o1 = tensor.cast %o : tensor<4x8xf32> to tensor<?x8xf32>
  %r = attn.sdpa ins(%q, %k1, %v : tensor<4x16xf32>, tensor<?x16xf32>, tensor<6x8xf32>) outs(%o1 : tensor<?x8xf32>)
      mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  } -> tensor<?x8xf32>
  %s = tensor.cast %r : tensor<?x8xf32> to tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}
