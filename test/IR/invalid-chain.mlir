// Every constraint of the chain ops, one case each.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

// C1: K has no row of its own.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<16xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C1: expected key to have 2 dimensions, found}}
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<16xf32>)
      outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

// C1: two maps for three operands.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C1: expected 3 maps, one for each shaped operand, found 2}}
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>)
      outs(%o : tensor<4x6xf32>)
      {maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>]} -> tensor<4x6xf32>
  return
}

// -----

// C1: a map without the head dimension of the domain.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C1: expected maps of at least 3 dimensions, found}}
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>)
      outs(%o : tensor<4x6xf32>)
      {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
      -> tensor<4x6xf32>
  return
}

// -----

// C1: the map of Q has the head dimension twice.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C1: expected the map of query to hold the query dimension once, found}}
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>)
      outs(%o : tensor<4x6xf32>)
      {maps = [affine_map<(i, j, d) -> (d, d)>, affine_map<(i, j, d) -> (j, d)>,
               affine_map<(i, j, d) -> (i, j)>]}
      -> tensor<4x6xf32>
  return
}

// -----

// C1: a sum of dimensions is no view of an operand.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C1: expected the map of query to hold dimensions, found}}
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>)
      outs(%o : tensor<4x6xf32>)
      {maps = [affine_map<(i, j, d) -> (i + j, d)>, affine_map<(i, j, d) -> (j, d)>,
               affine_map<(i, j, d) -> (i, j)>]}
      -> tensor<4x6xf32>
  return
}

// -----

// C1: a domain of another number of dimensions.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C1: expected the map of key to have 3 dimensions and no symbols, found}}
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>)
      outs(%o : tensor<4x6xf32>)
      {maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(b, i, j, d) -> (j, d)>,
               affine_map<(i, j, d) -> (i, j)>]}
      -> tensor<4x6xf32>
  return
}

// -----

// C1: the output does not hold the batch dimension, so batches overwrite each other.
func.func @f(%q: tensor<2x4x16xf32>, %k: tensor<2x6x16xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C1: expected the map of output to hold the head (last batch) dimension once, found}}
  %s = attn.scores ins(%q, %k : tensor<2x4x16xf32>, tensor<2x6x16xf32>)
      outs(%o : tensor<4x6xf32>)
      {maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>,
               affine_map<(b, i, j, d) -> (i, j)>]}
      -> tensor<4x6xf32>
  return
}

// -----

// C2: Q and K differ in the head size.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x15xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C2: expected the head-size dimension of key to be 16, found 15}}
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x15xf32>)
      outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

// C3: 8 query heads cannot share 3 key heads.
func.func @f(%q: tensor<8x4x16xf32>, %k: tensor<3x6x16xf32>, %o: tensor<8x4x6xf32>) {
  // expected-error @below {{C3: expected the number of query heads (8) to be a multiple of the number of key he}}
  %s = attn.scores ins(%q, %k : tensor<8x4x16xf32>, tensor<3x6x16xf32>)
      outs(%o : tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

// C4: integers are no scores.
func.func @f(%q: tensor<4x16xi32>, %k: tensor<6x16xi32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C4: expected query to be floating point, found 'i32'}}
  %s = attn.scores ins(%q, %k : tensor<4x16xi32>, tensor<6x16xi32>)
      outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

// C4: Q and K of two types.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf64>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C4: expected key to have element type 'f32', that of query, found 'f64'}}
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf64>)
      outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

// C4: integer scores.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %o: tensor<4x6xi32>) {
  // expected-error @below {{C4: expected output to be floating point, found 'i32'}}
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>)
      outs(%o : tensor<4x6xi32>) -> tensor<4x6xi32>
  return
}

// -----

// C11: one output, two results.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C11: expected 1 results, one for each output tensor, found 2}}
  %s:2 = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>)
      outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>, tensor<4x6xf32>
  return
}

// -----

// C11: a tensor and a memref.
func.func @f(%q: tensor<4x16xf32>, %k: memref<6x16xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C11: expected operands that are all tensors or all memrefs, found both}}
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, memref<6x16xf32>)
      outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

