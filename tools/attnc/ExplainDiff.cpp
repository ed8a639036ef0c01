//===- ExplainDiff.cpp - attnc diff ---------------------------------------===//
//
// The facts of two kernels beside each other: two schedules, two targets, or two versions of attn.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

namespace {
/// A fact of both sides, by its path; empty where a side does not have it.
using Pairs = std::map<std::string, std::array<std::string, 2>>;
} // namespace

/// Facts that differ in every run, and texts whose lines are no facts of their own.
static bool isLeftOut(StringRef name) {
  return is_contained({"time", "text", "lines", "sources", "rows", "messages", "schema", "compile_seconds"}, name);
}

/// An element of a list by what it is, where it says so: its place would shift with the others.
static std::string getElementName(const json::Value &element, size_t place) {
  if (const json::Object *object = element.getAsObject())
    for (StringRef key : {"name", "kernel", "function", "code"})
      if (std::optional<StringRef> name = object->getString(key))
        return name->str();
  const json::Array *array = element.getAsArray();
  if (array && array->size() == 2 && (*array)[0].getAsString())
    return (*array)[0].getAsString()->str();
  return std::to_string(place);
}

static void collect(const json::Value &value, const std::string &path, size_t side, Pairs &pairs) {
  if (const json::Object *object = value.getAsObject()) {
    for (const auto &[name, field] : *object)
      if (!isLeftOut(name))
        collect(field, path.empty() ? name.str() : path + "." + name.str(), side, pairs);
  } else if (const json::Array *array = value.getAsArray()) {
    std::map<std::string, unsigned> uses;
    for (const auto &[i, element] : enumerate(*array)) {
      std::string name = getElementName(element, i);
      unsigned use = uses[name]++;
      const json::Array *pair = element.getAsArray();
      bool isField = pair && pair->size() == 2 && (*pair)[0].getAsString();
      collect(isField ? (*pair)[1] : element, path + "." + name + (use ? "#" + std::to_string(use) : ""), side, pairs);
    }
  } else {
    std::optional<StringRef> text = value.getAsString();
    pairs[path][side] = text ? text->str() : formatv("{0}", value).str();
  }
}

static Expected<json::Object> readFacts(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return createFileError(path, buffer.getError());
  Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  json::Object *facts = value ? value->getAsObject() : nullptr;
  consumeError(value.takeError());
  if (!facts || facts->getInteger("schema") != kExplainSchema)
    return createStringError("'" + path + "': expected facts of attnc explain --format=json of schema " +
                             Twine(kExplainSchema) + ", found something else; write them anew");
  return std::move(*facts);
}

int driver::diff(const DiffCommand &command) {
  Pairs pairs;
  for (size_t side : {0, 1}) {
    Expected<json::Object> facts = readFacts(command.files[side]);
    if (!facts)
      return reportError(facts.takeError());
    collect(json::Value(std::move(*facts)), "", side, pairs);
  }
  std::string text;
  raw_string_ostream os(text);
  std::vector<std::array<std::string, 3>> rows;
  for (const auto &[path, values] : pairs)
    if (values[0] != values[1])
      rows.push_back({path, values[0], values[1]});
  if (command.format == ExplainFormat::Html) {
    printTable(os, command.files, rows, pairs.size() - rows.size());
  } else {
    json::Array facts;
    for (const auto &[path, left, right] : rows)
      facts.push_back(json::Object{{"fact", path}, {"left", left}, {"right", right}});
    os << formatv("{0:2}", json::Value(std::move(facts))) << "\n";
  }
  return writeFiles({{command.output, text}});
}
