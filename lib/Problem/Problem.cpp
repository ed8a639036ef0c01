//===- Problem.cpp - parser of problem lines ------------------------------===//
//
// Stores the tokens of ProblemTokens.cpp one by one, adds the default sizes,
// takes the text after the line, and has the whole checked.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LinearProblem.h"
#include "ProblemParser.h"

#include "attn/Support/Text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn;
using llvm::StringRef;

static constexpr size_t kMaxLineLength = 4096;
/// The text of captures and regions: far more than a traced function needs.
static constexpr size_t kMaxRegionsLength = size_t(1) << 20;
static constexpr StringRef kBlanks = " \t\r\n\v\f";

llvm::Error ProblemParser::error(StringRef word, const llvm::Twine &text) {
  size_t column = word.data() - line.data();
  std::string message = "problem line, ";
  if (lineNumber)
    message += "line " + std::to_string(lineNumber) + ", ";
  message += ("column " + llvm::Twine(column + 1) + ": " + text + "\n  " + line.rtrim() + "\n  ").str();
  message += std::string(column, ' ') + "^" + std::string(word.empty() ? 0 : word.size() - 1, '~');
  // One printable character per byte, so that the caret is below the word for any line.
  for (char &c : message)
    if (!llvm::isPrint(c) && c != '\n')
      c = c == '\t' ? ' ' : '?';
  return llvm::createStringError(message);
}

llvm::Error ProblemParser::parseWord(StringRef word) {
  const ProblemToken *token = findProblemToken(word);
  if (!token)
    return error(
        word, llvm::formatv("expected a token of problem lines, found '{0}'; {1}", word, describeUnknownToken(word)));
  StringRef &place = wordOf(*token);
  if (!place.empty())
    return error(word, llvm::formatv("expected '{0}' alone, found '{1}' as well; leave one out", place, word));
  place = word;

  StringRef value = word.drop_front(token->name.size());
  bool hasSign = token->form != TokenForm::Value || value.consume_front("=");
  if (!hasSign || !token->store(problem, value))
    return error(word, llvm::formatv("expected {0}, found '{1}'; write {2}", token->what, word, token->example));
  return llvm::Error::success();
}

/// A word of a line of linear attention.
llvm::Error ProblemParser::parseLinearWord(StringRef word) {
  auto [name, value] = word.split('=');
  const auto *token = llvm::find_if(getLinearTokens(), [&](const LinearToken &each) { return each.name == name; });
  if (token == getLinearTokens().end()) {
    const ProblemToken *shared = findProblemToken(word);
    if (shared && isSharedToken(shared->name))
      return parseWord(word);
    auto toName = [](const LinearToken &each) { return each.name; };
    return error(word,
                 llvm::formatv("expected a token of lines of linear attention, found '{0}'; write b, hq, hkv, sq, "
                               "d, dv, an element type, layout, grad, or one of {1}",
                               word, llvm::join(llvm::map_range(getLinearTokens(), toName), ", ")));
  }
  if (llvm::is_contained(linearWords, name))
    return error(word, llvm::formatv("expected '{0}' once, found '{1}' as well; leave one out", name, word));
  linearWords.push_back(name);
  bool isComplete = !word.ends_with("=") && token->store(*problem.linear, value);
  if (!isComplete)
    return error(word, llvm::formatv("expected {0}, found '{1}'; write {2}", token->what, word, token->example));
  return llvm::Error::success();
}

llvm::Error ProblemParser::fillDefaults() {
  for (StringRef name : {"sq", "d"})
    if (wordOf(name).empty())
      return errorAtEnd(llvm::formatv("expected {0}, found no '{1}'; write {2}", findProblemToken(name)->what, name,
                                      findProblemToken(name)->example));
  if (wordOf("hkv").empty())
    problem.sizes.hkv = problem.sizes.hq;
  if (wordOf("sk").empty())
    problem.sizes.sk = problem.sizes.sq;
  if (wordOf("dv").empty())
    problem.sizes.dv = problem.sizes.d;
  for (const WordInfo &word : getWords())
    if (const auto *shape = problem.words.get<ScoreShape>(word.word); shape && *shape == kFullScoreShape)
      problem.words[word.word] = ScoreShape{problem.sizes.b, problem.sizes.hq, problem.sizes.sq, problem.sizes.sk};
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// After the line
//===----------------------------------------------------------------------===//

/// Text of an error about what follows the line: short and printable.
static std::string quoteStart(StringRef text) {
  std::string quoted = text.take_until([](char c) { return c == '\n'; }).take_front(40).str();
  for (char &c : quoted)
    if (!llvm::isPrint(c))
      c = '?';
  return "'" + quoted + "'";
}

/// (%name : type, …)
llvm::Error ProblemParser::parseCaptures(StringRef &text) {
  size_t end = text.find(')');
  if (!text.consume_front("(") || end == StringRef::npos)
    return llvm::createStringError("problem captures: expected (%name : type, ...), found " + quoteStart(text));
  for (StringRef item : llvm::split(text.take_front(end - 1), ',')) {
    auto [name, type] = item.split(':');
    name = name.trim(kBlanks);
    type = type.trim(kBlanks);
    bool isName = name.consume_front("%") && !name.empty() && !llvm::isDigit(name.front()) &&
                  llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!isName || type.empty())
      return llvm::createStringError("problem captures: expected %name : type, found " + quoteStart(item));
    if (llvm::any_of(problem.captures, [&](const Problem::Capture &other) { return other.name == name; }))
      return llvm::createStringError("problem captures: expected each name once, found %" + name + " twice");
    problem.captures.push_back({name.str(), type.str()});
  }
  text = text.drop_front(end);
  return llvm::Error::success();
}

