// RUN: attn-opt %s --attn-emit-checked-entry | FileCheck %s

// Of a GPU kernel: floats lie at 16 bytes on a CUDA device (2), integers at their own alignment; a scalar is on the CPU
// and no value in the device's memory is tested.
//   CHECK-NOT: @kernel_argument1_checks
//       CHECK: llvm.mlir.global private constant @kernel_arguments()
//       CHECK:   llvm.mlir.constant(16 : i32)
//       CHECK:   llvm.mlir.constant(32 : i8)
//  CHECK-NEXT:   llvm.insertvalue
//  CHECK-NEXT:   llvm.mlir.constant(2 : i8)
//       CHECK:   llvm.mlir.addressof @kernel_argument1_name
//       CHECK:   llvm.mlir.constant(4 : i32)
//       CHECK:   llvm.mlir.addressof @kernel_argument2_name
//   CHECK-NOT:   llvm.mlir.constant(16 : i32)
//       CHECK:   llvm.return

// The entry hands workspace, bytes and stream on; where the kernel returns a code, the launcher's message is copied.
// CHECK-LABEL: llvm.func @kernel_checked(
//  CHECK-SAME:     %[[ARGS:[a-z0-9]*]]: !llvm.ptr, %[[COUNT:[a-z0-9]*]]: i64, %[[WORKSPACE:[a-z0-9]*]]: !llvm.ptr, %[[BYTES:[a-z0-9]*]]: i64, %[[STREAM:[a-z0-9]*]]: !llvm.ptr, %[[TEXT:[a-z0-9]*]]: !llvm.ptr, %[[SIZE:[a-z0-9]*]]: i64) -> i32
//       CHECK:   llvm.call @attn_check_arguments(%[[ARGS]], %[[COUNT]], %{{.*}}, %{{.*}}, %[[TEXT]], %[[SIZE]])
//       CHECK:   %[[CODE:.*]] = llvm.call @kernel(%{{.*}}, %[[WORKSPACE]], %[[BYTES]], %[[STREAM]])
//       CHECK:   llvm.cond_br %{{.*}}, ^[[DONE:.*]], ^[[FAILED:.*]]
//       CHECK: ^[[DONE]]:
//  CHECK-NEXT:   llvm.return %[[CODE]]
//       CHECK: ^[[FAILED]]:
//  CHECK-NEXT:   llvm.call @attn_cuda_copy_message(%[[TEXT]], %[[SIZE]])
//  CHECK-NEXT:   llvm.br ^[[DONE]]

// CHECK-LABEL: llvm.func @kernel_workspace_bytes_checked(
//       CHECK:   %[[REASON:.*]] = llvm.call @attn_check_arguments
//       CHECK:   %[[NEEDED:.*]] = llvm.call @kernel_workspace_bytes(%{{.*}}) : (i64) -> i64
//  CHECK-NEXT:   llvm.return %[[NEEDED]]
//       CHECK:   %[[WIDE:.*]] = llvm.sext %[[REASON]] : i32 to i64
//       CHECK:   %[[NEGATED:.*]] = llvm.sub %{{.*}}, %[[WIDE]]
//  CHECK-NEXT:   llvm.return %[[NEGATED]]
llvm.func @kernel(%q: !llvm.ptr, %lengths: !llvm.ptr, %p: f32, %n: i64, %workspace: !llvm.ptr, %bytes: i64,
                  %stream: !llvm.ptr) -> i32
    attributes {attn.cuda_entry, attn.sizes = ["n"], attn.arguments = [
      {name = "q", output = true, sizes = array<i32: -1, 0>, type = tensor<3x?xf32>},
      {name = "lengths", output = false, type = tensor<3xi32>, checks = [{kind = "lengths",
       limit = array<i64: 0, 1, -1, 1>, lengths = -1, page = array<i64: -1, 1>, rows = array<i64: -1, 1>}]},
      {name = "p", output = false, type = f32}]} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  llvm.return %zero : i32
}
llvm.func @kernel_workspace_bytes(%n: i64) -> i64 {
  llvm.return %n : i64
}
