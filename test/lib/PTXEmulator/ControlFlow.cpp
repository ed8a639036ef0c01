//===- ControlFlow.cpp - joins of divergent paths, and loops --------------===//
//
// Basic blocks, dominators on the graph and on its reverse (Cooper, Harvey, Kennedy: "A simple, fast dominance
// algorithm"), natural loops of the back edges.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace attn::ptx;

namespace {

using Edges = FlowGraph::Edges;
constexpr uint32_t kNone = ~uint32_t(0);

/// The immediate dominator of each node that `root` reaches; kNone for others.
std::vector<uint32_t> computeDominators(uint32_t root, const Edges &successors, const Edges &predecessors) {
  std::vector<uint32_t> order, number(successors.size(), kNone), dominator(successors.size(), kNone);
  std::vector<std::pair<uint32_t, uint32_t>> stack = {{root, 0}};
  std::vector<bool> seen(successors.size(), false);
  seen[root] = true;
  while (!stack.empty()) {
    auto &[node, next] = stack.back();
    if (next < successors[node].size()) {
      const uint32_t child = successors[node][next++];
      if (!seen[child]) {
        seen[child] = true;
        stack.push_back({child, 0});
      }
      continue;
    }
    number[node] = order.size();
    order.push_back(node);
    stack.pop_back();
  }
  dominator[root] = root;
  bool changed = true;
  while (changed) {
    changed = false;
    for (uint32_t node : reverse(order)) {
      if (node == root)
        continue;
      uint32_t best = kNone;
      for (uint32_t other : predecessors[node]) {
        if (number[other] == kNone || dominator[other] == kNone)
          continue;
        if (best == kNone) {
          best = other;
          continue;
        }
        uint32_t a = best, b = other;
        while (a != b) {
          while (number[a] < number[b])
            a = dominator[a];
          while (number[b] < number[a])
            b = dominator[b];
        }
        best = a;
      }
      if (best != dominator[node]) {
        dominator[node] = best;
        changed = true;
      }
    }
  }
  return dominator;
}

bool dominates(const std::vector<uint32_t> &dominator, uint32_t above, uint32_t node) {
  while (node != above) {
    if (dominator[node] == kNone || dominator[node] == node)
      return false;
    node = dominator[node];
  }
  return true;
}

std::string getLabel(const Program &program, uint32_t instruction) {
  for (auto &[name, target] : program.function->labels)
    if (target == instruction)
      return name;
  return "line " + std::to_string(program.instructions[instruction].line);
}

void findLoops(Program &program, const FlowGraph &graph, const std::vector<uint32_t> &dominator) {
  std::map<uint32_t, std::vector<bool>> bodies; // header block → blocks
  for (uint32_t block = 0; block < graph.successors.size(); ++block) {
    for (uint32_t header : graph.successors[block]) {
      if (dominator[block] == kNone || !dominates(dominator, header, block))
        continue;
      auto &body = bodies.try_emplace(header, graph.successors.size(), false).first->second;
      body[header] = true;
      SmallVector<uint32_t, 8> work = {block};
      while (!work.empty()) {
        const uint32_t node = work.pop_back_val();
        if (body[node])
          continue;
        body[node] = true;
        llvm::append_range(work, graph.predecessors[node]);
      }
    }
  }
  for (auto &[header, body] : bodies) {
    const uint32_t first = graph.firsts[header];
    Loop loop;
    loop.label = getLabel(program, first);
    loop.header = first;
    loop.contains.resize(program.instructions.size());
    for (uint32_t i = 0; i < program.instructions.size(); ++i)
      loop.contains[i] = body[graph.blockOf[i]];
    for (auto &[otherHeader, otherBody] : bodies)
      loop.depth += otherHeader != header && otherBody[header];
    program.loops.push_back(std::move(loop));
  }
}

} // namespace

FlowGraph attn::ptx::buildFlowGraph(const Program &program) {
  const auto &code = program.instructions;
  const uint32_t size = code.size();
  std::vector<bool> starts(size + 1, false);
  starts[0] = starts[size] = true;
  for (uint32_t i = 0; i < size; ++i) {
    for (uint32_t target : code[i].targets)
      starts[target] = true;
    if (!code[i].targets.empty() || code[i].flow == Flow::Exit)
      starts[i + 1] = true;
  }
  FlowGraph graph;
  graph.blockOf.resize(size + 1);
  for (uint32_t i = 0; i <= size; ++i) {
    if (starts[i])
      graph.firsts.push_back(i);
    graph.blockOf[i] = graph.firsts.size() - 1;
  }
  const uint32_t blocks = graph.firsts.size(), exit = blocks - 1;
  graph.successors.resize(blocks);
  graph.predecessors.resize(blocks);
  auto connect = [&](uint32_t from, uint32_t to) {
    if (!is_contained(graph.successors[from], to)) {
      graph.successors[from].push_back(to);
      graph.predecessors[to].push_back(from);
    }
  };
  for (uint32_t block = 0; block < exit; ++block) {
    const Instruction &last = code[graph.firsts[block + 1] - 1];
    for (uint32_t target : last.targets)
      connect(block, graph.blockOf[target]);
    const bool isConditional = last.guard != kNoRow;
    if (last.flow == Flow::Exit)
      connect(block, exit);
    if ((last.targets.empty() && last.flow != Flow::Exit) || isConditional)
      connect(block, block + 1);
  }
  return graph;
}

void attn::ptx::analyzeControlFlow(Program &program, const FlowGraph &graph) {
  if (program.instructions.empty())
    return;
  const uint32_t exit = graph.firsts.size() - 1;
  // Reversed: from the exit. A block that cannot reach it (an endless loop) has no post-dominator.
  const std::vector<uint32_t> postDominator = computeDominators(exit, graph.predecessors, graph.successors);
  for (uint32_t i = 0; i < program.instructions.size(); ++i) {
    Instruction &instruction = program.instructions[i];
    if (instruction.targets.empty())
      continue;
    const uint32_t join = postDominator[graph.blockOf[i]];
    instruction.join = join == kNone ? uint32_t(program.instructions.size()) : graph.firsts[join];
  }
  findLoops(program, graph, computeDominators(0, graph.successors, graph.predecessors));
}
