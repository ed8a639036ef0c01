// RUN: attn-opt %s --attn-check-allocations --split-input-file | FileCheck %s

llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)

// A kernel frees what it has got, and returns its status.
// CHECK-LABEL: llvm.func @kernel(
//       CHECK:   %[[STATUS:.*]] = llvm.alloca {{.*}} x i32
//       CHECK:   %[[SLOTS:.*]] = llvm.alloca {{.*}} x !llvm.array<2 x ptr>
//       CHECK:   %[[FIRST:.*]] = llvm.call @malloc
//       CHECK:   llvm.icmp "eq" %[[FIRST]]
//       CHECK:   llvm.cond_br {{.*}}, ^[[REFUSE:.*]], ^[[NEXT:.*]]
//       CHECK: ^[[NEXT]]:
//       CHECK:   llvm.call @malloc
//       CHECK:   llvm.cond_br
//       CHECK:   llvm.return %{{.*}} : i32
//       CHECK: ^[[REFUSE]]:
//       CHECK:   %[[NO_MEMORY:.*]] = llvm.mlir.constant(12 : i32)
//       CHECK:   llvm.store %[[NO_MEMORY]], %[[STATUS]] atomic monotonic
//       CHECK:   llvm.call @free
//       CHECK:   llvm.load %[[STATUS]] atomic monotonic
//       CHECK:   llvm.return
llvm.func @kernel(%n: i64) -> i32 attributes {attn.arguments = []} {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %0 = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
  %1 = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
  llvm.call @free(%0) : (!llvm.ptr) -> ()
  llvm.call @free(%1) : (!llvm.ptr) -> ()
  llvm.return %ok : i32
}

// -----

llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func @attn_parallel_for(!llvm.ptr, !llvm.ptr, i64)

// The body of a loop finds its context, and the kernel's status, in a pair.
// CHECK-LABEL: llvm.func @kernel(
//  CHECK-SAME:   %[[CONTEXT:.*]]: !llvm.ptr
//       CHECK:   %[[PAIR:.*]] = llvm.alloca {{.*}} x !llvm.struct<(ptr, ptr)>
//       CHECK:   llvm.store %[[CONTEXT]]
//       CHECK:   llvm.call @attn_parallel_for(%{{.*}}, %[[PAIR]], %{{.*}})
//       CHECK:   llvm.load {{.*}} atomic monotonic
//       CHECK:   llvm.cond_br
// CHECK-LABEL: llvm.func internal @body(
//       CHECK:   llvm.getelementptr {{.*}}[0, 0]
//       CHECK:   llvm.getelementptr {{.*}}[0, 1]
//       CHECK:   llvm.call @callee(%{{.*}}, %{{.*}}) : (i64, !llvm.ptr) -> i64
// CHECK-LABEL: llvm.func internal @callee(
//  CHECK-SAME:   %{{.*}}: i64, %[[STATUS:.*]]: !llvm.ptr) -> i64
//       CHECK:   llvm.store %{{.*}}, %[[STATUS]] atomic monotonic
llvm.func @kernel(%context: !llvm.ptr, %n: i64) -> i32 attributes {attn.arguments = []} {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %body = llvm.mlir.addressof @body : !llvm.ptr
  llvm.call @attn_parallel_for(%body, %context, %n) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.return %ok : i32
}
llvm.func internal @body(%context: !llvm.ptr, %i: i64) {
  %n = llvm.load %context : !llvm.ptr -> i64
  %0 = llvm.call @callee(%n) : (i64) -> i64
  llvm.return
}
llvm.func internal @callee(%n: i64) -> i64 {
  %0 = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
  %1 = llvm.load %0 : !llvm.ptr -> i64
  llvm.call @free(%0) : (!llvm.ptr) -> ()
  llvm.return %1 : i64
}

// -----

llvm.func @malloc(i64) -> !llvm.ptr

// A function of somebody else stays as it is, as does what it runs.
// CHECK-LABEL: llvm.func @other(
//   CHECK-NOT:   icmp
llvm.func @other(%n: i64) -> !llvm.ptr {
  %0 = llvm.call @shared(%n) : (i64) -> !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.func internal @shared(%n: i64) -> !llvm.ptr {
  %0 = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
