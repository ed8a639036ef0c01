//===- Addresses.h - state spaces among generic addresses -------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_ADDRESSES_H
#define ATTN_TEST_PTXEMULATOR_ADDRESSES_H

#include <cstdint>

namespace attn::ptx {

inline constexpr uint64_t kWindowBytes = uint64_t(1) << 32;
inline constexpr uint64_t kSharedWindow = uint64_t(0x10) << 32;
inline constexpr uint64_t kLocalWindow = uint64_t(0x20) << 32;
inline constexpr uint64_t kParamWindow = uint64_t(0x30) << 32;
inline constexpr uint64_t kConstWindow = uint64_t(0x40) << 32;
/// Buffers, with unmapped bytes between them.
inline constexpr uint64_t kGlobalStart = uint64_t(0x7f00) << 32;

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_ADDRESSES_H
