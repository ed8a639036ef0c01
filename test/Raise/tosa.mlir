// TOSA as converters write it: products of three dimensions, softmax by its parts. Upstream's passes lower it first.

// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-lower-tosa,canonicalize,attn-raise,attn-canonicalize,attn-fuse))' | FileCheck %s
// RUN: attnc run %s --check --fail-on-fallback

// CHECK-LABEL: @attend
// CHECK-NOT: tosa
// CHECK: attn.sdpa
// CHECK-SAME: scale = 5.000000e-01
// CHECK-NOT: math.exp
func.func @attend(%q: tensor<6x33x16xf32>, %k: tensor<6x49x16xf32>, %v: tensor<6x49x24xf32>) -> tensor<6x33x24xf32> {
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %scale = "tosa.const"() <{values = dense<0.5> : tensor<1x1x1xf32>}> : () -> tensor<1x1x1xf32>
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %kt = tosa.transpose %k {perms = array<i32: 0, 2, 1>} : (tensor<6x49x16xf32>) -> tensor<6x16x49xf32>
  %qs = tosa.mul %q, %scale, %shift : (tensor<6x33x16xf32>, tensor<1x1x1xf32>, tensor<1xi8>) -> tensor<6x33x16xf32>
  %s = tosa.matmul %qs, %kt, %zero, %zero : (tensor<6x33x16xf32>, tensor<6x16x49xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<6x33x49xf32>
  %m = tosa.reduce_max %s {axis = 2 : i32} : (tensor<6x33x49xf32>) -> tensor<6x33x1xf32>
  %d = tosa.sub %s, %m : (tensor<6x33x49xf32>, tensor<6x33x1xf32>) -> tensor<6x33x49xf32>
  %e = tosa.exp %d : (tensor<6x33x49xf32>) -> tensor<6x33x49xf32>
  %l = tosa.reduce_sum %e {axis = 2 : i32} : (tensor<6x33x49xf32>) -> tensor<6x33x1xf32>
  %r = tosa.reciprocal %l : (tensor<6x33x1xf32>) -> tensor<6x33x1xf32>
  %p = tosa.mul %e, %r, %shift : (tensor<6x33x49xf32>, tensor<6x33x1xf32>, tensor<1xi8>) -> tensor<6x33x49xf32>
  %o = tosa.matmul %p, %v, %zero, %zero : (tensor<6x33x49xf32>, tensor<6x49x24xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<6x33x24xf32>
  return %o : tensor<6x33x24xf32>
}
