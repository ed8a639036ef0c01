// Products of pairs of bf16; test/python/test_bf16_pairs.py runs them on numbers.
// RUN: attn-opt %s --attn-lower-tile-to-vector=target=znver5 --canonicalize --cse | FileCheck %s

// Two keys by one vector of query rows: pairs of Q from the packed tile, pairs of K as they lie. Weights are rounded and
// stored two keys at a time; the third key has 0 beside it.
// CHECK-LABEL: func @step(
//   CHECK-DAG:   %[[Q:.*]] = memref.collapse_shape %{{.*}} {{\[}}[0], [1, 2]] : memref<4x16x2xbf16> into memref<4x32xbf16>
//   CHECK-DAG:   %[[V:.*]] = memref.collapse_shape %{{.*}} {{\[}}[0], [1, 2]] : memref<2x6x2xbf16> into memref<2x12xbf16>
//       CHECK:   scf.for %[[D:[a-z0-9]*]] = %c0 to %c4 step %c1 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>)
//       CHECK:     %[[QP:.*]] = vector.load %[[Q]][%[[D]], %c0] : memref<4x32xbf16>, vector<32xbf16>
//       CHECK:     %[[KP:.*]] = vector.load %{{.*}}[%c0, %{{.*}}] : memref<3x8xbf16>, vector<2xbf16>
//       CHECK:     %[[KB:.*]] = vector.bitcast %[[KP]] : vector<2xbf16> to vector<1xi32>
//       CHECK:     %[[KS:.*]] = vector.extract %[[KB]][0]
//       CHECK:     %[[KA:.*]] = vector.broadcast %[[KS]] : i32 to vector<16xi32>
//       CHECK:     %[[KL:.*]] = vector.bitcast %[[KA]] : vector<16xi32> to vector<32xbf16>
//       CHECK:     x86vector.avx512.dot %{{.*}}, %[[KL]], %[[QP]] : vector<32xbf16> -> vector<16xf32>
//       CHECK:   %[[EVEN:.*]] = x86vector.avx512.cvt.packed.f32_to_bf16
//       CHECK:   %[[ODD:.*]] = x86vector.avx512.cvt.packed.f32_to_bf16
//       CHECK:   %[[PAIRS:.*]] = vector.interleave %[[EVEN]], %[[ODD]]
//       CHECK:   vector.store %[[PAIRS]], %[[P:[a-z0-9_]*]][%c0, %c0] : memref<2x32xbf16>
//       CHECK:   vector.store %{{.*}}, %[[P]][%c1, %c0] : memref<2x32xbf16>
//       CHECK:   scf.for %[[J:[a-z0-9]*]] = %c0 to %c2 step %c1 iter_args
//       CHECK:     vector.load %[[P]][%[[J]], %c0] : memref<2x32xbf16>, vector<32xbf16>
//       CHECK:     vector.load %[[V]][%[[J]], %{{.*}}] : memref<2x12xbf16>, vector<2xbf16>
func.func @step(%q: memref<4x16x2xbf16>, %k: memref<3x8xbf16>, %v: memref<2x6x2xbf16>, %a: memref<6x16xf32>,
                %m: memref<16xf32>, %l: memref<16xf32>) {
  attn.online_step ins(%q, %k, %v : memref<4x16x2xbf16>, memref<3x8xbf16>, memref<2x6x2xbf16>)
      outs(%a, %m, %l : memref<6x16xf32>, memref<16xf32>, memref<16xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d floordiv 2, i, d mod 2)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (j floordiv 2, e, j mod 2)>, affine_map<(i, j, d, e) -> (e, i)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64,
       schedule = #attn.prefill<query_tile = 16, key_tile = 3, lanes = 16, block_rows = 2, block_vectors = 1, instruction = pairs>}
  return
}

// A pair of a row is one element of the transpose.
// CHECK-LABEL: func @pairs_of_rows(
//       CHECK:   vector.load %{{.*}} : memref<16x32xbf16>, vector<8xbf16>
//       CHECK:   vector.bitcast %{{.*}} : vector<8xbf16> to vector<4xi32>
//       CHECK:   vector.insert_strided_slice %{{.*}} {offsets = [12], strides = [1]} : vector<4xi32> into vector<16xi32>
//       CHECK:   vector.shuffle %{{.*}} : vector<16xi32>, vector<16xi32>
//       CHECK:   vector.bitcast %{{.*}} : vector<16xi32> to vector<32xbf16>
//       CHECK:   vector.store %{{.*}} : memref<16x32xbf16>, vector<32xbf16>
func.func @pairs_of_rows(%q: memref<16x32xbf16>, %o: memref<16x16x2xbf16>) {
  attn.pack ins(%q : memref<16x32xbf16>) outs(%o : memref<16x16x2xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d floordiv 2, i, d mod 2)>]}
  return
}

// Two rows element by element, in vectors of 32 and of 8 and one column; the third row beside zeros.
// CHECK-LABEL: func @pairs_of_keys(
//   CHECK-DAG:   %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<32xbf16>
//       CHECK:   %[[EVEN:.*]] = vector.load %{{.*}}[%c0, %c0] : memref<3x41xbf16>, vector<32xbf16>
//       CHECK:   %[[ODD:.*]] = vector.load %{{.*}}[%c1, %c0] : memref<3x41xbf16>, vector<32xbf16>
//       CHECK:   vector.shuffle %[[EVEN]], %[[ODD]] [0, 32, 1, 33,
//       CHECK:   vector.shuffle %[[EVEN]], %[[ODD]] [16, 48, 17, 49,
//       CHECK:   vector.load %{{.*}} : memref<3x41xbf16>, vector<8xbf16>
//       CHECK:   memref.load %{{.*}}[%c0, %c40]
//       CHECK:   memref.load %{{.*}}[%c1, %c40]
//       CHECK:   %[[LAST:.*]] = vector.load %{{.*}}[%c2, %c0] : memref<3x41xbf16>, vector<32xbf16>
//       CHECK:   vector.shuffle %[[LAST]], %[[ZERO]] [0, 32, 1, 33,
func.func @pairs_of_keys(%v: memref<3x41xbf16>, %o: memref<2x41x2xbf16>) {
  attn.pack ins(%v : memref<3x41xbf16>) outs(%o : memref<2x41x2xbf16>)
      {maps = [affine_map<(j, e) -> (j, e)>, affine_map<(j, e) -> (j floordiv 2, e, j mod 2)>]}
  return
}
