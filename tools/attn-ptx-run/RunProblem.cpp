//===- RunProblem.cpp - PTX as the kernels of a problem -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunProblem.h"
#include "CudaEmulator/CudaEmulator.h"
#include "Inputs.h"
#include "Summary.h"
#include "attn-c/attn_runtime.h"
#include "attn/Target/TargetInfo.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <cstring>
#include <random>

using namespace llvm;
using namespace attn;
using namespace attn::ptx;

/// "sm_80" of the line ".target sm_80, …".
static std::string findTarget(StringRef ptx) {
  constexpr StringLiteral directive = ".target";
  size_t place = ptx.find(directive);
  if (place == StringRef::npos)
    return "";
  return ptx.drop_front(place + directive.size())
      .ltrim()
      .take_while([](char c) { return llvm::isAlnum(c) || c == '_'; })
      .str();
}

namespace {
struct SizeRange {
  int64_t leastQueries, mostQueries;
  int64_t leastKeys, mostKeys;
  int64_t parity; ///< of the number of keys
};
/// Sizes with tiles that all rows and keys fill; with more than one query tile, and more key tiles than stages; with
/// more queries than keys, and more than half a tile of those; with less than one tile. The parity matters: with an
/// off-by-one comparison, one of two adjacent sizes keeps a key too many or too few.
constexpr SizeRange kSizes[] = {
    {128, 128, 256, 256, 0}, {193, 257, 385, 449, 1}, {130, 160, 66, 126, 0}, {1, 40, 1, 39, 1}};
/// With few queries and many keys, keys are split.
constexpr SizeRange kSplitSizes = {1, 1, 1025, 1151, 1};
/// For a line with fewer rows, each kind of input is drawn again, at most kMostInputs times: each key of a thread
/// should be the largest of some row, and the rounding of each should be visible.
constexpr size_t kEnoughRows = 256, kMostInputs = 4;
} // namespace

/// Draws sizes where the numbers of queries or keys are not given.
static std::vector<driver::ArgumentOptions> drawSizes(const Kernel &kernel, const driver::ArgumentOptions &given) {
  auto isOpen = [&](StringRef name) { return is_contained(kernel.sizes, name) && !given.sizes.contains(name.str()); };
  if (!isOpen("sq") && !isOpen("sk"))
    return {given};
  std::vector<SizeRange> ranges(std::begin(kSizes), std::end(kSizes));
  if (!isOpen("sq"))
    ranges.push_back(kSplitSizes);
  std::mt19937_64 generator(given.seed);
  auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(generator);
  };
  std::vector<driver::ArgumentOptions> all;
  for (const SizeRange &range : ranges) {
    driver::ArgumentOptions own = given;
    if (isOpen("sq"))
      own.sizes["sq"] = draw(range.leastQueries, range.mostQueries);
    if (isOpen("sk"))
      own.sizes["sk"] = draw(range.leastKeys / 2, (range.mostKeys - range.parity) / 2) * 2 + range.parity;
    all.push_back(std::move(own));
  }
  return all;
}

static Expected<driver::LoadedKernel> compileKernel(const ProblemRun &run, StringRef target, CompileOptions &options) {
  options.target = run.ptx.empty() ? target.str() : findTarget(run.ptx);
  if (options.target.empty())
    return createStringError("expected a line '.target sm_80' or the like in the PTX, found none");
  Expected<TargetInfo> info = TargetInfo::get(options.target);
  if (!info || !info->gpu)
    return info ? createStringError("expected a GPU, found target '" + options.target + "'") : info.takeError();
  CudaEmulator::get().capability = info->gpu->computeCapability;
  options.schedule = run.schedule;
  options.embedCubin = false;
  options.isQuick = true; // the PTX is the same anyway
  if (!run.ptx.empty())
    options.ptx = run.ptx;
  options.failOnFallback = run.ptx.empty();
  return driver::LoadedKernel::compile(run.source, options, run.kernel);
}

