//===- DerivativeTest.cpp - gradients of regions of scores -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "DerivativeCheck.h"

using namespace mlir;
using namespace attn;
using attn::test::Gradient;

namespace {

using Derivative = attn::test::DerivativeCheck;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

constexpr double kAnywhere[] = {-2.3, -0.7, 0.2, 1.1, 3.4}, kPositive[] = {0.3, 0.9, 1.7, 4.2};

TEST_F(Derivative, Functions) {
  for (StringRef name : {"exp", "exp2", "expm1", "tanh", "sin", "cos", "tan", "atan", "erf", "absf", "floor", "ceil",
                         "round", "roundeven", "trunc"})
    check(("%y = math." + name + " %s : f64").str(), kAnywhere, 1e-7);
  for (StringRef name : {"log", "log2", "log10", "log1p", "sqrt", "rsqrt"})
    check(("%y = math." + name + " %s : f64").str(), kPositive, 1e-7);
}

TEST_F(Derivative, Arithmetic) {
  StringRef read = "%x = tensor.extract %bias[%i, %j] : tensor<4x5xf64>\n";
  for (StringRef name : {"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.maximumf", "arith.minimumf",
                         "arith.maxnumf", "arith.minnumf", "math.copysign"})
    for (StringRef operands : {" %s, %x", " %x, %s", " %s, %s"}) {
      if (name == "math.copysign" && operands == " %x, %s")
        continue; // |x| or -|x| jumps with the score
      check((read + "%y = " + name + operands + " : f64").str(), kAnywhere);
    }
  check("%y = arith.negf %s : f64", kAnywhere);
  for (StringRef operands : {"%s, %x, %x", "%x, %s, %s", "%s, %s, %s"})
    check((read + "%y = math.fma " + operands + " : f64").str(), kAnywhere);
}

TEST_F(Derivative, Powers) {
  StringRef read = "%x = tensor.extract %slopes[%h] : tensor<3xf64>\n";
  for (StringRef operands : {"%s, %x", "%s, %s", "%s, %three", "%three, %s", "%s, %half"})
    check((read + "%three = arith.constant 3.0 : f64\n%half = arith.constant -0.5 : f64\n%y = math.powf " + operands +
           " : f64")
              .str(),
          kPositive);
  for (int power : {-2, -1, 0, 1, 2, 3})
    check(llvm::formatv("%n = arith.constant {0} : i32\n%y = math.fpowi %s, %n : f64, i32", power).str(), kAnywhere);
  check("%n = arith.index_cast %i : index to i32\n%y = math.fpowi %s, %n : f64, i32", kAnywhere);
}

TEST_F(Derivative, Choices) {
  check("%c = arith.constant 0.5 : f64\n%less = arith.cmpf olt, %s, %c : f64\n%a = math.exp %s : f64\n"
        "%y = arith.select %less, %a, %s : f64",
        kAnywhere);
  check("%before = arith.cmpi slt, %j, %i : index\n%a = arith.mulf %s, %s : f64\n"
        "%y = arith.select %before, %s, %a : f64",
        kAnywhere);
  // What a score is rounded to, or counts as, is constant.
  check("%n = arith.fptosi %s : f64 to i32\n%a = arith.sitofp %n : i32 to f64\n%y = arith.mulf %a, %s : f64",
        kAnywhere);
  check("%z = arith.constant 0 : i64\n%n = arith.bitcast %s : f64 to i64\n%p = arith.cmpi sge, %n, %z : i64\n"
        "%a = arith.uitofp %p : i1 to f64\n%y = arith.mulf %a, %s : f64",
        kAnywhere);
}

TEST_F(Derivative, NarrowTypes) {
  OwningOpRef<ModuleOp> module = parseBody("%x = tensor.extract %slopes[%h] : tensor<3xbf16>\n"
                                           "%w = arith.extf %x : bf16 to f32\n%a = arith.mulf %w, %s : f32\n"
                                           "%b = arith.truncf %a : f32 to f16\n%c = math.exp %b : f16\n"
                                           "%y = arith.extf %c : f16 to f32",
                                           "f32", "bf16");
  std::unique_ptr<Region> grad = differentiate(*module);
  double x = arrays["slopes"][1], power = std::exp(x * 0.7);
  Gradient found = evaluateGradient(*grad, 0.7, 3);
  EXPECT_NEAR(found.score, 3 * x * power, 1e-12);
  Value destination = getScoreMod(*module).getParentOp()->getBlock()->getArgument(6);
  EXPECT_NEAR(found.captures[destination][1], 3 * 0.7 * power, 1e-12);
  // %b and the adjoint of exp; that of the bf16 stays f32, as its sum is.
  EXPECT_EQ(count<arith::TruncFOp>(*grad), 2);
}

//===----------------------------------------------------------------------===//
// Kinks and infinities
//===----------------------------------------------------------------------===//

TEST_F(Derivative, Kinks) {
  StringRef zero = "%zero = arith.constant 0.0 : f64\n", twice = "%t = arith.addf %s, %s : f64\n";
  checkAt("%y = math.absf %s : f64", 0, 3, 0);
  checkAt("%y = math.sqrt %s : f64", 0, 3, 0);
  checkAt((zero + "%y = math.copysign %s, %zero : f64").str(), 0, 3, 0);
  // On a tie the first operand is selected.
  for (StringRef name : {"maximumf", "minimumf", "maxnumf", "minnumf"}) {
    checkAt((twice + "%y = arith." + name + " %s, %t : f64").str(), 0, 3, 3);
    checkAt((twice + "%y = arith." + name + " %t, %s : f64").str(), 0, 3, 6);
  }
  StringRef nan = "%nan = arith.constant 0x7FF8000000000000 : f64\n";
  checkAt((nan + "%y = arith.maxnumf %nan, %s : f64").str(), 2, 3, 3);
  checkAt((nan + "%y = arith.minnumf %s, %nan : f64").str(), 2, 3, 3);
}

TEST_F(Derivative, InfiniteSlope) {
  checkAt("%y = math.log %s : f64", 0, 3, kInfinity);
  checkAt("%three = arith.constant 3.0 : f64\n%y = math.powf %s, %three : f64", 0, 3, 0);
  checkAt("%zero = arith.constant 0.0 : f64\n%y = math.powf %s, %zero : f64", 0, 3, 0);
  checkAt("%zero = arith.constant 0.0 : f64\n%y = math.powf %zero, %s : f64", 2, 3, 0);
  checkAt("%zero = arith.constant 0 : i32\n%y = math.fpowi %s, %zero : f64, i32", 0, 3, 0);
}

// A removed key has ds = 0, and its score, or what is read for it, may be anything.
TEST_F(Derivative, NothingComesBackFromZero) {
  for (StringRef name : {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "tanh", "sin", "cos",
                         "tan", "atan", "erf", "absf"})
    for (double score : {0.0, -1.0, 1e3, kInfinity, -kInfinity, kNaN})
      checkAt(("%y = math." + name + " %s : f64").str(), score, 0, 0);
  for (StringRef op :
       {"arith.mulf", "arith.divf", "arith.maximumf", "arith.maxnumf", "arith.addf", "math.powf", "math.copysign"})
    for (double element : {0.0, 2.0, kInfinity, kNaN})
      for (double score : {0.0, 2.0, kInfinity, kNaN}) {
        arrays["slopes"].assign(kHeads, element);
        checkAt(("%x = tensor.extract %slopes[%h] : tensor<3xf64>\n%y = " + op + " %s, %x : f64").str(), score, 0, 0);
        checkAt(("%x = tensor.extract %slopes[%h] : tensor<3xf64>\n%y = " + op + " %x, %s : f64").str(), score, 0, 0);
      }
}

TEST_F(Derivative, NothingComesBackFromTheOtherBranch) {
  StringRef branch = "%zero = arith.constant 0.0 : f64\n%positive = arith.cmpf ogt, %s, %zero : f64\n";
  for (StringRef name : {"log", "sqrt", "rsqrt", "log1p"})
    for (double score : {0.0, -1.0, -5.0})
      checkAt((branch + "%a = math." + name + " %s : f64\n%y = arith.select %positive, %a, %s : f64").str(), score, 3,
              3);
  // x exp(x) overflows where it is not selected.
  checkAt((branch + "%e = math.exp %s : f64\n%a = arith.mulf %s, %e : f64\n"
                    "%y = arith.select %positive, %s, %a : f64")
              .str(),
          1e3, 3, 3);
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

TEST_F(Derivative, AlibiSlope) {
  StringRef body = "%x = tensor.extract %slopes[%h] : tensor<3xf64>\n%d = arith.subi %j, %i : index\n"
                   "%n = arith.index_cast %d : index to i32\n%far = arith.sitofp %n : i32 to f64\n"
                   "%a = arith.mulf %x, %far : f64\n%y = arith.addf %s, %a : f64";
  check(body, kAnywhere);
  OwningOpRef<ModuleOp> module = parseBody(body);
  Gradient found = evaluateGradient(*differentiate(*module), 0.3, 2);
  Value destination = getScoreMod(*module).getParentOp()->getBlock()->getArgument(6);
  EXPECT_EQ(found.captures[destination], std::vector<double>({0, 2})) << "head 1, j - i = 1";
}

// T5: a table by the distance of query and key.
TEST_F(Derivative, Table) {
  check("%d = arith.subi %j, %i : index\n%c = arith.constant 3 : index\n%bucket = arith.addi %d, %c : index\n"
        "%x = tensor.extract %table[%bucket] : tensor<7xf64>\n%t = math.tanh %s : f64\n%y = arith.mulf %x, %t : f64",
        kAnywhere);
}

TEST_F(Derivative, ReadsOfOneElementAreAddedOnce) {
  OwningOpRef<ModuleOp> module = parseBody("%x = tensor.extract %slopes[%h] : tensor<3xf64>\n"
                                           "%x2 = tensor.extract %slopes[%h] : tensor<3xf64>\n"
                                           "%b = tensor.extract %bias[%i, %j] : tensor<4x5xf64>\n"
                                           "%a = arith.mulf %x, %x2 : f64\n%c = arith.mulf %a, %s : f64\n"
                                           "%y = arith.addf %c, %b : f64");
  EXPECT_EQ(count<AccumulateOp>(*differentiate(*module)), 2);
  EXPECT_EQ(count<AccumulateOp>(*differentiate(*module, {"slopes"})), 1);
  EXPECT_EQ(count<AccumulateOp>(*differentiate(*module, {"table"})), 0);
  EXPECT_EQ(count<AccumulateOp>(*differentiate(*module, {})), 0);
}

// After bufferisation.
TEST_F(Derivative, Memref) {
  OwningOpRef<ModuleOp> module = parse(R"(
func.func @f(%q: memref<3x4x8xf32>, %slopes: memref<3xf32>, %d_slopes: memref<3xf32>, %o: memref<3x4x8xf32>) {
  attn.sdpa ins(%q, %q, %q : memref<3x4x8xf32>, memref<3x4x8xf32>, memref<3x4x8xf32>) outs(%o : memref<3x4x8xf32>)
      score_mod {
      ^bb0(%s : f32):
        %h = attn.index head : index
        %x = memref.load %slopes[%h] : memref<3xf32>
        %x2 = memref.load %slopes[%h] : memref<3xf32>
        %a = arith.mulf %x, %x2 : f32
        %y = arith.mulf %s, %a : f32
        attn.yield %y : f32
      }
  return
})");
  auto sdpa = getOnly<SdpaOp>(*module);
  Value slopes = sdpa->getBlock()->getArgument(1), destination = sdpa->getBlock()->getArgument(2);
  Region grad;
  OpBuilder builder(sdpa);
  ASSERT_TRUE(succeeded(buildScoreGradient(builder, sdpa.getLoc(), sdpa.getScoreMod(), grad, slopes, destination,
                                           [&] { return sdpa.emitOpError(); })));
  memory[slopes] = {0, -3, 0};
  Gradient found = evaluateGradient(grad, 5, 2);
  EXPECT_EQ(found.score, 2 * 9);
  EXPECT_EQ(found.captures[destination], std::vector<double>({0, 2 * 5 * 2 * -3}));
}

//===----------------------------------------------------------------------===//
// Form
//===----------------------------------------------------------------------===//

TEST_F(Derivative, SharedSubexpressionsStandOnce) {
  OwningOpRef<ModuleOp> module = parseBody("%c = arith.constant 30.0 : f64\n%a = arith.divf %s, %c : f64\n"
                                           "%t = math.tanh %a : f64\n%t2 = math.tanh %a : f64\n"
                                           "%m = arith.mulf %t, %t2 : f64\n%y = arith.mulf %c, %m : f64");
  std::unique_ptr<Region> grad = differentiate(*module);
  EXPECT_EQ(count<math::TanhOp>(*grad), 1);
  EXPECT_EQ(count<arith::DivFOp>(*grad), 2) << "of %a, and of the slope of tanh; the derivative multiplies by 1 / 30";
}

TEST_F(Derivative, OnlyWhatIsNeeded) {
  // s + x: the derivative is ds, and nothing of the region is left.
  OwningOpRef<ModuleOp> module = parseBody("%x = tensor.extract %bias[%i, %j] : tensor<4x5xf64>\n"
                                           "%e = math.exp %x : f64\n%y = arith.addf %s, %e : f64");
  std::unique_ptr<Region> grad = differentiate(*module, {"slopes"});
  EXPECT_TRUE(llvm::hasSingleElement(grad->front()));
  EXPECT_EQ(cast<YieldOp>(grad->front().front()).getValue(), grad->getArgument(1));
}

TEST_F(Derivative, IndependentOfTheScore) {
  OwningOpRef<ModuleOp> module = parseBody("%y = arith.constant 2.5 : f64");
  std::unique_ptr<Region> grad = differentiate(*module);
  EXPECT_EQ(grad->front().getOperations().size(), 2u) << "a constant and the yield";
  EXPECT_EQ(evaluateGradient(*grad, 4, 3).score, 0);
  check("%y = tensor.extract %bias[%i, %j] : tensor<4x5xf64>", kAnywhere);
  check("%n = arith.index_cast %i : index to i32\n%y = arith.sitofp %n : i32 to f64", kAnywhere);
}

TEST_F(Derivative, Errors) {
  auto expectError = [&](StringRef body, StringRef expected, ArrayRef<StringRef> names = {"slopes"}) {
    OwningOpRef<ModuleOp> module = parseBody(body);
    EXPECT_FALSE(differentiate(*module, names));
    EXPECT_EQ(error, ("'attn.sdpa' op " + expected).str());
  };
  auto withoutDerivative = [](StringRef name) {
    return ("expected an op with a derivative, found '" + name +
            "'; write it as arithmetic, exp, log, powf, tanh, sin, cos or erf; the op is here")
        .str();
  };
  expectError("%y = math.acosh %s : f64", withoutDerivative("math.acosh"));
  expectError("%y = arith.remf %s, %s : f64", withoutDerivative("arith.remf"));
  expectError("%y, %z = math.sincos %s : f64", withoutDerivative("math.sincos"));
  expectError("%a = arith.bitcast %s : f64 to i64\n%b = arith.addi %a, %a : i64\n%y = arith.bitcast %b : i64 to f64",
              withoutDerivative("arith.bitcast"));
  StringRef read = "%x = tensor.extract %slopes[%h] : tensor<3xf64>\n%a = math.acosh %x : f64\n";
  expectError((read + "%y = arith.addf %a, %s : f64").str(), withoutDerivative("math.acosh"));
  expectError("%y = arith.negf %s : f64",
              "expected a captured tensor that wants a gradient to hold floats, found 'tensor<5xi32>'", {"buckets"});
  // Where nothing asks for it, it needs no derivative.
  EXPECT_TRUE(differentiate(*parseBody((read + "%y = arith.addf %a, %s : f64").str()), {"bias"}));
  EXPECT_TRUE(differentiate(*parseBody("%a = math.acosh %s : f64\n%n = arith.fptosi %a : f64 to i32\n"
                                       "%b = arith.sitofp %n : i32 to f64\n%y = arith.mulf %b, %s : f64")));
}

//===----------------------------------------------------------------------===//
// Score functions
//===----------------------------------------------------------------------===//

TEST_F(Derivative, Cap) {
  auto cap = [](double x) { return 5 * std::tanh(x / 5); };
  OwningOpRef<ModuleOp> module =
      parseBody("%x = tensor.extract %bias[%i, %j] : tensor<4x5xf64>\n%y = arith.mulf %s, %x : f64");
  Region &scoreMod = getScoreMod(*module);
  OpBuilder builder(scoreMod.getParentOp());
  appendCap(builder, builder.getUnknownLoc(), 5, builder.getF64Type(), scoreMod);
  EXPECT_TRUE(succeeded(verify(*module)));
  std::unique_ptr<Region> grad = differentiate(*module);
  for (double score : kAnywhere) {
    double x = arrays["bias"][2 * kKeys + 3], capped = cap(score * x);
    EXPECT_NEAR(evaluate(scoreMod, score, memory), capped, 1e-14);
    EXPECT_NEAR(evaluateGradient(*grad, score, 3).score, 3 * x * (1 - capped * capped / 25), 1e-14);
  }
  // Without a region the score itself is capped.
  Region alone;
  appendCap(builder, builder.getUnknownLoc(), 5, builder.getF64Type(), alone);
  for (double score : kAnywhere)
    EXPECT_NEAR(evaluate(alone, score, memory), cap(score), 1e-14);
}

} // namespace
