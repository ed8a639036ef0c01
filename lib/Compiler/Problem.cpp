//===- Problem.cpp - parser of problem lines ------------------------------===//
//
// One table holds the tokens of a problem line; a new token is a new row. After
// all tokens are stored, sizes left out get their defaults and the problem as a
// whole is checked.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Compiler/Problem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace attn;
using llvm::StringRef;

static constexpr int64_t kMaxSize = (int64_t(1) << 31) - 1;
static constexpr size_t kMaxLineLength = 4096;
/// The address space of a process on x86-64; below it, no byte offset overflows an int64.
static constexpr int64_t kMaxTensorBytes = int64_t(1) << 47;
/// What `mask=bool` stores until all sizes are known.
static constexpr Problem::ScoreShape kFullShape = {-1, -1, -1, -1};

//===----------------------------------------------------------------------===//
// The tokens
//===----------------------------------------------------------------------===//

namespace {
/// How a token is written: `hq8`, `causal=…`, or a word alone.
enum class Form { Size, Value, Word };
enum class Outcome { Stored, Malformed, NotYet };

struct Token {
  StringRef name;
  Form form;
  /// Completes "expected …".
  StringRef what;
  /// Completes "write …".
  StringRef example;
  /// Stores what follows the name (and its `=`). Null: a token of the language that this version does not have.
  Outcome (*store)(Problem &problem, StringRef value);
};
} // namespace

template <int64_t Problem::*field, int64_t minimum> static Outcome storeSize(Problem &problem, StringRef value) {
  if (value == "?")
    return Outcome::NotYet;
  uint64_t size;
  if (value.getAsInteger(10, size) || size < uint64_t(minimum) || size > uint64_t(kMaxSize))
    return Outcome::Malformed;
  problem.*field = int64_t(size);
  return Outcome::Stored;
}

template <Problem::Element element> static Outcome storeElement(Problem &problem, StringRef) {
  problem.element = element;
  return Outcome::Stored;
}

template <std::optional<Problem::Causal> Problem::*field>
static Outcome storeAlignment(Problem &problem, StringRef value) {
  if (value == "top_left")
    problem.*field = Problem::Causal::TopLeft;
  else if (value == "bottom_right")
    problem.*field = Problem::Causal::BottomRight;
  else
    return value == "offset" ? Outcome::NotYet : Outcome::Malformed;
  return Outcome::Stored;
}

/// L,R with either left out where that side is unbounded.
static Outcome storeWindow(Problem &problem, StringRef value) {
  if (value.count(',') != 1)
    return Outcome::Malformed;
  Problem::Window window;
  auto [left, right] = value.split(',');
  for (auto [text, bound] : {std::pair(left, &window.left), std::pair(right, &window.right)}) {
    uint64_t parsed;
    if (text.empty())
      continue;
    if (text.getAsInteger(10, parsed) || parsed > uint64_t(kMaxSize))
      return Outcome::Malformed;
    *bound = int64_t(parsed);
  }
  problem.window = window;
  return Outcome::Stored;
}

template <std::optional<double> Problem::*field> static Outcome storeReal(Problem &problem, StringRef value) {
  double real;
  if (value.getAsDouble(real) || !std::isfinite(real))
    return Outcome::Malformed;
  problem.*field = real;
  return Outcome::Stored;
}

static Outcome storeSoftcap(Problem &problem, StringRef value) {
  Outcome outcome = storeReal<&Problem::softcap>(problem, value);
  return outcome == Outcome::Stored && *problem.softcap <= 0 ? Outcome::Malformed : outcome;
}

template <std::optional<Problem::ScoreShape> Problem::*field>
static Outcome storeScoreShape(Problem &problem, StringRef value) {
  llvm::SmallVector<StringRef> parts;
  value.split(parts, ',');
  Problem::ScoreShape shape;
  if (parts.size() != shape.size())
    return Outcome::Malformed;
  for (auto [part, size] : llvm::zip_equal(parts, shape)) {
    if (part == "?")
      return Outcome::NotYet;
    uint64_t parsed;
    if (part.getAsInteger(10, parsed) || parsed > uint64_t(kMaxSize))
      return Outcome::Malformed;
    size = int64_t(parsed);
  }
  problem.*field = shape;
  return Outcome::Stored;
}

static Outcome storeMask(Problem &problem, StringRef value) {
  if (value != "bool")
    return storeScoreShape<&Problem::mask>(problem, value);
  problem.mask = kFullShape;
  return Outcome::Stored;
}

