// Every constraint of attn.sdpa, of regions and of attributes, one case each.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

// C1: V has no columns.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C1: expected value to have 2 dimensions, found}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6xf32>)
      outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

// C1: a group of a dimension that is no batch dimension.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C1: expected the map of key to hold dimensions, a batch dimension floordiv a con}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>)
      {maps = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j floordiv 2, d)>,
               affine_map<(i, j, d, e) -> (j, e)>, affine_map<(i, j, d, e) -> (i, e)>]}
      -> tensor<4x8xf32>
  return
}

// -----

// C2: K and V differ in the number of keys.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<5x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C2: expected the key dimension of value to be 6, found 5}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<5x8xf32>)
      outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

// C3: 8 query heads cannot share 3 key heads.
func.func @f(%q: tensor<8x4x16xf32>, %k: tensor<3x6x16xf32>, %v: tensor<3x6x8xf32>, %o: tensor<8x4x8xf32>) {
  // expected-error @below {{C3: expected the number of query heads (8) to be a multiple of the number of key he}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x4x16xf32>, tensor<3x6x16xf32>, tensor<3x6x8xf32>)
      outs(%o : tensor<8x4x8xf32>)
      -> tensor<8x4x8xf32>
  return
}

// -----

// C3: more value heads than query heads.
func.func @f(%q: tensor<2x4x16xf32>, %k: tensor<2x6x16xf32>, %v: tensor<4x6x8xf32>, %o: tensor<2x4x8xf32>) {
  // expected-error @below {{C3: expected the number of query heads (2) to be a multiple of the number of value}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x4x16xf32>, tensor<2x6x16xf32>, tensor<4x6x8xf32>)
      outs(%o : tensor<2x4x8xf32>)
      -> tensor<2x4x8xf32>
  return
}

// -----

// C4: V has a type of its own.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf64>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C4: expected key and value to have one element type, found 'f32' and 'f64'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf64>)
      outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

// C4: a boolean bias.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %b: tensor<4x6xi1>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C4: expected bias to be floating point, found 'i1'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      bias(%b : tensor<4x6xi1>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

// C6: a negative cap.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C6: expected softcap to be finite and greater than 0, found -1.000000e+00}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>) {softcap = -1.0 : f64}
      -> tensor<4x8xf32>
  return
}

// -----

// C7: a bias of 5 keys.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %b: tensor<4x5xf32>,
             %o: tensor<4x8xf32>) {
  // expected-error @below {{C7: expected the key dimension of bias to be 6 or 1, found 5}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      bias(%b : tensor<4x5xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

// C8: an additive mask is a bias.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %m: tensor<4x6xf32>,
             %o: tensor<4x8xf32>) {
  // expected-error @below {{C8: expected mask to have element type i1 (true = attend), found 'f32'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      mask(%m : tensor<4x6xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

// C9: an infinite scale.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C9: expected a finite scale, found -INF}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>) {scale = 0xFFF0000000000000 : f64}
      -> tensor<4x8xf32>
  return
}

// -----

// C9: two scales.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %s: f32, %o: tensor<4x8xf32>) {
  // expected-error @below {{C9: expected one of scale and scale_value, found both}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      scale_value(%s : f32) outs(%o : tensor<4x8xf32>) {scale = 1.0 : f64}
      -> tensor<4x8xf32>
  return
}

// -----

// C10: a predicate that yields a float.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C10: expected mask_mod to yield i1 (true = keep), found 'f32'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>) mask_mod {
      %one = arith.constant 1.0 : f32
      attn.yield %one : f32
    }
      -> tensor<4x8xf32>
  return
}

// -----

// C4: the output is neither of the type of Q nor f32.
func.func @f(%q: tensor<4x16xbf16>, %k: tensor<6x16xbf16>, %v: tensor<6x8xbf16>, %o: tensor<4x8xf16>) {
  // expected-error @below {{C4: expected output to have element type 'bf16', that of query, or f32, that of the accumulation, found 'f16'}}
  %0 = attn.sdpa ins(%q, %k, %v : tensor<4x16xbf16>, tensor<6x16xbf16>, tensor<6x8xbf16>) outs(%o : tensor<4x8xf16>) -> tensor<4x8xf16>
  return
}

