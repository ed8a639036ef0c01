// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-fuse-elementwise))' | FileCheck %s
// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-fuse-elementwise{chains}))' | FileCheck %s --check-prefix=CHAIN

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

// For a CPU what two ops use is computed once, and its op is none of a chain.
// CHAIN-LABEL: func.func @two_uses
//       CHAIN:   %[[M:.*]] = linalg.generic
//       CHAIN:     arith.maximumf
//       CHAIN:   %[[A:.*]] = linalg.generic
//  CHAIN-SAME:     %[[M]]
//       CHAIN:     arith.subf
//       CHAIN:     arith.mulf
//       CHAIN:   %[[B:.*]] = linalg.generic
//  CHAIN-SAME:     %[[M]]
//       CHAIN:   return %[[A]], %[[B]]

// Named ops are fused, transposes and reductions are none. A wide result does not become a part of narrow vectors.
// CHAIN-LABEL: func.func @named
//       CHAIN:   %[[A:.*]] = linalg.generic
//       CHAIN:     math.exp
//       CHAIN:     math.absf
//       CHAIN:   linalg.transpose ins(%[[A]]
//       CHAIN:   linalg.generic
//       CHAIN:     arith.extf
//       CHAIN:   linalg.generic
//       CHAIN:     arith.truncf
//       CHAIN:   linalg.reduce
func.func @named(%x: tensor<5x6xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<5x6xf32>
  %te = tensor.empty() : tensor<6x5xf32>
  %we = tensor.empty() : tensor<6x5xf64>
  %re = tensor.empty() : tensor<6xf32>
  %a = linalg.exp ins(%x : tensor<5x6xf32>) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  %b = linalg.abs ins(%a : tensor<5x6xf32>) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  %t = linalg.transpose ins(%b : tensor<5x6xf32>) outs(%te : tensor<6x5xf32>) permutation = [1, 0]
  %w = linalg.map { arith.extf } ins(%t : tensor<6x5xf32>) outs(%we : tensor<6x5xf64>)
  %n = linalg.map { arith.truncf } ins(%w : tensor<6x5xf64>) outs(%te : tensor<6x5xf32>)
  %r = linalg.reduce { arith.maximumf } ins(%n : tensor<6x5xf32>) outs(%re : tensor<6xf32>) dimensions = [1]
  return %r : tensor<6xf32>
}

