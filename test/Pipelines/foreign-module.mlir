// A module of another compiler: main, calls, private functions, memrefs. No rule of C entries holds for it, and what it
// computes is executed: rows of equal numbers stay what they are.

// RUN: attn-opt %s --attn-to-flash=target=x86-64 --attn-to-llvm="target=x86-64 parallel=false" -o %t.mlir
// RUN: mlir-runner %t.mlir -e main -entry-point-result=i32 | FileCheck %s --check-prefix=RESULT
// RUN: attn-opt %s --attn-to-reference | FileCheck %s --check-prefix=REFERENCE
// RUN: attn-opt %s --attn-to-flash=target=sm_80 --attn-to-gpu=target=sm_80 | FileCheck %s --check-prefix=GPU
// RUN: not attn-opt %s --attn-to-flash=kernels=true 2>&1 | FileCheck %s --check-prefix=KERNELS

// RESULT: {{^7$}}
// REFERENCE-LABEL: func.func @main
// REFERENCE: call @attend
// GPU: gpu.module @attend_gpu
// GPU: gpu.module @helper_gpu
// KERNELS: expected a kernel's name to be a C identifier

memref.global "private" @table : memref<4xf32> = dense<1.0>
func.func @attend(%q: tensor<1x2x16x8xf32>, %k: tensor<1x2x16x8xf32>, %v: tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32> {
  %o = tensor.empty() : tensor<1x2x16x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) outs(%o : tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
  return %r : tensor<1x2x16x8xf32>
}
func.func private @helper(%q: tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32> {
  %o = tensor.empty() : tensor<1x2x16x8xf32>
  %r = attn.sdpa ins(%q, %q, %q : tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) outs(%o : tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
  return %r : tensor<1x2x16x8xf32>
}
func.func @sum(%m: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %x = memref.load %m[%c0] : memref<4xf32>
  return %x : f32
}
func.func @main() -> i32 {
  %c = arith.constant dense<7.5> : tensor<1x2x16x8xf32>
  %r = call @attend(%c, %c, %c) : (tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
  %h = call @helper(%r) : (tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
  %z = arith.constant 0 : index
  %e = tensor.extract %h[%z, %z, %z, %z] : tensor<1x2x16x8xf32>
  %i = arith.fptosi %e : f32 to i32
  return %i : i32
}
