// RUN: attn-opt %s --attn-emit-checked-entry --split-input-file | FileCheck %s

// The table holds rank, direction, DLPack code and bits of each argument; a boolean is a byte.
//       CHECK: llvm.func @attn_check_arguments(!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64) -> i32
//       CHECK: llvm.mlir.global private constant @kernel_argument0_name("mask\00")
//       CHECK: llvm.mlir.global private constant @kernel_argument0_shape() {{.*}} : !llvm.array<2 x i64>
//       CHECK: llvm.mlir.global private constant @kernel_arguments() {{.*}} : !llvm.array<2 x struct<
//       CHECK:   llvm.mlir.addressof @kernel_argument0_name
//       CHECK:   llvm.mlir.addressof @kernel_argument0_shape
//       CHECK:   llvm.mlir.constant(2 : i32)
//       CHECK:   llvm.mlir.constant(0 : i32)
//       CHECK:   llvm.mlir.constant(6 : i8)
//       CHECK:   llvm.mlir.constant(8 : i8)
//       CHECK:   llvm.mlir.addressof @kernel_argument1_name
//       CHECK:   llvm.mlir.constant(1 : i32)
//       CHECK:   llvm.mlir.constant(2 : i8)
//       CHECK:   llvm.mlir.constant(64 : i8)

// The kernel is called only where the check returned 0, with data plus byte_offset.
// CHECK-LABEL: llvm.func @kernel_checked(
//  CHECK-SAME:     %[[ARGS:[a-z0-9]*]]: !llvm.ptr, %[[COUNT:[a-z0-9]*]]: i64, %[[TEXT:[a-z0-9]*]]: !llvm.ptr, %[[SIZE:[a-z0-9]*]]: i64) -> i32
//       CHECK:   %[[TABLE:.*]] = llvm.mlir.addressof @kernel_arguments
//       CHECK:   %[[TWO:.*]] = llvm.mlir.constant(2 : i64)
//       CHECK:   %[[CODE:.*]] = llvm.call @attn_check_arguments(%[[ARGS]], %[[COUNT]], %[[TABLE]], %[[TWO]], %[[TEXT]], %[[SIZE]])
//       CHECK:   %[[FINE:.*]] = llvm.icmp "eq" %[[CODE]],
//       CHECK:   llvm.cond_br %[[FINE]], ^[[CALL:.*]], ^[[REFUSE:.*]]
//       CHECK: ^[[CALL]]:
//       CHECK:   %[[DATA:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
//       CHECK:   %[[OFFSET:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
//       CHECK:   %[[MASK:.*]] = llvm.getelementptr %{{.*}}[%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
//       CHECK:   %[[SCALE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f64
//       CHECK:   llvm.call @kernel(%[[MASK]], %[[SCALE]])
//       CHECK: ^[[REFUSE]]:
//  CHECK-NEXT:   llvm.return %[[CODE]]
llvm.func @kernel(%m: !llvm.ptr, %s: f64) attributes {attn.arguments = [
    {name = "mask", output = false, type = tensor<4x8xi1>}, {name = "scale", output = true, type = f64}]} {
  llvm.return
}

// What a kernel returns is the entry's code, with a message.
// CHECK-LABEL: llvm.func @coded_checked(
//       CHECK:   %[[CODE:.*]] = llvm.call @coded()
//       CHECK:   llvm.icmp "eq" %[[CODE]]
//       CHECK:   llvm.return %[[CODE]]
//       CHECK:   llvm.call @attn_describe_no_memory(
llvm.func @coded() -> i32 attributes {attn.arguments = []} {
  %code = llvm.mlir.constant(12 : i32) : i32
  llvm.return %code : i32
}

// CHECK-NOT: @helper_checked
llvm.func @helper() {
  llvm.return
}

// -----

// A dynamic size is -1 with the place of its symbol, and is read from the first tensor that has it; checks are a table
// of ten numbers each.
//       CHECK: llvm.mlir.global private constant @dynamic_argument0_symbols() {{.*}} : !llvm.array<2 x i32>
//       CHECK: llvm.mlir.global private constant @dynamic_argument1_checks() {{.*}} : !llvm.array<10 x i64>
// CHECK-LABEL: llvm.func @dynamic_checked(
//       CHECK:   llvm.getelementptr %{{.*}}[0, 4]
//  CHECK-NEXT:   %[[SIZES:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
//       CHECK:   %[[PLACE:.*]] = llvm.getelementptr %[[SIZES]][1] : (!llvm.ptr) -> !llvm.ptr, i64
//       CHECK:   %[[N:.*]] = llvm.load %[[PLACE]] : !llvm.ptr -> i64
//       CHECK:   llvm.call @dynamic(%{{.*}}, %{{.*}}, %[[N]])
llvm.func @dynamic(%q: !llvm.ptr, %n: !llvm.ptr, %size: i64) attributes {attn.sizes = ["n"], attn.arguments = [
    {name = "q", output = true, sizes = array<i32: -1, 0>, type = tensor<3x?xf32>},
    {name = "lengths", output = false, type = tensor<3xi32>, checks = [{kind = "lengths",
     limit = array<i64: 0, 1, -1, 1>, lengths = -1, page = array<i64: -1, 1>, rows = array<i64: -1, 1>}]}]} {
  llvm.return
}
