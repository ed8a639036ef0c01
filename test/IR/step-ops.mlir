// The ops of a step and the copies of its tiles, printed and parsed again; the step's, as linalg.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s --attn-lower-to-reference | FileCheck %s --check-prefix=LINALG

// CHECK-LABEL: func @products(
//       CHECK:   attn.product ins(%{{.*}} : tensor<4x16xf32>, tensor<6x16xf32>) outs(%{{.*}} : tensor<4x6xf32>)
//  CHECK-SAME:     {contraction = #attn.contraction<scores>} -> tensor<4x6xf32>
//       CHECK:   attn.product {{.*}} {accumulate, contraction = #attn.contraction<values>
// LINALG-LABEL: func @products(
//   LINALG-NOT:   attn.
func.func @products(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %init: tensor<4x6xf32>,
                    %acc: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.product ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%init : tensor<4x6xf32>)
      {contraction = #attn.contraction<scores>} -> tensor<4x6xf32>
  %a = attn.product ins(%s, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%acc : tensor<4x8xf32>)
      {accumulate, contraction = #attn.contraction<values>, instruction = #attn<instruction fma>} -> tensor<4x8xf32>
  return %a : tensor<4x8xf32>
}

// CHECK-LABEL: func @rows(
//       CHECK:   attn.map_scores ins(%{{.*}} : tensor<4x6xf32>) bias(%{{.*}} : tensor<6xf32>) outs(
//  CHECK-SAME:     {scale = 2.500000e-01 : f64} score_mod {
//       CHECK:   attn.row_max ins(%{{.*}} : tensor<4x6xf32>, tensor<4xf32>) outs(%{{.*}} : tensor<4xf32>) {partial, scale = 5.000000e-01 : f64}
//       CHECK:   attn.rescale ins(%{{.*}} : tensor<4xf32>) outs(
//       CHECK:   attn.weights {{.*}} {scale = 5.000000e-01 : f64} weight_mod {
//       CHECK:     attn.random_keep %{{.*}} seed(%{{.*}}) offset(%{{.*}}) {threshold = 7 : i64}
// LINALG-LABEL: func @rows(
//   LINALG-NOT:   attn.
func.func @rows(%s: tensor<4x6xf32>, %b: tensor<6xf32>, %t: tensor<4x6xf32>, %m: tensor<4xf32>, %i: tensor<4xf32>,
                %a: tensor<4x8xf32>, %l: tensor<4xf32>) -> (tensor<4x6xf32>, tensor<4x8xf32>) {
  %mapped = attn.map_scores ins(%s : tensor<4x6xf32>) bias(%b : tensor<6xf32>) outs(%t : tensor<4x6xf32>)
      {scale = 0.25 : f64} score_mod {
  ^bb0(%score: f32):
    %c = attn.cap %score {limit = 30.0 : f64} : f32
    attn.yield %c : f32
  } mask_mod {
    %j = attn.index key : index
    %i0 = attn.index query : index
    %keep = arith.cmpi sle, %j, %i0 : index
    attn.yield %keep : i1
  } -> tensor<4x6xf32>
  %n = attn.row_max ins(%mapped, %m : tensor<4x6xf32>, tensor<4xf32>) outs(%i : tensor<4xf32>) {partial, scale = 0.5 : f64}
      -> tensor<4xf32>
  %a1, %m1, %l1 = attn.rescale ins(%n : tensor<4xf32>) outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  %p, %l2 = attn.weights ins(%mapped, %n : tensor<4x6xf32>, tensor<4xf32>) outs(%t, %l1 : tensor<4x6xf32>, tensor<4xf32>)
      {scale = 0.5 : f64} weight_mod {
  ^bb0(%weight: f32):
    %half = arith.constant 0.5 : f32
    %less = arith.mulf %weight, %half : f32
    %j = attn.index key : index
    %seed = arith.constant 3 : i64
    %kept = attn.random_keep %j seed(%seed) offset(%seed) {threshold = 7 : i64}
    %z = arith.select %kept, %less, %half : f32
    attn.yield %z : f32
  } -> tensor<4x6xf32>, tensor<4xf32>
  return %p, %a1 : tensor<4x6xf32>, tensor<4x8xf32>
}

// LINALG-LABEL: func @copies(
// CHECK-LABEL: func @copies(
//       CHECK:   %[[K:.*]] = attn.copy ins(%{{.*}} : memref<64x128xbf16>) outs(
//  CHECK-SAME:     from %[[FIRST:.*]] : !attn.token
//       CHECK:   attn.copy ins(%{{.*}} : memref<64x128xbf16>) outs(
//  CHECK-SAME:     from %[[FIRST]] box(%{{.*}} : !llvm.ptr) [%[[FIRST]], %[[FIRST]]] : !attn.token
//       CHECK:   attn.wait %[[K]] {pending = 1 : i64}
//       CHECK:   attn.wait{{ *$}}
func.func @copies(%k: memref<64x128xbf16>, %first: index, %map: !llvm.ptr) {
  %tile = memref.alloc() : memref<64x128xbf16, #gpu.address_space<workgroup>>
  %token = attn.copy ins(%k : memref<64x128xbf16>) outs(%tile : memref<64x128xbf16, #gpu.address_space<workgroup>>)
      from %first : !attn.token
  %box = attn.copy ins(%k : memref<64x128xbf16>) outs(%tile : memref<64x128xbf16, #gpu.address_space<workgroup>>)
      from %first box(%map : !llvm.ptr)[%first, %first] : !attn.token
  attn.wait %token {pending = 1 : i64}
  attn.wait
  return
}
