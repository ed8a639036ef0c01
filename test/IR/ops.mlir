// Each op in tensor and in memref form, with every optional part, printed and parsed again.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func @scores(
//       CHECK:   attn.scores ins(%{{.*}}, %{{.*}} : tensor<2x8x113x64xf32>, tensor<2x2x203x64xf32>)
//  CHECK-SAME:     outs(%{{.*}} : tensor<2x8x113x203xf32>) -> tensor<2x8x113x203xf32>
func.func @scores(%q: tensor<2x8x113x64xf32>, %k: tensor<2x2x203x64xf32>,
                  %init: tensor<2x8x113x203xf32>) -> tensor<2x8x113x203xf32> {
  %s = attn.scores ins(%q, %k : tensor<2x8x113x64xf32>, tensor<2x2x203x64xf32>)
      outs(%init : tensor<2x8x113x203xf32>) -> tensor<2x8x113x203xf32>
  return %s : tensor<2x8x113x203xf32>
}

// CHECK-LABEL: func @scores_memref(
//       CHECK:   attn.scores ins(%{{.*}}, %{{.*}} : memref<4x16xf32>, memref<6x16xf32>) outs(%{{.*}} : memref<4x6xf32>){{$}}
func.func @scores_memref(%q: memref<4x16xf32>, %k: memref<6x16xf32>, %out: memref<4x6xf32>) {
  attn.scores ins(%q, %k : memref<4x16xf32>, memref<6x16xf32>) outs(%out : memref<4x6xf32>)
  return
}

// CHECK-LABEL: func @scale(
//       CHECK:   attn.scale ins(%{{.*}} : tensor<4x6xf32>) outs(%{{.*}} : tensor<4x6xf32>) {scale = 1.250000e-01 : f64}
//       CHECK:   attn.scale ins(%{{.*}} : tensor<4x6xf32>) scale_value(%{{.*}} : f32) outs(
func.func @scale(%s: tensor<4x6xf32>, %factor: f32, %init: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %t = attn.scale ins(%s : tensor<4x6xf32>) outs(%init : tensor<4x6xf32>) {scale = 0.125 : f64} -> tensor<4x6xf32>
  %u = attn.scale ins(%t : tensor<4x6xf32>) scale_value(%factor : f32) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %u : tensor<4x6xf32>
}

// CHECK-LABEL: func @scale_memref(
//       CHECK:   attn.scale ins(%{{.*}} : memref<4x6xf64, strided<[12, 1], offset: ?>>) outs(%{{.*}} : memref<4x6xf64>)
func.func @scale_memref(%s: memref<4x6xf64, strided<[12, 1], offset: ?>>, %out: memref<4x6xf64>) {
  attn.scale ins(%s : memref<4x6xf64, strided<[12, 1], offset: ?>>) outs(%out : memref<4x6xf64>) {scale = -1.0 : f64}
  return
}

// CHECK-LABEL: func @softcap(
//       CHECK:   attn.softcap ins(%{{.*}} : tensor<4x6xf32>) outs(%{{.*}} : tensor<4x6xf32>) {softcap = 3.000000e+01 : f64}
func.func @softcap(%s: tensor<4x6xf32>, %init: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %t = attn.softcap ins(%s : tensor<4x6xf32>) outs(%init : tensor<4x6xf32>) {softcap = 30.0 : f64} -> tensor<4x6xf32>
  return %t : tensor<4x6xf32>
}

// CHECK-LABEL: func @softcap_memref(
//       CHECK:   attn.softcap ins(%{{.*}} : memref<4x6xbf16>) outs(%{{.*}} : memref<4x6xbf16>)
func.func @softcap_memref(%s: memref<4x6xbf16>, %out: memref<4x6xbf16>) {
  attn.softcap ins(%s : memref<4x6xbf16>) outs(%out : memref<4x6xbf16>) {softcap = 30.0 : f64}
  return
}

