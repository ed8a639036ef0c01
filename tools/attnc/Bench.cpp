//===- Bench.cpp - attnc bench --------------------------------------------===//
//
// Times kernels against ceilings measured in the same run, round by round: multiply-adds or reads on as many threads,
// by kernels of our own that do nothing else.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include "Ceilings.h"
#include "HotLoops.h"
#include "Load.h"
#include "attn-c/attn_runtime.h"
#include "attn/Support/OutputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Fewest rounds of each problem; each round measures the ceiling again.
static constexpr unsigned kMinRounds = 5;

using Arguments = std::vector<NpyArray>;

/// The stream of the text lines: not the one of the records.
static raw_ostream &getText(const BenchCommand &command) {
  return command.report ? *command.report : command.json == "-" ? errs() : outs();
}

Expected<Problem> driver::resolveSizes(Problem problem, const Kernel &kernel,
                                       const std::map<std::string, int64_t> &sizes) {
  for (const std::string &name : kernel.sizes) {
    auto found = sizes.find(name);
    if (found == sizes.end())
      return createMissingSizeError(printProblemLine(problem), kernel, name);
    for (auto [ours, size] : {std::pair("b", &problem.sizes.b),
                              {"hq", &problem.sizes.hq},
                              {"sq", &problem.sizes.sq},
                              {"sk", &problem.sizes.sk}})
      if (name == ours)
        *size = found->second;
    // Paged keys have the rows of all pages of the table.
    if (name == "max_pages" && problem.paged)
      problem.sizes.sk = found->second * problem.paged->size;
  }
  return problem;
}

/// Compiles the unfused chain along with a kernel, if requested.
static Error addUnfused(const BenchCommand &command, BenchCase &timed, StringRef kernel) {
  if (!command.compareUnfused)
    return Error::success();
  CompileOptions options = command.options;
  options.unfused = true;
  options.schedule.clear();
  Expected<LoadedKernel> compiled = LoadedKernel::compile(timed.source, options, kernel);
  if (!compiled)
    return compiled.takeError();
  timed.unfused = std::move(*compiled);
  return Error::success();
}

/// Selects the given sizes that a kernel has; other problems and kernels may have others.
static ArgumentOptions getArgumentOptions(const BenchCommand &command, const Kernel &kernel) {
  ArgumentOptions options;
  for (const auto &[name, size] : command.sizes)
    if (is_contained(kernel.sizes, name))
      options.sizes[name] = size;
  options.fullLengths = true;
  return options;
}

static Expected<BenchCase> createCase(const BenchCommand &command, const std::string &line) {
  Expected<Problem> problem = parseProblem(line);
  if (!problem)
    return problem.takeError();
  Source source{"", line};
  // Of gradients, whose forward pass is a separate problem.
  StringRef name = problem->grad.empty() ? "" : problem->linear ? "linear_backward" : "sdpa_backward";
  Expected<LoadedKernel> kernel = LoadedKernel::compile(source, command.options, name);
  if (!kernel)
    return kernel.takeError();
  const Kernel &description = kernel->getDescription();
  Expected<Problem> resolved = resolveSizes(*problem, description, command.sizes);
  if (!resolved)
    return resolved.takeError();
  Expected<Arguments> arguments = createArguments(description, getArgumentOptions(command, description));
  if (!arguments)
    return arguments.takeError();
  Cost cost = getCost(*resolved, description, *arguments);
  BenchCase result{printProblemLine(*resolved), source, resolved->element, "", std::move(*kernel), {}, {}, cost};
  Expected<std::vector<Arguments>> copies =
      createCopies(result.kernel.getDescription(), std::move(*arguments), cost.bytes, cost.isDecode);
  if (!copies)
    return copies.takeError();
  result.copies = std::move(*copies);
  if (Error error = addUnfused(command, result, name))
    return std::move(error);
  return result;
}

/// A kernel of a file that is already loaded.
static Expected<BenchCase> createCase(const BenchCommand &command, LoadedKernel kernel) {
  const Kernel description = kernel.getDescription();
  for (const std::string &name : description.sizes)
    if (!command.sizes.contains(name))
      return createMissingSizeError(description.name, description, name);
  Expected<Arguments> arguments = createArguments(description, getArgumentOptions(command, description));
  if (!arguments)
    return arguments.takeError();
  Expected<FileCost> found = getFileCost(*command.source, command.options, description, *arguments);
  if (!found)
    return found.takeError();
  BenchCase result{description.name, *command.source, found->element, found->reason, std::move(kernel), {}, {},
                   found->cost};
  Expected<std::vector<Arguments>> copies =
      createCopies(description, std::move(*arguments), result.cost.bytes, result.cost.isDecode);
  if (!copies)
    return copies.takeError();
  result.copies = std::move(*copies);
  if (Error error = addUnfused(command, result, description.name))
    return std::move(error);
  return result;
}

