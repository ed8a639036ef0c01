// RUN: attn-opt %s --attn-select-schedule=target=x86-64 | FileCheck %s --check-prefixes=CHECK,V1
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v3 | FileCheck %s --check-prefixes=CHECK,V3
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v4 | FileCheck %s --check-prefixes=CHECK,V4
// RUN: attn-opt %s --attn-select-schedule=target=znver4 | FileCheck %s --check-prefix=ZEN4

// Lanes fill a vector register.
// CHECK-LABEL: func @f32(
//     V1:   schedule = #attn.prefill<query_tile = {{[0-9]+}}, key_tile = {{[0-9]+}}, lanes = 4,
//     V3:   schedule = #attn.prefill<query_tile = {{[0-9]+}}, key_tile = {{[0-9]+}}, lanes = 8,
//     V4:   schedule = #attn.prefill<query_tile = {{[0-9]+}}, key_tile = {{[0-9]+}}, lanes = 16,
func.func @f32(%q: tensor<256x64xf32>, %k: tensor<256x64xf32>, %v: tensor<256x64xf32>,
               %o: tensor<256x64xf32>) -> tensor<256x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<256x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>)
      outs(%o : tensor<256x64xf32>) -> tensor<256x64xf32>
  return %r : tensor<256x64xf32>
}

// A number of queries that no larger block divides: the last block of a tile has fewer vectors than the others.
// CHECK-LABEL: func @uneven_blocks(
//     V4:   schedule = #attn.prefill<query_tile = 112, {{.*}} lanes = 16, block_rows = 5, block_vectors = 4
func.func @uneven_blocks(%q: tensor<112x64xf32>, %k: tensor<256x64xf32>, %v: tensor<256x64xf32>,
                         %o: tensor<112x64xf32>) -> tensor<112x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<112x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>)
      outs(%o : tensor<112x64xf32>) -> tensor<112x64xf32>
  return %r : tensor<112x64xf32>
}

// Doubles fill half as many.
// CHECK-LABEL: func @f64(
//     V1:   lanes = 2,
//     V3:   lanes = 4,
//     V4:   lanes = 8,
func.func @f64(%q: tensor<256x64xf64>, %k: tensor<256x64xf64>, %v: tensor<256x64xf64>,
               %o: tensor<256x64xf64>) -> tensor<256x64xf64> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<256x64xf64>, tensor<256x64xf64>, tensor<256x64xf64>)
      outs(%o : tensor<256x64xf64>) -> tensor<256x64xf64>
  return %r : tensor<256x64xf64>
}

// One query row is for the decode kernel; a tile of keys is no larger than the keys.
// CHECK-LABEL: func @one_query(
//   CHECK:   query_tile = 1, key_tile = 5, {{.*}} block_queries = 1
func.func @one_query(%q: tensor<1x64xf32>, %k: tensor<5x64xf32>, %v: tensor<5x64xf32>,
                     %o: tensor<1x64xf32>) -> tensor<1x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<1x64xf32>, tensor<5x64xf32>, tensor<5x64xf32>)
      outs(%o : tensor<1x64xf32>) -> tensor<1x64xf32>
  return %r : tensor<1x64xf32>
}

// Four rows walk through K and V, which hardware prefetches, on Zen 4 with our help; eight multiply as long as memory
// takes, and ask for them.
// CHECK-LABEL: func @four_rows(
//     V4:   key_tile = 16, lanes = 16, block_queries = 4, split_keys = 2048>
// ZEN4-LABEL: func @four_rows(
//   ZEN4:   key_tile = 16, lanes = 16, block_queries = 4, split_keys = 2048, prefetch = 16>
func.func @four_rows(%q: tensor<4x1x64xf32>, %k: tensor<1x4096x64xf32>, %v: tensor<1x4096x64xf32>,
                     %o: tensor<4x1x64xf32>) -> tensor<4x1x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x1x64xf32>, tensor<1x4096x64xf32>, tensor<1x4096x64xf32>)
      outs(%o : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  return %r : tensor<4x1x64xf32>
}

// The tile that is asked for is 4 KB of K.
// ZEN4-LABEL: func @four_long_rows(
//   ZEN4:   key_tile = 8, lanes = 16, block_queries = 4, split_keys = 2048, prefetch = 8>
//     V4:   key_tile = 16, lanes = 16, block_queries = 4, split_keys = 2048>
func.func @four_long_rows(%q: tensor<4x1x128xf32>, %k: tensor<1x4096x128xf32>, %o: tensor<4x1x128xf32>)
    -> tensor<4x1x128xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x1x128xf32>, tensor<1x4096x128xf32>, tensor<1x4096x128xf32>)
      outs(%o : tensor<4x1x128xf32>) -> tensor<4x1x128xf32>
  return %r : tensor<4x1x128xf32>
}

// A bias says which key a score is of: steps are of a tile each, which ask for the next one.
// CHECK-LABEL: func @biased_rows(
//     V4:   key_tile = 16, lanes = 16, block_queries = 4, split_keys = 2048, prefetch = 16>
func.func @biased_rows(%q: tensor<4x1x64xf32>, %k: tensor<1x4096x64xf32>, %v: tensor<1x4096x64xf32>,
                       %bias: tensor<4x1x4096xf32>, %o: tensor<4x1x64xf32>) -> tensor<4x1x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x1x64xf32>, tensor<1x4096x64xf32>, tensor<1x4096x64xf32>)
      bias(%bias : tensor<4x1x4096xf32>)
      outs(%o : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
  return %r : tensor<4x1x64xf32>
}

