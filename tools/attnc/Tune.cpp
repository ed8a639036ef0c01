//===- Tune.cpp - attnc tune ----------------------------------------------===//
//
// The search starts from the policy's schedule and changes one axis at a time. It compiles the neighbours of the
// fastest schedule so far and times them in interleaved rounds, along with the fastest and the policy's. Schedules with
// wrong results are dropped. At the end, the fastest and the policy's are timed alone.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include "Ceilings.h"
#include "Progress.h"
#include "TuneCheck.h"
#include "TuneSpace.h"
#include "attn-c/attn_runtime.h"
#include "attn/Compiler/TunedFile.h"
#include "attn/IR/Attn.h"
#include "attn/Support/OutputFile.h"
#include "attnc.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Fewest rounds of a group of schedules.
static constexpr unsigned kMinRounds = 3;
/// Shorter calls are repeated until a sample lasts this long.
static constexpr double kSampleSeconds = 0.0005, kDeviceSampleSeconds = 0.005;
/// Shares of a problem's time: for timing the last two, and the most for timing one group.
static constexpr double kFinalShare = 0.2, kGroupShare = 0.1;
/// The gain for which a schedule replaces another: less is noise.
static constexpr double kMinGain = 0.01;

namespace {

struct Candidate {
  ScheduleAttr schedule; ///< in the context of the tuner
  std::string text;
  LoadedKernel kernel;
  int repeats = 1;
  bool isWrong = false; ///< its results
  // In the group that was timed last.
  double best = 0;
  double policy = 0; ///< the best of the policy's schedule in the same rounds
  double getRatio() const { return best / policy; }
};

/// Times calls of a problem's kernels, on the same memory.
class CallTimer {
public:
  /// `first` is any of the kernels; for `isDecode` see createCopies.
  Error create(const TuneCommand &command, StringRef line, LoadedKernel &first, bool isDecode, bool isGpu) {
    const Kernel &kernel = first.getDescription();
    ArgumentOptions options;
    for (const std::string &name : kernel.sizes) {
      auto found = command.sizes.find(name);
      if (found == command.sizes.end())
        return createMissingSizeError(line, kernel, name);
      options.sizes[name] = found->second;
    }
    options.fullLengths = true;
    Expected<std::vector<NpyArray>> arguments = createArguments(kernel, options);
    if (!arguments)
      return arguments.takeError();
    int64_t bytes = 1;
    for (const NpyArray &array : *arguments)
      bytes += getNpyTypeSize(array.type) * getNumElements(array.shape);
    Expected<std::vector<std::vector<NpyArray>>> copies = createCopies(kernel, std::move(*arguments), bytes, isDecode);
    if (!copies)
      return copies.takeError();
    buffers = std::move(*copies);
    if (!isGpu)
      return Error::success();
    Expected<DeviceTimer> onDevice = DeviceTimer::create(first, buffers);
    if (!onDevice)
      return onDevice.takeError();
    device = std::move(*onDevice);
    return Error::success();
  }

  /// A shorter sample is too inaccurate.
  double getLeastSeconds() const { return device ? kDeviceSampleSeconds : kSampleSeconds; }

  /// Seconds of one call.
  Expected<double> sample(Candidate &candidate) {
    if (device)
      return device->sample(candidate.kernel, candidate.repeats);
    double before = getSeconds();
    for (int i = 0; i < candidate.repeats; ++i)
      if (Error error = candidate.kernel.call(buffers[nextBuffer++ % buffers.size()]))
        return error;
    return (getSeconds() - before) / candidate.repeats;
  }

private:
  std::vector<std::vector<NpyArray>> buffers;
  size_t nextBuffer = 0;
  std::optional<DeviceTimer> device; ///< with the buffers of a GPU
};

/// The schedules that were tried.
struct Trials {
  StringMap<std::unique_ptr<Candidate>> byText; ///< null where refused
  std::vector<std::string> timed;               ///< the policy's first
  unsigned numRefused = 0;

  Candidate &policy() { return *byText.find(timed.front())->second; }
};

class Tuner {
public:
  /// `number` is the problem's index in the command's list.
  Tuner(const TuneCommand &command, size_t number, Problem problem, const TargetInfo &target, Progress &progress)
      : command(command), number(number), line(printProblemLine(problem)), problem(problem), space(problem, target),
        isGpu(target.gpu.has_value()), progress(progress), start(getSeconds()),
        budget(command.budget / command.problems.size()) {
    context.loadDialect<AttnDialect>();
  }

