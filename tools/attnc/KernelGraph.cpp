//===- KernelGraph.cpp - the attention and products of a model ------------===//
//
// A node is an op with products after fusion; an edge leads to each node that reads its results, directly or by way of
// other ops. A node is timed as a function of its own: the op with its constants, which are packed as in the model.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Ceilings.h"
#include "Cost.h"
#include "attn-c/attn_runtime.h"
#include "attn/IR/Attn.h"
#include "attn/Support/OutputFile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;
using mlir::Operation;
using mlir::ShapedType;

/// Fewest calls of a node.
static constexpr unsigned kMinCalls = 5;

/// The sizes of the loops of an op: "2 x 4 x 12 x 12 x 8 x 8".
static std::string printSizes(Operation *op) {
  auto linalgOp = dyn_cast<mlir::linalg::LinalgOp>(op);
  SmallVector<int64_t> sizes = linalgOp ? linalgOp.getStaticLoopRanges() : getStaticDomain(op);
  return join(map_range(sizes, [](int64_t size) { return ShapedType::isDynamic(size) ? "?" : std::to_string(size); }),
              " x ");
}

static bool hasOwnConstant(Operation *op) {
  return op && isa<mlir::arith::ConstantOp, mlir::tensor::EmptyOp, mlir::linalg::FillOp>(op);
}

/// Clones what defines a value, if that is a constant or an empty tensor; others become arguments.
static void cloneConstants(mlir::Value value, mlir::OpBuilder &b, mlir::IRMapping &mapping,
                           SetVector<mlir::Value> &arguments) {
  Operation *op = value.getDefiningOp();
  if (mapping.contains(value))
    return;
  if (!hasOwnConstant(op)) {
    arguments.insert(value);
    return;
  }
  for (mlir::Value operand : op->getOperands())
    cloneConstants(operand, b, mapping, arguments);
  b.clone(*op, mapping);
}

/// A module with the op alone, as the body of @node; null where a size is known at run time only.
static mlir::OwningOpRef<mlir::ModuleOp> isolate(Operation *op) {
  SetVector<mlir::Value> used, arguments;
  used.insert(op->operand_begin(), op->operand_end());
  mlir::getUsedValuesDefinedAbove(op->getRegions(), used);
  auto isStatic = [](mlir::Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || shaped.hasStaticShape();
  };
  mlir::Location loc = op->getLoc();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  auto function =
      mlir::func::FuncOp::create(loc, "node", mlir::FunctionType::get(op->getContext(), {}, op->getResultTypes()));
  module->push_back(function);
  mlir::Block *body = function.addEntryBlock();
  mlir::OpBuilder b = mlir::OpBuilder::atBlockBegin(body);
  mlir::IRMapping mapping;
  for (mlir::Value value : used) {
    cloneConstants(value, b, mapping, arguments);
    for (mlir::Value argument : arguments)
      if (!mapping.contains(argument))
        mapping.map(argument, body->addArgument(argument.getType(), loc));
  }
  if (!all_of(body->getArgumentTypes(), isStatic) || !all_of(op->getResultTypes(), isStatic))
    return {};
  function.setType(mlir::FunctionType::get(op->getContext(), body->getArgumentTypes(), op->getResultTypes()));
  Operation *clone = b.clone(*op, mapping);
  mlir::func::ReturnOp::create(b, loc, clone->getResults());
  return module;
}

std::vector<GraphNode> driver::buildGraph(mlir::func::FuncOp function, ArrayRef<Operation *> products,
                                          bool withModules) {
  std::vector<GraphNode> nodes;
  DenseMap<mlir::Value, SetVector<int64_t>> sources;
  std::map<std::string, int64_t> likes; // by the text without constants
  function.walk<mlir::WalkOrder::PreOrder>([&](Operation *op) {
    SetVector<int64_t> inputs;
    for (mlir::Value operand : op->getOperands())
      if (auto found = sources.find(operand); found != sources.end())
        inputs.insert(found->second.begin(), found->second.end());
    if (is_contained(products, op)) {
      auto name = op->getLoc()->findInstanceOf<mlir::NameLoc>();
      GraphNode node{op->getName().getStringRef().str(), name ? name.getName().str() : "", printSizes(op), {}};
      node.inputs.assign(inputs.begin(), inputs.end());
      if (mlir::OwningOpRef<mlir::ModuleOp> module = withModules ? isolate(op) : nullptr) {
        std::string key;
        raw_string_ostream os(key), source(node.source);
        module->print(os, mlir::OpPrintingFlags().elideLargeElementsAttrs(0).elideLargeResourceString(0));
        node.like = likes.try_emplace(key, nodes.size()).first->second;
        if (node.like == int64_t(nodes.size()))
          module->print(source);
      }
      inputs.clear();
      inputs.insert(int64_t(nodes.size()));
      nodes.push_back(std::move(node));
    }
    if (!inputs.empty())
      for (mlir::Value result : op->getResults())
        sources[result] = inputs;
  });
  return nodes;
}

/// Seconds of the fastest call.
static Expected<double> timeNode(const GraphNode &node, CompileOptions options, double seconds) {
  SmallString<128> path;
  if (std::error_code error = sys::fs::createTemporaryFile("attn", "mlir", path))
    return createStringError(error, "cannot create a temporary file: " + error.message());
  FileRemover remove(path);
  if (Error error = writeOutputFile(path, [&](raw_ostream &os) { os << node.source; }))
    return error;
  options.remarks = RemarkFilter::None;
  Expected<LoadedKernel> kernel = LoadedKernel::compile({path.str().str(), {}}, options, "node", nulls());
  if (!kernel)
    return kernel.takeError();
  ArgumentOptions values;
  values.fullLengths = true;
  Expected<std::vector<NpyArray>> arguments = createArguments(kernel->getDescription(), values);
  if (!arguments)
    return arguments.takeError();
  double best = std::numeric_limits<double>::infinity(), start = getSeconds();
  for (unsigned i = 0; i < kMinCalls || getSeconds() - start < seconds; ++i) {
    double before = getSeconds();
    if (Error error = kernel->call(*arguments))
      return error;
    best = std::min(best, getSeconds() - before);
  }
  return best;
}

void driver::timeNodes(MutableArrayRef<GraphNode> nodes, const CompileOptions &options, int threads, double seconds) {
  attn_runtime_set_num_threads(threads);
  for (GraphNode &node : nodes) {
    if (node.source.empty()) {
      node.seconds = node.like < 0 ? std::nullopt : nodes[node.like].seconds;
      continue;
    }
    Expected<double> time = timeNode(node, options, seconds / nodes.size());
    if (time)
      node.seconds = *time;
    else
      consumeError(time.takeError()); // it has no time on the page
  }
}
