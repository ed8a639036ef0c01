// What does not fuse runs step by step in the pipelines too, as in attnc, with a remark; or is an error where it is asked to be.
// RUN: attn-opt %S/../../examples/weights.mlir --attn-to-flash=target=x86-64 | attn-opt --attn-to-llvm=target=x86-64 | FileCheck %s
// RUN: not attn-opt %S/../../examples/weights.mlir --attn-to-flash="target=x86-64 fail-on-fallback" 2>&1 | FileCheck %s --check-prefix=ERROR

// CHECK: llvm.func @weights(
// ERROR: error: 'attn.scores' op
