// What each phase leaves passes its contract.
// RUN: attn-opt %s --attn-canonicalize --attn-verify-phase=phase=canonicalize \
// RUN:     --attn-verify-phase=phase=fallback --attn-analyze-mask \
// RUN:     --attn-verify-phase=phase=analyze-mask --attn-select-schedule --attn-verify-phase=phase=select-schedule \
// RUN:     --attn-convert-to-online --attn-verify-phase=phase=online --attn-tile --attn-verify-phase=phase=tile \
// RUN:     --one-shot-bufferize=bufferize-function-boundaries --attn-verify-phase=phase=bufferize \
// RUN:     --attn-lower-tile-to-vector --attn-verify-phase=phase=vector | FileCheck %s

// CHECK-LABEL: func @causal(
//   CHECK-NOT:   attn.
//       CHECK:   return
func.func @causal(%q: tensor<4x16xf32>, %v: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = attn.sdpa ins(%q, %q, %v : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
      {causal} -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
