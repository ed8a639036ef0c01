//===- PrecompiledLLVM.h - LLVM's headers, parsed once ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Like PrecompiledIR.h, for targets that use neither MLIR nor our IR.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PRECOMPILEDLLVM_H
#define ATTN_PRECOMPILEDLLVM_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#endif // ATTN_PRECOMPILEDLLVM_H
