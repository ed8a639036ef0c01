// RUN: attn-opt %s --attn-outline-parallel --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-outline-parallel=parallel=false --split-input-file | FileCheck %s --check-prefix=SERIAL

// What the body reads goes through a context; the index runs over the loop, its last dimension fastest.
// CHECK-LABEL: func @tiles(
//  CHECK-SAME:     %[[X:[a-z0-9]*]]: memref<2x3xf32>, %[[S:[a-z0-9]*]]: f32)
//       CHECK:   %[[CONTEXT:.*]] = llvm.alloca
//       CHECK:   llvm.store %{{.*}} : f32, !llvm.ptr
//       CHECK:   llvm.store %{{.*}} : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>, !llvm.ptr
//       CHECK:   %[[BODY:.*]] = builtin.unrealized_conversion_cast %{{.*}} : (!llvm.ptr, i64) -> () to !llvm.ptr
//       CHECK:   call @attn_parallel_for(%[[BODY]], %[[CONTEXT]], %{{.*}}) : (!llvm.ptr, !llvm.ptr, i64) -> ()
// CHECK-LABEL: func private @tiles_tile(
//       CHECK:   memref.alloca
//       CHECK:   llvm.load %{{.*}} : !llvm.ptr -> f32
//       CHECK:   %[[THREE:.*]] = arith.constant 3 : index
//       CHECK:   %[[COLUMN:.*]] = arith.remui %[[INDEX:.*]], %[[THREE]]
//       CHECK:   %[[ROW:.*]] = arith.divui %[[INDEX]], %[[THREE]]
//       CHECK:   memref.store %{{.*}}, %{{.*}}[%[[ROW]], %[[COLUMN]]]

// The stack buffer of the body is the function's.
// SERIAL-LABEL: func @tiles(
//       SERIAL:   memref.alloca
//       SERIAL:   scf.for %[[ROW:.*]] = %{{.*}} to %c2
//       SERIAL:     scf.for %[[COLUMN:.*]] = %{{.*}} to %c3
//       SERIAL:       memref.store %{{.*}}, %{{.*}}[%[[ROW]], %[[COLUMN]]]
//   SERIAL-NOT: attn_parallel_for
func.func @tiles(%x: memref<2x3xf32>, %s: f32) {
  scf.forall (%i, %j) in (2, 3) {
    %t = memref.alloca() : memref<4xf32>
    %zero = arith.constant 0 : index
    memref.store %s, %t[%zero] : memref<4xf32>
    memref.store %s, %x[%i, %j] : memref<2x3xf32>
  }
  return
}

// -----

// Two loops are two bodies and one declaration.
// CHECK-COUNT-1: func.func private @attn_parallel_for(
// CHECK-LABEL: func @two_loops(
//       CHECK:   constant @two_loops_tile :
//       CHECK:   constant @two_loops_tile_0 :
//       CHECK: func.func private @two_loops_tile(
//       CHECK: func.func private @two_loops_tile_0(
func.func @two_loops(%x: memref<2xf32>, %s: f32) {
  scf.forall (%i) in (2) {
    memref.store %s, %x[%i] : memref<2xf32>
  }
  scf.forall (%i) in (2) {
    memref.store %s, %x[%i] : memref<2xf32>
  }
  return
}

// -----

// A loop from 3 to 20 in steps of 5 has four rounds, and begins them at 3.
// CHECK-LABEL: func @steps(
//       CHECK:   %[[COUNT:.*]] = arith.index_cast %c4
//       CHECK:   call @attn_parallel_for(%{{.*}}, %{{.*}}, %[[COUNT]])
// CHECK-LABEL: func private @steps_tile(
//   CHECK-DAG:   %[[FIVE:.*]] = arith.constant 5 : index
//   CHECK-DAG:   %[[THREE:.*]] = arith.constant 3 : index
//       CHECK:   %[[DONE:.*]] = arith.muli %{{.*}}, %[[FIVE]]
//       CHECK:   %[[I:.*]] = arith.addi %[[DONE]], %[[THREE]]
//       CHECK:   memref.store %{{.*}}, %{{.*}}[%[[I]]]
func.func @steps(%x: memref<20xf32>, %s: f32) {
  scf.forall (%i) = (3) to (20) step (5) {
    memref.store %s, %x[%i] : memref<20xf32>
  }
  return
}

// -----

