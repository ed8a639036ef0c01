// RUN: attn-opt %s --attn-widen-floats | FileCheck %s
// RUN: attn-opt %s --attn-widen-floats -o /dev/null 2>&1 | FileCheck %s --check-prefix=WARN

// Constants keep their value, and what is given and returned its type.
// CHECK-LABEL: func.func @scalars(%arg0: f32) -> f32
// CHECK-DAG:     %[[C:.*]] = arith.constant 0.10000000149011612 : f64
// CHECK-DAG:     %[[X:.*]] = arith.extf %arg0 : f32 to f64
// CHECK:         %[[Y:.*]] = arith.mulf %[[X]], %[[C]] : f64
// CHECK:         arith.truncf %[[Y]] : f64 to f32
func.func @scalars(%x: f32) -> f32 {
  %c = arith.constant 0.1 : f32
  %y = arith.mulf %x, %c : f32
  return %y : f32
}

// A rounding that is written stays one, by way of the type that it rounds.
// CHECK-LABEL: func.func @rounding
// CHECK:         %[[F32:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK:         %[[F16:.*]] = arith.truncf %[[F32]] : f32 to f16
// CHECK:         arith.extf %[[F16]] : f16 to f32
func.func @rounding(%x: f32) -> f32 {
  %y = math.exp %x : f32
  %h = arith.truncf %y : f32 to f16
  %w = arith.extf %h : f16 to f32
  %z = math.exp %w : f32
  return %z : f32
}

// A tensor that is read is not copied; loops carry f64.
// CHECK-LABEL: func.func @loop
// CHECK:         scf.for {{.*}} -> (tensor<4xf64>)
// CHECK:           linalg.generic {{.*}} ins(%arg0 : tensor<4xf32>) outs(%{{.*}} : tensor<4xf64>)
// CHECK:             arith.extf %{{.*}} : f32 to f64
func.func @loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> tensor<4xf32> {
    %next = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>],
        iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%acc : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  return %sum : tensor<4xf32>
}

// The bits of a type are those of that type, and this is said.
// WARN: [[@LINE+6]]:8: warning: the reference takes 'arith.bitcast' in its own type, not in f64
// CHECK-LABEL: func.func @bits
// CHECK:         %[[F32:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK:         arith.bitcast %[[F32]] : f32 to i32
func.func @bits(%x: f32) -> i32 {
  %y = math.exp %x : f32
  %b = arith.bitcast %y : f32 to i32
  return %b : i32
}
