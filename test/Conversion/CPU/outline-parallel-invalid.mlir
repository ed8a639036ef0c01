// RUN: attn-opt %s --attn-outline-parallel --split-input-file --verify-diagnostics

// A loop on tensors has results, which no thread could return.
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected a loop on memrefs, found results; run bufferisation first}}
  %r = scf.forall (%i) in (4) shared_outs(%o = %x) -> tensor<4xf32> {
    %t = tensor.extract_slice %o[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  return %r : tensor<4xf32>
}

// -----

// A body is a func.func, whose types other functions do not have.
llvm.func @other_function(%p: !llvm.ptr, %m: i64) {
  %n = builtin.unrealized_conversion_cast %m : i64 to index
  // expected-error @below {{expected a loop in a func.func, found one in a llvm.func; write parallel=false for serial loops}}
  scf.forall (%i) in (%n) {
    %x = builtin.unrealized_conversion_cast %i : index to i64
    llvm.store %x, %p : i64, !llvm.ptr
  }
  llvm.return
}

// -----

gpu.module @kernels {
  gpu.func @kernel(%x: memref<4xf32>, %s: f32) kernel {
    // expected-error @below {{expected a loop in a func.func, found one in a gpu.func}}
    scf.forall (%i) in (4) {
      memref.store %s, %x[%i] : memref<4xf32>
    }
    gpu.return
  }
}

// -----

%s = arith.constant 1.0 : f32
%x = memref.alloc() : memref<4xf32>
// expected-error @below {{expected a loop in a func.func, found one in a builtin.module}}
scf.forall (%i) in (4) {
  memref.store %s, %x[%i] : memref<4xf32>
}

// -----

// expected-error @below {{expected 'attn_parallel_for' to be the runtime's function of type '(!llvm.ptr, !llvm.ptr, i64) -> ()', found another of this name; rename it}}
func.func private @attn_parallel_for(%n: index) {
  return
}
func.func @f(%x: memref<4xf32>, %s: f32) {
  scf.forall (%i) in (4) {
    memref.store %s, %x[%i] : memref<4xf32>
  }
  return
}

// -----

// A token has no place in the struct that a body gets its values from.
func.func @token(%x: memref<4xf32>, %s: f32, %t: !attn.token) {
  // expected-error @below {{cannot pass a value of type '!attn.token' to the parallel body}}
  scf.forall (%i) in (4) {
    memref.store %s, %x[%i] : memref<4xf32>
    attn.wait %t
  }
  return
}
