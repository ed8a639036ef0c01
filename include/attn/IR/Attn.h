//===- Attn.h - the attn dialect: attributes and operations -----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTN_H
#define ATTN_IR_ATTN_H

#include "attn/IR/Structure.h"
#include "attn/Schedule/Instruction.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/IndexingMapOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <numeric>

#include "attn/IR/AttnDialect.h.inc"
#include "attn/IR/AttnEnums.h.inc"
#include "attn/IR/ScoreFunctionInterface.h.inc"
#include "attn/Schedule/ScheduleInterface.h.inc"
#define GET_ATTRDEF_CLASSES
#include "attn/IR/AttnAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "attn/IR/AttnTypes.h.inc"
#define GET_OP_CLASSES
#include "attn/IR/AttnOps.h.inc"

namespace attn {

// Attributes that the compiler puts on the function of a kernel (KernelAttrs.cpp has their forms): its arguments in the
// order of the C entry; the names of its dynamic sizes, which the C entry takes after them; how it was compiled (flash,
// mixed or reference); the conventions of its sdpa, which later phases no longer see in the op; and that it launches
// GPU kernels, so that it takes workspace, its size in bytes and the stream last, and returns a code. The user's
// attributes: the C name of an argument or result; and for an argument, that its rows have run-time strides.
constexpr llvm::StringLiteral kArgumentsAttr = "attn.arguments";
constexpr llvm::StringLiteral kSizesAttr = "attn.sizes";
constexpr llvm::StringLiteral kPathAttr = "attn.path";
constexpr llvm::StringLiteral kConventionsAttr = "attn.conventions";
constexpr llvm::StringLiteral kCudaEntryAttr = "attn.cuda_entry";
constexpr llvm::StringLiteral kNameAttr = "attn.name";
constexpr llvm::StringLiteral kStridedAttr = "attn.strided";
// On a GPU kernel between mapping and lowering: the schedule of its tile.
constexpr llvm::StringLiteral kScheduleAttr = "attn.schedule";

/// True for an argument of a function whose rows have run-time strides.
bool isStridedArgument(mlir::Value value);

/// Registers the external models of the dialect's ops: tiling, partial reduction and bufferisation. The tools, the
/// plugin and the package all register through this function.
void registerAttnExternalModels(mlir::DialectRegistry &registry);

/// Registers the attn dialect with its interface models: all that a host compiler needs for attn ops in its IR.
void registerDialect(mlir::DialectRegistry &registry);

} // namespace attn

#endif // ATTN_IR_ATTN_H
