//===- Types.cpp - PTX's types --------------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Types.h"

#include <iterator>

using namespace attn::ptx;

namespace {
struct Row {
  llvm::StringLiteral name;
  unsigned bits;
};
/// In the order of Type.
constexpr Row kTypes[] = {{"", 0},        {"pred", 1},  {"b8", 8},   {"b16", 16}, {"b32", 32},    {"b64", 64},
                          {"b128", 128},  {"u8", 8},    {"u16", 16}, {"u32", 32}, {"u64", 64},    {"s8", 8},
                          {"s16", 16},    {"s32", 32},  {"s64", 64}, {"f16", 16}, {"f16x2", 32},  {"bf16", 16},
                          {"bf16x2", 32}, {"tf32", 32}, {"f32", 32}, {"f64", 64}, {"e4m3x2", 16}, {"e5m2x2", 16}};
} // namespace

Type attn::ptx::parseType(llvm::StringRef text) {
  text.consume_front(".");
  for (unsigned i = 1; i < std::size(kTypes); ++i)
    if (text == kTypes[i].name)
      return Type(i);
  return Type::None;
}

llvm::StringRef attn::ptx::getTypeName(Type type) { return kTypes[unsigned(type)].name; }
unsigned attn::ptx::getBits(Type type) { return kTypes[unsigned(type)].bits; }
bool attn::ptx::isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }
bool attn::ptx::isInteger(Type type) { return type >= Type::B8 && type <= Type::S64; }
bool attn::ptx::isBits(Type type) { return type >= Type::B8 && type <= Type::B128; }
bool attn::ptx::isHalf(Type type) { return type >= Type::F16 && type <= Type::BF16x2; }
bool attn::ptx::isPair(Type type) {
  return type == Type::F16x2 || type == Type::BF16x2 || type == Type::E4M3x2 || type == Type::E5M2x2;
}