Expected<ProblemRunner> ProblemRunner::create(const ProblemRun &run) {
  CompileOptions options;
  Expected<driver::LoadedKernel> kernel = compileKernel(run, run.targets.front(), options);
  if (!kernel)
    return kernel.takeError();
  options.failOnFallback = false;
  Expected<driver::LoadedKernel> reference =
      driver::compileReference(run.source, options, kernel->getDescription().name);
  if (!reference)
    return reference.takeError();
  std::optional<driver::LoadedKernel> forward;
  for (const Kernel &each : kernel->getKernels())
    if (kernel->getDescription().kind == "backward" && each.kind == "forward" &&
        each.pair == kernel->getDescription().pair) {
      Expected<driver::LoadedKernel> compiled = driver::compileReference(run.source, options, each.name);
      if (!compiled)
        return compiled.takeError();
      forward = std::move(*compiled);
    }
  // The reference is short compared with the emulation, and OpenMP threads wait by spinning.
  attn_runtime_set_num_threads(1);
  CudaEmulator &emulator = CudaEmulator::get();
  if (run.maxInstructions)
    emulator.maxInstructions = run.maxInstructions;
  if (run.multiprocessors)
    emulator.multiprocessors = run.multiprocessors;
  emulator.resident = run.resident;
  if (attn_cuda_use_driver(&getEmulatedDriver()) != 0)
    return createStringError(attn_cuda_message());
  ProblemRunner runner(std::move(*kernel));
  runner.turns = run.turns;
  runner.forward = std::move(forward);
  runner.areHeadsInner = run.source.problem && StringRef(*run.source.problem).contains("layout=bshd");
  const bool isDefault = run.kinds.empty();
  const bool isRepeated = isDefault && run.source.problem && runner.kernel.getDescription().kind != "backward";
  const std::vector<InputKind> kinds = isDefault ? getDefaultKinds(runner.kernel.getDescription()) : run.kinds;
  for (auto [i, kind] : enumerate(kinds)) {
    // Varies sizes, lengths and tables too; once with full lengths, so that the last keys count.
    driver::ArgumentOptions own = run.arguments;
    if (isDefault) {
      own.seed += i;
      own.fullLengths = i == 1;
      own.fillsTiles = true;
    }
    std::vector<driver::ArgumentOptions> all = drawSizes(runner.kernel.getDescription(), own);
    for (const auto &sizes : run.moreSizes) {
      all.push_back(own);
      all.back().sizes = sizes;
    }
    for (const driver::ArgumentOptions &arguments : all)
      if (Error error = runner.addInputs(run, arguments, kind, isDefault || !kind.separatesKeys, *reference))
        return error;
    const size_t numRows = runner.inputs.back().magnitudes.values.size();
    for (size_t count = 1;
         isRepeated && numRows > 0 && all.size() == 1 && count * numRows < kEnoughRows && count < kMostInputs;
         ++count) {
      driver::ArgumentOptions next = all.front();
      next.seed += count * kinds.size();
      if (Error error = runner.addInputs(run, next, kind, true, *reference))
        return error;
    }
  }
  return runner;
}

Error ProblemRunner::addInputs(const ProblemRun &run, const driver::ArgumentOptions &options, InputKind kind,
                               bool isNeeded, const driver::LoadedKernel &reference) {
  const Kernel &description = kernel.getDescription();
  InputSet input;
  Expected<std::vector<NpyArray>> arguments = drawInputs(description, options, kind, input.magnitudes);
  if (!arguments)
    return arguments.takeError();
  input.arguments = std::move(*arguments);
  if (Error error = runForwardPass(input.arguments))
    return error;
  // Only for a problem line: for IR, the key dimension is unknown. Only for 16 bits: other types do not round weights.
  const StringRef line = run.source.problem ? StringRef(*run.source.problem) : "layout=";
  const bool isKnown = !line.contains("layout=") || line.contains("layout=varlen") || areHeadsInner;
  const bool rounds = any_of(zip_equal(description.arguments, input.arguments), [](auto pair) {
    const auto &[argument, array] = pair;
    return argument.isOutput && (array.type == NpyType::Float16 || array.type == NpyType::BFloat16);
  });
  if (kind.separatesKeys && (!isKnown || !rounds || !separateKeys(description, input.arguments, areHeadsInner))) {
    if (!isNeeded)
      return Error::success();
    kind.separatesKeys = false;
  }
  raw_string_ostream name(input.name);
  for (const auto &[size, value] : options.sizes)
    name << size << value << " ";
  name << kind.print();
  input.kind = std::move(kind);
  // The reference's floats have 64 bits.
  for (auto [outputs, whose] :
       {std::pair<std::vector<NpyArray> *, const driver::LoadedKernel *>(&input.initial, &kernel),
        {&input.expected, &reference}}) {
    Expected<std::vector<NpyArray>> created = driver::createOutputs(*whose, input.arguments);
    if (!created)
      return created.takeError();
    *outputs = std::move(*created);
  }
  if (Error error = driver::callReference(reference, description, input.arguments, input.expected))
    return error;
  inputs.push_back(std::move(input));
  return Error::success();
}

