// RUN: attn-opt %s --split-input-file --verify-diagnostics

// Weights of 16 bits would be rounded before they are multiplied.
func.func @c4_weights(%p: tensor<4x6xbf16>, %v: tensor<6x8xbf16>, %a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{C4: expected lhs to be f32 or f64, found 'bf16'}}
  %o = attn.product ins(%p, %v : tensor<4x6xbf16>, tensor<6x8xbf16>) outs(%a : tensor<4x8xf32>)
      {contraction = #attn.contraction<values>} -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A sum of products is no 16-bit number.
func.func @c4_sum(%q: tensor<4x16xbf16>, %k: tensor<6x16xbf16>, %s: tensor<4x6xbf16>) -> tensor<4x6xbf16> {
  // expected-error @below {{C4: expected output to be f32 or f64, found 'bf16'}}
  %o = attn.product ins(%q, %k : tensor<4x16xbf16>, tensor<6x16xbf16>) outs(%s : tensor<4x6xbf16>)
      {contraction = #attn.contraction<scores>} -> tensor<4x6xbf16>
  return %o : tensor<4x6xbf16>
}

// -----

// K of f64 beside Q of f32 has no kernel.
func.func @c4_keys(%q: tensor<4x16xf32>, %k: tensor<6x16xf64>, %s: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{C4: expected rhs to be no wider than lhs or output, found 'f64' beside 'f32'}}
  %o = attn.product ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf64>) outs(%s : tensor<4x6xf32>)
      {contraction = #attn.contraction<scores>} -> tensor<4x6xf32>
  return %o : tensor<4x6xf32>
}

// -----

// K and V have to be of numbers.
func.func @c4_integers(%q: tensor<4x16xf32>, %k: tensor<6x16xi32>, %s: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{C4: expected rhs to be floating point, i8, f8E4M3FN or f8E5M2, found 'i32'}}
  %o = attn.product ins(%q, %k : tensor<4x16xf32>, tensor<6x16xi32>) outs(%s : tensor<4x6xf32>)
      {contraction = #attn.contraction<scores>} -> tensor<4x6xf32>
  return %o : tensor<4x6xf32>
}

// -----

// Additive scores are scores.
func.func @c2_weight(%p: tensor<4x6xf32>, %v: tensor<6x8xf32>, %w: tensor<8xf32>, %a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{C2: expected score_weight with the contraction scores alone, found it with values}}
  %o = attn.product ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) score_weight(%w : tensor<8xf32>)
      outs(%a : tensor<4x8xf32>) {contraction = #attn.contraction<values>} -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Scores of one type.
func.func @c4_map(%s: tensor<4x6xf32>, %t: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-error @below {{C4: expected output to have element type 'f32', found 'f64'}}
  %o = attn.map_scores ins(%s : tensor<4x6xf32>) outs(%t : tensor<4x6xf64>) -> tensor<4x6xf64>
  return %o : tensor<4x6xf64>
}

// -----

// Scores are not rounded.
func.func @c4_map_type(%s: tensor<4x6xf16>, %t: tensor<4x6xf16>) -> tensor<4x6xf16> {
  // expected-error @below {{C4: expected input to be f32 or f64, found 'f16'}}
  %o = attn.map_scores ins(%s : tensor<4x6xf16>) outs(%t : tensor<4x6xf16>) -> tensor<4x6xf16>
  return %o : tensor<4x6xf16>
}

// -----

// A bias of integers.
func.func @c4_bias(%s: tensor<4x6xf32>, %b: tensor<4x6xi32>, %t: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{C4: expected bias to be floating point, found 'i32'}}
  %o = attn.map_scores ins(%s : tensor<4x6xf32>) bias(%b : tensor<4x6xi32>) outs(%t : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %o : tensor<4x6xf32>
}

// -----

// Scores have no K: nothing says which head of it a head reads.
func.func @c10_kv_head(%s: tensor<2x4x6xf32>, %t: tensor<2x4x6xf32>) -> tensor<2x4x6xf32> {
  // expected-error @below {{C10: expected kv_head = affine_map<(h) -> (…)> beside a region that asks for kv_head, found none}}
  %o = attn.map_scores ins(%s : tensor<2x4x6xf32>) outs(%t : tensor<2x4x6xf32>) mask_mod {
    %h = attn.index kv_head : index
    %j = attn.index key : index
    %keep = arith.cmpi sle, %h, %j : index
    attn.yield %keep : i1
  } -> tensor<2x4x6xf32>
  return %o : tensor<2x4x6xf32>
}

// -----

// A head of K follows from one head.
func.func @c10_kv_head_map(%s: tensor<2x4x6xf32>, %t: tensor<2x4x6xf32>) -> tensor<2x4x6xf32> {
  // expected-error @below {{C10: expected kv_head to map a head to a head of K, found 2 dimensions and 1 results}}
  %o = attn.map_scores ins(%s : tensor<2x4x6xf32>) outs(%t : tensor<2x4x6xf32>) {kv_head = affine_map<(b, h) -> (h)>}
      -> tensor<2x4x6xf32>
  return %o : tensor<2x4x6xf32>
}

// -----

// A negative scale turns the largest score into the smallest.
func.func @c9_scale(%s: tensor<4x6xf32>, %m: tensor<4xf32>, %n: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{C9: expected a finite scale greater than 0, found -5.000000e-01; write it on attn.map_scores}}
  %o = attn.row_max ins(%s, %m : tensor<4x6xf32>, tensor<4xf32>) outs(%n : tensor<4xf32>) {scale = -0.5 : f64}
      -> tensor<4xf32>
  return %o : tensor<4xf32>
}

