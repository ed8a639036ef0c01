// RUN: attn-opt %s --attn-pipeline-copies --split-input-file --verify-diagnostics

// Gradients whose scores come from outside.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @scores(%s: memref<16x16xf32>, %lse: memref<16xf32>) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected the products of its scores in front of it; run attn-decompose-step}}
    attn.score_gradients ins(%s, %lse : memref<16x16xf32>, memref<16xf32>) weights(%s : memref<16x16xf32>)
    gpu.return
  }
}

// -----

// The rows of the block are read from global memory for each tile of columns.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @rows(%q: memref<16x32xbf16>, %k: memref<16x32xbf16>, %s: memref<16x16xf32>, %lse: memref<16xf32>)
      kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected the rows of its block in a tile of their own; run attn-tile}}
    attn.product ins(%q, %k : memref<16x32xbf16>, memref<16x32xbf16>) outs(%s : memref<16x16xf32>)
        {contraction = #attn.contraction<scores>}
    attn.score_gradients ins(%s, %lse : memref<16x16xf32>, memref<16xf32>) weights(%s : memref<16x16xf32>)
    gpu.return
  }
}

// -----

// So are the columns.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @columns(%q: memref<16x32xbf16>, %k: memref<16x32xbf16>, %s: memref<16x16xf32>, %lse: memref<16xf32>)
      kernel attributes {attn.schedule = #schedule} {
    %packed = memref.alloca() : memref<16x32xbf16>
    attn.pack ins(%q : memref<16x32xbf16>) outs(%packed : memref<16x32xbf16>)
    attn.product ins(%packed, %k : memref<16x32xbf16>, memref<16x32xbf16>) outs(%s : memref<16x16xf32>)
        {contraction = #attn.contraction<scores>}
    // expected-error @below {{expected its columns in tiles of their own; run attn-tile}}
    attn.score_gradients ins(%s, %lse : memref<16x16xf32>, memref<16xf32>) weights(%s : memref<16x16xf32>)
    gpu.return
  }
}
