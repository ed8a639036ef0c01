//===- MemoryTest.cpp - loads, stores, atomics, copies, matrices ----------===//
//
// The fragments of ldmatrix and mma are checked against the ISA's index formulas, written down again here.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunPTX.h"

#include "PTXEmulator/Memory.h"

#include <cmath>

using namespace attn::ptx;

namespace {

using U32 = std::vector<uint32_t>;
using U64 = std::vector<uint64_t>;

TEST(Memory, NarrowLoadsExtend) {
  auto load = [&](const std::string &body) {
    return evaluate<uint32_t>("{ .shared .align 16 .b8 buffer[256]; shl.b32 s, lane, 2; mov.u32 r, buffer;"
                              "add.u32 s, s, r; st.shared.b32 [s], a; " +
                                  body + "}",
                              U32{0x80ff1234, 0x00ff0081});
  };
  EXPECT_EQ(load("ld.shared.u8 d, [s];"), (U32{0x34, 0x81}));
  EXPECT_EQ(load("ld.shared.s8 d, [s];"), (U32{0x34, 0xffffff81}));
  EXPECT_EQ(load("ld.shared.s16 d, [s+2];"), (U32{0xffff80ff, 0xff}));
  EXPECT_EQ(load("ld.shared.b16 h, [s]; mov.b32 d, {h, h};"), (U32{0x12341234, 0x00810081}));
  EXPECT_EQ(load("st.shared.u8 [s+1], 7; ld.shared.u32 d, [s];"), (U32{0x80ff0734, 0x00ff0781}));
}

TEST(Memory, VectorsAndGenericAddresses) {
  EXPECT_EQ(evaluate<uint32_t>("{ .shared .align 16 .b8 buffer[512]; shl.b32 s, lane, 4; mov.u32 r, buffer;"
                               "add.u32 s, s, r; st.shared.v4.b32 [s], {a, 2, b, 4}; cvt.u64.u32 x, s;"
                               "cvta.shared.u64 x, x; ld.v2.u32 {r, t}, [x+8]; ld.u32 s, [x]; add.u32 d, r, s; }",
                               U32{100, 200}, U32{3, 5}),
            (U32{103, 205}));
  EXPECT_EQ(evaluate<uint32_t>("{ .shared .align 16 .b8 buffer[512]; mov.u64 x, buffer; cvta.shared.u64 y, x;"
                               "isspacep.shared p, y; isspacep.global q, y; selp.u32 r, 1, 0, p; selp.u32 s, 2, 0, q;"
                               "cvta.to.shared.u64 y, y; sub.u64 x, x, y; cvt.u32.u64 t, x; add.u32 d, r, s;"
                               "add.u32 d, d, t; }",
                               U32{0}),
            U32{1});
}

TEST(Memory, LocalIsEachThreadsOwn) {
  EXPECT_EQ(evaluate<uint32_t>("{ .local .align 8 .b8 depot[16]; mov.u64 x, depot; cvta.local.u64 x, x;"
                               "st.u32 [x+4], a; add.u32 r, a, 1; st.local.u32 [depot], r; ld.u32 r, [x];"
                               "ld.local.u32 s, [depot+4]; mul.lo.u32 d, r, s; }",
                               U32{2, 3, 4}),
            (U32{6, 12, 20}));
}

TEST(Memory, ModuleVariables) {
  GlobalMemory memory;
  const uint64_t out = memory.allocate("out", 8);
  Launch arguments{{1, 1, 1}, {1, 1, 1}};
  arguments.parameters = {pointer(out)};
  expectClean(launch(makeModule("u64 out", R"(.reg .b32 r; .reg .b64 x, y; .reg .f32 f;
    ld.param.u64 x, [out]; ld.const.u32 r, [table+4]; st.global.u32 [x], r;
    mov.u64 y, value; ld.global.f32 f, [y]; st.global.f32 [x+4], f; ret;)",
                                ".const .align 4 .b32 table[3] = {1, 0x22, 3};\n.global .f32 value = 0f3FC00000;"),
                     memory, arguments));
  EXPECT_EQ(memory.read<uint32_t>(out), (U32{0x22, asBits(1.5f)}));
}