// C1: a vector has no query rows.
func.func @f(%s: tensor<6xf32>, %o: tensor<6xf32>) {
  // expected-error @below {{C1: expected input to have at least 2 dimensions, found}}
  %t = attn.scale ins(%s : tensor<6xf32>) outs(%o : tensor<6xf32>) {scale = 1.0 : f64} -> tensor<6xf32>
  return
}

// -----

// C2: the output has more keys.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x7xf32>) {
  // expected-error @below {{C2: expected the key dimension of output to be 6, found 7}}
  %t = attn.scale ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x7xf32>) {scale = 1.0 : f64} -> tensor<4x7xf32>
  return
}

// -----

// C4: the types of input and output differ.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf64>) {
  // expected-error @below {{C4: expected output to have element type 'f32', that of input, found 'f64'}}
  %t = attn.scale ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf64>) {scale = 1.0 : f64} -> tensor<4x6xf64>
  return
}

// -----

// C4: bf16 scores are multiplied in f32.
func.func @f(%s: tensor<4x6xbf16>, %o: tensor<4x6xbf16>, %x: bf16) {
  // expected-error @below {{C4: expected scale_value to have the type of the accumulation, 'f32', found 'bf16'}}
  %t = attn.scale ins(%s : tensor<4x6xbf16>) scale_value(%x : bf16) outs(%o : tensor<4x6xbf16>) -> tensor<4x6xbf16>
  return
}

// -----

// C9: nothing to multiply by.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C9: expected scale = … : f64 or scale_value(%s : …), found neither}}
  %t = attn.scale ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

// C9: two scales.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %x: f32) {
  // expected-error @below {{C9: expected one of scale and scale_value, found both}}
  %t = attn.scale ins(%s : tensor<4x6xf32>) scale_value(%x : f32) outs(%o : tensor<4x6xf32>) {scale = 1.0 : f64}
      -> tensor<4x6xf32>
  return
}

// -----

// C9: an infinite scale.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C9: expected a finite scale, found INF}}
  %t = attn.scale ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) {scale = 0x7FF0000000000000 : f64}
      -> tensor<4x6xf32>
  return
}

// -----

// C1: the map of the output drops the keys.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4xf32>) {
  // expected-error @below {{C1: expected the map of output to hold the key dimension once, found}}
  %t = attn.softcap ins(%s : tensor<4x6xf32>) outs(%o : tensor<4xf32>)
      {softcap = 1.0 : f64, maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} -> tensor<4xf32>
  return
}

// -----

// C2: the output has fewer rows.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<3x6xf32>) {
  // expected-error @below {{C2: expected the query dimension of output to be 4, found 3}}
  %t = attn.softcap ins(%s : tensor<4x6xf32>) outs(%o : tensor<3x6xf32>) {softcap = 1.0 : f64} -> tensor<3x6xf32>
  return
}

// -----

// C4: integer scores.
func.func @f(%s: tensor<4x6xi32>, %o: tensor<4x6xi32>) {
  // expected-error @below {{C4: expected input to be floating point, found 'i32'}}
  %t = attn.softcap ins(%s : tensor<4x6xi32>) outs(%o : tensor<4x6xi32>) {softcap = 1.0 : f64} -> tensor<4x6xi32>
  return
}

// -----

// C6: a cap of 0 divides by zero.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C6: expected softcap to be finite and greater than 0, found 0.000000e+00}}
  %t = attn.softcap ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) {softcap = 0.0 : f64} -> tensor<4x6xf32>
  return
}

// -----

// C6: a negative cap.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C6: expected softcap to be finite and greater than 0, found -3.000000e+01}}
  %t = attn.softcap ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) {softcap = -30.0 : f64} -> tensor<4x6xf32>
  return
}

// -----

// C6: NaN.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C6: expected softcap to be finite and greater than 0, found}}
  %t = attn.softcap ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) {softcap = 0x7FF8000000000000 : f64}
      -> tensor<4x6xf32>
  return
}

// -----

// C1: a mask of more dimensions than the scores.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %m: tensor<1x1x6xi1>) {
  // expected-error @below {{C1: expected mask to have 2 dimensions, found}}
  %t = attn.mask ins(%s : tensor<4x6xf32>) mask(%m : tensor<1x1x6xi1>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

// C2: the output has more keys.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x7xf32>, %m: tensor<6xi1>) {
  // expected-error @below {{C2: expected the key dimension of output to be 6, found 7}}
  %t = attn.mask ins(%s : tensor<4x6xf32>) mask(%m : tensor<6xi1>) outs(%o : tensor<4x7xf32>) -> tensor<4x7xf32>
  return
}