// CHECK-LABEL: func @mask(
//       CHECK:   attn.mask ins(%{{.*}} : tensor<4x6xf32>) mask(%{{.*}} : tensor<1x6xi1>) outs(
//  CHECK-SAME:     {causal = #attn.causal<bottom_right>} -> tensor<4x6xf32>
func.func @mask(%s: tensor<4x6xf32>, %m: tensor<1x6xi1>, %init: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %t = attn.mask ins(%s : tensor<4x6xf32>) mask(%m : tensor<1x6xi1>) outs(%init : tensor<4x6xf32>)
      {causal = #attn.causal<bottom_right>} -> tensor<4x6xf32>
  return %t : tensor<4x6xf32>
}

// CHECK-LABEL: func @mask_memref(
//       CHECK:   attn.mask ins(%{{.*}} : memref<2x3x4x6xf32>) bias(%{{.*}} : memref<3x1x6xf32>) mask(%{{.*}} : memref<6xi1>)
//  CHECK-SAME:     outs(%{{.*}} : memref<2x3x4x6xf32>) mask_mod {
//       CHECK:     attn.index batch : index
//       CHECK:     attn.yield %{{.*}} : i1
func.func @mask_memref(%s: memref<2x3x4x6xf32>, %b: memref<3x1x6xf32>, %m: memref<6xi1>, %out: memref<2x3x4x6xf32>) {
  attn.mask ins(%s : memref<2x3x4x6xf32>) bias(%b : memref<3x1x6xf32>) mask(%m : memref<6xi1>)
      outs(%out : memref<2x3x4x6xf32>) mask_mod {
    %i = attn.index batch : index
    %j = attn.index key : index
    %keep = arith.cmpi sle, %i, %j : index
    attn.yield %keep : i1
  }
  return
}

// CHECK-LABEL: func @softmax(
//       CHECK:   attn.softmax ins(%{{.*}} : tensor<4x6xf32>) outs(%{{.*}} : tensor<4x6xf32>) -> tensor<4x6xf32>
func.func @softmax(%s: tensor<4x6xf32>, %init: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %p : tensor<4x6xf32>
}

// CHECK-LABEL: func @softmax_memref(
//       CHECK:   attn.softmax ins(%{{.*}} : memref<?x6xf32>) outs(%{{.*}} : memref<?x6xf32>){{$}}
func.func @softmax_memref(%s: memref<?x6xf32>, %out: memref<?x6xf32>) {
  attn.softmax ins(%s : memref<?x6xf32>) outs(%out : memref<?x6xf32>)
  return
}

// CHECK-LABEL: func @apply(
//       CHECK:   attn.apply ins(%{{.*}}, %{{.*}} : tensor<2x8x113x203xf32>, tensor<2x2x203x80xf32>)
//  CHECK-SAME:     outs(%{{.*}} : tensor<2x8x113x80xf32>) -> tensor<2x8x113x80xf32>
func.func @apply(%p: tensor<2x8x113x203xf32>, %v: tensor<2x2x203x80xf32>,
                 %init: tensor<2x8x113x80xf32>) -> tensor<2x8x113x80xf32> {
  %o = attn.apply ins(%p, %v : tensor<2x8x113x203xf32>, tensor<2x2x203x80xf32>)
      outs(%init : tensor<2x8x113x80xf32>) -> tensor<2x8x113x80xf32>
  return %o : tensor<2x8x113x80xf32>
}

// CHECK-LABEL: func @apply_memref(
//       CHECK:   attn.apply ins(%{{.*}}, %{{.*}} : memref<4x6xf32>, memref<6x8xf16>) outs(%{{.*}} : memref<4x8xf16>){{$}}
func.func @apply_memref(%p: memref<4x6xf32>, %v: memref<6x8xf16>, %out: memref<4x8xf16>) {
  attn.apply ins(%p, %v : memref<4x6xf32>, memref<6x8xf16>) outs(%out : memref<4x8xf16>)
  return
}

// CHECK-LABEL: func @index(
//       CHECK:   attn.index batch : index
//       CHECK:   attn.index head : index
//       CHECK:   attn.index kv_head : index
//       CHECK:   attn.index query : index
//       CHECK:   attn.index key : index
func.func @index(%q: tensor<2x4x16xf32>, %k: tensor<1x6x16xf32>, %init: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
  %o = attn.sdpa ins(%q, %k, %k : tensor<2x4x16xf32>, tensor<1x6x16xf32>, tensor<1x6x16xf32>)
      outs(%init : tensor<2x4x16xf32>) mask_mod {
    %b = attn.index batch : index
    %h = attn.index head : index
    %g = attn.index kv_head : index
    %i = attn.index query : index
    %j = attn.index key : index
    %keep = arith.cmpi ne, %i, %j : index
    attn.yield %keep : i1
  } -> tensor<2x4x16xf32>
  return %o : tensor<2x4x16xf32>
}

// CHECK-LABEL: func.func @sdpa_window
// CHECK: attn.sdpa {{.*}} {align = #attn.causal<bottom_right>, window = #attn.window<left = 3, right = 0>}
// CHECK: attn.sdpa {{.*}} {causal = #attn.causal<top_left>, window = #attn.window<left = 3>}
func.func @sdpa_window(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>)
    -> tensor<4x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      {window = #attn.window<left = 3, right = 0>, align = #attn.causal<bottom_right>} -> tensor<4x8xf32>
  %s = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%r : tensor<4x8xf32>)
      {window = #attn.window<left = 3>, causal = #attn.causal<top_left>} -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}
