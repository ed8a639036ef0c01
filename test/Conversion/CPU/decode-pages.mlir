// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse | FileCheck %s

// Four pages a round, and four for the next one: as many as a block of products has keys. A row of each is a tile's.
// What is left is folded page by page, and asks for the next one.
// CHECK-LABEL: func @pages(
//  CHECK-SAME:     %[[K:[a-z0-9_]*]]: memref<9x4x8xf32>, %[[V:[a-z0-9_]*]]: memref<9x4x8xf32>, %[[TABLE:[a-z0-9_]*]]: memref<16xi32>
//       CHECK:   scf.for {{.*}} step %c16
// CHECK-COUNT-8:   memref.load %[[TABLE]]
//       CHECK:   memref.subview %[[K]]
//       CHECK:   scf.for {{.*}} step %c1
//       CHECK:     arith.select %{{.*}} : memref<1x4x8xf32
// CHECK-COUNT-4:   vector.load %{{.*}} : memref<1x4x8xf32
//       CHECK:   scf.for {{.*}} step %c4
// CHECK-COUNT-2:   memref.load %[[TABLE]]
//   CHECK-NOT:     memref.load %[[TABLE]]
//       CHECK:   return
func.func @pages(%q: memref<1x1x8xf32>, %k_cache: memref<9x4x8xf32>, %v_cache: memref<9x4x8xf32>, %table: memref<16xi32>,
                 %n: index, %a: memref<1x1x8xf32>, %m: memref<1x1xf32>, %l: memref<1x1xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  scf.for %key = %c0 to %n step %c4 {
    %entry = affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%key)
    %loaded = memref.load %table[%entry] : memref<16xi32>
    %number = arith.index_cast %loaded : i32 to index
    %k = memref.subview %k_cache[%number, 0, 0] [1, 4, 8] [1, 1, 1] : memref<9x4x8xf32> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>
    %v = memref.subview %v_cache[%number, 0, 0] [1, 4, 8] [1, 1, 1] : memref<9x4x8xf32> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>
  attn.online_step ins(%q, %k, %v : memref<1x1x8xf32>, memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>, memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>)
      outs(%a, %m, %l : memref<1x1x8xf32>, memref<1x1xf32>, memref<1x1xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (0, j, d)>,
               affine_map<(h, i, j, d, e) -> (0, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>],
       paged, scale = 0.5 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 1, prefetch = 4>}
  }
  return
}

// Steps of one state that scale differently are folded one after the other.
// CHECK-LABEL: func @another_scale(
//   CHECK-NOT:   arith.select %{{.*}} : memref
// CHECK-COUNT-4:   vector.reduction <or>
//       CHECK:   return
func.func @another_scale(%q: memref<1x1x8xf32>, %k_cache: memref<9x4x8xf32>, %v_cache: memref<9x4x8xf32>, %table: memref<16xi32>,
                 %n: index, %a: memref<1x1x8xf32>, %m: memref<1x1xf32>, %l: memref<1x1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k0 = memref.subview %k_cache[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<9x4x8xf32> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>
  %v0 = memref.subview %v_cache[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<9x4x8xf32> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>
  %k1 = memref.subview %k_cache[%c0, 0, 0] [1, 4, 8] [1, 1, 1] : memref<9x4x8xf32> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>
  %v1 = memref.subview %v_cache[%c0, 0, 0] [1, 4, 8] [1, 1, 1] : memref<9x4x8xf32> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>
  %k2 = memref.subview %k_cache[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<9x4x8xf32> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>
  %v2 = memref.subview %v_cache[%c1, 0, 0] [1, 4, 8] [1, 1, 1] : memref<9x4x8xf32> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>
  %k3 = memref.subview %k_cache[%c0, 0, 0] [1, 4, 8] [1, 1, 1] : memref<9x4x8xf32> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>
  %v3 = memref.subview %v_cache[%c0, 0, 0] [1, 4, 8] [1, 1, 1] : memref<9x4x8xf32> to memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>
  attn.online_step ins(%q, %k0, %v0 : memref<1x1x8xf32>, memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>, memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>)
      outs(%a, %m, %l : memref<1x1x8xf32>, memref<1x1xf32>, memref<1x1xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (0, j, d)>,
               affine_map<(h, i, j, d, e) -> (0, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>],
       paged, scale = 0.5 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 1, prefetch = 4>}
  attn.online_step ins(%q, %k1, %v1 : memref<1x1x8xf32>, memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>, memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>)
      outs(%a, %m, %l : memref<1x1x8xf32>, memref<1x1xf32>, memref<1x1xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (0, j, d)>,
               affine_map<(h, i, j, d, e) -> (0, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>],
       paged, scale = 0.5 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 1, prefetch = 4>}
  attn.online_step ins(%q, %k2, %v2 : memref<1x1x8xf32>, memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>, memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>)
      outs(%a, %m, %l : memref<1x1x8xf32>, memref<1x1xf32>, memref<1x1xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (0, j, d)>,
               affine_map<(h, i, j, d, e) -> (0, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>],
       paged, scale = 0.5 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 1, prefetch = 4>}
  attn.online_step ins(%q, %k3, %v3 : memref<1x1x8xf32>, memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>, memref<1x4x8xf32, strided<[32, 8, 1], offset: ?>>)
      outs(%a, %m, %l : memref<1x1x8xf32>, memref<1x1xf32>, memref<1x1xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (0, j, d)>,
               affine_map<(h, i, j, d, e) -> (0, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>],
       paged, scale = 0.25 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 1, prefetch = 4>}
  return
}
