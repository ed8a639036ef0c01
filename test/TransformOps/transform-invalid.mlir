// What is an error or a missed remark of a pass is a silenceable failure with the same message, at the same op.

// RUN: attn-opt %s --transform-interpreter --split-input-file --verify-diagnostics

// Nothing between two products.
// expected-error @below {{attention not raised: expected two products with a softmax between them, found none}}
module attributes {transform.with_named_sequence} {
  func.func @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %r = linalg.matmul ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %chains = transform.attn.raise %root : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// A softmax over the queries.
module attributes {transform.with_named_sequence} {
  func.func @f(%q: tensor<2x4x8xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x4x4xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %s = linalg.batch_matmul ins(%q, %k : tensor<2x4x8xf32>, tensor<2x8x4xf32>) outs(%z : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %p = linalg.softmax dimension(1) ins(%s : tensor<2x4x4xf32>) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %o = tensor.empty() : tensor<2x4x8xf32>
    %y = linalg.fill ins(%zero : f32) outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    // expected-error @below {{attention not raised: }}
    %r = linalg.batch_matmul ins(%p, %v : tensor<2x4x4xf32>, tensor<2x4x8xf32>) outs(%y : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    return %r : tensor<2x4x8xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %chains = transform.attn.raise %root : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// Weights that are no softmax.
module attributes {transform.with_named_sequence} {
  func.func @f(%p: tensor<4x6xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
    // expected-error @below {{chain not fused: the weights do not come from attn.softmax}}
    %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %apply = transform.structured.match ops{["attn.apply"]} in %root : (!transform.any_op) -> !transform.any_op
    %sdpa = transform.attn.fuse %apply : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// A chain behind bufferisation.
module attributes {transform.with_named_sequence} {
  func.func @f(%p: memref<4x6xf32>, %v: memref<6x8xf32>, %o: memref<4x8xf32>) {
    // expected-error @below {{chain not fused: attn.apply is on memrefs; run attn-memref-to-tensor}}
    attn.apply ins(%p, %v : memref<4x6xf32>, memref<6x8xf32>) outs(%o : memref<4x8xf32>)
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %apply = transform.structured.match ops{["attn.apply"]} in %root : (!transform.any_op) -> !transform.any_op
    %sdpa = transform.attn.fuse %apply : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// A handle to another op.
module attributes {transform.with_named_sequence} {
  // expected-note @below {{when applied to this op}}
  func.func @f() {
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{transform applied to the wrong op kind}}
    %sdpa = transform.attn.fuse %f : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// Lanes that the target has not.
module attributes {transform.with_named_sequence} {
  func.func @f(%q: tensor<2x64x16xf32>, %o: tensor<2x64x16xf32>) -> tensor<2x64x16xf32> {
    // expected-error @below {{schedule: expected lanes to be 8}}
    %r = attn.sdpa ins(%q, %q, %q : tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>)
        outs(%o : tensor<2x64x16xf32>) -> tensor<2x64x16xf32>
    return %r : tensor<2x64x16xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %sdpa = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.attn.set_schedule %sdpa {
        schedule = #attn.prefill<query_tile = 16, key_tile = 8, lanes = 4, block_rows = 4, block_vectors = 2>,
        target_name = "x86-64-v3"} : !transform.any_op
    transform.yield
  }
}

// -----

// A target that is none.
module attributes {transform.with_named_sequence} {
  func.func @f(%q: tensor<2x64x16xf32>, %o: tensor<2x64x16xf32>) -> tensor<2x64x16xf32> {
    // expected-error @below {{transform.attn.set_schedule: unknown target 'z80'}}
    %r = attn.sdpa ins(%q, %q, %q : tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>)
        outs(%o : tensor<2x64x16xf32>) -> tensor<2x64x16xf32>
    return %r : tensor<2x64x16xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %sdpa = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.attn.set_schedule %sdpa {target_name = "z80"} : !transform.any_op
    transform.yield
  }
}

// -----

// Neither a schedule nor a target to choose one for.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    // expected-error @below {{expected a schedule, or a target_name to choose one for, found neither}}
    transform.attn.set_schedule %root : !transform.any_op
    transform.yield
  }
}

// -----

// 1/sqrt(D) of a D that is only known at run time.
module attributes {transform.with_named_sequence} {
  func.func @f(%q: tensor<4x?xf32>, %v: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
    // expected-error @below {{expected a scale where the head size is dynamic; write scale = … or scale_value(…)}}
    %r = attn.sdpa ins(%q, %q, %v : tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
        -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %sdpa = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    %finalize = transform.attn.convert_to_online %sdpa : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  func.func @f(%q: memref<4x8xf32>, %o: memref<4x8xf32>) {
    // expected-error @below {{expected tensors, found memrefs; run attn-memref-to-tensor}}
    attn.sdpa ins(%q, %q, %q : memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) outs(%o : memref<4x8xf32>)
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %sdpa = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    %finalize = transform.attn.convert_to_online %sdpa : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// No schedule, and the failure is suppressed: the script goes on, the op stays.
module attributes {transform.with_named_sequence} {
  func.func @f(%q: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
    // expected-error @below {{expected a schedule; run attn-select-schedule or write schedule = #attn.prefill<…>}}
    %r = attn.sdpa ins(%q, %q, %q : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
        -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %sdpa = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.sequence %sdpa : !transform.any_op failures(suppress) {
    ^bb0(%op: !transform.any_op):
      transform.attn.set_schedule %op {
          schedule = #attn.prefill<query_tile = 16, key_tile = 8, lanes = 4, block_rows = 4, block_vectors = 2>,
          target_name = "x86-64-v3"} : !transform.any_op
    }
    %again = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    %finalize = transform.attn.convert_to_online %again : (!transform.any_op) -> !transform.any_op
    %loop = transform.attn.tile %finalize : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
