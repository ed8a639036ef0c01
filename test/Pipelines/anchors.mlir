// The pipelines run on modules: asked for elsewhere, they are an error, where the pass manager would end the process.
// RUN: not attn-opt %s --pass-pipeline="builtin.module(func.func(attn-to-flash))" 2>&1 | FileCheck %s --check-prefix=FLASH
// RUN: not attn-opt %s --pass-pipeline="builtin.module(func.func(attn-to-llvm{parallel=false}))" 2>&1 | FileCheck %s --check-prefix=LLVM
// RUN: not attn-opt %s --pass-pipeline="builtin.module(gpu.module(attn-to-gpu))" 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: not attn-opt %s --pass-pipeline="any(attn-to-reference)" 2>&1 | FileCheck %s --check-prefix=REFERENCE
// RUN: not attn-opt %s --pass-pipeline="builtin.module(attn-to-reference{type=f64})" 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: attn-opt %s --pass-pipeline="builtin.module(builtin.module(attn-to-reference{compute-type=f64}))" | FileCheck %s --check-prefix=NESTED

// FLASH: error: attn-to-flash: expected to run on builtin.module, found func.func; write builtin.module(attn-to-flash)
// LLVM: error: attn-to-llvm: expected to run on builtin.module, found func.func
// GPU: error: attn-to-gpu: expected to run on builtin.module, found gpu.module
// REFERENCE: error: attn-to-reference: expected to run on builtin.module, found any
// OPTION: no such option type
// NESTED-NOT: attn.softmax
module {
module {
  func.func @f(%s: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %e = tensor.empty() : tensor<4x6xf32>
    %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
    return %p : tensor<4x6xf32>
  }
}
}
