//===- LinearProblem.cpp - problem lines of linear attention --------------===//
//
// The words that lines beginning with `linear` have beside sizes, an element
// type and a layout; their checks, and the lines as text.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LinearProblem.h"

#include "attn/Problem/ProblemText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn;
using llvm::StringRef;

/// Of a normalisation whose line says none, as in fla and transformers.
static constexpr double kDefaultEpsilon = 1e-6;

template <bool Problem::Linear::*field> static bool storeFlag(Problem::Linear &linear, StringRef value) {
  linear.*field = true;
  return value.empty();
}

static bool storeDecay(Problem::Linear &linear, StringRef value) {
  linear.decay = value == "head" ? Problem::Linear::Decay::Head : Problem::Linear::Decay::Channel;
  return value == "head" || value == "channel";
}

static bool storeReal(std::optional<double> &place, StringRef value) {
  double real;
  if (value.getAsDouble(real) || !std::isfinite(real))
    return false;
  place = real;
  return true;
}

static bool storeNormalize(Problem::Linear &linear, StringRef value) {
  if (value.empty())
    linear.normalize = kDefaultEpsilon;
  return value.empty() || (storeReal(linear.normalize, value) && *linear.normalize > 0);
}

static bool storeSlots(Problem::Linear &linear, StringRef value) {
  linear.slots = value == "?" ? std::optional(Problem::kDynamic) : parseSize(value, 1);
  return linear.slots.has_value();
}

llvm::ArrayRef<LinearToken> attn::getLinearTokens() {
  static constexpr LinearToken tokens[] = {
      {"decay", "what has a decay", "decay=head or decay=channel", storeDecay},
      {"beta", "beta alone", "beta", storeFlag<&Problem::Linear::beta>},
      {"erase", "erase alone", "erase", storeFlag<&Problem::Linear::erase>},
      {"write", "write alone", "write", storeFlag<&Problem::Linear::write>},
      {"before", "before alone", "before", storeFlag<&Problem::Linear::before>},
      {"normalize", "a number above 0 that is added to the sum of squares", "normalize or normalize=1e-6",
       storeNormalize},
      {"scale", "a finite scale", "scale=0.125 or the like",
       [](Problem::Linear &linear, StringRef value) { return storeReal(linear.scale, value); }},
      {"slots", "a number of places for states", "slots=24 or the like", storeSlots},
  };
  return tokens;
}

bool attn::isSharedToken(StringRef name) {
  return llvm::is_contained({"b", "hq", "hkv", "sq", "d", "dv", "f32", "f64", "bf16", "f16", "layout", "grad"}, name);
}

std::vector<std::string> attn::getLinearInputs(const Problem &problem) {
  const Problem::Linear &linear = *problem.linear;
  std::vector<std::string> names = {"q", "k", "v"};
  for (auto [name, isThere] : {std::pair("decay", linear.decay != Problem::Linear::Decay::None),
                               {"beta", linear.beta},
                               {"erase", linear.erase},
                               {"write", linear.write},
                               {"state", true}})
    if (isThere)
      names.push_back(name);
  return names;
}

std::string attn::checkLinear(const Problem &problem) {
  const Problem::Linear &linear = *problem.linear;
  const Problem::Sizes &size = problem.sizes;
  if (size.hq == Problem::kDynamic || size.hkv == Problem::kDynamic)
    return "expected static numbers of heads, found '?'; write hq32 hkv16 or the like";
  if (size.hkv < 1 || size.hq % size.hkv != 0)
    return llvm::formatv("expected hq, the heads of value, to be a multiple of hkv, those of query and key, found {0} "
                         "and {1}",
                         size.hq, size.hkv);
  if (problem.layout == Problem::Layout::Varlen && size.b == Problem::kDynamic)
    return "expected a static number of sequences beside layout=varlen, found b?; write b4 or the like";
  if (linear.beta && linear.erase)
    return "expected beta or erase, found both; leave one out";
  if (!linear.erase && (linear.write || linear.before))
    return std::string("expected erase beside ") + (linear.write ? "write" : "before") + ", found none; write erase";
  for (StringRef name : problem.grad)
    if (std::vector<std::string> known = getLinearInputs(problem); !llvm::is_contained(known, name))
      return llvm::formatv("expected grad of {0}, what the line has, found {1}", llvm::join(known, ", "), name);
  if (problem.layout == Problem::Layout::BSD)
    return "expected layout=bhsd, layout=bshd or layout=varlen, found layout=bsd";
  return "";
}

std::string attn::printLinearLine(const Problem &problem) {
  const Problem::Linear &linear = *problem.linear;
  const Problem::Sizes &size = problem.sizes;
  std::string line = kLinearWord.str();
  for (auto [name, number] :
       {std::pair("b", size.b), {"hq", size.hq}, {"hkv", size.hkv}, {"sq", size.sq}, {"d", size.d}, {"dv", size.dv}})
    line += std::string(" ") + name + printSize(number);
  line += " " + printElement(problem.element).str();
  if (linear.decay != Problem::Linear::Decay::None)
    line += linear.decay == Problem::Linear::Decay::Head ? " decay=head" : " decay=channel";
  for (auto [name, isThere] : {std::pair(" beta", linear.beta),
                               {" erase", linear.erase},
                               {" write", linear.write},
                               {" before", linear.before}})
    line += isThere ? name : "";
  if (linear.normalize)
    line += " normalize=" + printWordValue(*linear.normalize);
  if (linear.scale)
    line += " scale=" + printWordValue(*linear.scale);
  if (linear.slots)
    line += " slots=" + printSize(*linear.slots);
  if (problem.layout != Problem::Layout::BHSD)
    line += problem.layout == Problem::Layout::BSHD ? " layout=bshd" : " layout=varlen";
  if (!problem.grad.empty())
    line += " grad=" + llvm::join(problem.grad, ",");
  return line;
}
