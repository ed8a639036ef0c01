// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-fuse-elementwise))' | FileCheck %s

#id = affine_map<(i) -> (i)>
!t = tensor<5xf32>

// What two ops use is computed in both, what is read of a destination is an input, and a constant becomes a scalar.
// CHECK-LABEL: func.func @two_uses
//   CHECK-NOT:   dense
//       CHECK:   %[[A:.*]] = linalg.generic
//       CHECK:     arith.maximumf
//       CHECK:     arith.subf
//       CHECK:     arith.mulf
//       CHECK:   %[[B:.*]] = linalg.generic
//       CHECK:     arith.maximumf
//       CHECK:     arith.addf
//       CHECK:   return %[[A]], %[[B]]
func.func @two_uses(%x: !t, %y: !t) -> (!t, !t) {
  %two = arith.constant dense<2.0> : !t
  %e = tensor.empty() : !t
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : !t) outs(%y : !t) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %a, %b : f32
    linalg.yield %r : f32
  } -> !t
  %d = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %m : !t, !t) outs(%e : !t) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> !t
  %p = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%d, %two : !t, !t) outs(%e : !t) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> !t
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%y, %m : !t, !t) outs(%e : !t) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> !t
  return %p, %s : !t, !t
}

// A result that is returned is written where it is.
// CHECK-LABEL: func.func @in_place
//  CHECK-SAME:   %[[X:.*]]: tensor<5xf32>
//       CHECK:   linalg.generic
//  CHECK-SAME:     outs(%[[X]] : tensor<5xf32>)
func.func @in_place(%x: !t) -> !t {
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : !t) {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> !t
  return %r : !t
}
