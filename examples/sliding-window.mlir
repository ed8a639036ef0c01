// A sliding window: each query sees the 256 keys that end at its own place.
//
// Bounds of a window are inclusive distances from the diagonal, so W keys that end at the query are left = W - 1 and
// right = 0. Work outside the window is not done: of the 64 x 64 tiles of 64 queries and 64 keys only those on a band
// are visited, and the remark says how many.
//
//   attnc run examples/sliding-window.mlir --check
//   attnc run examples/sliding-window.mlir --remarks=all
//
// RUN: attnc run %s --check --fail-on-fallback | FileCheck %s --check-prefix=NUMBERS
// RUN: attnc %s -o %t.o --target=x86-64-v3 --remarks=all 2>&1 | FileCheck %s
//
// NUMBERS: output: largest error {{.*}}: ok
// CHECK: mask-analyzed: predicate: {{.*}} 2 became key ranges, 0 are tested on every key
// CHECK: tiled: flash loop over tiles of 64 queries and 64 keys: 186 full, 124 partial, 3786 skipped per head
func.func @sliding_window(%q: tensor<1x2x4096x64xf32>, %k: tensor<1x2x4096x64xf32>, %v: tensor<1x2x4096x64xf32>)
    -> tensor<1x2x4096x64xf32> {
  %o = tensor.empty() : tensor<1x2x4096x64xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<1x2x4096x64xf32>, tensor<1x2x4096x64xf32>, tensor<1x2x4096x64xf32>)
      outs(%o : tensor<1x2x4096x64xf32>)
      {window = #attn.window<left = 255, right = 0>, align = #attn.causal<top_left>} -> tensor<1x2x4096x64xf32>
  return %out : tensor<1x2x4096x64xf32>
}
