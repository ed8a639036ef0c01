//===- AttnTransformOps.td - transform dialect ops ----------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMOPS_ATTNTRANSFORMOPS_TD
#define ATTN_TRANSFORMOPS_ATTNTRANSFORMOPS_TD

include "attn/Schedule/ScheduleInterface.td"
include "mlir/Dialect/Transform/IR/TransformDialect.td"
include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Attn_TransformOp<string mnemonic, list<Trait> traits>
    : TransformDialectOp<"attn." # mnemonic, traits # [ReportTrackingListenerFailuresOpTrait]> {
  let cppNamespace = "::attn";
}

/// Replaces each op of a handle, which is consumed, by an op of a new one.
class Attn_ReplacingOp<string mnemonic, string opType>
    : Attn_TransformOp<mnemonic, [FunctionalStyleTransformOpTrait, MemoryEffectsOpInterface, TransformEachOpTrait,
                                  TransformOpInterface]> {
  let arguments = (ins TransformHandleTypeInterface:$target);
  let results = (outs TransformHandleTypeInterface:$transformed);
  let assemblyFormat = "$target attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    ::mlir::DiagnosedSilenceableFailure applyToOne(::mlir::transform::TransformRewriter &rewriter, }] # opType # [{ target,
                                                   ::mlir::transform::ApplyToEachResultList &results,
                                                   ::mlir::transform::TransformState &state);
  }];
}

def RaiseTransformOp : Attn_TransformOp<"raise", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                                  DeclareOpInterfaceMethods<TransformOpInterface>]> {
  let summary = "find attention in linalg and write it as attn ops";
  let description = [{
    As the pass `attn-raise`, with its options, on each op of `target`: the
    second product of an attention, or an op that holds attention, as a function.
    `chains` are the `attn.apply` that end the chains.

    #### Return modes

    Reads the handle and modifies the payload. Where an op of `target` holds no
    attention, this is a silenceable failure that names the step that did not
    match, for each product behind something that looks like a softmax. Where
    some of it was raised, what was not is a missed remark.

    ```mlir
    // raise.mlir
    module attributes {transform.with_named_sequence} {
      transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
        %chains = transform.attn.raise %root : (!transform.any_op) -> !transform.any_op
        transform.yield
      }
    }
    ```
    ```console
    $ attn-opt attention.mlir --transform-preload-library=transform-library-paths=raise.mlir --transform-interpreter -o chain.mlir
    $ grep "attn.apply" chain.mlir
    … attn.apply …
    $ attnc run chain.mlir --check
    … ok
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       DefaultValuedAttr<BoolAttr, "true">:$assume_finite_mask,
                       DefaultValuedAttr<BoolAttr, "true">:$allow_unsafe_softmax);
  let results = (outs TransformHandleTypeInterface:$chains);
  let assemblyFormat = "$target attr-dict `:` functional-type(operands, results)";
}

def FuseTransformOp : Attn_ReplacingOp<"fuse", "::attn::ApplyOp"> {
  let summary = "fuse the chain that ends in an attn.apply into one attn.sdpa";
  let description = [{
    As the pass `attn-fuse`, on each `attn.apply` of `target`.

    #### Return modes

    Consumes the handle and returns the `attn.sdpa`. A chain that is none is a
    silenceable failure with the reason.

    ```mlir
    // fuse.mlir
    module attributes {transform.with_named_sequence} {
      transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
        %chains = transform.attn.raise %root : (!transform.any_op) -> !transform.any_op
        %sdpas = transform.attn.fuse %chains : (!transform.any_op) -> !transform.op<"attn.sdpa">
        transform.yield
      }
    }
    ```
    ```console
    $ attn-opt attention.mlir --transform-preload-library=transform-library-paths=fuse.mlir --transform-interpreter -o fused.mlir
    $ grep "attn.sdpa" fused.mlir
    … attn.sdpa …
    $ attnc run fused.mlir --check
    … ok
    ```
  }];
}

def SetScheduleTransformOp : Attn_TransformOp<"set_schedule", [MemoryEffectsOpInterface, TransformEachOpTrait,
                                                               TransformOpInterface]> {
  let summary = "write the schedule of an attn.sdpa";
  let description = [{
    Writes `schedule`, or without one what the pass `attn-select-schedule` chooses
    for `target_name`, which is named as in `attnc --target`. Key ranges are found
    first where the op has none, as by `attn-analyze-mask`.

    #### Return modes

    Reads the handle and modifies the payload. A schedule that the op cannot have
    on the target, or without `target_name` on any, is a silenceable failure that
    says what to write.

    ```mlir
    // schedule.mlir
    module attributes {transform.with_named_sequence} {
      transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
        %chains = transform.attn.raise %root : (!transform.any_op) -> !transform.any_op
        %sdpa = transform.attn.fuse %chains : (!transform.any_op) -> !transform.any_op
        transform.attn.set_schedule %sdpa {target_name = "host"} : !transform.any_op
        transform.attn.set_schedule %sdpa {
            schedule = #attn.prefill<query_tile = 16, key_tile = 8, lanes = 4, block_rows = 4, block_vectors = 2>,
            target_name = "x86-64"} : !transform.any_op
        transform.yield
      }
    }
    ```
    ```console
    $ attn-opt attention.mlir --transform-preload-library=transform-library-paths=schedule.mlir --transform-interpreter -o scheduled.mlir
    $ grep "query_tile = 16" scheduled.mlir
    … #attn.prefill<query_tile = 16, key_tile = 8, …
    $ attnc run scheduled.mlir --target=x86-64 --check
    … ok
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target, OptionalAttr<Attn_ScheduleAttr>:$schedule,
                       OptionalAttr<StrAttr>:$target_name);
  let results = (outs);
  let assemblyFormat = "$target attr-dict `:` type($target)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    void getEffects(::llvm::SmallVectorImpl<::mlir::MemoryEffects::EffectInstance> &effects);
    ::mlir::DiagnosedSilenceableFailure applyToOne(::mlir::transform::TransformRewriter &rewriter, ::attn::SdpaOp target,
                                                   ::mlir::transform::ApplyToEachResultList &results,
                                                   ::mlir::transform::TransformState &state);
  }];
}