static Outcome storeLayout(Problem &problem, StringRef value) {
  if (value != "bhsd" && value != "bshd")
    return value == "bsd" ? Outcome::NotYet : Outcome::Malformed;
  problem.layout = value == "bhsd" ? Problem::Layout::BHSD : Problem::Layout::BSHD;
  return Outcome::Stored;
}

static Outcome storeOutputs(Problem &problem, StringRef value) {
  bool asksForWeights = false;
  for (StringRef name : llvm::split(value, ',')) {
    bool &asked = name == "lse" ? problem.lse : asksForWeights;
    if ((name != "lse" && name != "weights") || asked)
      return Outcome::Malformed;
    asked = true;
  }
  return asksForWeights ? Outcome::NotYet : Outcome::Stored;
}

static constexpr StringRef kElementTypes = "f32, f64, bf16 or f16";

static constexpr Token kTokens[] = {
    {"b", Form::Size, "a batch size of at least 1", "a number as b2", storeSize<&Problem::b, 1>},
    {"hq", Form::Size, "a number of query heads, at least 1", "a number as hq8", storeSize<&Problem::hq, 1>},
    {"hkv", Form::Size, "a number of key heads, at least 1", "a number as hkv2", storeSize<&Problem::hkv, 1>},
    {"sq", Form::Size, "a query length of at least 0", "a number as sq128", storeSize<&Problem::sq, 0>},
    {"sk", Form::Size, "a key length of at least 0", "a number as sk128", storeSize<&Problem::sk, 0>},
    {"d", Form::Size, "a head size of at least 1", "a number as d64", storeSize<&Problem::d, 1>},
    {"dv", Form::Size, "a head size of at least 1", "a number as dv64", storeSize<&Problem::dv, 1>},
    {"f32", Form::Word, "one element type", kElementTypes, storeElement<Problem::Element::F32>},
    {"f64", Form::Word, "one element type", kElementTypes, storeElement<Problem::Element::F64>},
    {"bf16", Form::Word, "one element type", kElementTypes, storeElement<Problem::Element::BF16>},
    {"f16", Form::Word, "one element type", kElementTypes, storeElement<Problem::Element::F16>},
    {"causal", Form::Value, "an alignment", "causal=top_left or causal=bottom_right", storeAlignment<&Problem::causal>},
    {"softcap", Form::Value, "a positive number", "softcap=30 or the like", storeSoftcap},
    {"scale", Form::Value, "a finite number", "scale=0.125 or the like", storeReal<&Problem::scale>},
    {"bias", Form::Value, "four sizes: batch, heads, queries, keys", "bias=1,8,113,203 or the like",
     storeScoreShape<&Problem::bias>},
    {"mask", Form::Value, "'bool' or four sizes: batch, heads, queries, keys",
     "mask=bool, mask=1,1,113,203 or the like", storeMask},
    {"layout", Form::Value, "a layout", "layout=bhsd or layout=bshd", storeLayout},
    {"out", Form::Value, "further outputs", "out=lse", storeOutputs},
    {"window", Form::Value, "two bounds of at least 0: left, right",
     "window=127,0 for 128 keys that end at the query, window=127, for no bound on the right", storeWindow},
    {"align", Form::Value, "an alignment", "align=top_left or align=bottom_right", storeAlignment<&Problem::align>},
    {"sink", Form::Value, "a sink", "", nullptr},
    {"q_lengths", Form::Value, "lengths", "", nullptr},
    {"kv_lengths", Form::Value, "lengths", "", nullptr},
    {"dropout", Form::Value, "a probability", "", nullptr},
};

/// The row of a word: a word alone by its whole text, the others by their leading letters.
static const Token *findToken(StringRef word) {
  StringRef letters = word.take_while([](char c) { return llvm::isAlpha(c) || c == '_'; });
  for (const Token &token : kTokens)
    if (token.name == (token.form == Form::Word ? word : letters))
      return &token;
  return nullptr;
}

static std::string describeUnknown(StringRef word) {
  StringRef name = word.split('=').first.take_front(32);
  StringRef letters = name.rtrim("0123456789?");
  const Token *nearest = nullptr;
  unsigned nearestDistance = 3;
  for (const Token &token : kTokens) {
    unsigned distance = token.name.edit_distance(token.form == Form::Word ? name : letters);
    if (distance < nearestDistance && distance < token.name.size())
      nearest = &token, nearestDistance = distance;
  }
  if (nearest)
    return llvm::formatv("did you mean '{0}'?", nearest->name);
  auto supported = llvm::make_filter_range(kTokens, [](const Token &token) { return token.store != nullptr; });
  return "write one of " + llvm::join(llvm::map_range(supported, [](const Token &token) { return token.name; }), ", ");
}

