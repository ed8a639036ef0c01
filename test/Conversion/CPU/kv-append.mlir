// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 | FileCheck %s
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse | FileCheck %s --check-prefix=PAGES

// A row whose place is not below the capacity is not written.
// CHECK-LABEL: func @dense(
//       CHECK:   scf.for %[[B:.*]] = %
//       CHECK:     %[[P:.*]] = memref.load %arg1[%[[B]]] : memref<2xi32>
//       CHECK:     scf.for %[[N:.*]] = %
//       CHECK:       %[[ROW:.*]] = arith.addi %{{.*}}, %[[N]]
//       CHECK:       %[[IS_BELOW:.*]] = arith.cmpi ult, %[[ROW]], %{{.*}}
//       CHECK:       scf.if %[[IS_BELOW]] {
//       CHECK:         scf.for %[[H:.*]] = %
//       CHECK:           scf.for %[[D:.*]] = %
//       CHECK:             %[[X:.*]] = memref.load %arg0[%[[B]], %[[H]], %[[N]], %[[D]]]
//       CHECK:             memref.store %[[X]], %arg2[%[[B]], %[[H]], %[[ROW]], %[[D]]]
func.func @dense(%new: memref<2x4x?x8xf32>, %p: memref<2xi32>, %cache: memref<2x4x?x8xf32>) {
  attn.kv_append ins(%new : memref<2x4x?x8xf32>) positions(%p : memref<2xi32>) outs(%cache : memref<2x4x?x8xf32>)
  return
}

// The table's entry is read where it has one, the page written where the cache has it.
// PAGES-LABEL: func @pages(
//       PAGES:   %[[ENTRY:.*]] = arith.divui %{{.*}}, %c16
//       PAGES:   arith.cmpi ult, %[[ENTRY]], %c3
//       PAGES:   scf.if
//       PAGES:     %[[E:.*]] = memref.load %arg2[%{{.*}}, %[[ENTRY]]] : memref<2x3xi32>
//       PAGES:     %[[PAGE:.*]] = arith.index_cast %[[E]]
//       PAGES:     arith.cmpi ult, %[[PAGE]], %c6
//       PAGES:     scf.if
//       PAGES:       %[[ROW:.*]] = arith.remui %{{.*}}, %c16
//       PAGES:       memref.store %{{.*}}, %arg3[%[[PAGE]], %[[ROW]], %{{.*}}, %{{.*}}] : memref<6x16x4x8xf32>
func.func @pages(%new: memref<2x4x1x8xf32>, %p: memref<2xi32>, %t: memref<2x3xi32>, %cache: memref<6x16x4x8xf32>) {
  attn.kv_append ins(%new : memref<2x4x1x8xf32>) positions(%p : memref<2xi32>) block_table(%t : memref<2x3xi32>)
      outs(%cache : memref<6x16x4x8xf32>) {page_layout = #attn.page_layout<nhd>}
  return
}

// Rows of another type are divided by the scale of their head and converted while they are written.
// CHECK-LABEL: func @quantised(
//       CHECK:   %[[SCALE:.*]] = memref.load %arg2[%{{.*}}] : memref<4xf32>
//       CHECK:     scf.for
//       CHECK:       %[[X:.*]] = memref.load %arg0
//       CHECK:       %[[WIDE:.*]] = arith.extf %[[X]] : bf16 to f32
//       CHECK:       arith.divf %[[WIDE]], %[[SCALE]]
//       CHECK:       %[[CODE:.*]] = arith.bitcast %{{.*}} : i8 to f8E4M3FN
//       CHECK:       memref.store %[[CODE]], %arg3
func.func @quantised(%new: memref<2x4x?x8xbf16>, %p: memref<2xi32>, %s: memref<4xf32>, %cache: memref<2x4x?x8xf8E4M3FN>) {
  attn.kv_append ins(%new : memref<2x4x?x8xbf16>) positions(%p : memref<2xi32>) scale(%s : memref<4xf32>)
      outs(%cache : memref<2x4x?x8xf8E4M3FN>)
  return
}
