//===- ExplainSchedulePage.cpp - schedules on the page --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include "ExplainPage.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// What a field of a schedule says (include/attn/Schedule/ScheduleAttrs.td).
static StringRef getMeaning(StringRef field) {
  return StringSwitch<StringRef>(field)
      .Case("query_tile", "rows of Q that a tile has")
      .Case("key_tile", "keys that a tile has")
      .Case("lanes", "elements of a vector register")
      .Case("block_rows", "rows of the tile whose accumulators fill the registers")
      .Case("block_vectors", "vectors beside each other in the registers")
      .Case("block_queries", "query rows whose accumulators fill the registers")
      .Case("instruction", "what multiplies")
      .Case("prefetch", "rows of K and V that are prefetched ahead; 0 leaves it to the processor")
      .Case("overlap", "products of one unit of rows run beside the softmax of another")
      .Case("pack_first", "K and V are packed once, in front of the loop over query tiles")
      .Case("parts", "parts of bf16 that stand for a wider element")
      .Case("split_keys", "keys of a range that has a running state of its own; 0 for all")
      .Case("kv_heads", "heads of K of a tile")
      .Case("heads", "query heads of a tile that share a head of K; 0 for all")
      .Case("chunks", "chunks of queries and keys that are tasks of their own")
      .Case("warps", "warps of a block")
      .Case("warp_rows", "rows that a warp holds")
      .Case("shared_keys", "the heads that share a head of K are rows of one tile")
      .Case("stages", "tiles of K and V in shared memory at once")
      .Case("producer", "a warp of its own copies K and V")
      .Case("fused", "one kernel has all gradients")
      .Default("");
}

/// The fields of a schedule that another one does not have; all where it is of another kind.
static std::string getDifference(StringRef schedule, StringRef other) {
  auto [kind, fields] = schedule.split('<');
  auto [otherKind, otherFields] = other.split('<');
  SmallVector<StringRef> own, others;
  fields.rtrim('>').split(own, ", ");
  otherFields.rtrim('>').split(others, ", ");
  if (kind != otherKind)
    return other.str();
  return join(make_filter_range(others, [&](StringRef field) { return !is_contained(own, field); }), ", ");
}

/// Schedules beside the chosen one, each with what was found of it.
static void writeOthers(raw_ostream &os, StringRef title, StringRef schedule,
                        ArrayRef<std::pair<StringRef, std::string>> others) {
  if (others.empty())
    return;
  os << "<div class=\"scroll\"><table><thead><tr><th>" << title << "</th><th>Found</th></tr></thead><tbody>\n";
  for (const auto &[other, finding] : others) {
    std::string difference = getDifference(schedule, other);
    os << "<tr><td><code>" << (difference.empty() ? "the one above" : escapeHtml(difference)) << "</code></td><td>"
       << escapeHtml(finding) << "</td></tr>\n";
  }
  os << "</tbody></table></div>\n";
}

/// What attnc tune measured, or how to have it measured.
static void writeTuned(raw_ostream &os, const json::Object &facts) {
  const json::Object &input = *facts.getObject("input");
  const json::Object *tuned = facts.getObject("tuned");
  if (!tuned) {
    if (getText(input, "kind") == "problem")
      os << "<p>No tuner measured this problem. It times others on this machine:</p>\n<pre tabindex=\"0\">attnc tune "
            "--problem=\""
         << escapeHtml(getText(input, "name")) << "\" --target=" << escapeHtml(getText(facts, "target_option"))
         << " -o tuned.json\nattnc explain … --tuned=tuned.json</pre>\n";
    return;
  }
  const json::Array &timed = getArray(*tuned, "timed");
  os << formatv(
      "<p>attnc tune timed {0} schedules on {1}: the best call took {2:f4} ms, and {3:f4} ms with the policy's "
      "schedule.</p>\n",
      timed.size(), printThreads(*tuned->getInteger("threads")), *tuned->getNumber("seconds") * 1e3,
      *tuned->getNumber("policy_seconds") * 1e3);
  std::vector<std::pair<StringRef, std::string>> rows;
  for (const json::Value &entry : timed)
    rows.push_back({getText(*entry.getAsObject(), "schedule"),
                    formatv("{0:f3} times the time of the policy's", *entry.getAsObject()->getNumber("of_policy"))});
  writeOthers(os, "Timed, unlike the schedule above", getText(*tuned, "schedule"), rows);
}

void driver::writeSchedule(raw_ostream &os, const json::Object &facts) {
  for (const json::Value &entry : getArray(facts, "schedules")) {
    const json::Object &schedule = *entry.getAsObject();
    os << "<h3><code>" << escapeHtml(getText(schedule, "op")) << "</code> of line "
       << schedule.getInteger("line").value_or(0) << "</h3>\n<div class=\"scroll\"><table><tbody>\n";
    for (const json::Value &field : getArray(schedule, "fields")) {
      StringRef name = *(*field.getAsArray())[0].getAsString();
      os << "<tr><th scope=\"row\"><code>" << name << "</code></th><td class=\"number\">"
         << escapeHtml(*(*field.getAsArray())[1].getAsString()) << "</td><td>" << getMeaning(name) << "</td></tr>\n";
    }
    os << "</tbody></table></div>\n<p>By hand, any field may be another; the policy chooses those that are left "
          "out:</p>\n"
       << "<pre tabindex=\"0\">--schedule=\"" << escapeHtml(getText(schedule, "schedule")) << "\"</pre>\n";
    std::vector<std::pair<StringRef, std::string>> rows;
    for (const json::Value &other : getArray(schedule, "compared"))
      rows.push_back({getText(*other.getAsObject(), "schedule"), getText(*other.getAsObject(), "finding").str()});
    writeOthers(os, "The policy compared it with", getText(schedule, "schedule"), rows);
  }
  writeTuned(os, facts);
}
