// RUN: attn-opt %s --attn-lower-tile-to-vector=target=znver5 --canonicalize --cse | FileCheck %s
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=znver5 --canonicalize --cse | FileCheck %s --check-prefix=FLOATS

// Two rows of Q become digits, once; then K and V are multiplied as bytes, of which nothing is made a float. 80 columns
// are a vector of 64 bytes and 16 of a second one.
// CHECK-LABEL: func @bytes(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: memref<2x1x80xf32>, %[[K:[a-z0-9]*]]: memref<1x64x80xi8>, %[[V:[a-z0-9]*]]: memref<1x64x80xi8>
//   CHECK-DAG:   %[[DIGITS:.*]] = memref.alloca() {{.*}} : memref<2x1x2x128xi8>
//   CHECK-DAG:   %[[FLIP:.*]] = arith.constant dense<-128> : vector<64xi8>
// The scale of a row is a power of two: the exponent of the inverse of its largest number.
//       CHECK:   arith.maxsi
//       CHECK:   arith.divf
//       CHECK:   arith.andi %{{.*}}, %{{.*}} : vector<16xi32>
//       CHECK:   vector.store %{{.*}}, %[[DIGITS]]
//       CHECK:   scf.for
// CHECK-COUNT-4:     vector.load %[[K]]{{.*}} : memref<1x64x80xi8>, vector<64xi8>
//       CHECK:     arith.xori %{{.*}}, %[[FLIP]]
// CHECK-COUNT-8:     llvm.inline_asm "vpdpbusd $3, $2, $0", "=v,0,v,v"
// CHECK-COUNT-4:     vector.load %[[K]]{{.*}} : memref<1x64x80xi8>, vector<16xi8>
// CHECK-COUNT-8:     llvm.inline_asm "vpdpbusd
// The high digits count 256 times.
//       CHECK:     arith.shli
// CHECK-COUNT-16:    llvm.inline_asm "vpdpbusd
//       CHECK:     arith.addi %{{.*}}, %{{.*}} : vector<16xi32>
// Bytes of four keys beside each other, in two steps of shuffles.
//       CHECK:   scf.for
// CHECK-COUNT-4:     vector.load %[[V]]{{.*}} : memref<1x64x80xi8>, vector<64xi8>
// CHECK-COUNT-2:     vector.shuffle %{{.*}} : vector<64xi8>, vector<64xi8>
// CHECK-COUNT-2:     vector.shuffle %{{.*}} : vector<32xi16>, vector<32xi16>
//       CHECK:     llvm.inline_asm "vpdpbusd
//       CHECK:   arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf32>
//       CHECK:   return
//  FLOATS-NOT:   sitofp {{.*}}i8{{.*}} to
func.func @bytes(%q: memref<2x1x80xf32>, %k: memref<1x64x80xi8>, %v: memref<1x64x80xi8>, %a: memref<2x1x80xf32>,
                 %m: memref<2x1xf32>, %l: memref<2x1xf32>) {
  %d = memref.alloca() {alignment = 64 : i64} : memref<2x1x2x128xi8>
  %s = memref.alloca() : memref<2x1xf32>
  %o = memref.alloca() : memref<2x1xi32>
  attn.pack_bytes ins(%q : memref<2x1x80xf32>) outs(%d, %s, %o : memref<2x1x2x128xi8>, memref<2x1xf32>, memref<2x1xi32>)
  attn.online_step ins(%q, %k, %v : memref<2x1x80xf32>, memref<1x64x80xi8>, memref<1x64x80xi8>)
      query_bytes(%d, %s, %o : memref<2x1x2x128xi8>, memref<2x1xf32>, memref<2x1xi32>)
      outs(%a, %m, %l : memref<2x1x80xf32>, memref<2x1xf32>, memref<2x1xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (h floordiv 2, j, d)>,
               affine_map<(h, i, j, d, e) -> (h floordiv 2, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>],
       scale = 0.5 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 64, lanes = 16, block_queries = 4, instruction = bytes>}
  return
}
