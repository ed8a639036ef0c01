// Tiles that TilingInterface cuts are kernels as the whole op is, also where a tile holds a part of a group of heads,
// for which the decode kernel of AVX-512 has no tile.
// RUN: attn-opt %s --transform-interpreter | attnc run - --check | FileCheck %s
// CHECK: output: {{.*}} ok
func.func @part_of_a_group(%q: tensor<2x4x7x16xf32>, %k: tensor<2x1x9x16xf32>, %v: tensor<2x1x9x8xf32>)
    -> tensor<2x4x7x8xf32> {
  %o = tensor.empty() : tensor<2x4x7x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x4x7x16xf32>, tensor<2x1x9x16xf32>, tensor<2x1x9x8xf32>)
      outs(%o : tensor<2x4x7x8xf32>) -> tensor<2x4x7x8xf32>
  return %r : tensor<2x4x7x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
