// RUN: attn-opt %s | attn-opt | FileCheck %s

// The gated delta rule, by the words of a line.
// CHECK-LABEL: func.func @gated_delta
// CHECK: attn.linear ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf32>) decay(%{{.*}} : tensor<1x4x5xf32>) beta(%{{.*}} : tensor<1x4x5xf32>) outs(%{{.*}}, %{{.*}} : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>) {normalize = 9.9999999999999995E-7 : f64}
func.func @gated_delta(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x4x5x6xf32>,
                       %g: tensor<1x4x5xf32>, %b: tensor<1x4x5xf32>, %o: tensor<1x4x5x6xf32>,
                       %s: tensor<1x4x8x6xf32>) -> (tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>) {
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf32>)
      decay(%g : tensor<1x4x5xf32>) beta(%b : tensor<1x4x5xf32>)
      outs(%o, %s : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>) {normalize = 1.0e-6 : f64}
      -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
  return %r#0, %r#1 : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
}

// Packed sequences whose states are places of a pool, and gates a channel.
// CHECK-LABEL: func.func @packed
// CHECK: erase(%{{.*}} : memref<9x4x8xbf16>) write(%{{.*}} : memref<9x4x8xbf16>) cu_seqlens(%{{.*}} : memref<3xi32>) slots(%{{.*}} : memref<2xi32>) outs(%{{.*}}, %{{.*}} : memref<9x4x6xbf16>, memref<7x4x8x6xf32>) {before}
func.func @packed(%q: memref<9x2x8xbf16>, %k: memref<9x2x8xbf16>, %v: memref<9x4x6xbf16>, %g: memref<9x4x8xf32>,
                  %a: memref<9x4x8xbf16>, %w: memref<9x4x8xbf16>, %c: memref<3xi32>, %i: memref<2xi32>,
                  %o: memref<9x4x6xbf16>, %s: memref<7x4x8x6xf32>) {
  attn.linear ins(%q, %k, %v : memref<9x2x8xbf16>, memref<9x2x8xbf16>, memref<9x4x6xbf16>)
      decay(%g : memref<9x4x8xf32>) erase(%a : memref<9x4x8xbf16>) write(%w : memref<9x4x8xbf16>)
      cu_seqlens(%c : memref<3xi32>) slots(%i : memref<2xi32>)
      outs(%o, %s : memref<9x4x6xbf16>, memref<7x4x8x6xf32>) {before}
  return
}

// Their gradients: those of query and key have the heads of value.
// CHECK-LABEL: func.func @packed_gradients
// CHECK: state(%{{.*}} : memref<7x4x8x6xf32>) cu_seqlens(%{{.*}} : memref<3xi32>) slots(%{{.*}} : memref<2xi32>) outs(%{{.*}} : memref<9x4x8xbf16>
func.func @packed_gradients(%q: memref<9x2x8xbf16>, %v: memref<9x4x6xbf16>, %c: memref<3xi32>, %i: memref<2xi32>,
                            %dq: memref<9x4x8xbf16>, %s: memref<7x4x8x6xf32>) {
  attn.linear_backward ins(%q, %q, %v : memref<9x2x8xbf16>, memref<9x2x8xbf16>, memref<9x4x6xbf16>)
      dout(%v : memref<9x4x6xbf16>) state(%s : memref<7x4x8x6xf32>) cu_seqlens(%c : memref<3xi32>)
      slots(%i : memref<2xi32>) outs(%dq, %dq, %v : memref<9x4x8xbf16>, memref<9x4x8xbf16>, memref<9x4x6xbf16>)
      dstate(%s : memref<7x4x8x6xf32>)
  return
}

// CHECK-LABEL: func.func @solve
// CHECK: attn.solve ins(%{{.*}} : memref<4x4xf32>) outs(%{{.*}} : memref<4x6xf32>)
func.func @solve(%l: memref<4x4xf32>, %x: memref<4x6xf32>) {
  attn.solve ins(%l : memref<4x4xf32>) outs(%x : memref<4x6xf32>)
  return
}