// -----

// C4: the output is not of the type of Q.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf64>) {
  // expected-error @below {{C4: expected output to have element type 'f32', that of query, found 'f64'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf64>)
      -> tensor<4x8xf64>
  return
}

// -----

// C4: lse is f32, whatever the inputs are.
func.func @f(%q: tensor<4x16xbf16>, %k: tensor<6x16xbf16>, %v: tensor<6x8xbf16>, %o: tensor<4x8xbf16>,
             %l: tensor<4xbf16>) {
  // expected-error @below {{C4: expected lse to have element type 'f32', that of the accumulation, found 'bf16'}}
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x16xbf16>, tensor<6x16xbf16>, tensor<6x8xbf16>)
      outs(%o, %l : tensor<4x8xbf16>, tensor<4xbf16>)
      -> tensor<4x8xbf16>, tensor<4xbf16>
  return
}

// -----

// C4: an f32 scale of an f64 product.
func.func @f(%q: tensor<4x16xf64>, %k: tensor<6x16xf64>, %v: tensor<6x8xf64>, %s: f32, %o: tensor<4x8xf64>) {
  // expected-error @below {{C4: expected scale_value to have the type of the accumulation, 'f64', found 'f32'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf64>, tensor<6x16xf64>, tensor<6x8xf64>)
      scale_value(%s : f32) outs(%o : tensor<4x8xf64>)
      -> tensor<4x8xf64>
  return
}

// -----

// C5: no alignment where a size is dynamic.
func.func @f(%q: tensor<?x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C5: causal needs an alignment unless the numbers of queries and keys are static and}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<?x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>) {causal}
      -> tensor<4x8xf32>
  return
}

// -----

// C5: a word is no alignment.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C5: expected causal to be #attn.causal<top_left>, #attn.causal<bottom_right> or #attn.causal<offset>, found}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>) {causal = "upper"}
      -> tensor<4x8xf32>
  return
}

// -----

// C9: the default scale of an empty head is infinite.
func.func @f(%q: tensor<4x0xf32>, %k: tensor<6x0xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C9: expected a scale where the head size is 0, as 1/sqrt(0) is infinite, found none}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x0xf32>, tensor<6x0xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

// C12: the diagonal of a window is not known.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C12: a window or chunk without causal needs an alignment unless the numbers of queries and k}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>) {window = #attn.window<left = 2>}
      -> tensor<4x8xf32>
  return
}

// -----

// C12: two alignments.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C12: expected align only for a window or chunk without causal, found it beside causal}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>)
      {causal = #attn.causal<top_left>, align = #attn.causal<top_left>, window = #attn.window<left = 2>}
      -> tensor<4x8xf32>
  return
}

// -----

// C12: an alignment of nothing.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C12: expected align only for a window or chunk without causal, found it without a window}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>) {align = #attn.causal<top_left>}
      -> tensor<4x8xf32>
  return
}

// -----

// C10: a block argument.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C10: expected mask_mod to have no block arguments (positions come from attn.index),}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>) mask_mod {
    ^bb0(%keep: i1):
      attn.yield %keep : i1
    }
      -> tensor<4x8xf32>
  return
}

// -----

// C11: a result of another type than its output.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C11: expected a result of its output's type 'tensor<4x8xf32>', found 'tensor<8x4xf32>'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

// C11: a result of memrefs.
func.func @f(%q: memref<4x16xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>, %o: memref<4x8xf32>) {
  // expected-error @below {{C11: expected 0 results, one for each output tensor, found 1}}
  %r = attn.sdpa ins(%q, %k, %v : memref<4x16xf32>, memref<6x16xf32>, memref<6x8xf32>)
      outs(%o : memref<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// C10: an op with a result that is no scalar.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C10: expected only pure arith, math and attn.index ops on scalars, and tensor.extract of tensors from outside, in mask_mod, found arith}}
  %t = attn.mask ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) mask_mod {
    // expected-note @below {{the op is here}}
    %many = arith.constant dense<true> : tensor<4xi1>
    %keep = arith.constant true
    attn.yield %keep : i1
  } -> tensor<4x6xf32>
  return
}

