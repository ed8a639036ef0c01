// More columns of V than a block of a GPU holds: parts of V and of the output, in place.
// RUN: attn-opt %s --attn-split-values | FileCheck %s

// CHECK-LABEL: func @latent(
//  CHECK-SAME:   %[[Q:.*]]: tensor<16x9x576xbf16>, %[[K:.*]]: tensor<16x99x576xbf16>, %[[V:.*]]: tensor<16x99x520xbf16>, %[[O:.*]]: tensor<16x9x520xbf16>, %[[L:.*]]: tensor<16x9xf32>
//       CHECK:   %[[V0:.*]] = tensor.extract_slice %[[V]][0, 0, 0] [16, 99, 192] [1, 1, 1]
//       CHECK:   %[[O0:.*]] = tensor.extract_slice %[[O]][0, 0, 0] [16, 9, 192] [1, 1, 1]
//       CHECK:   %[[R0:.*]]:2 = attn.sdpa ins(%[[Q]], %[[K]], %[[V0]] : {{.*}}) outs(%[[O0]], %[[L]] :
//       CHECK:   %[[I0:.*]] = tensor.insert_slice %[[R0]]#0 into %[[O]][0, 0, 0] [16, 9, 192] [1, 1, 1]
//       CHECK:   %[[V1:.*]] = tensor.extract_slice %[[V]][0, 0, 192] [16, 99, 192] [1, 1, 1]
//       CHECK:   %[[O1:.*]] = tensor.extract_slice %[[I0]][0, 0, 192] [16, 9, 192] [1, 1, 1]
//       CHECK:   %[[R1:.*]] = attn.sdpa ins(%[[Q]], %[[K]], %[[V1]] : {{.*}}) outs(%[[O1]] : {{.*}}) mask_mod
//       CHECK:   %[[I1:.*]] = tensor.insert_slice %[[R1]] into %[[I0]][0, 0, 192] [16, 9, 192] [1, 1, 1]
//       CHECK:   tensor.extract_slice %[[V]][0, 0, 384] [16, 99, 136] [1, 1, 1]
//       CHECK:   attn.sdpa
//       CHECK:   %[[I2:.*]] = tensor.insert_slice
//       CHECK:   return %[[I2]], %[[R0]]#1
func.func @latent(%q: tensor<16x9x576xbf16>, %k: tensor<16x99x576xbf16>, %v: tensor<16x99x520xbf16>,
    %o: tensor<16x9x520xbf16>, %l: tensor<16x9xf32>) -> (tensor<16x9x520xbf16>, tensor<16x9xf32>) {
  %0:2 = attn.sdpa ins(%q, %k, %v : tensor<16x9x576xbf16>, tensor<16x99x576xbf16>, tensor<16x99x520xbf16>)
      outs(%o, %l : tensor<16x9x520xbf16>, tensor<16x9xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %kept = arith.cmpi sle, %j, %i : index
    attn.yield %kept : i1
  } -> tensor<16x9x520xbf16>, tensor<16x9xf32>
  return %0#0, %0#1 : tensor<16x9x520xbf16>, tensor<16x9xf32>
}

