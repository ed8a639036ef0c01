// Debian's own mlir-opt runs the dialect, the passes and their pipelines out of the plugin.

// UNSUPPORTED: asan
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline="builtin.module(func.func(attn-fuse))" | FileCheck %s --check-prefix=FUSE
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline="builtin.module(attn-to-flash{target=x86-64-v3}, canonicalize)" \
// RUN:   | FileCheck %s --check-prefix=FLASH
// The interface models come with the dialect: upstream bufferisation takes attn ops.
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline="builtin.module(func.func(attn-fuse), one-shot-bufferize{bufferize-function-boundaries})" \
// RUN:   | FileCheck %s --check-prefix=BUFFER

// FUSE-LABEL: func @chain
// FUSE-NOT: attn.scores
// FUSE: attn.sdpa
// FUSE-NOT: attn.apply

// FLASH-LABEL: func @chain
// FLASH: scf.forall
// FLASH: attn.online_step
// FLASH: attn.finalize

// BUFFER-LABEL: func @chain
// BUFFER: attn.sdpa ins({{.*}} : memref<2x4x16xf32
func.func @chain(%q: tensor<2x4x16xf32>, %k: tensor<2x6x16xf32>, %v: tensor<2x6x8xf32>) -> tensor<2x4x8xf32> {
  %scores = tensor.empty() : tensor<2x4x6xf32>
  %init = tensor.empty() : tensor<2x4x8xf32>
  %s = attn.scores ins(%q, %k : tensor<2x4x16xf32>, tensor<2x6x16xf32>) outs(%scores : tensor<2x4x6xf32>)
      -> tensor<2x4x6xf32>
  %t = attn.scale ins(%s : tensor<2x4x6xf32>) outs(%scores : tensor<2x4x6xf32>) {scale = 0.25 : f64}
      -> tensor<2x4x6xf32>
  %p = attn.softmax ins(%t : tensor<2x4x6xf32>) outs(%scores : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %o = attn.apply ins(%p, %v : tensor<2x4x6xf32>, tensor<2x6x8xf32>) outs(%init : tensor<2x4x8xf32>)
      -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}
