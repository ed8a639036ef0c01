//===- FileCost.cpp - the work of a kernel of an IR file ------------------===//
//
// Uses the file's ops after fusion of chains, with the sizes of this run: each attn op with products, and products of
// linalg around them.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Cost.h"
#include "attn/IR/Attn.h"
#include "attn/IR/Words.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;
using mlir::Operation;
using mlir::ShapedType;

/// Gives the tensor arguments the shapes of this run, and propagates them.
static void setShapes(mlir::func::FuncOp function, ArrayRef<NpyArray> arguments) {
  mlir::OpBuilder b = mlir::OpBuilder::atBlockBegin(&function.front());
  for (auto [argument, array] : zip(function.getArguments(), arguments)) {
    auto type = dyn_cast<mlir::RankedTensorType>(argument.getType());
    if (!type || type.hasStaticShape())
      continue;
    argument.setType(type.clone(array.shape));
    auto cast = mlir::tensor::CastOp::create(b, function.getLoc(), type, argument);
    argument.replaceAllUsesExcept(cast, cast);
  }
  function.setType(mlir::FunctionType::get(function.getContext(), function.front().getArgumentTypes(),
                                           function.getFunctionType().getResults()));
  mlir::PassManager pm(function.getContext(), mlir::func::FuncOp::getOperationName());
  pm.addPass(mlir::createCanonicalizerPass());
  (void)pm.run(function);
}

/// A problem with the same work as an op, with the gradients that have uses.
static Problem getProblem(Operation *op, ArrayRef<int64_t> domain) {
  Problem problem;
  unsigned numBatch = getNumBatchDims(op);
  auto sdpa = dyn_cast<SdpaOp>(op);
  if (sdpa && sdpa.getCuSeqlensQ()) {
    problem.layout = Problem::Layout::Varlen;
    problem.sizes.b = domain[0];
    domain = domain.drop_front();
    --numBatch;
  }
  for (int64_t size : domain.take_front(numBatch))
    problem.sizes.hq *= size;
  ArrayRef<int64_t> own = domain.drop_front(numBatch);
  problem.sizes.sq = own[0];
  problem.sizes.sk = own[1];
  bool isScores = isa<ScoresOp>(op), isWhole = own.size() > 3;
  problem.sizes.d = isWhole || isScores ? own[2] : 0;
  problem.sizes.dv = isWhole ? own[3] : isScores ? 0 : own[2];
  if (isWhole)
    for (mlir::NamedAttribute note : noteWords(op))
      if (std::optional<WordValue> value = readWord(note))
        problem.words[findWord(note.getName())->word] = *value;
  static constexpr StringLiteral gradients[] = {"q", "k", "v"};
  if (isa<SdpaBackwardOp>(op))
    for (auto [name, result] : zip(gradients, op->getResults()))
      if (!result.use_empty())
        problem.grad.push_back(name.str());
  return problem;
}

/// The flops of one op; none where a size is unknown.
static std::optional<double> countFlops(Operation *op, bool &isDecode) {
  if (isa<SdpaOp, SdpaBackwardOp, ScoresOp, ApplyOp>(op)) {
    SmallVector<int64_t> domain = getStaticDomain(op);
    if (any_of(domain, ShapedType::isDynamic))
      return std::nullopt;
    Problem problem = getProblem(op, domain);
    isDecode &= isa<SdpaOp>(op) && isDecodeOf(problem.sizes.sq, getGroupSize(op));
    return driver::getFlops(problem);
  }
  isDecode = false;
  double flops = 2;
  for (int64_t size : cast<mlir::linalg::LinalgOp>(op).getStaticLoopRanges()) {
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    flops *= double(size);
  }
  return flops;
}

static bool multiplies(Operation *op) {
  auto linalgOp = dyn_cast<mlir::linalg::LinalgOp>(op);
  return isa<SdpaOp, SdpaBackwardOp, ScoresOp, ApplyOp>(op) ||
         (linalgOp && linalgOp.getNumReductionLoops() > 0 && linalgOp.getNumDpsInputs() > 1);
}

static Problem::Element getElement(mlir::Type type) {
  return type.isF64()    ? Problem::Element::F64
         : type.isBF16() ? Problem::Element::BF16
         : type.isF16()  ? Problem::Element::F16
                         : Problem::Element::F32;
}

Expected<FileCost> driver::getFileCost(const Source &source, CompileOptions options, const Kernel &kernel,
                                       ArrayRef<NpyArray> arguments, bool withModules) {
  Expected<std::unique_ptr<MemoryBuffer>> text = source.open();
  if (!text)
    return text.takeError();
  options.remarks = RemarkFilter::None; // the kernel itself has emitted them
  raw_null_ostream silence;
  Expected<std::unique_ptr<Compiler>> compiler = Compiler::create(options, silence);
  if (!compiler)
    return compiler.takeError();
  if (failed((*compiler)->parse(std::move(*text))) || failed((*compiler)->run(Phase::Fuse)))
    return createStringError("compilation failed");
  auto function = (*compiler)->getModule().lookupSymbol<mlir::func::FuncOp>(kernel.name);
  if (!function)
    return FileCost{{}, {}, "it is lowered already"};
  setShapes(function, arguments);

  FileCost result;
  result.cost.isDecode = true;
  bool isFirst = true;
  std::vector<Operation *> products;
  std::vector<std::optional<double>> flops;
  function.walk<mlir::WalkOrder::PreOrder>([&](Operation *op) {
    if (!multiplies(op))
      return;
    if (std::exchange(isFirst, false) || isa<SdpaOp>(op))
      result.element = getElement(mlir::getElementTypeOrSelf(op->getOperand(0).getType()));
    products.push_back(op);
    flops.push_back(countFlops(op, result.cost.isDecode));
    if (flops.back())
      result.cost.flops += *flops.back();
    else
      result.reason = "a size of " + op->getName().getStringRef().str() + " is not known before the call";
  });
  if (isFirst)
    result.reason = "no attention and no product is in it";
  result.nodes = buildGraph(function, products, withModules);
  for (auto [node, count] : zip_equal(result.nodes, flops))
    node.flops = count;
  for (auto [argument, array] : zip_equal(kernel.arguments, arguments))
    result.cost.bytes += double(getNpyTypeSize(array.type)) * getNumElements(array.shape);
  return result;
}
