//===- Faults.cpp - one fault after the other -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Faults.h"
#include "CudaEmulator/CudaEmulator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <set>

using namespace llvm;
using namespace attn;
using namespace attn::ptx;

namespace {

/// A kernel that executes this many times more instructions than expected hangs.
constexpr uint64_t kPatience = 4;
constexpr uint64_t kLeastInstructions = 20000;

class FaultRunner {
public:
  FaultRunner(ProblemRunner &runner, StringRef ptx) : runner(runner) { ptx.split(lines, '\n'); }

  /// Records the behaviour of the text without a fault.
  Error observe(uint64_t maxInstructions) {
    emulator.keepsLaunches = emulator.tracesWrites = true;
    uint64_t most = 0;
    for (InputSet &input : runner.getInputs()) {
      emulator.trace = emulator.memoryTrace = 0;
      emulator.launches.clear();
      if (Error error = runner.call(input))
        return error;
      for (const OutputError &error : runner.compare(input))
        if (!error.isFine())
          return createStringError(input.name + ": '" + error.name + "' is off without a fault");
      traces.push_back({emulator.trace, emulator.memoryTrace});
      for (const LaunchRecord &launch : emulator.launches) {
        most = std::max(most, launch.report.warpInstructions());
        for (auto [counter, instruction] : zip_equal(launch.report.counters, launch.report.program->instructions))
          if (counter.executions)
            executed.insert(instruction.line);
      }
    }
    emulator.launches.clear();
    emulator.keepsLaunches = false;
    emulator.isQuiet = true;
    emulator.maxInstructions = maxInstructions ? maxInstructions : std::max(kPatience * most, kLeastInstructions);
    return Error::success();
  }

  std::string run(const Fault &fault) {
    if (fault.line < 1 || fault.line > lines.size())
      return "invalid";
    if (!executed.contains(fault.line))
      return "unreached";
    SmallVector<StringRef, 0> changed = lines;
    changed[fault.line - 1] = fault.text;
    if (Error error = emulator.replaceModules(join(changed, "\n"))) {
      consumeError(std::move(error));
      return "invalid";
    }
    bool isSame = true, isSameMemory = true;
    for (auto [input, trace] : zip_equal(runner.getInputs(), traces)) {
      emulator.trace = emulator.memoryTrace = 0;
      emulator.findings.clear();
      if (Error error = runner.call(input)) {
        std::string message = toString(std::move(error));
        return emulator.findings.empty() ? "finding refused " + StringRef(message).split('\n').first.str()
                                         : describeFindings();
      }
      for (const OutputError &error : runner.compare(input))
        if (!error.isFine())
          return "wrong " + input.name;
      isSame &= emulator.trace == trace.writes && emulator.memoryTrace == trace.memory;
      isSameMemory &= emulator.memoryTrace == trace.memory;
    }
    return isSame ? "same" : isSameMemory ? "unseen, same bits" : "unseen";
  }

private:
  /// The kind of the first finding: "PTX line 12: race: …".
  std::string describeFindings() const {
    const StringRef kind = StringRef(emulator.findings).split(": ").second.split(": ").first;
    return kind == "unknown-instruction" || kind == "invalid-operand" ? "invalid" : ("finding " + kind).str();
  }

  ProblemRunner &runner;
  CudaEmulator &emulator = CudaEmulator::get();
  SmallVector<StringRef, 0> lines;
  struct Trace {
    uint64_t writes, memory;
  };
  std::vector<Trace> traces;   ///< by input
  std::set<unsigned> executed; ///< line numbers
};

} // namespace

Expected<std::vector<Fault>> attn::ptx::readFaults(StringRef path) {
  auto buffer = MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return createStringError("'" + path + "': " + buffer.getError().message());
  SmallVector<StringRef, 0> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::vector<Fault> faults;
  for (StringRef line : lines) {
    auto [number, text] = line.split('\t');
    Fault fault{0, text.str()};
    if (number.getAsInteger(10, fault.line))
      return createStringError("expected LINE<tab>TEXT in '" + path + "', found '" + line + "'");
    faults.push_back(std::move(fault));
  }
  return faults;
}

Error attn::ptx::runFaults(const ProblemRun &run, ArrayRef<Fault> faults) {
  Expected<ProblemRunner> runner = ProblemRunner::create(run);
  if (!runner)
    return runner.takeError();
  FaultRunner faultRunner(*runner, run.ptx);
  if (Error error = faultRunner.observe(run.maxInstructions))
    return error;
  for (const Fault &fault : faults) {
    outs() << faultRunner.run(fault) << "\n";
    outs().flush();
  }
  return Error::success();
}
