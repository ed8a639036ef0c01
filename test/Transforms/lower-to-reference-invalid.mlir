// RUN: attn-opt %s --attn-lower-to-reference --split-input-file --verify-diagnostics
// RUN: not attn-opt %s --attn-lower-to-reference=compute-type=f16 --split-input-file 2>&1 | FileCheck %s

// CHECK: attn-lower-to-reference: expected compute-type to be f32 or f64, found 'f16'

// linalg on buffers would need intermediate buffers of its own.
func.func @memref(%s: memref<4x6xf32>) {
  // expected-error @below {{expected tensors, found memrefs; run attn-lower-to-reference before bufferisation}}
  attn.softmax ins(%s : memref<4x6xf32>) outs(%s : memref<4x6xf32>)
  return
}

// -----

// 1/sqrt(D) of a D that is only known at run time.
func.func @dynamic_head_size(%q: tensor<4x?xf32>, %v: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{has no reference form: expected a static head size or a scale}}
  %r = attn.sdpa ins(%q, %q, %v : tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// With chain-only, what cannot be fused falls back with a remark, or is an error.
// RUN: not attn-opt %s --attn-lower-to-reference="chain-only fail-on-fallback" --split-input-file 2>&1 \
// RUN:     | FileCheck %s --check-prefix=FALLBACK
// FALLBACK: 'attn.scale' op falls back to the materialised path (--fail-on-fallback)
func.func @fallback(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %t = attn.scale ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) {scale = 2.0 : f64} -> tensor<4x6xf32>
  return %t : tensor<4x6xf32>
}

// -----

// A tile of pages of no known size.
func.func @page_size(%c: tensor<24x?x2x64xf32>, %t: tensor<2x12xi32>, %n: tensor<2xi32>, %i: index,
                     %o: tensor<1x1x8x64xf32>) -> tensor<1x1x8x64xf32> {
  // expected-error @below {{expected a static page size of at least 1, found a cache 'tensor<24x?x2x64xf32>'}}
  %r = attn.gather_pages ins(%c, %t : tensor<24x?x2x64xf32>, tensor<2x12xi32>) lengths(%n : tensor<2xi32>)
      at(%i, %i, %i) outs(%o : tensor<1x1x8x64xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<1x1x8x64xf32>
  return %r : tensor<1x1x8x64xf32>
}

// -----

// Parts are a layout that kernels read.
func.func @parts(%x: tensor<16x32xf32>, %p: tensor<2x16x32xbf16>) -> tensor<2x16x32xbf16> {
  // expected-error @below {{has no reference form, as its operands are parts of elements; run attn-lower-to-reference before attn-tile}}
  %r = attn.pack ins(%x : tensor<16x32xf32>) outs(%p : tensor<2x16x32xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (0, i, d)>]} -> tensor<2x16x32xbf16>
  return %r : tensor<2x16x32xbf16>
}
