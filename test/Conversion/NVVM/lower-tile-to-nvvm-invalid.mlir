// RUN: attn-opt %s --attn-lower-tile-to-nvvm=target=sm_90a --split-input-file --verify-diagnostics

// What each op of a kernel needs from those in front of it.

// A step that is one op.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @whole_step(%q: memref<16x32xbf16>, %a: memref<16x32xf32>, %m: memref<16xf32>) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected small ops; run attn-decompose-step}}
    attn.online_step ins(%q, %q, %q : memref<16x32xbf16>, memref<16x32xbf16>, memref<16x32xbf16>)
        outs(%a, %m, %m : memref<16x32xf32>, memref<16xf32>, memref<16xf32>) {schedule = #schedule}
    gpu.return
  }
}

// -----

// An op of the chain.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @chain(%s: memref<16x16xf32>) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{no GPU lowering takes this op; compile it for a CPU}}
    attn.softmax ins(%s : memref<16x16xf32>) outs(%s : memref<16x16xf32>)
    gpu.return
  }
}

// -----

// Q and K in global memory.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @global(%q: memref<16x32xbf16>, %s: memref<16x16xf32>) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected tiles in shared memory; run attn-pipeline-copies}}
    attn.product ins(%q, %q : memref<16x32xbf16>, memref<16x32xbf16>) outs(%s : memref<16x16xf32>)
        {contraction = #attn.contraction<scores>}
    gpu.return
  }
}

// -----

// Scores begin at 0.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @accumulate(%s: memref<16x16xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    // expected-error @below {{expected accumulate on a product of values alone}}
    attn.product ins(%q, %k : !tile, !tile) outs(%s : memref<16x16xf32>)
        {accumulate, contraction = #attn.contraction<scores>}
    gpu.return
  }
}

// -----

// mma multiplies 16 bits.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xf32, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @types(%s: memref<16x16xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    // expected-error @below {{expected an instruction that multiplies 'f32'}}
    attn.product ins(%q, %k : !tile, !tile) outs(%s : memref<16x16xf32>) {contraction = #attn.contraction<scores>}
    gpu.return
  }
}

// -----

// mma has ended when the next instruction begins.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @async(%s: memref<16x16xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    // expected-error @below {{expected instruction = wgmma beside async, found mma}}
    attn.product ins(%q, %k : !tile, !tile) outs(%s : memref<16x16xf32>)
        {async, contraction = #attn.contraction<scores>}
    gpu.return
  }
}

// -----

// Two head sizes.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @sizes(%s: memref<16x16xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    %h = memref.alloc() : memref<16x16xbf16, #gpu.address_space<workgroup>>
    attn.product ins(%q, %k : !tile, !tile) outs(%s : memref<16x16xf32>) {contraction = #attn.contraction<scores>}
    // expected-error @below {{expected the tiles of a kernel to have the same sizes}}
    attn.product ins(%h, %h : memref<16x16xbf16, #gpu.address_space<workgroup>>,
                              memref<16x16xbf16, #gpu.address_space<workgroup>>) outs(%s : memref<16x16xf32>)
        {contraction = #attn.contraction<scores>}
    gpu.return
  }
}

// -----

// Nobody waits for the scores.
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma>
!query = memref<64x32xbf16, #gpu.address_space<workgroup>>
!key = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @unfinished(%s: memref<64x16xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !query
    %k = memref.alloc() : !key
    // expected-error @below {{expected an attn.wait_product of its output behind it, in its block}}
    attn.product ins(%q, %k : !query, !key) outs(%s : memref<64x16xf32>)
        {async, contraction = #attn.contraction<scores>}
    gpu.return
  }
}

// -----

// Nothing was started.
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma>
gpu.module @kernels {
  gpu.func @not_started(%s: memref<64x16xf32>) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected an attn.product with async of the same output in front of it, in its block}}
    attn.wait_product %s : memref<64x16xf32>
    gpu.return
  }
}

// -----

// A stage of a tile that no producer fills.
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @stage(%token: !attn.token, %k: !tile) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected stages of tiles that a producer fills; run attn-specialize-warps}}
    attn.wait %token stages(%k : !tile)
    gpu.return
  }
}

// -----

#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @release(%k: !tile) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected a tile that a producer fills; run attn-specialize-warps}}
    attn.release %k : !tile
    gpu.return
  }
}

// -----

