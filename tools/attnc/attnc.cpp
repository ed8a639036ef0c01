//===- attnc.cpp - the attention compiler's driver ------------------------===//
//
//   attnc INPUT.mlir -o OUT             compile to an object, assembly, IR or shared library
//   attnc run INPUT.mlir …              compile in memory and run
//   attnc --problems=FILE -o OUT        compile a library of kernels
//   attnc bench --problem=LINE          time against the machine's ceiling; also INPUT.mlir
//   attnc tune --problem=LINE -o FILE   write the fastest schedule for --tuned
//   attnc explain INPUT -o PAGE.html    show what became of an input
//   attnc diff A.json B.json -o PAGE    what differs between the facts of two inputs
//
// Maps the flags (Flags.h) to commands; each command has a file.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../common/DeviceArguments.h"
#include "Flags.h"
#include "attn-c/attn_cuda.h"
#include "attn/Problem/ProblemText.h"
#include "attn/Support/CNames.h"
#include "attn/Support/Version.h"
#include "attn/Transforms/Transforms.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <csignal>

using namespace llvm;
using namespace attn;
using namespace attn::driver;
using namespace attn::driver::flags;

namespace {

/// More than attn_parallel_for uses.
constexpr int kMaxThreads = 1024;

CompileOptions getOptions() {
  CompileOptions options;
  options.target = target;
  options.parallel = parallel == Parallel::OpenMP;
  options.callerWorkspace = workspace == WorkspaceOwner::Caller;
  options.reference = reference;
  options.failOnFallback = failOnFallback;
  options.raise = flags::raise;
  options.schedule = schedule;
  options.tuned = tunedFile;
  options.names = kernelNames;
  options.remarks = flags::remarks;
  options.ptxas = ptxas;
  options.objectCache = objectCache;
  options.dumpDirectory = dumpPhases;
  return options;
}

/// The given problem, or with --grad one that has gradients.
Expected<std::string> getProblem(const std::string &line) {
  if (!grad)
    return line;
  Expected<Problem> problem = parseProblem(line);
  if (!problem)
    return problem.takeError();
  if (problem->grad.empty() && problem->linear)
    problem->grad = getLinearInputs(*problem);
  else if (problem->grad.empty())
    problem->grad = problem->isQuantised() ? std::vector<std::string>{"q"} : std::vector<std::string>{"q", "k", "v"};
  return printProblem(*problem);
}

Expected<Source> getSource() {
  if (inputFile.empty() == problems.empty())
    return createStringError("expected INPUT.mlir or --problem=LINE, found " +
                             Twine(inputFile.empty() ? "neither" : "both"));
  if (problems.size() > 1)
    return createStringError("expected one --problem, found " + Twine(problems.size()));
  if (problems.empty() && grad)
    return createStringError("expected --problem=LINE with --grad, found '" + inputFile +
                             "'; write attn.grad = [\"q\", \"k\", \"v\"] on its function");
  if (problems.empty())
    return Source{inputFile, std::nullopt};
  Expected<std::string> problem = getProblem(problems.front());
  if (!problem)
    return problem.takeError();
  return Source{"", *problem};
}

/// Refuses a file name whose suffix belongs to another --emit.
Error checkSuffix() {
  if (emit.getNumOccurrences() || !stopAfter.empty())
    return Error::success();
  StringRef extension = sys::path::extension(output);
  if (extension == ".h")
    return createStringError("expected an object file after -o, found '" + output + "'; write --header=" + output);
  if (StringRef(output).contains(".so."))
    extension = ".so";
  auto suggested = StringSwitch<StringRef>(extension)
                       .Cases({".so", ".dll", ".dylib"}, "shared")
                       .Case(".s", "asm")
                       .Case(".ll", "llvm")
                       .Case(".mlir", "mlir")
                       .Case(".ptx", "ptx")
                       .Case(".cubin", "cubin")
                       .Case(".onnx", "ort")
                       .Default("");
  if (suggested.empty())
    return Error::success();
  return createStringError("expected --emit=" + suggested + " for '" + output +
                           "', found none, which writes an object; write --emit=" + suggested + ", or --emit=obj");
}

/// The name of a library from its file: out/libattention.so → attention.
std::string getLibraryName() {
  if (!cName.empty())
    return cName;
  StringRef stem = sys::path::stem(output);
  if (stem.size() > 3)
    stem.consume_front("lib");
  return makeCName(stem);
}

int runBundle(std::optional<Source> source) {
  if (!stopAfter.empty() || !dumpPhases.empty())
    return reportError(createStringError("expected one kernel and one target with --stop-after and --dump-phases, "
                                         "found several"));
  BundleOptions options{getOptions(), problemFile.empty() ? "" : getLibraryName(), sys::path::filename(output).str(),
                        jobs};
  return compileBundle({source, problemFile, target, options, emit, output, header, manifest});
}

int runCompile() {
  if (Error error = checkSuffix())
    return reportError(std::move(error));
  if (!problemFile.empty()) {
    if (!inputFile.empty() || !problems.empty())
      return reportError(
          createStringError("expected INPUT.mlir, --problem=LINE or --problems=FILE, found two of them"));
    return runBundle(std::nullopt);
  }
  Expected<Source> source = getSource();
  if (!source)
    return reportError(source.takeError());
  if (!kernelName.empty() && emit != EmitKind::Ptx && emit != EmitKind::Cubin)
    return reportError(
        createStringError("expected --emit=ptx or --emit=cubin with --kernel, found another output; leave "
                          "it out, or name the kernel of attnc run"));
  if (StringRef(target).contains(','))
    return runBundle(*source);
  CompileCommand command{*source, getOptions(), emit, std::nullopt, output, header, manifest, weightsFile, kernelName};
  command.options.mapsWeights = !weightsFile.empty();
  if (!stopAfter.empty()) {
    command.stopAfter = parsePhase(stopAfter);
    if (!command.stopAfter) {
      return reportError(
          createStringError("unknown phase '" + stopAfter + "' in --stop-after, expected one of " + kPhaseNames));
    }
    if (emit.getNumOccurrences() && emit != EmitKind::Mlir)
      return reportError(createStringError("expected --emit=mlir with --stop-after, found another --emit"));
    if (*command.stopAfter < Phase::Fallback && !(header.empty() && manifest.empty()))
      return reportError(createStringError("expected --stop-after=" + getPhaseName(Phase::Fallback) +
                                           " or a later phase with --header and --manifest, as the kernels are known "
                                           "from there on, found '" +
                                           stopAfter + "'; leave them out, or write a call of attnc for each"));
    if (*command.stopAfter < Phase::Llvm && !weightsFile.empty())
      return reportError(createStringError("expected --stop-after=" + getPhaseName(Phase::Llvm) +
                                           " with --weights, found '" + stopAfter + "'; leave one of them out"));
    command.emit = EmitKind::Mlir;
  }
  return command.emit == EmitKind::OnnxRuntime ? writeOnnxRuntimeModel(command) : compile(command);
}

Error loadDriver() {
  if (!cudaDriver.empty() && attn_cuda_load_driver(cudaDriver.c_str()) != 0)
    return createStringError(attn_cuda_message());
  return Error::success();
}

/// Where kernels are timed, a device must exist before any is compiled.
Error findDevice() {
  if (Error error = loadDriver())
    return error;
  Expected<TargetInfo> facts = TargetInfo::get(target);
  if (!facts || !facts->gpu)
    return facts.takeError();
  if (Expected<const attn_cuda_driver *> device = openDevice(); !device)
    return createStringError("no device that kernels for '" + target +
                             "' are timed on: " + toString(device.takeError()));
  return Error::success();
}

int runRun() {
  if (Error error = loadDriver())
    return reportError(std::move(error));
  Expected<Source> source = getSource();
  if (!source)
    return reportError(source.takeError());
  Expected<std::map<std::string, int64_t>> given = parseSizes(std::vector<std::string>(sizes));
  if (!given)
    return reportError(given.takeError());
  return driver::run({*source,
                      getOptions(),
                      kernelName,
                      {inputs, seed, *given, /*fullLengths=*/false, /*uniformRows=*/true},
                      outputs,
                      check,
                      runner,
                      emulated,
                      timed,
                      seconds});
}

/// The lines of --problem and --problems; none for a file.
Expected<std::vector<std::string>> getLines() {
  std::vector<std::string> lines = problems;
  if (!problemFile.empty()) {
    Expected<std::vector<Problem>> parsed = readProblems(problemFile);
    if (!parsed)
      return parsed.takeError();
    for (const Problem &problem : *parsed)
      lines.push_back(printProblem(problem));
  }
  for (std::string &line : lines) {
    Expected<std::string> problem = getProblem(line);
    if (!problem)
      return problem.takeError();
    line = *problem;
  }
  if (lines.empty() && !ceilings && inputFile.empty())
    return createStringError(Twine("expected ") + (benchCommand ? "INPUT.mlir, " : "") +
                             "--problem=LINE or --problems=FILE, found " + (benchCommand ? "none" : "neither"));
  if (threads < 1 || threads > kMaxThreads)
    return createStringError("expected --threads to be at least 1 and at most " + Twine(kMaxThreads) + ", found " +
                             Twine(threads));
  return lines;
}

int runTune() {
  Expected<std::vector<std::string>> lines = getLines();
  if (!lines)
    return reportError(lines.takeError());
  if (output.empty())
    return reportError(createStringError("expected -o FILE.json for the schedules, found none"));
  if (!(budget > 0) || !std::isfinite(budget))
    return reportError(createStringError("expected --budget of more than 0 seconds, found " + std::to_string(budget)));
  Expected<std::map<std::string, int64_t>> given = parseSizes(std::vector<std::string>(sizes));
  if (!given)
    return reportError(given.takeError());
  if (Error error = findDevice())
    return reportError(std::move(error));
  return tune({*lines, getOptions(), *given, threads, budget, output});
}

int runExplain() {
  Expected<Source> source = getSource();
  if (!source)
    return reportError(source.takeError());
  if (output.empty())
    return reportError(createStringError("expected -o FILE.html for the page, found none"));
  Expected<std::map<std::string, int64_t>> given = parseSizes(std::vector<std::string>(sizes));
  if (!given)
    return reportError(given.takeError());
  return explain({*source, getOptions(), explainFormat, output, *given, explainRuns, threads, seconds});
}

int runDiff() {
  if (factFiles.size() != 2)
    return reportError(createStringError(
        "expected LEFT.json RIGHT.json, two files of attnc explain --format=json, found " + Twine(factFiles.size())));
  if (output.empty())
    return reportError(createStringError("expected -o FILE.html for the page, found none"));
  return driver::diff({{factFiles[0], factFiles[1]}, explainFormat, output});
}

int runBench() {
  if (Error error = findDevice())
    return reportError(std::move(error));
  Expected<std::vector<std::string>> lines = getLines();
  if (!lines)
    return reportError(lines.takeError());
  Expected<std::map<std::string, int64_t>> given = parseSizes(std::vector<std::string>(sizes));
  if (!given)
    return reportError(given.takeError());
  std::optional<Source> source;
  if (!inputFile.empty()) {
    if (!lines->empty())
      return reportError(
          createStringError("expected INPUT.mlir, --problem=LINE or --problems=FILE, found two of them"));
    Expected<Source> file = getSource();
    if (!file)
      return reportError(file.takeError());
    source = *file;
  } else if (!kernelName.empty()) {
    return reportError(createStringError("expected INPUT.mlir with --kernel, found none; leave --kernel out"));
  }
  if (json.getNumOccurrences() && lines->empty() && !source)
    return reportError(createStringError("expected INPUT.mlir, --problem=LINE or --problems=FILE with --json, found "
                                         "none"));
  std::string records = json.getNumOccurrences() && json.empty() ? "-" : json.getValue();
  return bench(
      {*lines, source, kernelName, getOptions(), *given, threads, seconds, unfused, roofline, ceilings, records});
}

} // namespace