// As many as fit stay, and so do pages.
// CHECK-LABEL: func @pages(
//       CHECK:   %[[C0:.*]] = tensor.extract_slice %{{.*}}[0, 0, 0, 0] [24, 16, 2, 256] [1, 1, 1, 1]
//       CHECK:   %[[G0:.*]] = attn.gather_pages ins(%[[C0]]
//       CHECK:   attn.sdpa ins(%{{.*}}, %{{.*}}, %[[G0]]
//       CHECK:   %[[C1:.*]] = tensor.extract_slice %{{.*}}[0, 0, 0, 256] [24, 16, 2, 256] [1, 1, 1, 1]
//       CHECK:   %[[G1:.*]] = attn.gather_pages ins(%[[C1]]
//       CHECK:   attn.sdpa ins(%{{.*}}, %{{.*}}, %[[G1]]
func.func @pages(%q: tensor<2x2x1x64xf16>, %k: tensor<24x16x2x64xf16>, %v: tensor<24x16x2x512xf16>, %table: tensor<2x12xi32>,
    %n: tensor<2xi32>) -> tensor<2x2x1x512xf16> {
  %ki = tensor.empty() : tensor<2x2x192x64xf16>
  %vi = tensor.empty() : tensor<2x2x192x512xf16>
  %o = tensor.empty() : tensor<2x2x1x512xf16>
  %ks = attn.gather_pages ins(%k, %table : tensor<24x16x2x64xf16>, tensor<2x12xi32>) lengths(%n : tensor<2xi32>)
      outs(%ki : tensor<2x2x192x64xf16>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x2x192x64xf16>
  %vs = attn.gather_pages ins(%v, %table : tensor<24x16x2x512xf16>, tensor<2x12xi32>) lengths(%n : tensor<2xi32>)
      outs(%vi : tensor<2x2x192x512xf16>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x2x192x512xf16>
  %0 = attn.sdpa ins(%q, %ks, %vs : tensor<2x2x1x64xf16>, tensor<2x2x192x64xf16>, tensor<2x2x192x512xf16>)
      kv_lengths(%n : tensor<2xi32>) outs(%o : tensor<2x2x1x512xf16>) -> tensor<2x2x1x512xf16>
  return %0 : tensor<2x2x1x512xf16>
}

// CHECK-LABEL: func @fits(
//   CHECK-NOT:   extract_slice
//       CHECK:   attn.sdpa
func.func @fits(%q: tensor<9x576xf16>, %k: tensor<99x576xf16>, %v: tensor<99x256xf16>, %o: tensor<9x256xf16>) -> tensor<9x256xf16> {
  %0 = attn.sdpa ins(%q, %k, %v : tensor<9x576xf16>, tensor<99x576xf16>, tensor<99x256xf16>)
      outs(%o : tensor<9x256xf16>) -> tensor<9x256xf16>
  return %0 : tensor<9x256xf16>
}

// Each statistic of the rows is the first part's alone.
// CHECK-LABEL: func @statistics(
//       CHECK:   attn.sdpa ins({{.*}}) outs(%{{.*}}, %{{.*}} : {{.*}}) max(%{{.*}}) log_sum(%{{.*}})
//       CHECK:   attn.sdpa ins({{.*}}) outs(%{{[^,]*}} : tensor<9x128xf16>) -> tensor<9x128xf16>
func.func @statistics(%q: tensor<9x64xf16>, %k: tensor<99x64xf16>, %v: tensor<99x320xf16>, %o: tensor<9x320xf16>,
    %r: tensor<9xf32>) -> (tensor<9x320xf16>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>) {
  %0:4 = attn.sdpa ins(%q, %k, %v : tensor<9x64xf16>, tensor<99x64xf16>, tensor<99x320xf16>)
      outs(%o, %r : tensor<9x320xf16>, tensor<9xf32>) max(%r : tensor<9xf32>) log_sum(%r : tensor<9xf32>)
      -> tensor<9x320xf16>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>
  return %0#0, %0#1, %0#2, %0#3 : tensor<9x320xf16>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>
}

// No keys: there is no slice of nothing.
// CHECK-LABEL: func @no_keys(
//       CHECK:   %[[V:.*]] = tensor.empty() : tensor<0x192xf16>
//       CHECK:   attn.sdpa ins(%{{.*}}, %{{.*}}, %[[V]]
func.func @no_keys(%q: tensor<9x64xf16>, %k: tensor<0x64xf16>, %v: tensor<0x320xf16>, %o: tensor<9x320xf16>) -> tensor<9x320xf16> {
  %0 = attn.sdpa ins(%q, %k, %v : tensor<9x64xf16>, tensor<0x64xf16>, tensor<0x320xf16>)
      outs(%o : tensor<9x320xf16>) -> tensor<9x320xf16>
  return %0 : tensor<9x320xf16>
}
