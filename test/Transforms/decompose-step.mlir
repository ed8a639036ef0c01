// RUN: attn-opt %s --attn-decompose-step --split-input-file | FileCheck %s

// A scale that nothing but a mask follows stands in the exponent; the products have the schedule's instruction.
// CHECK-LABEL: func @scaled(
//   CHECK-NOT:   attn.map_scores
//       CHECK:   attn.product ins(%arg0, %arg1 : {{.*}}contraction = #attn.contraction<scores>, instruction = #attn<instruction mma>
//       CHECK:   attn.row_max {{.*}} {{.*}}scale = 2.500000e-01
//       CHECK:   attn.rescale ins(
//  CHECK-SAME:     outs(%arg3, %arg4, %arg5 :
//       CHECK:   attn.weights {{.*}} {{.*}}scale = 2.500000e-01
//       CHECK:   attn.product {{.*}} outs(%arg3 : memref<4x8xf32>) {accumulate, contraction = #attn.contraction<values>
//   CHECK-NOT:   attn.online_step
func.func @scaled(%q: memref<4x16xbf16>, %k: memref<16x16xbf16>, %v: memref<16x8xbf16>, %a: memref<4x8xf32>,
                  %m: memref<4xf32>, %l: memref<4xf32>) {
  attn.online_step ins(%q, %k, %v : memref<4x16xbf16>, memref<16x16xbf16>, memref<16x8xbf16>)
      outs(%a, %m, %l : memref<4x8xf32>, memref<4xf32>, memref<4xf32>) {scale = 0.25 : f64,
      schedule = #attn.block<query_tile = 4, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>}
  return
}

// -----

// With a score_mod, the scale belongs to the map; a row that a mask may empty is partial. The head of K is a map of the
// head, as scores have no K.
// CHECK-LABEL: func @mapped(
//       CHECK:   %[[S:.*]] = attn.product
//       CHECK:   %[[T:.*]] = attn.map_scores ins(%[[S]] : tensor<4x2x6xf32>)
//  CHECK-SAME:     kv_head = {{.*}} scale = 2.500000e-01 : f64} score_mod
//       CHECK:   %[[N:.*]] = attn.row_max ins(%[[T]], %arg4 : {{.*}} {{.*}}partial
//       CHECK:   %[[R:.*]]:3 = attn.rescale ins(%[[N]] : {{.*}} outs(%arg3, %arg4, %arg5 :
//       CHECK:   %[[W:.*]]:2 = attn.weights ins(%[[T]], %[[N]] : {{.*}} outs(%{{.*}}, %[[R]]#2 :
//       CHECK:   %[[A:.*]] = attn.product ins(%[[W]]#0, %arg2 : {{.*}} outs(%[[R]]#0 :
//       CHECK:   return %[[A]], %[[R]]#1, %[[W]]#1
func.func @mapped(%q: tensor<4x2x16xf32>, %k: tensor<2x6x16xf32>, %v: tensor<2x6x8xf32>, %a: tensor<4x2x8xf32>,
                  %m: tensor<4x2xf32>, %l: tensor<4x2xf32>) -> (tensor<4x2x8xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
  %s:3 = attn.online_step ins(%q, %k, %v : tensor<4x2x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>)
      outs(%a, %m, %l : tensor<4x2x8xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {scale = 0.25 : f64}
      score_mod {
  ^bb0(%score: f32):
    %c = attn.cap %score {limit = 3.0 : f64} : f32
    attn.yield %c : f32
  } mask_mod {
    %h = attn.index kv_head : index
    %j = attn.index key : index
    %keep = arith.cmpi sge, %j, %h : index
    attn.yield %keep : i1
  } -> tensor<4x2x8xf32>, tensor<4x2xf32>, tensor<4x2xf32>
  return %s#0, %s#1, %s#2 : tensor<4x2x8xf32>, tensor<4x2xf32>, tensor<4x2xf32>
}
