// RUN: attn-opt %s --attn-bind-destinations --allow-unregistered-dialect --split-input-file --verify-diagnostics

// Results that no memref stands for.
// expected-error @below {{expected results that are tensors beside attn.arguments}}
func.func @number(%x: tensor<4xf32>) -> f32 attributes {attn.arguments = [
    {name = "x", output = false, type = tensor<4xf32>}]} {
  %zero = arith.constant 0 : index
  %y = tensor.extract %x[%zero] : tensor<4xf32>
  return %y : f32
}

// -----

// One description for two arguments.
// expected-error @below {{expected attn.arguments of 2 arguments or more, found 1}}
func.func @arguments(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {attn.arguments = [
    {name = "x", output = false, type = tensor<4xf32>}]} {
  %z = linalg.exp ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

// Nobody knows which operands an unknown branch passes.
func.func @branch(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected a branch of a known dialect in front of a block that takes tensors; write cf.br or cf.cond_br}}
  "other.br"(%x)[^end] : (tensor<4xf32>) -> ()
^end(%y: tensor<4xf32>):
  return %y : tensor<4xf32>
}
