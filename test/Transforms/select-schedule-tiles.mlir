// Where the target has tiles of bf16 (AMX), the policy multiplies by them: 128 rows by 128 keys, or less where there is less.
// Products and weights of whole units of 32 rows overlap. What several query tiles visit is packed first.
// RUN: attn-opt %s --attn-select-schedule=target=sapphirerapids | FileCheck %s

// CHECK-LABEL: func @d64(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx, overlap = true, pack_first = true>
func.func @d64(%q: tensor<1024x64xbf16>, %o: tensor<1024x64xbf16>) -> tensor<1024x64xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<1024x64xbf16>, tensor<1024x64xbf16>, tensor<1024x64xbf16>)
      outs(%o : tensor<1024x64xbf16>) -> tensor<1024x64xbf16>
  return %r : tensor<1024x64xbf16>
}

// CHECK-LABEL: func @d128(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, overlap = true, pack_first = true>
func.func @d128(%q: tensor<1024x128xbf16>, %o: tensor<1024x128xbf16>) -> tensor<1024x128xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<1024x128xbf16>, tensor<1024x128xbf16>, tensor<1024x128xbf16>)
      outs(%o : tensor<1024x128xbf16>) -> tensor<1024x128xbf16>
  return %r : tensor<1024x128xbf16>
}

// CHECK-LABEL: func @d256(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, overlap = true, pack_first = true>
func.func @d256(%q: tensor<1024x256xbf16>, %o: tensor<1024x256xbf16>) -> tensor<1024x256xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<1024x256xbf16>, tensor<1024x256xbf16>, tensor<1024x256xbf16>)
      outs(%o : tensor<1024x256xbf16>) -> tensor<1024x256xbf16>
  return %r : tensor<1024x256xbf16>
}

// What a thread's stack holds of a large head.
// CHECK-LABEL: func @d1024(
//       CHECK:   #attn.prefill<query_tile = 80, key_tile = 128, {{.*}} instruction = amx, pack_first = true>
func.func @d1024(%q: tensor<1024x1024xbf16>, %o: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<1024x1024xbf16>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>)
      outs(%o : tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  return %r : tensor<1024x1024xbf16>
}

// The last tile has 104 keys.
// CHECK-LABEL: func @keys_1000(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, overlap = true, pack_first = true>
func.func @keys_1000(%q: tensor<1024x128xbf16>, %k: tensor<1000x128xbf16>, %o: tensor<1024x128xbf16>) -> tensor<1024x128xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<1024x128xbf16>, tensor<1000x128xbf16>, tensor<1000x128xbf16>)
      outs(%o : tensor<1024x128xbf16>) -> tensor<1024x128xbf16>
  return %r : tensor<1024x128xbf16>
}

// 130 rows and 160 keys are two tiles each.
// CHECK-LABEL: func @even(
//       CHECK:   #attn.prefill<query_tile = 80, key_tile = 96, {{.*}} instruction = amx, pack_first = true>
func.func @even(%q: tensor<130x64xbf16>, %k: tensor<160x64xbf16>, %o: tensor<130x64xbf16>) -> tensor<130x64xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<130x64xbf16>, tensor<160x64xbf16>, tensor<160x64xbf16>)
      outs(%o : tensor<130x64xbf16>) -> tensor<130x64xbf16>
  return %r : tensor<130x64xbf16>
}

// CHECK-LABEL: func @causal(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, overlap = true, pack_first = true>
func.func @causal(%q: tensor<1024x64xbf16>, %o: tensor<1024x64xbf16>) -> tensor<1024x64xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<1024x64xbf16>, tensor<1024x64xbf16>, tensor<1024x64xbf16>)
      outs(%o : tensor<1024x64xbf16>) {causal = #attn.causal<top_left>} -> tensor<1024x64xbf16>
  return %r : tensor<1024x64xbf16>
}

// CHECK-LABEL: func @group(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, overlap = true, pack_first = true>
func.func @group(%q: tensor<8x512x64xbf16>, %k: tensor<2x512x64xbf16>, %o: tensor<8x512x64xbf16>) -> tensor<8x512x64xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<8x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>)
      outs(%o : tensor<8x512x64xbf16>) -> tensor<8x512x64xbf16>
  return %r : tensor<8x512x64xbf16>
}

// Unknown numbers are many.
// CHECK-LABEL: func @dynamic(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, overlap = true, pack_first = true>
func.func @dynamic(%q: tensor<?x64xbf16>, %k: tensor<?x64xbf16>, %o: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?x64xbf16>)
      outs(%o : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %r : tensor<?x64xbf16>
}

