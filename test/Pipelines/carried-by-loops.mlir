// Attention whose result a loop carries to its next round: bufferisation gives each round a buffer of its own.
// RUN: attnc run %s --check | FileCheck %s
// RUN: %if x86-64-v3 %{ attnc run %s --check --parallel=none --target=x86-64-v3 | FileCheck %s %}
// RUN: attn-opt %s --attn-to-reference --attn-to-llvm=target=x86-64-v3 | FileCheck %s --check-prefix=REFERENCE
// CHECK-COUNT-3: {{ok$}}

// REFERENCE-LABEL: llvm.func @by_count(
func.func @by_count(%q: tensor<2x5x16xf32>, %k: tensor<2x9x16xf32>) -> tensor<2x5x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %o = tensor.empty() : tensor<2x5x16xf32>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %q) -> (tensor<2x5x16xf32>) {
    %a = attn.sdpa ins(%x, %k, %k : tensor<2x5x16xf32>, tensor<2x9x16xf32>, tensor<2x9x16xf32>)
        outs(%o : tensor<2x5x16xf32>) -> tensor<2x5x16xf32>
    scf.yield %a : tensor<2x5x16xf32>
  }
  return %r : tensor<2x5x16xf32>
}

// Keys and values are the last round's result.
func.func @self_attention(%q: tensor<2x5x16xf32>) -> tensor<2x5x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %o = tensor.empty() : tensor<2x5x16xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %q) -> (tensor<2x5x16xf32>) {
    %a = attn.sdpa ins(%x, %x, %x : tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x5x16xf32>)
        outs(%o : tensor<2x5x16xf32>) {causal = #attn.causal<top_left>} -> tensor<2x5x16xf32>
    scf.yield %a : tensor<2x5x16xf32>
  }
  return %r : tensor<2x5x16xf32>
}

// REFERENCE-LABEL: llvm.func @until(
func.func @until(%q: tensor<2x5x16xf32>, %k: tensor<2x9x16xf32>) -> tensor<2x5x16xf32> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %r:2 = scf.while (%x = %q, %i = %zero) : (tensor<2x5x16xf32>, i32) -> (tensor<2x5x16xf32>, i32) {
    %goes_on = arith.cmpi slt, %i, %three : i32
    %o = tensor.empty() : tensor<2x5x16xf32>
    %a = attn.sdpa ins(%x, %k, %k : tensor<2x5x16xf32>, tensor<2x9x16xf32>, tensor<2x9x16xf32>)
        outs(%o : tensor<2x5x16xf32>) -> tensor<2x5x16xf32>
    scf.condition(%goes_on) %a, %i : tensor<2x5x16xf32>, i32
  } do {
  ^bb0(%x: tensor<2x5x16xf32>, %i: i32):
    %next = arith.addi %i, %one : i32
    scf.yield %x, %next : tensor<2x5x16xf32>, i32
  }
  return %r#0 : tensor<2x5x16xf32>
}
