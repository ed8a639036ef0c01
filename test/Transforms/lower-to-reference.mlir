// RUN: attn-opt %s --attn-lower-to-reference --split-input-file | FileCheck %s --implicit-check-not="attn."
// RUN: attn-opt %s --attn-lower-to-reference=compute-type=f64 --split-input-file | FileCheck %s --check-prefix=F64

// Row maximum, exponentials that are 0 in an empty row, row sum, quotient that is 0 there.
// CHECK-LABEL: func @softmax(
//       CHECK:   linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<4xf32>)
//       CHECK:   linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
//       CHECK:     arith.maximumf
//       CHECK:   linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
//       CHECK:     %[[EMPTY:.*]] = arith.cmpf oeq, %{{.*}}, %cst{{.*}} : f32
//       CHECK:     math.exp
//       CHECK:     arith.select %[[EMPTY]]
//       CHECK:   linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
//       CHECK:     arith.addf
//       CHECK:   linalg.generic
//       CHECK:     arith.divf
//       CHECK:     arith.select
func.func @softmax(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %p : tensor<4x6xf32>
}

// -----

// The product of 16-bit numbers is accumulated in f32 and rounded once.
// CHECK-LABEL: func @scores_of_bf16(
//       CHECK:   linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
//       CHECK:     arith.extf %{{.*}} : bf16 to f32
//       CHECK:     arith.mulf %{{.*}} : f32
//       CHECK:   linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
//       CHECK:     arith.truncf %{{.*}} : f32 to bf16
func.func @scores_of_bf16(%q: tensor<4x16xbf16>, %k: tensor<6x16xbf16>, %o: tensor<4x6xbf16>) -> tensor<4x6xbf16> {
  %s = attn.scores ins(%q, %k : tensor<4x16xbf16>, tensor<6x16xbf16>) outs(%o : tensor<4x6xbf16>) -> tensor<4x6xbf16>
  return %s : tensor<4x6xbf16>
}

// -----

// Scale, softcap, bias and masks of a score, in this order; compute-type is that of the scores.
// CHECK-LABEL: func @order(
//       CHECK:   arith.mulf
//       CHECK:   arith.mulf
//       CHECK:   math.tanh
//       CHECK:   arith.mulf
//       CHECK:   arith.addf
//       CHECK:   linalg.index 1
//       CHECK:   arith.cmpi sle
//       CHECK:   arith.select
// F64-LABEL: func @order(
//       F64:   math.tanh %{{.*}} : f64
//       F64:   math.exp %{{.*}} : f64
func.func @order(%q: tensor<6x16xf32>, %b: tensor<6xf32>, %o: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>) bias(%b : tensor<6xf32>)
      outs(%o : tensor<6x16xf32>) {causal, softcap = 2.0 : f64} -> tensor<6x16xf32>
  return %r : tensor<6x16xf32>
}

// -----

// A scale of f32 in a computation of f64, and of f64 in one of f32.
// F64-LABEL: func @scale_value(
//       F64:   arith.extf %{{.*}} : f32 to f64
func.func @scale_value(%q: tensor<4x16xf32>, %s: f32, %o: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) scale_value(%s : f32)
      outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// Zeros, and the rows that there are.
// CHECK-LABEL: func @pack(
//       CHECK:   %[[ZEROS:.*]] = linalg.fill ins(%{{.*}} : i8) outs(%{{.*}} : tensor<6x4xi8>)
//       CHECK:   %[[PLACE:.*]] = tensor.extract_slice %[[ZEROS]][0, 0] [6, 3] [1, 1]
//       CHECK:   %[[ROWS:.*]] = linalg.generic {{.*}} outs(%[[PLACE]]
//       CHECK:     arith.extui %{{.*}} : i1 to i8
//       CHECK:   tensor.insert_slice %[[ROWS]] into %[[ZEROS]][0, 0] [6, 3] [1, 1]
func.func @pack(%m: tensor<3x6xi1>, %o: tensor<6x4xi8>) -> tensor<6x4xi8> {
  %t = attn.pack ins(%m : tensor<3x6xi1>) outs(%o : tensor<6x4xi8>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d, i)>]} -> tensor<6x4xi8>
  return %t : tensor<6x4xi8>
}

// -----

// A mask of bytes is true where it is not 0. The state's maximum is written last, so that a loop carries it in place.
// CHECK-LABEL: func @packed_mask(
//  CHECK-SAME:     %[[M:[a-z0-9]*]]: tensor<4xf32>, %[[L:[a-z0-9]*]]: tensor<4xf32>)
//       CHECK:   arith.cmpi ne, %{{.*}}, %{{.*}} : i8
//       CHECK:   linalg.generic {{.*}} outs(%[[L]] :
//       CHECK:   %[[MAX:.*]] = linalg.generic {{.*}} outs(%[[M]] :
//       CHECK:   return %[[MAX]]
func.func @packed_mask(%q: tensor<4x16xf32>, %v: tensor<6x16xf32>, %x: tensor<4x6xi8>, %a: tensor<4x16xf32>,
                       %m: tensor<4xf32>, %l: tensor<4xf32>) -> tensor<4xf32> {
  %r:3 = attn.online_step ins(%q, %v, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>) mask(%x : tensor<4x6xi8>)
      outs(%a, %m, %l : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#1 : tensor<4xf32>
}

// -----

// Rows that pad the state are cut off; nothing is cut off a state without rows.
// CHECK-LABEL: func @finalize(
//       CHECK:   tensor.extract_slice %{{.*}}[0, 0] [3, 8] [1, 1] : tensor<4x8xf32> to tensor<3x8xf32>
//   CHECK-NOT:   tensor.extract_slice {{.*}} tensor<0x8xf32>
func.func @finalize(%a: tensor<4x8xf32>, %m: tensor<4xf32>, %o: tensor<3x8xf32>, %b: tensor<0x8xf32>, %n: tensor<0xf32>,
                    %p: tensor<0x8xf32>) -> (tensor<3x8xf32>, tensor<0x8xf32>) {
  %r = attn.finalize ins(%a, %m, %m : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<3x8xf32>)
      -> tensor<3x8xf32>
  %s = attn.finalize ins(%b, %n, %n : tensor<0x8xf32>, tensor<0xf32>, tensor<0xf32>) outs(%p : tensor<0x8xf32>)
      -> tensor<0x8xf32>
  return %r, %s : tensor<3x8xf32>, tensor<0x8xf32>
}
