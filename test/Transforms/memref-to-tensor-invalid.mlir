// RUN: attn-opt %s --attn-memref-to-tensor --verify-diagnostics

// Kernels read and write the memory of the host, or on a GPU that of its device, as it is passed.
func.func @space(%q: memref<4x8xf32, 1>, %o: memref<4x8xf32>) {
  // expected-error @below {{expected memrefs of the default memory space, found 'memref<4x8xf32, 1>'; copy it to one of that}}
  attn.sdpa ins(%q, %o, %o : memref<4x8xf32, 1>, memref<4x8xf32>, memref<4x8xf32>) outs(%o : memref<4x8xf32>)
  return
}
