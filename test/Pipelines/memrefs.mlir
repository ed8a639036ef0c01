// Attention on memrefs: a public function keeps its pointers, a private one its memrefs, and nothing is copied.
// RUN: attn-opt %s --attn-to-flash=target=x86-64 -o %t.flash
// RUN: FileCheck %s --check-prefix=FLASH --input-file=%t.flash
// RUN: attn-opt %t.flash --attn-to-llvm=target=x86-64 | FileCheck %s
// RUN: attn-opt %s --attn-to-reference | attn-opt --attn-to-llvm=target=x86-64 | FileCheck %s
// RUN: attn-opt %s --attn-to-flash=target=sm_80 | attn-opt --attn-to-gpu=target=sm_80 | FileCheck %s --check-prefix=GPU
// RUN: attnc %s --target=x86-64 --stop-after=bufferize -o - | attn-opt --canonicalize | FileCheck %s --check-prefix=COPY --implicit-check-not="memref.copy" --implicit-check-not="memref.alloc("

// FLASH: func.func @attend(%{{.*}}: memref<2x40x16xf32>, %{{.*}}: memref<2x?x16xf32>, %{{.*}}: memref<2x40x16xf32>)
// FLASH: attn.online_step
// CHECK-DAG: llvm.func @attend(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64)
// GPU: gpu.module @attend_gpu
// COPY: func.func @attend(
func.func @attend(%q: memref<2x40x16xf32>, %k: memref<2x?x16xf32>, %o: memref<2x40x16xf32>) {
  attn.sdpa ins(%q, %k, %k : memref<2x40x16xf32>, memref<2x?x16xf32>, memref<2x?x16xf32>)
      outs(%o : memref<2x40x16xf32>)
  return
}