//===----------------------------------------------------------------------===//
// The parser
//===----------------------------------------------------------------------===//

namespace {
class ProblemParser {
public:
  ProblemParser(StringRef line, unsigned lineNumber) : line(line), lineNumber(lineNumber) {}
  llvm::Expected<Problem> parse();

private:
  llvm::Error parseWord(StringRef word);
  llvm::Error fillDefaults();
  llvm::Error check();
  llvm::Error checkWindow();
  llvm::Error checkScoreShape(StringRef name, const std::optional<Problem::ScoreShape> &shape);
  llvm::Error checkSize(StringRef name, llvm::ArrayRef<int64_t> shape);

  /// An error at a word of the line, or at the end of the line.
  llvm::Error error(StringRef word, const llvm::Twine &text);
  llvm::Error errorAtEnd(const llvm::Twine &text) { return error(line.rtrim().take_back(0), text); }

  /// Where the line gave a token; empty where it did not.
  StringRef &wordOf(const Token &token) {
    // A line has one element type, whatever its name: all words alone share a place.
    size_t row = token.form == Form::Word ? std::size(kTokens) : size_t(&token - kTokens);
    return words[row];
  }
  StringRef &wordOf(StringRef name) { return wordOf(*findToken(name)); }

  StringRef line;
  unsigned lineNumber;
  Problem problem;
  std::array<StringRef, std::size(kTokens) + 1> words;
};
} // namespace

llvm::Error ProblemParser::error(StringRef word, const llvm::Twine &text) {
  size_t column = word.data() - line.data();
  std::string message = "problem line, ";
  if (lineNumber)
    message += "line " + std::to_string(lineNumber) + ", ";
  message += ("column " + llvm::Twine(column + 1) + ": " + text + "\n  " + line.rtrim() + "\n  ").str();
  message += std::string(column, ' ') + "^" + std::string(word.empty() ? 0 : word.size() - 1, '~');
  // One printable character a byte, so that the caret stands under the word whatever the line holds.
  for (char &c : message)
    if (!llvm::isPrint(c) && c != '\n')
      c = c == '\t' ? ' ' : '?';
  return llvm::createStringError(message);
}

llvm::Error ProblemParser::parseWord(StringRef word) {
  const Token *token = findToken(word);
  if (!token)
    return error(word,
                 llvm::formatv("expected a token of problem lines, found '{0}'; {1}", word, describeUnknown(word)));
  if (!token->store)
    return error(word, llvm::formatv("'{0}' is not supported yet; leave it out", word));
  StringRef &place = wordOf(*token);
  if (!place.empty())
    return error(word, llvm::formatv("expected '{0}' alone, found '{1}' as well; leave one out", place, word));
  place = word;

  StringRef value = word.drop_front(token->name.size());
  bool hasSign = token->form != Form::Value || value.consume_front("=");
  Outcome outcome = hasSign ? token->store(problem, value) : Outcome::Malformed;
  if (outcome == Outcome::NotYet)
    return error(word, llvm::formatv("'{0}' is not supported yet; write {1}", word, token->example));
  if (outcome == Outcome::Malformed)
    return error(word, llvm::formatv("expected {0}, found '{1}'; write {2}", token->what, word, token->example));
  return llvm::Error::success();
}

llvm::Error ProblemParser::fillDefaults() {
  for (StringRef name : {"sq", "d"})
    if (wordOf(name).empty())
      return errorAtEnd(llvm::formatv("expected {0}, found no '{1}'; write {2}", findToken(name)->what, name,
                                      findToken(name)->example));
  if (wordOf("hkv").empty())
    problem.hkv = problem.hq;
  if (wordOf("sk").empty())
    problem.sk = problem.sq;
  if (wordOf("dv").empty())
    problem.dv = problem.d;
  if (problem.mask == kFullShape)
    problem.mask = {problem.b, problem.hq, problem.sq, problem.sk};
  return llvm::Error::success();
}

