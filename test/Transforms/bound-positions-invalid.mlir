// Positions of static sizes and constants that may be outside; attn-opt runs the pass alone, then where pipelines have it.
// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-bound-positions
// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-to-reference
// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-to-flash

// The table is shorter than the keys are many.
func.func @short(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %t: tensor<4xf32>) -> tensor<4x6xf32> {
  %r = attn.modify ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %j = attn.index key : index
    // expected-error @below {{C10: expected positions from 0 to 3 in dimension 0 of 'tensor<4xf32>', found 0 to 5 possible; keep them inside by arith.maxsi and arith.minsi, or by arith.remui, or take a larger tensor}}
    %y = tensor.extract %t[%j] : tensor<4xf32>
    attn.yield %y : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

// A far index, whose read would end the process.
func.func @far(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %t: tensor<6xf32>) -> tensor<4x6xf32> {
  %r = attn.mask ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) mask_mod {
    %j = attn.index key : index
    %far = arith.constant 1000000000000 : index
    %x = arith.addi %j, %far : index
    // expected-error @below {{C10: expected positions from 0 to 5 in dimension 0 of 'tensor<6xf32>', found 1000000000000 to 1000000000005 possible}}
    %y = tensor.extract %t[%x] : tensor<6xf32>
    %zero = arith.constant 0.0 : f32
    %keep = arith.cmpf ogt, %y, %zero : f32
    attn.yield %keep : i1
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

// i - j is negative for some score.
func.func @negative(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %t: tensor<6x6xf32>) -> tensor<4x6xf32> {
  %r = attn.modify ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %i = attn.index query : index
    %j = attn.index key : index
    %d = arith.subi %i, %j : index
    // expected-error @below {{C10: expected positions from 0 to 5 in dimension 1 of 'tensor<6x6xf32>', found -5 to 3 possible}}
    %y = tensor.extract %t[%j, %d] : tensor<6x6xf32>
    attn.yield %y : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

// Arithmetic that wraps may give any number, whatever its flags promise.
func.func @wraps(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %t: tensor<6xf32>) -> tensor<4x6xf32> {
  %r = attn.modify ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %j = attn.index key : index
    %large = arith.constant 9223372036854775807 : index
    %p = arith.muli %j, %large overflow<nsw, nuw> : index
    // expected-error @below {{C10: expected positions from 0 to 5 in dimension 0 of 'tensor<6xf32>', found -9223372036854775808 to 9223372036854775807 possible, as the arithmetic may leave 64 bits}}
    %y = tensor.extract %t[%p] : tensor<6xf32>
    attn.yield %y : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

// Always outside, whatever is read from the tensor of bytes.
func.func @always(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %n: tensor<6xi8>, %t: tensor<6xf32>) -> tensor<4x6xf32> {
  %r = attn.modify ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %j = attn.index key : index
    %byte = tensor.extract %n[%j] : tensor<6xi8>
    %wide = arith.extui %byte : i8 to i32
    %p = arith.index_cast %wide : i32 to index
    %c6 = arith.constant 6 : index
    %q = arith.addi %p, %c6 : index
    // expected-error @below {{C10: expected positions from 0 to 5 in dimension 0 of 'tensor<6xf32>', found 6 to 261 possible}}
    %y = tensor.extract %t[%q] : tensor<6xf32>
    attn.yield %y : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

// Negative in a dimension of any size.
func.func @below(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %t: tensor<?xf32>) -> tensor<4x6xf32> {
  %r = attn.modify ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %p = arith.constant -1 : index
    // expected-error @below {{C10: expected positions from 0 on in dimension 0 of 'tensor<?xf32>', found -1 to -1 possible}}
    %y = tensor.extract %t[%p] : tensor<?xf32>
    attn.yield %y : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

// Nothing can be read from no elements.
func.func @empty(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %n: tensor<6xindex>, %t: tensor<0xf32>) -> tensor<4x6xf32> {
  %r = attn.modify ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %j = attn.index key : index
    %p = tensor.extract %n[%j] : tensor<6xindex>
    // expected-error @below {{C10: expected positions in a tensor that has elements in dimension 0 of 'tensor<0xf32>', found -9223372036854775808 to 9223372036854775807 possible}}
    %y = tensor.extract %t[%p] : tensor<0xf32>
    attn.yield %y : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

// What a gradient adds to, as well.
func.func @gradient(%q: tensor<4x8xf32>, %lse: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %dq0 = tensor.empty() : tensor<4x8xf32>
  %dt0 = tensor.empty() : tensor<4xf32>
  %dq, %dk, %dv, %dt = attn.sdpa_backward
      ins(%q, %q, %q, %q, %lse, %q : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4x8xf32>)
      outs(%dq0, %dq0, %dq0 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) dcaptures(%dt0 : tensor<4xf32>) score_mod {
  ^bb0(%s: f32):
    %i = attn.index query : index
    %x = tensor.extract %t[%i] : tensor<4xf32>
    %y = arith.addf %s, %x : f32
    attn.yield %y : f32
  } score_grad {
  ^bb0(%s: f32, %g: f32):
    %i = attn.index query : index
    %one = arith.constant 1 : index
    %next = arith.addi %i, %one : index
    // expected-error @below {{'attn.accumulate' op C10: expected positions from 0 to 3 in dimension 0 of 'tensor<4xf32>', found 1 to 4 possible}}
    attn.accumulate %g into %dt0[%next] : tensor<4xf32>
    attn.yield %g : f32
  } -> tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>
  return %dq, %dt : tensor<4x8xf32>, tensor<4xf32>
}
