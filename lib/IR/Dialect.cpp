//===- Dialect.cpp - registration of the attn dialect ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "attn/Support/OtherWords.h"
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
#include "attn/IR/ScoreFunctionInterface.cpp.inc"
#include "attn/Schedule/ScheduleInterface.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "attn/IR/AttnAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "attn/IR/AttnTypes.cpp.inc"

namespace {
/// Every op may be inlined into the caller.
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
  addTypes<
#define GET_TYPEDEF_LIST
#include "attn/IR/AttnTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attn/IR/AttnOps.cpp.inc"
      >();
}

static ParseResult refuseUnknownOp(OpAsmParser &parser, OperationState &state) {
  StringRef name = state.name.stripDialect(), meant = attn::findOtherOp(name);
  SmallVector<StringRef> known;
  for (RegisteredOperationName op : parser.getContext()->getRegisteredOperations())
    if (op.getDialectNamespace() == attn::AttnDialect::getDialectNamespace())
      known.push_back(op.stripDialect());
  if (meant.empty())
    meant = attn::findNearestName(name, known);
  InFlightDiagnostic diag = parser.emitError(parser.getNameLoc(), "is unknown"); // completes "custom op 'attn.foo' "
  if (!meant.empty())
    diag << "; did you mean 'attn." << meant << "'?";
  return diag;
}

std::optional<Dialect::ParseOpHook> attn::AttnDialect::getParseOperationHook(StringRef) const {
  return refuseUnknownOp; // the parser calls this only for unregistered ops
}

/// Far above any length, and far enough below 2^63 that a position plus a bound does not wrap.
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
