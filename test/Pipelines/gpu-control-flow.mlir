// Attention in loops and branches of the host has no kernel, whether they carry its result or write it in place.
// RUN: attn-opt %s --split-input-file --verify-diagnostics=only-expected --attn-to-flash=target=sm_80 --attn-to-gpu=target=sm_80

func.func @carried(%q: tensor<4x512x64xf16>, %k: tensor<4x512x64xf16>) -> tensor<4x512x64xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %o = tensor.empty() : tensor<4x512x64xf16>
  // expected-error @below {{has attention in it, which a GPU has no kernel for: expected attention in the function itself; write rounds as batch dimensions, or loop where the kernel is called}}
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %q) -> tensor<4x512x64xf16> {
    %a = attn.sdpa ins(%x, %k, %x : tensor<4x512x64xf16>, tensor<4x512x64xf16>, tensor<4x512x64xf16>)
        outs(%o : tensor<4x512x64xf16>) -> tensor<4x512x64xf16>
    scf.yield %a : tensor<4x512x64xf16>
  }
  return %r : tensor<4x512x64xf16>
}

// -----

// A block of threads was made of the loop, with other blocks in it.
func.func @in_place(%q: tensor<4x512x64xf16>, %o: tensor<4x512x64xf16>) -> tensor<4x512x64xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-error @below {{has attention in it, which a GPU has no kernel for}}
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %o) -> tensor<4x512x64xf16> {
    %qs = tensor.extract_slice %q[%i, 0, 0] [1, 512, 64] [1, 1, 1] : tensor<4x512x64xf16> to tensor<1x512x64xf16>
    %os = tensor.extract_slice %x[%i, 0, 0] [1, 512, 64] [1, 1, 1] : tensor<4x512x64xf16> to tensor<1x512x64xf16>
    %a = attn.sdpa ins(%qs, %qs, %qs : tensor<1x512x64xf16>, tensor<1x512x64xf16>, tensor<1x512x64xf16>)
        outs(%os : tensor<1x512x64xf16>) -> tensor<1x512x64xf16>
    %y = tensor.insert_slice %a into %x[%i, 0, 0] [1, 512, 64] [1, 1, 1] : tensor<1x512x64xf16> into tensor<4x512x64xf16>
    scf.yield %y : tensor<4x512x64xf16>
  }
  return %r : tensor<4x512x64xf16>
}