  /// Nothing, with a warning, if the results of the policy's schedule are wrong.
  Expected<std::optional<TunedProblem>> run() {
    if (Error error = addPolicy())
      return error;
    fastest = &policy();
    Expected<bool> isRight = checkNumbers(policy());
    if (!isRight)
      return isRight.takeError();
    if (!*isRight)
      return std::nullopt;
    start = getSeconds(); // drawing inputs and computing the reference do not count
    for (bool hasChanged = true; hasChanged && hasTime();) {
      hasChanged = false;
      for (StringRef axis : TuneSpace::getAxes()) {
        Expected<bool> changed = tryAxis(axis);
        if (!changed)
          return changed.takeError();
        hasChanged |= *changed;
      }
    }
    double finalSeconds = std::max(budget * kFinalShare, start + budget - getSeconds());
    Candidate &winner = *fastest;
    if (&winner == &policy()) {
      if (Error error = time({&policy()}, finalSeconds))
        return error;
    } else if (Error error = time({&policy(), &winner}, finalSeconds)) {
      return error;
    }
    // It must also be faster when timed alone with the policy's.
    fastest = winner.getRatio() < 1 - kMinGain ? &winner : &policy();
    progress.clear();
    print();
    TunedProblem tuned{line, fastest->text, fastest->best, policy().text, policy().best, {}};
    for (const Candidate *each : sortCandidates())
      if (!each->isWrong)
        tuned.timed.push_back({each->text, each->getRatio()});
    return tuned;
  }

private:
  Candidate &policy() { return trials.policy(); }
  bool hasTime() const { return getSeconds() - start < budget * (1 - kFinalShare); }

  /// The kernel of a line, or that of its gradients if it requests some. Their forward pass is a separate problem.
  StringRef getKernelName() const { return problem.grad.empty() ? "" : "sdpa_backward"; }

  /// The policy's schedule of the problem's only sdpa or sdpa_backward.
  Expected<ScheduleAttr> choosePolicy() {
    Expected<std::unique_ptr<MemoryBuffer>> source = Source{"", line}.open();
    if (!source)
      return source.takeError();
    Expected<std::unique_ptr<Compiler>> compiler = Compiler::create(command.options, errs());
    if (!compiler)
      return compiler.takeError();
    if (failed((*compiler)->parse(std::move(*source))) || failed((*compiler)->run(Phase::SelectSchedule)))
      return createStringError("compilation failed");
    std::string text;
    auto read = [&](auto op) { text = op.getSchedule() ? printSchedule(*op.getSchedule()) : ""; };
    if (problem.grad.empty())
      (*compiler)->getModule()->walk([&](SdpaOp op) { read(op); });
    else
      (*compiler)->getModule()->walk([&](SdpaBackwardOp op) { read(op); });
    if (text.empty())
      return createStringError("expected a problem with a flash kernel, found none in '" + line + "'");
    return parseSchedule(text, /*base=*/nullptr, &context);
  }

  Error addPolicy() {
    Expected<ScheduleAttr> schedule = choosePolicy();
    if (!schedule)
      return schedule.takeError();
    Candidate *candidate = add(*schedule, errs());
    if (!candidate)
      return createStringError("compilation failed");
    if (Error error = timer.create(command, line, candidate->kernel, candidate->schedule.sharesKeys(), isGpu))
      return error;
    Expected<TuneCheck> created = TuneCheck::create(command, line, problem, candidate->kernel);
    if (!created)
      return created.takeError();
    check = std::move(*created);
    return Error::success();
  }

  /// False, with a warning, if the outputs differ from the reference.
  Expected<bool> checkNumbers(Candidate &candidate) {
    Expected<std::string> difference = check->findDifference(candidate.kernel);
    if (!difference)
      return difference.takeError();
    if (difference->empty())
      return true;
    candidate.isWrong = true;
    progress.clear();
    errs() << "attnc: warning: '" << line << "': expected the numbers of "
           << (check->isByReference() ? "the reference" : "the policy's kernel") << ", found " << *difference
           << "; not written: " << candidate.text << "\n";
    return false;
  }

  void showProgress() {
    double share = std::min((getSeconds() - start) / budget, 1.0);
    progress.update((number + share) / command.problems.size(),
                    Twine(trials.timed.size()) + " schedules timed, " + Twine(trials.numRefused) +
                        " refused, the fastest " + Twine(int(100 * fastestRatio + 0.5)) +
                        " % of the policy's time: " + line);
  }

  /// Compiles a schedule. Null if it was tried before, or if no kernel can have it.
  Candidate *add(ScheduleAttr schedule, raw_ostream &diagnostics) {
    std::string text = printSchedule(schedule);
    if (trials.byText.contains(text))
      return nullptr;
    CompileOptions options = command.options;
    options.schedule = text;
    Expected<LoadedKernel> kernel = LoadedKernel::compile({"", line}, options, getKernelName(), diagnostics);
    if (!kernel) {
      consumeError(kernel.takeError());
      trials.byText[text] = nullptr;
      ++trials.numRefused;
      return nullptr;
    }
    auto candidate = std::make_unique<Candidate>(Candidate{schedule, text, std::move(*kernel)});
    trials.timed.push_back(text);
    return (trials.byText[text] = std::move(candidate)).get();
  }

