//===- ExplainPage.cpp - the page of a kernel's facts ---------------------===//
//
// Made of the JSON alone. Every text that is not ours goes through escapeHtml.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ExplainPage.h"
#include "Bench.h"
#include "ExplainStyle.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

std::string driver::escapeHtml(StringRef text) {
  std::string result;
  raw_string_ostream os(result);
  printHTMLEscaped(text, os);
  return result;
}

const json::Array &driver::getArray(const json::Object &object, StringRef name) {
  static const json::Array none;
  const json::Array *array = object.getArray(name);
  return array ? *array : none;
}

void driver::writeText(raw_ostream &os, const json::Object &text, StringRef what) {
  const json::Array &lines = getArray(text, "lines");
  os << "<pre tabindex=\"0\" aria-label=\"" << what << "\">";
  for (const json::Value &line : lines)
    os << escapeHtml(*line.getAsString()) << "\n";
  os << "</pre>\n";
  int64_t left = text.getInteger("count").value_or(0) - int64_t(lines.size());
  if (left > 0)
    os << "<p class=\"note\">" << left << " more lines are left out.</p>\n";
}

static std::string formatSeconds(double seconds) { return formatv("{0:f1} ms", seconds * 1e3).str(); }

namespace {
/// A part of the page: what it is called, the document that explains it, and how it is written.
struct Part {
  StringLiteral id, title, document;
  bool (*isThere)(const json::Object &facts);
  void (*write)(raw_ostream &os, const json::Object &facts);
};
} // namespace

//===----------------------------------------------------------------------===//
// The input and what became of it
//===----------------------------------------------------------------------===//

static void writeMessages(raw_ostream &os, const json::Object &facts) {
  os << "<div class=\"refused\"><p>The compiler refused this input.</p><pre tabindex=\"0\">"
     << escapeHtml(getText(facts, "messages")) << "</pre></div>\n";
}

/// The remarks in the order of the source; those of one line under it.
static void writeOutcome(raw_ostream &os, const json::Object &facts) {
  std::multimap<int64_t, const json::Object *> remarks;
  for (const json::Value &remark : getArray(facts, "remarks"))
    if (getText(*remark.getAsObject(), "code") != "schedule-compared") // those are beside the schedule
      remarks.emplace(*remark.getAsObject()->getInteger("line"), remark.getAsObject());
  const json::Object *text = facts.getObject("input")->getObject("text");
  const json::Array &lines = getArray(*text, "lines");
  os << "<div class=\"scroll\"><table><thead><tr><th>Line</th><th>Kind</th><th>Code</th><th>What was decided</th></tr>"
        "</thead><tbody>\n";
  int64_t previous = -1;
  for (auto [line, remark] : remarks) {
    if (line != previous && line > 0 && line <= int64_t(lines.size()))
      os << "<tr><td class=\"number\">" << line << "</td><td colspan=\"3\"><code>"
         << escapeHtml(lines[line - 1].getAsString()->trim()) << "</code></td></tr>\n";
    previous = line;
    StringRef kind = getText(*remark, "kind");
    os << "<tr><td></td><td" << (kind == "missed" ? " class=\"missed\"" : "") << ">" << kind << "</td><td><code>"
       << escapeHtml(getText(*remark, "code")) << "</code></td><td>" << escapeHtml(getText(*remark, "text"))
       << "</td></tr>\n";
  }
  os << "</tbody></table></div>\n<details><summary>The input, " << text->getInteger("count").value_or(0)
     << " lines</summary>\n";
  writeText(os, *text, "input");
  os << "</details>\n";
}

//===----------------------------------------------------------------------===//
// Mask, limits
//===----------------------------------------------------------------------===//

static void writeMask(raw_ostream &os, const json::Object &facts) {
  for (const json::Value &entry : getArray(facts, "schedules")) {
    const json::Object &schedule = *entry.getAsObject(), *tiles = schedule.getObject("tiles");
    if (!tiles || tiles->empty())
      continue;
    os << "<h3><code>" << escapeHtml(getText(schedule, "op")) << "</code> of line "
       << schedule.getInteger("line").value_or(0) << "</h3>\n";
    if (const json::Object *counts = tiles->getObject("counts")) {
      os << "<p>Tiles of " << *tiles->getInteger("query_tile") << " queries (down) by "
         << *tiles->getInteger("key_tile") << " keys (to the right).</p><p class=\"key\">";
      for (StringRef kind : {"skipped", "partial", "full"})
        os << "<span class=\"" << kind << "\"></span>" << *counts->getInteger(kind) << " " << kind;
      os << "</p>\n";
      drawTiles(os, *tiles);
      if (*tiles->getInteger("every") > 1)
        os << "<p class=\"note\">One row in " << *tiles->getInteger("every") << " is drawn.</p>\n";
    } else {
      os << "<p>Which tiles are skipped is not known when compiling: " << escapeHtml(getText(*tiles, "unknown"))
         << ".</p>\n";
    }
    if (const json::Object *predicate = tiles->getObject("predicate")) {
      os << "<details><summary>The predicate that keeps a key</summary>\n";
      writeText(os, *predicate, "predicate");
      os << "</details>\n";
    }
  }
}

