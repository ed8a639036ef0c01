//===- ScheduleText.cpp - schedules as text -------------------------------===//
//
// The text of --schedule, --tuned and the tuner: an attribute. It may omit fields that another schedule of the same
// kind has.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Schedule/Schedule.h"
#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace attn;

static constexpr llvm::StringLiteral kExample = "#attn.prefill<key_tile = 32>";

std::string attn::printSchedule(ScheduleAttr schedule) {
  std::string text;
  llvm::raw_string_ostream(text) << schedule;
  return text;
}

namespace {
/// The parts of `#attn.KIND<NAME = VALUE, …>`.
struct ScheduleText {
  StringRef kind;
  llvm::MapVector<StringRef, StringRef> fields;

  static llvm::Expected<ScheduleText> parse(StringRef text) {
    ScheduleText result;
    StringRef all = text.trim(), inner;
    std::tie(result.kind, inner) = all.split('<');
    if (!all.starts_with("#attn.") || !inner.consume_back(">"))
      return llvm::createStringError("expected a schedule, as " + kExample + ", found '" + text + "'");
    SmallVector<StringRef> words;
    inner.split(words, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef word : words) {
      auto [name, value] = word.split('=');
      if (!result.fields.insert({name.trim(), value.trim()}).second)
        return llvm::createStringError("expected each field of a schedule once, found '" + name.trim() + "' twice");
    }
    return result;
  }

  std::string print() const {
    auto printField = [](const auto &field) { return (field.first + " = " + field.second).str(); };
    return (kind + "<").str() + llvm::join(llvm::map_range(fields, printField), ", ") + ">";
  }
};
} // namespace

/// Parses the attribute of a whole text. Errors of the parser are stored in `message`.
static Attribute parseText(StringRef text, MLIRContext *context, std::string &message) {
  ScopedDiagnosticHandler handler(context, [&, thread = llvm::get_threadid()](Diagnostic &diagnostic) {
    // Other threads compile other functions.
    if (llvm::get_threadid() != thread)
      return failure();
    message = message.empty() ? diagnostic.str() : message;
    return success();
  });
  return parseAttribute(text, context);
}

llvm::Expected<ScheduleAttr> attn::parseSchedule(StringRef text, ScheduleAttr base, MLIRContext *context) {
  std::string baseText = base ? printSchedule(base) : kExample.str(), message;
  llvm::Expected<ScheduleText> wanted = ScheduleText::parse(text);
  if (!wanted)
    return wanted.takeError();
  ScheduleText all = cantFail(ScheduleText::parse(baseText));
  if (!base || all.kind != wanted->kind)
    all = *wanted;
  for (auto [name, value] : wanted->fields)
    all.fields[name] = value;
  Attribute attribute = parseText(all.print(), context, message);
  if (auto schedule = dyn_cast_or_null<ScheduleAttr>(attribute))
    return schedule;
  if (StringRef(message).starts_with("expected") && StringRef(message).contains("write"))
    return llvm::createStringError(message);
  return llvm::createStringError(message + " in '" + text + "'; write a schedule as " + baseText);
}