// -----

// C10: a quotient that may have no meaning.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{in mask_mod, found arith.divsi by what is no constant; write arith.floordivsi}}
  %r = attn.mask ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    // expected-note @below {{the op is here}}
    %x = arith.divsi %i, %j : index
    %keep = arith.cmpi eq, %x, %i : index
    attn.yield %keep : i1
  } -> tensor<4x6xf32>
  return
}

// -----

// C10: a predicate does not write memory.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %flags: memref<4xi1>) {
  // expected-error @below {{C10: expected only pure arith, math and attn.index ops on scalars, and tensor.extract of tensors from outside, in mask_mod, found memref}}
  %t = attn.mask ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) mask_mod {
    %i = attn.index query : index
    %keep = arith.constant true
    // expected-note @below {{the op is here}}
    memref.store %keep, %flags[%i] : memref<4xi1>
    attn.yield %keep : i1
  } -> tensor<4x6xf32>
  return
}

// -----

// C10: a region that ends with another op's terminator.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C10: expected mask_mod to end with attn.yield}}
  %t = attn.mask ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) mask_mod {
    %keep = arith.constant true
    linalg.yield %keep : i1
  } -> tensor<4x6xf32>
  return
}

// -----

// There is no score here that an index could be of.
func.func @f() {
  // expected-error @below {{expected to stand directly in a region of an attn op, as mask_mod or score_mod}}
  %i = attn.index query : index
  return
}

// -----

// Without batch dimensions there are no heads.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) {
  %t = attn.mask ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) mask_mod {
    // expected-error @below {{expected the enclosing op to have a batch dimension, found none}}
    %h = attn.index head : index
    %i = attn.index query : index
    %keep = arith.cmpi sle, %h, %i : index
    attn.yield %keep : i1
  } -> tensor<4x6xf32>
  return
}

// -----

// attn.mask has no K, so no groups of heads.
func.func @f(%s: tensor<2x4x6xf32>, %o: tensor<2x4x6xf32>) {
  %t = attn.mask ins(%s : tensor<2x4x6xf32>) outs(%o : tensor<2x4x6xf32>) mask_mod {
    // expected-error @below {{expected kv_head in attn.sdpa or attn.online_step, which have key heads}}
    %h = attn.index kv_head : index
    %i = attn.index query : index
    %keep = arith.cmpi sle, %h, %i : index
    attn.yield %keep : i1
  } -> tensor<2x4x6xf32>
  return
}

// -----

// C12: a window that ends before it starts.
func.func @f() attributes {
  // expected-error @below {{C12: expected the window's left bound to be 0 or greater and at most 2^40, found -1}}
  s = #attn.window<left = -1, right = 0>
} {
  return
}

// -----

// A tile of no keys.
func.func @f() attributes {
  // expected-error @below {{expected key_tile to be a number from 1 to 16777216, found 0}}
  s = #attn.prefill<query_tile = 64, key_tile = 0, lanes = 16, block_rows = 4, block_vectors = 4>
} {
  return
}

// -----

// Rows that fill no vector.
func.func @f() attributes {
  // expected-error @below {{expected query_tile to be a multiple of the 16 lanes, found 72; write query_tile = 80}}
  s = #attn.prefill<query_tile = 72, key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 4>
} {
  return
}

// -----

// A window of -1 keys to the left has no meaning.
// expected-error @below {{C12: expected the window's left bound to be 0 or greater and at most 2^40, found -1}}
#window = #attn.window<left = -1>

// -----

// Four queries and six keys: where the window's diagonal ends must be said.
func.func @window_without_alignment(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C12: a window or chunk without causal needs an alignment unless the numbers of queries and keys are static and equal; write align = #attn.causal<top_left>}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      {window = #attn.window<left = 3>} -> tensor<4x8xf32>
  return
}

