// RUN: attn-opt %s --attn-canonicalize | FileCheck %s

// CHECK-DAG: #[[$QUERY:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2)>
// CHECK-DAG: #[[$KEYT:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d1)>
// CHECK-DAG: #[[$VALUE:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
// CHECK-DAG: #[[$OUT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
// CHECK-DAG: #[[$ROTATED:.*]] = affine_map<(d0, d1, d2) -> (d2, d0, d1)>

// 1 / sqrt(16)
// CHECK-LABEL: func @default_scale(
//       CHECK:   attn.sdpa {{.*}} {scale = 2.500000e-01 : f64}
func.func @default_scale(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>,
                         %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// A scale of 0 is a scale, and so is one of run time; the default of a dynamic head size is not known here.
// CHECK-LABEL: func @other_scales(
//       CHECK:   attn.sdpa {{.*}} {scale = 0.000000e+00 : f64}
//       CHECK:   attn.sdpa {{.*}} scale_value(%{{.*}} : f32) outs(%{{[^)]*}}) ->
//       CHECK:   attn.sdpa {{.*}} outs(%{{[^)]*}}) ->
func.func @other_scales(%q: tensor<4x?xf32>, %k: tensor<6x?xf32>, %v: tensor<6x8xf32>, %s: f32,
                        %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r0 = attn.sdpa ins(%q, %k, %v : tensor<4x?xf32>, tensor<6x?xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      {scale = 0.0 : f64} -> tensor<4x8xf32>
  %r1 = attn.sdpa ins(%q, %k, %v : tensor<4x?xf32>, tensor<6x?xf32>, tensor<6x8xf32>) scale_value(%s : f32)
      outs(%r0 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r2 = attn.sdpa ins(%q, %k, %v : tensor<4x?xf32>, tensor<6x?xf32>, tensor<6x8xf32>) outs(%r1 : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r2 : tensor<4x8xf32>
}

// CHECK-LABEL: func @transposed_key(
//  CHECK-SAME:     %[[Q:.*]]: tensor<4x16xf32>, %[[K:.*]]: tensor<16x6xf32>,
//       CHECK:   attn.sdpa ins(%[[Q]], %[[K]], %{{.*}} : tensor<4x16xf32>, tensor<16x6xf32>, tensor<6x8xf32>)
//  CHECK-SAME:     {maps = [#[[$QUERY]], #[[$KEYT]], #[[$VALUE]], #[[$OUT]]], scale = 2.500000e-01 : f64}
func.func @transposed_key(%q: tensor<4x16xf32>, %kt: tensor<16x6xf32>, %v: tensor<6x8xf32>, %e: tensor<6x16xf32>,
                          %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %k = linalg.transpose ins(%kt : tensor<16x6xf32>) outs(%e : tensor<6x16xf32>) permutation = [1, 0]
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// A permutation of three dimensions that is not its own inverse.
// CHECK-LABEL: func @rotated_input(
//       CHECK:   attn.scale ins(%{{.*}} : tensor<6x2x4xf32>) {{.*}} {maps = [#[[$ROTATED]], #{{[^,]*}}]
func.func @rotated_input(%s: tensor<6x2x4xf32>, %e: tensor<2x4x6xf32>) -> tensor<2x4x6xf32> {
  %t = linalg.transpose ins(%s : tensor<6x2x4xf32>) outs(%e : tensor<2x4x6xf32>) permutation = [1, 2, 0]
  %r = attn.scale ins(%t : tensor<2x4x6xf32>) outs(%e : tensor<2x4x6xf32>) {scale = 2.0 : f64} -> tensor<2x4x6xf32>
  return %r : tensor<2x4x6xf32>
}

// CHECK-LABEL: func @neutral_masks(
//       CHECK:   attn.sdpa ins({{[^)]*}}) outs(
func.func @neutral_masks(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>,
                         %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %all = arith.constant dense<true> : tensor<4x6xi1>
  %none = arith.constant dense<0.0> : tensor<1x6xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) bias(%none : tensor<1x6xf32>)
      mask(%all : tensor<4x6xi1>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// A mask that is false everywhere and a bias of 1 have an effect.
// CHECK-LABEL: func @effective_masks(
//       CHECK:   attn.mask {{.*}} bias(%{{.*}}) mask(%{{.*}}) outs(
func.func @effective_masks(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %nothing = arith.constant dense<false> : tensor<4x6xi1>
  %one = arith.constant dense<1.0> : tensor<4x6xf32>
  %r = attn.mask ins(%s : tensor<4x6xf32>) bias(%one : tensor<4x6xf32>) mask(%nothing : tensor<4x6xi1>)
      outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// The zeros are the bias and the destination: only the bias goes, and its map with it.
// CHECK-LABEL: func @bias_is_also_the_output(
//       CHECK:   attn.sdpa ins({{[^)]*}}) outs(%{{[^)]*}}) {maps = [#[[$QUERY]], #[[$KEYT]], #[[$VALUE]], #[[$OUT]]]
func.func @bias_is_also_the_output(%q: tensor<4x16xf32>, %k: tensor<16x4xf32>, %v: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<16x4xf32>, tensor<4x4xf32>) bias(%zero : tensor<4x4xf32>)
      outs(%zero : tensor<4x4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (d, j)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (i, j)>, affine_map<(i, j, d, e) -> (i, e)>]} -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: func @mask_without_effect(
//  CHECK-SAME:     %[[S:[a-z0-9]*]]: tensor<4x6xf32>, %
//  CHECK-NEXT:   return %[[S]]
func.func @mask_without_effect(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = attn.mask ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// Input and result differ in what is known of their size.
// CHECK-LABEL: func @mask_that_knows_a_size(
//       CHECK:   attn.mask ins(%{{.*}} : tensor<?x6xf32>) outs(%{{.*}} : tensor<4x6xf32>)
func.func @mask_that_knows_a_size(%s: tensor<?x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = attn.mask ins(%s : tensor<?x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// The mask alone knew that there are as many queries as keys: without it the diagonal has to be said.
// CHECK-LABEL: func @mask_of_static_sizes(
//       CHECK:   attn.sdpa ins({{.*}}) outs({{.*}}) {causal = #attn.causal<top_left>, scale
//       CHECK:   attn.sdpa ins({{.*}}) outs({{.*}}) {align = #attn.causal<top_left>, scale = {{.*}}, window = #attn.window<left = 1>}
//       CHECK:   attn.mask ins({{[^)]*}}) outs({{.*}}) {causal = #attn.causal<top_left>}
func.func @mask_of_static_sizes(%q: tensor<?x16xf32>, %k: tensor<?x16xf32>, %v: tensor<?x8xf32>, %o: tensor<?x8xf32>,
                                %s: tensor<?x?xf32>)
    -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x?xf32>) {
  %m = arith.constant dense<true> : tensor<4x4xi1>
  %0 = attn.sdpa ins(%q, %k, %v : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x8xf32>) mask(%m : tensor<4x4xi1>)
      outs(%o : tensor<?x8xf32>) {causal} -> tensor<?x8xf32>
  %1 = attn.sdpa ins(%q, %k, %v : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x8xf32>) mask(%m : tensor<4x4xi1>)
      outs(%o : tensor<?x8xf32>) {window = #attn.window<left = 1>} -> tensor<?x8xf32>
  %2 = attn.mask ins(%s : tensor<?x?xf32>) mask(%m : tensor<4x4xi1>) outs(%s : tensor<?x?xf32>) {causal} -> tensor<?x?xf32>
  return %0, %1, %2 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x?xf32>
}

// An empty destination has the encoding of the one it stands for.
// CHECK-LABEL: func @encoding(
//       CHECK:   %[[E:.*]] = tensor.empty() : tensor<4x8xf32, "mine">
//       CHECK:   attn.sdpa {{.*}} outs(%[[E]] : tensor<4x8xf32, "mine">)
func.func @encoding(%q: tensor<4x16xf32, "mine">, %k: tensor<6x16xf32, "mine">, %v: tensor<6x8xf32, "mine">)
    -> (tensor<4x8xf32, "mine">, tensor<4x8xf32, "mine">) {
  %e = tensor.empty() : tensor<4x8xf32, "mine">
  %0 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32, "mine">, tensor<6x16xf32, "mine">, tensor<6x8xf32, "mine">)
      outs(%e : tensor<4x8xf32, "mine">) -> tensor<4x8xf32, "mine">
  %1 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32, "mine">, tensor<6x16xf32, "mine">, tensor<6x8xf32, "mine">)
      outs(%0 : tensor<4x8xf32, "mine">) {softcap = 1.0 : f64} -> tensor<4x8xf32, "mine">
  return %0, %1 : tensor<4x8xf32, "mine">, tensor<4x8xf32, "mine">
}
