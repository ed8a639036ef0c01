// RUN: attn-opt %s --attn-tile-chain=target=x86-64-v3 --canonicalize --cse --split-input-file | FileCheck %s
// RUN: not attn-opt %s --attn-tile-chain=target=i8086 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: attn-tile-chain: unknown target 'i8086'

// One loop over batch indices, heads and 64 rows each, with the chain in it; the weights, which are returned, come out of
// it as well. 512 KiB of second-level cache are four matrices of 64 rows by 512 keys. A mask that counts rows moves with
// its block.
// CHECK-LABEL: func @returned_weights(
//       CHECK:   %[[R:.*]]:2 = scf.forall (%[[B:.*]], %[[H:.*]], %[[ROW:.*]]) = (0, 0, 0) to (2, 4, 256) step (1, 1, 64)
//       CHECK:     %[[S:.*]] = attn.scores ins(%{{.*}}, %{{.*}} : tensor<1x1x64x32xf32>, tensor<1x1x512x32xf32>)
//       CHECK:     %[[M:.*]] = attn.mask ins(%[[S]] : tensor<1x1x64x512xf32>)
//       CHECK:       arith.addi %{{.*}}%[[ROW]]
//       CHECK:     %[[P:.*]] = attn.softmax ins(%[[M]] : tensor<1x1x64x512xf32>)
//       CHECK:     %[[O:.*]] = attn.apply ins(%[[P]], %{{.*}} : tensor<1x1x64x512xf32>, tensor<1x1x512x16xf32>)
//       CHECK:     scf.forall.in_parallel {
//   CHECK-DAG:       tensor.parallel_insert_slice %[[O]]
//   CHECK-DAG:       tensor.parallel_insert_slice %[[P]]
//   CHECK-NOT:   attn.apply
//       CHECK:   return %[[R]]#0, %[[R]]#1
func.func @returned_weights(%q: tensor<2x4x256x32xf32>, %k: tensor<2x2x512x32xf32>, %v: tensor<2x2x512x16xf32>)
    -> (tensor<2x4x256x16xf32>, tensor<2x4x256x512xf32>) {
  %e = tensor.empty() : tensor<2x4x256x512xf32>
  %o = tensor.empty() : tensor<2x4x256x16xf32>
  %s = attn.scores ins(%q, %k : tensor<2x4x256x32xf32>, tensor<2x2x512x32xf32>) outs(%e : tensor<2x4x256x512xf32>)
      -> tensor<2x4x256x512xf32>
  %m = attn.mask ins(%s : tensor<2x4x256x512xf32>) outs(%e : tensor<2x4x256x512xf32>)
      {causal = #attn.causal<bottom_right>} -> tensor<2x4x256x512xf32>
  %p = attn.softmax ins(%m : tensor<2x4x256x512xf32>) outs(%e : tensor<2x4x256x512xf32>) -> tensor<2x4x256x512xf32>
  %r = attn.apply ins(%p, %v : tensor<2x4x256x512xf32>, tensor<2x2x512x16xf32>) outs(%o : tensor<2x4x256x16xf32>)
      -> tensor<2x4x256x16xf32>
  return %r, %p : tensor<2x4x256x16xf32>, tensor<2x4x256x512xf32>
}

// -----

// Ops between those of the chain go along; what is read in front of its end does not, and is a chain of its own. 254
// rows are four blocks of 64 or fewer.
// CHECK-LABEL: func @others_between(
//       CHECK:   %[[S:.*]] = scf.forall (%{{.*}}) = (0) to (254) step (64)
//       CHECK:     attn.scores
//       CHECK:   linalg.reduce {{.*}} ins(%[[S]]
//       CHECK:   scf.forall (%{{.*}}) = (0) to (254) step (64)
//       CHECK:     %[[X:.*]] = linalg.map { math.absf } ins(%{{.*}} : tensor<?x512xf32>)
//       CHECK:     attn.softmax ins(%[[X]] : tensor<?x512xf32>)
func.func @others_between(%q: tensor<254x32xf32>, %k: tensor<512x32xf32>, %max: tensor<254xf32>)
    -> (tensor<254x512xf32>, tensor<254xf32>) {
  %e = tensor.empty() : tensor<254x512xf32>
  %s = attn.scores ins(%q, %k : tensor<254x32xf32>, tensor<512x32xf32>) outs(%e : tensor<254x512xf32>)
      -> tensor<254x512xf32>
  %x = linalg.map { math.absf } ins(%s : tensor<254x512xf32>) outs(%e : tensor<254x512xf32>)
  %n = linalg.reduce { arith.maximumf } ins(%s : tensor<254x512xf32>) outs(%max : tensor<254xf32>) dimensions = [1]
  %p = attn.softmax ins(%x : tensor<254x512xf32>) outs(%e : tensor<254x512xf32>) -> tensor<254x512xf32>
  return %p, %n : tensor<254x512xf32>, tensor<254xf32>
}

// -----

// Sizes that only the call knows: 64 rows.
// CHECK-LABEL: func @dynamic(
//       CHECK:   scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (%{{.*}}, %{{.*}}) step (1, 64)
//       CHECK:     attn.scores ins(%{{.*}} : tensor<1x?x32xf32>, tensor<1x?x32xf32>)
func.func @dynamic(%q: tensor<?x?x32xf32>, %k: tensor<?x?x32xf32>, %e: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %s = attn.scores ins(%q, %k : tensor<?x?x32xf32>, tensor<?x?x32xf32>) outs(%e : tensor<?x?x?xf32>)
      -> tensor<?x?x?xf32>
  %p = attn.softmax ins(%s : tensor<?x?x?xf32>) outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return %p : tensor<?x?x?xf32>
}

// -----

// Nothing to gain: little work, and a scale of Q alone.
// CHECK-LABEL: func @little(
//   CHECK-NOT:   scf.forall
func.func @little(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %x: tensor<8x512x512xf32>, %s: tensor<4x6xf32>)
    -> (tensor<4x6xf32>, tensor<8x512x512xf32>) {
  %r = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%s : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = attn.scale ins(%x : tensor<8x512x512xf32>) outs(%x : tensor<8x512x512xf32>) {scale = 0.5 : f64}
      -> tensor<8x512x512xf32>
  return %r, %y : tensor<4x6xf32>, tensor<8x512x512xf32>
}

// -----

// In a loop that is parallel already, blocks go one after the other.
// CHECK-LABEL: func @in_parallel(
//       CHECK:   scf.forall
//   CHECK-NOT:   scf.forall (
//       CHECK:     scf.for {{.*}} step %c64
//       CHECK:       attn.scores ins(%{{.*}} : tensor<64x32xf32>, tensor<512x32xf32>)
func.func @in_parallel(%q: tensor<256x32xf32>, %k: tensor<512x32xf32>, %o: tensor<2x256x512xf32>) -> tensor<2x256x512xf32> {
  %r = scf.forall (%i) in (2) shared_outs(%out = %o) -> (tensor<2x256x512xf32>) {
    %e = tensor.empty() : tensor<256x512xf32>
    %s = attn.scores ins(%q, %k : tensor<256x32xf32>, tensor<512x32xf32>) outs(%e : tensor<256x512xf32>)
        -> tensor<256x512xf32>
    %p = attn.softmax ins(%s : tensor<256x512xf32>) outs(%e : tensor<256x512xf32>) -> tensor<256x512xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %p into %out[%i, 0, 0] [1, 256, 512] [1, 1, 1] : tensor<256x512xf32> into tensor<2x256x512xf32>
    }
  }
  return %r : tensor<2x256x512xf32>
}