// A box is copied into one of the stages.
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @box(%x: memref<16x32xbf16>, %map: !llvm.ptr, %s: memref<64x16xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : memref<64x32xbf16, #gpu.address_space<workgroup>>
    %k = memref.alloc() : !tile
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected a tile with stages beside box; run attn-split-roles}}
    %t = attn.copy ins(%x : memref<16x32xbf16>) outs(%k : !tile) box(%map : !llvm.ptr) [%c0, %c0] : !attn.token
    attn.product ins(%q, %k : memref<64x32xbf16, #gpu.address_space<workgroup>>, !tile) outs(%s : memref<64x16xf32>)
        {contraction = #attn.contraction<scores>}
    gpu.return
  }
}

// -----

// Shared memory has room for the stages of the schedule.
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma, stages = 2>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @stages(%s: memref<64x16xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : memref<64x32xbf16, #gpu.address_space<workgroup>>
    %k = memref.alloc() : !tile
    // expected-error @below {{expected the stages of the kernel's schedule, 2, found 3}}
    attn.warp_roles stages(3 of %k : !tile) producer {
    } consumer {
      attn.product ins(%q, %k : memref<64x32xbf16, #gpu.address_space<workgroup>>, !tile) outs(%s : memref<64x16xf32>)
          {contraction = #attn.contraction<scores>}
    }
    gpu.return
  }
}

// -----

// Stages that nobody multiplies.
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @unread() kernel attributes {attn.schedule = #schedule} {
    %k = memref.alloc() : !tile
    // expected-error @below {{expected tiles in shared memory that an attn.product of the consumers reads}}
    attn.warp_roles stages(1 of %k : !tile) producer {
    } consumer {
    }
    gpu.return
  }
}

// -----

// No factor is left for acc.
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma>
gpu.module @kernels {
  gpu.func @rescale(%a: memref<64x32xf32>) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected an attn.wait_product of acc in front of it, in its block, behind an attn.rescale with deferred}}
    attn.rescale_acc %a : memref<64x32xf32>
    gpu.return
  }
}

// -----

// Weights are kept for a product of another round.
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma>
!query = memref<64x32xbf16, #gpu.address_space<workgroup>>
!key = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @kept(%s: memref<64x16xf32>, %p: memref<64x16xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !query
    %k = memref.alloc() : !key
    attn.product ins(%q, %k : !query, !key) outs(%s : memref<64x16xf32>) {contraction = #attn.contraction<scores>}
    // expected-error @below {{expected a copy of weights for an attn.product of wgmma}}
    memref.copy %s, %p : memref<64x16xf32> to memref<64x16xf32>
    gpu.return
  }
}

// -----

// Scores that no product has made.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @scores(%s: memref<16x16xf32>, %a: memref<16x32xf32>, %m: memref<16xf32>, %l: memref<16xf32>,
                   %n: memref<16xf32>) kernel attributes {attn.schedule = #schedule} {
    attn.init_state outs(%a, %m, %l : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
    // expected-error @below {{expected the scores of an attn.product in front of it, in its block}}
    attn.row_max ins(%s, %m : memref<16x16xf32>, memref<16xf32>) outs(%n : memref<16xf32>)
    gpu.return
  }
}

// -----

// A state that nothing begins.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @state(%s: memref<16x16xf32>, %m: memref<16xf32>, %n: memref<16xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    attn.product ins(%q, %k : !tile, !tile) outs(%s : memref<16x16xf32>) {contraction = #attn.contraction<scores>}
    // expected-error @below {{expected row_max and row_sum of an attn.init_state of the kernel}}
    attn.row_max ins(%s, %m : memref<16x16xf32>, memref<16xf32>) outs(%n : memref<16xf32>)
    gpu.return
  }
}

// -----

