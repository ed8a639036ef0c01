//===- Report.cpp - findings and counters of a launch ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <climits>

using namespace llvm;
using namespace attn::ptx;

namespace {

/// In the order of FindingKind.
constexpr StringLiteral kNames[] = {"unknown-instruction",
                                    "invalid-operand",
                                    "out-of-bounds",
                                    "misaligned",
                                    "uninitialised-read",
                                    "write-to-read-only",
                                    "race",
                                    "unordered-add",
                                    "async-before-wait",
                                    "barrier-mismatch",
                                    "deadlock",
                                    "divergent-aligned",
                                    "undefined-shuffle",
                                    "undefined-register",
                                    "invalid-value",
                                    "mbarrier",
                                    "missing-proxy-fence",
                                    "wgmma-before-wait",
                                    "missing-wgmma-fence",
                                    "trap",
                                    "instruction-limit"};

json::Array toArray(Dim3 value) { return json::Array{int64_t(value.x), int64_t(value.y), int64_t(value.z)}; }

json::Object toObject(const std::map<std::string, uint64_t> &mix) {
  json::Object object;
  for (auto &[opcode, count] : mix)
    object[opcode] = int64_t(count);
  return object;
}

} // namespace

StringRef attn::ptx::getFindingName(FindingKind kind) { return kNames[unsigned(kind)]; }

void Report::add(FindingKind kind, int line, StringRef opcode, const Twine &message, Dim3 blockIndex, Dim3 thread) {
  auto [entry, isNew] = known.try_emplace({kind, line}, findings.size());
  if (isNew)
    findings.push_back({kind, line, opcode.str(), message.str(), blockIndex, thread});
  else
    ++findings[entry->second].count;
}

const Finding *Report::find(FindingKind kind) const {
  for (const Finding &finding : findings)
    if (finding.kind == kind)
      return &finding;
  return nullptr;
}

bool Report::has(FindingKind kind) const { return find(kind); }

std::string Report::text() const {
  std::string result;
  raw_string_ostream stream(result);
  for (const Finding &finding : findings) {
    stream << "PTX line " << finding.line << ": " << getFindingName(finding.kind) << ": " << finding.message;
    if (finding.count > 1)
      stream << " (and " << finding.count - 1 << " more times)";
    stream << "\n";
  }
  return result;
}

uint64_t Report::bankConflicts() const {
  uint64_t sum = 0;
  for (const Counters &counter : counters)
    sum += counter.transactions - counter.idealTransactions;
  return sum;
}

uint64_t Report::warpInstructions() const {
  uint64_t sum = 0;
  for (const Counters &counter : counters)
    sum += counter.executions;
  return sum;
}

std::vector<int> Report::neverExecuted() const {
  std::vector<int> lines;
  for (size_t i = 0; i < counters.size(); ++i)
    if (!counters[i].executions)
      lines.push_back(program->instructions[i].line);
  return lines;
}

std::map<std::string, uint64_t> Report::mix(const Loop *loop) const {
  std::map<std::string, uint64_t> result;
  for (size_t i = 0; i < counters.size(); ++i)
    if (counters[i].executions && (!loop || loop->contains[i]))
      result[program->opcodes[i]] += counters[i].executions;
  return result;
}

const Loop *Report::mainLoop() const {
  const Loop *best = nullptr;
  uint64_t most = 0;
  for (const Loop &loop : program->loops) {
    uint64_t sum = 0;
    for (size_t i = 0; i < counters.size(); ++i) {
      bool isOwn = loop.contains[i];
      for (const Loop &other : program->loops)
        isOwn &= other.depth <= loop.depth || !other.contains[i];
      sum += isOwn ? counters[i].executions : 0;
    }
    if (sum <= most)
      continue;
    most = sum;
    best = &loop;
  }
  return best;
}

json::Value Report::toJSON() const {
  json::Array findingList;
  for (const Finding &finding : findings)
    findingList.push_back(json::Object{{"kind", getFindingName(finding.kind)},
                                       {"line", finding.line},
                                       {"opcode", finding.opcode},
                                       {"message", finding.message},
                                       {"block", toArray(finding.block)},
                                       {"thread", toArray(finding.thread)},
                                       {"count", int64_t(finding.count)}});
  json::Object result{{"findings", std::move(findingList)},
                      {"grid", toArray(grid)},
                      {"block", toArray(block)},
                      {"sharedBytes", int64_t(sharedBytes)},
                      {"seconds", seconds}};
  if (!program || counters.empty())
    return result;

  result["kernel"] = program->function->name;
  result["warpInstructions"] = int64_t(warpInstructions());
  result["mix"] = toObject(mix());
  result["instructions"] = int64_t(counters.size());
  result["neverExecuted"] = json::Array(neverExecuted());

  json::Array shared, global;
  uint64_t narrow = 0, globalAccesses = 0;
  for (size_t i = 0; i < counters.size(); ++i) {
    const Counters &counter = counters[i];
    const int line = program->instructions[i].line;
    if (counter.transactions)
      shared.push_back(json::Object{{"line", line},
                                    {"opcode", program->opcodes[i]},
                                    {"accesses", int64_t(counter.sharedAccesses)},
                                    {"transactions", int64_t(counter.transactions)},
                                    {"conflicts", int64_t(counter.transactions - counter.idealTransactions)}});
    if (counter.sectors) {
      global.push_back(json::Object{{"line", line},
                                    {"opcode", program->opcodes[i]},
                                    {"accesses", int64_t(counter.globalAccesses)},
                                    {"narrow", int64_t(counter.narrowGlobal)},
                                    {"sectors", int64_t(counter.sectors)}});
      globalAccesses += counter.globalAccesses;
      narrow += counter.narrowGlobal;
    }
  }
  result["shared"] = json::Object{{"bankConflicts", int64_t(bankConflicts())}, {"instructions", std::move(shared)}};
  result["global"] = json::Object{
      {"accesses", int64_t(globalAccesses)}, {"narrow", int64_t(narrow)}, {"instructions", std::move(global)}};

  json::Array loopList;
  const Loop *main = mainLoop();
  for (const Loop &loop : program->loops) {
    uint64_t sum = 0, conflicts = 0;
    int first = INT_MAX, last = 0;
    for (size_t i = 0; i < counters.size(); ++i) {
      if (!loop.contains[i])
        continue;
      sum += counters[i].executions;
      conflicts += counters[i].transactions - counters[i].idealTransactions;
      first = std::min(first, program->instructions[i].line);
      last = std::max(last, program->instructions[i].line);
    }
    loopList.push_back(json::Object{{"label", loop.label},
                                    {"lines", json::Array{first, last}},
                                    {"depth", loop.depth},
                                    {"main", &loop == main},
                                    {"iterations", int64_t(counters[loop.header].executions)},
                                    {"warpInstructions", int64_t(sum)},
                                    {"bankConflicts", int64_t(conflicts)},
                                    {"mix", toObject(mix(&loop))}});
  }
  result["loops"] = std::move(loopList);
  return result;
}