// -----

// C4: an integer bias.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %b: tensor<4x6xi32>) {
  // expected-error @below {{C4: expected bias to be floating point, found 'i32'}}
  %t = attn.mask ins(%s : tensor<4x6xf32>) bias(%b : tensor<4x6xi32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

// C5: no alignment where the sizes differ.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C5: causal needs an alignment unless the numbers of queries and keys are static and}}
  %t = attn.mask ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) {causal} -> tensor<4x6xf32>
  return
}

// -----

// C7: a mask of 5 keys.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %m: tensor<4x5xi1>) {
  // expected-error @below {{C7: expected the key dimension of mask to be 6 or 1, found 5}}
  %t = attn.mask ins(%s : tensor<4x6xf32>) mask(%m : tensor<4x5xi1>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

// C7: a bias of 3 heads for 2.
func.func @f(%s: tensor<2x4x6xf32>, %o: tensor<2x4x6xf32>, %b: tensor<3x1x6xf32>) {
  // expected-error @below {{C7: expected the head (last batch) dimension of bias to be 2 or 1, found 3}}
  %t = attn.mask ins(%s : tensor<2x4x6xf32>) bias(%b : tensor<3x1x6xf32>) outs(%o : tensor<2x4x6xf32>)
      -> tensor<2x4x6xf32>
  return
}

// -----

// C8: an additive mask is a bias.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %m: tensor<4x6xf32>) {
  // expected-error @below {{C8: expected mask to have element type i1 (true = attend), found 'f32'; an additive}}
  %t = attn.mask ins(%s : tensor<4x6xf32>) mask(%m : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

// C10: a region that yields an index.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C10: expected mask_mod to yield i1 (true = keep), found 'index'}}
  %t = attn.mask ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) mask_mod {
      %i = attn.index query : index
      attn.yield %i : index
    } -> tensor<4x6xf32>
  return
}

// -----

// C1: the maps of input and output have different domains.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{C1: expected the map of output to have 2 dimensions and no symbols, found}}
  %t = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>)
      {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(b, i, j) -> (i, j)>]} -> tensor<4x6xf32>
  return
}

// -----

// C2: the output has more keys.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x7xf32>) {
  // expected-error @below {{C2: expected the key dimension of output to be 6, found 7}}
  %t = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x7xf32>) -> tensor<4x7xf32>
  return
}

// -----

// C4: the types of input and output differ.
func.func @f(%s: tensor<4x6xf32>, %o: tensor<4x6xbf16>) {
  // expected-error @below {{C4: expected output to have element type 'f32', that of input, found 'bf16'}}
  %t = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xbf16>) -> tensor<4x6xbf16>
  return
}

// -----

// C1: V has no columns.
func.func @f(%p: tensor<4x6xf32>, %v: tensor<6xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C1: expected value to have 2 dimensions, found}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6xf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// C2: V has fewer rows than there are keys.
func.func @f(%p: tensor<4x6xf32>, %v: tensor<5x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C2: expected the key dimension of value to be 6, found 5}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<5x8xf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// C3: 4 query heads cannot share 3 value heads.
func.func @f(%p: tensor<4x4x6xf32>, %v: tensor<3x6x8xf32>, %o: tensor<4x4x8xf32>) {
  // expected-error @below {{C3: expected the number of query heads (4) to be a multiple of the number of value}}
  %r = attn.apply ins(%p, %v : tensor<4x4x6xf32>, tensor<3x6x8xf32>)
      outs(%o : tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
  return
}

// -----

// C4: V and the output differ in type.
func.func @f(%p: tensor<4x6xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf64>) {
  // expected-error @below {{C4: expected output to have element type 'f32', that of value, found 'f64'}}
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf64>) -> tensor<4x8xf64>
  return
}

// -----

