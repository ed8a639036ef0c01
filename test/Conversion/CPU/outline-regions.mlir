// RUN: attn-opt %s --attn-outline-regions --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-outline-regions --attn-merge-functions --split-input-file | FileCheck %s --check-prefix=MERGED

// What a region captures is an argument; constants go along.
// CHECK-LABEL: func @two(
//  CHECK-SAME:     %[[X:[a-z0-9]*]]: memref<4xf32>, %[[Y:[a-z0-9]*]]: memref<4xf32>, %[[N:[a-z0-9]*]]: index)
//   CHECK-NOT:   scf.execute_region
//       CHECK:   call @two_part(%[[X]], %[[N]]) : (memref<4xf32>, index) -> ()
//       CHECK:   call @two_part_0(%[[Y]], %[[N]]) : (memref<4xf32>, index) -> ()
// CHECK-LABEL: func private @two_part(
//  CHECK-SAME:     %[[OUT:[a-z0-9]*]]: memref<4xf32>, %[[COUNT:[a-z0-9]*]]: index) attributes {passthrough = ["noinline"]} {
//   CHECK-DAG:   %[[ZERO:.*]] = arith.constant 0 : index
//   CHECK-DAG:   %[[FLOAT:.*]] = arith.constant 1.000000e+00 : f32
//       CHECK:   scf.for %[[I:.*]] = %[[ZERO]] to %[[COUNT]]
//       CHECK:     memref.store %[[FLOAT]], %[[OUT]][%[[I]]]
//       CHECK:   return

// MERGED-LABEL: func @two(
//       MERGED:   call @two_part(
//       MERGED:   call @two_part(
//   MERGED-NOT: func private @two_part_0
func.func @two(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %float = arith.constant 1.0 : f32
  scf.execute_region no_inline {
    scf.for %i = %zero to %n step %one {
      memref.store %float, %x[%i] : memref<4xf32>
    }
    scf.yield
  }
  scf.execute_region no_inline {
    scf.for %i = %zero to %n step %one {
      memref.store %float, %y[%i] : memref<4xf32>
    }
    scf.yield
  }
  return
}

// -----

// A region that may be inlined stays, and one with results.
// CHECK-LABEL: func @others(
// CHECK-COUNT-2: scf.execute_region
func.func @others(%x: memref<4xf32>, %n: index) -> f32 {
  scf.execute_region {
    %float = arith.constant 1.0 : f32
    memref.store %float, %x[%n] : memref<4xf32>
    scf.yield
  }
  %y = scf.execute_region -> f32 no_inline {
    %z = memref.load %x[%n] : memref<4xf32>
    scf.yield %z : f32
  }
  return %y : f32
}
