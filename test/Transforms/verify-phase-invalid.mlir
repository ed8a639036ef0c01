// Each contract, broken: one part of this file a phase.
// RUN: split-file %s %t
// RUN: attn-opt %t/canonicalize.mlir --attn-verify-phase=phase=canonicalize --split-input-file --verify-diagnostics
// RUN: attn-opt %t/fallback.mlir --attn-verify-phase=phase=fallback --split-input-file --verify-diagnostics
// RUN: attn-opt %t/analyze-mask.mlir --attn-verify-phase=phase=analyze-mask --split-input-file --verify-diagnostics
// RUN: attn-opt %t/select-schedule.mlir --attn-verify-phase=phase=select-schedule --split-input-file --verify-diagnostics
// RUN: attn-opt %t/online.mlir --attn-verify-phase=phase=online --split-input-file --verify-diagnostics
// RUN: attn-opt %t/tile.mlir --attn-verify-phase=phase=tile --split-input-file --verify-diagnostics
// RUN: attn-opt %t/bufferize.mlir --attn-verify-phase=phase=bufferize --split-input-file --verify-diagnostics
// RUN: attn-opt %t/vector.mlir --attn-verify-phase=phase=vector --split-input-file --verify-diagnostics
// RUN: attn-opt %t/gpu.mlir --attn-verify-phase=phase=gpu --split-input-file --verify-diagnostics
// RUN: attn-opt %t/steps.mlir --attn-verify-phase=phase=steps --split-input-file --verify-diagnostics
// RUN: attn-opt %t/unknown.mlir --attn-verify-phase=phase=lunch --verify-diagnostics

//--- canonicalize.mlir