// Maxima that no attn.row_max has made.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @maxima(%s: memref<16x16xf32>, %a: memref<16x32xf32>, %m: memref<16xf32>, %l: memref<16xf32>,
                  %n: memref<16xf32>) kernel attributes {attn.schedule = #schedule} {
    attn.init_state outs(%a, %m, %l : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
    // expected-error @below {{expected the maxima of an attn.row_max in front of it, in its block}}
    attn.rescale ins(%n : memref<16xf32>) outs(%a, %m, %l : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
    gpu.return
  }
}

// -----

// acc would be rescaled when the product of values has ended.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @deferred(%s: memref<16x16xf32>, %a: memref<16x32xf32>, %m: memref<16xf32>, %l: memref<16xf32>,
                  %n: memref<16xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    attn.init_state outs(%a, %m, %l : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
    attn.product ins(%q, %k : !tile, !tile) outs(%s : memref<16x16xf32>) {contraction = #attn.contraction<scores>}
    attn.row_max ins(%s, %m : memref<16x16xf32>, memref<16xf32>) outs(%n : memref<16xf32>)
    // expected-error @below {{expected an attn.product with async of acc in front of it, in its block, beside deferred}}
    attn.rescale ins(%n : memref<16xf32>) outs(%a, %m, %l : memref<16x32xf32>, memref<16xf32>, memref<16xf32>) {deferred}
    gpu.return
  }
}

// -----

// acc keeps the maximum that it had.
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @unscaled(%s: memref<64x16xf32>, %a: memref<64x32xf32>, %m: memref<64xf32>, %l: memref<64xf32>,
                     %n: memref<64xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : memref<64x32xbf16, #gpu.address_space<workgroup>>
    %k = memref.alloc() : !tile
    %v = memref.alloc() : !tile
    attn.init_state outs(%a, %m, %l : memref<64x32xf32>, memref<64xf32>, memref<64xf32>)
    attn.product ins(%q, %k : memref<64x32xbf16, #gpu.address_space<workgroup>>, !tile) outs(%s : memref<64x16xf32>)
        {contraction = #attn.contraction<scores>}
    // expected-error @below {{expected an attn.rescale_acc of its output behind its attn.wait_product, as an attn.rescale is deferred}}
    attn.product ins(%s, %v : memref<64x16xf32>, !tile) outs(%a : memref<64x32xf32>)
        {accumulate, async, contraction = #attn.contraction<values>}
    attn.row_max ins(%s, %m : memref<64x16xf32>, memref<64xf32>) outs(%n : memref<64xf32>)
    attn.rescale ins(%n : memref<64xf32>) outs(%a, %m, %l : memref<64x32xf32>, memref<64xf32>, memref<64xf32>) {deferred}
    attn.wait_product %a : memref<64x32xf32>
    gpu.return
  }
}

// -----

// The maximum is that of other scores.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @scale(%s: memref<16x16xf32>, %a: memref<16x32xf32>, %m: memref<16xf32>, %l: memref<16xf32>,
                  %n: memref<16xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    attn.init_state outs(%a, %m, %l : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
    attn.product ins(%q, %k : !tile, !tile) outs(%s : memref<16x16xf32>) {contraction = #attn.contraction<scores>}
    attn.row_max ins(%s, %m : memref<16x16xf32>, memref<16xf32>) outs(%n : memref<16xf32>) {scale = 0.5 : f64}
    // expected-error @below {{expected the scale and the scores that the attn.row_max of its maximum has}}
    attn.weights ins(%s, %n : memref<16x16xf32>, memref<16xf32>) outs(%s, %l : memref<16x16xf32>, memref<16xf32>)
    gpu.return
  }
}

// -----

// More rows than the block has.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @rows(%a: memref<32x32xf32>, %m: memref<32xf32>, %l: memref<32xf32>) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected at most 16 rows, those of the schedule's block, found 32}}
    attn.init_state outs(%a, %m, %l : memref<32x32xf32>, memref<32xf32>, memref<32xf32>)
    gpu.return
  }
}

// -----

// Keys that nothing multiplies.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @copy(%x: memref<16x32xbf16>) kernel attributes {attn.schedule = #schedule} {
    %k = memref.alloc() : !tile
    // expected-error @below {{expected the tile of an attn.product in shared memory}}
    %t = attn.copy ins(%x : memref<16x32xbf16>) outs(%k : !tile) : !attn.token
    gpu.return
  }
}

// -----

// Sums of gradients begin at 0.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @ones(%a: memref<16x32xf32>) kernel attributes {attn.schedule = #schedule} {
    %one = arith.constant 1.0 : f32
    // expected-error @below {{expected zeros, the start of sums in registers}}
    linalg.fill ins(%one : f32) outs(%a : memref<16x32xf32>)
    gpu.return
  }
}

// -----

// Sums that nothing has set to 0.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @sums(%a: memref<16x32xf32>, %o: memref<16x32xbf16>) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected sums of a block, which linalg.fill has set to 0; run attn-pipeline-copies}}
    attn.pack ins(%a : memref<16x32xf32>) outs(%o : memref<16x32xbf16>)
    gpu.return
  }
}

// -----

// Pages that are gathered into no tile of keys.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @pages(%cache: memref<3x8x2x16xbf16>, %table: memref<1x2xi32>, %n: memref<1xi32>,
                  %o: memref<1x2x16x16xbf16>) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected the tile of keys of an attn.product; run attn-tile}}
    attn.gather_pages ins(%cache, %table : memref<3x8x2x16xbf16>, memref<1x2xi32>) lengths(%n : memref<1xi32>)
        outs(%o : memref<1x2x16x16xbf16>) {page_layout = #attn.page_layout<nhd>}
    gpu.return
  }
}