int driver::reportError(Error error) {
  outs().flush(); // what came before it
  handleAllErrors(std::move(error),
                  [](const ErrorInfoBase &info) { errs() << "attnc: error: " << info.message() << "\n"; });
  return 1;
}

/// The libattn.so of a wheel contains attnc; this is its entry (python/attn/__main__.py).
extern "C" __attribute__((visibility("default"))) int attn_main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  // Exceeding ulimit -f becomes an error of write, instead of ending the process with a half-written file.
  std::signal(SIGXFSZ, SIG_IGN);
  cl::HideUnrelatedOptions(category);
  for (cl::SubCommand *command : kCommands)
    cl::HideUnrelatedOptions(category, *command);
  cl::SetVersionPrinter([](raw_ostream &os) { os << "attnc " << kVersion << "\n"; });
  std::string refusal;
  raw_string_ostream stream(refusal);
  if (!cl::ParseCommandLineOptions(argc, argv, "attnc: compiles attention IR to kernels with a C ABI\n", &stream))
    return reportError(
        explainArguments(ArrayRef(argv + 1, argv + argc), kCommands, getOptionWords(), StringRef(refusal).trim()));
  if (Error error = checkFlags())
    return reportError(std::move(error));
  if (runCommand)
    return runRun();
  if (benchCommand)
    return runBench();
  if (tuneCommand)
    return runTune();
  if (explainCommand)
    return runExplain();
  if (diffCommand)
    return runDiff();
  return runCompile();
}

int main(int argc, char **argv) { return attn_main(argc, argv); }
