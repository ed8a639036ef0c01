// RUN: attn-opt %s --attn-specialize-queries=target=x86-64-v4 | FileCheck %s --check-prefixes=CHECK,V4
// RUN: attn-opt %s --attn-specialize-queries=target=x86-64-v3 | FileCheck %s --check-prefixes=CHECK,V3
// RUN: attn-opt %s --attn-specialize-queries=target=sm_80 | FileCheck %s --check-prefix=GPU

// One query is static; few have a decode kernel of as many rows as there are; the rest is as before.
// CHECK-LABEL: func @dynamic(
//       CHECK:   %[[DIM:.*]] = tensor.dim %arg0, %{{.*}} : tensor<8x?x64xf32>
//       CHECK:   %[[ONE:.*]] = arith.cmpi eq, %[[DIM]], %c1{{.*}} : index
//       CHECK:   scf.if %[[ONE]] -> (tensor<8x?x64xf32>)
//       CHECK:     attn.sdpa ins({{.*}} : tensor<8x1x64xf32>, tensor<8x?x64xf32>, tensor<8x?x64xf32>)
//   CHECK-NOT:     schedule
//       CHECK:   else
//   CHECK-DAG:     %[[FEW:.*]] = arith.cmpi sle, %[[DIM]]
//   CHECK-DAG:     %[[LONG:.*]] = arith.cmpi sge, %{{.*}}, %c65
//       CHECK:     %[[BOTH:.*]] = arith.andi %[[FEW]], %[[LONG]]
//       CHECK:     scf.if %[[BOTH]]
//          V4:       attn.sdpa ins({{.*}} : tensor<8x?x64xf32>,{{.*}}schedule = #attn.decode<query_tile = {{(1[6-9]|2[0-4])}}, {{.*}} block_queries = 4
//          V3:       attn.sdpa ins({{.*}} : tensor<8x?x64xf32>,{{.*}}schedule = #attn.decode<query_tile = {{([6-9]|1[0-2])}}, {{.*}} block_queries = 2
//       CHECK:     else
//       CHECK:       attn.sdpa ins({{.*}} : tensor<8x?x64xf32>,
//   CHECK-NOT:         schedule
// GPU-LABEL: func @dynamic(
//   GPU-NOT:   scf.if
func.func @dynamic(%q: tensor<8x?x64xf32>, %k: tensor<8x?x64xf32>, %v: tensor<8x?x64xf32>,
                   %o: tensor<8x?x64xf32>) -> tensor<8x?x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x?x64xf32>, tensor<8x?x64xf32>, tensor<8x?x64xf32>)
      outs(%o : tensor<8x?x64xf32>) -> tensor<8x?x64xf32>
  return %r : tensor<8x?x64xf32>
}

// What a region reads as the number of queries is 1 as well.
// CHECK-LABEL: func @causal(
//       CHECK:   scf.if
//       CHECK:     %[[ONE:.*]] = arith.constant 1 : index
//       CHECK:     attn.sdpa
//       CHECK:       arith.subi %{{.*}}, %[[ONE]]
func.func @causal(%q: tensor<?x64xf32>, %k: tensor<256x64xf32>, %o: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %queries = tensor.dim %q, %c0 : tensor<?x64xf32>
  %r = attn.sdpa ins(%q, %k, %k : tensor<?x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>)
      outs(%o : tensor<?x64xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %behind = arith.subi %i, %queries : index
    %keep = arith.cmpi sle, %j, %behind : index
    attn.yield %keep : i1
  } -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

// A static number of queries, a schedule by hand: one kind of kernel.
// CHECK-LABEL: func @one_kind(
//   CHECK-NOT:   scf.if
func.func @one_kind(%q: tensor<4x64xf32>, %n: tensor<?x64xf32>, %k: tensor<256x64xf32>, %o: tensor<4x64xf32>,
                    %p: tensor<?x64xf32>) -> (tensor<4x64xf32>, tensor<?x64xf32>) {
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>)
      outs(%o : tensor<4x64xf32>) -> tensor<4x64xf32>
  %u = attn.sdpa ins(%n, %k, %k : tensor<?x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>)
      outs(%p : tensor<?x64xf32>)
      {schedule = #attn.prefill<query_tile = 64, key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 4>}
      -> tensor<?x64xf32>
  return %r, %u : tensor<4x64xf32>, tensor<?x64xf32>
}