Error ProblemRunner::runForwardPass(MutableArrayRef<NpyArray> arguments) const {
  if (!forward)
    return Error::success();
  const Kernel &description = forward->getDescription(), &backward = kernel.getDescription();
  auto findOwn = [&](StringRef name) {
    const auto *found = find_if(backward.arguments, [&](const auto &own) { return !own.isOutput && own.name == name; });
    return found == backward.arguments.end() ? nullptr : &arguments[found - backward.arguments.begin()];
  };
  std::vector<NpyArray> taken(description.arguments.size());
  for (auto [argument, array] : zip_equal(description.arguments, taken)) {
    NpyArray *own = findOwn(argument.name);
    if (!own)
      return createStringError("expected '" + argument.name + "' of the forward pass among the arguments of '" +
                               backward.name + "', found none");
    if (argument.isOutput)
      array.shape = own->shape;
    else
      array = std::move(*own);
  }
  Expected<std::vector<NpyArray>> outputs = driver::createOutputs(*forward, taken);
  if (!outputs)
    return outputs.takeError();
  Error error = driver::callReference(*forward, description, taken, *outputs);
  for (auto [argument, array, output] : zip_equal(description.arguments, taken, *outputs)) {
    NpyArray *own = findOwn(argument.name);
    if (argument.isOutput)
      copyFloats(output, *own);
    else
      *own = std::move(array);
  }
  return error;
}

Error ProblemRunner::compileFor(const ProblemRun &run, StringRef target) {
  CompileOptions options;
  Expected<driver::LoadedKernel> compiled = compileKernel(run, target, options);
  if (!compiled)
    return compiled.takeError();
  kernel = std::move(*compiled);
  return Error::success();
}

Error ProblemRunner::call(InputSet &input) {
  CudaEmulator::get().turns = turns + (&input - inputs.data());
  for (auto [argument, array, initial] : zip_equal(kernel.getDescription().arguments, input.arguments, input.initial))
    if (argument.isOutput)
      std::memcpy(array.data, initial.data, getNpyTypeSize(array.type) * driver::getNumElements(array.shape));
  return kernel.call(input.arguments);
}

std::vector<OutputError> ProblemRunner::compare(const InputSet &input) const {
  std::vector<OutputError> errors;
  for (auto [argument, found, expected] : zip_equal(kernel.getDescription().arguments, input.arguments, input.expected))
    if (argument.isOutput)
      errors.push_back(compareOutput(kernel.getDescription(), argument.name, found, expected, input.arguments,
                                     input.magnitudes, input.kind.separatesKeys, areHeadsInner));
  return errors;
}

/// Runs on each input. False if an output is wrong.
static Expected<bool> runInputs(ProblemRunner &runner) {
  CudaEmulator &emulator = CudaEmulator::get();
  bool isFine = true;
  for (InputSet &input : runner.getInputs()) {
    const size_t before = emulator.launches.size();
    if (Error error = runner.call(input))
      return joinErrors(createStringError(input.name), std::move(error));
    for (const LaunchRecord &launch : drop_begin(emulator.launches, before))
      printSummary(launch.kernel, launch.report);
    for (const OutputError &error : runner.compare(input)) {
      if (runner.getInputs().size() > 1)
        outs() << input.name << ": ";
      print(outs(), error);
      isFine &= error.isFine();
    }
  }
  printCoverage(emulator.launches);
  return isFine;
}

Expected<bool> attn::ptx::runProblem(const ProblemRun &run, json::Value &report) {
  Expected<ProblemRunner> runner = ProblemRunner::create(run);
  if (!runner)
    return runner.takeError();
  CudaEmulator &emulator = CudaEmulator::get();
  emulator.keepsLaunches = true;
  json::Array reports;
  bool isFine = true;
  for (const std::string &target : run.targets) {
    if (run.targets.size() > 1)
      outs() << target << "\n";
    if (target != run.targets.front())
      if (Error error = runner->compileFor(run, target))
        return error;
    Expected<bool> isThisFine = runInputs(*runner);
    if (!isThisFine)
      return isThisFine.takeError();
    isFine &= *isThisFine;
    for (const LaunchRecord &launch : emulator.launches)
      reports.push_back(launch.report.toJSON());
    emulator.launches.clear();
  }
  report = std::move(reports);
  return isFine;
}
