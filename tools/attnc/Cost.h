//===- Cost.h - the work of a problem ---------------------------*- C++ -*-===//
//
// Operations and bytes. They determine rates, and which ceiling is the lower one.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_COST_H
#define ATTN_TOOLS_ATTNC_COST_H

#include "attn/Problem/Problem.h"
#include "attnc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn::driver {

struct Cost {
  /// For the two products, 4 B Hq Sq Sk D with D = Dv, times the share of existing scores; for the five of a backward
  /// pass, 10 B Hq Sq Sk D.
  double flops = 0;
  double bytes = 0; ///< of arguments and results, each once; of K and V only what the queries keep
  /// Few query rows share each row of K, so reading it is the bottleneck.
  bool isDecode = false;

  double getIntensity() const { return flops / bytes; }
};

/// True where each row of K serves so few query rows that reading it is the bottleneck.
bool isDecodeOf(int64_t queries, int64_t groupSize);
/// For a problem with the sizes of the run.
double getFlops(const Problem &problem);

/// An op with products of a model, and those whose results it reads.
struct GraphNode {
  std::string op, name, sizes;     ///< name: of the node of the model
  std::vector<int64_t> inputs;     ///< numbers of nodes
  std::optional<double> flops{};   ///< none where a size is known at run time only
  std::optional<double> seconds{}; ///< of a call of the op alone
  /// The first node that differs in constants alone, which is timed; -1 for one without a time.
  int64_t like = -1;
  std::string source{}; ///< of that first one: the op as a function of its own
};
/// The graph of these ops of a function; `withModules` gives each its function (KernelGraph.cpp).
std::vector<GraphNode> buildGraph(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Operation *> products,
                                  bool withModules);
/// Times each node, in `seconds` for all.
void timeNodes(llvm::MutableArrayRef<GraphNode> nodes, const CompileOptions &options, int threads, double seconds);

/// The cost of a kernel of a file, with all bytes of K and V.
struct FileCost {
  Cost cost;
  Problem::Element element = Problem::Element::F32; ///< of the queries
  std::string reason;                               ///< why there are no flops; empty where there are
  std::vector<GraphNode> nodes{};                   ///< what has the flops
};
/// `withModules`: the nodes may be timed.
llvm::Expected<FileCost> getFileCost(const Source &source, CompileOptions options, const Kernel &kernel,
                                     llvm::ArrayRef<NpyArray> arguments, bool withModules = false);

/// The problem has the sizes of the run. Lengths are full, and packed sequences have equal lengths.
Cost getCost(const Problem &problem, const Kernel &kernel, llvm::ArrayRef<NpyArray> arguments);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_COST_H
