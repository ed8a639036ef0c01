//===- DerivativePropertiesTest.cpp - gradients of random regions -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "DerivativeCheck.h"

using namespace mlir;

namespace {

using DerivativeProperties = attn::test::DerivativeCheck;

/// Bodies of random ops that are finite everywhere.
class RandomBody {
public:
  explicit RandomBody(unsigned seed) : random(seed) {}

  std::string get() {
    body = "%one = arith.constant 1.0 : f64\n%third = arith.constant 0.3 : f64\n%zero = arith.constant 0.0 : f64\n"
           "%v0 = tensor.extract %slopes[%h] : tensor<3xf64>\n%v1 = tensor.extract %bias[%i, %j] : tensor<4x5xf64>\n"
           "%v2 = tensor.extract %table[%i] : tensor<7xf64>\n%v3 = tensor.extract %table[%j] : tensor<7xf64>\n"
           "%v4 = arith.addf %s, %zero : f64\n";
    next = 5;
    for (unsigned end = 8 + draw(14); next < end;)
      append();
    // Everything of the last values reaches the yield.
    std::string sum = "%s";
    for (unsigned n = next - 4, end = next; n < end; ++n) {
      std::string bounded = add("math.tanh", {"%v" + std::to_string(n)});
      sum = add("arith.addf", {sum, bounded});
    }
    return body + "%y = arith.mulf " + sum + ", %third : f64";
  }

private:
  unsigned draw(unsigned count) { return random() % count; }
  std::string pick() { return "%v" + std::to_string(draw(5) < 3 && next > 9 ? next - 1 - draw(4) : draw(next)); }
  std::string add(StringRef op, ArrayRef<std::string> operands) {
    std::string name = "%v" + std::to_string(next++);
    body += name + " = " + op.str() + " " + llvm::join(operands, ", ") + " : f64\n";
    return name;
  }
  /// 1 + x^2
  std::string positive() {
    std::string x = pick();
    return add("math.fma", {x, x, "%one"});
  }
  void append() {
    constexpr StringLiteral bounded[] = {"math.tanh", "math.sin", "math.cos", "math.atan", "math.erf"};
    constexpr StringLiteral binary[] = {"arith.addf", "arith.subf", "arith.maximumf", "arith.minnumf"};
    constexpr StringLiteral onPositive[] = {"math.sqrt", "math.rsqrt", "math.log", "math.log2", "math.log1p"};
    constexpr StringLiteral onBounded[] = {"math.exp", "math.exp2", "math.expm1"};
    switch (draw(9)) {
    case 0: add(bounded[draw(5)], {pick()}); return;
    case 1:
    case 2: add(binary[draw(4)], {pick(), pick()}); return;
    case 3: add("arith.mulf", {add("math.tanh", {pick()}), pick()}); return;
    case 4: add("arith.divf", {pick(), positive()}); return;
    case 5: add(onPositive[draw(5)], {positive()}); return;
    case 6: add(onBounded[draw(3)], {add("math.sin", {pick()})}); return;
    case 7: add("math.powf", {positive(), add("math.tanh", {pick()})}); return;
    default:
      std::string condition = "%c" + std::to_string(next);
      body += condition + " = arith.cmpf olt, " + pick() + ", " + pick() + " : f64\n";
      std::string a = pick(), b = pick();
      body += "%v" + std::to_string(next++) + " = arith.select " + condition + ", " + a + ", " + b + " : f64\n";
    }
  }

  std::mt19937 random;
  std::string body;
  unsigned next = 0;
};

TEST_F(DerivativeProperties, RandomCompositions) {
  for (unsigned seed = 0; seed < 200 && !HasFailure(); ++seed)
    check(RandomBody(seed).get(), {-0.83, 0.41}, 1e-6);
}

} // namespace
