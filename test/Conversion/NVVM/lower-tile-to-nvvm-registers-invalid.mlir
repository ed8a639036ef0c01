// RUN: attn-opt %s --attn-lower-tile-to-nvvm=target=sm_80 --split-input-file --verify-diagnostics

// Tiles in registers: what each op needs from those in front of it, and how registers go from op to op.

// Scores in memory.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @memory(%s: memref<16x16xf32>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    // expected-error @below {{expected output in registers; run attn-tiles-to-registers}}
    attn.product ins(%q, %k : !tile, !tile) outs(%s : memref<16x16xf32>) {contraction = #attn.contraction<scores>}
    gpu.return
  }
}

// -----

// A state in memory.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @state_in_memory(%a: memref<16x32xf32>, %m: memref<16xf32>, %l: memref<16xf32>) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected a state in registers; run attn-tiles-to-registers}}
    attn.init_state outs(%a, %m, %l : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
    gpu.return
  }
}

// -----

// Weights are rounded for a product of wgmma.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
!scores = tensor<16x16xf32, #attn.registers>
gpu.module @kernels {
  gpu.func @rounded() kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    %e = tensor.empty() : !scores
    %s = attn.product ins(%q, %k : !tile, !tile) outs(%e : !scores) {contraction = #attn.contraction<scores>} -> !scores
    // expected-error @below {{expected weights for an attn.product of wgmma, of bf16 or f16, found 'bf16'}}
    %p = arith.truncf %s : !scores to tensor<16x16xbf16, #attn.registers>
    gpu.return
  }
}

// -----

// Scores that no product has made.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!scores = tensor<16x16xf32, #attn.registers>
!rows = tensor<16xf32, #attn.registers>
gpu.module @kernels {
  gpu.func @scores() kernel attributes {attn.schedule = #schedule} {
    %s = tensor.empty() : !scores
    // expected-error @below {{expected the scores of an attn.product in registers, found a value of type 'tensor<16x16xf32, #attn.registers>'}}
    %t = attn.map_scores ins(%s : !scores) outs(%s : !scores) {scale = 0.5 : f64} -> !scores
    gpu.return
  }
}

// -----

// A state that nothing begins.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
!scores = tensor<16x16xf32, #attn.registers>
!rows = tensor<16xf32, #attn.registers>
gpu.module @kernels {
  gpu.func @state() kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    %e = tensor.empty() : !scores
    %m = tensor.empty() : !rows
    %s = attn.product ins(%q, %k : !tile, !tile) outs(%e : !scores) {contraction = #attn.contraction<scores>} -> !scores
    // expected-error @below {{expected row_max and row_sum of a state in registers, found a value of type 'tensor<16xf32, #attn.registers>'}}
    %n = attn.row_max ins(%s, %m : !scores, !rows) outs(%m : !rows) -> !rows
    gpu.return
  }
}

// -----

