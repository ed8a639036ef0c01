//===- ForeignDialects.cpp - IR of compilers that are not linked ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Support/ForeignDialects.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace {
/// In a command, {0} is the input file and {1} its output.
struct ForeignDialect {
  StringLiteral prefix, name, command;
};

constexpr ForeignDialect kDialects[] = {
    {"stablehlo.", "StableHLO", "stablehlo-opt --stablehlo-legalize-to-linalg {0} -o {1}"},
    {"chlo.", "CHLO", "stablehlo-opt --chlo-legalize-to-stablehlo --stablehlo-legalize-to-linalg {0} -o {1}"},
    {"iree_linalg_ext.attention", "IREE's LinalgExt in its own form", "iree-opt --mlir-print-op-generic {0} -o {1}"},
    {"iree_linalg_ext.online_attention", "IREE's LinalgExt in its own form",
     "iree-opt --mlir-print-op-generic {0} -o {1}"},
    {"tm_tensor.attention", "torch-mlir's TMTensor in its own form",
     "torch-mlir-opt --mlir-print-op-generic {0} -o {1}"},
    {"torch.aten._scaled_dot_product_", "the torch dialect in its own form",
     "torch-mlir-opt --mlir-print-op-generic {0} -o {1}, or, for other ops than the attention, torch-mlir-opt "
     "--pass-pipeline='builtin.module(torch-backend-to-linalg-on-tensors-backend-pipeline)' {0} -o {1},"},
    {"torch.aten.scaled_dot_product_attention", "the torch dialect in its own form",
     "torch-mlir-opt --mlir-print-op-generic {0} -o {1}, or, for other ops than the attention, torch-mlir-opt "
     "--pass-pipeline='builtin.module(torch-backend-to-linalg-on-tensors-backend-pipeline)' {0} -o {1},"},
    {"torch.", "the torch dialect",
     "torch-mlir-opt --pass-pipeline='builtin.module(torch-backend-to-linalg-on-tensors-backend-pipeline)' {0} -o {1}"},
    {"onnx.", "the ONNX dialect of torch-mlir or onnx-mlir",
     "iree-import-onnx MODEL.onnx -o {0} && iree-compile --compile-to=input {0} -o {1}"},
};
} // namespace

bool attn::holdsForeignAttention(StringRef text) {
  return llvm::any_of(
      std::initializer_list<StringRef>{"\"iree_linalg_ext.attention\"(", "\"iree_linalg_ext.online_attention\"(",
                                       "\"tm_tensor.attention\"(", "\"torch.aten.scaled_dot_product_attention\"(",
                                       "\"torch.aten._scaled_dot_product_", "\"torch.operator\"("},
      [&](StringRef op) { return text.contains(op); });
}

std::string attn::explainForeignDialect(StringRef text, StringRef name) {
  for (const ForeignDialect &dialect : kDialects) {
    // An op's name, in custom or generic form.
    if (!text.contains((" " + dialect.prefix).str()) && !text.contains(("\"" + dialect.prefix).str()))
      continue;
    std::string stem = name.consume_back(".mlir") ? name.str() : "model";
    std::string command = formatv(dialect.command.data(), stem + ".mlir", stem + ".linalg.mlir");
    return formatv("note: expected linalg on tensors, found {0}; write {1} and then attnc {2}.linalg.mlir",
                   dialect.name, command, stem);
  }
  return "";
}