/// Prints the time at each ceiling, the limiting one, and how close the kernel is to both.
static void printBound(raw_ostream &os, const BenchRecord &record) {
  double ridge = record.maxGflops / record.maxGigabytes;
  bool isMemoryBound = record.cost.getIntensity() < ridge;
  os << "  bound by " << (isMemoryBound ? "memory" : "multiply-adds") << ": "
     << format("%.1f", record.cost.getIntensity()) << " FLOP/byte, the ceilings meet at " << format("%.1f", ridge)
     << "; " << format("%.1f", record.getGflops()) << " of " << format("%.1f", record.maxGflops) << " GFLOP/s ("
     << format("%.1f", 100 * record.getGflops() / record.maxGflops) << " %), " << format("%.1f", record.getGigabytes())
     << " of " << format("%.1f", record.maxGigabytes) << " GB/s ("
     << format("%.1f", 100 * record.getGigabytes() / record.maxGigabytes) << " %)\n";
}

static Error printLoops(const BenchCommand &command, const Source &source) {
  Expected<TargetInfo> target = TargetInfo::get(command.options.target);
  if (!target)
    return target.takeError();
  Expected<std::string> object = compileObject(source, command.options);
  if (!object)
    return object.takeError();
  Expected<std::vector<HotLoop>> loops = findHotLoops(*object, *target);
  if (!loops)
    return loops.takeError();
  raw_ostream &os = getText(command);
  for (const HotLoop &loop : *loops) {
    if (command.roofline == Roofline::Assembly) {
      printAssembly(os, loop);
      continue;
    }
    os << "  loop ";
    printHotLoop(os, loop);
    os << "\n";
  }
  return Error::success();
}

static Expected<BenchRecord> timeOnHost(const BenchCommand &command, const BenchCase &timed, const TargetInfo &target) {
  Product product = getProduct(timed.element, target);
  Expected<Ceilings> ceilings = Ceilings::create(target, product, command.threads);
  if (!ceilings)
    return ceilings.takeError();
  bool hasRate = timed.noRate.empty(), isDecode = timed.cost.isDecode;
  bool measuresRoofline = command.roofline == Roofline::Measured && hasRate;

  std::vector<double> times;
  double start = getSeconds();
  while (times.size() < kMinRounds || getSeconds() - start < command.seconds) {
    if (hasRate && (!isDecode || measuresRoofline))
      ceilings->measureFma();
    if (hasRate && (isDecode || measuresRoofline))
      if (Error error = ceilings->measureRead())
        return error;
    const Arguments &arguments = timed.copies[times.size() % timed.copies.size()];
    double before = getSeconds();
    if (Error error = timed.kernel.call(arguments))
      return error;
    times.push_back(getSeconds() - before);
  }
  llvm::sort(times);
  BenchRecord record{timed.title, timed.noRate, timed.cost};
  record.best = times.front();
  record.median = times[times.size() / 2];
  int numProducts = getNumProducts(timed.element, product);
  record.product = getProductName(product).str() + (numProducts > 1 ? " / " + std::to_string(numProducts) : "");
  record.maxGflops = ceilings->getGflops() / numProducts;
  record.maxGigabytes = ceilings->getGigabytes();
  if (timed.unfused) {
    double before = getSeconds();
    if (Error error = timed.unfused->call(timed.copies.front()))
      return error;
    record.unfused = getSeconds() - before;
  }
  record.busy = describeLoad({ceilings->getProcessorShare(), record.median / record.best,
                              hasRate ? record.getRate() / record.getCeiling() : 0});
  return record;
}

static Error timeCase(const BenchCommand &command, Expected<BenchCase> timed, std::vector<BenchRecord> &records) {
  if (!timed)
    return timed.takeError();
  Expected<TargetInfo> target = TargetInfo::get(command.options.target);
  if (!target)
    return target.takeError();
  Expected<BenchRecord> record = target->gpu ? timeOnDevice(command, *timed) : timeOnHost(command, *timed, *target);
  if (!record)
    return record.takeError();
  printRecord(getText(command), *record, command.threads);
  if (command.roofline == Roofline::Measured && record->noRate.empty())
    printBound(getText(command), *record);
  getText(command).flush();
  records.push_back(std::move(*record));
  return Error::success();
}

