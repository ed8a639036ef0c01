// Every constraint of the ops of the online state and of tiles, one case each.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

// C1: V has no columns.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6xf32>, %a: tensor<4x8xf32>, %x: tensor<4xf32>,
             %y: tensor<4xf32>) {
  // expected-error @below {{C1: expected value to have 2 dimensions, found}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6xf32>)
      outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C1: a group of a dimension that is no batch dimension.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>,
             %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C1: expected the map of key to hold dimensions, a batch dimension floordiv a con}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j floordiv 2, d)>,
               affine_map<(i, j, d, e) -> (j, e)>, affine_map<(i, j, d, e) -> (i, e)>, affine_map<(i, j, d, e) -> (i)>,
               affine_map<(i, j, d, e) -> (i)>]}
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C2: K and V differ in the number of keys.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<5x8xf32>, %a: tensor<4x8xf32>,
             %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C2: expected the key dimension of value to be 6, found 5}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<5x8xf32>)
      outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C3: 8 query heads cannot share 3 key heads.
func.func @f(%q: tensor<8x4x16xf32>, %k: tensor<3x6x16xf32>, %v: tensor<3x6x8xf32>, %a: tensor<8x4x8xf32>,
             %x: tensor<8x4xf32>, %y: tensor<8x4xf32>) {
  // expected-error @below {{C3: expected the number of query heads (8) to be a multiple of the number of key he}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<8x4x16xf32>, tensor<3x6x16xf32>, tensor<3x6x8xf32>)
      outs(%a, %x, %y : tensor<8x4x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
      -> tensor<8x4x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  return
}

// -----

// C3: more value heads than query heads.
func.func @f(%q: tensor<2x4x16xf32>, %k: tensor<2x6x16xf32>, %v: tensor<4x6x8xf32>, %a: tensor<2x4x8xf32>,
             %x: tensor<2x4xf32>, %y: tensor<2x4xf32>) {
  // expected-error @below {{C3: expected the number of query heads (2) to be a multiple of the number of value}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<2x4x16xf32>, tensor<2x6x16xf32>, tensor<4x6x8xf32>)
      outs(%a, %x, %y : tensor<2x4x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
      -> tensor<2x4x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  return
}

// -----

// C4: V has a type of its own.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf64>, %a: tensor<4x8xf32>,
             %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C4: expected key and value to have one element type, found 'f32' and 'f64'}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf64>)
      outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C4: a boolean bias.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %b: tensor<4x6xi1>,
             %a: tensor<4x8xf32>, %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C4: expected bias to be floating point, found 'i1'}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      bias(%b : tensor<4x6xi1>) outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C6: a negative cap.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>,
             %x: tensor<4xf32>, %y: tensor<4xf32>) {
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) score_mod {
  ^bb0(%score: f32):
    // expected-error @below {{C6: expected limit to be finite and greater than 0, found -1.000000e+00}}
    %c = attn.cap %score {limit = -1.0 : f64} : f32
    attn.yield %c : f32
  } -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C6: a cap whose reciprocal f32 does not hold.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>,
             %x: tensor<4xf32>, %y: tensor<4xf32>) {
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) score_mod {
  ^bb0(%score: f32):
    // expected-error @below {{C6: expected limit to be a normal number in 'f32', the type of the accumulation, found 1.000000e-40}}
    %c = attn.cap %score {limit = 1.0e-40 : f64} : f32
    attn.yield %c : f32
  } -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C16: a threshold that no number of 32 bits passes.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>,
             %x: tensor<4xf32>, %y: tensor<4xf32>, %seed: i64) {
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) weight_mod {
  ^bb0(%weight: f32):
    %j = attn.index key : index
    // expected-error @below {{C16: expected a threshold in [0, 2^32), found 4294967296}}
    %kept = attn.random_keep %j seed(%seed) offset(%seed) {threshold = 4294967296 : i64}
    %z = arith.select %kept, %weight, %weight : f32
    attn.yield %z : f32
  } -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C10: a score function in a region of positions.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>,
             %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C10: expected only pure arith, math and attn.index ops on scalars, and tensor.extract of tensors from outside, in mask_mod, found attn.cap}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) mask_mod {
    %one = arith.constant 1.0 : f32
    // expected-note @below {{the op is here}}
    %c = attn.cap %one {limit = 2.0 : f64} : f32
    %keep = arith.cmpf olt, %c, %one : f32
    attn.yield %keep : i1
  } -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C7: a bias of 5 keys.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %b: tensor<4x5xf32>,
             %a: tensor<4x8xf32>, %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C7: expected the key dimension of bias to be 6 or 1, found 5}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      bias(%b : tensor<4x5xf32>) outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C8: an additive mask is a bias.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %m: tensor<4x6xf32>,
             %a: tensor<4x8xf32>, %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C8: expected mask to have element type i1 (true = attend), found 'f32'}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      mask(%m : tensor<4x6xf32>) outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C9: an infinite scale.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>,
             %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C9: expected a finite scale, found -INF}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {scale = 0xFFF0000000000000 : f64}
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C9: two scales.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %s: f32, %a: tensor<4x8xf32>,
             %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C9: expected one of scale and scale_value, found both}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      scale_value(%s : f32) outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {scale = 1.0 : f64}
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C10: a predicate that yields a float.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>,
             %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C10: expected mask_mod to yield i1 (true = keep), found 'f32'}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) mask_mod {
      %one = arith.constant 1.0 : f32
      attn.yield %one : f32
    }
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C4: a 16-bit state.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xbf16>,
             %x: tensor<4xbf16>, %y: tensor<4xbf16>) {
  // expected-error @below {{C4: expected the state to be f32 or f64, found 'bf16'}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %x, %y : tensor<4x8xbf16>, tensor<4xbf16>, tensor<4xbf16>)
      -> tensor<4x8xbf16>, tensor<4xbf16>, tensor<4xbf16>
  return
}

