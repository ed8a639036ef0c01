//===- CollectKernels.cpp - what header and manifest say of kernels -------===//
//
// Notes on each function how it is compiled, while its ops still tell, and reads
// the notes of this or an earlier run.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Compiler.h"
#include "attn/IR/Attn.h"

using namespace mlir;
using namespace attn;

/// The conventions of a function's only sdpa, as the attributes that later phases keep for the manifest.
static DictionaryAttr getConventions(ArrayRef<SdpaOp> ops, Builder &b) {
  SmallVector<NamedAttribute> entries;
  if (ops.size() == 1) {
    SdpaOp sdpa = ops.front();
    if (sdpa.getScale())
      entries.push_back(b.getNamedAttr("scale", sdpa.getScaleAttr()));
    if (sdpa.getSoftcap())
      entries.push_back(b.getNamedAttr("softcap", sdpa.getSoftcapAttr()));
    if (auto causal = dyn_cast_or_null<CausalAlignmentAttr>(sdpa.getCausalAttr()))
      entries.push_back(b.getNamedAttr("causal", b.getStringAttr(stringifyCausalAlignment(causal.getValue()))));
    else if (sdpa.getCausalAttr()) // of a square, where the corners are one
      entries.push_back(b.getNamedAttr("causal", b.getStringAttr(stringifyCausalAlignment(CausalAlignment::TopLeft))));
    if (auto align = sdpa.getAlignAttr())
      entries.push_back(b.getNamedAttr("align", b.getStringAttr(stringifyCausalAlignment(align.getValue()))));
    if (auto window = sdpa.getWindowAttr())
      for (auto [name, bound] :
           {std::pair("window_left", window.getLeft()), std::pair("window_right", window.getRight())})
        if (bound)
          entries.push_back(b.getNamedAttr(name, b.getI64IntegerAttr(*bound)));
    if (sdpa.getChunk())
      entries.push_back(b.getNamedAttr("chunk", sdpa.getChunkAttr()));
    bool hasLengths = sdpa.getQLengths() || sdpa.getKvLengths() || sdpa.getCuSeqlensQ();
    for (auto [name, present] : {std::pair("mask", bool(sdpa.getMask())), std::pair("bias", bool(sdpa.getBias())),
                                 std::pair("lse", bool(sdpa.getLse())), std::pair("lengths", hasLengths)})
      if (present)
        entries.push_back(b.getNamedAttr(name, b.getUnitAttr()));
  }
  return b.getDictionaryAttr(entries);
}

/// Writes down, where no earlier run has, how the function will be compiled.
static void describePath(Operation *function, bool isReference, bool isPartlyMaterialized) {
  Builder b(function->getContext());
  SmallVector<SdpaOp> ops;
  bool hasOnline = false;
  function->walk([&](Operation *op) {
    if (auto sdpa = dyn_cast<SdpaOp>(op))
      ops.push_back(sdpa);
    hasOnline |= isa<OnlineStepOp>(op);
  });
  bool isFlash = !isReference && (!ops.empty() || hasOnline);
  function->setAttr(kPathAttr, b.getStringAttr(!isFlash ? "reference" : isPartlyMaterialized ? "mixed" : "flash"));
  function->setAttr(kConventionsAttr, getConventions(ops, b));
}

void Compiler::collectKernels() {
  kernels.clear();
  for (Operation &function : *module->getBody()) {
    if (!function.hasAttr(kArgumentsAttr))
      continue;
    if (!function.hasAttr(kPathAttr))
      describePath(&function, options.reference || options.unfused, materialized.contains(&function));
    Kernel kernel;
    kernel.name = SymbolTable::getSymbolName(&function).str();
    kernel.isGpu = target.gpu.has_value();
    kernel.arguments = getKernelArguments(&function);
    kernel.sizes = getKernelSizes(&function);
    kernel.path = function.getAttrOfType<StringAttr>(kPathAttr).str();
    auto conventions = function.getAttrOfType<DictionaryAttr>(kConventionsAttr);
    if (auto scale = conventions.getAs<FloatAttr>("scale"))
      kernel.scale = scale.getValueAsDouble();
    if (auto softcap = conventions.getAs<FloatAttr>("softcap"))
      kernel.softcap = softcap.getValueAsDouble();
    if (auto causal = conventions.getAs<StringAttr>("causal"))
      kernel.causal = causal.str();
    if (auto align = conventions.getAs<StringAttr>("align"))
      kernel.align = align.str();
    if (auto left = conventions.getAs<IntegerAttr>("window_left"))
      kernel.windowLeft = left.getInt();
    if (auto right = conventions.getAs<IntegerAttr>("window_right"))
      kernel.windowRight = right.getInt();
    if (auto chunk = conventions.getAs<IntegerAttr>("chunk"))
      kernel.chunk = chunk.getInt();
    kernel.hasLengths = conventions.contains("lengths");
    kernel.hasMask = conventions.contains("mask");
    kernel.hasBias = conventions.contains("bias");
    kernel.hasLse = conventions.contains("lse");
    kernels.push_back(std::move(kernel));
  }
}
