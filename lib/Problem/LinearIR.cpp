//===- LinearIR.cpp - a line of linear attention as IR --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LinearProblem.h"
#include "ProblemIR.h"
#include "attn/IR/GradientAttrs.h"
#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;
using namespace attn;

namespace {
/// Arguments in the order of the kernel's entry, and the op.
class LinearBuilder : public ImplicitLocOpBuilder {
public:
  LinearBuilder(MLIRContext &context, const Problem &problem)
      : ImplicitLocOpBuilder(UnknownLoc::get(&context), &context), problem(problem), linear(*problem.linear),
        element(parseType(printElement(problem.element), &context)), wide(getAccumulationType(element)) {}

  OwningOpRef<ModuleOp> build(StringRef name) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(getLoc());
    function = func::FuncOp::create(getLoc(), name, getFunctionType({}, {}));
    module->push_back(function);
    setInsertionPointToEnd(function.addEntryBlock());
    const Problem::Sizes &size = problem.sizes;
    Value q = addRows("q", size.hkv, {{D, size.d}}, element), k = addRows("k", size.hkv, {{D, size.d}}, element);
    Value v = addRows("v", size.hq, {{E, size.dv}}, element);
    Value decay, beta, erase, write, sums, slots;
    if (linear.decay != Problem::Linear::Decay::None)
      decay = addRows("decay", size.hq,
                      linear.decay == Problem::Linear::Decay::Channel ? Columns{{D, size.d}} : Columns{}, wide);
    if (linear.beta)
      beta = addRows("beta", size.hq, {}, wide);
    if (linear.erase)
      erase = addRows("erase", size.hq, {{D, size.d}}, element);
    if (linear.write)
      write = addRows("write", size.hq, {{D, size.d}}, element);
    bool isPacked = problem.layout == Problem::Layout::Varlen;
    if (isPacked)
      sums = addArgument("cu_seqlens", {size.b == Problem::kDynamic ? Problem::kDynamic : size.b + 1}, getI32Type());
    if (linear.slots)
      slots = addArgument("slots", {size.b}, getI32Type());
    Value state = addArgument("state", {linear.slots.value_or(size.b), size.hq, size.d, size.dv}, wide);

    SmallVector<int64_t> shape = getShape(size.hq, {{E, size.dv}});
    SmallVector<OpFoldResult> sizes;
    for (auto [i, number] : llvm::enumerate(shape)) // those of v
      sizes.push_back(number == Problem::kDynamic
                          ? OpFoldResult(tensor::DimOp::create(*this, v, int64_t(i)).getResult())
                          : getIndexAttr(number));
    Value init = tensor::EmptyOp::create(*this, sizes, element);
    addMap(getRowExprs(size.hq, {{E, size.dv}}));
    addMap({getAffineDimExpr(B), getAffineDimExpr(H), getAffineDimExpr(D), getAffineDimExpr(E)});
    // The default layout needs no maps.
    ArrayAttr explicitMaps = problem.layout == Problem::Layout::BSHD ? getAffineMapArrayAttr(maps) : ArrayAttr();
    auto op = LinearOp::create(*this, TypeRange{init.getType(), state.getType()}, q, k, v, decay, beta, erase, write,
                               init, state, sums, slots, linear.before ? getUnitAttr() : UnitAttr(),
                               linear.normalize ? getF64FloatAttr(*linear.normalize) : FloatAttr(),
                               linear.scale ? getF64FloatAttr(*linear.scale) : FloatAttr(), explicitMaps);
    func::ReturnOp::create(*this, op.getResults());
    function.setType(getFunctionType(function.getBody().getArgumentTypes(), op.getResultTypes()));
    function.setAllArgAttrs(names);
    const DictionaryAttr resultNames[] = {getName("out"), getName("state")};
    function.setAllResultAttrs(ArrayRef(resultNames));
    if (!problem.grad.empty())
      function->setAttr(kGradAttr, getStrArrayAttr(llvm::to_vector_of<StringRef>(problem.grad)));
    return module;
  }

private:
  /// The domain (batch, head, token, channel of key, column of value).
  enum Loop : unsigned { B, H, T, D, E };
  using Columns = SmallVector<std::pair<Loop, int64_t>, 1>;

  DictionaryAttr getName(StringRef name) { return getDictionaryAttr(getNamedAttr(kNameAttr, getStringAttr(name))); }

  SmallVector<int64_t> getShape(int64_t heads, const Columns &columns) {
    const Problem::Sizes &size = problem.sizes;
    SmallVector<int64_t> shape = {size.b, heads, size.sq};
    if (problem.layout == Problem::Layout::BSHD)
      shape = {size.b, size.sq, heads};
    if (problem.layout == Problem::Layout::Varlen)
      shape = {size.sq, heads};
    for (auto [loop, number] : columns)
      shape.push_back(number);
    return shape;
  }

  SmallVector<AffineExpr> getRowExprs(int64_t heads, const Columns &columns) {
    AffineExpr head = getAffineDimExpr(H);
    if (heads != problem.sizes.hq)
      head = head.floorDiv(problem.sizes.hq / heads);
    SmallVector<AffineExpr> exprs = {getAffineDimExpr(B), getAffineDimExpr(T), head};
    for (auto [loop, number] : columns)
      exprs.push_back(getAffineDimExpr(loop));
    return exprs;
  }

  void addMap(ArrayRef<AffineExpr> exprs) { maps.push_back(AffineMap::get(E + 1, 0, exprs, getContext())); }

  Value addArgument(StringRef name, ArrayRef<int64_t> sizes, Type type) {
    SmallVector<int64_t> shape = llvm::map_to_vector(
        sizes, [](int64_t size) { return size == Problem::kDynamic ? ShapedType::kDynamic : size; });
    names.push_back(getName(name));
    return function.getBody().addArgument(RankedTensorType::get(shape, type), getLoc());
  }

  Value addRows(StringRef name, int64_t heads, const Columns &columns, Type type) {
    addMap(getRowExprs(heads, columns));
    return addArgument(name, getShape(heads, columns), type);
  }

  const Problem &problem;
  const Problem::Linear &linear;
  Type element, wide;
  func::FuncOp function;
  SmallVector<DictionaryAttr> names;
  SmallVector<AffineMap> maps; ///< of layout=bshd
};
} // namespace

OwningOpRef<ModuleOp> attn::buildLinear(MLIRContext &context, const Problem &problem, StringRef name) {
  return LinearBuilder(context, problem).build(name);
}