def ConvertToOnlineTransformOp : Attn_ReplacingOp<"convert_to_online", "::attn::SdpaOp"> {
  let summary = "rewrite an attn.sdpa as init_state, online_step and finalize";
  let description = [{
    As the pass `attn-convert-to-online`. Key ranges are found first where the op
    has none, as by `attn-analyze-mask`.

    #### Return modes

    Consumes the handle and returns the `attn.finalize`. An op on memrefs, or
    without a scale where the head size is dynamic, is a silenceable failure.

    ```mlir
    // online.mlir
    module attributes {transform.with_named_sequence} {
      transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
        %chains = transform.attn.raise %root : (!transform.any_op) -> !transform.any_op
        %sdpa = transform.attn.fuse %chains : (!transform.any_op) -> !transform.any_op
        %finalize = transform.attn.convert_to_online %sdpa : (!transform.any_op) -> !transform.op<"attn.finalize">
        transform.yield
      }
    }
    ```
    ```console
    $ attn-opt attention.mlir --transform-preload-library=transform-library-paths=online.mlir --transform-interpreter -o online-form.mlir
    $ grep "attn.online_step" online-form.mlir
    … attn.online_step …
    $ attnc run online-form.mlir --reference
    ```
  }];
}

def TileTransformOp : Attn_ReplacingOp<"tile", "::attn::FinalizeOp"> {
  let summary = "tile the online form into a parallel loop over query tiles and loops over key tiles";
  let description = [{
    As the pass `attn-tile`, on the online form that ends in an `attn.finalize`.

    #### Return modes

    Consumes the handle and returns the `scf.forall` over the query tiles. A step
    without a schedule, with one that it cannot have, or with states from
    elsewhere is a silenceable failure.

    ```mlir
    // tile.mlir
    module attributes {transform.with_named_sequence} {
      transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
        %chains = transform.attn.raise %root : (!transform.any_op) -> !transform.any_op
        %sdpa = transform.attn.fuse %chains : (!transform.any_op) -> !transform.any_op
        transform.attn.set_schedule %sdpa {
            schedule = #attn.prefill<query_tile = 16, key_tile = 8, lanes = 4, block_rows = 4, block_vectors = 2>,
            target_name = "x86-64"} : !transform.any_op
        %finalize = transform.attn.convert_to_online %sdpa : (!transform.any_op) -> !transform.any_op
        %loop = transform.attn.tile %finalize : (!transform.any_op) -> !transform.op<"scf.forall">
        transform.yield
      }
    }
    ```
    ```console
    $ attn-opt attention.mlir --transform-preload-library=transform-library-paths=tile.mlir --transform-interpreter -o tiled.mlir
    $ grep "scf.forall" tiled.mlir
    … scf.forall …
    $ attnc run tiled.mlir --target=x86-64 --check
    … ok
    ```
  }];
}

#endif // ATTN_TRANSFORMOPS_ATTNTRANSFORMOPS_TD
