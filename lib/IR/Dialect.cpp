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

/// What the fields of a schedule with warps, of a GPU, are beside each other.
static LogicalResult verifyWarps(function_ref<InFlightDiagnostic()> emitError, int64_t keyTile, int64_t lanes,
                                 int64_t rowBlock, attn::ProductKind product) {
  if (lanes != 32)
    return emitError() << "expected lanes to be the 32 threads of a warp, found " << lanes << "; write lanes=32";
  for (auto [name, size] : {std::pair("row_block", rowBlock), std::pair("key_tile", keyTile)})
    if (size % 16 != 0)
      return emitError() << "expected " << name << " to be a multiple of 16 with warps, found " << size << "; write "
                         << name << "=" << llvm::alignTo(size, 16);
  if (product == attn::ProductKind::Dot || product == attn::ProductKind::AMX)
    return emitError() << "expected product=mma, product=tf32 or product=fma with warps, found product="
                       << stringifyProductKind(product)
                       << "; write product=mma for inputs of 16 bits, else product=fma";
  return success();
}

LogicalResult attn::ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t queryTile,
                                         int64_t keyTile, int64_t lanes, int64_t rowBlock, int64_t laneVectors,
                                         KernelKind kernel, ProductKind product, int64_t splitKeys, int64_t prefetch,
                                         int64_t warps, int64_t kvHeads) {
  const std::tuple<StringRef, int64_t, int64_t> numbers[] = {{"query_tile", queryTile, 1},
                                                             {"key_tile", keyTile, 1},
                                                             {"lanes", lanes, 1},
                                                             {"row_block", rowBlock, 1},
                                                             {"lane_vectors", laneVectors, 1},
                                                             {"split_keys", splitKeys, 0},
                                                             {"prefetch", prefetch, 0},
                                                             {"warps", warps, 0},
                                                             {"kv_heads", kvHeads, 1}};
  for (auto [name, number, minimum] : numbers)
    if (number < minimum || number > kMaxSize)
      return emitError() << "expected " << name << " to be a number from " << minimum << " to " << kMaxSize
                         << ", found " << number;
  bool isDecode = kernel == KernelKind::Decode;
  if (warps > 0 && failed(verifyWarps(emitError, keyTile, lanes, rowBlock, product)))
    return failure();
  if (warps > 0 && !isDecode && queryTile > rowBlock * warps)
    return emitError() << "expected query_tile to be at most row_block times warps, " << rowBlock * warps << ", found "
                       << queryTile << "; write query_tile=" << rowBlock * warps;
  if (warps == 0 && (product == ProductKind::MMA || product == ProductKind::TF32))
    return emitError() << "expected product=" << stringifyProductKind(product)
                       << " only with warps, on a GPU, found none; write product=fma";
  if (product == ProductKind::AMX && (isDecode || lanes != 16))
    return emitError() << "expected kernel=prefill and lanes=16 with product=amx, those of targets with tiles of bf16, "
                          "as sapphirerapids, found kernel="
                       << stringifyKernelKind(kernel) << " and lanes=" << lanes << "; write product=dot or product=fma";
  if (product == ProductKind::AMX && keyTile % 32 != 0)
    return emitError() << "expected key_tile to be a multiple of 32 with product=amx, found " << keyTile
                       << "; write key_tile=" << llvm::alignTo(keyTile, 32);
  if (!isDecode && warps == 0 && queryTile % lanes != 0)
    return emitError() << "expected query_tile to be a multiple of the " << lanes << " lanes, found " << queryTile
                       << "; write query_tile=" << llvm::alignTo(queryTile, lanes);
  if (!isDecode && splitKeys != 0)
    return emitError() << "expected split_keys only with kernel=decode, found it with kernel=prefill; write "
                          "split_keys=0";
  if (kvHeads > 1 && (!isDecode || warps > 0))
    return emitError() << "expected kv_heads only with kernel=decode on a CPU, found " << kvHeads
                       << "; write kv_heads=1";
  if (splitKeys % keyTile != 0)
    return emitError() << "expected split_keys to be a multiple of key_tile, " << keyTile << ", found " << splitKeys
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
