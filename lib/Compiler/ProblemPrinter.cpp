//===- ProblemPrinter.cpp - problems as lines and as IR files -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Compiler/Problem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <charconv>

using namespace attn;
using llvm::formatv;
using llvm::StringRef;

static StringRef printElement(Problem::Element element) {
  switch (element) {
  case Problem::Element::F32: return "f32";
  case Problem::Element::F64: return "f64";
  case Problem::Element::BF16: return "bf16";
  case Problem::Element::F16: return "f16";
  }
  llvm_unreachable("all element types are handled");
}

static StringRef printCausal(Problem::Causal causal) {
  return causal == Problem::Causal::TopLeft ? "top_left" : "bottom_right";
}

/// The shortest decimal that reads back as the same number.
static std::string printReal(double real) {
  char buffer[32];
  std::to_chars_result result = std::to_chars(buffer, std::end(buffer), real);
  return std::string(buffer, result.ptr);
}

std::string attn::printProblem(const Problem &problem) {
  std::string text = formatv("b{0} hq{1} hkv{2} sq{3} sk{4} d{5} dv{6} {7}", problem.b, problem.hq, problem.hkv,
                             problem.sq, problem.sk, problem.d, problem.dv, printElement(problem.element));
  auto printShape = [&](StringRef name, const Problem::ScoreShape &shape) {
    text += formatv(" {0}={1},{2},{3},{4}", name, shape[0], shape[1], shape[2], shape[3]).str();
  };
  if (problem.causal)
    text += (" causal=" + printCausal(*problem.causal)).str();
  if (problem.window) {
    auto printBound = [](std::optional<int64_t> bound) { return bound ? std::to_string(*bound) : std::string(); };
    text += " window=" + printBound(problem.window->left) + "," + printBound(problem.window->right);
  }
  if (problem.align)
    text += (" align=" + printCausal(*problem.align)).str();
  if (problem.softcap)
    text += " softcap=" + printReal(*problem.softcap);
  if (problem.scale)
    text += " scale=" + printReal(*problem.scale);
  if (problem.bias)
    printShape("bias", *problem.bias);
  if (problem.mask)
    printShape("mask", *problem.mask);
  if (problem.layout == Problem::Layout::BSHD)
    text += " layout=bshd";
  if (problem.lse)
    text += " out=lse";
  return text;
}

//===----------------------------------------------------------------------===//
// IR
//===----------------------------------------------------------------------===//

/// A float attribute in MLIR's syntax, which wants a decimal point in front of the exponent.
static std::string printRealAttr(double real) {
  std::string text = printReal(real);
  if (!StringRef(text).contains('.'))
    text.insert(std::min(text.find('e'), text.size()), ".0");
  return text + " : f64";
}

static std::string printTensorType(llvm::ArrayRef<int64_t> shape, StringRef element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element.str() + ">";
}

namespace {
struct NamedType {
  StringRef name;
  std::string type;
};
} // namespace

/// Joins what the format makes of each name {0} and type {1}.
static std::string joinEach(llvm::ArrayRef<NamedType> values, const char *format) {
  auto print = [&](const NamedType &value) { return formatv(false, format, value.name, value.type).str(); };
  return llvm::join(llvm::map_range(values, print), ", ");
}

/// #attn.window<left = 127, right = 0>, with the sides that are bounded.
static std::string printWindow(const Problem::Window &window) {
  llvm::SmallVector<std::string> sides;
  if (window.left)
    sides.push_back("left = " + std::to_string(*window.left));
  if (window.right)
    sides.push_back("right = " + std::to_string(*window.right));
  return "#attn.window<" + llvm::join(sides, ", ") + ">";
}

