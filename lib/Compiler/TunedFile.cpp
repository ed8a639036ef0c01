//===- TunedFile.cpp - measured schedules, as JSON ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/TunedFile.h"
#include "attn/Problem/Problem.h"
#include "attn/Support/Text.h"
#include "attn/Support/Version.h"
#include "attn/Transforms/Transforms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace attn {

/// The value that identifies a JSON file of attnc tune.
static constexpr StringLiteral kFormat = "attn-tuned-schedules";
/// Changes when the meaning of a field changes.
static constexpr int64_t kFormatVersion = 2;
/// Deepest nesting of brackets; a file of attnc tune has three levels.
static constexpr unsigned kMaxDepth = 64;

std::string TunedFile::print() const {
  json::Array list;
  for (const TunedProblem &each : problems) {
    json::Array timed;
    for (const auto &[schedule, ratio] : each.timed)
      timed.push_back(json::Object{{"schedule", schedule}, {"of_policy", ratio}});
    list.push_back(json::Object{{"problem", each.problem},
                                {"schedule", each.schedule},
                                {"seconds", each.seconds},
                                {"policy", each.policy},
                                {"policy_seconds", each.policySeconds},
                                {"timed", std::move(timed)}});
  }
  json::Object file{
      {"format", kFormat},  {"format_version", kFormatVersion},
      {"attn", kVersion},   {"target", json::Object{{"name", name}, {"cpu", cpu}, {"features", features}}},
      {"threads", threads}, {"problems", std::move(list)}};
  return formatv("{0:2}\n", json::Value(std::move(file))).str();
}

/// "run attnc tune again": the end of every refusal.
static Error refuse(StringRef fileName, const Twine &reason) {
  return createStringError("'" + fileName + "': " + reason +
                           "; measure anew: attnc tune --problem=LINE --budget=SECONDS -o " + fileName);
}

static Expected<TunedProblem> parseProblemEntry(const json::Value &value, StringRef fileName) {
  TunedProblem entry;
  json::Path::Root root("problems");
  json::ObjectMapper map(value, root);
  if (!map || !map.map("problem", entry.problem) || !map.map("schedule", entry.schedule) ||
      !map.map("seconds", entry.seconds) || !map.map("policy", entry.policy) ||
      !map.map("policy_seconds", entry.policySeconds))
    return refuse(fileName, "expected problem, schedule, seconds, policy and policy_seconds of each problem, found " +
                                toString(root.getError()));
  if (const json::Array *timed = value.getAsObject()->getArray("timed"))
    for (const json::Value &each : *timed)
      if (const json::Object *other = each.getAsObject())
        entry.timed.push_back(
            {other->getString("schedule").value_or("").str(), other->getNumber("of_policy").value_or(0)});
  Expected<Problem> problem = parseProblem(entry.problem);
  if (!problem)
    return refuse(fileName, "expected problem lines, found one with an error: " + toString(problem.takeError()));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<AttnDialect>();
  Expected<ScheduleAttr> schedule = parseSchedule(entry.schedule, /*base=*/nullptr, &context);
  if (!schedule)
    return refuse(fileName, toString(schedule.takeError()));
  return entry;
}

/// json::parse is recursive: deep nesting would overflow the stack instead of being an error.
static bool isTooDeep(StringRef text) {
  unsigned depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        i += text[i] == '\\';
    } else if (text[i] == '[' || text[i] == '{') {
      if (++depth > kMaxDepth)
        return true;
    } else if ((text[i] == ']' || text[i] == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

Expected<TunedFile> TunedFile::parse(StringRef text, StringRef fileName) {
  if (isTooDeep(text))
    return refuse(fileName, "expected JSON of at most " + Twine(kMaxDepth) + " brackets inside each other, found more");
  Expected<json::Value> value = json::parse(dropByteOrderMark(text));
  if (!value)
    return refuse(fileName, "expected JSON, found " + toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object || object->getString("format") != StringRef(kFormat))
    return refuse(fileName, "expected a file of attnc tune, with \"format\": \"" + kFormat + "\"");
  std::optional<int64_t> format = object->getInteger("format_version");
  if (format != kFormatVersion)
    return refuse(fileName, "expected format version " + Twine(kFormatVersion) + ", found " +
                                (format ? Twine(*format) : Twine("none")));
  StringRef version = object->getString("attn").value_or("none");
  if (version != kVersion)
    return refuse(fileName,
                  Twine("expected schedules that were measured with attn ") + kVersion + ", found attn " + version);
  const json::Object *target = object->getObject("target");
  const json::Array *list = object->getArray("problems");
  if (!target || !list)
    return refuse(fileName, "expected a target and problems, found none");
  TunedFile file;
  file.fileName = fileName.str();
  file.name = target->getString("name").value_or("").str();
  file.cpu = target->getString("cpu").value_or("").str();
  file.features = target->getString("features").value_or("").str();
  file.threads = object->getInteger("threads").value_or(1);
  for (const json::Value &each : *list) {
    Expected<TunedProblem> entry = parseProblemEntry(each, fileName);
    if (!entry)
      return entry.takeError();
    file.problems.push_back(std::move(*entry));
  }
  return file;
}

Expected<TunedFile> TunedFile::read(StringRef fileName) {
  auto buffer = MemoryBuffer::getFile(fileName);
  if (!buffer)
    return createFileError(fileName, buffer.getError());
  return parse((*buffer)->getBuffer(), fileName);
}

/// The features of one string that the other lacks.
static std::string getDifference(StringRef features, StringRef others) {
  SmallVector<StringRef> ours, theirs, missing;
  features.split(ours, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  others.split(theirs, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef feature : ours)
    if (!is_contained(theirs, feature))
      missing.push_back(feature);
  return missing.empty() ? "no features" : join(missing, ",");
}

Error TunedFile::checkTarget(const TargetInfo &target) const {
  auto again = [&] { return "; measure on it: attnc tune --target=" + target.name + " … -o " + fileName; };
  if (cpu != target.cpu)
    return createStringError("'" + fileName + "': expected schedules for the processor " + target.cpu + " of target " +
                             target.name + ", found those for " + cpu + again());
  if (features != target.features)
    return createStringError("'" + fileName + "': expected schedules for the features of target " + target.describe() +
                             ", found " + getDifference(features, target.features) + " instead of " +
                             getDifference(target.features, features) + again());
  return Error::success();
}

const TunedProblem *TunedFile::find(StringRef line) const {
  Expected<Problem> wanted = parseProblem(line);
  if (!wanted) {
    consumeError(wanted.takeError());
    return nullptr;
  }
  std::string canonical = printProblem(*wanted);
  for (const TunedProblem &each : problems) {
    Problem problem = cantFail(parseProblem(each.problem));
    if (printProblem(problem) == canonical)
      return &each;
  }
  return nullptr;
}

} // namespace attn