// -----

// C4: scale_value is not of the type of the state.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %s: f64, %a: tensor<4x8xf32>,
             %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C4: expected scale_value to have the type of the accumulation, 'f32', found 'f64'}}
  %r:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      scale_value(%s : f64) outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C11: two results for a state of three.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>,
             %x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C11: expected 3 results, one for each output tensor, found 2}}
  %r:2 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

// C1: the row maximum has a column.
func.func @f(%a: tensor<4x8xf32>, %x: tensor<4x1xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{C1: expected row_max to have 1 dimensions, found}}
  %r:3 = attn.init_state outs(%a, %x, %y : tensor<4x8xf32>, tensor<4x1xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4x1xf32>, tensor<4xf32>
  return
}

// -----

// C2: the row sum has fewer rows.
func.func @f(%a: tensor<4x8xf32>, %x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{C2: expected the query dimension of row_sum to be 4, found 3}}
  %r:3 = attn.init_state outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<3xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<3xf32>
  return
}

// -----

// C4: the row maximum has a type of its own.
func.func @f(%a: tensor<4x8xf32>, %x: tensor<4xf64>, %y: tensor<4xf32>) {
  // expected-error @below {{C4: expected row_max to have element type 'f32', that of acc, found 'f64'}}
  %r:3 = attn.init_state outs(%a, %x, %y : tensor<4x8xf32>, tensor<4xf64>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf64>, tensor<4xf32>
  return
}

// -----

// C1: three maps for six operands.
func.func @f(%a: tensor<4x8xf32>, %x: tensor<4xf32>, %y: tensor<4xf32>, %b: tensor<4x8xf32>, %u: tensor<4xf32>,
             %w: tensor<4xf32>) {
  // expected-error @below {{C1: expected 6 maps, one for each shaped operand, found 3}}
  %r:3 = attn.merge_states ins(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%b, %u, %w : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      {maps = [affine_map<(i, e) -> (i, e)>, affine_map<(i, e) -> (i)>, affine_map<(i, e) -> (i)>]}
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C2: the merged states differ in the value columns.
func.func @f(%a: tensor<4x8xf32>, %x: tensor<4xf32>, %y: tensor<4xf32>, %b: tensor<4x7xf32>, %u: tensor<4xf32>,
             %w: tensor<4xf32>) {
  // expected-error @below {{C2: expected the value-size dimension of acc to be 8, found 7}}
  %r:3 = attn.merge_states ins(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%b, %u, %w : tensor<4x7xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x7xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C4: the merged states differ in type.
func.func @f(%a: tensor<4x8xf64>, %x: tensor<4xf64>, %y: tensor<4xf64>, %b: tensor<4x8xf32>, %u: tensor<4xf32>,
             %w: tensor<4xf32>) {
  // expected-error @below {{C4: expected the merged state to have element type 'f32', that of acc, found 'f64'}}
  %r:3 = attn.merge_states ins(%a, %x, %y : tensor<4x8xf64>, tensor<4xf64>, tensor<4xf64>)
      outs(%b, %u, %w : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// C1: the map of the output has no value columns.
func.func @f(%a: tensor<4x8xf32>, %x: tensor<4xf32>, %y: tensor<4xf32>, %o: tensor<4xf32>) {
  // expected-error @below {{C1: expected the map of output to hold the value-size dimension once, found}}
  %r = attn.finalize ins(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%o : tensor<4xf32>)
      {maps = [affine_map<(i, e) -> (i, e)>, affine_map<(i, e) -> (i)>, affine_map<(i, e) -> (i)>,
               affine_map<(i, e) -> (i)>]}
      -> tensor<4xf32>
  return
}

// -----

// C2: the state has fewer rows than the output: only padding is dropped.
func.func @f(%a: tensor<3x8xf32>, %x: tensor<3xf32>, %y: tensor<3xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C2: expected the query dimension of acc to be 4, found 3}}
  %r = attn.finalize ins(%a, %x, %y : tensor<3x8xf32>, tensor<3xf32>, tensor<3xf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// C4: an integer output.
func.func @f(%a: tensor<4x8xf32>, %x: tensor<4xf32>, %y: tensor<4xf32>, %o: tensor<4x8xi32>) {
  // expected-error @below {{C4: expected output to be floating point, found 'i32'}}
  %r = attn.finalize ins(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%o : tensor<4x8xi32>) -> tensor<4x8xi32>
  return
}

// -----

// C4: an integer lse.
func.func @f(%a: tensor<4x8xf32>, %x: tensor<4xf32>, %y: tensor<4xf32>, %o: tensor<4x8xf32>, %l: tensor<4xi32>) {
  // expected-error @below {{C4: expected lse to be floating point, found 'i32'}}
  %r:2 = attn.finalize ins(%a, %x, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%o, %l : tensor<4x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>, tensor<4xi32>
  return
}

// -----

// C1: the output has one dimension.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4xf32>) {
  // expected-error @below {{C1: expected output to have 2 dimensions, found}}
  %t = attn.pack ins(%s : tensor<4x6xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// C2: the output has fewer rows than the input.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<3x6xf32>) {
  // expected-error @below {{C2: expected the query dimension of output to be 4, found 3}}
  %t = attn.pack ins(%s : tensor<4x6xf32>) outs(%o : tensor<3x6xf32>) -> tensor<3x6xf32>
  return
}

// -----

// C2: only rows are padded, not columns.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C2: expected the head-size dimension of output to be 6, found 8}}
  %t = attn.pack ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// C4: pack converts nothing but floats and booleans.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xi64>) {
  // expected-error @below {{C4: expected floats, an i8 input and a float output, one element type,}}
  %t = attn.pack ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xi64>) -> tensor<4x6xi64>
  return
}

// -----

// C2: pairs are of two.
func.func @f(%s: tensor<4x6xbf16>, %o: tensor<3x4x3xbf16>) {
  // expected-error @below {{C2: expected dimension 2 of output to have size 2, as it holds pairs, found 3}}
  %t = attn.pack ins(%s : tensor<4x6xbf16>) outs(%o : tensor<3x4x3xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d floordiv 2, i, d mod 2)>]} -> tensor<3x4x3xbf16>
  return
}

// -----

// C2: too few pairs for the odd last element.
func.func @f(%s: tensor<4x7xbf16>, %o: tensor<3x4x2xbf16>) {
  // expected-error @below {{C2: expected the head-size dimension of output to be 4, found 3}}
  %t = attn.pack ins(%s : tensor<4x7xbf16>) outs(%o : tensor<3x4x2xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d floordiv 2, i, d mod 2)>]} -> tensor<3x4x2xbf16>
  return
}

// -----

// C1: which pair, without the place in it.
func.func @f(%s: tensor<4x6xbf16>, %o: tensor<3x4xbf16>) {
  // expected-error @below {{C1: expected the map of output to hold dimensions, found}}
  %t = attn.pack ins(%s : tensor<4x6xbf16>) outs(%o : tensor<3x4xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d floordiv 2, i)>]} -> tensor<3x4xbf16>
  return
}

