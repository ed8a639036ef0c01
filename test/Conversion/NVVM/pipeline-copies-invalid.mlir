// RUN: attn-opt %s --attn-pipeline-copies --split-input-file --verify-diagnostics

#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>

// Q has to be packed into a tile: its rows are read again for each key tile.
gpu.module @kernels {
  gpu.func @query(%q: memref<16x32xbf16>, %k: memref<16x32xbf16>, %v: memref<16x32xbf16>, %s: memref<16x16xf32>,
                  %a: memref<16x32xf32>) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected Q in a tile of its own; run attn-tile}}
    attn.product ins(%q, %k : memref<16x32xbf16>, memref<16x32xbf16>) outs(%s : memref<16x16xf32>)
        {contraction = #attn.contraction<scores>}
    attn.product ins(%s, %v : memref<16x16xf32>, memref<16x32xbf16>) outs(%a : memref<16x32xf32>)
        {accumulate, contraction = #attn.contraction<values>}
    gpu.return
  }
}

// -----

#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>

// Scores that nothing multiplies by V are no step.
gpu.module @kernels {
  gpu.func @values(%q: memref<16x32xbf16>, %k: memref<16x32xbf16>, %s: memref<16x16xf32>)
      kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected a product of values behind it; run attn-decompose-step}}
    attn.product ins(%q, %k : memref<16x32xbf16>, memref<16x32xbf16>) outs(%s : memref<16x16xf32>)
        {contraction = #attn.contraction<scores>}
    gpu.return
  }
}

// -----

#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>

// A tile that nobody fills.
gpu.module @kernels {
  gpu.func @packed(%k: memref<16x32xbf16>, %v: memref<16x32xbf16>, %s: memref<16x16xf32>, %a: memref<16x32xf32>)
      kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloca() : memref<16x32xbf16>
    // expected-error @below {{expected Q to be packed once, found 0 times}}
    attn.product ins(%q, %k : memref<16x32xbf16>, memref<16x32xbf16>) outs(%s : memref<16x16xf32>)
        {contraction = #attn.contraction<scores>}
    attn.product ins(%s, %v : memref<16x16xf32>, memref<16x32xbf16>) outs(%a : memref<16x32xf32>)
        {accumulate, contraction = #attn.contraction<values>}
    gpu.return
  }
}

// -----

#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>

// A block has one tile of Q.
gpu.module @kernels {
  gpu.func @two_queries(%k: memref<16x32xbf16>, %v: memref<16x32xbf16>, %s: memref<16x16xf32>, %a: memref<16x32xf32>)
      kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloca() : memref<16x32xbf16>
    %other = memref.alloca() : memref<16x32xbf16>
    attn.product ins(%q, %k : memref<16x32xbf16>, memref<16x32xbf16>) outs(%s : memref<16x16xf32>)
        {contraction = #attn.contraction<scores>}
    attn.product ins(%s, %v : memref<16x16xf32>, memref<16x32xbf16>) outs(%a : memref<16x32xf32>)
        {accumulate, contraction = #attn.contraction<values>}
    // expected-error @below {{expected the tile of Q that the other products of the kernel have}}
    attn.product ins(%other, %k : memref<16x32xbf16>, memref<16x32xbf16>) outs(%s : memref<16x16xf32>)
        {contraction = #attn.contraction<scores>}
    attn.product ins(%s, %v : memref<16x16xf32>, memref<16x32xbf16>) outs(%a : memref<16x32xf32>)
        {accumulate, contraction = #attn.contraction<values>}
    gpu.return
  }
}

// -----

#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>

// One buffer for Q and K: which of the two it has is not known.
gpu.module @kernels {
  gpu.func @one_buffer(%v: memref<16x32xbf16>, %s: memref<16x16xf32>, %a: memref<16x32xf32>)
      kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloca() : memref<16x32xbf16>
    // expected-error @below {{expected its operands in tiles of their own; run attn-tile}}
    attn.product ins(%q, %q : memref<16x32xbf16>, memref<16x32xbf16>) outs(%s : memref<16x16xf32>)
        {contraction = #attn.contraction<scores>}
    attn.product ins(%s, %v : memref<16x16xf32>, memref<16x32xbf16>) outs(%a : memref<16x32xf32>)
        {accumulate, contraction = #attn.contraction<values>}
    gpu.return
  }
}