// A chain of 100 is two ops.
// CHECK-LABEL: func.func @long
// CHECK-COUNT-100: linalg.exp
// CHAIN-LABEL: func.func @long
//       CHAIN:   %[[A:.*]] = linalg.generic
//       CHAIN:   %[[B:.*]] = linalg.generic
//  CHAIN-SAME:     ins(%[[A]] :
//       CHAIN:   return %[[B]]
func.func @long(%a0: !t) -> !t {
  %e = tensor.empty() : !t
  %a1 = linalg.exp ins(%a0 : !t) outs(%e : !t) -> !t
  %a2 = linalg.exp ins(%a1 : !t) outs(%e : !t) -> !t
  %a3 = linalg.exp ins(%a2 : !t) outs(%e : !t) -> !t
  %a4 = linalg.exp ins(%a3 : !t) outs(%e : !t) -> !t
  %a5 = linalg.exp ins(%a4 : !t) outs(%e : !t) -> !t
  %a6 = linalg.exp ins(%a5 : !t) outs(%e : !t) -> !t
  %a7 = linalg.exp ins(%a6 : !t) outs(%e : !t) -> !t
  %a8 = linalg.exp ins(%a7 : !t) outs(%e : !t) -> !t
  %a9 = linalg.exp ins(%a8 : !t) outs(%e : !t) -> !t
  %a10 = linalg.exp ins(%a9 : !t) outs(%e : !t) -> !t
  %a11 = linalg.exp ins(%a10 : !t) outs(%e : !t) -> !t
  %a12 = linalg.exp ins(%a11 : !t) outs(%e : !t) -> !t
  %a13 = linalg.exp ins(%a12 : !t) outs(%e : !t) -> !t
  %a14 = linalg.exp ins(%a13 : !t) outs(%e : !t) -> !t
  %a15 = linalg.exp ins(%a14 : !t) outs(%e : !t) -> !t
  %a16 = linalg.exp ins(%a15 : !t) outs(%e : !t) -> !t
  %a17 = linalg.exp ins(%a16 : !t) outs(%e : !t) -> !t
  %a18 = linalg.exp ins(%a17 : !t) outs(%e : !t) -> !t
  %a19 = linalg.exp ins(%a18 : !t) outs(%e : !t) -> !t
  %a20 = linalg.exp ins(%a19 : !t) outs(%e : !t) -> !t
  %a21 = linalg.exp ins(%a20 : !t) outs(%e : !t) -> !t
  %a22 = linalg.exp ins(%a21 : !t) outs(%e : !t) -> !t
  %a23 = linalg.exp ins(%a22 : !t) outs(%e : !t) -> !t
  %a24 = linalg.exp ins(%a23 : !t) outs(%e : !t) -> !t
  %a25 = linalg.exp ins(%a24 : !t) outs(%e : !t) -> !t
  %a26 = linalg.exp ins(%a25 : !t) outs(%e : !t) -> !t
  %a27 = linalg.exp ins(%a26 : !t) outs(%e : !t) -> !t
  %a28 = linalg.exp ins(%a27 : !t) outs(%e : !t) -> !t
  %a29 = linalg.exp ins(%a28 : !t) outs(%e : !t) -> !t
  %a30 = linalg.exp ins(%a29 : !t) outs(%e : !t) -> !t
  %a31 = linalg.exp ins(%a30 : !t) outs(%e : !t) -> !t
  %a32 = linalg.exp ins(%a31 : !t) outs(%e : !t) -> !t
  %a33 = linalg.exp ins(%a32 : !t) outs(%e : !t) -> !t
  %a34 = linalg.exp ins(%a33 : !t) outs(%e : !t) -> !t
  %a35 = linalg.exp ins(%a34 : !t) outs(%e : !t) -> !t
  %a36 = linalg.exp ins(%a35 : !t) outs(%e : !t) -> !t
  %a37 = linalg.exp ins(%a36 : !t) outs(%e : !t) -> !t
  %a38 = linalg.exp ins(%a37 : !t) outs(%e : !t) -> !t
  %a39 = linalg.exp ins(%a38 : !t) outs(%e : !t) -> !t
  %a40 = linalg.exp ins(%a39 : !t) outs(%e : !t) -> !t
  %a41 = linalg.exp ins(%a40 : !t) outs(%e : !t) -> !t
  %a42 = linalg.exp ins(%a41 : !t) outs(%e : !t) -> !t
  %a43 = linalg.exp ins(%a42 : !t) outs(%e : !t) -> !t
  %a44 = linalg.exp ins(%a43 : !t) outs(%e : !t) -> !t
  %a45 = linalg.exp ins(%a44 : !t) outs(%e : !t) -> !t
  %a46 = linalg.exp ins(%a45 : !t) outs(%e : !t) -> !t
  %a47 = linalg.exp ins(%a46 : !t) outs(%e : !t) -> !t
  %a48 = linalg.exp ins(%a47 : !t) outs(%e : !t) -> !t
  %a49 = linalg.exp ins(%a48 : !t) outs(%e : !t) -> !t
  %a50 = linalg.exp ins(%a49 : !t) outs(%e : !t) -> !t
  %a51 = linalg.exp ins(%a50 : !t) outs(%e : !t) -> !t
  %a52 = linalg.exp ins(%a51 : !t) outs(%e : !t) -> !t
  %a53 = linalg.exp ins(%a52 : !t) outs(%e : !t) -> !t
  %a54 = linalg.exp ins(%a53 : !t) outs(%e : !t) -> !t
  %a55 = linalg.exp ins(%a54 : !t) outs(%e : !t) -> !t
  %a56 = linalg.exp ins(%a55 : !t) outs(%e : !t) -> !t
  %a57 = linalg.exp ins(%a56 : !t) outs(%e : !t) -> !t
  %a58 = linalg.exp ins(%a57 : !t) outs(%e : !t) -> !t
  %a59 = linalg.exp ins(%a58 : !t) outs(%e : !t) -> !t
  %a60 = linalg.exp ins(%a59 : !t) outs(%e : !t) -> !t
  %a61 = linalg.exp ins(%a60 : !t) outs(%e : !t) -> !t
  %a62 = linalg.exp ins(%a61 : !t) outs(%e : !t) -> !t
  %a63 = linalg.exp ins(%a62 : !t) outs(%e : !t) -> !t
  %a64 = linalg.exp ins(%a63 : !t) outs(%e : !t) -> !t
  %a65 = linalg.exp ins(%a64 : !t) outs(%e : !t) -> !t
  %a66 = linalg.exp ins(%a65 : !t) outs(%e : !t) -> !t
  %a67 = linalg.exp ins(%a66 : !t) outs(%e : !t) -> !t
  %a68 = linalg.exp ins(%a67 : !t) outs(%e : !t) -> !t
  %a69 = linalg.exp ins(%a68 : !t) outs(%e : !t) -> !t
  %a70 = linalg.exp ins(%a69 : !t) outs(%e : !t) -> !t
  %a71 = linalg.exp ins(%a70 : !t) outs(%e : !t) -> !t
  %a72 = linalg.exp ins(%a71 : !t) outs(%e : !t) -> !t
  %a73 = linalg.exp ins(%a72 : !t) outs(%e : !t) -> !t
  %a74 = linalg.exp ins(%a73 : !t) outs(%e : !t) -> !t
  %a75 = linalg.exp ins(%a74 : !t) outs(%e : !t) -> !t
  %a76 = linalg.exp ins(%a75 : !t) outs(%e : !t) -> !t
  %a77 = linalg.exp ins(%a76 : !t) outs(%e : !t) -> !t
  %a78 = linalg.exp ins(%a77 : !t) outs(%e : !t) -> !t
  %a79 = linalg.exp ins(%a78 : !t) outs(%e : !t) -> !t
  %a80 = linalg.exp ins(%a79 : !t) outs(%e : !t) -> !t
  %a81 = linalg.exp ins(%a80 : !t) outs(%e : !t) -> !t
  %a82 = linalg.exp ins(%a81 : !t) outs(%e : !t) -> !t
  %a83 = linalg.exp ins(%a82 : !t) outs(%e : !t) -> !t
  %a84 = linalg.exp ins(%a83 : !t) outs(%e : !t) -> !t
  %a85 = linalg.exp ins(%a84 : !t) outs(%e : !t) -> !t
  %a86 = linalg.exp ins(%a85 : !t) outs(%e : !t) -> !t
  %a87 = linalg.exp ins(%a86 : !t) outs(%e : !t) -> !t
  %a88 = linalg.exp ins(%a87 : !t) outs(%e : !t) -> !t
  %a89 = linalg.exp ins(%a88 : !t) outs(%e : !t) -> !t
  %a90 = linalg.exp ins(%a89 : !t) outs(%e : !t) -> !t
  %a91 = linalg.exp ins(%a90 : !t) outs(%e : !t) -> !t
  %a92 = linalg.exp ins(%a91 : !t) outs(%e : !t) -> !t
  %a93 = linalg.exp ins(%a92 : !t) outs(%e : !t) -> !t
  %a94 = linalg.exp ins(%a93 : !t) outs(%e : !t) -> !t
  %a95 = linalg.exp ins(%a94 : !t) outs(%e : !t) -> !t
  %a96 = linalg.exp ins(%a95 : !t) outs(%e : !t) -> !t
  %a97 = linalg.exp ins(%a96 : !t) outs(%e : !t) -> !t
  %a98 = linalg.exp ins(%a97 : !t) outs(%e : !t) -> !t
  %a99 = linalg.exp ins(%a98 : !t) outs(%e : !t) -> !t
  %a100 = linalg.exp ins(%a99 : !t) outs(%e : !t) -> !t
  return %a100 : !t
}