// The context of an inner loop is on the stack of the thread that runs the outer body: rounds of the outer loop share
// none.
// CHECK-LABEL: func @nested(
// CHECK-COUNT-1:   llvm.alloca
//   CHECK-NOT:   llvm.alloca
//       CHECK:   constant @nested_tile :
// CHECK-LABEL: func private @nested_tile(
//       CHECK:   llvm.alloca
//       CHECK:   constant @nested_tile_tile :
// CHECK-LABEL: func private @nested_tile_tile(
//   CHECK-NOT:   llvm.alloca
//       CHECK:   memref.store
func.func @nested(%x: memref<2x3xf32>, %s: f32) {
  scf.forall (%i) in (2) {
    scf.forall (%j) in (3) {
      memref.store %s, %x[%i, %j] : memref<2x3xf32>
    }
  }
  return
}

// -----

// Rounds of a serial loop share a context, which would grow the stack otherwise; those of a parallel one do not.
// CHECK-LABEL: func @in_loops(
//       CHECK:   llvm.alloca
//       CHECK:   scf.for
//   CHECK-NOT:     llvm.alloca
//       CHECK:     call @attn_parallel_for
//       CHECK:   scf.parallel
//       CHECK:     llvm.alloca
//       CHECK:     call @attn_parallel_for
func.func @in_loops(%x: memref<2x3xf32>, %s: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c2 step %c1 {
    scf.forall (%j) in (3) {
      memref.store %s, %x[%i, %j] : memref<2x3xf32>
    }
  }
  scf.parallel (%i) = (%c0) to (%c2) step (%c1) {
    scf.forall (%j) in (3) {
      memref.store %s, %x[%i, %j] : memref<2x3xf32>
    }
  }
  return
}

// -----

// A buffer of a parallel loop is one round's own.
// CHECK-LABEL: func @buffers(
//   CHECK-NOT:   memref.alloca
//       CHECK:   scf.parallel
//       CHECK:     memref.alloca() : memref<f32>
//       CHECK:     scf.for
//   CHECK-NOT:       memref.alloca
//       CHECK:       memref.store
func.func @buffers(%x: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.for %j = %c0 to %n step %c1 {
      %t = memref.alloca() : memref<f32>
      %v = memref.load %x[%i] : memref<64xf32>
      memref.store %v, %t[] : memref<f32>
    }
  }
  return
}

// -----

// Two dimensions of fewer than no rounds are no rounds.
// CHECK-LABEL: func @no_rounds(
//       CHECK:   %[[NONE:.*]] = arith.index_cast %c0
//       CHECK:   call @attn_parallel_for(%{{.*}}, %{{.*}}, %[[NONE]])
//   CHECK-DAG:   %[[ROWS:.*]] = arith.maxsi %{{.*}}, %c0
//   CHECK-DAG:   %[[COLUMNS:.*]] = arith.maxsi %{{.*}}, %c0
//       CHECK:   %[[TILES:.*]] = arith.muli %[[ROWS]], %[[COLUMNS]]
//       CHECK:   %[[COUNT:.*]] = arith.index_cast %[[TILES]]
//       CHECK:   call @attn_parallel_for(%{{.*}}, %{{.*}}, %[[COUNT]])
func.func @no_rounds(%x: memref<4x8xf32>, %s: f32, %n: index, %m: index) {
  scf.forall (%i, %j) = (5, 0) to (3, -3) step (1, 1) {
    memref.store %s, %x[%i, %j] : memref<4x8xf32>
  }
  scf.forall (%i, %j) in (%n, %m) {
    memref.store %s, %x[%i, %j] : memref<4x8xf32>
  }
  return
}

// -----

// A loop of no dimensions has one round.
// SERIAL-LABEL: func @no_dimensions(
//  SERIAL-NEXT:   memref.store
//  SERIAL-NEXT:   return
// CHECK-LABEL: func @no_dimensions(
//       CHECK:   %[[ONE:.*]] = arith.index_cast %c1
//       CHECK:   call @attn_parallel_for(%{{.*}}, %{{.*}}, %[[ONE]])
func.func @no_dimensions(%x: memref<f32>, %s: f32) {
  scf.forall () in () {
    memref.store %s, %x[] : memref<f32>
  }
  return
}

// -----

// The body of a loop in a module inside lies in that one.
// CHECK-LABEL: func private @tile(
// CHECK-LABEL: module @inner
//       CHECK:   func private @attn_parallel_for(
//       CHECK:   func @f(
//       CHECK:     constant @f_tile :
//       CHECK:     call @attn_parallel_for(
//       CHECK:   func private @f_tile(
func.func private @tile()
module @inner {
  func.func @f(%x: memref<4xf32>, %s: f32) {
    scf.forall (%i) in (4) {
      memref.store %s, %x[%i] : memref<4xf32>
    }
    return
  }
}
