//===- BuildId.h - which builds of libraries run ----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_SUPPORT_BUILDID_H
#define ATTN_SUPPORT_BUILDID_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>

namespace attn {

/// The libraries or programs of this process that hold these addresses, by the linker's build ids.
std::string getBuildIds(llvm::ArrayRef<uintptr_t> addresses);

} // namespace attn

#endif // ATTN_SUPPORT_BUILDID_H
