// The whole way to a GPU in another compiler: kernels that upstream's passes turn into PTX, and the function that
// launches them.

// RUN: attn-opt %s --attn-to-flash="target=sm_90 kernels=true" --attn-to-gpu=target=sm_90 -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mlir-opt %t.mlir --pass-pipeline="builtin.module(nvvm-attach-target{chip=sm_90},gpu-module-to-binary{format=isa})" \
// RUN:   | FileCheck %s --check-prefix=PTX
// RUN: not attn-opt %s --attn-to-flash=target=sm_90 --attn-to-gpu=target=x86-64-v3 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TARGET

//       CHECK: gpu.module @attention_gpu
//       CHECK:   llvm.func @attention_kernel({{.*}}gpu.kernel
//       CHECK:     nvvm.mma.sync
//       CHECK: llvm.func @attention(
//       CHECK:   llvm.call @attn_cuda_launch
//   CHECK-NOT: attn.sdpa
//         PTX: gpu.binary @attention_gpu {{.*}}.target sm_90
//      TARGET: attn-map-to-gpu: expected a GPU as target, found 'x86-64-v3'

func.func @attention(%q: tensor<2x128x64xf16>, %k: tensor<2x128x64xf16>, %v: tensor<2x128x64xf16>)
    -> tensor<2x128x64xf16> {
  %init = tensor.empty() : tensor<2x128x64xf16>
  %out = attn.sdpa ins(%q, %k, %v : tensor<2x128x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>)
      outs(%init : tensor<2x128x64xf16>) -> tensor<2x128x64xf16>
  return %out : tensor<2x128x64xf16>
}
