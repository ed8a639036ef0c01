//===- AttnBase.td - the attn dialect and its op classes ----*- tablegen -*-===//
//
// The dialect, and the two base classes of its operations. Every attention op
// is in destination-passing style over tensors or memrefs and finds its
// dimensions through indexing maps.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNBASE_TD
#define ATTN_IR_ATTNBASE_TD

include "attn/IR/ScoreFunctionInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Dialect/Linalg/IR/LinalgInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/IndexingMapOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::attn";
  let summary = "attention: scores, masks, softmax, and the online form they fuse into";
  let description = [{
    The dialect represents attention at three levels:

    * the textbook chain `scores`, `scale`, `softcap`, `mask`, `softmax`, `apply`, which materialises the score matrix;
    * `sdpa`, the whole of it as one operation: the mathematics, no schedule;
    * the online form `init_state`, `online_step`, `merge_states`, `finalize`, whose running state (acc, row max, row
      sum) accumulates the keys range by range.

    The backward pass has two levels: `sdpa_backward`, and the ops `row_delta` and `backward_step` that it becomes.

    **Names.** `B` batch, `Hq`/`Hkv` query and key/value heads, `Sq`/`Sk` query
    and key lengths, `D` head size of Q and K, `Dv` head size of V.

    **Indexing maps.** Each op has an iteration domain: any number of batch dimensions (the heads are the last of them),
    then the named dimensions of the op, for `sdpa` (query, key, head, value). The optional `maps` attribute has one
    affine map for each shaped operand from that domain to the operand's dimensions: a permutation of the dimensions, `h
    floordiv G` for the shared heads of K and V, and `0` for a broadcast dimension of size 1. Without maps, operands
    have batch dimensions, then rows, then columns (`bhsd`). K and V then share heads in contiguous groups if they have
    fewer than Q, and masks and biases broadcast as in NumPy. An empty array means no maps.

    **Tensors and memrefs.** An op is on tensors, with a result for each output, or on memrefs, without results. Memrefs
    may be strided. `attn-memref-to-tensor`, in the first phase of each pipeline, makes tensor ops of ops on memrefs;
    bufferisation then writes to the same memrefs in place. An op may read the memref that it writes: it reads the old
    contents. Different memrefs of an op must not overlap if one of them is written. Tiles in registers,
    tensors with the encoding `#attn.registers`, stand beside memrefs in the kernels of a GPU; an op has results for them.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasCanonicalizer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// The error for an unknown op, which suggests the nearest name.
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef opName) const override;
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def Attn_Shaped : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef], "ranked tensor or strided memref">;

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

// An op in destination-passing style whose operands are described by a table of dimension names (Structure.h).
// Shaped operands come first, in the order of `maps`; the table drives verification, tiling and decomposition.
class Attn_StructuredOp<string mnemonic, list<Trait> traits = []> : Attn_Op<mnemonic, !listconcat(traits, [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
    AggregatedOpInterface,
    IndexingMapOpInterface])> {
  let hasVerifier = 1;

  code structuredDeclaration = [{
    ::mlir::ArrayAttr getIndexingMaps() { return ::attn::getIndexingMaps(*this); }
    /// For IndexingMapOpInterface: no dimensions for a scalar operand.
    ::llvm::ArrayRef<int64_t> getShape(::mlir::OpOperand *operand) {
      auto shaped = ::mlir::dyn_cast<::mlir::ShapedType>(operand->get().getType());
      return shaped ? shaped.getShape() : ::llvm::ArrayRef<int64_t>();
    }
    ::mlir::MutableOperandRange getDpsInitsMutable();
    ::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>> decomposeOperation(::mlir::OpBuilder &builder);
  }];
  let extraClassDeclaration = structuredDeclaration;
}

#endif // ATTN_IR_ATTNBASE_TD
