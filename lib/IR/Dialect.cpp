//===- Dialect.cpp - registration of the attn dialect ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "attn/IR/AttnDialect.cpp.inc"
#include "attn/IR/AttnEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "attn/IR/AttnAttrs.cpp.inc"

namespace {
/// Every op may move into the function that calls its own.
struct AttnInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const override { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const override { return true; }
};
} // namespace

void attn::AttnDialect::initialize() {
  addInterfaces<AttnInlinerInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attn/IR/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attn/IR/AttnOps.cpp.inc"
      >();
}

/// Larger sizes are nothing that a kernel could want, and products of them must not overflow.
static constexpr int64_t kMaxSize = int64_t(1) << 24;

LogicalResult attn::ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t queryTile,
                                         int64_t keyTile, int64_t lanes, int64_t rowBlock, int64_t laneVectors,
                                         KernelKind kernel, ProductKind product, int64_t splitKeys, int64_t prefetch,
                                         int64_t warps, int64_t kvHeads) {
  if (queryTile < 1 || keyTile < 1 || lanes < 1 || rowBlock < 1 || laneVectors < 1 || kvHeads < 1)
    return emitError() << "expected every size of a schedule to be at least 1";
  if (std::max({queryTile, keyTile, lanes, rowBlock, laneVectors, splitKeys, prefetch, warps, kvHeads}) > kMaxSize)
    return emitError() << "expected every size of a schedule to be at most " << kMaxSize;
  if (splitKeys < 0 || prefetch < 0 || warps < 0)
    return emitError() << "expected split_keys, prefetch and warps of a schedule to be 0 or greater";
  bool isGpuProduct = product == ProductKind::MMA || product == ProductKind::TF32;
  if (warps > 0 && (lanes != 32 || rowBlock % 16 != 0 || keyTile % 16 != 0 || product == ProductKind::Dot ||
                    product == ProductKind::AMX))
    return emitError()
           << "expected lanes = 32, row_block and key_tile in multiples of 16, and product = mma, tf32 or fma "
              "of a schedule with warps, found "
           << lanes << ", " << rowBlock << ", " << keyTile << " and " << stringifyProductKind(product);
  if (warps == 0 && isGpuProduct)
    return emitError() << "expected product = " << stringifyProductKind(product) << " only with warps, found none";
  if (product == ProductKind::AMX && (kernel != KernelKind::Prefill || lanes != 16 || keyTile % 32 != 0))
    return emitError() << "expected kernel = prefill, lanes = 16 and key_tile in multiples of 32 with product = amx, "
                          "found "
                       << stringifyKernelKind(kernel) << ", " << lanes << " and " << keyTile;
  if (warps > 0 && kernel == KernelKind::Prefill && queryTile > rowBlock * warps)
    return emitError() << "expected query_tile to be at most row_block * warps = " << rowBlock * warps << ", found "
                       << queryTile;
  if (kernel == KernelKind::Prefill && warps == 0 && queryTile % lanes != 0)
    return emitError() << "expected query_tile to be a multiple of lanes = " << lanes << ", found " << queryTile;
  if (kernel == KernelKind::Prefill && splitKeys != 0)
    return emitError() << "expected split_keys only with kernel = decode, found it with kernel = prefill";
  if (kvHeads > 1 && (kernel != KernelKind::Decode || warps > 0))
    return emitError() << "expected kv_heads = 1 but for kernel = decode without warps, found " << kvHeads;
  if (splitKeys % keyTile != 0)
    return emitError() << "expected split_keys to be a multiple of key_tile = " << keyTile << ", found " << splitKeys
                       << "; write split_keys=" << llvm::alignTo(splitKeys, keyTile);
  return success();
}

/// Far beyond any length, and far enough from 2^63 that positions plus a bound do not wrap.
static constexpr int64_t kMaxWindowBound = int64_t(1) << 40;

LogicalResult attn::WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError, std::optional<int64_t> left,
                                       std::optional<int64_t> right) {
  for (auto [name, bound] : {std::pair("left", left), std::pair("right", right)})
    if (bound && (*bound < 0 || *bound > kMaxWindowBound))
      return emitError() << "C12: expected the window's " << name
                         << " bound to be 0 or greater and at most 2^40, found " << *bound
                         << "; leave it out for no bound";
  return success();
}
