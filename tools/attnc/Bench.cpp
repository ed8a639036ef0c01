//===- Bench.cpp - attnc bench --------------------------------------------===//
//
// Times kernels against a ceiling measured in the same run, round by round: the
// FMA peak of as many threads, from a kernel of our own that does nothing else.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn-c/attn_runtime.h"
#include "attn/Compiler/Problem.h"
#include "attnc.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <chrono>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Rounds of each problem, at least; the ceiling is measured again in every one.
static constexpr unsigned kMinRounds = 5;
/// Short bursts, several a round: on a shared machine one of them runs undisturbed.
static constexpr double kPeakSeconds = 0.002;
static constexpr unsigned kPeakBursts = 5;

static double getSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

/// The FMA ceiling: independent chains of vector multiply-adds, as many as hide the latency, on each thread.
class FmaPeak {
public:
  static Expected<FmaPeak> create(const CompileOptions &options, Problem::Element element, int threads) {
    Expected<TargetInfo> target = TargetInfo::get(options.target);
    if (!target)
      return target.takeError();
    FmaPeak peak;
    peak.threads = threads;
    Expected<std::unique_ptr<LoadedObject>> object =
        compileFmaLoop(*target, element == Problem::Element::F64 ? 64 : 32);
    if (!object)
      return object.takeError();
    peak.object = std::move(*object);
    Expected<void *> entry = peak.object->lookup("fma_peak");
    if (!entry)
      return entry.takeError();
    peak.entry = reinterpret_cast<Loop>(*entry);
    peak.flopsPerRound = kFmaChains * target->getLanes(element == Problem::Element::F64 ? 64 : 32) * 2.0;
    // Rounds that last about kPeakSeconds.
    double start = getSeconds();
    peak.entry(kCalibrationRounds);
    peak.rounds = std::max<int64_t>(1, kCalibrationRounds * kPeakSeconds / (getSeconds() - start));
    return peak;
  }

  /// GFLOP/s of all threads together.
  double measure() const {
    double start = getSeconds();
    attn_parallel_for([](void *context, int64_t) { static_cast<const FmaPeak *>(context)->runOnce(); },
                      const_cast<FmaPeak *>(this), threads);
    return threads * rounds * flopsPerRound / (getSeconds() - start) * 1e-9;
  }

private:
  using Loop = double (*)(int64_t);
  static constexpr int64_t kCalibrationRounds = 1 << 20;
  void runOnce() const { (void)entry(rounds); }

  std::unique_ptr<LoadedObject> object;
  Loop entry = nullptr;
  int64_t rounds = 0;
  double flopsPerRound = 0;
  int threads = 1;
};

struct Timing {
  double best, median;
};

Timing summarize(std::vector<double> times) {
  llvm::sort(times);
  return {times.front(), times[times.size() / 2]};
}

} // namespace

/// 4 B Hq Sq Sk D for D = Dv; halved when causal, or times the share of the keys that a window holds
/// (docs/Performance.md). Lengths are full, and packed sequences of equal length.
static double getFlops(const Problem &problem) {
  double sequences = problem.layout == Problem::Layout::Varlen ? 1.0 / std::max<int64_t>(problem.b, 1) : problem.b;
  double flops = 2.0 * sequences * problem.hq * problem.sq * problem.sk * (problem.d + problem.dv);
  std::optional<int64_t> left, right;
  if (problem.window) {
    left = problem.window->left;
    right = problem.causal ? 0 : problem.window->right;
  }
  if (left && right)
    return flops * std::min(1.0, double(*left + *right + 1) / std::max<int64_t>(problem.sk, 1));
  return problem.causal ? flops / 2 : flops;
}

/// The problem with the sizes of this run.
static Expected<Problem> resolveSizes(Problem problem, const Kernel &kernel,
                                      const std::map<std::string, int64_t> &sizes) {
  for (const std::string &name : kernel.sizes) {
    auto found = sizes.find(name);
    if (found == sizes.end())
      return createStringError("expected --size of every dynamic size of '" + printProblemLine(problem) +
                               "', found none of " + name + "; write --size=" + join(kernel.sizes, "=N,") + "=N");
    for (auto [ours, size] :
         {std::pair("b", &problem.b), {"hq", &problem.hq}, {"sq", &problem.sq}, {"sk", &problem.sk}})
      if (name == ours)
        *size = found->second;
    // Paged keys have the rows of all pages of the table.
    if (name == "max_pages" && problem.paged)
      problem.sk = found->second * problem.paged->size;
  }
  return problem;
}

static Error benchProblem(const BenchCommand &command, const std::string &line) {
  Expected<Problem> problem = parseProblem(line);
  if (!problem)
    return problem.takeError();
  Source source{"", line};
  Expected<LoadedKernel> kernel = LoadedKernel::compile(source, command.options);
  if (!kernel)
    return kernel.takeError();
  Expected<Problem> resolved = resolveSizes(*problem, kernel->getDescription(), command.sizes);
  if (!resolved)
    return resolved.takeError();
  ArgumentOptions argumentOptions;
  for (const auto &[name, size] : command.sizes)
    if (is_contained(kernel->getDescription().sizes, name)) // other problems of the list may have other names
      argumentOptions.sizes[name] = size;
  argumentOptions.fullLengths = true;
  Expected<std::vector<NpyArray>> arguments = createArguments(kernel->getDescription(), argumentOptions);
  if (!arguments)
    return arguments.takeError();
  std::optional<LoadedKernel> unfused;
  if (command.compareUnfused) {
    CompileOptions options = command.options;
    options.unfused = true;
    options.schedule.clear();
    Expected<LoadedKernel> compiled = LoadedKernel::compile(source, options);
    if (!compiled)
      return compiled.takeError();
    unfused = std::move(*compiled);
  }
  Expected<FmaPeak> peak = FmaPeak::create(command.options, problem->element, command.threads);
  if (!peak)
    return peak.takeError();

  std::vector<double> times;
  double ceiling = 0, start = getSeconds();
  while (times.size() < kMinRounds || getSeconds() - start < command.seconds) {
    for (unsigned burst = 0; burst < kPeakBursts; ++burst)
      ceiling = std::max(ceiling, peak->measure());
    double before = getSeconds();
    if (Error error = kernel->call(*arguments))
      return error;
    times.push_back(getSeconds() - before);
  }
  Timing timing = summarize(times);
  double rate = getFlops(*resolved) / timing.best * 1e-9;
  outs() << printProblemLine(*resolved) << ": best " << format("%.3f", timing.best * 1e3) << " ms, median "
         << format("%.3f", timing.median * 1e3) << " ms, " << format("%.1f", rate) << " GFLOP/s, ceiling "
         << format("%.1f", ceiling) << " GFLOP/s (FMA, " << command.threads
         << (command.threads == 1 ? " thread), " : " threads), ") << format("%.1f", 100 * rate / ceiling) << " %";
  if (unfused) {
    double before = getSeconds();
    if (Error error = unfused->call(*arguments))
      return error;
    double time = getSeconds() - before;
    outs() << ", unfused chain " << format("%.3f", time * 1e3) << " ms (" << format("%.1f", time / timing.best)
           << " x)";
  }
  outs() << "\n";
  outs().flush();
  return Error::success();
}

int driver::bench(const BenchCommand &command) {
  attn_runtime_set_num_threads(command.threads);
  for (const std::string &line : command.problems)
    if (Error error = benchProblem(command, line))
      return reportError(std::move(error));
  return 0;
}
