// The ops of the online state and of tiles, printed and parsed again.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-DAG: #[[$ROWS:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$LANES:.*]] = affine_map<(d0, d1) -> (d1, d0)>

// CHECK-LABEL: func @init_state(
//       CHECK:   attn.init_state outs(%{{.*}} : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
//  CHECK-SAME:     -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
//       CHECK:   attn.init_state outs(%{{.*}} : memref<4x8xf64>, memref<4xf64>, memref<4xf64>){{$}}
func.func @init_state(%a: tensor<4x8xf32>, %m: tensor<4xf32>, %b: memref<4x8xf64>, %n: memref<4xf64>,
                      %o: memref<4xf64>) -> tensor<4x8xf32> {
  %acc, %max, %sum = attn.init_state outs(%a, %m, %m : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  attn.init_state outs(%b, %n, %o : memref<4x8xf64>, memref<4xf64>, memref<4xf64>)
  return %acc : tensor<4x8xf32>
}

// CHECK-LABEL: func @online_step(
//       CHECK:   attn.online_step ins(%{{.*}} : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
//  CHECK-SAME:     outs(%{{.*}} : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {scale = 2.500000e-01 : f64}
//  CHECK-SAME:     -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
func.func @online_step(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a0: tensor<4x8xf32>,
                       %m0: tensor<4xf32>, %l0: tensor<4xf32>) -> tensor<4x8xf32> {
  %a, %m, %l = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a0, %m0, %l0 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {scale = 0.25 : f64}
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return %a : tensor<4x8xf32>
}

// CHECK-LABEL: func @online_step_memref(
//       CHECK:   attn.online_step ins(
//  CHECK-SAME:     bias(%{{.*}} : memref<6xf32>) mask(%{{.*}} : memref<4x6xi8>) scale_value(%{{.*}} : f64)
//  CHECK-SAME:     outs(%{{.*}} : memref<4x8xf64>, memref<4xf64>, memref<4xf64>) score_mod {
//       CHECK:     attn.cap %{{.*}} {limit = 2.000000e+00 : f64} : f64
//       CHECK:   mask_mod {
func.func @online_step_memref(%q: memref<4x16xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>, %b: memref<6xf32>,
                              %m: memref<4x6xi8>, %s: f64, %a: memref<4x8xf64>, %x: memref<4xf64>, %y: memref<4xf64>) {
  attn.online_step ins(%q, %k, %v : memref<4x16xf32>, memref<6x16xf32>, memref<6x8xf32>) bias(%b : memref<6xf32>)
      mask(%m : memref<4x6xi8>) scale_value(%s : f64) outs(%a, %x, %y : memref<4x8xf64>, memref<4xf64>, memref<4xf64>)
      score_mod {
  ^bb0(%score: f64):
    %c = attn.cap %score {limit = 2.0 : f64} : f64
    attn.yield %c : f64
  } mask_mod {
    %keep = arith.constant true
    attn.yield %keep : i1
  }
  return
}

// CHECK-LABEL: func @merge_states(
//       CHECK:   attn.merge_states ins(%{{[^:]*}} : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
//  CHECK-SAME:     outs(%{{[^:]*}} : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
//  CHECK-SAME:     -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
func.func @merge_states(%a1: tensor<4x8xf32>, %m1: tensor<4xf32>, %l1: tensor<4xf32>, %a2: tensor<4x8xf32>,
                        %m2: tensor<4xf32>, %l2: tensor<4xf32>) -> tensor<4x8xf32> {
  %a, %m, %l = attn.merge_states ins(%a1, %m1, %l1 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%a2, %m2, %l2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return %a : tensor<4x8xf32>
}

// CHECK-LABEL: func @merge_states_memref(
//       CHECK:   attn.merge_states ins(%{{.*}} : memref<4x8xf32>, memref<4xf32>, memref<4xf32>) outs({{.*}}){{$}}
func.func @merge_states_memref(%a: memref<4x8xf32>, %m: memref<4xf32>, %l: memref<4xf32>, %b: memref<4x8xf32>,
                               %n: memref<4xf32>, %o: memref<4xf32>) {
  attn.merge_states ins(%a, %m, %l : memref<4x8xf32>, memref<4xf32>, memref<4xf32>)
      outs(%b, %n, %o : memref<4x8xf32>, memref<4xf32>, memref<4xf32>)
  return
}

// CHECK-LABEL: func @finalize(
//       CHECK:   attn.finalize {{.*}} outs(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>
func.func @finalize(%a: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>, %init: tensor<4x8xf32>,
                    %linit: tensor<4xf32>) -> tensor<4x8xf32> {
  %o, %lse = attn.finalize ins(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%init, %linit : tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>
  return %o : tensor<4x8xf32>
}

// The rows of a padded state beyond those of the output are dropped.
// CHECK-LABEL: func @finalize_memref(
//       CHECK:   attn.finalize ins(%{{.*}} : memref<16x8xf32>, memref<16xf32>, memref<16xf32>) outs(%{{.*}} : memref<4x8xf16>){{$}}
func.func @finalize_memref(%a: memref<16x8xf32>, %m: memref<16xf32>, %l: memref<16xf32>, %out: memref<4x8xf16>) {
  attn.finalize ins(%a, %m, %l : memref<16x8xf32>, memref<16xf32>, memref<16xf32>) outs(%out : memref<4x8xf16>)
  return
}

// CHECK-LABEL: func @pack(
//       CHECK:   attn.pack ins(%{{.*}} : tensor<?x64xf32>) outs(%{{.*}} : tensor<64x64xf32>) {maps = [#[[$ROWS]], #[[$LANES]]]}
func.func @pack(%q: tensor<?x64xf32>, %init: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %t = attn.pack ins(%q : tensor<?x64xf32>) outs(%init : tensor<64x64xf32>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d, i)>]} -> tensor<64x64xf32>
  return %t : tensor<64x64xf32>
}

// CHECK-LABEL: func @pack_memref(
//       CHECK:   attn.pack ins(%{{.*}} : memref<3x6xi1>) outs(%{{.*}} : memref<4x6xi8>){{$}}
func.func @pack_memref(%m: memref<3x6xi1>, %out: memref<4x6xi8>) {
  attn.pack ins(%m : memref<3x6xi1>) outs(%out : memref<4x6xi8>)
  return
}
