// RUN: attn-opt %s --attn-lower-launches --split-input-file | FileCheck %s

// A launch is a call with the kernel, the grid, the block, shared memory, the stream and pointers to the arguments; the
// image of the module is declared, and its kernel refers to it.
//       CHECK: llvm.mlir.global external @f_gpu_image()
//       CHECK: llvm.mlir.global internal @f_gpu_image_f_kernel()
//       CHECK:   llvm.mlir.addressof @f_gpu_image
//       CHECK:   llvm.mlir.addressof @f_gpu_image_f_kernel_name
// CHECK-LABEL: func.func @f(
//  CHECK-SAME:     %[[Q:.*]]: !llvm.ptr, %[[N:.*]]: i64, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %[[STREAM:.*]]: !llvm.ptr) -> i32
//       CHECK:   %[[ARRAY:.*]] = llvm.alloca %{{.*}} x !llvm.array<2 x ptr>
//       CHECK:   llvm.store %[[Q]], %[[PLACE:.*]] : !llvm.ptr, !llvm.ptr
//       CHECK:   %[[FIRST:.*]] = llvm.getelementptr %[[ARRAY]][0, 0]
//       CHECK:   llvm.store %[[PLACE]], %[[FIRST]]
//       CHECK:   %[[CODE:.*]] = llvm.call @attn_cuda_launch(%{{.*}}, %{{.*}}, %[[STREAM]], %[[ARRAY]])
//       CHECK:   %[[FINE:.*]] = arith.cmpi eq, %[[CODE]],
//       CHECK:   cf.cond_br %[[FINE]], ^[[NEXT:.*]], ^[[EXIT:.*]](%[[CODE]] : i32)
//       CHECK: ^[[NEXT]]:
//       CHECK:   return %{{.*}} : i32
//       CHECK: ^[[EXIT]](%[[RESULT:.*]]: i32):
//       CHECK:   return %[[RESULT]] : i32
module attributes {gpu.container_module} {
  gpu.module @f_gpu {
    llvm.func @f_kernel(%q: !llvm.ptr, %n: i64) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func @f(%q: !llvm.ptr, %n: i64, %workspace: !llvm.ptr, %bytes: i64, %stream: !llvm.ptr) -> i32
      attributes {attn.cuda_entry, attn.sizes = ["n"],
                  attn.arguments = [{name = "q", output = true, sizes = array<i32: 0>, type = tensor<?xf32>}]} {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0 : i32
    gpu.launch_func @f_gpu::@f_kernel blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
      args(%q : !llvm.ptr, %n : i64)
    return %zero : i32
  }
}

// -----

// A kernel that waits for the one in front of it is launched as such: it may start before that one has ended.
// CHECK-LABEL: func.func @waits(
//       CHECK:   llvm.call @attn_cuda_launch_dependent(
module attributes {gpu.container_module} {
  gpu.module @waits_gpu {
    llvm.func @waits_kernel(%q: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel, attn.dependent} {
      llvm.return
    }
  }
  func.func @waits(%q: !llvm.ptr, %workspace: !llvm.ptr, %bytes: i64, %stream: !llvm.ptr) -> i32
      attributes {attn.cuda_entry, attn.sizes = [],
                  attn.arguments = [{name = "q", output = true, type = tensor<4xf32>}]} {
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    gpu.launch_func @waits_gpu::@waits_kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%q : !llvm.ptr)
    return %zero : i32
  }
}
