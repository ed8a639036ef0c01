//===- KernelAttrs.cpp - what the compiler notes on a kernel's function ---===//
//
// attn.arguments, attn.path, attn.conventions and attn.name are discardable
// attributes that later phases and the emitted header trust. Each may also come
// out of a file, so the dialect verifies their form here.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attn;

static bool isIdentifier(StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// A number, or a ranked tensor of numbers whose sizes are known.
static bool isArgumentType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.hasStaticShape() && tensor.getElementType().isIntOrFloat();
  return type.isIntOrFloat();
}

static bool isArgument(Attribute attribute) {
  auto entry = dyn_cast<DictionaryAttr>(attribute);
  if (!entry || entry.size() != 3)
    return false;
  auto name = entry.getAs<StringAttr>("name");
  auto type = entry.getAs<TypeAttr>("type");
  return name && isIdentifier(name) && entry.getAs<BoolAttr>("output") && type && isArgumentType(type.getValue());
}

static bool isConvention(NamedAttribute entry) {
  return llvm::StringSwitch<bool>(entry.getName())
      .Cases({"scale", "softcap"}, isa<FloatAttr>(entry.getValue()))
      .Cases({"causal", "align"}, isa<StringAttr>(entry.getValue()))
      .Cases({"window_left", "window_right"}, isa<IntegerAttr>(entry.getValue()))
      .Cases({"mask", "bias", "lse"}, isa<UnitAttr>(entry.getValue()))
      .Default(false);
}

LogicalResult AttnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  Attribute value = attribute.getValue();
  if (attribute.getName() == kArgumentsAttr) {
    auto entries = dyn_cast<ArrayAttr>(value);
    if (!entries || !llvm::all_of(entries, isArgument))
      return op->emitError("expected ") << kArgumentsAttr << " to be an array of {name = \"…\", output = …, type = …} "
                                        << "with C identifiers and static types, found " << value;
  } else if (attribute.getName() == kPathAttr) {
    auto path = dyn_cast<StringAttr>(value);
    if (!path || !llvm::is_contained({"flash", "mixed", "reference"}, path.getValue()))
      return op->emitError("expected ") << kPathAttr << " to be \"flash\", \"mixed\" or \"reference\", found " << value;
    if (!op->hasAttr(kConventionsAttr))
      return op->emitError("expected ") << kConventionsAttr << " beside " << kPathAttr << ", found none";
  } else if (attribute.getName() == kConventionsAttr) {
    auto entries = dyn_cast<DictionaryAttr>(value);
    if (!entries || !llvm::all_of(entries, isConvention))
      return op->emitError("expected ")
             << kConventionsAttr << " to hold scale and softcap as floats, causal and align as strings, "
             << "window_left and window_right as integers, mask, bias and lse as units, found " << value;
  }
  return success();
}

static LogicalResult verifyName(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kNameAttr && !isa<StringAttr>(attribute.getValue()))
    return op->emitError("expected ") << kNameAttr << " to be a string, found " << attribute.getValue();
  return success();
}

LogicalResult AttnDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  return verifyName(op, attribute);
}

LogicalResult AttnDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  return verifyName(op, attribute);
}