/// A region from its brace to the matching one; empty if there is none. Traced regions have no braces in strings or
/// comments.
static StringRef takeRegion(StringRef &text) {
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{')
      ++depth;
    else if (text[i] == '}' && depth > 0 && --depth == 0) {
      StringRef region = text.take_front(i + 1);
      text = text.drop_front(i + 1);
      return region;
    }
    if (depth == 0)
      break;
  }
  return "";
}

llvm::Error ProblemParser::parseRegions(StringRef text) {
  if (text.size() > kMaxRegionsLength)
    return llvm::createStringError(
        llvm::formatv("problem regions: expected at most {0} characters, found {1}", kMaxRegionsLength, text.size()));
  text = text.trim(kBlanks);
  if (text.consume_front("captures")) {
    text = text.ltrim(kBlanks);
    if (llvm::Error failure = parseCaptures(text))
      return failure;
    text = text.ltrim(kBlanks);
  }
  for (auto [name, region] : {std::pair(StringRef("score_mod"), &problem.scoreMod), {"mask_mod", &problem.maskMod}}) {
    if (!text.consume_front(name))
      continue;
    text = text.ltrim(kBlanks);
    *region = takeRegion(text).str();
    if (region->empty())
      return llvm::createStringError("problem regions: expected { ... } after " + name + ", found " + quoteStart(text));
    text = text.ltrim(kBlanks);
  }
  if (!text.empty())
    return llvm::createStringError("problem regions: expected captures(...), score_mod { ... } and mask_mod { ... }, "
                                   "in this order, found " +
                                   quoteStart(text));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

llvm::Expected<Problem> ProblemParser::parse(StringRef regions) {
  if (line.size() > kMaxLineLength)
    return llvm::createStringError(llvm::formatv("problem line{0}: expected at most {1} characters, found {2}",
                                                 lineNumber ? " " + std::to_string(lineNumber) : "", kMaxLineLength,
                                                 line.size()));
  for (StringRef rest = line.ltrim(kBlanks); !rest.empty(); rest = rest.ltrim(kBlanks)) {
    StringRef word = rest.take_until([&](char c) { return kBlanks.contains(c); });
    bool isFirst = word.data() == line.ltrim(kBlanks).data();
    if (isFirst && word == kLinearWord)
      problem.linear.emplace();
    else if (llvm::Error failure = problem.linear ? parseLinearWord(word) : parseWord(word))
      return failure;
    rest = rest.drop_front(word.size());
  }
  if (llvm::Error failure = fillDefaults())
    return failure;
  if (problem.linear && !regions.trim(kBlanks).empty())
    return llvm::createStringError("problem regions: expected none behind a line of linear attention, found " +
                                   quoteStart(regions.trim(kBlanks)));
  if (std::string text = problem.linear ? checkLinear(problem) : ""; !text.empty())
    return errorAtEnd(text);
  if (problem.linear)
    return problem;
  if (llvm::Error failure = parseRegions(regions))
    return failure;
  if (llvm::Error failure = check())
    return failure;
  return problem;
}

llvm::Expected<Problem> attn::parseProblem(StringRef text) {
  text = dropByteOrderMark(text);
  // Leading blanks are part of the line: they only shift its columns.
  size_t start = std::min(text.find_first_not_of(kBlanks), text.size());
  size_t end = std::min(text.find('\n', start), text.size());
  return ProblemParser(text.take_front(end), /*lineNumber=*/0).parse(text.drop_front(end));
}

llvm::Expected<std::vector<Problem>> attn::parseProblems(StringRef text) {
  std::vector<Problem> problems;
  unsigned lineNumber = 0;
  for (StringRef line : llvm::split(dropByteOrderMark(text), '\n')) {
    ++lineNumber;
    line = line.split('#').first.rtrim();
    if (line.empty())
      continue;
    llvm::Expected<Problem> problem = ProblemParser(line, lineNumber).parse();
    if (!problem)
      return problem.takeError();
    problems.push_back(*problem);
  }
  return problems;
}
