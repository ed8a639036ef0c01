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
    // expected-error @below {{expected accumulate on a product of values in registers alone}}
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
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma, stages = 2, producer = true>
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
    // expected-error @below {{expected tiles in shared memory that the consumers read}}
    attn.warp_roles stages(1 of %k : !tile) producer {
    } consumer {
    }
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

// mma has ended when the next instruction begins.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
!scores = tensor<16x16xf32, #attn.registers>
gpu.module @kernels {
  gpu.func @async() kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    %e = tensor.empty() : !scores
    // expected-error @below {{expected instruction = wgmma beside async, found mma}}
    %s = attn.product ins(%q, %k : !tile, !tile) outs(%e : !scores) {async, contraction = #attn.contraction<scores>} -> !scores
    %t = attn.wait_product %s : !scores
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

// -----

// A tile that no box stores.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @stored(%out: memref<16x32xbf16>) kernel attributes {attn.schedule = #schedule} {
    %tile = memref.alloc() : !tile
    // expected-error @below {{expected box, and from with the first row of the warp, beside a tile in shared memory}}
    %token = attn.copy ins(%tile : !tile) outs(%out : memref<16x32xbf16>) : !attn.token
    gpu.return
  }
}
