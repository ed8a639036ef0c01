// Where a register kernel is narrower than a tile, V of a tile leaves two of eight ways of the first-level cache to the
// rest, and rows of Q^T are a line further apart than they are long.
// RUN: attn-opt %s --attn-canonicalize --attn-select-schedule=target=x86-64-v3 | FileCheck %s
// RUN: attn-opt %s --attn-to-flash=target=x86-64-v3 | FileCheck %s --check-prefix=TILE
// RUN: attn-opt %s --attn-canonicalize --attn-select-schedule=target=x86-64-v4 | FileCheck %s --check-prefix=WIDE

// 512 bytes: 8 sets, 6 ways of each.
// CHECK-LABEL: func.func @powers_of_two
// CHECK: key_tile = 48
// TILE-LABEL: func.func @powers_of_two
// TILE: %[[ROWS:.*]] = tensor.empty() : tensor<1x128x80xf32>
// TILE: tensor.extract_slice %[[ROWS]][0, 0, 0] [1, 128, 64] [1, 1, 1]
// WIDE-LABEL: func.func @powers_of_two
// WIDE: key_tile = 64
func.func @powers_of_two(%q: tensor<1x1024x128xf32>, %k: tensor<1x1024x128xf32>) -> tensor<1x1024x128xf32> {
  %o = tensor.empty() : tensor<1x1024x128xf32>
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x1024x128xf32>, tensor<1x1024x128xf32>, tensor<1x1024x128xf32>)
      outs(%o : tensor<1x1024x128xf32>) -> tensor<1x1024x128xf32>
  return %r : tensor<1x1024x128xf32>
}

// 320 bytes fall on all sets.
// CHECK-LABEL: func.func @odd_lines
// CHECK: key_tile = 64
func.func @odd_lines(%q: tensor<1x1024x80xf32>, %k: tensor<1x1024x80xf32>) -> tensor<1x1024x80xf32> {
  %o = tensor.empty() : tensor<1x1024x80xf32>
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x1024x80xf32>, tensor<1x1024x80xf32>, tensor<1x1024x80xf32>)
      outs(%o : tensor<1x1024x80xf32>) -> tensor<1x1024x80xf32>
  return %r : tensor<1x1024x80xf32>
}
