// RUN: attn-opt %s --attn-map-to-gpu=target=sm_80 | FileCheck %s

#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>

// Each thread has an element: 3 blocks of 256 for 21 x 32 of them, and the last one has threads without.
// CHECK-LABEL: gpu.func @scale_rows_kernel
//       CHECK:   %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
//       CHECK:   nvvm.read.ptx.sreg.tid.x
//       CHECK:   %[[IS_INSIDE:.*]] = arith.cmpi ult
//       CHECK:   scf.if %[[IS_INSIDE]]
//       CHECK:     %[[X:.*]] = memref.load %{{.*}}[%{{.*}}] : memref<21xf32>
//       CHECK:     %[[Y:.*]] = memref.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<21x32xf16>
//       CHECK:     memref.store %{{.*}} : memref<21x32xf16>
// CHECK-LABEL: func.func @scale_rows
//       CHECK:   gpu.launch_func @scale_rows_gpu::@scale_rows_kernel blocks in (%{{.*}}, %{{.*}}, %{{.*}}) threads in (%c256
func.func @scale_rows(%x: memref<21xf32>, %y: memref<21x32xf16>) attributes {attn.arguments = [
    {name = "x", output = false, type = tensor<21xf32>}, {name = "y", output = true, type = tensor<21x32xf16>}]} {
  linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<21xf32>) outs(%y : memref<21x32xf16>) {
  ^bb0(%in: f32, %out: f16):
    %wide = arith.extf %out : f16 to f32
    %product = arith.mulf %in, %wide : f32
    %narrow = arith.truncf %product : f32 to f16
    linalg.yield %narrow : f16
  }
  return
}

// CHECK-LABEL: gpu.func @append_kernel
//       CHECK:   scf.if
//       CHECK:     scf.if
//       CHECK:       memref.store %{{.*}} : memref<2x3x17x8xi8>
func.func @append(%new: memref<2x3x2x8xi8>, %positions: memref<2xi32>, %cache: memref<2x3x17x8xi8>) {
  attn.kv_append ins(%new : memref<2x3x2x8xi8>) positions(%positions : memref<2xi32>)
      outs(%cache : memref<2x3x17x8xi8>)
  return
}