// -----

// A state of one type.
func.func @c4_state(%n: tensor<4xf64>, %a: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{C4: expected acc to have element type 'f64', found 'f32'}}
  %o:3 = attn.rescale ins(%n : tensor<4xf64>) outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return %o#0 : tensor<4x8xf32>
}

// -----

// Weights are not of 16 bits before their product.
func.func @c4_rows(%s: tensor<4x6xbf16>, %m: tensor<4xbf16>, %p: tensor<4x6xbf16>, %l: tensor<4xbf16>) -> tensor<4x6xbf16> {
  // expected-error @below {{C4: expected scores to be f32 or f64, found 'bf16'}}
  %o:2 = attn.weights ins(%s, %m : tensor<4x6xbf16>, tensor<4xbf16>) outs(%p, %l : tensor<4x6xbf16>, tensor<4xbf16>)
      -> tensor<4x6xbf16>, tensor<4xbf16>
  return %o#0 : tensor<4x6xbf16>
}

// -----

// The tile has no column for what it does not copy.
func.func @c2_copy(%k: memref<64x128xbf16>, %t: memref<64x64xbf16>) {
  // expected-error @below {{C2: expected input and output to have one number of columns, found 128 and 64}}
  %token = attn.copy ins(%k : memref<64x128xbf16>) outs(%t : memref<64x64xbf16>) : !attn.token
  return
}

// -----

// A map for each side.
func.func @c1_copy(%k: memref<1x64x128xbf16>, %t: memref<64x128xbf16>) {
  // expected-error @below {{C1: expected maps with as many results as the operand has dimensions}}
  %token = attn.copy ins(%k : memref<1x64x128xbf16>) outs(%t : memref<64x128xbf16>)
      {maps = [affine_map<(b, i, c) -> (i, c)>, affine_map<(b, i, c) -> (i, c)>]} : !attn.token
  return
}

// -----

// A place in a tensor has an index for each dimension.
func.func @c11_copy(%k: memref<64x128xbf16>, %t: memref<64x128xbf16>, %map: !llvm.ptr, %i: index) {
  // expected-error @below {{C11: expected a box with 2 to 5 indices, found 1}}
  %token = attn.copy ins(%k : memref<64x128xbf16>) outs(%t : memref<64x128xbf16>) box(%map : !llvm.ptr)[%i] : !attn.token
  return
}