static void writeLimits(raw_ostream &os, const json::Object &facts) {
  for (const json::Value &entry : getArray(facts, "costs")) {
    const json::Object &cost = *entry.getAsObject();
    os << "<h3><code>" << escapeHtml(getText(cost, "kernel")) << "</code></h3>\n";
    if (std::optional<StringRef> why = cost.getString("unknown")) {
      os << "<p>Its work is not known: " << escapeHtml(*why) << ".</p>\n";
      continue;
    }
    os << formatv("<p>{0:f3} GFLOP on {1:f3} MB of arguments and results: {2:f1} FLOP a byte. {3}.</p>\n",
                  *cost.getNumber("flops") * 1e-9, *cost.getNumber("bytes") * 1e-6, *cost.getNumber("intensity"),
                  *cost.getBoolean("reads_bound") ? "Few query rows share a row of K, so reads are expected to bound it"
                                                  : "Multiply-adds are expected to bound it");
  }
}

/// What --run found: the lines of the check, and a roofline of each timed kernel.
static void writeNumbers(raw_ostream &os, const json::Object &facts) {
  const json::Object &check = *facts.getObject("check");
  os << "<p" << (*check.getBoolean("passed") ? "" : " class=\"missed\"")
     << ">Compared with the reference in f64:</p>\n";
  writeText(os, *check.getObject("report"), "check");
  for (const json::Value &entry : getArray(facts, "measured")) {
    const json::Object &record = *entry.getAsObject();
    StringRef title = getText(record, record.getString("problem") ? "problem" : "kernel");
    os << "<h3><code>" << escapeHtml(title) << "</code></h3>\n"
       << formatv("<p>Best {0:f3} ms, median {1:f3} ms on {2}, {3}", *record.getNumber("best_ms"),
                  *record.getNumber("median_ms"), printThreads(*record.getInteger("threads")),
                  escapeHtml(getText(record, "machine")));
    if (std::optional<double> share = record.getNumber("share"))
      os << formatv(": {0:f1} % of the measured ceiling of {1:f1} {2} ({3})", 100 * *share,
                    *record.getNumber("ceiling"), getText(record, "ceiling_unit"), getText(record, "ceiling_of"));
    os << ".</p>\n";
    if (record.getNumber("read_ceiling"))
      drawRoofline(os, record);
  }
}

//===----------------------------------------------------------------------===//
// The phases
//===----------------------------------------------------------------------===//

/// A line of IR without the names of its values, which are numbered anew in each phase.
static std::string dropNames(StringRef line) {
  std::string result;
  for (size_t i = 0; i < line.size(); ++i) {
    result += line[i];
    if (line[i] == '%')
      while (i + 1 < line.size() && (isAlnum(line[i + 1]) || line[i + 1] == '_' || line[i + 1] == '-'))
        ++i;
  }
  return result;
}

/// The phases beside each other. Lines that the phase in front does not have are marked.
static void writePhases(raw_ostream &os, const json::Object &facts) {
  os << "<p class=\"note\">Marked lines are not in the phase in front, up to the names of values.</p>\n"
        "<div class=\"phases\" tabindex=\"0\" aria-label=\"phases\">\n";
  StringMap<int> previous;
  for (const json::Value &entry : getArray(facts, "phases")) {
    const json::Object &phase = *entry.getAsObject();
    const json::Array &lines = getArray(phase, "lines"), &sources = getArray(phase, "sources");
    os << "<section><h3>" << getText(phase, "name") << ", " << phase.getInteger("count").value_or(0)
       << " lines</h3>\n<pre class=\"ir\" tabindex=\"0\" aria-label=\"IR after " << getText(phase, "name") << "\">";
    bool isFirst = previous.empty();
    StringMap<int> own;
    for (auto [line, source] : zip_equal(lines, sources)) {
      std::string text = dropNames(*line.getAsString());
      bool isNew = !isFirst && previous[text]-- <= 0;
      ++own[text];
      os << "<span" << (isNew ? " class=\"new\"" : "");
      if (int64_t number = *source.getAsInteger())
        os << " data-line=\"" << number << "\"";
      os << ">" << escapeHtml(*line.getAsString()) << "</span>";
    }
    os << "</pre>\n";
    int64_t left = phase.getInteger("count").value_or(0) - int64_t(lines.size());
    if (left > 0)
      os << "<p class=\"note\">" << left << " more lines are left out; --dump-phases=DIR writes them.</p>\n";
    os << "</section>\n";
    previous = std::move(own);
  }
  os << "</div>\n";
}

