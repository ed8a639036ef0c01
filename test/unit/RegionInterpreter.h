//===- RegionInterpreter.h - scalar regions in double precision -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_REGIONINTERPRETER_H
#define ATTN_TEST_UNIT_REGIONINTERPRETER_H

#include "ParseIR.h"
#include "attn/IR/Decompose.h"
#include "attn/IR/Derivative.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <functional>
#include <map>

namespace attn::test {

/// Runs a region of scores at one position. Every value is a double; types are not rounded to.
class Interpreter {
public:
  struct Position {
    int64_t head, query, key;
  };
  /// The elements of each tensor, row by row.
  struct ByAddress {
    bool operator()(mlir::Value a, mlir::Value b) const { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); }
  };
  using Memory = std::map<mlir::Value, std::vector<double>, ByAddress>;

  Interpreter(Position position, const Memory &memory) : position(position), memory(memory) {}

  /// What the region yields.
  double run(mlir::Region &region, llvm::ArrayRef<double> arguments) {
    values.clear();
    for (auto [argument, value] : llvm::zip_equal(region.getArguments(), arguments))
      values[argument] = value;
    for (mlir::Operation &op : region.front().without_terminator())
      evaluate(op);
    return get(region.front().getTerminator()->getOperand(0));
  }

  Memory accumulated; ///< by destination, up to the last element added to

private:
  double get(mlir::Value value) const {
    auto found = values.find(value);
    EXPECT_TRUE(found != values.end()) << "a value is used before its definition";
    return found == values.end() ? 0 : found->second;
  }

  size_t linearize(mlir::Value tensor, mlir::ValueRange indices) const {
    size_t position = 0;
    for (auto [size, index] : llvm::zip_equal(llvm::cast<mlir::ShapedType>(tensor.getType()).getShape(), indices))
      position = position * size + size_t(get(index));
    return position;
  }

  void evaluate(mlir::Operation &op) {
    if (auto accumulate = llvm::dyn_cast<AccumulateOp>(op)) {
      std::vector<double> &elements = accumulated[accumulate.getDestination()];
      size_t position = linearize(accumulate.getDestination(), accumulate.getIndices());
      elements.resize(std::max(elements.size(), position + 1));
      elements[position] += get(accumulate.getValue());
      return;
    }
    values[op.getResult(0)] = getResult(op);
  }

  double getResult(mlir::Operation &op) const {
    using namespace mlir;
    Attribute constant;
    if (matchPattern(&op, m_Constant(&constant)))
      return isa<FloatAttr>(constant) ? cast<FloatAttr>(constant).getValueAsDouble()
                                      : double(cast<IntegerAttr>(constant).getInt());
    if (auto index = dyn_cast<IndexOp>(op))
      return double(index.getKind() == IndexKind::Head    ? position.head
                    : index.getKind() == IndexKind::Query ? position.query
                                                          : position.key);
    if (isa<tensor::ExtractOp, memref::LoadOp>(op))
      return memory.at(op.getOperand(0))[linearize(op.getOperand(0), op.getOperands().drop_front())];
    SmallVector<double> x = llvm::map_to_vector(op.getOperands(), [&](Value value) { return get(value); });
    if (auto cap = dyn_cast<CapOp>(op))
      return cap.getLimit().convertToDouble() * std::tanh(x[0] / cap.getLimit().convertToDouble());
    if (auto compare = dyn_cast<arith::CmpFOp>(op))
      return arith::applyCmpPredicate(compare.getPredicate(), APFloat(x[0]), APFloat(x[1]));
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      return arith::applyCmpPredicate(compare.getPredicate(), APInt(64, int64_t(x[0]), true),
                                      APInt(64, int64_t(x[1]), true));
    auto function = getFunctions().find(op.getName().getStringRef());
    if (function != getFunctions().end())
      return function->second(x.data());
    ADD_FAILURE() << "no rule for " << op.getName().getStringRef().str();
    return 0;
  }

  using Function = std::function<double(const double *)>;
  static const llvm::StringMap<Function> &getFunctions() {
    auto first = [](const double *x) { return x[0]; };
    auto unary = [](double (*f)(double)) -> Function { return [f](const double *x) { return f(x[0]); }; };
    auto isNaN = [](double x) { return std::isnan(x); };
    static const llvm::StringMap<Function> functions = {
        {"arith.addf", [](const double *x) { return x[0] + x[1]; }},
        {"arith.subf", [](const double *x) { return x[0] - x[1]; }},
        {"arith.mulf", [](const double *x) { return x[0] * x[1]; }},
        {"arith.divf", [](const double *x) { return x[0] / x[1]; }},
        {"arith.negf", [](const double *x) { return -x[0]; }},
        {"arith.addi", [](const double *x) { return x[0] + x[1]; }},
        {"arith.subi", [](const double *x) { return x[0] - x[1]; }},
        {"arith.maximumf", [=](const double *x) { return isNaN(x[0]) || x[0] > x[1] ? x[0] : x[1]; }},
        {"arith.minimumf", [=](const double *x) { return isNaN(x[0]) || x[0] < x[1] ? x[0] : x[1]; }},
        {"arith.maxnumf", [](const double *x) { return std::fmax(x[0], x[1]); }},
        {"arith.minnumf", [](const double *x) { return std::fmin(x[0], x[1]); }},
        {"arith.select", [](const double *x) { return x[0] != 0 ? x[1] : x[2]; }},
        {"arith.extf", first},
        {"arith.truncf", first},
        {"arith.index_cast", first},
        {"arith.sitofp", first},
        {"arith.uitofp", first},
        {"arith.bitcast", first}, // the sign stays
        {"arith.fptosi", unary(std::trunc)},
        {"math.fma", [](const double *x) { return std::fma(x[0], x[1], x[2]); }},
        {"math.powf", [](const double *x) { return std::pow(x[0], x[1]); }},
        {"math.fpowi", [](const double *x) { return std::pow(x[0], x[1]); }},
        {"math.copysign", [](const double *x) { return std::copysign(x[0], x[1]); }},
        {"math.rsqrt", [](const double *x) { return 1 / std::sqrt(x[0]); }},
        {"math.absf", unary(std::fabs)},
        {"math.exp", unary(std::exp)},
        {"math.exp2", unary(std::exp2)},
        {"math.expm1", unary(std::expm1)},
        {"math.log", unary(std::log)},
        {"math.log2", unary(std::log2)},
        {"math.log10", unary(std::log10)},
        {"math.log1p", unary(std::log1p)},
        {"math.sqrt", unary(std::sqrt)},
        {"math.tanh", unary(std::tanh)},
        {"math.sin", unary(std::sin)},
        {"math.cos", unary(std::cos)},
        {"math.tan", unary(std::tan)},
        {"math.atan", unary(std::atan)},
        {"math.erf", unary(std::erf)},
        {"math.floor", unary(std::floor)},
        {"math.ceil", unary(std::ceil)},
        {"math.round", unary(std::round)},
        {"math.roundeven", unary(std::nearbyint)},
        {"math.trunc", unary(std::trunc)},
    };
    return functions;
  }

  Position position;
  const Memory &memory;
  llvm::DenseMap<mlir::Value, double> values;
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_REGIONINTERPRETER_H
