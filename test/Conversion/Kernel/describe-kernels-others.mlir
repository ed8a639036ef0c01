// Functions without attention stay what they are, in a compiler that has others; a private function counts for its callers.
// RUN: attn-opt %s --attn-describe-kernels | FileCheck %s
// RUN: attn-opt %s --attn-to-flash=kernels=true --attn-to-llvm | FileCheck %s --check-prefix=LLVM

// CHECK: func.func @scalars(%{{.*}}: i32, %{{.*}}: f32) -> (i32, f32) {
// CHECK: func.func @identity(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
// CHECK: func.func @memory(%{{.*}}: memref<?xf32>) {
// CHECK: func.func @kernel({{.*}}attn.arguments
// LLVM-DAG: llvm.func @scalars(
// LLVM-DAG: llvm.func @kernel(%{{[a-z0-9]*}}: !llvm.ptr{{[^,]*}}, %{{[a-z0-9]*}}: !llvm.ptr{{[^,]*}})
func.func @scalars(%a: i32, %b: f32) -> (i32, f32) {
  return %a, %b : i32, f32
}
func.func @identity(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
func.func @memory(%m: memref<?xf32>) {
  return
}
func.func private @attention(%x: tensor<2x16x8xf32>) -> tensor<2x16x8xf32> {
  %o = tensor.empty() : tensor<2x16x8xf32>
  %r = attn.sdpa ins(%x, %x, %x : tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>)
      outs(%o : tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
  return %r : tensor<2x16x8xf32>
}
func.func @kernel(%x: tensor<2x16x8xf32>) -> tensor<2x16x8xf32> {
  %r = call @attention(%x) : (tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
  return %r : tensor<2x16x8xf32>
}
