// Sums of weights a key: a V of one column becomes as wide as a copy of 16 bytes.

// RUN: attnc --problem="hq2 sq16 sk32 d64 bf16 out=key_sums" --stop-after=analyze-mask -o - | attn-opt --attn-pad-key-sums \
// RUN:   | FileCheck %s

// CHECK-LABEL: func.func @sdpa
//       CHECK: attn.sdpa_backward
//  CHECK-SAME: tensor<1x2x32x8xbf16>
//       CHECK: tensor.extract_slice %{{.*}}[0, 0, 0, 0] [1, 2, 32, 1] [1, 1, 1, 1] : tensor<1x2x32x8xf32> to tensor<1x2x32x1xf32>
