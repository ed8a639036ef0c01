//===- ExplainFacts.cpp - the facts of attnc explain ----------------------===//
//
// One compilation, watched: the IR after each phase, the remarks, the schedules, and of the result its main loops.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include "Ceilings.h"
#include "Cost.h"
#include "Explain.h"
#include "attn/IR/Attn.h"
#include "attn/Schedule/Schedule.h"
#include "attn/Support/Version.h"
#include "mlir/IR/AsmState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// A page of a kernel stays below 2 MB; --dump-phases writes all of it.
static constexpr size_t kMaxLines = 600, kMaxColumns = 200;

static std::string shorten(StringRef line) {
  return line.size() <= kMaxColumns ? line.str() : (line.take_front(kMaxColumns) + " …").str();
}

json::Object driver::describeText(StringRef text, size_t limit) {
  SmallVector<StringRef> lines;
  text.rtrim("\n").split(lines, '\n');
  json::Array shown;
  for (StringRef line : ArrayRef(lines).take_front(limit))
    shown.push_back(json::fixUTF8(shorten(line)));
  return json::Object{{"lines", std::move(shown)}, {"count", int64_t(lines.size())}};
}

/// The line of the source that an op comes from; 0 where it has none.
static unsigned getSourceLine(mlir::Operation *op) {
  auto location = op->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
  return location ? location.getLine() : 0;
}

/// The IR after a phase, with the line of the source that each of its lines comes from.
static json::Object describePhase(Phase phase, mlir::ModuleOp module) {
  std::string text;
  mlir::OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(16).elideLargeResourceString(64);
  mlir::AsmState::LocationMap places;
  mlir::AsmState state(module, flags, &places);
  raw_string_ostream os(text);
  module->print(os, state);
  json::Object result = describeText(text, kMaxLines);
  std::vector<int64_t> sources(result.getArray("lines")->size());
  module->walk([&](mlir::Operation *op) {
    unsigned line = places.lookup(op).first;
    if (line > 0 && line <= sources.size())
      sources[line - 1] = getSourceLine(op);
  });
  result["name"] = getPhaseName(phase);
  result["sources"] = json::Array(sources);
  return result;
}

namespace {
/// What the policy compared with each schedule that it selected, from its remarks.
class Comparisons {
public:
  void add(const RemarkRecord &remark) {
    auto [other, finding] = StringRef(remark.text).rsplit(": ");
    if (remark.code == "schedule-compared")
      pending.push_back(json::Object{{"schedule", other.str()}, {"finding", finding.str()}});
    else if (remark.code == "schedule-selected")
      byPlace[{remark.line, remark.text}] = std::exchange(pending, {});
  }
  json::Array get(unsigned line, const std::string &schedule) const {
    auto found = byPlace.find({line, schedule});
    return found == byPlace.end() ? json::Array() : found->second;
  }

private:
  json::Array pending;
  std::map<std::pair<unsigned, std::string>, json::Array> byPlace;
};
} // namespace

/// Each attn op that has a schedule: its fields, what they were compared with, and the tiles of its mask.
static json::Array describeSchedules(mlir::ModuleOp module, const Comparisons &comparisons) {
  json::Array schedules;
  module->walk([&](mlir::Operation *op) {
    auto schedule = op->getAttrOfType<ScheduleAttr>("schedule");
    if (!schedule)
      return;
    std::string text = printSchedule(schedule);
    json::Array fields;
    SmallVector<StringRef> parts;
    StringRef(text).split('<').second.rtrim('>').split(parts, ", ");
    for (StringRef part : parts)
      fields.push_back(json::Array{part.split(" = ").first.str(), part.split(" = ").second.str()});
    schedules.push_back(json::Object{{"op", op->getName().getStringRef().str()},
                                     {"line", getSourceLine(op)},
                                     {"schedule", text},
                                     {"fields", std::move(fields)},
                                     {"compared", comparisons.get(getSourceLine(op), text)},
                                     {"tiles", describeTiles(op)}});
  });
  return schedules;
}

