// Attention in a user's own parallel loop is tiled: our loop within theirs, on any number of threads, and not twice.
// RUN: attn-opt %s --attn-to-flash=target=x86-64-v3 | FileCheck %s
// RUN: attn-opt %s --attn-to-flash=target=x86-64-v3 -o %t.tile.mlir
// RUN: attn-opt %t.tile.mlir --pass-pipeline="builtin.module(func.func(attn-tile))" | diff %t.tile.mlir -
// RUN: env OMP_NUM_THREADS=4 attnc run %s --check | FileCheck %s --check-prefix=VALUES
// RUN: attnc run %s --check --parallel=none | FileCheck %s --check-prefix=VALUES
// RUN: not attnc %s --target=sm_80 --emit=ptx -o - 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: error: 'attn.sdpa' op cannot be tiled for a GPU inside of scf.forall, whose rounds are thread blocks already: expected attention in the function itself

// CHECK-LABEL: func.func @prefill(
//       CHECK:   scf.forall (%{{.*}}) in (16)
//       CHECK:     scf.forall (%{{.*}}, %{{.*}}) in (4, 7)
//       CHECK:       attn.pack
// VALUES: {{ok$}}
func.func @prefill(%q: tensor<16x4x100x16xf32>, %k: tensor<16x4x100x16xf32>, %v: tensor<16x4x100x8xf32>)
    -> tensor<16x4x100x8xf32> {
  %o = tensor.empty() : tensor<16x4x100x8xf32>
  %r = scf.forall (%b) in (16) shared_outs(%s = %o) -> (tensor<16x4x100x8xf32>) {
    %qs = tensor.extract_slice %q[%b, 0, 0, 0] [1, 4, 100, 16] [1, 1, 1, 1] : tensor<16x4x100x16xf32> to tensor<4x100x16xf32>
    %ks = tensor.extract_slice %k[%b, 0, 0, 0] [1, 4, 100, 16] [1, 1, 1, 1] : tensor<16x4x100x16xf32> to tensor<4x100x16xf32>
    %vs = tensor.extract_slice %v[%b, 0, 0, 0] [1, 4, 100, 8] [1, 1, 1, 1] : tensor<16x4x100x8xf32> to tensor<4x100x8xf32>
    %os = tensor.extract_slice %s[%b, 0, 0, 0] [1, 4, 100, 8] [1, 1, 1, 1] : tensor<16x4x100x8xf32> to tensor<4x100x8xf32>
    %a = attn.sdpa ins(%qs, %ks, %vs : tensor<4x100x16xf32>, tensor<4x100x16xf32>, tensor<4x100x8xf32>)
      outs(%os : tensor<4x100x8xf32>) {causal = #attn.causal<top_left>} -> tensor<4x100x8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %a into %s[%b, 0, 0, 0] [1, 4, 100, 8] [1, 1, 1, 1] : tensor<4x100x8xf32> into tensor<16x4x100x8xf32>
    }
  }
  return %r : tensor<16x4x100x8xf32>
}

// One query: ranges of keys, then their merge, two loops within theirs.
// CHECK-LABEL: func.func @decode(
//       CHECK:   scf.forall (%{{.*}}) in (3)
//       CHECK:     scf.forall
//       CHECK:       attn.online_step
//       CHECK:     scf.forall
//       CHECK:       attn.merge_states
// VALUES: {{ok$}}
func.func @decode(%q: tensor<3x1x1x64xf32>, %k: tensor<3x1x9000x64xf32>, %v: tensor<3x1x9000x64xf32>)
    -> tensor<3x1x1x64xf32> {
  %o = tensor.empty() : tensor<3x1x1x64xf32>
  %r = scf.forall (%b) in (3) shared_outs(%s = %o) -> (tensor<3x1x1x64xf32>) {
    %qs = tensor.extract_slice %q[%b, 0, 0, 0] [1, 1, 1, 64] [1, 1, 1, 1] : tensor<3x1x1x64xf32> to tensor<1x1x64xf32>
    %ks = tensor.extract_slice %k[%b, 0, 0, 0] [1, 1, 9000, 64] [1, 1, 1, 1] : tensor<3x1x9000x64xf32> to tensor<1x9000x64xf32>
    %vs = tensor.extract_slice %v[%b, 0, 0, 0] [1, 1, 9000, 64] [1, 1, 1, 1] : tensor<3x1x9000x64xf32> to tensor<1x9000x64xf32>
    %os = tensor.extract_slice %s[%b, 0, 0, 0] [1, 1, 1, 64] [1, 1, 1, 1] : tensor<3x1x1x64xf32> to tensor<1x1x64xf32>
    %a = attn.sdpa ins(%qs, %ks, %vs : tensor<1x1x64xf32>, tensor<1x9000x64xf32>, tensor<1x9000x64xf32>)
      outs(%os : tensor<1x1x64xf32>) -> tensor<1x1x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %a into %s[%b, 0, 0, 0] [1, 1, 1, 64] [1, 1, 1, 1] : tensor<1x1x64xf32> into tensor<3x1x1x64xf32>
    }
  }
  return %r : tensor<3x1x1x64xf32>
}
