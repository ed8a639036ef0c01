//===- CheckValuesTest.cpp - integers that checked entries test -----------===//
//
// Lengths, prefix sums, block tables and positions: each test breaks one number
// and expects the code and the text that say which.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn-c/attn.h"
#include "attn-c/attn_runtime.h"

#include "gtest/gtest.h"

#include <vector>

namespace {

/// One list of integers and, for tables, the table that it indexes; pages of 4 rows, 3 pages a batch, 8 in the cache.
struct CheckValues : testing::Test {
  static constexpr int64_t kAny[] = {-1, -1};
  std::vector<int32_t> list, table;
  int64_t listShape[1] = {0}, tableShape[2] = {0, 3};
  attn_value_check listCheck = {}, tableCheck = {};
  char message[256] = "not written";

  void expect(attn_status status, const char *text) {
    listShape[0] = list.size();
    tableShape[0] = table.size() / 3;
    std::vector<attn_argument_spec> specs = {
        {"table", kAny, nullptr, &tableCheck, 2, 0, 0, tableCheck.kind ? 1 : 0, kDLInt, 32, {}, {}, {}, {}},
        {"list", kAny, nullptr, &listCheck, 1, 0, 0, 1, kDLInt, 32, {}, {}, {}, {}}};
    DLTensor tensors[] = {{table.data(), {kDLCPU, 0}, 2, {kDLInt, 32, 1}, tableShape, nullptr, 0},
                          {list.data(), {kDLCPU, 0}, 1, {kDLInt, 32, 1}, listShape, nullptr, 0}};
    const DLTensor *arguments[] = {&tensors[0], &tensors[1]};
    EXPECT_EQ(attn_check_arguments(arguments, 2, specs.data(), 2, message, sizeof(message)), status);
    EXPECT_STREQ(message, text);
  }
};

TEST_F(CheckValues, Lengths) {
  listCheck = {ATTN_LENGTHS, {-1, 203}, {-1, 1}, -1, {-1, 1}, {-1, 1}};
  list = {0, 203, 7};
  expect(ATTN_OK, "");
  list = {203, 204};
  expect(ATTN_WRONG_VALUE, "argument 1 'list': expected lengths in 0 to 203, found 204 at index 1");
  list = {-1};
  expect(ATTN_WRONG_VALUE, "argument 1 'list': expected lengths in 0 to 203, found -1 at index 0");
  // The limit is a product of sizes of the call: 3 pages of 4 rows.
  listCheck.limit = {0, 1};
  listCheck.factor = {-1, 4};
  list = {12, 13};
  expect(ATTN_WRONG_VALUE, "argument 1 'list': expected lengths in 0 to 12, found 13 at index 1");
}

TEST_F(CheckValues, PrefixSums) {
  listCheck = {ATTN_PREFIX_SUMS, {-1, 10}, {-1, 1}, -1, {-1, 1}, {-1, 1}};
  list = {0, 4, 4, 10};
  expect(ATTN_OK, "");
  list = {1, 4};
  expect(ATTN_WRONG_VALUE, "argument 1 'list': expected prefix sums that start with 0, found 1 at index 0");
  list = {0, 4, 3};
  expect(ATTN_WRONG_VALUE, "argument 1 'list': expected prefix sums that never decrease, found 3 after 4 at index 2");
  list = {0, 11};
  expect(ATTN_WRONG_VALUE, "argument 1 'list': expected prefix sums of at most 10, found 11 at index 1");
  list = {0, 4, 9};
  expect(ATTN_WRONG_VALUE, "argument 1 'list': expected prefix sums that end with 10, all rows, found 9 at index 2");
}

TEST_F(CheckValues, Slots) {
  listCheck = {ATTN_SLOTS, {-1, 5}, {-1, 1}, -1, {-1, 1}, {-1, 1}};
  list = {4, -1, 0, -1};
  expect(ATTN_OK, "");
  list = {0, 5};
  expect(ATTN_WRONG_VALUE, "argument 1 'list': expected slots in 0 to 4, or -1 for none, found 5 at index 1");
  list = {0, -2};
  expect(ATTN_WRONG_VALUE, "argument 1 'list': expected slots in 0 to 4, or -1 for none, found -2 at index 1");
  list = {3, 1, 3};
  expect(ATTN_WRONG_VALUE, "argument 1 'list': expected each slot once, found 3 at indices 0 and 2");
}

TEST_F(CheckValues, BlockTable) {
  listCheck = {ATTN_LENGTHS, {0, 1}, {-1, 4}, -1, {-1, 1}, {-1, 1}};
  tableCheck = {ATTN_BLOCK_TABLE, {-1, 8}, {-1, 1}, 1, {-1, 4}, {-1, 1}};
  list = {5, 0, 12};
  // Entries beyond the lengths are never read.
  table = {7, 0, -99, 1000, -1, 8, 1, 2, 3};
  expect(ATTN_OK, "");
  table[1] = 8;
  expect(ATTN_WRONG_VALUE, "argument 0 'table': expected page numbers in 0 to 7, found 8 at index [0, 1]");
  list[0] = 4;
  expect(ATTN_OK, "");
  table[8] = -1;
  expect(ATTN_WRONG_VALUE, "argument 0 'table': expected page numbers in 0 to 7, found -1 at index [2, 2]");
  // The lengths, which say what of the table is read, come first.
  list[2] = 13;
  expect(ATTN_WRONG_VALUE, "argument 1 'list': expected lengths in 0 to 12, found 13 at index 2");
}

TEST_F(CheckValues, Positions) {
  listCheck = {ATTN_POSITIONS, {0, 1}, {-1, 4}, -1, {-1, 1}, {-1, 2}};
  tableCheck = {ATTN_APPEND_TABLE, {-1, 8}, {-1, 1}, 1, {-1, 4}, {-1, 2}};
  list = {0, 3, 10};
  table = {0, -1, -1, 1, 2, -1, -1, -1, 3};
  expect(ATTN_OK, "");
  // Rows 3 and 4 lie on two pages.
  table[4] = 8;
  expect(ATTN_WRONG_VALUE, "argument 0 'table': expected page numbers in 0 to 7, found 8 at index [1, 1]");
  list[2] = 11;
  expect(ATTN_WRONG_VALUE,
         "argument 1 'list': expected positions from 0 that leave room for 2 rows in 12, found 11 at index 2");
}

TEST_F(CheckValues, StructureComesFirst) {
  listCheck = {ATTN_LENGTHS, {-1, 1}, {-1, 1}, -1, {-1, 1}, {-1, 1}};
  list = {2};
  list.reserve(4);
  table = {};
  tableShape[1] = -3;
  expect(ATTN_WRONG_SHAPE, "argument 0 'table': expected shape [?, ?], found [0, -3]");
}

} // namespace