//===----------------------------------------------------------------------===//
// The page
//===----------------------------------------------------------------------===//

template <size_t N> static bool hasAny(const json::Object &facts, const StringLiteral (&names)[N]) {
  return any_of(names, [&](StringRef name) { return !getArray(facts, name).empty(); });
}

static constexpr Part kParts[] = {
    {"refused", "Why it was refused", "FAQ.md",
     [](const json::Object &facts) { return getText(facts, "status") == "refused"; }, writeMessages},
    {"outcome", "What became of the input", "Using.md",
     [](const json::Object &facts) { return facts.getObject("input")->getObject("text") != nullptr; }, writeOutcome},
    {"graph", "The kernels", "Using.md", [](const json::Object &facts) { return hasAny(facts, {"graphs"}); },
     writeGraphs},
    {"mask", "The mask", "Passes.md", [](const json::Object &facts) { return hasAny(facts, {"schedules"}); },
     writeMask},
    {"schedule", "The schedule", "Using.md", [](const json::Object &facts) { return hasAny(facts, {"schedules"}); },
     writeSchedule},
    {"limits", "The limits", "Bounds.md", [](const json::Object &facts) { return hasAny(facts, {"costs"}); },
     writeLimits},
    {"numbers", "Numbers", "Performance.md",
     [](const json::Object &facts) { return facts.getObject("check") != nullptr; }, writeNumbers},
    {"code", "The code", "Performance.md", [](const json::Object &facts) { return hasAny(facts, {"loops", "ptx"}); },
     writeCode},
    {"phases", "The phases", "Passes.md", [](const json::Object &facts) { return hasAny(facts, {"phases"}); },
     writePhases},
};

/// The page up to its heading.
static void writeHead(raw_ostream &os, StringRef title) {
  std::string text = escapeHtml(title);
  os << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>attn: "
     << text << "</title>\n<style>" << kPageStyle << "</style>\n</head>\n<body>\n<header>\n<h1>" << text << "</h1>\n";
}

void driver::printTable(raw_ostream &os, ArrayRef<std::string> files, ArrayRef<std::array<std::string, 3>> rows,
                        size_t numEqual) {
  writeHead(os, files[0] + " and " + files[1]);
  os << "</header>\n<main>\n<p>" << rows.size() << " facts differ, " << numEqual
     << " are equal.</p>\n<div class=\"scroll\"><table><thead><tr><th>Fact</th><th>" << escapeHtml(files[0])
     << "</th><th>" << escapeHtml(files[1]) << "</th></tr></thead><tbody>\n";
  for (const auto &[name, left, right] : rows)
    os << "<tr><td><code>" << escapeHtml(name) << "</code></td><td>" << escapeHtml(left) << "</td><td>"
       << escapeHtml(right) << "</td></tr>\n";
  os << "</tbody></table></div>\n</main>\n</body>\n</html>\n";
}

void driver::printPage(raw_ostream &os, const json::Object &facts) {
  const json::Object &input = *facts.getObject("input");
  writeHead(os, getText(input, "name"));
  os << "<p>" << escapeHtml(getText(input, "sentence")) << " "
     << (getText(facts, "status") == "compiled" ? "Compiled" : "Refused") << " for <code>"
     << escapeHtml(getText(facts, "target_option")) << "</code> by attn " << getText(facts, "attn") << " on "
     << getText(facts, "time");
  if (std::optional<double> seconds = facts.getNumber("compile_seconds"))
    os << " in " << formatSeconds(*seconds);
  os << ".</p>\n<nav aria-label=\"parts\"><ul>\n";
  SmallVector<const Part *> parts;
  for (const Part &part : kParts)
    if (part.isThere(facts))
      parts.push_back(&part);
  for (const Part *part : parts)
    os << "<li><a href=\"#" << part->id << "\">" << part->title << "</a></li>\n";
  os << "</ul></nav>\n</header>\n<main>\n";
  for (const Part *part : parts) {
    os << "<section id=\"" << part->id << "\">\n<h2>" << part->title << "</h2>\n";
    part->write(os, facts);
    os << "<p class=\"note\">More: docs/" << part->document << "</p>\n</section>\n";
  }
  os << "</main>\n<script>" << kPageScript << "</script>\n</body>\n</html>\n";
}