// Maxima that no attn.row_max has made.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!acc = tensor<16x32xf32, #attn.registers>
!rows = tensor<16xf32, #attn.registers>
gpu.module @kernels {
  gpu.func @maxima() kernel attributes {attn.schedule = #schedule} {
    %a = tensor.empty() : !acc
    %n = tensor.empty() : !rows
    %b:3 = attn.init_state outs(%a, %n, %n : !acc, !rows, !rows) -> !acc, !rows, !rows
    // expected-error @below {{expected the maxima of an attn.row_max in registers}}
    %c:3 = attn.rescale ins(%n : !rows) outs(%b#0, %b#1, %b#2 : !acc, !rows, !rows) -> !acc, !rows, !rows
    gpu.return
  }
}

// -----

// The maximum is that of other scores.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
!scores = tensor<16x16xf32, #attn.registers>
!acc = tensor<16x32xf32, #attn.registers>
!rows = tensor<16xf32, #attn.registers>
gpu.module @kernels {
  gpu.func @scale() kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    %e = tensor.empty() : !scores
    %a = tensor.empty() : !acc
    %r = tensor.empty() : !rows
    %b:3 = attn.init_state outs(%a, %r, %r : !acc, !rows, !rows) -> !acc, !rows, !rows
    %s = attn.product ins(%q, %k : !tile, !tile) outs(%e : !scores) {contraction = #attn.contraction<scores>} -> !scores
    %n = attn.row_max ins(%s, %b#1 : !scores, !rows) outs(%r : !rows) {scale = 0.5 : f64} -> !rows
    // expected-error @below {{expected the scale and the scores that the attn.row_max of its maximum has}}
    %p:2 = attn.weights ins(%s, %n : !scores, !rows) outs(%s, %b#2 : !scores, !rows) -> !scores, !rows
    gpu.return
  }
}

// -----

// What rescale has written is the new state: nobody has the old one.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
!scores = tensor<16x16xf32, #attn.registers>
!acc = tensor<16x32xf32, #attn.registers>
!rows = tensor<16xf32, #attn.registers>
gpu.module @kernels {
  gpu.func @old_state(%out: memref<16x32xbf16>) kernel attributes {attn.schedule = #schedule} {
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    %e = tensor.empty() : !scores
    %a = tensor.empty() : !acc
    %r = tensor.empty() : !rows
    %b:3 = attn.init_state outs(%a, %r, %r : !acc, !rows, !rows) -> !acc, !rows, !rows
    %s = attn.product ins(%q, %k : !tile, !tile) outs(%e : !scores) {contraction = #attn.contraction<scores>} -> !scores
    %n = attn.row_max ins(%s, %b#1 : !scores, !rows) outs(%r : !rows) -> !rows
    // expected-error @below {{expected no use behind it of a state that it writes; its result has the registers}}
    %c:3 = attn.rescale ins(%n : !rows) outs(%b#0, %b#1, %b#2 : !acc, !rows, !rows) -> !acc, !rows, !rows
    attn.finalize ins(%b#0, %b#1, %b#2 : !acc, !rows, !rows) outs(%out : memref<16x32xbf16>)
    gpu.return
  }
}

// -----

// The second round would begin with what the first one has written.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!acc = tensor<16x32xf32, #attn.registers>
!rows = tensor<16xf32, #attn.registers>
gpu.module @kernels {
  gpu.func @in_loop(%x: memref<16x32xf32>, %y: memref<16xf32>, %end: index) kernel attributes {attn.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tensor.empty() : !acc
    %r = tensor.empty() : !rows
    %b:3 = attn.init_state outs(%a, %r, %r : !acc, !rows, !rows) -> !acc, !rows, !rows
    scf.for %i = %c0 to %end step %c1 {
      // expected-error @below {{expected no use behind it of a state that it writes; its result has the registers}}
      %c:3 = attn.merge_states ins(%x, %y, %y : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
          outs(%b#0, %b#1, %b#2 : !acc, !rows, !rows) -> !acc, !rows, !rows
    }
    gpu.return
  }
}

// -----

// A loop would carry scores.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
!scores = tensor<16x16xf32, #attn.registers>
gpu.module @kernels {
  gpu.func @carried(%end: index) kernel attributes {attn.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %q = memref.alloc() : !tile
    %k = memref.alloc() : !tile
    %e = tensor.empty() : !scores
    %s = attn.product ins(%q, %k : !tile, !tile) outs(%e : !scores) {contraction = #attn.contraction<scores>} -> !scores
    // expected-error @below {{expected to carry states, sums and rounded weights alone, found another tile}}
    %t = scf.for %i = %c0 to %end step %c1 iter_args(%x = %s) -> (!scores) {
      scf.yield %x : !scores
    }
    gpu.return
  }
}

// -----

// One state or the other.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!acc = tensor<16x32xf32, #attn.registers>
!rows = tensor<16xf32, #attn.registers>
gpu.module @kernels {
  gpu.func @branches(%any: i1) kernel attributes {attn.schedule = #schedule} {
    %a = tensor.empty() : !acc
    %r = tensor.empty() : !rows
    %b:3 = attn.init_state outs(%a, %r, %r : !acc, !rows, !rows) -> !acc, !rows, !rows
    %c:3 = attn.init_state outs(%a, %r, %r : !acc, !rows, !rows) -> !acc, !rows, !rows
    // expected-error @below {{expected branches that yield a state or sums in the same registers}}
    %d = scf.if %any -> (!acc) {
      scf.yield %b#0 : !acc
    } else {
      scf.yield %c#0 : !acc
    }
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

#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @zeros(%a: memref<16x32xf32>) kernel attributes {attn.schedule = #schedule} {
    %zero = arith.constant 0.0 : f32
    // expected-error @below {{expected sums in registers; run attn-tiles-to-registers}}
    linalg.fill ins(%zero : f32) outs(%a : memref<16x32xf32>)
    gpu.return
  }
}

// -----

// Sums that nothing has set to 0.
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!acc = tensor<16x32xf32, #attn.registers>
gpu.module @kernels {
  gpu.func @sums(%a: !acc, %o: memref<16x32xbf16>) kernel attributes {attn.schedule = #schedule} {
    // expected-error @below {{expected a state or sums in registers, found a value of type 'tensor<16x32xf32, #attn.registers>'}}
    attn.pack ins(%a : !acc) outs(%o : memref<16x32xbf16>)
    gpu.return
  }
}