// The default scale is still implied.
func.func @f(%q: tensor<4x16xf32>, %v: tensor<4x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{expected a scale after phase canonicalize; run attn-canonicalize}}
  %r = attn.sdpa ins(%q, %q, %v : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

// It depends on a size that only a call knows.
func.func @f(%q: tensor<4x?xf32>, %v: tensor<4x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{expected a scale where the head size is dynamic; write scale = … or scale_value(…)}}
  %r = attn.sdpa ins(%q, %q, %v : tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

//--- fallback.mlir

// A step of the chain that was not fused.
func.func @f(%s: tensor<4x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{expected no op of the chain after phase fallback; fuse it into attn.sdpa (attn-fuse says why it did not)}}
  %r = attn.softmax ins(%s : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

//--- analyze-mask.mlir

// Nobody has said which keys are visited.
func.func @f(%q: tensor<4x16xf32>, %v: tensor<4x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{expected key ranges after phase analyze-mask; run attn-analyze-mask}}
  %r = attn.sdpa ins(%q, %q, %v : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

// The mask has a name still.
func.func @f(%q: tensor<4x16xf32>, %v: tensor<4x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{expected no word of masks, sinks, origins or score functions after phase analyze-mask; run attn-analyze-mask}}
  %r = attn.sdpa ins(%q, %q, %v : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
      {causal} key_ranges {
    %c = arith.constant 0 : index
    attn.yield %c, %c, %c, %c : index, index, index, index
  } -> tensor<4x8xf32>
  return
}

//--- select-schedule.mlir

// No tile sizes.
func.func @f(%q: tensor<4x16xf32>, %v: tensor<4x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{expected a schedule after phase select-schedule; run attn-select-schedule}}
  %r = attn.sdpa ins(%q, %q, %v : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

//--- online.mlir

// sdpa is left.
func.func @f(%q: tensor<4x16xf32>, %v: tensor<4x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{expected no attn.sdpa after phase online; run attn-convert-to-online}}
  %r = attn.sdpa ins(%q, %q, %v : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

//--- tile.mlir

// A step over all keys, outside of any loop.
func.func @f(%q: tensor<4x16xf32>, %v: tensor<4x8xf32>, %a: tensor<4x8xf32>, %m: tensor<4xf32>) {
  // expected-error @below {{expected the query rows of its schedule's tile after phase tile; run attn-tile}}
  %r, %x, %y = attn.online_step ins(%q, %q, %v : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>)
      outs(%a, %m, %m : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// A step of two key tiles: the loop is not made.
func.func @f(%q: tensor<1x16xf32>, %k: tensor<32x16xf32>, %a: tensor<1x16xf32>, %m: tensor<1xf32>) {
  // expected-error @below {{expected one key tile a step after phase tile, of at most as many keys as its schedule says; run attn-tile}}
  %r, %x, %y = attn.online_step ins(%q, %k, %k : tensor<1x16xf32>, tensor<32x16xf32>, tensor<32x16xf32>)
      outs(%a, %m, %m : tensor<1x16xf32>, tensor<1xf32>, tensor<1xf32>)
      {schedule = #attn.decode<query_tile = 1, key_tile = 16, lanes = 4, block_queries = 1>}
      -> tensor<1x16xf32>, tensor<1xf32>, tensor<1xf32>
  return
}

// -----

// A number of keys that nothing bounds.
func.func @f(%q: tensor<1x16xf32>, %k: tensor<320x16xf32>, %n: index, %a: tensor<1x16xf32>, %m: tensor<1xf32>) {
  %c32 = arith.constant 32 : index
  %count = arith.minsi %n, %c32 : index
  %part = tensor.extract_slice %k[0, 0] [%count, 16] [1, 1] : tensor<320x16xf32> to tensor<?x16xf32>
  // expected-error @below {{expected one key tile a step after phase tile, of at most as many keys as its schedule says; run attn-tile}}
  %r, %x, %y = attn.online_step ins(%q, %part, %part : tensor<1x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>)
      outs(%a, %m, %m : tensor<1x16xf32>, tensor<1xf32>, tensor<1xf32>)
      {schedule = #attn.decode<query_tile = 1, key_tile = 16, lanes = 4, block_queries = 1>}
      -> tensor<1x16xf32>, tensor<1xf32>, tensor<1xf32>
  return
}

// -----

// Keys whose number is no size of a tile.
func.func @f(%q: tensor<1x16xf32>, %k: tensor<?x16xf32>, %a: tensor<1x16xf32>, %m: tensor<1xf32>) {
  // expected-error @below {{expected one key tile a step after phase tile, of at most as many keys as its schedule says; run attn-tile}}
  %r, %x, %y = attn.online_step ins(%q, %k, %k : tensor<1x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>)
      outs(%a, %m, %m : tensor<1x16xf32>, tensor<1xf32>, tensor<1xf32>)
      {schedule = #attn.decode<query_tile = 1, key_tile = 16, lanes = 4, block_queries = 1>}
      -> tensor<1x16xf32>, tensor<1xf32>, tensor<1xf32>
  return
}

//--- bufferize.mlir

// A tensor.
func.func @f() {
  // expected-error @below {{expected no tensors after phase bufferize; run one-shot-bufferize}}
  %r = tensor.empty() : tensor<4x8xf32>
  return
}

//--- vector.mlir

// An op that no lowering took.
func.func @f(%s: memref<4x8xf32>) {
  // expected-error @below {{expected no attn op after phase vector; no CPU lowering took it}}
  attn.softmax ins(%s : memref<4x8xf32>) outs(%s : memref<4x8xf32>)
  return
}

//--- gpu.mlir

// A loop that is no kernel yet.
func.func @loop() {
  // expected-error @below {{expected no scf.forall after phase gpu, whose rounds are the blocks of a kernel; run attn-map-to-gpu}}
  scf.forall (%i) in (4) {
  }
  return
}

// -----

// The host computes.
func.func @host(%s: memref<4x8xf32>) {
  // expected-error @below {{expected attn ops in kernels alone after phase gpu; run attn-map-to-gpu}}
  attn.softmax ins(%s : memref<4x8xf32>) outs(%s : memref<4x8xf32>)
  return
}

// -----

// Nobody has said how many warps the block has.
gpu.module @kernels {
  // expected-error @below {{expected attn.schedule = #attn.block<…> on a kernel with attn ops after phase gpu}}
  gpu.func @warps() kernel {
    %a = memref.alloca() : memref<16x32xf32>
    %m = memref.alloca() : memref<16xf32>
    attn.init_state outs(%a, %m, %m : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
    gpu.return
  }
}

// -----

// The step has more keys than the kernel's tiles.
#block = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
#step = #attn.block<query_tile = 16, key_tile = 32, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @tiles() kernel attributes {attn.schedule = #block} {
    %q = memref.alloca() : memref<16x32xbf16>
    %k = memref.alloca() : memref<32x32xbf16>
    %a = memref.alloca() : memref<16x32xf32>
    %m = memref.alloca() : memref<16xf32>
    // expected-error @below {{expected the schedule that attn.schedule of its kernel is after phase gpu}}
    attn.online_step ins(%q, %k, %k : memref<16x32xbf16>, memref<32x32xbf16>, memref<32x32xbf16>)
        outs(%a, %m, %m : memref<16x32xf32>, memref<16xf32>, memref<16xf32>) {schedule = #step}
    gpu.return
  }
}

// -----

// A memref is several parameters of a launch.
gpu.module @kernels {
  // expected-error @below {{expected pointers and numbers as parameters of a kernel after phase gpu, and memrefs made of them}}
  gpu.func @parameters(%q: memref<16x32xbf16>) kernel {
    gpu.return
  }
}

// -----

// Ops of a step stand beside the whole one.
#block = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @mixed() kernel attributes {attn.schedule = #block} {
    %q = memref.alloca() : memref<16x32xbf16>
    %a = memref.alloca() : memref<16x32xf32>
    %m = memref.alloca() : memref<16xf32>
    // expected-error @below {{expected in a kernel after phase gpu only ops on whole tiles (attn.online_step, attn.backward_step and what stands around them), found another one; run attn-map-to-gpu}}
    attn.take_turn
    attn.online_step ins(%q, %q, %q : memref<16x32xbf16>, memref<16x32xbf16>, memref<16x32xbf16>)
        outs(%a, %m, %m : memref<16x32xf32>, memref<16xf32>, memref<16xf32>) {schedule = #block}
    gpu.return
  }
}

// -----

// Scores would be in memory.
gpu.module @kernels {
  gpu.func @tensors() {
    // expected-error @below {{expected memrefs alone in a kernel after phase gpu; run one-shot-bufferize}}
    %s = tensor.empty() : tensor<16x16xf32>
    gpu.return
  }
}

//--- steps.mlir

// Scores of one op are looked for by the next one.
gpu.module @kernels {
  gpu.func @memory(%qt: memref<16x32xbf16, #gpu.address_space<workgroup>>, %s: memref<16x16xf32>) {
    // expected-error @below {{expected products of tiles in registers after phase steps; run attn-tiles-to-registers}}
    attn.product ins(%qt, %qt : memref<16x32xbf16, #gpu.address_space<workgroup>>,
                                memref<16x32xbf16, #gpu.address_space<workgroup>>) outs(%s : memref<16x16xf32>)
        {contraction = #attn.contraction<scores>}
    gpu.return
  }
}

// -----

// Nobody tells the producer that K has been read.
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @kept(%k: memref<16x32xbf16>, %map: !llvm.ptr, %i: index, %qt: !tile, %kt: !tile, %s: tensor<16x16xf32, #attn.registers>) {
    attn.warp_roles stages(2 of %kt : !tile) producer {
      %token = attn.copy ins(%k : memref<16x32xbf16>) outs(%kt : !tile) box(%map : !llvm.ptr) [%i, %i] : !attn.token
    } consumer {
      // expected-error @below {{expected an attn.release of each of its stages behind the last reader, in front of the next wait of the tile, found none; write attn.release %tile : …}}
      attn.wait stages(%kt : !tile)
      %p0 = attn.product ins(%qt, %kt : !tile, !tile) outs(%s : tensor<16x16xf32, #attn.registers>)
          {contraction = #attn.contraction<scores>} -> tensor<16x16xf32, #attn.registers>
    }
    gpu.return
  }
}

// -----

// The stage that is released is the second one.
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @late(%token: !attn.token, %kt: !tile) {
    // expected-error @below {{expected an attn.release of each of its stages}}
    attn.wait %token stages(%kt : !tile)
    attn.wait %token stages(%kt : !tile)
    attn.release %kt : !tile
    gpu.return
  }
}

// -----

// K is written while the product reads it.
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @early(%k: memref<16x32xbf16>, %map: !llvm.ptr, %i: index, %qt: !tile, %kt: !tile, %s: tensor<16x16xf32, #attn.registers>) {
    attn.warp_roles stages(2 of %kt : !tile) producer {
      %token = attn.copy ins(%k : memref<16x32xbf16>) outs(%kt : !tile) box(%map : !llvm.ptr) [%i, %i] : !attn.token
    } consumer {
      attn.wait stages(%kt : !tile)
      // expected-error @below {{expected an attn.wait of the stages that it reads in front of it, and their attn.release behind it, or behind its attn.wait_product, found one not waited for or released; write attn.wait stages(%tile : …)}}
      %s0 = attn.product ins(%qt, %kt : !tile, !tile) outs(%s : tensor<16x16xf32, #attn.registers>)
          {async, contraction = #attn.contraction<scores>} -> tensor<16x16xf32, #attn.registers>
      attn.release %kt : !tile
      %s1 = attn.wait_product %s0 : tensor<16x16xf32, #attn.registers>
    }
    gpu.return
  }
}

// -----

// K may not have arrived.
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @unawaited(%k: memref<16x32xbf16>, %map: !llvm.ptr, %i: index, %qt: !tile, %kt: !tile,
                      %s: tensor<16x16xf32, #attn.registers>) {
    attn.warp_roles stages(2 of %kt : !tile) producer {
      %token = attn.copy ins(%k : memref<16x32xbf16>) outs(%kt : !tile) box(%map : !llvm.ptr) [%i, %i] : !attn.token
    } consumer {
      // expected-error @below {{expected an attn.wait of the stages that it reads in front of it}}
      %p1 = attn.product ins(%qt, %kt : !tile, !tile) outs(%s : tensor<16x16xf32, #attn.registers>)
          {contraction = #attn.contraction<scores>} -> tensor<16x16xf32, #attn.registers>
    }
    gpu.return
  }
}

// -----

// The first round gives back what the second one reads.
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @rounds(%k: memref<16x32xbf16>, %map: !llvm.ptr, %i: index, %qt: !tile, %kt: !tile, %s: tensor<16x16xf32, #attn.registers>) {
    attn.warp_roles stages(2 of %kt : !tile) producer {
      %token = attn.copy ins(%k : memref<16x32xbf16>) outs(%kt : !tile) box(%map : !llvm.ptr) [%i, %i] : !attn.token
    } consumer {
      attn.wait stages(%kt : !tile)
      %p = scf.for %j = %i to %i step %i iter_args(%sum = %s) -> tensor<16x16xf32, #attn.registers> {
        // expected-error @below {{expected an attn.wait of the stages that it reads in front of it}}
        %p2 = attn.product ins(%qt, %kt : !tile, !tile) outs(%sum : tensor<16x16xf32, #attn.registers>)
            {contraction = #attn.contraction<scores>} -> tensor<16x16xf32, #attn.registers>
        attn.release %kt : !tile
        scf.yield %p2 : tensor<16x16xf32, #attn.registers>
      }
      attn.release %kt : !tile
    }
    gpu.return
  }
}

// -----

// The second product reads what the first one has given back.
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @twice(%k: memref<16x32xbf16>, %map: !llvm.ptr, %i: index, %qt: !tile, %kt: !tile, %s: tensor<16x16xf32, #attn.registers>) {
    attn.warp_roles stages(2 of %kt : !tile) producer {
      %token = attn.copy ins(%k : memref<16x32xbf16>) outs(%kt : !tile) box(%map : !llvm.ptr) [%i, %i] : !attn.token
    } consumer {
      attn.wait stages(%kt : !tile)
      %p2 = attn.product ins(%qt, %kt : !tile, !tile) outs(%s : tensor<16x16xf32, #attn.registers>)
          {contraction = #attn.contraction<scores>} -> tensor<16x16xf32, #attn.registers>
      attn.release %kt : !tile
      // expected-error @below {{expected an attn.wait of the stages that it reads in front of it}}
      %p3 = attn.product ins(%qt, %kt : !tile, !tile) outs(%p2 : tensor<16x16xf32, #attn.registers>)
          {accumulate, contraction = #attn.contraction<scores>} -> tensor<16x16xf32, #attn.registers>
    }
    gpu.return
  }
}

// -----

// All threads would start the copy.
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @everywhere(%k: memref<16x32xbf16>, %map: !llvm.ptr, %i: index, %kt: !tile) {
    // expected-error @below {{expected the producer of an attn.warp_roles around a copy of a box; run attn-split-roles}}
    %token = attn.copy ins(%k : memref<16x32xbf16>) outs(%kt : !tile) box(%map : !llvm.ptr) [%i, %i] : !attn.token
    gpu.return
  }
}

// -----

// A step that is still whole.
#block = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
gpu.module @kernels {
  gpu.func @whole() kernel attributes {attn.schedule = #block} {
    %q = memref.alloca() : memref<16x32xbf16>
    %a = memref.alloca() : memref<16x32xf32>
    %m = memref.alloca() : memref<16xf32>
    // expected-error @below {{expected in a kernel after phase steps only the ops of a step, its copies and its roles, found another one; run attn-decompose-step}}
    attn.online_step ins(%q, %q, %q : memref<16x32xbf16>, memref<16x32xbf16>, memref<16x32xbf16>)
        outs(%a, %m, %m : memref<16x32xf32>, memref<16xf32>, memref<16xf32>) {schedule = #block}
    gpu.return
  }
}

// -----

// A thread has parts of tiles in registers alone.
gpu.module @kernels {
  gpu.func @tensors() {
    // expected-error @below {{expected tensors of #attn.registers alone in a kernel after phase steps; run attn-tiles-to-registers}}
    %s = tensor.empty() : tensor<16x16xf32>
    gpu.return
  }
}

// -----

// The producer fills the next stage while it is read.
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @again(%kt: !tile) {
    attn.wait stages(%kt : !tile)
    attn.release %kt : !tile
    // expected-error @below {{expected an attn.wait of the stage in front of it, which no other attn.release has released, found none; write attn.wait stages(%tile : …)}}
    attn.release %kt : !tile
    gpu.return
  }
}

// -----

// Tensor cores work for nobody.
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @unused(%qt: !tile, %s: tensor<16x16xf32, #attn.registers>) {
    // expected-error @below {{expected an op that reads the result of each product after phase steps, found none; remove it}}
    %p = attn.product ins(%qt, %qt : !tile, !tile) outs(%s : tensor<16x16xf32, #attn.registers>)
        {contraction = #attn.contraction<scores>} -> tensor<16x16xf32, #attn.registers>
    gpu.return
  }
}

// -----

// The groups behind this one wait for ever.
gpu.module @kernels {
  gpu.func @kept_turn() {
    // expected-error @below {{expected attn.take_turn and attn.pass_turn in turn in each block after phase steps}}
    attn.take_turn
    gpu.return
  }
}

// -----

// A turn that nobody has taken.
gpu.module @kernels {
  gpu.func @two_turns() {
    attn.take_turn
    attn.pass_turn
    // expected-error @below {{expected attn.take_turn and attn.pass_turn in turn in each block after phase steps}}
    attn.pass_turn
    gpu.return
  }
}

// -----

// The block behind this one adds at the same time.
gpu.module @kernels {
  gpu.func @order(%turns: memref<9xi32>, %i: index, %part: tensor<16x32xf32, #attn.registers>, %dq: memref<16x32xf32>) {
    // expected-error @below {{expected attn.await_order, attn.add_rows and attn.pass_order one after the other in each block after phase steps}}
    attn.await_order %turns[%i] at %i : memref<9xi32>
    attn.pass_order %turns[%i] at %i : memref<9xi32>
    attn.add_rows ins(%part : tensor<16x32xf32, #attn.registers>) outs(%dq : memref<16x32xf32>)
        {maps = [affine_map<(i, j, e) -> (i, e)>, affine_map<(i, j, e) -> (i, e)>]}
    gpu.return
  }
}

// -----

// Other warps have not written their rows.
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @exchange(%g: tensor<32x16xbf16, #attn.registers>, %qt: !tile, %s: tensor<16x16xf32, #attn.registers>)
      -> tensor<16x16xf32, #attn.registers> {
    // expected-error @below {{expected a gpu.barrier behind it, in front of the products that read its output after phase steps}}
    attn.exchange ins(%g : tensor<32x16xbf16, #attn.registers>) outs(%qt : !tile)
    %p = attn.product ins(%qt, %qt : !tile, !tile) outs(%s : tensor<16x16xf32, #attn.registers>)
        {contraction = #attn.contraction<scores>} -> tensor<16x16xf32, #attn.registers>
    gpu.barrier
    gpu.return %p : tensor<16x16xf32, #attn.registers>
  }
}

// -----

// The second one waits for nothing.
gpu.module @kernels {
  gpu.func @barriers() {
    gpu.barrier
    // expected-error @below {{expected not the same op directly in front of it after phase steps; remove one of them}}
    gpu.barrier
    gpu.return
  }
}

//--- unknown.mlir

// expected-error @below {{attn-verify-phase: expected phase to be one of canonicalize, fallback, analyze-mask, select-schedule, online, tile, bufferize, vector, gpu, steps, nvvm, found 'lunch'}}
module {
}