// -----

// The causal alignment places the window already.
func.func @two_alignments(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C12: expected align only for a window or chunk without causal, found it beside causal}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      {causal = #attn.causal<top_left>, window = #attn.window<left = 3>, align = #attn.causal<top_left>} -> tensor<4x8xf32>
  return
}

// -----

// C28: the state of the outputs is not known.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C28: expected lse, or max and log_sum, beside accumulate, which reads the state of rows there, found neither}}
  %0 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>) {accumulate} -> tensor<4x8xf32>
  return
}

// -----

// C28: half of the state.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>, %l: tensor<4xf32>) {
  // expected-error @below {{C28: expected lse, or max and log_sum, beside accumulate, which reads the state of rows there, found max alone}}
  %0:3 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o, %l : tensor<4x8xf32>, tensor<4xf32>) max(%l : tensor<4xf32>) {accumulate}
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C28: each call would round the output.
func.func @f(%q: tensor<4x16xbf16>, %k: tensor<6x16xbf16>, %v: tensor<6x8xbf16>, %o: tensor<4x8xbf16>, %l: tensor<4xf32>) {
  // expected-error @below {{C28: expected output to have element type 'f32', that of the accumulation, beside accumulate, found 'bf16'}}
  %0:2 = attn.sdpa ins(%q, %k, %v : tensor<4x16xbf16>, tensor<6x16xbf16>, tensor<6x8xbf16>)
      outs(%o, %l : tensor<4x8xbf16>, tensor<4xf32>) {accumulate} -> tensor<4x8xbf16>, tensor<4xf32>
  return
}

// -----

// C28: a sink would count in each call.
func.func @f(%q: tensor<1x4x16xf32>, %k: tensor<1x6x16xf32>, %v: tensor<1x6x8xf32>, %o: tensor<1x4x8xf32>,
             %l: tensor<1x4xf32>, %s: tensor<1xf32>) {
  // expected-error @below {{C28: expected no sink beside accumulate, where it would count once more with each call; give it to the call that makes the state}}
  %0:2 = attn.sdpa ins(%q, %k, %v : tensor<1x4x16xf32>, tensor<1x6x16xf32>, tensor<1x6x8xf32>) sink(%s : tensor<1xf32>)
      outs(%o, %l : tensor<1x4x8xf32>, tensor<1x4xf32>) {accumulate} -> tensor<1x4x8xf32>, tensor<1x4xf32>
  return
}

// -----

// C28: a gradient that there is none of.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>, %l: tensor<4xf32>) {
  // expected-error @below {{C28: expected accumulate to name some of dquery, dkey and dvalue, found "dbias"}}
  %0:3 = attn.sdpa_backward ins(%q, %k, %v, %o, %l, %o : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>,
      tensor<4x8xf32>, tensor<4xf32>, tensor<4x8xf32>) outs(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>,
      tensor<6x8xf32>) {accumulate = ["dkey", "dbias"]} -> tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
  return
}

// -----

// C28: each call would round the gradient.
func.func @f(%q: tensor<4x16xf16>, %k: tensor<6x16xf16>, %v: tensor<6x8xf16>, %o: tensor<4x8xf16>, %l: tensor<4xf32>) {
  // expected-error @below {{C28: expected dkey to have element type 'f32', that of the accumulation, as accumulate names it, found 'f16'}}
  %0:3 = attn.sdpa_backward ins(%q, %k, %v, %o, %l, %o : tensor<4x16xf16>, tensor<6x16xf16>, tensor<6x8xf16>,
      tensor<4x8xf16>, tensor<4xf32>, tensor<4x8xf16>) outs(%q, %k, %v : tensor<4x16xf16>, tensor<6x16xf16>,
      tensor<6x8xf16>) {accumulate = ["dkey"]} -> tensor<4x16xf16>, tensor<6x16xf16>, tensor<6x8xf16>
  return
}
