// RUN: attn-opt %s --attn-describe-kernels=all-functions --split-input-file --verify-diagnostics

// A kernel returns what it computes.
// expected-error @below {{expected a kernel to return ranked tensors, found 'f32'}}
func.func @scalar_result(%s: f32) -> f32 {
  return %s : f32
}

// -----

// A copy is no kernel: the result would have no destination.
// expected-error @below {{expected a kernel to compute what it returns, found an argument that is returned as it is}}
func.func @returned_argument(%s: tensor<4xf32>) -> tensor<4xf32> {
  return %s : tensor<4xf32>
}

// -----

// Two results in one buffer.
// expected-error @below {{expected each result to have a destination of its own, found one for two results}}
func.func @shared_destination(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %p, %p : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// One operand says the size that the other leaves open.
// expected-error @below {{expected 'input' to have size 4 in dimension 0, as the tensors that it is used with, found ?}}
func.func @half_dynamic(%s: tensor<?x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %p = attn.softmax ins(%s : tensor<?x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %p : tensor<4x6xf32>
}

// -----

// The caller cannot know how large the result is.
// expected-error @below {{expected dynamic sizes of results to be sizes of an argument, as tensor.dim gives them to tensor.empty, or sums, products, quotients, minima or maxima of such, found another in dimension 0 of 'output'}}
func.func @unknown_size(%s: tensor<6xf32>, %i: i64) -> tensor<?xf32> {
  %n = arith.index_cast %i : i64 to index
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<?xf32>) -> tensor<?xf32>
  return %f : tensor<?xf32>
}

// -----

// No comparison of sizes tests that one is four times the other.
func.func @groups(%q: tensor<1x?x3x8xf32>, %k: tensor<1x?x3x8xf32>, %o: tensor<1x?x3x8xf32>) -> tensor<1x?x3x8xf32> {
  // expected-error @below {{expected static numbers of heads where K and V have fewer than Q, found dynamic ones}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x?x3x8xf32>, tensor<1x?x3x8xf32>, tensor<1x?x3x8xf32>)
      outs(%o : tensor<1x?x3x8xf32>) {maps = [affine_map<(b, h, i, j, d, e) -> (b, h, i, d)>,
        affine_map<(b, h, i, j, d, e) -> (b, h floordiv 4, j, d)>,
        affine_map<(b, h, i, j, d, e) -> (b, h floordiv 4, j, e)>,
        affine_map<(b, h, i, j, d, e) -> (b, h, i, e)>]} -> tensor<1x?x3x8xf32>
  return %r : tensor<1x?x3x8xf32>
}

// -----

// Nor that one is another and one more.
func.func @sequences(%q: tensor<9x2x8xf32>, %c: tensor<?xi32>, %s: tensor<?xi32>, %o: tensor<9x2x8xf32>)
    -> tensor<9x2x8xf32> {
  // expected-error @below {{expected a static number of sequences with causal_offset, found a dynamic one; write one more than it as the size of cu_seqlens_q}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<9x2x8xf32>, tensor<9x2x8xf32>, tensor<9x2x8xf32>)
      causal_offset(%s : tensor<?xi32>) cu_seqlens(%c, %c : tensor<?xi32>, tensor<?xi32>)
      outs(%o : tensor<9x2x8xf32>) {causal = #attn.causal<offset>} -> tensor<9x2x8xf32>
  return %r : tensor<9x2x8xf32>
}

// -----

// C has no type for it.
// expected-error @below {{expected kernel arguments that are ranked tensors, memrefs or numbers, found 'index'}}
func.func @index_argument(%n: index, %s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %p : tensor<4x6xf32>
}

// -----

// An entry in C has no strides.
// expected-error @below {{expected kernel arguments that are dense memrefs of the default memory space, or such of layout strided<[?, …, 1]>, found 'memref<4x6xf32, strided<[12, 2]>>'; make the function private}}
func.func @strided_argument(%s: memref<4x6xf32, strided<[12, 2]>>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %t = bufferization.to_tensor %s restrict : memref<4x6xf32, strided<[12, 2]>> to tensor<4x6xf32>
  %p = attn.softmax ins(%t : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %p : tensor<4x6xf32>
}

// -----

// Its outputs are the memrefs that are written, or the results.
// expected-error @below {{expected a kernel to write to memrefs or to return tensors, found both}}
func.func @both(%s: tensor<4x6xf32>, %o: memref<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  bufferization.materialize_in_destination %p in restrict writable %o : (tensor<4x6xf32>, memref<4x6xf32>) -> ()
  return %p : tensor<4x6xf32>
}

// -----

// DLPack has no code for it.
// expected-error @below {{expected element type f32, f64, bf16, f16, f8E4M3FN, f8E5M2, i1, i8, i32 or i64, found 'i4'}}
func.func @element_type(%x: tensor<4xi4>, %s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %p : tensor<4x6xf32>
}

// -----

// Control flow between blocks.
// expected-error @below {{expected a kernel of one block}}
func.func @blocks(%s: tensor<4x6xf32>) -> tensor<4x6xf32> {
  cf.br ^end
^end:
  return %s : tensor<4x6xf32>
}

// -----

// A kernel's arguments become pointers.
func.func @called(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %o = tensor.empty() : tensor<2x4x8xf32>
  %r = attn.sdpa ins(%x, %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) outs(%o : tensor<2x4x8xf32>)
      -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
func.func @caller(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  // expected-error @below {{expected no call of a kernel, whose arguments become pointers, found one of 'called'; make it private, or inline it}}
  %r = call @called(%x) : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// -----

func.func private @outside()
module @inner {
  func.func @f(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %o = tensor.empty() : tensor<2x4x8xf32>
    // expected-error @below {{expected attention in functions of the outermost module, found it in a module inside}}
    %r = attn.sdpa ins(%x, %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
        outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    return %r : tensor<2x4x8xf32>
  }
}

// -----

func.func private @outside()
module @inner {
  func.func @layer(%x: tensor<1x5x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x5x8xf32> {
    %o = tensor.empty() : tensor<1x5x8xf32>
    // expected-error @below {{expected attention in functions of the outermost module, found it in a module inside}}
    %r = attn.multi_head ins(%x, %w, %w, %w, %w : tensor<1x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>)
        outs(%o : tensor<1x5x8xf32>) {heads = 2} -> tensor<1x5x8xf32>
    return %r : tensor<1x5x8xf32>
  }
}

// -----

func.func private @outside()
module @inner {
  func.func @cache(%x: tensor<2x2x1x64xf32>, %p: tensor<2xi32>, %c: tensor<2x2x203x64xf32>) -> tensor<2x2x203x64xf32> {
    // expected-error @below {{expected attention in functions of the outermost module, found it in a module inside}}
    %new = attn.kv_append ins(%x : tensor<2x2x1x64xf32>) positions(%p : tensor<2xi32>)
        outs(%c : tensor<2x2x203x64xf32>) -> tensor<2x2x203x64xf32>
    return %new : tensor<2x2x203x64xf32>
  }
}

// -----

// The op that holds a region, not what is in it.
func.func private @outside()
module @inner {
  func.func @region(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %o = tensor.empty() : tensor<2x4x8xf32>
    // expected-error @below {{'attn.sdpa' op expected attention in functions of the outermost module}}
    %r = attn.sdpa ins(%x, %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
        outs(%o : tensor<2x4x8xf32>) score_mod {
    ^bb0(%s: f32):
      attn.yield %s : f32
    } -> tensor<2x4x8xf32>
    return %r : tensor<2x4x8xf32>
  }
}

// -----

#compressed = #sparse_tensor.encoding<{map = (i, j) -> (i : dense, j : compressed)}>
// expected-error @below {{expected dense tensors without an encoding, found}}
func.func @sparse(%x: tensor<4x8xf32, #compressed>) -> tensor<4x8xf32> {
  %o = tensor.empty() : tensor<4x8xf32>
  %r = attn.sdpa ins(%x, %x, %x : tensor<4x8xf32, #compressed>, tensor<4x8xf32, #compressed>, tensor<4x8xf32, #compressed>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// What has no form in LLVM, in functions that no C program calls.
func.func private @bias(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>,
                        %b: tensor<4x6xtf32>) -> tensor<4x8xf32> {
  // expected-error @below {{expected element types f32, f64, bf16, f16, f8E4M3FN, f8E5M2, i1, i8, i32 or i64, found 'tensor<4x6xtf32>'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) bias(%b : tensor<4x6xtf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// The bias of a kernel, rounded in it.
func.func @rounded(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>,
                   %b: tensor<4x6xf32>) -> tensor<4x8xf32> {
  %t = arith.truncf %b : tensor<4x6xf32> to tensor<4x6xtf32>
  // expected-error @below {{expected element types f32, f64, bf16, f16, f8E4M3FN, f8E5M2, i1, i8, i32 or i64, found 'tensor<4x6xtf32>'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) bias(%t : tensor<4x6xtf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