// -----

// The states of two finished calls: a block of rows is widened, merged and divided at a time.
// CHECK-LABEL: func @merge(
//       CHECK:   %[[R:.*]]:2 = scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (8, 1000) step (1, 125)
//       CHECK:     linalg.generic
//       CHECK:     attn.merge_states ins({{.*}} : tensor<1x125x64xf32>, tensor<1x125xf32>, tensor<1x125xf32>)
//       CHECK:     attn.finalize
//       CHECK:     scf.forall.in_parallel
//   CHECK-NOT:   attn.merge_states
//       CHECK:   return %[[R]]#0, %[[R]]#1
func.func @merge(%out1: tensor<8x1000x64xbf16>, %lse1: tensor<8x1000xf32>, %acc2: tensor<8x1000x64xf32>,
                 %lse2: tensor<8x1000xf32>) -> (tensor<8x1000x64xbf16>, tensor<8x1000xf32>) {
  %empty = tensor.empty() : tensor<8x1000x64xf32>
  %acc1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
                                           affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
                          iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%out1 : tensor<8x1000x64xbf16>) outs(%empty : tensor<8x1000x64xf32>) {
  ^bb0(%x: bf16, %y: f32):
    %wide = arith.extf %x : bf16 to f32
    linalg.yield %wide : f32
  } -> tensor<8x1000x64xf32>
  %one = arith.constant dense<1.0> : tensor<8x1000xf32>
  %acc, %max, %sum = attn.merge_states ins(%acc2, %lse2, %one : tensor<8x1000x64xf32>, tensor<8x1000xf32>, tensor<8x1000xf32>)
      outs(%acc1, %lse1, %one : tensor<8x1000x64xf32>, tensor<8x1000xf32>, tensor<8x1000xf32>)
      -> tensor<8x1000x64xf32>, tensor<8x1000xf32>, tensor<8x1000xf32>
  %out_init = tensor.empty() : tensor<8x1000x64xbf16>
  %lse_init = tensor.empty() : tensor<8x1000xf32>
  %out, %lse = attn.finalize ins(%acc, %max, %sum : tensor<8x1000x64xf32>, tensor<8x1000xf32>, tensor<8x1000xf32>)
      outs(%out_init, %lse_init : tensor<8x1000x64xbf16>, tensor<8x1000xf32>)
      -> tensor<8x1000x64xbf16>, tensor<8x1000xf32>
  return %out, %lse : tensor<8x1000x64xbf16>, tensor<8x1000xf32>
}
