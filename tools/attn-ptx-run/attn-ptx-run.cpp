//===- attn-ptx-run.cpp - executes a PTX kernel on the host ---------------===//
//
//   attn-ptx-run KERNEL.ptx --entry=NAME --grid=4,1,1 --block=128 --shared=8192 --arg=in:q.npy … --report=report.json
//
//   attn-ptx-run [KERNEL.ptx] --problem='b1 hq2 sq64 sk64 d64 bf16'
//
// Runs the kernel in the emulator of test/lib/PTXEmulator and writes its outputs. If the kernel does something wrong,
// it reports that and writes the report, but no outputs. With --problem or --ir, the host code of that source launches
// the PTX (without KERNEL.ptx, attn's own), and the outputs are compared with the reference.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Faults.h"
#include "Summary.h"
#include "attn/Support/OutputFile.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace attn;
using namespace attn::ptx;

namespace {

constexpr int kRefused = 1, kFaulty = 2, kWrong = 1;

cl::OptionCategory category("attn-ptx-run options");
cl::cat inCategory(category);
cl::opt<std::string> input(cl::Positional, cl::desc("KERNEL.ptx (- for standard input)"), inCategory);
cl::opt<std::string> entry("entry", cl::desc("which kernel (default: the only one)"), cl::value_desc("NAME"),
                           inCategory);
cl::opt<std::string> grid("grid", cl::desc("blocks"), cl::value_desc("X,Y,Z"), cl::init("1"), inCategory);
cl::opt<std::string> block("block", cl::desc("threads of a block"), cl::value_desc("X,Y,Z"), inCategory);
cl::opt<uint64_t> shared("shared", cl::desc("bytes of dynamic shared memory"), cl::value_desc("BYTES"), cl::init(0),
                         inCategory);
cl::list<std::string> arguments("arg", cl::desc("the next parameter of the kernel; see below"), cl::value_desc("WORD"),
                                inCategory);
cl::opt<std::string> reportFile("report", cl::desc("write findings and counts as JSON, - for standard output"),
                                cl::value_desc("FILE.json"), inCategory);
cl::opt<uint64_t> maxInstructions("max-instructions",
                                  cl::desc("end after so many instructions of warps (default 2^30)"),
                                  cl::value_desc("N"), cl::init(uint64_t(1) << 30), inCategory);
cl::opt<unsigned> resident("resident", cl::desc("blocks that are alive at once, where they may wait for each other"),
                           cl::value_desc("N"), cl::init(Launch().resident), inCategory);
cl::opt<uint64_t> turns("turns",
                        cl::desc("seed of the order in which blocks start and take turns (default: by their numbers; "
                                 "with --problem, of each input another)"),
                        cl::value_desc("SEED"), cl::init(0), inCategory);
cl::opt<std::string> problem("problem", cl::desc("run as the kernels of this problem line, and compare"),
                             cl::value_desc("LINE"), inCategory);
cl::opt<std::string> irFile("ir", cl::desc("run as the kernels of this source, and compare"),
                            cl::value_desc("FILE.mlir"), inCategory);
cl::opt<std::string> kernelName("kernel", cl::desc("which kernel of the source (default: the first)"), inCategory);
cl::opt<std::string> schedule("schedule", cl::desc("the schedule that the PTX was made with"), inCategory);
cl::opt<uint64_t> seed("seed", cl::desc("seed of random inputs"), cl::init(0), inCategory);
cl::list<std::string> sizes("size", cl::desc("dynamic sizes, as sq=113,sk=203 (default: random)"),
                            cl::value_desc("NAME=N"), cl::CommaSeparated, inCategory);
cl::list<std::string> moreSizes("more-sizes", cl::desc("other sizes to run as well, as sq=114,sk=204"),
                                cl::value_desc("NAME=N,..."), inCategory);
cl::list<double> magnitudes("magnitude",
                            cl::desc("draw Q so many times as large, one run for each (default: "
                                     "rows of several sizes, in three runs)"),
                            cl::value_desc("X"), cl::CommaSeparated, inCategory);
cl::opt<unsigned> multiprocessors("multiprocessors",
                                  cl::desc("of the device: persistent blocks are no more (default 3)"),
                                  cl::value_desc("N"), cl::init(0), inCategory);
cl::list<std::string> targets("target",
                              cl::desc("of what attn makes, without KERNEL.ptx (default sm_80); of several, "
                                       "one runs after the other"),
                              cl::value_desc("NAME"), cl::CommaSeparated, inCategory);
cl::opt<std::string> faultFile("faults", cl::desc("plant each of these, LINE<tab>TEXT, and say whether it is seen"),
                               cl::value_desc("FILE"), inCategory);
const std::string extraHelp = std::string("\nA WORD of --arg is one of\n") + kArgumentHelp;
cl::extrahelp help(extraHelp);

Expected<ptx::Module> readModule() {
  auto buffer = MemoryBuffer::getFileOrSTDIN(input, /*IsText=*/true);
  if (!buffer)
    return createStringError("'" + input + "': " + buffer.getError().message());
  return parseModule((*buffer)->getBuffer().str(), input);
}

Expected<std::string> getEntry(const ptx::Module &module) {
  if (!entry.empty())
    return entry;
  if (module.functions.size() == 1)
    return module.functions.front().name;
  std::string names;
  for (const Function &function : module.functions)
    names += (names.empty() ? "" : ", ") + function.name;
  return createStringError("expected --entry=NAME for a module of " + Twine(module.functions.size()) + " kernels" +
                           (names.empty() ? "" : " (" + names + ")"));
}

/// The host code decides what is launched, so flags for it could only contradict.
Error checkProblemFlags() {
  if (!problem.empty() && !irFile.empty())
    return createStringError("expected --problem=LINE or --ir=FILE.mlir, found both");
  const cl::Option *const others[] = {&entry, &grid, &block, &shared};
  for (const cl::Option *option : others)
    if (option->getNumOccurrences() != 0)
      return createStringError("expected no --" + option->ArgStr +
                               " with --problem and --ir, found it; the host's "
                               "side says how its kernels are launched");
  return Error::success();
}

Expected<ProblemRun> createProblemRun() {
  ProblemRun run;
  run.source.file = irFile;
  if (!problem.empty())
    run.source.problem = problem;
  if (!input.empty()) {
    auto buffer = MemoryBuffer::getFileOrSTDIN(input, /*IsText=*/true);
    if (!buffer)
      return createStringError("'" + input + "': " + buffer.getError().message());
    run.ptx = (*buffer)->getBuffer().str();
  }
  run.kernel = kernelName;
  run.targets = targets;
  if (run.targets.empty())
    run.targets = {"sm_80"};
  run.arguments.seed = seed;
  run.schedule = schedule;
  run.multiprocessors = multiprocessors;
  run.resident = resident;
  run.turns = turns;
  run.maxInstructions = faultFile.empty() || maxInstructions.getNumOccurrences() ? uint64_t(maxInstructions) : 0;
  for (double magnitude : magnitudes) {
    run.kinds.push_back(getKind(magnitude));
    if (magnitude == 1) {
      run.kinds.push_back(run.kinds.back());
      run.kinds.back().separatesKeys = true;
    }
  }
  Expected<std::map<std::string, int64_t>> given = driver::parseSizes(std::vector<std::string>(sizes));
  if (!given)
    return given.takeError();
  run.arguments.sizes = std::move(*given);
  for (StringRef words : moreSizes) {
    SmallVector<StringRef, 4> parts;
    words.split(parts, ',');
    Expected<std::map<std::string, int64_t>> more =
        driver::parseSizes(std::vector<std::string>(parts.begin(), parts.end()));
    if (!more)
      return more.takeError();
    run.moreSizes.push_back(std::move(*more));
  }
  return run;
}

Expected<int> executeProblem() {
  if (Error error = checkProblemFlags())
    return error;
  Expected<ProblemRun> run = createProblemRun();
  if (!run)
    return run.takeError();
  if (!faultFile.empty()) {
    if (run->ptx.empty())
      return createStringError("expected KERNEL.ptx with --faults, found none; attnc --emit=ptx writes it");
    Expected<std::vector<Fault>> faults = readFaults(faultFile);
    if (!faults)
      return faults.takeError();
    if (Error error = runFaults(*run, *faults))
      return error;
    return 0;
  }
  json::Value report = nullptr;
  Expected<bool> isFine = runProblem(*run, report);
  if (!isFine)
    return isFine.takeError();
  OutputFiles files;
  if (!reportFile.empty())
    if (Error error = files.add(reportFile, [&](raw_ostream &stream) { stream << formatv("{0:2}\n", report); }))
      return error;
  if (Error error = files.keep())
    return error;
  return *isFine ? 0 : kWrong;
}

Expected<int> execute() {
  if (!problem.empty() || !irFile.empty())
    return executeProblem();
  if (block.getNumOccurrences() == 0)
    return createStringError("expected --block=X,Y,Z, or --problem=LINE or --ir=FILE.mlir, found none of them");
  Expected<Dim3> blocks = parseDim3("grid", grid);
  if (!blocks)
    return blocks.takeError();
  Expected<Dim3> threads = parseDim3("block", block);
  if (!threads)
    return threads.takeError();
  if (input.empty())
    return createStringError("expected KERNEL.ptx, found none; --problem=LINE and --ir=FILE.mlir alone go without");
  Expected<ptx::Module> module = readModule();
  if (!module)
    return module.takeError();
  Expected<std::string> name = getEntry(*module);
  if (!name)
    return name.takeError();
  KernelCall call;
  for (const std::string &word : arguments)
    if (Error error = addArgument(word, call))
      return error;
  Launch launch{*blocks, *threads, shared, call.parameters, maxInstructions};
  launch.resident = resident;
  launch.turns = turns;
  Expected<Report> report = run(*module, *name, call.memory, launch);
  if (!report)
    return report.takeError();

  OutputFiles files;
  if (!reportFile.empty())
    if (Error error =
            files.add(reportFile, [&](raw_ostream &stream) { stream << formatv("{0:2}\n", report->toJSON()); }))
      return error;
  if (report->clean())
    for (const OutputArray &output : call.outputs)
      if (Error error = files.add(output.path, [&](raw_ostream &stream) {
            writeNpy(stream, output.type, output.shape, call.memory.at(output.address).data.data());
          }))
        return error;
  if (Error error = files.keep())
    return error;
  if (!report->clean()) {
    errs() << report->text();
    WithColor::error(errs(), "attn-ptx-run") << report->findings.size() << " finding(s) in '" << *name << "'"
                                             << (call.outputs.empty() ? "\n" : "; no output is written\n");
    return kFaulty;
  }
  if (reportFile != "-")
    printSummary(*name, *report);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "executes a PTX kernel on the host and says what is wrong with it\n");
  Expected<int> result = execute();
  if (result)
    return *result;
  WithColor::error(errs(), "attn-ptx-run") << toString(result.takeError()) << "\n";
  return kRefused;
}
