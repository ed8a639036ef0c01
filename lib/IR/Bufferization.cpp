//===- Bufferization.cpp - BufferizableOpInterface of the attn ops --------===//
//
// Destination-passing style decides everything: inputs are read, destinations
// written in place. Only the running state of online_step and merge_states, and
// the cache that kv_append writes a part of, are also read.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "ExternalModels.h"
#include "attn/IR/Attn.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace attn;

namespace {

template <typename OpTy>
struct StructuredModel : public DstBufferizableOpInterfaceExternalModel<StructuredModel<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand) || readsInit(operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    auto dps = cast<DestinationStyleOpInterface>(op);
    if (dps.hasPureBufferSemantics())
      return success();
    IRMapping mapping;
    SmallVector<Value> inits;
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (isa<TensorType>(value.getType())) {
        FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
        if (failed(buffer))
          return failure();
        value = *buffer;
      }
      mapping.map(operand.get(), value);
      if (dps.isDpsInit(&operand))
        inits.push_back(value);
    }
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value operand) { return mapping.lookup(operand); });
    OperationState newState(op->getLoc(), op->getName(), operands, TypeRange(), op->getAttrs());
    for (Region &region : op->getRegions())
      region.cloneInto(newState.addRegion(), mapping);
    rewriter.create(newState);
    replaceOpWithBufferizedValues(rewriter, op, inits);
    return success();
  }
};

/// A prefetch neither reads nor writes its tiles.
struct PrefetchModel : public BufferizableOpInterface::ExternalModel<PrefetchModel, PrefetchOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  AliasingValueList getAliasingValues(Operation *, OpOperand &, const AnalysisState &) const { return {}; }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto prefetch = cast<PrefetchOp>(op);
    SmallVector<Value> buffers;
    for (Value tile : prefetch.getTiles()) {
      FailureOr<Value> buffer =
          isa<TensorType>(tile.getType()) ? getBuffer(rewriter, tile, options, state) : FailureOr<Value>(tile);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    rewriter.modifyOpInPlace(op, [&] { prefetch.getTilesMutable().assign(buffers); });
    return success();
  }
};

/// It writes to a destination of the enclosing op.
struct AccumulateModel : public BufferizableOpInterface::ExternalModel<AccumulateModel, AccumulateOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  AliasingValueList getAliasingValues(Operation *, OpOperand &, const AnalysisState &) const { return {}; }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto accumulate = cast<AccumulateOp>(op);
    if (!isa<TensorType>(accumulate.getDestination().getType()))
      return success();
    FailureOr<Value> buffer = getBuffer(rewriter, accumulate.getDestination(), options, state);
    if (failed(buffer))
      return failure();
    rewriter.modifyOpInPlace(op, [&] { accumulate.getDestinationMutable().assign(*buffer); });
    return success();
  }
};

template <typename... OpTys> void attachModels(MLIRContext *ctx) {
  (OpTys::template attachInterface<StructuredModel<OpTys>>(*ctx), ...);
}

} // namespace

void attn::registerBufferizationModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *ctx, AttnDialect *) {
    attachModels<ScoresOp, ScaleOp, ModifyOp, SoftcapOp, MaskOp, SoftmaxOp, DropoutOp, ApplyOp, SdpaOp, InitStateOp,
                 OnlineStepOp, MergeStatesOp, FinalizeOp, PackOp, PackBytesOp, ProductOp, MapScoresOp, RowMaxOp,
                 RescaleOp, WeightsOp, SdpaBackwardOp, RowDeltaOp, BackwardStepOp, ScoreGradientsOp, GatherPagesOp,
                 KvAppendOp, MultiHeadOp, LinearOp, LinearBackwardOp>(ctx);
    PrefetchOp::attachInterface<PrefetchModel>(*ctx);
    AccumulateOp::attachInterface<AccumulateModel>(*ctx);
  });
}