llvm::Error ProblemParser::checkScoreShape(StringRef name, const std::optional<Problem::ScoreShape> &shape) {
  if (!shape)
    return llvm::Error::success();
  const Problem::ScoreShape full = {problem.b, problem.hq, problem.sq, problem.sk};
  constexpr StringRef dims[] = {"batch", "head", "query", "key"};
  for (auto [size, fullSize, dim] : llvm::zip_equal(*shape, full, dims))
    if (size != 1 && size != fullSize)
      return error(wordOf(name),
                   llvm::formatv("expected 1 or {0} in the {1} dimension of {2}, found {3}; write {2}={4},{5},{6},{7}, "
                                 "with 1 where it broadcasts",
                                 fullSize, dim, name, size, full[0], full[1], full[2], full[3]));
  return llvm::Error::success();
}

llvm::Error ProblemParser::checkSize(StringRef name, llvm::ArrayRef<int64_t> shape) {
  // Empty dimensions count as 1: kernels multiply strides of empty tensors too.
  int64_t bytes = sizeof(double);
  bool overflows = false;
  for (int64_t size : shape)
    overflows |= llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes);
  if (!overflows && bytes <= kMaxTensorBytes)
    return llvm::Error::success();
  return errorAtEnd(llvm::formatv("expected tensors of at most 2^{0} bytes, found more in {1}; write smaller sizes",
                                  llvm::Log2_64(kMaxTensorBytes), name));
}

/// A window without causal says where its diagonal ends, unless the lengths are equal; an alignment is for a window.
llvm::Error ProblemParser::checkWindow() {
  if (problem.align && problem.causal)
    return error(wordOf("align"), "expected align only without causal, which says the alignment itself; leave it out");
  if (problem.align && !problem.window)
    return error(wordOf("align"), "expected align only with a window, found no window; write causal=... or window=...");
  if (problem.window && !problem.align && !problem.causal && problem.sq != problem.sk)
    return error(wordOf("window"), llvm::formatv("expected an alignment of the window, as {0} queries and {1} keys "
                                                 "differ; write align=top_left or align=bottom_right",
                                                 problem.sq, problem.sk));
  return llvm::Error::success();
}

llvm::Error ProblemParser::check() {
  if (llvm::Error failure = checkWindow())
    return failure;
  if (problem.hq % problem.hkv != 0)
    return error(
        wordOf("hkv"),
        llvm::formatv("expected a divisor of the {0} query heads, found {1} key heads; write a number of query "
                      "heads that is a multiple of it",
                      problem.hq, problem.hkv));
  if (llvm::Error failure = checkScoreShape("bias", problem.bias))
    return failure;
  if (llvm::Error failure = checkScoreShape("mask", problem.mask))
    return failure;
  if (llvm::Error failure = checkSize("q", {problem.b, problem.hq, problem.sq, problem.d}))
    return failure;
  if (llvm::Error failure = checkSize("k", {problem.b, problem.hkv, problem.sk, problem.d}))
    return failure;
  if (llvm::Error failure = checkSize("v", {problem.b, problem.hkv, problem.sk, problem.dv}))
    return failure;
  if (llvm::Error failure = checkSize("out", {problem.b, problem.hq, problem.sq, problem.dv}))
    return failure;
  if (problem.bias)
    if (llvm::Error failure = checkSize("bias", *problem.bias))
      return failure;
  return problem.mask ? checkSize("mask", *problem.mask) : llvm::Error::success();
}

llvm::Expected<Problem> ProblemParser::parse() {
  if (line.size() > kMaxLineLength)
    return llvm::createStringError(llvm::formatv("problem line{0}: expected at most {1} characters, found {2}",
                                                 lineNumber ? " " + std::to_string(lineNumber) : "", kMaxLineLength,
                                                 line.size()));
  constexpr StringRef blanks = " \t\r\n\v\f";
  for (StringRef rest = line.ltrim(blanks); !rest.empty(); rest = rest.ltrim(blanks)) {
    StringRef word = rest.take_until([&](char c) { return blanks.contains(c); });
    if (llvm::Error failure = parseWord(word))
      return failure;
    rest = rest.drop_front(word.size());
  }
  if (llvm::Error failure = fillDefaults())
    return failure;
  if (llvm::Error failure = check())
    return failure;
  return problem;
}

llvm::Expected<Problem> attn::parseProblem(StringRef line) { return ProblemParser(line, /*lineNumber=*/0).parse(); }

llvm::Expected<std::vector<Problem>> attn::parseProblems(StringRef text) {
  std::vector<Problem> problems;
  unsigned lineNumber = 0;
  for (StringRef line : llvm::split(text, '\n')) {
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
