//===- CNames.cpp - names that are legal in C and C++ ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Support/CNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

/// The keywords of C11 and C++17 without those that begin with an underscore, sorted.
static constexpr StringLiteral kKeywords[] = {
    "alignas",  "alignof", "and",          "and_eq",    "asm",          "auto",     "bitand",        "bitor",
    "bool",     "break",   "case",         "catch",     "char",         "char16_t", "char32_t",      "class",
    "compl",    "const",   "const_cast",   "constexpr", "continue",     "decltype", "default",       "delete",
    "do",       "double",  "dynamic_cast", "else",      "enum",         "explicit", "export",        "extern",
    "false",    "float",   "for",          "friend",    "goto",         "if",       "inline",        "int",
    "long",     "mutable", "namespace",    "new",       "noexcept",     "not",      "not_eq",        "nullptr",
    "operator", "or",      "or_eq",        "private",   "protected",    "public",   "register",      "reinterpret_cast",
    "restrict", "return",  "short",        "signed",    "sizeof",       "static",   "static_assert", "static_cast",
    "struct",   "switch",  "template",     "this",      "thread_local", "throw",    "true",          "try",
    "typedef",  "typeid",  "typename",     "union",     "unsigned",     "using",    "virtual",       "void",
    "volatile", "wchar_t", "while",        "xor",       "xor_eq"};

/// Names that <stdint.h>, <stddef.h>, <dlpack/dlpack.h> and a kernel's own header define.
static bool isOfHeaders(StringRef name) {
  static constexpr StringLiteral prefixes[] = {"DL",       "kDL",   "ATTN_",       "INT",    "UINT",
                                               "PTRDIFF_", "SIZE_", "SIG_ATOMIC_", "WCHAR_", "WINT_"};
  return name == "NULL" || name == "CUstream" || name == "offsetof" || name.ends_with("_t") ||
         any_of(prefixes, [&](StringRef prefix) { return name.starts_with(prefix); });
}

/// Names that the language and the C library reserve, and names that kernels call.
static bool isReserved(StringRef name) {
  static const TargetLibraryInfoImpl library(Triple("x86_64-unknown-linux-gnu"));
  LibFunc function;
  return name == "main" || name.starts_with("attn_") || library.getLibFunc(name, function);
}

std::string attn::makeCName(StringRef text) {
  std::string name;
  for (char c : text)
    name += isAlnum(c) ? c : '_';
  if (name.empty() || isDigit(name.front()))
    name.insert(name.begin(), '_');
  if (binary_search(kKeywords, StringRef(name)) || isOfHeaders(name))
    name += '_';
  return name;
}

std::string attn::getCheckedName(StringRef kernel) { return (kernel + "_checked").str(); }

std::string attn::getWorkspaceBytesName(StringRef kernel) { return (kernel + "_workspace_bytes").str(); }

std::string attn::getImageName(StringRef gpuModule) { return (gpuModule + "_image").str(); }

std::string attn::getSpecsName(StringRef kernel) { return (kernel + "_arguments").str(); }

bool attn::isCFunctionName(StringRef name) { return makeCName(name) == name && !isReserved(name); }
