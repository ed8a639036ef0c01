//===- ExplainGraph.cpp - the kernels of a model as SVG -------------------===//
//
// A row for each node, in the order of the program. Arcs on the left lead from a node to those that read its results.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ExplainPage.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// The picture's parts from the left: arcs, names, bars of up to all of the work, percents.
static constexpr double kArcs = 60, kNames = 330, kBars = 160, kPercents = 90, kRow = 20;
static constexpr size_t kMaxRows = 200, kMaxName = 50;

static double getSum(const json::Array &nodes, StringRef field) {
  double sum = 0;
  for (const json::Value &node : nodes)
    sum += node.getAsObject()->getNumber(field).value_or(0);
  return sum;
}

static std::string printShare(std::optional<double> part, double all) {
  return part && all > 0 ? formatv("{0:f1} %", 100 * *part / all).str() : "–";
}

void driver::drawGraph(raw_ostream &os, const json::Object &graph) {
  const json::Array &nodes = getArray(graph, "nodes");
  double flops = getSum(nodes, "flops"), seconds = getSum(nodes, "seconds");
  size_t rows = std::min(nodes.size(), kMaxRows);
  os << formatv("<div class=\"scroll\" tabindex=\"0\"><svg class=\"graph\" role=\"img\" viewBox=\"0 0 {0} {1}\" "
                "aria-label=\"{2} kernels in the order of the program, with their shares of operations and time\">",
                kArcs + kNames + kBars + kPercents, kRow * rows, nodes.size());
  for (size_t i = 0; i < rows; ++i) {
    const json::Object &node = *nodes[i].getAsObject();
    double y = kRow * i, x = kArcs + kNames;
    for (const json::Value &input : getArray(node, "inputs")) {
      double from = kRow * *input.getAsInteger() + kRow / 2, to = y + kRow / 2;
      double reach = std::min(8 + (to - from) / 8, kArcs - 10);
      os << formatv("<path class=\"edge\" d=\"M{0} {1}C{2:f1} {1} {2:f1} {3} {0} {3}\"/>", kArcs - 8, from,
                    kArcs - 8 - 4 * reach / 3, to);
    }
    bool isAttention = getText(node, "op").starts_with("attn.");
    std::string label = ((isAttention ? getText(node, "op") : "product") + " " + getText(node, "name")).str();
    os << formatv("<g><title>{0}, {1}</title><circle class=\"{2}\" cx=\"{3}\" cy=\"{4}\" r=\"4\"/>"
                  "<text x=\"{5}\" y=\"{6}\">{7}</text>",
                  escapeHtml(label), escapeHtml(getText(node, "sizes")), isAttention ? "full" : "soft", kArcs - 8,
                  y + kRow / 2, kArcs, y + 14, escapeHtml(StringRef(label).take_front(kMaxName)));
    std::optional<double> work = node.getNumber("flops"), time = node.getNumber("seconds");
    auto draw = [&](StringRef kind, std::optional<double> part, double all, double top) {
      if (part && all > 0)
        os << formatv("<rect class=\"{0}\" x=\"{1}\" y=\"{2}\" width=\"{3:f2}\" height=\"7\"/>", kind, x, top,
                      kBars * *part / all);
    };
    draw("full", work, flops, y + 3);
    draw("partial", time, seconds, y + 10);
    os << formatv("<text x=\"{0}\" y=\"{1}\">{2}{3}</text></g>\n", x + kBars + 4, y + 14, printShare(work, flops),
                  seconds > 0 ? ", " + printShare(time, seconds) : "");
  }
  os << "</svg></div>\n";
  if (nodes.size() > rows)
    os << "<p class=\"note\">" << nodes.size() - rows << " more kernels are left out.</p>\n";
}

void driver::writeGraphs(raw_ostream &os, const json::Object &facts) {
  for (const json::Value &entry : getArray(facts, "graphs")) {
    const json::Object &graph = *entry.getAsObject();
    const json::Array &nodes = getArray(graph, "nodes");
    double seconds = getSum(nodes, "seconds");
    os << "<h3><code>" << escapeHtml(getText(graph, "kernel")) << "</code></h3>\n<p class=\"key\">" << nodes.size()
       << (nodes.size() == 1 ? " op has" : " ops have")
       << " the products; the others are fused with them or run between them.<span class=\"full\"></span>share of the "
          "operations";
    if (seconds > 0)
      os << "<span class=\"partial\"></span>share of the time of all that were timed";
    os << "</p>\n";
    drawGraph(os, graph);
    if (seconds > 0)
      os << formatv(
          "<p>Each was timed alone, the best call: {0:f3} ms together. What the whole takes is under Numbers.</p>\n",
          seconds * 1e3);
  }
}