TEST(Memory, ParametersByValue) {
  GlobalMemory memory;
  const uint64_t out = memory.allocate("out", 16);
  Launch arguments{{1, 1, 1}, {1, 1, 1}};
  ParameterBytes values;
  for (uint32_t i = 1; i <= 4; ++i)
    for (uint8_t byte : scalar(i * 11))
      values.push_back(byte);
  arguments.parameters = {scalar(uint8_t(9)), values, pointer(out)};
  expectClean(
      launch(makeModule("u8 first, align 16 .b8 array[16], u64 out", R"(.reg .b32 r, s; .reg .b64 x, y; .reg .b16 h;
    ld.param.u64 x, [out]; ld.param.v2.u32 {r, s}, [array+8]; st.global.u32 [x], r; st.global.u32 [x+4], s;
    mov.b64 y, array; cvta.param.u64 y, y; ld.u32 r, [y+4]; st.global.u32 [x+8], r;
    ld.param.u8 h, [first]; cvt.u32.u16 r, h; st.global.u32 [x+12], r; ret;)"),
             memory, arguments));
  EXPECT_EQ(memory.read<uint32_t>(out), (U32{33, 44, 22, 9}));
}

TEST(Memory, Atomics) {
  auto run = [](const std::string &op, uint32_t start) {
    GlobalMemory memory;
    const uint64_t out = memory.allocate("out", U32{start});
    Launch arguments{{1, 1, 1}, {64, 1, 1}};
    arguments.parameters = {pointer(out)};
    expectClean(
        launch(makeModule("u64 out",
                          ".reg .b32 r, s, t; .reg .b64 x; ld.param.u64 x, [out]; mov.u32 t, %tid.x;" + op + " ret;"),
               memory, arguments));
    return memory.read<uint32_t>(out)[0];
  };
  EXPECT_EQ(run("atom.global.add.u32 r, [x], t;", 1), 1 + 63 * 64 / 2);
  EXPECT_EQ(run("red.global.max.u32 [x], t;", 7), 63u);
  EXPECT_EQ(run("red.global.min.s32 [x], t;", 7), 0u);
  EXPECT_EQ(run("atom.global.inc.u32 r, [x], 9;", 0), 64u % 10); // back to 0 after 9
  EXPECT_EQ(run("atom.global.cas.b32 r, [x], t, 100;", 5), 100u);
  EXPECT_EQ(run("red.global.add.f32 [x], 0f3F000000;", asBits(1)), asBits(33));
  // 64 threads add (1, 2) in bf16.
  EXPECT_EQ(run("mov.b32 s, 0x40003f80; red.relaxed.gpu.global.add.noftz.bf16x2 [x], s;", 0),
            uint32_t(toBF16(128)) << 16 | toBF16(64));
  EXPECT_EQ(run("atom.global.exch.b32 r, [x], 8;", 0), 8u);
  EXPECT_EQ(run("red.global.or.b32 [x], t;", 64), 127u);
}

TEST(Memory, CopyFillsWithZeros) {
  // 16 bytes of which 4 · lane mod 20 come from memory.
  const std::string body =
      "{ .shared .align 16 .b8 buffer[512]; shl.b32 s, lane, 4; mov.u32 r, buffer; add.u32 s, s, r;"
      "ld.param.u64 x, [a_p]; rem.u32 t, lane, 5; shl.b32 t, t, 2;"
      "cp.async.ca.shared.global [s], [x], 16, t; cp.async.commit_group; cp.async.wait_group 0;"
      "ld.shared.v4.u32 {r, s, t, d}, [s]; add.u32 d, d, r; add.u32 d, d, s; add.u32 d, d, t; }";
  U32 expected;
  for (uint32_t lane = 0; lane < 32; ++lane)
    expected.push_back(std::vector<uint32_t>{0, 1, 11, 111, 1111}[lane % 5]);
  U32 source(32, 0);
  source[0] = 1, source[1] = 10, source[2] = 100, source[3] = 1000;
  EXPECT_EQ(evaluate<uint32_t>(body, source), expected);
}

