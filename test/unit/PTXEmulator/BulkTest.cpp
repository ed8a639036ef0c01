//===- BulkTest.cpp - tensor maps and bulk copies: what they move ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BulkCase.h"

#include "llvm/Support/Error.h"

using namespace attn::ptx;

namespace {

std::string load(unsigned rank, const std::string &coordinates) {
  return "@q cp.async.bulk.tensor." + std::to_string(rank) +
         "d.shared::cluster.global.mbarrier::complete_tx::bytes [r], [m, {" + coordinates + "}], [b];\n";
}

/// The tile that a load at these coordinates makes, by the definition: row after row of the box.
std::vector<uint16_t> expected(const BulkCase &test, std::vector<int> start) {
  const TensorMap &map = test.map;
  std::vector<uint16_t> tile(map.boxBytes() / 2);
  for (size_t i = 0; i < tile.size(); ++i) {
    size_t rest = i, at = 0;
    bool isInside = true;
    for (unsigned d = 0; d < map.rank; ++d) {
      const int64_t index = start[d] + int64_t(rest % map.box[d]);
      rest /= map.box[d];
      isInside &= index >= 0 && index < int64_t(map.sizes[d]);
      at += uint64_t(index) * map.strides[d] / 2;
    }
    // Bits 4 to 6 of the address, exchanged by those from 7 on.
    const size_t chunks = (1u << unsigned(map.swizzle)) - 1;
    tile[i ^ ((i >> 6 & chunks) << 3)] = isInside ? test.input[at] : 0;
  }
  return tile;
}

void expectTile(BulkCase test, const std::string &coordinates, std::vector<int> start) {
  const unsigned bytes = test.map.boxBytes();
  const std::vector<uint16_t> tile = expected(test, start);
  test.expectNone(expectBytes(bytes) + load(test.map.rank, coordinates) + waitFor() + copyOut(bytes));
  test.output.resize(tile.size());
  EXPECT_EQ(test.output, tile) << coordinates;
}

TEST(Bulk, LoadsBoxes) {
  expectTile(BulkCase(), "0, 8", {0, 8});
  expectTile(BulkCase({64, 64}, {64, 8}, TensorSwizzle::None), "0, 56", {0, 56});
  expectTile(BulkCase({64, 64}, {32, 16}, TensorSwizzle::Bytes64), "32, 3", {32, 3});
  expectTile(BulkCase({64, 64}, {16, 16}, TensorSwizzle::Bytes32), "16, 5", {16, 5});
  expectTile(BulkCase({512}, {128}, TensorSwizzle::None), "128", {128});
  expectTile(BulkCase({64, 8, 4, 2}, {64, 2, 3, 1}), "0, 5, 1, 1", {0, 5, 1, 1});
  expectTile(BulkCase({8, 4, 4, 4, 4}, {8, 2, 2, 3, 2}, TensorSwizzle::None), "0, 1, 2, 1, 2", {0, 1, 2, 1, 2});
}

TEST(Bulk, FillsWithZeros) {
  expectTile(BulkCase({64, 13}), "0, 8", {0, 8});
  expectTile(BulkCase({59 + 5, 13}, {64, 16}), "0, -3", {0, -3});
  expectTile(BulkCase(), "0, 64", {0, 64});
  expectTile(BulkCase(), "-20, 2", {-20, 2});
  expectTile(BulkCase(), "11, 2", {11, 2});
  // 59 columns in rows of 64: the edge cuts a chunk.
  BulkCase cut;
  cut.map.sizes[0] = 59;
  expectTile(cut, "0, 1", {0, 1});
  expectTile(cut, "3, 1", {3, 1});
}

TEST(Bulk, LinearCopies) {
  BulkCase test;
  const std::string copy =
      "@q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r], [y+64], 512, [b];\n";
  test.expectNone(expectBytes(512) + copy + waitFor() + copyOut(512));
  EXPECT_EQ(std::vector<uint16_t>(test.output.begin(), test.output.begin() + 256),
            std::vector<uint16_t>(test.input.begin() + 32, test.input.begin() + 288));
  test.expectOnly(FindingKind::Misaligned,
                  "@q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r+8], [y], 512, [b];\n",
                  "@q cp.async.bulk");
  test.expectOnly(FindingKind::Misaligned,
                  "@q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r], [y], 24, [b];\n",
                  "@q cp.async.bulk", "a number of bytes");
}

TEST(Bulk, StoresBoxes) {
  // Loaded from one place, stored to another of the same tensor; rows beyond its end are not written.
  BulkCase test({64, 13}, {64, 8});
  const std::string store = "@q cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [m, {0, 8}], [r];\n"
                            "@q cp.async.bulk.commit_group;\n@q cp.async.bulk.wait_group.read 0;\n";
  const std::string body = expectBytes(1024) + load(2, "0, 0") + waitFor() + store;
  test.map.address = 0;
  BulkCase other = test;
  other.expectNone(body + "bar.sync 0;\nmul.wide.u32 z, t, 64;\nadd.u64 m, y, z;\nadd.u64 z, x, z;\n"
                          "ld.global.v4.u32 {u, v, w, k}, [m];\nst.global.v4.u32 [z], {u, v, w, k};\n");
  for (unsigned row = 0; row < 32; ++row)
    for (unsigned column : {0, 7, 32}) {
      const unsigned from = row >= 8 && row < 13 ? row - 8 : row;
      EXPECT_EQ(other.output[row * 64 + column], test.input[from * 64 + column]) << row << " " << column;
    }
}

TEST(Bulk, MapsThatAreRefused) {
  auto refusal = [](const std::function<void(TensorMap &)> &change) {
    BulkCase test;
    change(test.map);
    return llvm::toString(checkTensorMap(test.map));
  };
  EXPECT_EQ(refusal([](TensorMap &) {}), "");
  EXPECT_EQ(refusal([](TensorMap &map) { map.rank = 6; }), "expected 1 to 5 dimensions, found 6");
  EXPECT_EQ(refusal([](TensorMap &map) { map.address = 8; }),
            "expected an address that is a multiple of 16, found 0x8");
  EXPECT_NE(refusal([](TensorMap &map) { map.strides[1] = 118; }).find("a stride that is a multiple of 16"),
            std::string::npos);
  EXPECT_NE(refusal([](TensorMap &map) { map.box[1] = 257; }).find("a box of 1 to 256"), std::string::npos);
  EXPECT_NE(refusal([](TensorMap &map) { map.sizes[1] = 0; }).find("1 to 2^32 elements"), std::string::npos);
  EXPECT_NE(refusal([](TensorMap &map) { map.box[0] = 72; }).find("at most the 128 bytes of its swizzle, found 144"),
            std::string::npos);
  EXPECT_NE(refusal([](TensorMap &map) { map.box[0] = 4; }).find("a multiple of 16 bytes, found 8"), std::string::npos);
}

TEST(Bulk, MapsThatAreMisused) {
  BulkCase test;
  test.expectOnly(FindingKind::InvalidValue, load(3, "0, 0, 0"), "@q cp.async.bulk", "a tensor map of 3 dimensions");
  test.expectOnly(FindingKind::Misaligned, "add.u32 r, r, 128;\n" + load(2, "0, 0"), "@q cp.async.bulk",
                  "a multiple of 1024");
  BulkCase plain({64, 64}, {64, 8}, TensorSwizzle::None);
  plain.expectOnly(FindingKind::Misaligned, "add.u32 r, r, 64;\n" + load(2, "0, 0"), "@q cp.async.bulk",
                   "a multiple of 128");
  test.expectOnly(FindingKind::InvalidValue, "mov.u64 m, y;\n" + load(2, "0, 0"), "@q cp.async.bulk",
                  "a tensor map, found other bytes");
  test.expectOnly(FindingKind::Misaligned, "add.u64 m, m, 32;\n" + load(2, "0, 0"), "@q cp.async.bulk");
  test.expectOnly(FindingKind::InvalidOperand, "ld.global.u32 u, [y, {s, t}];\n", "ld.global", "coordinates");
  BulkCase large({64, 64}, {64, 128});
  large.expectOnly(FindingKind::OutOfBounds, load(2, "0, 0"), "@q cp.async.bulk", "16384 bytes");
  BulkCase beyond({64, 65});
  EXPECT_TRUE(beyond.run(expectBytes(1024) + load(2, "0, 60") + waitFor()).has(FindingKind::OutOfBounds));
}

} // namespace