// C4: boolean weights.
func.func @f(%p: tensor<4x6xi1>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C4: expected weights to be floating point, found 'i1'}}
  %r = attn.apply ins(%p, %v : tensor<4x6xi1>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// C9: a scale that f32 does not hold.
func.func @f(%s: tensor<4x6xf32>) {
  // expected-error @below {{C9: expected a scale that is finite in f32, the type of the accumulation, found 1.000000e+39}}
  %r = attn.scale ins(%s : tensor<4x6xf32>) outs(%s : tensor<4x6xf32>) {scale = 1.0e39 : f64} -> tensor<4x6xf32>
  return
}

// -----

// C6: caps that f32 does not hold, or whose reciprocal it does not.
func.func @f(%s: tensor<4x6xf32>) {
  // expected-error @below {{C6: expected softcap to be a normal number in 'f32', the type of the accumulation, found 1.000000e-40; leave it out for no cap}}
  %r = attn.softcap ins(%s : tensor<4x6xf32>) outs(%s : tensor<4x6xf32>) {softcap = 1.0e-40 : f64} -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%s: tensor<4x6xf64>) {
  // expected-error @below {{C6: expected softcap to be a normal number in 'f64', the type of the accumulation, found}}
  %r = attn.softcap ins(%s : tensor<4x6xf64>) outs(%s : tensor<4x6xf64>) {softcap = 1.0e-310 : f64} -> tensor<4x6xf64>
  return
}

// -----

func.func @f(%s: tensor<4x6xf32>) {
  // expected-error @below {{C6: expected softcap to be a normal number in 'f32', the type of the accumulation, found 1.000000e+39; leave it out for no cap}}
  %r = attn.softcap ins(%s : tensor<4x6xf32>) outs(%s : tensor<4x6xf32>) {softcap = 1.0e39 : f64} -> tensor<4x6xf32>
  return
}

// -----

// The mask of the chain is attn.mask.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %e: tensor<4x6xf32>) {
  // expected-error @below {{expected only attributes that attn.scores has, found 'causal'; remove it}}
  %r = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>)
      {causal = #attn.causal<top_left>} -> tensor<4x6xf32>
  return
}

// -----

// A misspelling, the word of another system, and a mark without a prefix, which could be either. MLIR's own marks pass.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  %a = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      {my.seen, my.pass = 1 : i64, __mark} -> tensor<4x8xf32>
  // expected-error @below {{expected only attributes that attn.sdpa has, found 'casual'; did you mean 'causal'?}}
  %b = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      {casual = #attn.causal<top_left>} -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{found 'isCausal'; write causal = #attn.causal<top_left> or #attn.causal<bottom_right>}}
  %a = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      {isCausal = true} -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{found 'first_pass'; remove it, or give a mark of your own a prefix: 'my.first_pass'}}
  %a = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      {first_pass = 1 : i64} -> tensor<4x8xf32>
  return
}

// -----

// A word of other systems on an op that has nothing of the kind.
func.func @f(%s: tensor<4x6xf32>) {
  // expected-error @below {{'attn.softmax' op expected only attributes that attn.softmax has, found 'is_causal'; remove it, or give a mark of your own a prefix: 'my.is_causal'}}
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%s : tensor<4x6xf32>) {is_causal = true} -> tensor<4x6xf32>
  return
}

// -----

// Positions have one batch index beside the head's.
func.func @f(%w: tensor<2x3x2x4x6xf32>, %seed: i64, %offset: i64) {
  // expected-error @below {{C16: expected at most two batch dimensions, batch and head, with dropout, found 3; collapse the leading ones into one with tensor.collapse_shape}}
  %d = attn.dropout ins(%w : tensor<2x3x2x4x6xf32>) dropout(%seed, %offset : i64, i64) outs(%w : tensor<2x3x2x4x6xf32>)
      {dropout_p = 0.5 : f64} -> tensor<2x3x2x4x6xf32>
  return
}

// -----

// Ops that are not there: a misspelling, the word of another system, and what is near to none.
func.func @f() {
  // expected-error @below {{custom op 'attn.spda' is unknown; did you mean 'attn.sdpa'?}}
  attn.spda
}

// -----

func.func @f() {
  // expected-error @below {{custom op 'attn.flash_attention' is unknown; did you mean 'attn.sdpa'?}}
  attn.flash_attention
}

// -----

func.func @f() {
  // expected-error-re @below {{{{custom op 'attn.convolution' is unknown$}}}}
  attn.convolution
}