TEST(Memory, CopyAppearsAtItsWaitOnly) {
  // Two groups: after wait_group 1 the first is there. The sizes 4 and 8.
  EXPECT_EQ(
      evaluate<uint32_t>("{ .shared .align 16 .b8 buffer[1024]; shl.b32 s, lane, 4; mov.u32 r, buffer; add.u32 s, s, r;"
                         "ld.param.u64 x, [a_p]; cp.async.ca.shared.global [s], [x+4], 4; cp.async.commit_group;"
                         "cp.async.ca.shared.global [s+8], [x], 8; cp.async.commit_group; cp.async.wait_group 1;"
                         "ld.shared.u32 r, [s]; cp.async.wait_all; ld.shared.u32 t, [s+12]; add.u32 d, r, t; }",
                         U32{5, 7}),
      (U32{14, 14}));
}

/// 8 × 8 matrices of 16-bit elements 256 · matrix + 8 · row + column, rows of 16 bytes one after the other.
std::string fillMatrices(const std::string &rest) {
  return "{ .shared .align 16 .b8 buffer[512]; .reg .b32 i, v, w, d0, d1, d2, d3; mov.u32 i, buffer; mad.lo.u32 i, "
         "lane, 16, i;"
         "shr.u32 v, lane, 3; and.b32 w, lane, 7; shl.b32 w, w, 3; mad.lo.u32 v, v, 256, w; mul.lo.u32 v, v, 0x10001;"
         "add.u32 v, v, 0x10000; st.shared.u32 [i], v; add.u32 v, v, 0x20002; st.shared.u32 [i+4], v;"
         "add.u32 v, v, 0x20002; st.shared.u32 [i+8], v; add.u32 v, v, 0x20002; st.shared.u32 [i+12], v;"
         "bar.warp.sync -1; " +
         rest + " }";
}

TEST(Matrix, LoadFollowsTheFormula) {
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    const std::string pick = "mov.u32 d, d" + std::to_string(matrix) + ";";
    const U32 plain = evaluate<uint32_t>(
        fillMatrices("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {d0, d1, d2, d3}, [i];" + pick), U32(32, 0));
    const U32 transposed = evaluate<uint32_t>(
        fillMatrices("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {d0, d1, d2, d3}, [i];" + pick), U32(32, 0));
    for (unsigned lane = 0; lane < 32; ++lane) {
      // ISA: thread l holds row l / 4, columns 2 (l mod 4) and the next.
      const unsigned row = lane / 4, column = 2 * (lane % 4);
      EXPECT_EQ(plain[lane] & 0xffff, 256 * matrix + 8 * row + column);
      EXPECT_EQ(plain[lane] >> 16, 256 * matrix + 8 * row + column + 1);
      EXPECT_EQ(transposed[lane] & 0xffff, 256 * matrix + 8 * column + row);
      EXPECT_EQ(transposed[lane] >> 16, 256 * matrix + 8 * (column + 1) + row);
    }
  }
}

TEST(Matrix, OneAndTwoMatricesUseTheFirstLanesAddresses) {
  const U32 two =
      evaluate<uint32_t>(fillMatrices("setp.ge.u32 p, lane, 16; @p mov.u32 i, 0xffff0000; "
                                      "ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16 {d0, d1}, [i]; mov.u32 d, d1;"),
                         U32(32, 0));
  EXPECT_EQ(two[5] & 0xffff, 256u + 8 + 2);
  const U32 one = evaluate<uint32_t>(fillMatrices("setp.ge.u32 p, lane, 8; @p mov.u32 i, 0xffff0000; "
                                                  "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {d}, [i];"),
                                     U32(32, 0));
  EXPECT_EQ(one[31] & 0xffff, 8u * 7 + 6);
}

TEST(Matrix, StoreIsTheInverse) {
  for (const char *transposed : {"", ".trans"}) {
    const std::string t = transposed;
    const U32 result = evaluate<uint32_t>(
        fillMatrices("ldmatrix.sync.aligned.m8n8.x4" + t +
                     ".shared.b16 {d0, d1, d2, d3}, [i]; bar.warp.sync -1;"
                     "st.shared.v4.u32 [i], {0, 0, 0, 0}; bar.warp.sync -1; stmatrix.sync.aligned.m8n8.x4" +
                     t + ".shared.b16 [i], {d0, d1, d2, d3}; bar.warp.sync -1; ld.shared.u32 d, [i+4];"),
        U32(32, 0));
    for (unsigned lane = 0; lane < 32; ++lane)
      EXPECT_EQ(result[lane], (256 * (lane / 8) + 8 * (lane % 8) + 2) * 0x10001 + 0x10000) << lane << t;
  }
}