// -----

// Who copies a box reads no lse.
func.func @c11_copy_where(%k: memref<64x128xbf16>, %t: memref<64x128xbf16>, %map: !llvm.ptr, %i: index, %lse: memref<64xf32>) {
  // expected-error @below {{C11: expected a box without where, found both; write attn.clear_rows behind the wait}}
  %token = attn.copy ins(%k : memref<64x128xbf16>) outs(%t : memref<64x128xbf16>) where(%lse : memref<64xf32>)
      box(%map : !llvm.ptr)[%i, %i] : !attn.token
  return
}

// -----

// Which number is a query's?
func.func @c1_copy_statistics(%lse: memref<1x64xf32>, %t: memref<4x64xf32>) {
  // expected-error @below {{C1: expected a map of each input, with as many results as it has dimensions, found [affine_map<(d0, d1) -> (d0)>]}}
  attn.copy_statistics lse(%lse : memref<1x64xf32>) outs(%t : memref<4x64xf32>)
      {delta_factor = -1.0 : f64, maps = [affine_map<(i, j) -> (i)>]}
  return
}

// -----

func.func @c1_copy_statistics_maps(%lse: memref<64xf32>, %delta: memref<64xf32>, %t: memref<4x64xf32>) {
  // expected-error @below {{C1: expected a map of each input}}
  attn.copy_statistics lse(%lse : memref<64xf32>) delta(%delta : memref<64xf32>) outs(%t : memref<4x64xf32>)
      {delta_factor = -1.0 : f64, maps = [affine_map<(i, j) -> (i)>]}
  return
}

// -----

func.func @c2_copy_statistics(%lse: memref<64xf32>, %t: memref<2x64xf32>) {
  // expected-error @below {{C2: expected a tile of 4 rows of f32, found 'memref<2x64xf32>'}}
  attn.copy_statistics lse(%lse : memref<64xf32>) outs(%t : memref<2x64xf32>)
      {delta_factor = -1.0 : f64, maps = [affine_map<(i, j) -> (i)>]}
  return
}

// -----

// Floats do not become integers.
func.func @c4_copy(%k: memref<64x128xf32>, %t: memref<64x128xi8>) {
  // expected-error @below {{C4: expected one element type, or an output of floats, found 'f32' and 'i8'}}
  %token = attn.copy ins(%k : memref<64x128xf32>) outs(%t : memref<64x128xi8>) : !attn.token
  return
}

// -----

// Copies after which one?
func.func @c9_wait() {
  // expected-error @below {{C9: expected pending to be 0 or greater, and 0 without tokens, found 1}}
  attn.wait {pending = 1 : i64}
  return
}

// -----

