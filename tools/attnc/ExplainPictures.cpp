//===- ExplainPictures.cpp - facts as SVG ---------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// The longer side of the picture of a mask, and the least height of one with few queries, in its own units.
static constexpr double kLongSide = 640, kLeastSide = 24;
static constexpr int64_t kMaxGridTiles = 64;

namespace {
/// Positions of queries and keys as places in the picture.
struct Scale {
  int64_t queries, keys;
  double width, height;

  double x(int64_t key) const { return width * key / keys; }
  double y(int64_t query) const { return height * query / queries; }
};
} // namespace

static Scale getScale(int64_t queries, int64_t keys) {
  double longer = std::max(queries, keys);
  return {queries, keys, std::max(kLeastSide, kLongSide * keys / longer),
          std::max(kLeastSide, kLongSide * queries / longer)};
}

static void drawRectangle(raw_ostream &os, StringRef kind, double x, double y, double right, double bottom) {
  os << formatv("<rect class=\"{0}\" x=\"{1:f2}\" y=\"{2:f2}\" width=\"{3:f2}\" height=\"{4:f2}\"/>", kind, x, y,
                right - x, bottom - y);
}

static void drawGrid(raw_ostream &os, const Scale &scale, int64_t queryTile, int64_t keyTile) {
  if (divideCeil(scale.queries, queryTile) > kMaxGridTiles || divideCeil(scale.keys, keyTile) > kMaxGridTiles)
    return;
  os << "<path class=\"grid\" d=\"";
  for (int64_t query = queryTile; query < scale.queries; query += queryTile)
    os << formatv("M0 {0:f2}H{1:f2}", scale.y(query), scale.width);
  for (int64_t key = keyTile; key < scale.keys; key += keyTile)
    os << formatv("M{0:f2} 0V{1:f2}", scale.x(key), scale.height);
  os << "\"/>";
}

void driver::drawTiles(raw_ostream &os, const json::Object &tiles) {
  int64_t queries = *tiles.getInteger("queries"), keys = *tiles.getInteger("keys");
  bool isOuterQuery = tiles.getString("outer") == "queries";
  int64_t queryTile = *tiles.getInteger("query_tile"), keyTile = *tiles.getInteger("key_tile");
  int64_t every = *tiles.getInteger("every"), outerTile = isOuterQuery ? queryTile : keyTile;
  int64_t outerSize = isOuterQuery ? queries : keys;
  Scale scale = getScale(queries, keys);
  const json::Object &counts = *tiles.getObject("counts");
  os << formatv("<svg class=\"mask\" role=\"img\" viewBox=\"-1 -1 {0:f0} {1:f0}\" style=\"max-width:{0:f0}px\" "
                "aria-label=\"{2} queries down, {3} keys to the right: {4} tiles skipped, {5} partial, {6} full\">",
                scale.width + 2, scale.height + 2, queries, keys, *counts.getInteger("skipped"),
                *counts.getInteger("partial"), *counts.getInteger("full"));
  drawRectangle(os, "skipped", 0, 0, scale.width, scale.height);
  StringRef outer = isOuterQuery ? "queries" : "keys", inner = isOuterQuery ? "keys" : "queries";
  for (const json::Value &entry : *tiles.getArray("rows")) {
    const json::Array &row = *entry.getAsArray();
    auto at = [&](size_t i) { return *row[i].getAsInteger(); };
    int64_t first = at(0), end = std::min(first + every * outerTile, outerSize);
    auto draw = [&](StringRef kind, int64_t lower, int64_t upper) {
      if (lower >= upper)
        return;
      if (isOuterQuery)
        drawRectangle(os, kind, scale.x(lower), scale.y(first), scale.x(upper), scale.y(end));
      else
        drawRectangle(os, kind, scale.x(first), scale.y(lower), scale.x(end), scale.y(upper));
    };
    os << formatv("<g><title>{0} [{1}, {2}): {3} [{4}, {5}) are visited, [{6}, {7}) kept by all</title>", outer, first,
                  at(1), inner, at(2), at(3), at(4), at(5));
    draw("partial", at(2), at(3));
    draw("full", at(4), at(5));
    os << "</g>\n";
  }
  drawGrid(os, scale, queryTile, keyTile);
  os << "</svg>\n";
}

namespace {
/// What bars of a lane have in common, and the rows that rounds beside each other take.
struct Lane {
  StringRef name;
  double y;
  int64_t rows = 1;
};
} // namespace

static std::vector<Lane> getLanes(const json::Array &bars, int64_t length, double row, double &height) {
  std::vector<Lane> lanes;
  for (StringRef kind : {"copy", "product", "softmax"})
    for (const json::Value &entry : bars) {
      const json::Object &bar = *entry.getAsObject();
      StringRef name = *bar.getString("lane");
      if (bar.getString("kind") != kind)
        continue;
      auto found = find_if(lanes, [&](const Lane &lane) { return lane.name == name; });
      if (found == lanes.end())
        found = lanes.insert(found, Lane{name, 0});
      found->rows =
          std::max<int64_t>(found->rows, divideCeil(*bar.getInteger("end") - *bar.getInteger("begin"), length));
    }
  for (Lane &lane : lanes) {
    lane.y = height;
    height += row * lane.rows + row / 2;
  }
  return lanes;
}