// K and V of 8 bits are widened to bf16; the scale of V modifies weights.
// CHECK-LABEL: func @bytes(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, pack_first = true>
func.func @bytes(%q: tensor<1x256x64xbf16>, %k: tensor<1x256x64xi8>, %s: tensor<1xf32>, %o: tensor<1x256x64xbf16>) -> tensor<1x256x64xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x256x64xbf16>, tensor<1x256x64xi8>, tensor<1x256x64xi8>)
      kv_scale(%s, %s : tensor<1xf32>, tensor<1xf32>) outs(%o : tensor<1x256x64xbf16>) -> tensor<1x256x64xbf16>
  return %r : tensor<1x256x64xbf16>
}

// Dropout modifies weights, so no step has units.
// CHECK-LABEL: func @dropout(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, pack_first = true>
func.func @dropout(%q: tensor<1x1x256x64xbf16>, %n: i64, %o: tensor<1x1x256x64xbf16>) -> tensor<1x1x256x64xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>)
      dropout(%n, %n : i64, i64) outs(%o : tensor<1x1x256x64xbf16>) {dropout_p = 0.5 : f64} -> tensor<1x1x256x64xbf16>
  return %r : tensor<1x1x256x64xbf16>
}

// A head of V that one query tile visits; one that those of two heads do.
// CHECK-LABEL: func @one_tile(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, overlap = true>
func.func @one_tile(%q: tensor<8x128x64xbf16>, %o: tensor<8x128x64xbf16>) -> tensor<8x128x64xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<8x128x64xbf16>, tensor<8x128x64xbf16>, tensor<8x128x64xbf16>)
      outs(%o : tensor<8x128x64xbf16>) -> tensor<8x128x64xbf16>
  return %r : tensor<8x128x64xbf16>
}

// CHECK-LABEL: func @one_tile_of_two_heads(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, overlap = true, pack_first = true>
func.func @one_tile_of_two_heads(%q: tensor<8x128x64xbf16>, %k: tensor<4x128x64xbf16>, %o: tensor<8x128x64xbf16>) -> tensor<8x128x64xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<8x128x64xbf16>, tensor<4x128x64xbf16>, tensor<4x128x64xbf16>)
      outs(%o : tensor<8x128x64xbf16>) -> tensor<8x128x64xbf16>
  return %r : tensor<8x128x64xbf16>
}

// A tile has whole vectors of rows; few rows are a decode kernel, whose rows are all there.
// CHECK-LABEL: func @few_rows(
//       CHECK:   #attn.decode<
//   CHECK-NOT:   amx
func.func @few_rows(%q: tensor<4x64xbf16>, %k: tensor<1024x64xbf16>, %o: tensor<4x64xbf16>) -> tensor<4x64xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x64xbf16>, tensor<1024x64xbf16>, tensor<1024x64xbf16>)
      outs(%o : tensor<4x64xbf16>) -> tensor<4x64xbf16>
  return %r : tensor<4x64xbf16>
}

// 16 heads that share one of K are the rows of a decode tile, which packs K and V on the fly.
// CHECK-LABEL: func @group_of_16(
//       CHECK:   #attn.decode<query_tile = 1, key_tile = 64, lanes = 16, block_queries = 1, instruction = amx, split_keys = 2048>
func.func @group_of_16(%q: tensor<32x1x128xbf16>, %k: tensor<2x4096x128xbf16>, %o: tensor<32x1x128xbf16>) -> tensor<32x1x128xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<32x1x128xbf16>, tensor<2x4096x128xbf16>, tensor<2x4096x128xbf16>)
      outs(%o : tensor<32x1x128xbf16>) -> tensor<32x1x128xbf16>
  return %r : tensor<32x1x128xbf16>
}

// 8 heads times 2 queries.
// CHECK-LABEL: func @group_times_queries(
//       CHECK:   #attn.decode<query_tile = 2, key_tile = 64, {{.*}} instruction = amx
func.func @group_times_queries(%q: tensor<32x2x128xbf16>, %k: tensor<4x4096x128xbf16>, %o: tensor<32x2x128xbf16>) -> tensor<32x2x128xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<32x2x128xbf16>, tensor<4x4096x128xbf16>, tensor<4x4096x128xbf16>)
      outs(%o : tensor<32x2x128xbf16>) -> tensor<32x2x128xbf16>
  return %r : tensor<32x2x128xbf16>
}

