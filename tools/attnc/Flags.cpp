//===- Flags.cpp - the flags of attnc --------------------------------------===//
//
// Their texts, their commands, and which exclude each other.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Flags.h"
#include "attn/Target/Architecture.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;
using namespace attn::driver::flags;

namespace attn::driver::flags {

/// LLVM's code generator registers a --stop-after of its own, for its passes. This removes it before ours is registered
/// below.
[[maybe_unused]] static const bool isStopAfterFree = [] {
  auto &registered = cl::getRegisteredOptions();
  if (auto found = registered.find("stop-after"); found != registered.end())
    found->second->removeArgument();
  return true;
}();

const std::string kPhaseNames = join(map_range(getAllPhases(), getPhaseName), " ");
static const std::string kStopAfterText = "write MLIR after this phase, one of " + kPhaseNames;

cl::OptionCategory category("attnc options");
cl::SubCommand runCommand("run", "compile in memory and run");
cl::SubCommand benchCommand("bench", "time kernels against the machine's ceiling");
cl::SubCommand tuneCommand("tune", "measure schedules on this machine and write the fastest");
cl::SubCommand explainCommand("explain", "write a page that shows what became of an input");
cl::SubCommand diffCommand("diff", "write a page of the facts of two kernels that differ");
cl::SubCommand *const kCommands[] = {&runCommand, &benchCommand, &tuneCommand, &explainCommand, &diffCommand};
static cl::sub inCompile(cl::SubCommand::getTopLevel()), inRun(runCommand), inBench(benchCommand), inTune(tuneCommand),
    inExplain(explainCommand), inDiff(diffCommand);
static cl::cat inCategory(category);

cl::opt<std::string> inputFile(cl::Positional, cl::desc("INPUT.mlir"), inCompile, inRun, inBench, inExplain,
                               inCategory);
cl::list<std::string> problems("problem", cl::desc("a problem line (docs/Using.md)"), cl::value_desc("LINE"), inCompile,
                               inRun, inBench, inTune, inExplain, inCategory);
cl::opt<std::string> target(
    "target",
    cl::desc("host (default), x86-64, x86-64-v2, -v3, -v4, aarch64-linux-gnu, a processor's name, or a GPU: "
             "sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_103, sm_120; to compile, also several processors or "
             "several GPUs separated by commas, for one object that chooses by CPUID or by the device"),
    cl::init("host"), inCompile, inRun, inBench, inTune, inExplain, inCategory);
cl::opt<Parallel> parallel("parallel", cl::desc("how parallel loops run"), cl::init(Parallel::OpenMP),
                           cl::values(clEnumValN(Parallel::OpenMP, "openmp", "through attn_parallel_for (default)"),
                                      clEnumValN(Parallel::None, "none", "on the calling thread; no runtime needed")),
                           inCompile, inRun, inBench, inTune, inExplain, inCategory);
cl::opt<WorkspaceOwner> workspace(
    "workspace", cl::desc("where kernels of a processor have buffers that no stack holds"),
    cl::init(WorkspaceOwner::Heap),
    cl::values(clEnumValN(WorkspaceOwner::Heap, "heap", "in memory that they ask malloc for (default)"),
               clEnumValN(WorkspaceOwner::Caller, "caller", "in memory that the entries take as an argument")),
    inCompile, inCategory);
cl::opt<RemarkFilter> remarks("remarks", cl::desc("print why each decision was taken"), cl::init(RemarkFilter::None),
                              cl::values(clEnumValN(RemarkFilter::Passed, "passed", "what was done"),
                                         clEnumValN(RemarkFilter::Missed, "missed", "what was not done, and why"),
                                         clEnumValN(RemarkFilter::Analysis, "analysis", "what was found"),
                                         clEnumValN(RemarkFilter::All, "all", "all of them")),
                              inCompile, inRun, inBench, inCategory);
cl::opt<bool> failOnFallback("fail-on-fallback", cl::desc("an op without a flash kernel is an error"), inCompile, inRun,
                             inBench, inExplain, inCategory);
cl::opt<bool> raise("raise", cl::desc("find attention in linalg (default); false compiles it as written"),
                    cl::init(true), inCompile, inRun, inBench, inExplain, inCategory);
cl::opt<std::string> schedule(
    "schedule",
    cl::desc("schedule by hand, as #attn.prefill<key_tile = 32>; the policy chooses fields that it leaves out"),
    cl::value_desc("\"#attn.KIND<FIELD = N, …>\""), inCompile, inRun, inBench, inExplain, inCategory);
cl::opt<std::string> tuned("tuned", cl::desc("schedules that attnc tune has written, for problem lines"),
                           cl::value_desc("FILE.json"), inCompile, inRun, inBench, inExplain, inCategory);
cl::opt<std::string> dumpPhases("dump-phases", cl::desc("write the IR after each phase"), cl::value_desc("DIR"),
                                inCompile, inRun, inCategory);
cl::opt<std::string> objectCache("object-cache",
                                 cl::desc("keep machine code by the LLVM IR that it is made of, a week"),
                                 cl::value_desc("DIR"), inCompile, inRun, inBench, inTune, inExplain, inCategory);
cl::opt<bool> reference("reference", cl::desc("the materialised pipeline, intermediates in f64"), inCompile, inRun,
                        inCategory);

cl::opt<bool> grad("grad", cl::desc("of problem lines: the gradients too, of q, k and v where the line says no other"),
                   inRun, inBench, inExplain, inCategory);

cl::list<std::string> factFiles(cl::Positional, cl::desc("LEFT.json RIGHT.json"), inDiff, inCategory);

// attnc INPUT -o OUT
cl::opt<std::string> output("o", cl::desc("output file, - for standard output"), cl::value_desc("FILE"), inCompile,
                            inTune, inExplain, inDiff, inCategory);
cl::opt<EmitKind> emit("emit", cl::desc("what to write"), cl::init(EmitKind::Object),
                       cl::values(clEnumValN(EmitKind::Mlir, "mlir", "MLIR after the last phase"),
                                  clEnumValN(EmitKind::Llvm, "llvm", "LLVM IR, optimised"),
                                  clEnumValN(EmitKind::Assembly, "asm", "assembly"),
                                  clEnumValN(EmitKind::Ptx, "ptx", "PTX of GPU kernels"),
                                  clEnumValN(EmitKind::Cubin, "cubin", "their machine code, by ptxas"),
                                  clEnumValN(EmitKind::Object, "obj", "an object file (default)"),
                                  clEnumValN(EmitKind::Shared, "shared", "a shared library"),
                                  clEnumValN(EmitKind::Wasm, "wasm", "a module of WebAssembly"),
                                  clEnumValN(EmitKind::OnnxRuntime, "ort",
                                             "the ONNX model with attention nodes that libattn_ort.so runs")),
                       inCompile, inCategory);
cl::opt<std::string> stopAfter("stop-after", cl::desc(kStopAfterText), cl::value_desc("PHASE"), inCompile, inCategory);
cl::opt<std::string> header("header", cl::desc("write a C header"), cl::value_desc("FILE.h"), inCompile, inCategory);
cl::opt<std::string> manifest("manifest", cl::desc("write a description as JSON"), cl::value_desc("FILE.json"),
                              inCompile, inCategory);

cl::opt<std::string> weightsFile("weights",
                                 cl::desc("write large constants into a file that the program maps by the function "
                                          "NAME_map_weights of the header, instead of into the object"),
                                 cl::value_desc("FILE"), inCompile, inCategory);

cl::opt<std::string> cName("name",
                           cl::desc("the C name of the kernel, where there is one (default: of its function); with "
                                    "--problems, of the library (default: of the file)"),
                           cl::value_desc("NAME"), inCompile, inRun, inExplain, inCategory);
cl::list<std::string> entries("entry",
                              cl::desc("the C name of a kernel, where there are several; once for each function"),
                              cl::value_desc("FUNCTION:NAME"), inCompile, inRun, inExplain, inCategory);
cl::opt<unsigned> jobs("j", cl::desc("threads that compile (default: one a core)"), cl::value_desc("N"), cl::init(0),
                       inCompile, inCategory);

cl::opt<std::string> ptxas("ptxas", cl::desc("of GPU targets, the assembler (default: of PATH or /usr/local/cuda)"),
                           cl::value_desc("PATH"), inCompile, inRun, inExplain, inCategory);

// attnc run
cl::opt<std::string> cudaDriver("cuda-driver", cl::desc("of GPU targets, a library in place of libcuda.so.1"),
                                cl::value_desc("PATH"), inRun, inBench, inTune, inCategory);
cl::list<std::string> inputs("input", cl::desc("inputs in the order of the arguments"), cl::value_desc("FILE.npy"),
                             inRun, inCategory);
cl::list<std::string> outputs("output", cl::desc("outputs in the order of the results"), cl::value_desc("FILE.npy"),
                              inRun, inCategory);
cl::opt<std::string> kernelName("kernel",
                                cl::desc("which kernel of the file (default: all); to compile, with --emit=ptx and "
                                         "--emit=cubin"),
                                inCompile, inRun, inBench, inCategory);
cl::opt<uint64_t> seed("seed", cl::desc("seed of random inputs (default: 0)"), cl::init(0), inRun, inCategory);
cl::list<std::string> sizes("size", cl::desc("dynamic sizes, as sq=113,sk=203 (default: from the inputs, or random)"),
                            cl::value_desc("NAME=N"), cl::CommaSeparated, inRun, inBench, inTune, inExplain,
                            inCategory);
cl::opt<bool> check("check", cl::desc("compare with the f64 reference and print the largest error"), inRun, inCategory);
cl::opt<bool> timed("time", cl::desc("print the time of a call as well"), inRun, inCategory);
cl::opt<bool> emulated("emulated", cl::desc("run although the processor lacks features: tiles trap, vectors are split"),
                       inRun, cl::Hidden, inCategory);

cl::opt<std::string> runner("runner", cl::desc("a command that runs kernels of another processor, as build/arm/runner"),
                            cl::value_desc("COMMAND"), inRun, inCategory);

// attnc bench
cl::opt<std::string> problemFile("problems",
                                 cl::desc("a file of problem lines; to compile, a library of their kernels"),
                                 cl::value_desc("FILE"), inCompile, inBench, inTune, inCategory);
cl::opt<int> threads("threads", cl::desc("threads of the parallel loop (default: 1)"), cl::init(1), inBench, inTune,
                     inExplain, inCategory);
cl::opt<double> seconds("seconds", cl::desc("time spent on each problem or kernel (default: 1)"), cl::init(1.0), inRun,
                        inBench, inExplain, inCategory);
cl::opt<bool> unfused("unfused", cl::desc("also time the unfused chain"), inBench, inCategory);
cl::opt<Roofline>
    roofline("roofline", cl::desc("say what bounds each problem, and of what its main loops consist"),
             cl::ValueOptional, cl::init(Roofline::None),
             cl::values(clEnumValN(Roofline::Measured, "", "against the measured ceilings (default)"),
                        clEnumValN(Roofline::Measured, "measured", "the same"),
                        clEnumValN(Roofline::Static, "static", "the loops only; nothing is run"),
                        clEnumValN(Roofline::Assembly, "asm", "their instructions, as llvm-mca reads them")),
             inBench, inCategory);
cl::opt<std::string> json("json",
                          cl::desc("write a record of each problem or kernel (default: to standard output, and what is "
                                   "printed without it to standard error)"),
                          cl::value_desc("FILE.json"), cl::ValueOptional, inBench, inCategory);
cl::opt<ExplainFormat> explainFormat("format", cl::desc("what to write"), cl::init(ExplainFormat::Html),
                                     cl::values(clEnumValN(ExplainFormat::Html, "html", "a page (default)"),
                                                clEnumValN(ExplainFormat::Json, "json", "its facts, as JSON")),
                                     inExplain, inDiff, inCategory);

cl::opt<bool> explainRuns("run", cl::desc("also compare with the f64 reference, and time against the ceilings"),
                          inExplain, inCategory);

cl::opt<bool> ceilings("ceilings", cl::desc("print the machine's ceilings"), inBench, inCategory);

// attnc tune
cl::opt<double> budget("budget", cl::desc("seconds for all problems together (default: 10)"), cl::init(10),
                       cl::value_desc("SECONDS"), inTune, inCategory);

SmallVector<OptionWords> getOptionWords() {
  return {OptionWords(parallel), OptionWords(workspace), OptionWords(remarks),
          OptionWords(emit),     OptionWords(roofline),  OptionWords(explainFormat)};
}

std::shared_ptr<const TunedFile> tunedFile;

std::vector<KernelName> kernelNames;

Error checkFlags() {
  if (Error error = checkIsFile(inputFile, kCommands))
    return error;
  if (Error error = checkIsFile(problemFile, /*commands=*/{}))
    return error;
  if (Error error = checkOptions(kCommands, category))
    return error;
  for (const cl::opt<std::string> *option :
       {&target, &schedule, &tuned, &dumpPhases, &output, &stopAfter, &header, &manifest, &cName, &ptxas, &cudaDriver,
        &kernelName, &problemFile, &runner, &objectCache, &weightsFile})
    if (option->getNumOccurrences() > 0 && option->empty())
      return createStringError("expected a value of " + Twine(option->ArgStr.size() > 1 ? "--" : "-") + option->ArgStr +
                               ", found none; write one, or leave it out");
  if (!entries.empty() && !problemFile.empty())
    return createStringError("expected --entry with INPUT.mlir or --problem, found --problems; its kernels are called "
                             "after their problems, and the library as --name says");
  Expected<std::vector<KernelName>> names =
      parseKernelNames(problemFile.empty() ? StringRef(cName) : "", std::vector<std::string>(entries));
  if (!names)
    return names.takeError();
  kernelNames = std::move(*names);
  if (!objectCache.empty()) {
    (void)sys::fs::create_directories(objectCache, /*IgnoreExisting=*/true, sys::fs::owner_all);
    if (!sys::fs::is_directory(objectCache))
      return createStringError("expected a folder after --object-cache, or one that can be made, found '" +
                               objectCache + "'; write another, or leave it out");
  }
  if (!(seconds >= 0))
    return createStringError("expected --seconds to be 0 or more, found " + std::to_string(seconds));
  if (runCommand && seconds.getNumOccurrences() && !timed)
    return createStringError("expected --time with --seconds, found --seconds alone");
  if (parallel == Parallel::None && threads > 1)
    return createStringError("expected --threads=1 with --parallel=none, found " + Twine(threads));
  if (workspace == WorkspaceOwner::Caller && !problemFile.empty())
    return createStringError(
        "expected --workspace=caller with INPUT.mlir or --problem, found --problems, whose kernels "
        "have one call; compile each kernel by a call of its own, or write --workspace=heap");
  if (!runner.empty() && (timed || emulated))
    return createStringError(
        "expected --runner without --time and --emulated, found both; a runner's time says nothing "
        "of a processor's");
  Expected<TargetInfo> facts = TargetInfo::get(target);
  if (facts && facts->gpu && workspace.getNumOccurrences())
    return createStringError("expected a processor as target of --workspace, found '" + target +
                             "', whose kernels always take a workspace of their caller; leave it out");
  bool hasSeveral = !problemFile.empty() || StringRef(target).contains(',');
  if (!weightsFile.empty() && (hasSeveral || (facts && facts->gpu)))
    return createStringError("expected one file and one processor with --weights, found " +
                             (hasSeveral ? "several kernels or targets" : "the GPU '" + target + "'") +
                             "; leave it out");
  if (facts && facts->gpu && timed)
    return createStringError("expected a processor as target of --time, found '" + target +
                             "'; write attnc bench, which copies arguments to the device once");
  bool takesProcessors = unfused || ceilings || roofline != Roofline::None;
  if (facts && facts->gpu && benchCommand && takesProcessors)
    return createStringError("expected a processor as target of --unfused, --ceilings and --roofline, found '" +
                             target + "'; leave them out");
  if (json.getNumOccurrences() && (roofline == Roofline::Static || roofline == Roofline::Assembly))
    return createStringError("expected something to time with --json, found --roofline of loops alone, which runs "
                             "nothing; leave --json out, or write --roofline");
  bool runsNothing = benchCommand && (roofline == Roofline::Static || roofline == Roofline::Assembly);
  if (facts && isForeign(*facts) && (benchCommand || tuneCommand) && !runsNothing)
    return createStringError("expected a target that this machine runs with attnc bench and attnc tune, found '" +
                             target + "', which is " + describeArchitecture(*facts) +
                             "; write attnc bench --roofline=static, which runs nothing, or run it by attnc run "
                             "--runner");
  if (!facts)
    consumeError(facts.takeError()); // reported where the target is used
  if (!tuned.empty()) {
    if (!schedule.empty())
      return createStringError("expected --schedule or --tuned, found both");
    if (!inputFile.empty())
      return createStringError("expected --problem or --problems with --tuned, whose schedules are those of problem "
                               "lines, found '" +
                               inputFile + "'");
    Expected<std::shared_ptr<const TunedFile>> file = readTuned(tuned, target);
    if (!file)
      return file.takeError();
    tunedFile = *file;
  }
  if (schedule.empty())
    return Error::success();
  if (reference)
    return createStringError("expected --schedule without --reference, which has no tiles, found both");
  return Error::success();
}

} // namespace attn::driver::flags