/// One mma.sync of random small integers, against the product by the ISA's positions. Small integers are exact.
void checkMma(const std::string &shape, const std::string &type, unsigned k, bool isHalfSum) {
  const bool is16Bit = type != "tf32";
  const unsigned perRegister = is16Bit ? 2 : 1, registersA = 16 * k / 32 / perRegister,
                 registersB = 8 * k / 32 / perRegister, registersC = isHalfSum ? 2 : 4;
  auto valueA = [](unsigned row, unsigned column) { return double(int((row * 7 + column * 3) % 11) - 5); };
  auto valueB = [](unsigned row, unsigned column) { return double(int((row * 5 + column * 2) % 9) - 4); };
  auto valueC = [](unsigned row, unsigned column) { return double(row) - 2.0 * column; };
  auto pack = [&](double value) -> uint32_t {
    return type == "bf16" ? toBF16(value) : type == "f16" ? toF16(value) : asBits(float(value)) | 0x1fff;
  };
  // Registers a0 … of all lanes in one buffer, [register][lane].
  std::vector<U32> inputs(registersA + registersB + registersC, U32(32, 0));
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned group = lane >> 2, inGroup = lane % 4;
    for (unsigned i = 0; i < registersA * perRegister; ++i) {
      unsigned row, column;
      if (is16Bit) { // .f16 and .bf16 A
        row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
        column = i < 4 ? inGroup * 2 + (i & 1) : inGroup * 2 + (i & 1) + 8;
      } else { // .tf32 A
        row = i == 0 || i == 2 ? group : group + 8;
        column = i < 2 ? inGroup : inGroup + 4;
      }
      inputs[i / perRegister][lane] |= pack(valueA(row, column)) << (16 * (i % perRegister));
    }
    for (unsigned i = 0; i < registersB * perRegister; ++i) {
      const unsigned row =
          is16Bit ? (i < 2 ? inGroup * 2 + (i & 1) : inGroup * 2 + (i & 1) + 8) : (i == 0 ? inGroup : inGroup + 4);
      inputs[registersA + i / perRegister][lane] |= pack(valueB(row, group)) << (16 * (i % perRegister));
    }
    for (unsigned i = 0; i < 4; ++i) {
      const double value = valueC(i < 2 ? group : group + 8, inGroup * 2 + (i & 1));
      uint32_t &word = inputs[registersA + registersB + (isHalfSum ? i / 2 : i)][lane];
      word |= isHalfSum ? uint32_t(toF16(value)) << (16 * (i & 1)) : asBits(float(value));
    }
  }
  auto list = [](const char *name, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i)
      text += (i ? ", " : "") + (name + std::to_string(i));
    return text + "}";
  };
  std::string body =
      ".reg .b32 lane, a<8>, b<8>, c<8>, d<8>; .reg .b64 x, y; mov.u32 lane, %laneid; ld.param.u64 x, [in];"
      "mad.wide.u32 x, lane, 4, x; ld.param.u64 y, [out]; mad.wide.u32 y, lane, 4, y;";
  unsigned next = 0;
  auto loadAll = [&](const char *name, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      body += "ld.global.b32 " + (name + std::to_string(i)) + ", [x+" + std::to_string(128 * next++) + "];";
  };
  loadAll("a", registersA);
  loadAll("b", registersB);
  loadAll("c", registersC);
  const std::string sum = isHalfSum ? "f16" : "f32";
  body += "mma.sync.aligned." + shape + ".row.col." + sum + "." + type + "." + type + "." + sum + " " +
          list("d", registersC) + ", " + list("a", registersA) + ", " + list("b", registersB) + ", " +
          list("c", registersC) + ";";
  for (unsigned i = 0; i < registersC; ++i)
    body += "st.global.b32 [y+" + std::to_string(128 * i) + "], d" + std::to_string(i) + ";";
  U32 flat;
  for (const U32 &row : inputs)
    flat.insert(flat.end(), row.begin(), row.end());
  GlobalMemory memory;
  const uint64_t out = memory.allocate("out", 128 * registersC);
  Launch arguments{{1, 1, 1}, {32, 1, 1}};
  arguments.parameters = {pointer(out), pointer(memory.allocate("in", flat))};
  expectClean(launch(makeModule("u64 out, u64 in", body + " ret;"), memory, arguments));
  const U32 result = memory.read<uint32_t>(out);
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = i < 2 ? lane >> 2 : (lane >> 2) + 8, column = lane % 4 * 2 + (i & 1);
      double expected = valueC(row, column);
      for (unsigned inner = 0; inner < k; ++inner)
        expected += valueA(row, inner) * valueB(inner, column);
      const double found = isHalfSum ? decode(result[i / 2 * 32 + lane] >> (16 * (i & 1)) & 0xffff, kF16)
                                     : asFloat(result[i * 32 + lane]);
      ASSERT_EQ(found, expected) << shape << " " << type << " lane " << lane << " element " << i;
    }
  }
}

