// RUN: attn-opt %s --attn-lower-launches --split-input-file --verify-diagnostics

// A memref has no place among a kernel's parameters: attn-map-to-gpu passes its pointer.
module attributes {gpu.container_module} {
  gpu.module @f_gpu {
    llvm.func @f_kernel(%n: i64) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func @f(%q: !llvm.ptr, %workspace: !llvm.ptr, %bytes: i64, %stream: !llvm.ptr) -> i32
      attributes {attn.cuda_entry, attn.arguments = [{name = "q", output = true, type = tensor<4xf32>}]} {
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    // expected-error @below {{expected pointers and numbers as arguments, found 'index'}}
    gpu.launch_func @f_gpu::@f_kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%c1 : index)
    return %zero : i32
  }
}

// -----

// An scf.if would have to return from its middle where the launch fails: structured control flow goes first.
module attributes {gpu.container_module} {
  gpu.module @f_gpu {
    llvm.func @f_kernel(%n: i64) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func @f(%q: !llvm.ptr, %n: i64, %workspace: !llvm.ptr, %bytes: i64, %stream: !llvm.ptr) -> i32
      attributes {attn.cuda_entry, attn.arguments = [{name = "q", output = true, type = tensor<4xf32>}]} {
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %true = arith.constant true
    scf.if %true {
      // expected-error @below {{expected no structured control flow around a launch any more, found 'scf.if'}}
      gpu.launch_func @f_gpu::@f_kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%n : i64)
    }
    return %zero : i32
  }
}

// -----

// A launch of clusters, which the driver's entry for plain launches does not take.
module attributes {gpu.container_module} {
  gpu.module @f_gpu {
    llvm.func @f_kernel(%n: i64) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func @f(%q: !llvm.ptr, %n: i64, %workspace: !llvm.ptr, %bytes: i64, %stream: !llvm.ptr) -> i32
      attributes {attn.cuda_entry, attn.arguments = [{name = "q", output = true, type = tensor<4xf32>}]} {
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    // expected-error @below {{expected a launch without clusters and tokens, which are not supported}}
    gpu.launch_func @f_gpu::@f_kernel clusters in (%c1, %c1, %c1) blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%n : i64)
    return %zero : i32
  }
}
