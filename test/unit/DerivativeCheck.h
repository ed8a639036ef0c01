//===- DerivativeCheck.h - gradients of regions against differences -*- C++ -*-===//
//
// A region of scores and the region of gradients made of it are interpreted in
// double precision. Gradients are compared with differences of the scores.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_DERIVATIVECHECK_H
#define ATTN_TEST_UNIT_DERIVATIVECHECK_H

#include "RegionInterpreter.h"

#include "mlir/IR/Verifier.h"
#include <random>

namespace attn::test {

/// What a region of gradients passes back.
struct Gradient {
  double score;
  Interpreter::Memory captures; ///< by destination
};

class DerivativeCheck : public IRTest {
protected:
  static constexpr int64_t kHeads = 3, kQueries = 4, kKeys = 5;

  void SetUp() override {
    std::mt19937 random(3);
    for (auto [name, size] : {std::pair("slopes", kHeads), {"bias", kQueries * kKeys}, {"table", int64_t(7)}})
      for (int64_t i = 0; i < size; ++i)
        arrays[name].push_back(std::uniform_real_distribution<>(-1, 1)(random));
  }

  /// A score_mod with %s, the score, that yields %y. It can read slopes(h), bias(i, j) and table(x) as they are here.
  mlir::OwningOpRef<mlir::ModuleOp> parseBody(llvm::StringRef body, llvm::StringRef type = "f64",
                                              llvm::StringRef captured = "f64") {
    return parse(llvm::formatv(R"(
func.func @f(%q: tensor<3x4x8x{0}>, %k: tensor<3x5x8x{0}>, %slopes: tensor<3x{1}>, %bias: tensor<4x5x{1}>,
             %table: tensor<7x{1}>, %buckets: tensor<5xi32>, %d_slopes: tensor<3x{0}>, %d_bias: tensor<4x5x{0}>,
             %d_table: tensor<7x{0}>, %o: tensor<3x4x8x{0}>) -> tensor<3x4x8x{0}> {{
  %r = attn.sdpa ins(%q, %k, %k : tensor<3x4x8x{0}>, tensor<3x5x8x{0}>, tensor<3x5x8x{0}>) outs(%o : tensor<3x4x8x{0}>)
      score_mod {{
      ^bb0(%s : {0}):
        %h = attn.index head : index
        %i = attn.index query : index
        %j = attn.index key : index
        {2}
        attn.yield %y : {0}
      } -> tensor<3x4x8x{0}>
  return %r : tensor<3x4x8x{0}>
})",
                               type, captured, body)
                     .str());
  }

  static mlir::Region &getScoreMod(mlir::ModuleOp module) { return getOnly<SdpaOp>(module).getScoreMod(); }

  /// Builds the gradient for all captures of `names`; null and the message in `error` if there is none.
  std::unique_ptr<mlir::Region> differentiate(mlir::ModuleOp module,
                                              llvm::ArrayRef<llvm::StringRef> names = {"slopes", "bias", "table"}) {
    auto sdpa = getOnly<SdpaOp>(module);
    mlir::Block &entry = *sdpa->getBlock();
    constexpr llvm::StringRef order[] = {"q",       "k",        "slopes", "bias",   "table",
                                         "buckets", "d_slopes", "d_bias", "d_table"};
    auto getArgument = [&](llvm::StringRef name) { return entry.getArgument(llvm::find(order, name) - order); };
    llvm::SmallVector<mlir::Value> captures, destinations;
    for (llvm::StringRef name : names) {
      captures.push_back(getArgument(name));
      destinations.push_back(getArgument(name == "buckets" ? "d_table" : ("d_" + name).str()));
      memory[captures.back()] = arrays[name.str()];
    }
    for (llvm::StringRef name : {"slopes", "bias", "table"})
      memory[getArgument(name)] = arrays[name.str()];
    error.clear();
    mlir::ScopedDiagnosticHandler handler(getContext(), [&](mlir::Diagnostic &diag) {
      error = diag.str();
      for (mlir::Diagnostic &note : diag.getNotes())
        error += "; " + note.str();
    });
    auto grad = std::make_unique<mlir::Region>();
    mlir::OpBuilder builder(sdpa);
    llvm::LogicalResult result = buildScoreGradient(builder, sdpa.getLoc(), sdpa.getScoreMod(), *grad, captures,
                                                    destinations, [&] { return sdpa.emitOpError(); });
    EXPECT_EQ(failed(result), !error.empty());
    if (failed(result))
      return nullptr;
    for (mlir::Operation &op : grad->front().without_terminator())
      if (!isa<IndexOp>(op)) // stands in no op yet
        EXPECT_TRUE(succeeded(verify(&op)));
    return grad;
  }

  double evaluate(mlir::Region &scoreMod, double score, const Interpreter::Memory &at) {
    return Interpreter({1, 2, 3}, at).run(scoreMod, {score});
  }

  Gradient evaluateGradient(mlir::Region &grad, double score, double ds) {
    Interpreter interpreter({1, 2, 3}, memory);
    double result = interpreter.run(grad, {score, ds});
    return {result, interpreter.accumulated};
  }

  /// The derivative of f at 0, exact for polynomials of degree 4; the step is small, for kinks lie anywhere.
  static double getDifference(llvm::function_ref<double(double)> f) {
    constexpr double step = 1e-5;
    return (8 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12 * step);
  }

  /// The gradients by the score and by every element of the captures are those of differences.
  void check(llvm::StringRef body, llvm::ArrayRef<double> scores, double tolerance = 1e-8) {
    SCOPED_TRACE(body.str());
    mlir::OwningOpRef<mlir::ModuleOp> module = parseBody(body);
    mlir::Region &scoreMod = getScoreMod(*module);
    std::unique_ptr<mlir::Region> grad = differentiate(*module);
    ASSERT_TRUE(grad) << error;
    constexpr double ds = -1.75;
    for (double score : scores) {
      SCOPED_TRACE(score);
      Gradient found = evaluateGradient(*grad, score, ds);
      auto expectNear = [&](double value, double expected) {
        expected *= ds;
        EXPECT_NEAR(value, expected, tolerance * (1 + std::abs(expected)));
      };
      expectNear(found.score, getDifference([&](double step) { return evaluate(scoreMod, score + step, memory); }));
      mlir::Block &entry = *scoreMod.getParentOp()->getBlock();
      for (unsigned capture : {2, 3, 4}) {
        std::vector<double> gradient = found.captures[entry.getArgument(capture + 4)];
        gradient.resize(memory[entry.getArgument(capture)].size());
        for (size_t element = 0; element < gradient.size(); ++element)
          expectNear(gradient[element], getDifference([&](double step) {
                       Interpreter::Memory changed = memory;
                       changed[entry.getArgument(capture)][element] += step;
                       return evaluate(scoreMod, score, changed);
                     }));
      }
    }
  }

  /// The gradient by the score is as expected, where differences do not say it.
  void checkAt(llvm::StringRef body, double score, double ds, double expected) {
    SCOPED_TRACE(llvm::formatv("{0} at {1} with {2}", body, score, ds).str());
    mlir::OwningOpRef<mlir::ModuleOp> module = parseBody(body);
    std::unique_ptr<mlir::Region> grad = differentiate(*module);
    ASSERT_TRUE(grad) << error;
    Gradient found = evaluateGradient(*grad, score, ds);
    EXPECT_EQ(found.score, expected);
    if (ds == 0)
      for (auto &[destination, gradient] : found.captures)
        for (double element : gradient)
          EXPECT_EQ(element, 0);
  }

  template <typename OpTy> static int64_t count(mlir::Region &region) {
    return llvm::range_size(region.getOps<OpTy>());
  }

  std::string error;
  std::map<std::string, std::vector<double>> arrays;
  Interpreter::Memory memory;
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_DERIVATIVECHECK_H