// Tensors and memrefs have no threads that compute beside the product.
func.func @c9_async_tensor(%p: tensor<4x6xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{C9: expected async on a tile in registers, found output of type 'tensor<4x8xf32>'; run attn-tiles-to-registers first}}
  %o = attn.product ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%a : tensor<4x8xf32>)
      {accumulate, async, contraction = #attn.contraction<values>} -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

func.func @c9_async_memref(%q: memref<4x6xf32>, %k: memref<8x6xf32>, %s: memref<4x8xf32>) {
  // expected-error @below {{C9: expected async on a tile in registers, found output of type 'memref<4x8xf32>'; run attn-tiles-to-registers first}}
  attn.product ins(%q, %k : memref<4x6xf32>, memref<8x6xf32>) outs(%s : memref<4x8xf32>)
      {async, contraction = #attn.contraction<scores>}
  return
}

// -----

// Nobody waits for the scores.
!scores = tensor<4x8xf32, #attn.registers>
func.func @c9_no_wait(%q: memref<4x6xf32>, %k: memref<8x6xf32>, %s: !scores) {
  // expected-error @below {{C9: expected one attn.wait_product of the result of an async product, in its block, and no other use}}
  %o = attn.product ins(%q, %k : memref<4x6xf32>, memref<8x6xf32>) outs(%s : !scores)
      {async, contraction = #attn.contraction<scores>} -> !scores
  return
}

// -----

// What is read is not there yet.
!scores = tensor<4x8xf32, #attn.registers>
func.func @c9_read_early(%q: memref<4x6xf32>, %k: memref<8x6xf32>, %s: !scores) -> !scores {
  // expected-error @below {{C9: expected one attn.wait_product of the result of an async product, in its block, and no other use}}
  %o = attn.product ins(%q, %k : memref<4x6xf32>, memref<8x6xf32>) outs(%s : !scores)
      {async, contraction = #attn.contraction<scores>} -> !scores
  %done = attn.wait_product %o : !scores
  return %o : !scores
}

// -----

// Another round would wait.
!scores = tensor<4x8xf32, #attn.registers>
func.func @c9_wait_elsewhere(%q: memref<4x6xf32>, %k: memref<8x6xf32>, %s: !scores, %any: i1) {
  // expected-error @below {{C9: expected one attn.wait_product of the result of an async product, in its block, and no other use}}
  %o = attn.product ins(%q, %k : memref<4x6xf32>, memref<8x6xf32>) outs(%s : !scores)
      {async, contraction = #attn.contraction<scores>} -> !scores
  scf.if %any {
    %done = attn.wait_product %o : !scores
  }
  return
}

// -----

!scores = tensor<4x8xf32, #attn.registers>
func.func @c9_not_started(%s: !scores) {
  // expected-error @below {{C9: expected the result of an attn.product with async}}
  %done = attn.wait_product %s : !scores
  return
}

// -----

// The sum is rescaled, acc is not.
!rows = tensor<4xf32, #attn.registers>
func.func @c9_no_rescale_acc(%n: !rows, %m: !rows, %l: !rows) -> (!rows, !rows) {
  // expected-error @below {{C9: expected an attn.rescale_acc by its factors, as the sums of the rows have them}}
  %f, %m1, %l1 = attn.rescale_rows ins(%n) outs(%m, %l) : !rows
  return %m1, %l1 : !rows, !rows
}

// -----

!acc = tensor<4x8xf32, #attn.registers>
!rows = tensor<4xf32, #attn.registers>
func.func @c9_no_factors(%a: !acc, %f: !rows) -> !acc {
  // expected-error @below {{C9: expected the factors of an attn.rescale_rows}}
  %a1 = attn.rescale_acc %a by %f : !acc, !rows
  return %a1 : !acc
}

// -----

// A product of tensors has f32, one of tiles what they are rounded to.
func.func @c4_rounded(%p: tensor<4x6xbf16>, %v: tensor<6x8xbf16>, %a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{C4: expected lhs to be f32 or f64, found 'bf16'}}
  %o = attn.product ins(%p, %v : tensor<4x6xbf16>, tensor<6x8xbf16>) outs(%a : tensor<4x8xf32>)
      {accumulate, contraction = #attn.contraction<values>} -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

!acc = tensor<4x8xf32, #attn.registers>
func.func @c11_result(%p: tensor<4x6xf32, #attn.registers>, %v: memref<6x8xf32>, %a: !acc) {
  // expected-error @below {{C11: expected 1 results, one for each output tensor, found 0}}
  attn.product ins(%p, %v : tensor<4x6xf32, #attn.registers>, memref<6x8xf32>) outs(%a : !acc)
      {accumulate, contraction = #attn.contraction<values>}
  return
}

// -----

// C1: two maps of different domains.
func.func @c1_copy(%k: memref<16x32xbf16>, %tile: memref<16x32xbf16>) {
  // expected-error @below {{C1: expected a map for each operand, of one domain, (batch…, row, column), found}}
  %t = attn.copy ins(%k : memref<16x32xbf16>) outs(%tile : memref<16x32xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(b, i, d) -> (i, d)>]} : !attn.token
  return
}
