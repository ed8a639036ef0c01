//===- Version.h - the version that artifacts carry -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_VERSION_H
#define ATTN_SUPPORT_VERSION_H

namespace attn {

constexpr const char *kVersion = "0.1.0";

} // namespace attn

#endif // ATTN_SUPPORT_VERSION_H
