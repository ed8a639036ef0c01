// RUN: attn-opt %s --attn-plan-workspace --split-input-file | FileCheck %s

// Two buffers lie one behind the other, each a multiple of 256 bytes; the entry tests their sum before all else.
// CHECK-LABEL: func.func @two(
//  CHECK-SAME:     %[[X:.*]]: memref<?xf32>, %[[WORKSPACE:.*]]: !llvm.ptr, %[[BYTES:.*]]: i64, %{{.*}}: !llvm.ptr) -> i32
//  CHECK-SAME:     attn.cuda_entry
//       CHECK:   %[[DIM:.*]] = memref.dim %[[X]]
//       CHECK:   %[[SIZE:.*]] = arith.muli %{{.*}}, %[[DIM]]
//       CHECK:   %[[UP:.*]] = arith.addi %[[SIZE]],
//       CHECK:   %[[ROUND:.*]] = arith.andi %[[UP]],
//       CHECK:   %[[OFFSET:.*]] = arith.addi %{{.*}}, %[[ROUND]]
//       CHECK:   %[[TOTAL:.*]] = arith.addi %[[OFFSET]], %{{.*}}
//       CHECK:   %[[NEEDED:.*]] = arith.index_cast %[[TOTAL]] : index to i64
//       CHECK:   %[[CODE:.*]] = llvm.call @attn_cuda_check_workspace(%[[WORKSPACE]], %[[BYTES]], %[[NEEDED]])
//       CHECK:   cf.cond_br %{{.*}}, ^[[BODY:.*]], ^[[REFUSE:.*]]
//       CHECK: ^[[BODY]]:
//       CHECK:   memref.view %[[ALL:.*]][%{{.*}}][%{{.*}}] : memref<?xi8> to memref<?xf32>
//       CHECK:   memref.view %[[ALL]][%[[OFFSET]]][] : memref<?xi8> to memref<3x5xi64>
//   CHECK-NOT:   memref.alloc
//       CHECK: ^[[REFUSE]]:
//  CHECK-NEXT:   return %[[CODE]] : i32
// CHECK-LABEL: func.func @two_workspace_bytes(
//  CHECK-SAME:     %[[N:.*]]: i64) -> i64
//       CHECK:   arith.index_cast %[[N]] : i64 to index
func.func @two(%x: memref<?xf32>) attributes {attn.sizes = ["n"],
    attn.arguments = [{name = "x", output = true, sizes = array<i32: 0>, type = tensor<?xf32>}]} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  %b = memref.alloc() : memref<3x5xi64>
  %p = memref.extract_aligned_pointer_as_index %a : memref<?xf32> -> index
  %q = memref.extract_aligned_pointer_as_index %b : memref<3x5xi64> -> index
  return
}

// -----

// Without buffers nothing is tested: any workspace will do, null too.
// CHECK-LABEL: func.func @none(
//   CHECK-NOT:   attn_cuda_check_workspace
//       CHECK:   return %{{.*}} : i32
// CHECK-LABEL: func.func @none_workspace_bytes() -> i64
func.func @none(%x: memref<4xf32>) attributes {
    attn.arguments = [{name = "x", output = true, type = tensor<4xf32>}]} {
  return
}
