// RUN: attn-opt %s --attn-select-schedule=target=x86-64 --split-input-file --verify-diagnostics
// RUN: not attn-opt %s --attn-select-schedule=target=pdp11 --split-input-file 2>&1 | FileCheck %s

// CHECK: attn-select-schedule: unknown target 'pdp11', expected one of host x86-64 x86-64-v2 x86-64-v3 x86-64-v4

// 8-bit floats have no CPU kernel.
func.func @f8(%q: tensor<4x64xf8E5M2FNUZ>, %k: tensor<6x64xf8E5M2FNUZ>, %v: tensor<6x64xf8E5M2FNUZ>,
              %o: tensor<4x64xf8E5M2FNUZ>) -> tensor<4x64xf8E5M2FNUZ> {
  // expected-error @below {{no CPU kernel for element type 'f8E5M2FNUZ', expected f32, f64, bf16 or f16; convert the inputs, compile with --reference, or lower with attn-lower-to-reference}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x64xf8E5M2FNUZ>, tensor<6x64xf8E5M2FNUZ>, tensor<6x64xf8E5M2FNUZ>)
      outs(%o : tensor<4x64xf8E5M2FNUZ>) -> tensor<4x64xf8E5M2FNUZ>
  return %r : tensor<4x64xf8E5M2FNUZ>
}

// -----

// A tile holds whole heads.
func.func @dynamic_head(%q: tensor<4x?xf32>, %k: tensor<6x?xf32>, %v: tensor<6x64xf32>,
                        %s: f32,
                        %o: tensor<4x64xf32>) -> tensor<4x64xf32> {
  // expected-error @below {{expected static head sizes for a CPU kernel, found dynamic ones}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x?xf32>, tensor<6x?xf32>, tensor<6x64xf32>)
      scale_value(%s : f32)
      outs(%o : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// -----

// Not even the smallest tile fits the stack.
func.func @huge_head(%q: tensor<4x200000xf32>, %k: tensor<6x200000xf32>, %v: tensor<6x64xf32>,
                     %o: tensor<4x64xf32>) -> tensor<4x64xf32> {
  // expected-error @below {{head sizes 200000 and 64 need 3203072 bytes for the smallest tile, expected at most 1048576}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x200000xf32>, tensor<6x200000xf32>, tensor<6x64xf32>)
      outs(%o : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// -----

// Nor those of gradients.
func.func @huge_head_of_gradients(%q: tensor<4x200000xf32>, %k: tensor<6x200000xf32>, %v: tensor<6x8xf32>,
                                  %o: tensor<4x8xf32>, %l: tensor<4xf32>) -> tensor<4x200000xf32> {
  // expected-error @below {{has no kernel: expected smaller head sizes: no tile of them fits a thread's stack; run attn-lower-to-reference}}
  %r:3 = attn.sdpa_backward
      ins(%q, %k, %v, %o, %l, %o : tensor<4x200000xf32>, tensor<6x200000xf32>, tensor<6x8xf32>, tensor<4x8xf32>,
          tensor<4xf32>, tensor<4x8xf32>)
      outs(%q, %k, %v : tensor<4x200000xf32>, tensor<6x200000xf32>, tensor<6x8xf32>)
      -> tensor<4x200000xf32>, tensor<6x200000xf32>, tensor<6x8xf32>
  return %r#0 : tensor<4x200000xf32>
}
