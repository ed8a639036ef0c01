// Tiles that are equal, or of equal sizes, have one buffer in front of attn-pipeline-copies: each kernel still has its
// own, and its numbers are right.

// DEFINE: %{kernel} =
// DEFINE: %{run} = attn-ptx-run --ir=%s --kernel=%{kernel} --target=sm_80,sm_90a | \
// DEFINE:   FileCheck %s --check-prefix=RIGHT --implicit-check-not=FAILED
// RIGHT-COUNT-6: : ok

// Keys and values of another type than Q are converted into tiles: one tensor that is both fills two.
// REDEFINE: %{kernel} = one_tensor
// RUN: %{run}
func.func @one_tensor(%q: tensor<1x2x40x64xf32>, %k: tensor<1x1x100x64xf16>, %o: tensor<1x2x40x64xf32>) -> tensor<1x2x40x64xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x2x40x64xf32>, tensor<1x1x100x64xf16>, tensor<1x1x100x64xf16>)
      outs(%o : tensor<1x2x40x64xf32>) -> tensor<1x2x40x64xf32>
  return %r : tensor<1x2x40x64xf32>
}

// The same of a decode kernel, and of pages.
// REDEFINE: %{kernel} = decode
// RUN: %{run}
func.func @decode(%q: tensor<1x4x4x16xf32>, %k: tensor<1x2x6x16xbf16>, %o: tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x4x4x16xf32>, tensor<1x2x6x16xbf16>, tensor<1x2x6x16xbf16>)
      outs(%o : tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32>
  return %r : tensor<1x4x4x16xf32>
}

// REDEFINE: %{kernel} = pages
// RUN: %{run}
func.func @pages(%q: tensor<1x1x64x64xbf16>, %k: tensor<7x16x1x64xbf16>, %table: tensor<1x5xi32>, %n: tensor<1xi32>,
                 %o: tensor<1x1x64x64xbf16>) -> tensor<1x1x64x64xbf16> {
  %e = tensor.empty() : tensor<1x1x80x64xbf16>
  %g = attn.gather_pages ins(%k, %table : tensor<7x16x1x64xbf16>, tensor<1x5xi32>) lengths(%n : tensor<1xi32>)
      outs(%e : tensor<1x1x80x64xbf16>) {page_layout = #attn.page_layout<nhd>} -> tensor<1x1x80x64xbf16>
  %r = attn.sdpa ins(%q, %g, %g : tensor<1x1x64x64xbf16>, tensor<1x1x80x64xbf16>, tensor<1x1x80x64xbf16>)
      kv_lengths(%n : tensor<1xi32>) outs(%o : tensor<1x1x64x64xbf16>) -> tensor<1x1x64x64xbf16>
  return %r : tensor<1x1x64x64xbf16>
}

// Attentions of one tile each, whose loops have folded away: a kernel ends where the output is written, and both read Q.
// REDEFINE: %{kernel} = two
// RUN: %{run}
func.func @two(%q: tensor<1x1x40x64xbf16>, %k: tensor<1x1x40x64xbf16>, %v: tensor<1x1x40x64xbf16>,
               %o: tensor<1x1x40x64xbf16>) -> tensor<1x1x40x64xbf16> {
  %e = tensor.empty() : tensor<1x1x40x64xbf16>
  %0 = attn.sdpa ins(%q, %k, %v : tensor<1x1x40x64xbf16>, tensor<1x1x40x64xbf16>, tensor<1x1x40x64xbf16>)
      outs(%e : tensor<1x1x40x64xbf16>) -> tensor<1x1x40x64xbf16>
  %1 = attn.sdpa ins(%q, %v, %0 : tensor<1x1x40x64xbf16>, tensor<1x1x40x64xbf16>, tensor<1x1x40x64xbf16>)
      outs(%o : tensor<1x1x40x64xbf16>) -> tensor<1x1x40x64xbf16>
  return %1 : tensor<1x1x40x64xbf16>
}

// V is the first columns of K, a cache of latent heads; on sm_90a warpgroups share the heads' rows, and a tile of K
// serves both products. Rows beyond the length are NaN.
// REDEFINE: %{kernel} = latent
// RUN: %{run}
func.func @latent(%q: tensor<1x40x1x448xbf16>, %k: tensor<1x1x150x448xbf16> {attn.name = "k"},
                  %n: tensor<1xi32> {attn.name = "kv_lengths"}, %o: tensor<1x40x1x384xbf16>) -> tensor<1x40x1x384xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [1, 1, 150, 384] [1, 1, 1, 1] : tensor<1x1x150x448xbf16> to tensor<1x1x150x384xbf16>
  %r = attn.sdpa ins(%q, %k, %v : tensor<1x40x1x448xbf16>, tensor<1x1x150x448xbf16>, tensor<1x1x150x384xbf16>)
      kv_lengths(%n : tensor<1xi32>) outs(%o : tensor<1x40x1x384xbf16>) -> tensor<1x40x1x384xbf16>
  return %r : tensor<1x40x1x384xbf16>
}
