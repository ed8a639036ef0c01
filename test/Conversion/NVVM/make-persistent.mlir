// RUN: attn-opt %s --attn-make-persistent --allow-unregistered-dialect --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-make-persistent --attn-make-persistent --allow-unregistered-dialect --split-input-file | FileCheck %s

// Six tiles: rounds of as many as there are blocks, and one more for some blocks. Odd rounds go backwards.
// CHECK-LABEL: gpu.func @f_kernel
//       CHECK:   %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
//       CHECK:   %[[BLOCKS:.*]] = nvvm.read.ptx.sreg.nctaid.x
//       CHECK:   %[[TILES:.*]] = arith.constant 6 : i32
//       CHECK:   %[[LAST:.*]] = arith.subi %[[BLOCKS]], %{{.*}}
//       CHECK:   %[[MIRRORED:.*]] = arith.subi %[[LAST]], %[[BLOCK]]
//       CHECK:   %[[WHOLE:.*]] = arith.divui %[[TILES]], %[[BLOCKS]]
//       CHECK:   %[[SUM:.*]] = arith.muli %[[WHOLE]], %[[BLOCKS]]
//       CHECK:   %[[LEFT:.*]] = arith.subi %[[TILES]], %[[SUM]]
//       CHECK:   %[[ISODD:.*]] = arith.trunci %[[WHOLE]] : i32 to i1
//       CHECK:   %[[PLACE:.*]] = arith.select %[[ISODD]], %[[MIRRORED]], %[[BLOCK]]
//       CHECK:   %[[HASMORE:.*]] = arith.cmpi ult, %[[PLACE]], %[[LEFT]]
//       CHECK:   %[[MORE:.*]] = arith.extui %[[HASMORE]]
//       CHECK:   %[[ROUNDS:.*]] = arith.addi %[[WHOLE]], %[[MORE]]
//       CHECK:   scf.for %[[ROUND:.*]] = %{{.*}} to %[[ROUNDS]] step
//       CHECK:     %[[FIRST:.*]] = arith.muli %[[ROUND]], %[[BLOCKS]]
//       CHECK:     %[[ODD:.*]] = arith.trunci %[[ROUND]] : i32 to i1
//       CHECK:     %[[OWN:.*]] = arith.select %[[ODD]], %[[MIRRORED]], %[[BLOCK]]
//       CHECK:     %[[TILE:.*]] = arith.addi %[[FIRST]], %[[OWN]]
//       CHECK:     arith.index_castui %[[TILE]] : i32 to index
//  CHECK-NEXT:     "test.tile"
//  CHECK-NEXT:     attn.copy
//  CHECK-NEXT:     gpu.barrier
//  CHECK-NEXT:   }
//  CHECK-NEXT:   gpu.return
//       CHECK: gpu.launch_func @f_gpu::@f_kernel blocks in (%c6, {{.*}} {attn.persistent}
// A kernel without a producer has a block for each tile.
// CHECK-LABEL: gpu.func @g_kernel
//   CHECK-NOT:   scf.for
//       CHECK:   gpu.return
module attributes {gpu.container_module} {
  gpu.module @f_gpu {
    gpu.func @f_kernel(%q: !llvm.ptr) kernel {
      %k = memref.alloc() : memref<64x64xf16>
      %kt = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
      %block = nvvm.read.ptx.sreg.ctaid.x : i32
      %tile = arith.index_castui %block : i32 to index
      "test.tile"(%tile) : (index) -> ()
      %copied = attn.copy ins(%k : memref<64x64xf16>) outs(%kt : memref<64x64xf16, #gpu.address_space<workgroup>>)
          box(%q : !llvm.ptr) [%tile, %tile] : !attn.token
      gpu.return
    }
  }
  func.func @f(%q: !llvm.ptr) {
    %c1 = arith.constant 1 : index
    %c6 = arith.constant 6 : index
    gpu.launch_func @f_gpu::@f_kernel blocks in (%c6, %c1, %c1) threads in (%c6, %c1, %c1) args(%q : !llvm.ptr)
    return
  }
  gpu.module @g_gpu {
    gpu.func @g_kernel(%q: !llvm.ptr) kernel {
      %block = nvvm.read.ptx.sreg.ctaid.x : i32
      %tile = arith.index_castui %block : i32 to index
      "test.tile"(%tile) : (index) -> ()
      gpu.return
    }
  }
  func.func @g(%q: !llvm.ptr) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @g_gpu::@g_kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%q : !llvm.ptr)
    return
  }
}

// -----

// The call knows the number of tiles.
// CHECK-LABEL: gpu.func @f_kernel(
//  CHECK-SAME:   %{{[^:]*}}: !llvm.ptr, %[[TILES:[^:]*]]: i64)
//       CHECK:   arith.trunci %[[TILES]] : i64 to i32
//       CHECK:   scf.for
// CHECK-LABEL: func.func @f(
//  CHECK-SAME:   %{{[^:]*}}: !llvm.ptr, %[[N:[^:]*]]: index)
//       CHECK:   %[[COUNT:.*]] = arith.index_cast %[[N]] : index to i64
//       CHECK:   gpu.launch_func @f_gpu::@f_kernel blocks in (%[[N]], {{.*}} args(%{{.*}} : !llvm.ptr, %[[COUNT]] : i64)
module attributes {gpu.container_module} {
  gpu.module @f_gpu {
    gpu.func @f_kernel(%q: !llvm.ptr) kernel {
      %k = memref.alloc() : memref<64x64xf16>
      %kt = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
      %block = nvvm.read.ptx.sreg.ctaid.x : i32
      %tile = arith.index_castui %block : i32 to index
      "test.tile"(%tile) : (index) -> ()
      %copied = attn.copy ins(%k : memref<64x64xf16>) outs(%kt : memref<64x64xf16, #gpu.address_space<workgroup>>)
          box(%q : !llvm.ptr) [%tile, %tile] : !attn.token
      gpu.return
    }
  }
  func.func @f(%q: !llvm.ptr, %n: index) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @f_gpu::@f_kernel blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%q : !llvm.ptr)
    return
  }
}