// So are those over pages, the short ones that are gathered as well.
// CHECK-LABEL: func @short_pages(
//     V4:   key_tile = 32, lanes = 16, block_queries = 4, prefetch = 64>
func.func @short_pages(%q: tensor<64x4x1x64xf32>, %kc: tensor<512x8x1x64xf32>, %vc: tensor<512x8x1x64xf32>,
                       %t: tensor<64x8xi32>, %n: tensor<64xi32>, %i: tensor<64x1x64x64xf32>,
                       %o: tensor<64x4x1x64xf32>) -> tensor<64x4x1x64xf32> {
  %k = attn.gather_pages ins(%kc, %t : tensor<512x8x1x64xf32>, tensor<64x8xi32>) lengths(%n : tensor<64xi32>)
      outs(%i : tensor<64x1x64x64xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<64x1x64x64xf32>
  %v = attn.gather_pages ins(%vc, %t : tensor<512x8x1x64xf32>, tensor<64x8xi32>) lengths(%n : tensor<64xi32>)
      outs(%i : tensor<64x1x64x64xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<64x1x64x64xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<64x4x1x64xf32>, tensor<64x1x64x64xf32>, tensor<64x1x64x64xf32>)
      outs(%o : tensor<64x4x1x64xf32>) -> tensor<64x4x1x64xf32>
  return %r : tensor<64x4x1x64xf32>
}

// Ranges are longer where they are many anyway: 64 of them here.
// CHECK-LABEL: func @long_cache(
//   CHECK:   #attn.decode<{{.*}}split_keys = 4096{{[,>]}}
func.func @long_cache(%q: tensor<8x1x64xf32>, %k: tensor<8x32768x64xf32>, %v: tensor<8x32768x64xf32>,
                      %o: tensor<8x1x64xf32>) -> tensor<8x1x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x1x64xf32>, tensor<8x32768x64xf32>, tensor<8x32768x64xf32>)
      outs(%o : tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
  return %r : tensor<8x1x64xf32>
}

// CHECK-LABEL: func @eight_rows(
//     V4:   key_tile = 64, lanes = 16, block_queries = 8, split_keys = 2048, prefetch = 64>
func.func @eight_rows(%q: tensor<8x1x64xf32>, %k: tensor<1x4096x64xf32>, %v: tensor<1x4096x64xf32>,
                      %o: tensor<8x1x64xf32>) -> tensor<8x1x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x1x64xf32>, tensor<1x4096x64xf32>, tensor<1x4096x64xf32>)
      outs(%o : tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
  return %r : tensor<8x1x64xf32>
}

// No keys are a tile of one, that no loop runs.
// CHECK-LABEL: func @no_keys(
//       CHECK:   key_tile = 1,
func.func @no_keys(%q: tensor<4x64xf32>, %k: tensor<0x64xf32>, %v: tensor<0x64xf32>,
                   %o: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x64xf32>, tensor<0x64xf32>, tensor<0x64xf32>)
      outs(%o : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// No queries are a tile as of one.
// CHECK-LABEL: func @no_queries(
//     V1:   query_tile = 4,
//     V3:   query_tile = 8,
//     V4:   query_tile = 16,
func.func @no_queries(%q: tensor<0x64xf32>, %k: tensor<6x64xf32>, %v: tensor<6x64xf32>,
                      %o: tensor<0x64xf32>) -> tensor<0x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<0x64xf32>, tensor<6x64xf32>, tensor<6x64xf32>)
      outs(%o : tensor<0x64xf32>) -> tensor<0x64xf32>
  return %r : tensor<0x64xf32>
}

// Large heads leave room for fewer rows.
// CHECK-LABEL: func @large_heads(
//     V1:   query_tile = 8,
//     V3:   query_tile = 16,
//     V4:   query_tile = 32,
func.func @large_heads(%q: tensor<256x2048xf32>, %k: tensor<256x2048xf32>, %v: tensor<256x2048xf32>,
                       %o: tensor<256x2048xf32>) -> tensor<256x2048xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<256x2048xf32>, tensor<256x2048xf32>, tensor<256x2048xf32>)
      outs(%o : tensor<256x2048xf32>) -> tensor<256x2048xf32>
  return %r : tensor<256x2048xf32>
}

// Tiles that hold all queries without rows that are none, and the register kernel that divides them.
// CHECK-LABEL: func @forty_queries(
//     V1:   query_tile = 40, {{.*}} lanes = 4, block_rows = 5, block_vectors = 2,
//     V3:   query_tile = 40, {{.*}} lanes = 8, block_rows = 2, block_vectors = 5,
//     V4:   query_tile = 48, {{.*}} lanes = 16, block_rows = 6, block_vectors = 3,
func.func @forty_queries(%q: tensor<40x64xf32>, %k: tensor<256x64xf32>, %v: tensor<256x64xf32>,
                          %o: tensor<40x64xf32>) -> tensor<40x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<40x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>)
      outs(%o : tensor<40x64xf32>) -> tensor<40x64xf32>
  return %r : tensor<40x64xf32>
}

// Of any number of queries, tiles as of many, but blocks of at least three vectors: the last tile may have few.
// CHECK-LABEL: func @any_queries(
//     V1:   query_tile = 64, {{.*}} lanes = 4, block_rows = 5, block_vectors = 2,
//     V3:   query_tile = 48, {{.*}} lanes = 8, block_rows = 4, block_vectors = 3,
//     V4:   query_tile = 64, {{.*}} lanes = 16, block_rows = 4, block_vectors = 4,
func.func @any_queries(%q: tensor<?x64xf32>, %k: tensor<256x64xf32>, %v: tensor<256x64xf32>,
                       %o: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<?x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>)
      outs(%o : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}
