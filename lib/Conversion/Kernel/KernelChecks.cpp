//===- KernelChecks.cpp - kernels that describe-kernels refuses -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "KernelChecks.h"
#include "ValueChecks.h"
#include "attn/Conversion/Kernels.h"
#include "attn/IR/Words.h"
#include "attn/Support/Dialects.h"

using namespace mlir;
using namespace attn;

/// The callees of launches, as llvm.func.
static constexpr StringLiteral kLaunchFunctions[] = {"attn_cuda_check_workspace",  "attn_cuda_copy_message",
                                                     "attn_cuda_encode_map",       "attn_cuda_launch",
                                                     "attn_cuda_launch_dependent", "attn_cuda_launch_persistent"};

/// The use that the kernel `kernel` makes of the symbol `name`; empty if there is none.
static StringRef getUseOfName(StringRef name, StringRef kernel) {
  std::string bytes = getWorkspaceBytesName(kernel), gpuModule = (kernel + "_gpu").str(),
              image = getImageName(gpuModule);
  if (name == getCheckedName(kernel))
    return "checked entry";
  if (name == bytes || name == getCheckedName(bytes))
    return "function of a GPU kernel's workspace";
  if (name == getSpecsName(kernel))
    return "table of arguments";
  if (name == gpuModule || name == image || name.starts_with(image + "_"))
    return "code on a GPU";
  StringRef number = name;
  if (number.consume_front(kernel) && number.consume_front("_argument")) {
    StringRef part = number.ltrim("0123456789");
    if (part.size() < number.size() && llvm::is_contained({"_name", "_shape", "_symbols", "_checks", "_sizes"}, part))
      return "table of arguments";
  }
  return {};
}

LogicalResult attn::checkNames(func::FuncOp function) {
  StringRef name = function.getName();
  if (!isCFunctionName(name))
    return function.emitOpError("expected a kernel's name to be a C identifier that is no keyword, no name of the C "
                                "library or dlpack.h and does not begin with attn_, found '")
           << name << "'; rename it, or let attnc do so by --name=NAME";
  for (auto other : function->getParentOfType<ModuleOp>().getOps<SymbolOpInterface>()) {
    StringRef use = getUseOfName(other.getName(), name);
    if (!use.empty())
      return (function.emitOpError("expected the name of its ")
              << use << " to be free, found another '" << other.getName() << "'; rename one of the two")
                 .attachNote(other->getLoc())
             << "here";
    if (isa<func::FuncOp>(other) && llvm::is_contained(kLaunchFunctions, other.getName()))
      return other->emitOpError(
                 "expected another name than that of the runtime's function, which kernels on a GPU call, "
                 "found '")
             << other.getName() << "'; rename it";
  }
  return success();
}

LogicalResult attn::checkDynamicSizes(func::FuncOp function) {
  WalkResult result = function.walk([](Operation *op) {
    if (!isStructuredOp(op))
      return WalkResult::advance();
    SmallVector<int64_t> domain = getStaticDomain(op);
    unsigned numBatch = getNumBatchDims(op);
    if (numBatch > 0 && getGroupSize(op) > 1 && ShapedType::isDynamic(domain[numBatch - 1])) {
      op->emitOpError("expected static numbers of heads where K and V have fewer than Q, found dynamic ones");
      return WalkResult::interrupt();
    }
    if (isa<LinearOp, LinearBackwardOp>(op) && getPackedSequences(op) && ShapedType::isDynamic(domain[0])) {
      op->emitOpError(
          "expected a static number of sequences, found a dynamic one; write one more than it as the size of "
          "cu_seqlens");
      return WalkResult::interrupt();
    }
    auto sdpa = dyn_cast<SdpaOp>(op);
    if (!sdpa || !sdpa.getCuSeqlensQ() || !ShapedType::isDynamic(domain[0]))
      return WalkResult::advance();
    // With only queries packed, the checked entry compares the number of prefix sums with that of key lengths.
    if (!hasPackedKeys(op)) {
      if (isa_and_present<BlockArgument>(lookThroughRead(sdpa.getKvLengths())))
        return WalkResult::advance();
      op->emitOpError("expected kv_lengths to be an argument beside a dynamic number of packed sequences, found a "
                      "value; pass it, or write a static number of sequences");
      return WalkResult::interrupt();
    }
    for (auto [word, list] : getWordOperands(op)) {
      if (word->shape != WordShape::PerBatch)
        continue;
      op->emitOpError("expected a static number of sequences with ")
          << word->name << ", found a dynamic one; write one more than it as the size of cu_seqlens_q";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Includes values that are not kernel arguments: in private functions, and between ops.
static LogicalResult checkElementTypes(Operation *op) {
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (isa<ShapedType, FloatType>(type) && !getElementKind(getElementTypeOrSelf(type)))
        return op->emitOpError("expected element types ") << kElementTypes << ", found " << type;
  return success();
}

LogicalResult attn::checkModule(ModuleOp module) {
  SymbolTableCollection symbols;
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      if (callee && callee->hasAttr(kArgumentsAttr)) {
        call.emitOpError("expected no call of a kernel, whose arguments become pointers, found one of '")
            << callee.getName() << "'; make it private, or inline it";
        return WalkResult::interrupt();
      }
    } else if (isOfDialect<AttnDialect>(op) && op->getParentOfType<ModuleOp>() != module) {
      op->emitOpError("expected attention in functions of the outermost module, found it in a module inside; run the "
                      "pipeline on that one: builtin.module(builtin.module(…))");
      return WalkResult::interrupt();
    }
    return WalkResult(isOfDialect<AttnDialect>(op) ? checkElementTypes(op) : success());
  });
  return failure(result.wasInterrupted());
}
