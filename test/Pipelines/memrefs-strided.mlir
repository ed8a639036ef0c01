// Attention in a private function on strided memrefs, which stay what they are.
// RUN: attn-opt %s --attn-to-flash=target=x86-64 -o %t.flash
// RUN: FileCheck %s --check-prefix=FLASH --input-file=%t.flash
// RUN: attn-opt %t.flash --attn-to-llvm=target=x86-64 | FileCheck %s
// RUN: attnc run %s --check | FileCheck %s --check-prefix=RIGHT
// RUN: attnc run %s --check --target=sm_80 --cuda-driver=%libdir/libcuda_emulator.so | FileCheck %s --check-prefix=RIGHT
// RIGHT: : ok

// FLASH: func.func private @strided(%{{.*}}: memref<40x16xf32, strided<[32, 1], offset: ?>>)
// CHECK: llvm.func internal @strided(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64,
func.func private @strided(%x: memref<40x16xf32, strided<[32, 1], offset: ?>>) {
  attn.sdpa ins(%x, %x, %x : memref<40x16xf32, strided<[32, 1], offset: ?>>, memref<40x16xf32, strided<[32, 1], offset: ?>>, memref<40x16xf32, strided<[32, 1], offset: ?>>)
      outs(%x : memref<40x16xf32, strided<[32, 1], offset: ?>>)
  return
}

func.func @calls(%x: memref<40x32xf32>) {
  %half = memref.subview %x[0, 16] [40, 16] [1, 1] : memref<40x32xf32> to memref<40x16xf32, strided<[32, 1], offset: 16>>
  %cast = memref.cast %half : memref<40x16xf32, strided<[32, 1], offset: 16>> to memref<40x16xf32, strided<[32, 1], offset: ?>>
  call @strided(%cast) : (memref<40x16xf32, strided<[32, 1], offset: ?>>) -> ()
  return
}
