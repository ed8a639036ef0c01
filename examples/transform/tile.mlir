// A script of the transform dialect takes attention from linalg to tiles: each step is an op, on handles, and between them
// stand those of upstream. docs/Transform.md has the ops.
//
// UNSUPPORTED: asan
//
// 1. With attn-opt; attnc compiles what the script leaves, and compares it with the reference.
//
// RUN: attn-opt %S/Inputs/attention.mlir --transform-preload-library=transform-library-paths=%s --transform-interpreter -o %t.mlir
// RUN: attnc run %t.mlir --check | FileCheck %s
// CHECK: largest error {{.*}} ok
//
// 2. With a stock mlir-opt and the plugin, as a pass among others.
//
//   mlir-opt-22 examples/transform/Inputs/attention.mlir --load-dialect-plugin=build/release/lib/libAttnPlugin.so \
//     --pass-pipeline="builtin.module(transform-preload-library{transform-library-paths=examples/transform/tile.mlir}, …)"
//
// RUN: mlir-opt %S/Inputs/attention.mlir --load-dialect-plugin=%plugin -o %t.mlir \
// RUN:   --pass-pipeline="builtin.module(transform-preload-library{transform-library-paths=%s}, transform-interpreter)"
// RUN: attnc run %t.mlir --check | FileCheck %s

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    // Products, softmax and what is between them: the chain of attn ops, then one op.
    %chains = transform.attn.raise %root : (!transform.any_op) -> !transform.any_op
    %sdpa = transform.attn.fuse %chains : (!transform.any_op) -> !transform.any_op
    // Upstream's tiling splits the batch dimension; each part is attention still.
    %part, %outer = transform.structured.tile_using_forall %sdpa tile_sizes [4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // The schedule that attn would choose for this processor, and its loops.
    transform.attn.set_schedule %part {target_name = "host"} : !transform.any_op
    %finalize = transform.attn.convert_to_online %part : (!transform.any_op) -> !transform.any_op
    %loop = transform.attn.tile %finalize : (!transform.any_op) -> !transform.op<"scf.forall">
    transform.yield
  }
}
