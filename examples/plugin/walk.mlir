// attn inside a stock mlir-opt: nothing of LLVM is rebuilt, the plugin brings the dialect, its interfaces and the passes.
//
// UNSUPPORTED: asan
//
// 1. Let mlir-opt load build/release/lib/libAttnPlugin.so (installed: lib/libAttnPlugin.so), once for the dialect and
//    once for the passes. A plugin's passes go into --pass-pipeline; flags of their own they do not get.
//
//   mlir-opt-22 examples/plugin/walk.mlir \
//     --load-dialect-plugin=build/release/lib/libAttnPlugin.so --load-pass-plugin=build/release/lib/libAttnPlugin.so \
//     --pass-pipeline="builtin.module(func.func(attn-canonicalize))"
//
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline="builtin.module(func.func(attn-canonicalize))" | FileCheck %s --check-prefix=CANONICAL
// CANONICAL: attn.sdpa {{.*}}scale = 1.250000e-01
//
// 2. Passes of attn and of MLIR stand in one pipeline: attention becomes plain linalg, which upstream passes bufferise
//    and lower to loops. This is the reference path, scores in memory.
//
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline="builtin.module(attn-to-reference, one-shot-bufferize{bufferize-function-boundaries}, \
// RUN:     func.func(convert-linalg-to-loops))" | FileCheck %s --check-prefix=LOOPS
// LOOPS-NOT: attn.sdpa
// LOOPS: scf.for
// LOOPS: math.exp
//
// 3. Or it becomes tiles, with the schedule that fits a target, for your own lowering to take further.
//
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline="builtin.module(attn-to-flash{target=x86-64-v4})" | FileCheck %s --check-prefix=TILES
// TILES: scf.forall
// TILES: attn.online_step {{.*}}#attn.prefill<

func.func @attention(%q: tensor<8x128x64xf32>, %k: tensor<8x256x64xf32>, %v: tensor<8x256x64xf32>)
    -> tensor<8x128x64xf32> {
  %o = tensor.empty() : tensor<8x128x64xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<8x128x64xf32>, tensor<8x256x64xf32>, tensor<8x256x64xf32>)
      outs(%o : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
  return %out : tensor<8x128x64xf32>
}
