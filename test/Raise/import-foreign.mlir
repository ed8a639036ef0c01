// RUN: attn-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(attn-import-foreign))' | FileCheck %s

// The numbers of each op: test/python/test_import_foreign.py.

// IREE's dimensions are in no fixed order, here the head size before the key. The region is the score_mod.
// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>
// CHECK-DAG: #[[K:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4)>
// CHECK-DAG: #[[V:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d3)>
// CHECK-DAG: #[[M:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d3)>
// CHECK-DAG: #[[O:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d5)>
// CHECK-LABEL: func @iree(
//       CHECK:   attn.sdpa
//  CHECK-SAME:       mask(%{{.*}} : tensor<17x21xi1>)
//  CHECK-SAME:       {maps = [#[[Q]], #[[K]], #[[V]], #[[M]], #[[O]]], scale = 2.500000e-01 : f64}
//       CHECK:     score_mod
//       CHECK:       math.tanh
//       CHECK:       attn.yield
//   CHECK-NOT:   iree_linalg_ext
func.func @iree(%q: tensor<2x3x17x8xf32>, %k: tensor<2x21x8xf32>, %v: tensor<2x16x21xf32>, %m: tensor<17x21xi1>,
                %o: tensor<2x17x3x16xf32>) -> tensor<2x17x3x16xf32> {
  %scale = arith.constant 0.25 : f32
  %r = "iree_linalg_ext.attention"(%q, %k, %v, %scale, %m, %o) <{indexing_maps = [
      affine_map<(b, h, i, d, j, e) -> (b, h, i, d)>, affine_map<(b, h, i, d, j, e) -> (b, j, d)>,
      affine_map<(b, h, i, d, j, e) -> (b, e, j)>, affine_map<(b, h, i, d, j, e) -> ()>,
      affine_map<(b, h, i, d, j, e) -> (i, j)>, affine_map<(b, h, i, d, j, e) -> (b, i, h, e)>]}> ({
  ^bb0(%score: f32):
    %t = math.tanh %score : f32
    "iree_linalg_ext.yield"(%t) : (f32) -> ()
  }) : (tensor<2x3x17x8xf32>, tensor<2x21x8xf32>, tensor<2x16x21xf32>, f32, tensor<17x21xi1>, tensor<2x17x3x16xf32>)
      -> tensor<2x17x3x16xf32>
  return %r : tensor<2x17x3x16xf32>
}

// The state of an online attention of a whole row is sdpa's output and a sum of 1.
// CHECK-LABEL: func @iree_online(
//       CHECK:   %[[ACC:.*]] = attn.sdpa
//       CHECK:   %[[SUM:.*]] = linalg.fill ins(%{{.*}} : f32)
//       CHECK:   linalg.generic {{.*}} ins(%[[ACC]], %[[SUM]] :
func.func @iree_online(%q: tensor<17x8xf32>, %k: tensor<21x8xf32>, %v: tensor<21x16xf32>, %scale: f32,
                       %e: tensor<17x16xf32>, %er: tensor<17xf32>) -> tensor<17x16xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant -3.4e38 : f32
  %acc = linalg.fill ins(%zero : f32) outs(%e : tensor<17x16xf32>) -> tensor<17x16xf32>
  %max = linalg.fill ins(%lowest : f32) outs(%er : tensor<17xf32>) -> tensor<17xf32>
  %sum = linalg.fill ins(%zero : f32) outs(%er : tensor<17xf32>) -> tensor<17xf32>
  %r:3 = "iree_linalg_ext.online_attention"(%q, %k, %v, %scale, %acc, %max, %sum) <{indexing_maps = [
      affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
      affine_map<(i, j, d, e) -> ()>, affine_map<(i, j, d, e) -> (i, e)>, affine_map<(i, j, d, e) -> (i)>,
      affine_map<(i, j, d, e) -> (i)>]}> ({
  ^bb0(%score: f32):
    "iree_linalg_ext.yield"(%score) : (f32) -> ()
  }) : (tensor<17x8xf32>, tensor<21x8xf32>, tensor<21x16xf32>, f32, tensor<17x16xf32>, tensor<17xf32>, tensor<17xf32>)
      -> (tensor<17x16xf32>, tensor<17xf32>, tensor<17xf32>)
  %o = linalg.generic {indexing_maps = [affine_map<(i, e) -> (i, e)>, affine_map<(i, e) -> (i)>,
      affine_map<(i, e) -> (i, e)>], iterator_types = ["parallel", "parallel"]}
      ins(%r#0, %r#2 : tensor<17x16xf32>, tensor<17xf32>) outs(%e : tensor<17x16xf32>) {
  ^bb0(%a: f32, %l: f32, %old: f32):
    %n = arith.divf %a, %l : f32
    linalg.yield %n : f32
  } -> tensor<17x16xf32>
  return %o : tensor<17x16xf32>
}

// Operands of f16 beside a result of f32: Q is widened, K and V are where they are read.
// CHECK-LABEL: func @tm_tensor(
//       CHECK:   %[[Q:.*]] = linalg.generic
//       CHECK:     arith.extf
//       CHECK:   attn.sdpa ins(%[[Q]], %{{.*}}, %{{.*}} : tensor<3x17x8xf32>, tensor<3x21x8xf16>, tensor<3x21x16xf16>)
//  CHECK-SAME:       scale = 5.000000e-01 : f64
func.func @tm_tensor(%q: tensor<3x17x8xf16>, %k: tensor<3x21x8xf16>, %v: tensor<3x21x16xf16>, %o: tensor<3x17x16xf32>)
    -> tensor<3x17x16xf32> {
  %r = "tm_tensor.attention"(%q, %k, %v, %o) <{scale = 0.5 : f64}>
      : (tensor<3x17x8xf16>, tensor<3x21x8xf16>, tensor<3x21x16xf16>, tensor<3x17x16xf32>) -> tensor<3x17x16xf32>
  return %r : tensor<3x17x16xf32>
}

// Arguments of torch's tensor types become builtin ones; three heads share one of K and V.
// CHECK-LABEL: func @torch(
//  CHECK-SAME:     %{{.*}}: tensor<2x3x17x8xf32>, %{{.*}}: tensor<2x1x21x8xf32>, %{{.*}}: tensor<2x1x21x16xf32>)
//  CHECK-SAME:     -> (tensor<2x3x17x16xf32>, tensor<2x3x17xf32>)
//       CHECK:   %[[R:.*]]:2 = attn.sdpa
//  CHECK-SAME:       causal = #attn.causal<top_left>
//       CHECK:   return %[[R]]#0, %[[R]]#1
func.func @torch(%q: !torch.vtensor<[2,3,17,8],f32>, %k: !torch.vtensor<[2,1,21,8],f32>,
                 %v: !torch.vtensor<[2,1,21,16],f32>)
    -> (!torch.vtensor<[2,3,17,16],f32>, !torch.vtensor<[2,3,17],f32>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %causal = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
  %r:2 = "torch.operator"(%q, %k, %v, %p, %causal, %none, %none)
      <{name = "torch.aten._scaled_dot_product_flash_attention_for_cpu"}>
      : (!torch.vtensor<[2,3,17,8],f32>, !torch.vtensor<[2,1,21,8],f32>, !torch.vtensor<[2,1,21,16],f32>, !torch.float,
         !torch.bool, !torch.none, !torch.none) -> (!torch.vtensor<[2,3,17,16],f32>, !torch.vtensor<[2,3,17],f32>)
  return %r#0, %r#1 : !torch.vtensor<[2,3,17,16],f32>, !torch.vtensor<[2,3,17],f32>
}
