// The vector width and the multiply-add are those of the target; no attn op is left.
// RUN: attn-opt %s --attn-select-schedule=target=x86-64 --attn-convert-to-online --attn-tile \
// RUN:     --one-shot-bufferize=bufferize-function-boundaries --attn-lower-tile-to-vector=target=x86-64 \
// RUN:     | FileCheck %s --check-prefixes=CHECK,V1 --implicit-check-not=attn.
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v3 --attn-convert-to-online --attn-tile \
// RUN:     --one-shot-bufferize=bufferize-function-boundaries --attn-lower-tile-to-vector=target=x86-64-v3 \
// RUN:     | FileCheck %s --check-prefixes=CHECK,V3 --implicit-check-not=attn.
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v4 --attn-convert-to-online --attn-tile \
// RUN:     --one-shot-bufferize=bufferize-function-boundaries --attn-lower-tile-to-vector=target=x86-64-v4 \
// RUN:     | FileCheck %s --check-prefixes=CHECK,V4 --implicit-check-not=attn.

// CHECK-LABEL: func @sdpa(
//       CHECK:   scf.forall
//    V1-NOT:     vector.fma
//        V1:     arith.mulf %{{.*}} : vector<4xf32>
//        V3:     vector.fma %{{.*}} : vector<8xf32>
//        V4:     vector.fma %{{.*}} : vector<16xf32>
func.func @sdpa(%q: tensor<64x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x8xf32>, %o: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x8xf32>) outs(%o : tensor<64x8xf32>)
      -> tensor<64x8xf32>
  return %r : tensor<64x8xf32>
}
