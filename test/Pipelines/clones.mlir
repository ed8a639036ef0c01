// A function that returns its argument, or one of two, returns a copy: its caller frees what it gets, once.
// RUN: attn-opt %s --attn-to-flash=target=x86-64-v3 --attn-to-llvm="target=x86-64-v3 parallel=false" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: mlir-translate %t.mlir --mlir-to-llvmir -o %t.ll
// RUN: lli --entry-function=check %t.ll
// CHECK-NOT: {{bufferization\.|unrealized_conversion_cast}}

func.func @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

func.func private @pick(%x: tensor<4xf32>, %c: i1, %y: tensor<4xf32>) -> tensor<4xf32> {
  %z = arith.select %c, %x, %y : tensor<4xf32>
  return %z : tensor<4xf32>
}

// Zero where 1 of the first, 2 of the second and 4 of the same are what was found.
func.func @check() -> i32 {
  %zero = arith.constant 0 : index
  %true = arith.constant true
  %false = arith.constant false
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %four = arith.constant 4.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %x = linalg.fill ins(%one : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %y = linalg.fill ins(%two : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.fill ins(%four : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a = func.call @pick(%x, %true, %y) : (tensor<4xf32>, i1, tensor<4xf32>) -> tensor<4xf32>
  %b = func.call @pick(%x, %false, %y) : (tensor<4xf32>, i1, tensor<4xf32>) -> tensor<4xf32>
  %c = func.call @same(%z) : (tensor<4xf32>) -> tensor<4xf32>
  %a0 = tensor.extract %a[%zero] : tensor<4xf32>
  %b0 = tensor.extract %b[%zero] : tensor<4xf32>
  %c0 = tensor.extract %c[%zero] : tensor<4xf32>
  %hundred = arith.constant 100.0 : f32
  %ten = arith.constant 10.0 : f32
  %tens = arith.mulf %b0, %ten : f32
  %hundreds = arith.mulf %c0, %hundred : f32
  %low = arith.addf %a0, %tens : f32
  %sum = arith.addf %low, %hundreds : f32
  %found = arith.fptosi %sum : f32 to i32
  %expected = arith.constant 421 : i32
  %difference = arith.subi %found, %expected : i32
  return %difference : i32
}