/// Arrays of the shapes of a call without elements; a size that is not known is dynamic.
static std::vector<NpyArray> createShapes(const Kernel &kernel, const std::map<std::string, int64_t> &sizes) {
  std::vector<NpyArray> arrays;
  for (const KernelArgument &argument : kernel.arguments) {
    NpyArray array{getNpyType(argument), {}, nullptr, nullptr};
    for (auto [size, symbol] : zip_equal(argument.shape, argument.symbols)) {
      auto found = symbol < 0 ? sizes.end() : sizes.find(kernel.sizes[symbol]);
      array.shape.push_back(symbol < 0 ? size : found == sizes.end() ? mlir::ShapedType::kDynamic : found->second);
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

/// The attention and products of a kernel, each with its share of the work, and with --run its time.
static json::Object describeGraph(const ExplainCommand &command, StringRef kernel, MutableArrayRef<GraphNode> nodes,
                                  bool areTimed) {
  if (areTimed)
    timeNodes(nodes, command.options, command.threads, command.seconds);
  auto orNull = [](std::optional<double> value) { return value ? json::Value(*value) : json::Value(nullptr); };
  json::Array list;
  for (const GraphNode &node : nodes)
    list.push_back(json::Object{{"op", node.op},
                                {"name", json::fixUTF8(node.name)},
                                {"sizes", node.sizes},
                                {"inputs", json::Array(node.inputs)},
                                {"flops", orNull(node.flops)},
                                {"seconds", orNull(node.seconds)}});
  return json::Object{{"kernel", kernel.str()}, {"nodes", std::move(list)}};
}

/// Operations, bytes and their quotient, for each kernel with known sizes.
static Error describeCosts(const ExplainCommand &command, ArrayRef<Kernel> kernels, json::Object &facts) {
  json::Array costs, graphs;
  bool isProblem = command.source.problem.has_value();
  bool areTimed = command.runs && !facts.getArray("ptx"); // a call on a device copies its arguments
  for (const Kernel &kernel : kernels) {
    json::Object cost{{"kernel", kernel.name}};
    std::vector<NpyArray> shapes = createShapes(kernel, command.sizes);
    bool isOpen = any_of(shapes, [](const NpyArray &array) { return mlir::ShapedType::isDynamicShape(array.shape); });
    Expected<FileCost> found = FileCost{};
    if (isProblem && kernel.kind != "forward" && !isOpen) {
      Expected<Problem> problem = parseProblem(*command.source.problem);
      if (problem)
        problem = resolveSizes(*problem, kernel, command.sizes);
      if (!problem)
        return problem.takeError();
      found = FileCost{getCost(*problem, kernel, shapes), problem->element, ""};
    } else if (!isProblem || !isOpen) {
      found = getFileCost(command.source, command.options, kernel, shapes, /*withModules=*/areTimed && !isOpen);
    }
    if (!found)
      return found.takeError();
    if (isOpen)
      found->reason = "a size is known at run time only; write --size=NAME=N";
    if (!isProblem && !found->nodes.empty())
      graphs.push_back(describeGraph(command, kernel.name, found->nodes, areTimed));
    if (found->reason.empty()) {
      cost["flops"] = found->cost.flops;
      cost["bytes"] = found->cost.bytes;
      cost["intensity"] = found->cost.getIntensity();
      cost["reads_bound"] = found->cost.isDecode;
    } else {
      cost["unknown"] = found->reason;
    }
    costs.push_back(std::move(cost));
  }
  facts["costs"] = std::move(costs);
  facts["graphs"] = std::move(graphs);
  return Error::success();
}

/// Checks the kernels against the reference and times them, as attnc run --check and attnc bench --roofline do.
static Error describeNumbers(const ExplainCommand &command, const CompileOptions &options, json::Object &facts) {
  std::string report;
  raw_string_ostream os(report);
  RunCommand check;
  check.source = command.source;
  check.options = options;
  check.arguments.sizes = command.sizes;
  check.arguments.uniformRows = true;
  check.check = true;
  check.report = &os;
  bool isRight = driver::run(check) == 0;
  facts["check"] = json::Object{{"passed", isRight}, {"report", describeText(report, kMaxLines)}};

  BenchCommand timing;
  if (command.source.problem)
    timing.problems = {*command.source.problem};
  else
    timing.source = command.source;
  timing.options = options;
  timing.sizes = command.sizes;
  timing.threads = command.threads;
  timing.seconds = command.seconds;
  Expected<TargetInfo> target = TargetInfo::get(options.target);
  timing.roofline = target && !target->gpu ? Roofline::Measured : Roofline::None;
  consumeError(target.takeError());
  std::string lines, text;
  raw_string_ostream linesOs(lines), textOs(text);
  timing.report = &linesOs;
  std::vector<BenchRecord> records;
  if (Error error = measure(timing, records))
    return error;
  writeRecords(textOs, records, timing);
  Expected<json::Value> measured = json::parse(text);
  if (!measured)
    return measured.takeError();
  facts["measured"] = std::move(*measured);
  return Error::success();
}

/// What attnc tune measured of a problem, from the file of --tuned.
static void describeTuned(const ExplainCommand &command, json::Object &facts) {
  const TunedFile *file = command.options.tuned.get();
  const TunedProblem *tuned = file && command.source.problem ? file->find(*command.source.problem) : nullptr;
  if (!tuned)
    return;
  json::Array timed;
  for (const auto &[schedule, ratio] : tuned->timed)
    timed.push_back(json::Object{{"schedule", schedule}, {"of_policy", ratio}});
  facts["tuned"] = json::Object{{"schedule", tuned->schedule},   {"seconds", tuned->seconds},
                                {"policy", tuned->policy},       {"policy_seconds", tuned->policySeconds},
                                {"threads", file->getThreads()}, {"timed", std::move(timed)}};
}

static StringRef getKind(const Source &source) {
  return source.problem ? "problem" : StringRef(source.file).ends_with(".onnx") ? "model" : "file";
}

/// A problem line in words; none where it is refused.
static std::optional<std::string> describeProblem(StringRef line) {
  Expected<Problem> problem = parseProblem(line);
  if (!problem) {
    consumeError(problem.takeError());
    return std::nullopt;
  }
  auto count = [](int64_t size, StringRef what) {
    return (size == Problem::kDynamic ? "any number of " : std::to_string(size) + " ") + what.str();
  };
  const Problem::Sizes &sizes = problem->sizes;
  std::string text = problem->linear ? "Linear attention of " + count(sizes.sq, "tokens")
                                     : "Attention of " + count(sizes.sq, "queries") + " and " + count(sizes.sk, "keys");
  text += " in " + count(sizes.hq, "heads");
  if (sizes.hkv != sizes.hq)
    text += ", which share " + count(sizes.hkv, "heads of K and V");
  text += ", batch " + (sizes.b == Problem::kDynamic ? "of any size" : std::to_string(sizes.b)) + ", with " +
          std::to_string(sizes.d) + " elements a row";
  if (sizes.dv != sizes.d)
    text += " of Q and K and " + std::to_string(sizes.dv) + " of V";
  return text + (problem->grad.empty() ? "." : ", and its gradients.");
}

Expected<json::Object> driver::collectFacts(const ExplainCommand &command) {
  Expected<std::unique_ptr<MemoryBuffer>> source = command.source.open(/*isText=*/true);
  json::Object input{{"kind", getKind(command.source)},
                     {"name", json::fixUTF8(command.source.problem ? *command.source.problem : command.source.file)}};
  if (command.source.problem)
    if (std::optional<std::string> sentence = describeProblem(*command.source.problem))
      input["sentence"] = *sentence;
  if (source)
    input["text"] = describeText((*source)->getBuffer(), kMaxLines);
  json::Object facts{{"schema", kExplainSchema},
                     {"attn", kVersion},
                     {"time", formatv("{0:%Y-%m-%d %H:%M}", std::chrono::system_clock::now()).str()},
                     {"target_option", command.options.target},
                     {"input", std::move(input)},
                     {"status", "refused"}};
  std::string messages;
  raw_string_ostream diagnostics(messages);
  auto refuse = [&](Error error) {
    if (error)
      diagnostics << toString(std::move(error)) << "\n";
    facts["messages"] = json::fixUTF8(messages);
    return std::move(facts);
  };
  if (!source)
    return refuse(source.takeError());

  json::Array phases, remarks, schedules;
  Comparisons comparisons;
  CompileOptions options = applyTuned(command.source, command.options);
  options.remarks = RemarkFilter::All;
  options.onRemark = [&](const RemarkRecord &remark) {
    comparisons.add(remark);
    remarks.push_back(json::Object{{"kind", remark.kind},
                                   {"code", remark.code},
                                   {"text", json::fixUTF8(remark.text)},
                                   {"function", json::fixUTF8(remark.function)},
                                   {"line", remark.line},
                                   {"column", remark.column}});
  };
  options.onPhase = [&](Phase phase, mlir::ModuleOp module) {
    phases.push_back(describePhase(phase, module));
    if (phase == Phase::SelectSchedule)
      schedules = describeSchedules(module, comparisons);
    if (phase == Phase::Steps)
      facts["timelines"] = describeTimelines(module);
  };
  double start = getSeconds();
  Expected<std::unique_ptr<Compiler>> compiler = Compiler::create(options, diagnostics);
  if (!compiler)
    return refuse(compiler.takeError());
  bool isCompiled = succeeded((*compiler)->parse(std::move(*source))) && succeeded((*compiler)->run());
  Error error = isCompiled ? describeCode(**compiler, options, facts) : Error::success();
  facts["compile_seconds"] = getSeconds() - start;
  facts["remarks"] = std::move(remarks);
  facts["phases"] = std::move(phases);
  facts["schedules"] = std::move(schedules);
  describeTuned(command, facts);
  if (!isCompiled || error)
    return refuse(std::move(error));
  std::string manifest = writeManifest((*compiler)->getKernels(), (*compiler)->getTarget(), options);
  Expected<json::Value> parsed = json::parse(manifest);
  if (!parsed)
    return parsed.takeError();
  facts["manifest"] = std::move(*parsed);
  if (Error failure = describeCosts(command, (*compiler)->getKernels(), facts))
    return std::move(failure);
  CompileOptions silent = applyTuned(command.source, command.options); // the remarks are collected
  if (Error failure = command.runs ? describeNumbers(command, silent, facts) : Error::success())
    return std::move(failure);
  facts["status"] = "compiled";
  facts["messages"] = json::fixUTF8(messages);
  return facts;
}

int driver::explain(const ExplainCommand &command) {
  Expected<json::Object> facts = collectFacts(command);
  if (!facts)
    return reportError(facts.takeError());
  bool isCompiled = facts->getString("status") == "compiled";
  const json::Object *check = facts->getObject("check");
  bool isRight = !check || *check->getBoolean("passed");
  if (!isCompiled)
    errs() << facts->getString("messages").value_or("");
  std::string text;
  raw_string_ostream os(text);
  if (command.format == ExplainFormat::Json)
    os << formatv("{0:2}", json::Value(std::move(*facts))) << "\n";
  else
    printPage(os, *facts);
  if (int code = writeFiles({{command.output, text}}, command.source.file))
    return code;
  return isCompiled && isRight ? 0 : 1;
}