static Error timeProblem(const BenchCommand &command, const std::string &line, std::vector<BenchRecord> &records) {
  if (Error error = timeCase(command, createCase(command, line), records))
    return error;
  return command.roofline == Roofline::Measured ? printLoops(command, {"", line}) : Error::success();
}

/// Each kernel of a file, or the requested one; their loops at the end.
static Error timeFile(const BenchCommand &command, std::vector<BenchRecord> &records) {
  Expected<LoadedKernel> loaded = LoadedKernel::compile(*command.source, command.options, command.kernel);
  if (!loaded)
    return loaded.takeError();
  for (const auto &[name, size] : command.sizes)
    if (none_of(loaded->getKernels(), [&](const Kernel &kernel) { return is_contained(kernel.sizes, name); }))
      return createStringError("expected --size of a dynamic size of a kernel, found '" + name + "'");
  for (const Kernel &each : loaded->getKernels()) {
    if (!command.kernel.empty() && each.name != loaded->getDescription().name)
      continue;
    Expected<LoadedKernel> kernel = loaded->getKernel(each.name);
    if (!kernel)
      return kernel.takeError();
    if (Error error = timeCase(command, createCase(command, std::move(*kernel)), records))
      return error;
  }
  return command.roofline == Roofline::Measured ? printLoops(command, *command.source) : Error::success();
}

/// Prints the loops of a problem's kernel for any target, below its line.
static Error describeProblem(const BenchCommand &command, const std::string &line) {
  Expected<Problem> problem = parseProblem(line);
  if (!problem)
    return problem.takeError();
  outs() << (command.roofline == Roofline::Assembly ? "# " : "") << printProblemLine(*problem) << ":\n";
  return printLoops(command, {"", line});
}

/// The loops of all problems, or of the file.
static Error describe(const BenchCommand &command) {
  if (command.source)
    return printLoops(command, *command.source);
  for (const std::string &line : command.problems)
    if (Error error = describeProblem(command, line))
      return error;
  return Error::success();
}

static Error printCeilings(const BenchCommand &command) {
  Expected<TargetInfo> target = TargetInfo::get(command.options.target);
  if (!target)
    return target.takeError();
  auto print = [&](StringRef name, double rate, StringRef unit, double processorShare) {
    getText(command) << name << ", " << printThreads(command.threads) << ": " << format("%.1f", rate) << unit
                     << describeLoad({processorShare}) << "\n";
  };
  for (Product product : getProducts(*target)) {
    bool measuresRead = product == Product::F32;
    Expected<Ceilings> ceilings = Ceilings::create(*target, product, command.threads);
    if (!ceilings)
      return ceilings.takeError();
    double start = getSeconds();
    for (unsigned round = 0; round < kMinRounds || getSeconds() - start < command.seconds; ++round) {
      ceilings->measureFma();
      if (measuresRead)
        if (Error error = ceilings->measureRead())
          return error;
    }
    double share = ceilings->getProcessorShare();
    print(getProductName(product), ceilings->getGflops(), " GFLOP/s", share);
    if (measuresRead)
      print("read", ceilings->getGigabytes(), " GB/s", share);
  }
  return Error::success();
}

Error driver::measure(const BenchCommand &command, std::vector<BenchRecord> &records) {
  attn_runtime_set_num_threads(command.threads);
  if (command.source)
    if (Error error = timeFile(command, records))
      return error;
  for (const std::string &line : command.problems) {
    if (Error error = timeProblem(command, line, records))
      return error;
    getText(command).flush();
  }
  return Error::success();
}

int driver::bench(const BenchCommand &command) {
  // Reports a file that cannot be written before the time is spent.
  OutputFiles probe(command.source ? command.source->file : "");
  if (!command.json.empty())
    if (Error error = probe.add(command.json, [](raw_ostream &) {}))
      return reportError(std::move(error));
  attn_runtime_set_num_threads(command.threads);
  if (command.printCeilings)
    if (Error error = printCeilings(command))
      return reportError(std::move(error));
  std::vector<BenchRecord> records;
  if (command.roofline == Roofline::None || command.roofline == Roofline::Measured) {
    if (Error error = measure(command, records))
      return reportError(std::move(error));
  } else if (Error error = describe(command)) {
    return reportError(std::move(error));
  }
  if (command.json.empty())
    return 0;
  std::string text;
  raw_string_ostream os(text);
  writeRecords(os, records, command);
  return writeFiles({{command.json, text}}, command.source ? command.source->file : "");
}