void driver::drawTimeline(raw_ostream &os, const json::Object &timeline) {
  constexpr double kRow = 14, kLabel = 52, kWidth = 588;
  constexpr int64_t kMaxDrawnRounds = 4;
  const json::Array &bars = *timeline.getArray("bars");
  int64_t length = *timeline.getInteger("length"), before = 0;
  for (const json::Value &bar : bars)
    before = std::max(before, *bar.getAsObject()->getInteger("end") / length);
  int64_t rounds = std::min(before + 1, kMaxDrawnRounds);
  double height = 0;
  std::vector<Lane> lanes = getLanes(bars, length, kRow, height);
  auto x = [&](int64_t time) { return kLabel + kWidth * std::clamp(double(time) / (rounds * length), 0.0, 1.0); };
  os << formatv("<div class=\"scroll\" tabindex=\"0\"><svg class=\"timeline\" role=\"img\" viewBox=\"0 0 {0} {1}\" "
                "aria-label=\"{2} rounds "
                "of the loop: copies of tiles in flight, products, and the other steps, in the order of the program\">",
                kLabel + kWidth + 2, height + 16, rounds);
  for (const Lane &lane : lanes) {
    os << formatv("<text x=\"0\" y=\"{0:f1}\">{1}</text>", lane.y + 11, escapeHtml(lane.name));
    for (int64_t round = -before; round < rounds; ++round)
      for (const json::Value &entry : bars) {
        const json::Object &bar = *entry.getAsObject();
        int64_t begin = *bar.getInteger("begin") + round * length, end = *bar.getInteger("end") + round * length;
        if (bar.getString("lane") != lane.name || end <= 0 || begin >= rounds * length)
          continue;
        double y = lane.y + kRow * ((round + before) % lane.rows);
        os << "<g><title>" << escapeHtml(*bar.getString("op")) << ", round " << round + 1 << "</title>";
        drawRectangle(os, *bar.getString("kind"), x(begin) + 0.5, y + 1, x(end) - 0.5, y + kRow - 1);
        os << "</g>";
      }
  }
  for (int64_t round = 0; round < rounds; ++round)
    os << formatv("<path class=\"roof\" d=\"M{0:f1} 0V{1:f1}\"/><text x=\"{2:f1}\" y=\"{3:f1}\">round {4}</text>",
                  x(round * length), height, x(round * length) + 3, height + 12, round + 1);
  os << "</svg></div>\n";
}

void driver::drawMix(raw_ostream &os, const json::Object &loop) {
  // One instruction may be of two kinds, as a multiply-add that reads memory.
  const json::Array &mix = *loop.getArray("mix");
  int64_t counted = 0;
  for (const json::Value &part : mix)
    counted += *(*part.getAsArray())[1].getAsInteger();
  double total = std::max<int64_t>({*loop.getInteger("instructions"), counted, 1});
  os << "<svg class=\"mix\" role=\"img\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" "
        "aria-label=\"the mix of instructions, in words below\">";
  drawRectangle(os, "other", 0, 0, 100, 6);
  double x = 0;
  for (const json::Value &entry : mix) {
    const json::Array &part = *entry.getAsArray();
    StringRef name = *part[0].getAsString();
    double width = 100 * *part[1].getAsInteger() / total;
    os << "<g><title>" << name << "</title>";
    drawRectangle(os, name, x, 0, x + width, 6);
    os << "</g>";
    x += width;
  }
  os << "</svg>\n";
}

void driver::drawRoofline(raw_ostream &os, const json::Object &limits) {
  constexpr double kWidth = 420, kHeight = 220, kDecades = 5; // 0.1 to 10,000 FLOP/byte; the peak is near the top
  double peak = *limits.getNumber("multiply_add_ceiling"), read = *limits.getNumber("read_ceiling");
  double intensity = *limits.getNumber("intensity"), rate = *limits.getNumber("gflop_per_s");
  auto x = [&](double value) { return kWidth * std::clamp((std::log10(value) + 1) / kDecades, 0.0, 1.0); };
  auto y = [&](double value) { return kHeight * std::clamp(0.1 + (std::log10(peak / value)) / 4, 0.0, 1.0); };
  double ridge = peak / read;
  os << formatv("<svg class=\"roofline\" role=\"img\" viewBox=\"-4 -4 {0} {1}\" aria-label=\"{2:f1} FLOP a byte; "
                "{3:f1} GFLOP/s of {4:f1}, the ceilings meet at {5:f1} FLOP a byte\">",
                kWidth + 8, kHeight + 24, intensity, rate, peak, ridge);
  os << formatv("<path class=\"roof\" d=\"M{0:f1} {1:f1}L{2:f1} {3:f1}H{4:f1}\"/>", x(0.1), y(0.1 * read), x(ridge),
                y(peak), kWidth);
  for (StringRef value : {"1", "10", "100", "1000"})
    os << formatv("<text x=\"{0:f1}\" y=\"{1}\" text-anchor=\"middle\">{2}</text>", x(std::stod(value.str())),
                  kHeight + 14, value);
  os << formatv("<circle cx=\"{0:f1}\" cy=\"{1:f1}\" r=\"5\"><title>{2:f1} FLOP/byte, {3:f1} GFLOP/s</title></circle>",
                x(intensity), y(rate), intensity, rate);
  os << "</svg>\n";
}