TEST(Matrix, Multiply16) {
  checkMma("m16n8k16", "bf16", 16, false);
  checkMma("m16n8k16", "f16", 16, false);
  checkMma("m16n8k16", "f16", 16, true);
  checkMma("m16n8k8", "bf16", 8, false);
  checkMma("m16n8k8", "f16", 8, false);
}

TEST(Matrix, MultiplyTf32IgnoresTheLowBits) {
  checkMma("m16n8k8", "tf32", 8, false);
  checkMma("m16n8k4", "tf32", 4, false);
}

TEST(Matrix, MultiplyRoundsOnceAndHasOneNaN) {
  // A[g][2 t] = a and A[g][2 t + 1] = b in lane t = 0 only, B alike: 4096 · 4096 + 1 · 1 + 1 = 2^24 + 2, an f32; the
  // sum of the products alone is none. inf · 0 is NaN.
  auto run = [](double a, double b, float c) {
    const uint32_t pair = uint32_t(toBF16(b)) << 16 | toBF16(a);
    return evaluate<uint32_t>(".reg .b32 d1, d2, d3, z; mov.u32 z, 0; and.b32 r, lane, 3; setp.ne.u32 p, r, 0;"
                              "@p mov.b32 a, 0; mov.b32 s, a; setp.ne.u32 q, b, 0; @q mov.b32 s, 0;"
                              "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {d, d1, d2, d3}, {a, z, z, z},"
                              "{s, z}, {c, c, c, c};",
                              U32(32, pair), U32(32, std::isinf(a)), U32(32, asBits(c)))[0];
  };
  EXPECT_EQ(run(4096, 1, 1), asBits(16777218.0f));
  EXPECT_EQ(run(INFINITY, 1, 1), 0x7fffffffu);
}

TEST(Banks, CountsByTheWidth) {
  std::vector<uint64_t> offsets(32);
  auto count = [&](auto at, unsigned bytes) {
    for (unsigned lane = 0; lane < 32; ++lane)
      offsets[lane] = at(lane);
    const BankUse use = countBankUse(offsets, ~0u, bytes);
    return std::pair(use.transactions, use.ideal);
  };
  using P = std::pair<unsigned, unsigned>;
  EXPECT_EQ(count([](unsigned lane) { return 4 * lane; }, 4), P(1, 1));
  EXPECT_EQ(count([](unsigned) { return 64; }, 4), P(1, 1));                // all the same word
  EXPECT_EQ(count([](unsigned lane) { return 8 * lane; }, 4), P(2, 1));     // every other bank
  EXPECT_EQ(count([](unsigned lane) { return 128 * lane; }, 4), P(32, 1));  // one bank
  EXPECT_EQ(count([](unsigned lane) { return 2 * lane; }, 2), P(1, 1));     // two lanes a word
  EXPECT_EQ(count([](unsigned lane) { return 8 * lane; }, 8), P(2, 2));     // half warps
  EXPECT_EQ(count([](unsigned lane) { return 16 * lane; }, 16), P(4, 4));   // quarter warps
  EXPECT_EQ(count([](unsigned lane) { return 128 * lane; }, 16), P(32, 4)); // columns of a tile, no swizzle
  EXPECT_EQ(count([](unsigned lane) { return 144 * lane; }, 16), P(4, 4));  // the same with padding
  EXPECT_EQ(countSectors(offsets, 0x3, 4), 2u);
}

} // namespace
