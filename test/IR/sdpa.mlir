// attn.sdpa with each optional part, printed and parsed again.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func @plain(
//       CHECK:   attn.sdpa ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
//  CHECK-SAME:     outs(%{{.*}} : tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @plain(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>,
                 %init: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %o = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// CHECK-LABEL: func @lse(
//       CHECK:   attn.sdpa ins(
//  CHECK-SAME:     outs(%{{.*}}, %{{.*}} : tensor<2x8x113x80xf32>, tensor<2x8x113xf32>) {causal = #attn.causal<bottom_right>}
//  CHECK-SAME:     -> tensor<2x8x113x80xf32>, tensor<2x8x113xf32>
func.func @lse(%q: tensor<2x8x113x64xf32>, %k: tensor<2x2x203x64xf32>, %v: tensor<2x2x203x80xf32>,
               %o: tensor<2x8x113x80xf32>, %l: tensor<2x8x113xf32>) -> tensor<2x8x113xf32> {
  %out, %lse = attn.sdpa ins(%q, %k, %v : tensor<2x8x113x64xf32>, tensor<2x2x203x64xf32>, tensor<2x2x203x80xf32>)
      outs(%o, %l : tensor<2x8x113x80xf32>, tensor<2x8x113xf32>) {causal = #attn.causal<bottom_right>}
      -> tensor<2x8x113x80xf32>, tensor<2x8x113xf32>
  return %lse : tensor<2x8x113xf32>
}

// CHECK-LABEL: func @every_part(
//       CHECK:   attn.sdpa ins(
//  CHECK-SAME:     bias(%{{.*}} : tensor<4x1xf16>) mask(%{{.*}} : tensor<6xi1>) scale_value(%{{.*}} : f32)
//  CHECK-SAME:     {causal = #attn.causal<top_left>, softcap = 3.000000e+01 : f64} mask_mod {
//       CHECK:   } -> tensor<4x8xbf16>, tensor<4xf32>
func.func @every_part(%q: tensor<4x16xbf16>, %k: tensor<6x16xbf16>, %v: tensor<6x8xbf16>, %b: tensor<4x1xf16>,
                      %m: tensor<6xi1>, %s: f32, %init: tensor<4x8xbf16>, %l: tensor<4xf32>) -> tensor<4x8xbf16> {
  %o:2 = attn.sdpa ins(%q, %k, %v : tensor<4x16xbf16>, tensor<6x16xbf16>, tensor<6x8xbf16>) bias(%b : tensor<4x1xf16>)
      mask(%m : tensor<6xi1>) scale_value(%s : f32) outs(%init, %l : tensor<4x8xbf16>, tensor<4xf32>)
      {causal = #attn.causal<top_left>, softcap = 30.0 : f64} mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %keep = arith.cmpi ne, %i, %j : index
    attn.yield %keep : i1
  } -> tensor<4x8xbf16>, tensor<4xf32>
  return %o#0 : tensor<4x8xbf16>
}

// CHECK-LABEL: func @causal_of_equal_sizes(
//       CHECK:   attn.sdpa {{.*}} {causal}
func.func @causal_of_equal_sizes(%q: tensor<6x16xf32>, %v: tensor<6x8xf32>, %init: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %o = attn.sdpa ins(%q, %q, %v : tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%init : tensor<6x8xf32>) {causal} -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}

// CHECK-LABEL: func @schedule_and_ranges(
//       CHECK:   schedule = #attn.prefill<query_tile = 64, key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 4>
//       CHECK:   key_ranges {
//       CHECK:     attn.index first_query : index
//       CHECK:     attn.index end_query : index
func.func @schedule_and_ranges(%q: memref<4x16xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>, %out: memref<4x8xf32>) {
  attn.sdpa ins(%q, %k, %v : memref<4x16xf32>, memref<6x16xf32>, memref<6x8xf32>) outs(%out : memref<4x8xf32>)
      {schedule = #attn.prefill<query_tile = 64, key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 4>}
      key_ranges {
    %first = attn.index first_query : index
    %end = attn.index end_query : index
    attn.yield %first, %end, %first, %first : index, index, index, index
  }
  return
}

// CHECK-LABEL: func @memref_with_lse(
//       CHECK:   attn.sdpa {{.*}} outs(%{{.*}}, %{{.*}} : memref<4x8xf64>, memref<4xf64>){{$}}
func.func @memref_with_lse(%q: memref<4x16xf64>, %k: memref<?x16xf64>, %v: memref<?x8xf64>, %out: memref<4x8xf64>,
                           %lse: memref<4xf64>) {
  attn.sdpa ins(%q, %k, %v : memref<4x16xf64>, memref<?x16xf64>, memref<?x8xf64>)
      outs(%out, %lse : memref<4x8xf64>, memref<4xf64>)
  return
}

// CHECK-LABEL: func @window(
//       CHECK:   attn.sdpa {{.*}} {align = #attn.causal<bottom_right>, window = #attn.window<left = 127, right = 0>}
//       CHECK:   attn.sdpa {{.*}} {causal = #attn.causal<top_left>, window = #attn.window<left = 127>}
func.func @window(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      {align = #attn.causal<bottom_right>, window = #attn.window<left = 127, right = 0>} -> tensor<4x8xf32>
  %s = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%r : tensor<4x8xf32>)
      {causal = #attn.causal<top_left>, window = #attn.window<left = 127>} -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}
