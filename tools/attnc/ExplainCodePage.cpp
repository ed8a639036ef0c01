//===- ExplainCodePage.cpp - main loops and PTX on the page ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ExplainPage.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// The mix of instructions as a bar and in words.
static void writeMix(raw_ostream &os, const json::Object &code, StringRef more) {
  drawMix(os, code);
  os << "<p>";
  for (const json::Value &part : getArray(code, "mix"))
    if (int64_t count = *(*part.getAsArray())[1].getAsInteger())
      os << count << " " << *(*part.getAsArray())[0].getAsString() << ", ";
  os << more << ".</p>\n";
}

/// What a GPU's launches take, where ptxas was found.
static void writeLaunches(raw_ostream &os, const json::Object &facts) {
  const json::Object *manifest = facts.getObject("manifest");
  os << "<div class=\"scroll\"><table><thead><tr><th>Kernel</th><th>Grid</th><th>Block</th><th>Registers</th>"
        "<th>Bytes spilled</th><th>Shared bytes</th></tr></thead><tbody>\n";
  auto printSizes = [](const json::Array &sizes) {
    return join(map_range(sizes, [](const json::Value &size) { return formatv("{0}", size).str(); }), " × ");
  };
  for (const json::Value &kernel : getArray(*manifest, "kernels"))
    for (const json::Value &entry : getArray(*kernel.getAsObject(), "launches")) {
      const json::Object &launch = *entry.getAsObject();
      auto print = [&](StringRef name) {
        std::optional<int64_t> value = launch.getInteger(name);
        return value ? std::to_string(*value) : std::string("–");
      };
      os << "<tr><td><code>" << escapeHtml(getText(launch, "kernel")) << "</code></td><td>"
         << printSizes(getArray(launch, "grid")) << "</td><td>" << printSizes(getArray(launch, "block"))
         << "</td><td class=\"number\">" << print("registers") << "</td><td class=\"number\">" << print("spill_bytes")
         << "</td><td class=\"number\">" << print("dynamic_shared_bytes") << "</td></tr>\n";
    }
  os << "</tbody></table></div>\n";
}

/// PTX, or machine code for a GPU, with its mix.
static void writeListings(raw_ostream &os, const json::Array &listings, StringRef what) {
  for (const json::Value &entry : listings) {
    const json::Object &code = *entry.getAsObject();
    os << "<h3><code>" << escapeHtml(getText(code, "name")) << "</code>: " << *code.getInteger("instructions")
       << " instructions " << what << "</h3>\n";
    writeMix(os, code, "the rest for addresses and control");
    os << "<details><summary>Its code, " << code.getInteger("count").value_or(0) << " lines</summary>\n";
    writeText(os, code, "code");
    os << "</details>\n";
  }
}

void driver::writeCode(raw_ostream &os, const json::Object &facts) {
  for (const json::Value &entry : getArray(facts, "loops")) {
    const json::Object &loop = *entry.getAsObject();
    os << formatv("<h3><code>{0}+{1:x}</code>: {2} instructions</h3>\n", escapeHtml(getText(loop, "function")),
                  *loop.getInteger("start"), *loop.getInteger("instructions"));
    writeMix(os, loop, std::to_string(loop.getInteger("stack").value_or(0)) + " accesses to the stack");
    StringRef processor = getText(facts, "processor");
    if (std::optional<double> cycles = loop.getNumber("cycles"))
      os << formatv("<p>{0:f1} cycles a round, {1:f1} instructions a cycle, by LLVM's model of <code>{2}</code>, as "
                    "llvm-mca has it: all loads from the L1 cache.</p>\n",
                    *cycles, *loop.getInteger("instructions") / *cycles, escapeHtml(processor));
    else
      os << "<p class=\"note\">LLVM has no model of the cycles of <code>" << escapeHtml(processor) << "</code>.</p>\n";
    os << "<details><summary>Its code</summary>\n";
    writeText(os, *loop.getObject("assembly"), "assembly");
    os << "</details>\n";
  }
  const json::Array &kernels = getArray(facts, "ptx");
  if (!kernels.empty())
    writeLaunches(os, facts);
  for (const json::Value &entry : getArray(facts, "timelines")) {
    const json::Object &timeline = *entry.getAsObject();
    os << "<h3><code>" << escapeHtml(getText(timeline, "kernel")) << "</code>: copies beside products</h3>\n<p>"
       << (*timeline.getBoolean("producer")
               ? "A producer copies tiles into " + std::to_string(*timeline.getInteger("stages")) +
                     " stages: a copy may be in flight from the release of its stage to the wait for it. "
               : "The warps copy the next tiles themselves: a copy is in flight from its op to the wait for it. ")
       << "Bars are in the order of the program, not to the scale of time.</p>\n";
    drawTimeline(os, timeline);
  }
  writeListings(os, getArray(facts, "sass"), "of machine code in a round of its loop");
  writeListings(os, kernels, "of PTX");
}