// 8 rows take as long as memory by other instructions.
// CHECK-LABEL: func @group_of_8(
//       CHECK:   #attn.decode<
//   CHECK-NOT:   amx
func.func @group_of_8(%q: tensor<32x1x128xbf16>, %k: tensor<4x4096x128xbf16>, %o: tensor<32x1x128xbf16>) -> tensor<32x1x128xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<32x1x128xbf16>, tensor<4x4096x128xbf16>, tensor<4x4096x128xbf16>)
      outs(%o : tensor<32x1x128xbf16>) -> tensor<32x1x128xbf16>
  return %r : tensor<32x1x128xbf16>
}

// Rows without heads in common are a prefill tile: of K nothing is packed.
// CHECK-LABEL: func @rows_of_one_head(
//       CHECK:   #attn.prefill<query_tile = 16, key_tile = 128, {{.*}} instruction = amx>
func.func @rows_of_one_head(%q: tensor<8x16x128xbf16>, %k: tensor<8x4096x128xbf16>, %o: tensor<8x16x128xbf16>) -> tensor<8x16x128xbf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<8x16x128xbf16>, tensor<8x4096x128xbf16>, tensor<8x4096x128xbf16>)
      outs(%o : tensor<8x16x128xbf16>) -> tensor<8x16x128xbf16>
  return %r : tensor<8x16x128xbf16>
}

// Tiles are 32 columns of a head.
// CHECK-LABEL: func @d80(
//       CHECK:   #attn.prefill<
//   CHECK-NOT:   amx
func.func @d80(%q: tensor<256x80xbf16>, %o: tensor<256x80xbf16>) -> tensor<256x80xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<256x80xbf16>, tensor<256x80xbf16>, tensor<256x80xbf16>)
      outs(%o : tensor<256x80xbf16>) -> tensor<256x80xbf16>
  return %r : tensor<256x80xbf16>
}

// Of f16, as two parts of bf16.
// CHECK-LABEL: func @f16(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, overlap = true, parts = 2>
func.func @f16(%q: tensor<256x64xf16>, %o: tensor<256x64xf16>) -> tensor<256x64xf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<256x64xf16>, tensor<256x64xf16>, tensor<256x64xf16>)
      outs(%o : tensor<256x64xf16>) -> tensor<256x64xf16>
  return %r : tensor<256x64xf16>
}

// Of f32, as three, which are as exact as multiply-adds.
// CHECK-LABEL: func @f32(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, overlap = true, parts = 3>
func.func @f32(%q: tensor<256x64xf32>, %o: tensor<256x64xf32>) -> tensor<256x64xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<256x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>)
      outs(%o : tensor<256x64xf32>) -> tensor<256x64xf32>
  return %r : tensor<256x64xf32>
}

// K and V of 8 bits are widened to f16.
// CHECK-LABEL: func @bytes_of_f16(
//       CHECK:   #attn.prefill<query_tile = 128, key_tile = 128, {{.*}} instruction = amx, parts = 2>
func.func @bytes_of_f16(%q: tensor<1x256x64xf16>, %k: tensor<1x256x64xi8>, %s: tensor<1xf32>, %o: tensor<1x256x64xf16>) -> tensor<1x256x64xf16> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<1x256x64xf16>, tensor<1x256x64xi8>, tensor<1x256x64xi8>)
      kv_scale(%s, %s : tensor<1xf32>, tensor<1xf32>) outs(%o : tensor<1x256x64xf16>) -> tensor<1x256x64xf16>
  return %r : tensor<1x256x64xf16>
}

// Parts of Q, K and V must fit a thread's stack; those of larger heads do not, and f32 itself is multiplied.
// CHECK-LABEL: func @f32_d512(
//       CHECK:   #attn.prefill<query_tile = 80, key_tile = 128, {{.*}} instruction = amx, parts = 3>
func.func @f32_d512(%q: tensor<1024x512xf32>, %o: tensor<1024x512xf32>) -> tensor<1024x512xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<1024x512xf32>, tensor<1024x512xf32>, tensor<1024x512xf32>)
      outs(%o : tensor<1024x512xf32>) -> tensor<1024x512xf32>
  return %r : tensor<1024x512xf32>
}

// CHECK-LABEL: func @f32_d1024(
//       CHECK:   #attn.prefill<
//   CHECK-NOT:   amx
func.func @f32_d1024(%q: tensor<1024x1024xf32>, %o: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>)
      outs(%o : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}

// CHECK-LABEL: func @f64(
//       CHECK:   #attn.prefill<
//   CHECK-NOT:   amx
func.func @f64(%q: tensor<256x64xf64>, %o: tensor<256x64xf64>) -> tensor<256x64xf64> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<256x64xf64>, tensor<256x64xf64>, tensor<256x64xf64>)
      outs(%o : tensor<256x64xf64>) -> tensor<256x64xf64>
  return %r : tensor<256x64xf64>
}