// -----

// C1: what is packed does not lie in pairs yet.
func.func @f(%s: tensor<3x4x2xbf16>, %o: tensor<4x6xbf16>) {
  // expected-error @below {{C1: expected the map of input to hold dimensions, or 0 for a broadcast dimension, found}}
  %t = attn.pack ins(%s : tensor<3x4x2xbf16>) outs(%o : tensor<4x6xbf16>)
      {maps = [affine_map<(i, d) -> (d floordiv 2, i, d mod 2)>, affine_map<(i, d) -> (i, d)>]} -> tensor<4x6xbf16>
  return
}

// -----

// C1: three parts of bf16 hold any f32.
func.func @f(%x: tensor<16x32xf32>, %p: tensor<4x16x32xbf16>) -> tensor<4x16x32xbf16> {
  // expected-error @below {{C1: expected the map of output to hold dimensions, found affine_map<(d0, d1) -> (0, d0, d1)>}}
  %r = attn.pack ins(%x : tensor<16x32xf32>) outs(%p : tensor<4x16x32xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (0, i, d)>]} -> tensor<4x16x32xbf16>
  return %r : tensor<4x16x32xbf16>
}

// -----

// C7: an f32 is no part.
func.func @f(%x: tensor<2x16x32xf32>, %p: tensor<2x16x32xbf16>) -> tensor<2x16x32xbf16> {
  // expected-error @below {{C7: expected dimension 0 of input to have size 1, as its map broadcasts it, found 2}}
  %r = attn.pack ins(%x : tensor<2x16x32xf32>) outs(%p : tensor<2x16x32xbf16>)
      {maps = [affine_map<(i, d) -> (0, i, d)>, affine_map<(i, d) -> (0, i, d)>]} -> tensor<2x16x32xbf16>
  return %r : tensor<2x16x32xbf16>
}