  /// Interleaved rounds; the best time of each, and its ratio to the first, the policy's.
  Error time(ArrayRef<Candidate *> group, double seconds) {
    for (Candidate *candidate : group) {
      candidate->repeats = 1;
      Expected<double> once = timer.sample(*candidate); // also loads code and buffers
      if (!once)
        return once.takeError();
      candidate->repeats = std::max(1, int(timer.getLeastSeconds() / std::max(*once, 1e-9)));
      candidate->best = *once;
    }
    double begin = getSeconds();
    for (unsigned round = 0; round < kMinRounds || getSeconds() - begin < seconds; ++round) {
      showProgress();
      for (Candidate *candidate : group) {
        Expected<double> once = timer.sample(*candidate);
        if (!once)
          return once.takeError();
        candidate->best = std::min(candidate->best, *once);
      }
    }
    for (Candidate *candidate : group)
      candidate->policy = group.front()->best;
    return Error::success();
  }

  /// True if a neighbour is faster.
  Expected<bool> tryAxis(StringRef axis) {
    std::vector<Candidate *> group = {&policy()};
    if (fastest != &policy())
      group.push_back(fastest);
    size_t known = group.size();
    for (const std::string &text : space.getNeighbours(axis, fastest->schedule)) {
      if (!hasTime())
        break;
      Expected<ScheduleAttr> schedule = parseSchedule(text, fastest->schedule, &context);
      if (!schedule)
        ++trials.numRefused, consumeError(schedule.takeError());
      else if (Candidate *candidate = add(*schedule, nulls()))
        group.push_back(candidate);
    }
    if (group.size() == known)
      return false;
    if (Error error = time(group, budget * kGroupShare))
      return error;
    llvm::sort(group, [](Candidate *a, Candidate *b) { return a->best < b->best; });
    for (Candidate *candidate : group) {
      if (candidate == fastest || candidate->best > fastest->best * (1 - kMinGain))
        return false;
      Expected<bool> isRight = checkNumbers(*candidate);
      if (!isRight)
        return isRight.takeError();
      if (!*isRight)
        continue;
      fastest = candidate;
      fastestRatio = candidate->getRatio();
      return true;
    }
    return false;
  }

  /// Marks the policy's schedule.
  std::string describe(const Candidate &candidate) {
    return candidate.text + (&candidate == &policy() ? "  (policy)" : "");
  }

  /// Those that were timed, the fastest first.
  std::vector<const Candidate *> sortCandidates() {
    std::vector<const Candidate *> rows;
    for (const std::string &text : trials.timed)
      rows.push_back(trials.byText.find(text)->second.get());
    llvm::sort(rows, [](const Candidate *a, const Candidate *b) { return a->getRatio() < b->getRatio(); });
    return rows;
  }

  void print() {
    // Not on the stream of the schedules themselves.
    raw_ostream &os = command.output == "-" ? errs() : outs();
    os << line << ": " << trials.timed.size() << " schedules timed, " << trials.numRefused
       << " refused; best times of each and of the policy's in the same rounds:\n";
    for (const Candidate *row : sortCandidates())
      os << "  " << format("%9.4f", row->best * 1e3) << " of " << format("%9.4f", row->policy * 1e3) << " ms  "
         << format("%5.3f", row->getRatio()) << " of policy  " << describe(*row)
         << (row == fastest ? "  <- written"
             : row->isWrong ? "  wrong numbers"
                            : "")
         << "\n";
    os << "  gain over the policy: " << format("%.1f", 100 * (policy().best / fastest->best - 1)) << " %\n";
    os.flush();
  }

  const TuneCommand &command;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED}; ///< of the candidates' schedules
  size_t number;
  std::string line;
  Problem problem;
  TuneSpace space;
  bool isGpu;
  Progress &progress;
  std::optional<TuneCheck> check;
  double start, budget;
  Trials trials;
  CallTimer timer;
  Candidate *fastest = nullptr;
  double fastestRatio = 1; ///< when it became the fastest
};

} // namespace

int driver::tune(const TuneCommand &command) {
  Expected<TargetInfo> target = TargetInfo::get(command.options.target);
  if (!target)
    return reportError(target.takeError());
  // Reports a file that cannot be written before the time is spent.
  OutputFiles probe;
  if (Error error = probe.add(command.output, [](raw_ostream &) {}))
    return reportError(std::move(error));
  attn_runtime_set_num_threads(command.threads);
  TunedFile file(*target, command.threads);
  Progress progress;
  bool isEmpty = true;
  for (auto [number, text] : enumerate(command.problems)) {
    Expected<Problem> problem = parseProblem(text);
    if (!problem)
      return reportError(problem.takeError());
    Expected<std::optional<TunedProblem>> tuned = Tuner(command, number, *problem, *target, progress).run();
    progress.clear();
    if (!tuned)
      return reportError(tuned.takeError());
    if (!*tuned)
      continue;
    file.add(std::move(**tuned));
    isEmpty = false;
  }
  if (isEmpty)
    return reportError(createStringError("expected a problem whose kernel gives the numbers of the reference, found "
                                         "none; nothing is written"));
  return writeFiles({{command.output, file.print()}});
}
