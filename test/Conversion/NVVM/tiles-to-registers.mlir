// RUN: attn-opt %s --attn-tiles-to-registers --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-tiles-to-registers --attn-tiles-to-registers --split-input-file | FileCheck %s

#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
!shared = memref<16x32xbf16, #gpu.address_space<workgroup>>

// A step is a chain of values; the loop carries the state, and scores are those of a round. Tiles in shared memory stay.
// CHECK-LABEL: gpu.func @step(
//       CHECK:   %[[Q:.*]] = memref.alloc() : memref<16x32xbf16, #gpu.address_space<workgroup>>
//   CHECK-NOT:   memref.alloca
//       CHECK:   %[[STATE:.*]]:3 = attn.init_state outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<16x32xf32, #attn.registers>,
//       CHECK:   %[[END:.*]]:3 = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[STATE]]#0, %[[MAX:.*]] = %[[STATE]]#1, %[[SUM:.*]] = %[[STATE]]#2)
//       CHECK:     %[[EMPTY:.*]] = tensor.empty() : tensor<16x16xf32, #attn.registers>
//       CHECK:     %[[S:.*]] = attn.product ins(%[[Q]], %{{.*}}) outs(%[[EMPTY]] :
//       CHECK:     %[[T:.*]] = attn.map_scores ins(%[[S]] {{.*}} outs(%[[S]]
//       CHECK:       attn.yield
//       CHECK:     %[[N:.*]] = attn.row_max ins(%[[T]], %[[MAX]]
//       CHECK:     %[[NEXT:.*]]:3 = attn.rescale ins(%[[N]] {{.*}} outs(%[[ACC]], %[[MAX]], %[[SUM]]
//       CHECK:     %[[P:.*]]:2 = attn.weights ins(%[[T]], %[[N]] {{.*}} outs(%[[T]], %[[NEXT]]#2
//       CHECK:     %[[ADDED:.*]] = attn.product ins(%[[P]]#0, {{.*}} outs(%[[NEXT]]#0
//       CHECK:     scf.yield %[[ADDED]], %[[NEXT]]#1, %[[P]]#1
//       CHECK:   attn.finalize ins(%[[END]]#0, %[[END]]#1, %[[END]]#2 : {{.*}}) outs(%{{.*}} : memref<16x32xbf16>)
gpu.module @kernels {
  gpu.func @step(%out: memref<16x32xbf16>, %end: index) kernel attributes {attn.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %q = memref.alloc() : !shared
    %k = memref.alloc() : !shared
    %v = memref.alloc() : !shared
    %acc = memref.alloca() : memref<16x32xf32>
    %max = memref.alloca() : memref<16xf32>
    %sum = memref.alloca() : memref<16xf32>
    attn.init_state outs(%acc, %max, %sum : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
    scf.for %j = %c0 to %end step %c16 {
      %s = memref.alloca() : memref<16x16xf32>
      %n = memref.alloca() : memref<16xf32>
      attn.product ins(%q, %k : !shared, !shared) outs(%s : memref<16x16xf32>) {contraction = #attn.contraction<scores>}
      attn.map_scores ins(%s : memref<16x16xf32>) outs(%s : memref<16x16xf32>) mask_mod {
        %i = attn.index query : index
        %x = attn.index key : index
        %kept = arith.cmpi sle, %x, %i : index
        attn.yield %kept : i1
      }
      attn.row_max ins(%s, %max : memref<16x16xf32>, memref<16xf32>) outs(%n : memref<16xf32>) {partial}
      attn.rescale ins(%n : memref<16xf32>) outs(%acc, %max, %sum : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
      attn.weights ins(%s, %n : memref<16x16xf32>, memref<16xf32>) outs(%s, %sum : memref<16x16xf32>, memref<16xf32>)
      attn.product ins(%s, %v : memref<16x16xf32>, !shared) outs(%acc : memref<16x32xf32>)
          {accumulate, contraction = #attn.contraction<values>}
    }
    attn.finalize ins(%acc, %max, %sum : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
        outs(%out : memref<16x32xbf16>)
    gpu.return
  }
}

// -----

#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>

// A branch yields what it writes, the other one what was there. The state goes to memory at the end.
// CHECK-LABEL: gpu.func @branch(
//  CHECK-SAME:   %[[X:.*]]: memref<16x32xf32>, %[[Y:.*]]: memref<16xf32>, %[[Z:.*]]: memref<16xf32>, %[[ANY:.*]]: i1
//       CHECK:   %[[STATE:.*]]:3 = attn.init_state outs({{.*}} -> tensor<16x32xf32, #attn.registers>
//       CHECK:   %[[END:.*]]:3 = scf.if %[[ANY]]
//       CHECK:     %[[MERGED:.*]]:3 = attn.merge_states ins(%{{.*}} : memref<16x32xf32>, memref<16xf32>, memref<16xf32>) outs(%[[STATE]]#0, %[[STATE]]#1, %[[STATE]]#2
//       CHECK:     scf.yield %[[MERGED]]#0, %[[MERGED]]#1, %[[MERGED]]#2
//       CHECK:   } else {
//       CHECK:     scf.yield %[[STATE]]#0, %[[STATE]]#1, %[[STATE]]#2
//       CHECK:   attn.store_state ins(%[[END]]#0, %[[END]]#1, %[[END]]#2 : {{.*}}) outs(%[[X]], %[[Y]], %[[Z]] :
//  CHECK-NEXT:   gpu.return
gpu.module @kernels {
  gpu.func @branch(%x: memref<16x32xf32>, %y: memref<16xf32>, %z: memref<16xf32>, %any: i1, %a: memref<16x32xf32>,
                   %m: memref<16xf32>, %l: memref<16xf32>) kernel attributes {attn.schedule = #schedule} {
    attn.init_state outs(%x, %y, %z : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
    scf.if %any {
      attn.merge_states ins(%a, %m, %l : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
          outs(%x, %y, %z : memref<16x32xf32>, memref<16xf32>, memref<16xf32>)
    }
    gpu.return
  }
}

// -----

#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>

// Sums of gradients, of which a block may have fewer rows than a tile.
// CHECK-LABEL: gpu.func @sums(
//       CHECK:   %[[EMPTY:.*]] = tensor.empty() : tensor<16x32xf32, #attn.registers>
//       CHECK:   %[[ZEROS:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[EMPTY]] :
//       CHECK:   %[[PART:.*]] = tensor.extract_slice %[[ZEROS]][0, 0] [%{{.*}}, 32] [1, 1] : tensor<16x32xf32, #attn.registers> to tensor<?x32xf32, #attn.registers>
//       CHECK:   attn.pack ins(%[[PART]] : {{.*}} outs(%{{.*}} : memref<?x32xbf16>)
gpu.module @kernels {
  gpu.func @sums(%out: memref<?x32xbf16>, %rows: index) kernel attributes {attn.schedule = #schedule} {
    %zero = arith.constant 0.0 : f32
    %sums = memref.alloca() : memref<16x32xf32>
    linalg.fill ins(%zero : f32) outs(%sums : memref<16x32xf32>)
    %part = memref.subview %sums[0, 0] [%rows, 32] [1, 1] : memref<16x32xf32> to memref<?x32xf32, strided<[32, 1]>>
    attn.pack ins(%part : memref<?x32xf32, strided<[32, 1]>>) outs(%out : memref<?x32xbf16>)
    gpu.return
  }
  // A kernel of others.
  // CHECK-LABEL: gpu.func @other(
  //       CHECK:   memref.alloca
  gpu.func @other() kernel {
    %zero = arith.constant 0.0 : f32
    %sums = memref.alloca() : memref<16x32xf32>
    linalg.fill ins(%zero : f32) outs(%sums : memref<16x32xf32>)
    gpu.return
  }
}