/// The maps of an sdpa in the layout (batch, row, head, column), for its operands in order.
static std::string printMaps(const Problem &problem) {
  std::string kvHead = problem.hq == problem.hkv ? "h" : formatv("h floordiv {0}", problem.hq / problem.hkv).str();
  auto broadcast = [](const Problem::ScoreShape &shape) {
    constexpr StringRef names[] = {"b", "h", "i", "j"};
    return llvm::join(llvm::map_range(llvm::seq<size_t>(0, shape.size()),
                                      [&](size_t i) { return shape[i] == 1 ? StringRef("0") : names[i]; }),
                      ", ");
  };
  llvm::SmallVector<std::string> results = {"b, i, h, d", "b, j, " + kvHead + ", d", "b, j, " + kvHead + ", e"};
  for (const std::optional<Problem::ScoreShape> &shape : {problem.bias, problem.mask})
    if (shape)
      results.push_back(broadcast(*shape));
  results.push_back("b, i, h, e");
  if (problem.lse)
    results.push_back("b, h, i");
  auto print = [](const std::string &result) { return "affine_map<(b, h, i, j, d, e) -> (" + result + ")>"; };
  return "maps = [" + llvm::join(llvm::map_range(results, print), ", ") + "]";
}

std::string attn::problemToMLIR(const Problem &problem) {
  StringRef element = printElement(problem.element);
  bool isHeadMajor = problem.layout == Problem::Layout::BHSD;
  auto printRows = [&](int64_t heads, int64_t rows, int64_t columns) {
    return isHeadMajor ? printTensorType({problem.b, heads, rows, columns}, element)
                       : printTensorType({problem.b, rows, heads, columns}, element);
  };
  llvm::SmallVector<NamedType> inputs = {{"q", printRows(problem.hq, problem.sq, problem.d)},
                                         {"k", printRows(problem.hkv, problem.sk, problem.d)},
                                         {"v", printRows(problem.hkv, problem.sk, problem.dv)}};
  llvm::SmallVector<NamedType> arguments = inputs;
  std::string clauses;
  auto addOptional = [&](StringRef name, const std::optional<Problem::ScoreShape> &shape, StringRef element) {
    if (!shape)
      return;
    arguments.push_back({name, printTensorType(*shape, element)});
    clauses += formatv("      {0}(%{0} : {1})\n", name, arguments.back().type).str();
  };
  addOptional("bias", problem.bias, element);
  addOptional("mask", problem.mask, "i1");

  llvm::SmallVector<NamedType> results = {{"out", printRows(problem.hq, problem.sq, problem.dv)}};
  if (problem.lse)
    results.push_back({"lse", printTensorType({problem.b, problem.hq, problem.sq},
                                              problem.element == Problem::Element::F64 ? "f64" : "f32")});

  llvm::SmallVector<std::string> attributes;
  if (problem.causal)
    attributes.push_back(formatv("causal = #attn.causal<{0}>", printCausal(*problem.causal)));
  if (problem.window)
    attributes.push_back("window = " + printWindow(*problem.window));
  if (problem.align)
    attributes.push_back(formatv("align = #attn.causal<{0}>", printCausal(*problem.align)));
  if (!isHeadMajor)
    attributes.push_back(printMaps(problem));
  if (problem.scale)
    attributes.push_back("scale = " + printRealAttr(*problem.scale));
  if (problem.softcap)
    attributes.push_back("softcap = " + printRealAttr(*problem.softcap));

  std::string text = "// " + printProblem(problem) + "\n";
  text += "func.func @sdpa(" + joinEach(arguments, "%{0}: {1} {{attn.name = \"{0}\"}") + ")\n";
  text += "    -> (" + joinEach(results, "{1} {{attn.name = \"{0}\"}") + ") {\n";
  for (const NamedType &result : results)
    text += formatv("  %{0}_init = tensor.empty() : {1}\n", result.name, result.type).str();
  text += "  " + joinEach(results, "%{0}") + " = attn.sdpa ins(" + joinEach(inputs, "%{0}") + " : " +
          joinEach(inputs, "{1}") + ")\n";
  text += clauses;
  text += "      outs(" + joinEach(results, "%{0}_init") + " : " + joinEach(results, "{1}") + ")";
  if (!attributes.empty())
    text += " {" + llvm::join(attributes, ", ") + "}";
  text += " -> " + joinEach(results, "{1}") + "\n";
  text += "  return " + joinEach(results, "%{0}") + " : " + joinEach(results, "{1}") + "\n}\n";
  return text;
}
