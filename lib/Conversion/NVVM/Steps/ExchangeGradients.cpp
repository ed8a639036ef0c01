//===- ExchangeGradients.cpp - attn-exchange-gradients --------------------===//
//
// In a kernel of all gradients, each warp holds some keys of dS, and dQ = dS K sums over all keys of the block. Before:
// a product of dS in registers accumulates into rows of global memory. After: the warps write dS, transposed, to shared
// memory and multiply all of it with K; each group computes half of the columns of dQ, or half of its rows. When the
// block's turn comes, they add the result to global memory.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OverlapGradients.h"
#include "PipelineCopies.h"
#include "attn/Conversion/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn {
#define GEN_PASS_DEF_EXCHANGEGRADIENTSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// The op that awaits the turn of the step of `product`.
static AwaitOrderOp findOrder(ProductOp product) {
  for (Operation *op = product->getPrevNode(); op; op = op->getPrevNode())
    if (auto order = dyn_cast<AwaitOrderOp>(op))
      return order;
  return {};
}

static LogicalResult exchange(IRRewriter &b, ProductOp product, Value tile) {
  Location loc = product.getLoc();
  AwaitOrderOp order = findOrder(product);
  if (!order)
    return product.emitOpError("expected attn.await_order in front of what several blocks add to");
  b.setInsertionPoint(product);
  ExchangeOp::create(b, loc, roundFactors(b, product, product.getLhs()), tile);
  gpu::BarrierOp::create(b, loc);
  SmallVector<AffineMap> maps = attn::getMaps(product);
  unsigned dims = maps.front().getNumDims(); // (batch…, query, key, column)
  AffineExpr query = b.getAffineDimExpr(dims - 3), key = b.getAffineDimExpr(dims - 2),
             column = b.getAffineDimExpr(dims - 1);
  auto getMap = [&](ArrayRef<AffineExpr> exprs) { return AffineMap::get(dims, 0, exprs, b.getContext()); };
  AffineMap ofPart = getMap({query, column});
  Type sum = getElementTypeOrSelf(product.getOutput().getType());
  int64_t queries = cast<MemRefType>(tile.getType()).getDimSize(0);
  Type partType = getRegisterType({queries, getStaticSize(product, DimKind::ValueSize)}, sum);
  Value empty = tensor::EmptyOp::create(b, loc, partType, ValueRange());
  auto part = ProductOp::create(b, loc, partType, tile, product.getRhs(), empty, /*score_weight=*/Value(),
                                Contraction::Values, /*accumulate=*/false, product.getInstructionAttr(),
                                b.getAffineMapArrayAttr({getMap({query, key}), maps[1], ofPart}));
  order->moveAfter(part);
  b.setInsertionPointAfter(order);
  AddRowsOp::create(b, loc, part.getResults().front(), product.getOutput(), b.getAffineMapArrayAttr({ofPart, maps[2]}));
  b.eraseOp(product);
  return success();
}

namespace {
struct ExchangeGradientsPass : public attn::impl::ExchangeGradientsPassBase<ExchangeGradientsPass> {
  void runOnOperation() override {
    IRRewriter b(&getContext());
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      auto schedule = kernel->getAttrOfType<BlockAttr>(kScheduleAttr);
      SmallVector<ProductOp> products;
      kernel.walk([&](ProductOp product) {
        if (isa<MemRefType>(product.getOutput().getType()) && schedule && schedule.getFused())
          products.push_back(product);
      });
      if (products.empty())
        continue;
      b.setInsertionPointToStart(&kernel.getBody().front());
      Type type = getElementTypeOrSelf(products.front().getRhs().getType());
      Value tile = createSharedTile(b, kernel.getLoc(), {schedule.getKeyTile(), schedule.getBlockRows()}, type);
      for (ProductOp product : products)
        if (failed(exchange(b, product, tile)))
          return signalPassFailure();
    }
  }
};
} // namespace
