//===- OrderTest.cpp - blocks that wait for each other --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FaultCase.h"

using namespace attn::ptx;

namespace {

constexpr uint32_t kBlocks = 6, kTiles = 3, kAdders = 64;

/// Blocks add to each tile in the order of their tickets. Warp 0 waits for the turn (WAIT), grants it to the others
/// (GRANT), which add (ADD) and say so (ARRIVE), and passes it on (PASS).
const std::string kOrderedAdd = R"(
.reg .pred p; .reg .b32 r, s, t, turn, tile, last; .reg .b64 sums, counters, tickets, values, x; .reg .f32 f;
.shared .b32 ticket;
ld.param.u64 sums, [sums_p]; ld.param.u64 counters, [counters_p];
ld.param.u64 tickets, [tickets_p]; ld.param.u64 values, [values_p];
mov.u32 t, %tid.x; setp.ne.u32 p, t, 0; @p bra HAVE;
atom.global.add.u32 r, [tickets], 1;
st.shared.u32 [ticket], r;
HAVE: bar.sync 0; ld.shared.u32 turn, [ticket];
mad.wide.u32 x, turn, 4, values; ld.global.f32 f, [x];
mov.u32 tile, 0; mov.u32 last, 5; sub.u32 last, last, turn;
setp.lt.u32 p, t, 32; @p bra HELPER;
mad.wide.u32 x, t, 16, sums;
ADDER:
bar.sync 1, 96; // GRANT
red.global.add.v4.f32 [x+-512], {f, f, f, f}; // ADD
bar.arrive 2, 96; // ARRIVE
add.u64 x, x, 1024; add.u32 tile, tile, 1; setp.lt.u32 p, tile, 3; @p bra ADDER; ret;
HELPER: mov.b64 x, counters;
NEXT:
WAIT: ld.acquire.gpu.global.u32 r, [x]; setp.ne.u32 p, r, turn; @p bra WAIT;
bar.arrive 1, 96;
bar.sync 2, 96;
setp.eq.u32 p, t, 0;
@p red.release.gpu.global.add.u32 [x], 1; // PASS
add.u64 x, x, 4; add.u32 tile, tile, 1; setp.lt.u32 p, tile, 3; @p bra NEXT;
)";

struct Result {
  Report report;
  std::vector<float> sums;
  int deadlockLine = 0; ///< where it waits
};

std::string replace(std::string text, const std::string &from, const std::string &to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Result runOrdered(const std::string &body, uint64_t turns, unsigned resident = 4) {
  GlobalMemory memory;
  Launch arguments{{kBlocks, 1, 1}, {32 + kAdders, 1, 1}};
  arguments.maxInstructions = 200000;
  arguments.turns = turns;
  arguments.resident = resident;
  const uint64_t sums = memory.allocate("sums", std::vector<float>(kTiles * kAdders * 4));
  arguments.parameters = {pointer(sums), pointer(memory.allocate("counters", std::vector<uint32_t>(kTiles))),
                          pointer(memory.allocate("tickets", std::vector<uint32_t>(1))),
                          pointer(memory.allocate("values", std::vector<float>{1e8, 1, -1e8, 0.5, 3e7, 7}))};
  const std::string module = makeModule("u64 sums_p, u64 counters_p, u64 tickets_p, u64 values_p", body + "ret;");
  return {launch(module, memory, arguments), memory.read<float>(sums), lineOf(module, "WAIT:")};
}

TEST(Order, AddsInTurn) {
  const float expected = ((((0.0f + 1e8f) + 1) - 1e8f) + 0.5f) + 3e7f + 7;
  const std::string kinds[] = {
      kOrderedAdd,
      replace(kOrderedAdd, "@p red.release.gpu.global", "fence.acq_rel.gpu; @p red.relaxed.gpu.global"),
      replace(kOrderedAdd, "@p red.release.gpu.global.add.u32 [x], 1",
              "add.u32 r, turn, 1; @p st.release.gpu.u32 [x], r"),
      replace(replace(kOrderedAdd, "@p red.release.gpu.global.add.u32 [x], 1",
                      "add.u32 r, turn, 1; membar.gl; @p st.volatile.global.u32 [x], r"),
              "ld.acquire.gpu.global.u32 r, [x]", "ld.volatile.u32 r, [x]; membar.gl"),
      replace(kOrderedAdd, "ld.acquire.gpu.global.u32 r, [x]", "atom.acquire.gpu.global.add.u32 r, [x], 0"),
      // An atomic of another block's hands on what has been released before.
      replace(kOrderedAdd, "bar.arrive 1",
              "setp.eq.u32 p, t, 1; @p red.relaxed.gpu.global.or.b32 [x], 0; bar.arrive 1"),
      replace(kOrderedAdd, "red.global.add.v4.f32 [x+-512], {f, f, f, f}",
              "red.global.add.v2.f32 [x+-512], {f, f}; red.global.add.f32 [x+-504], f; red.global.add.f32 [x+-500], f"),
  };
  for (const std::string &kind : kinds) {
    for (const auto &[turns, resident] : {std::pair<uint64_t, unsigned>{0, 4}, {0, 1}, {1, 6}, {2, 2}, {3, 3}}) {
      const Result result = runOrdered(kind, turns, resident);
      EXPECT_TRUE(result.report.clean()) << kind << turns << " " << resident << "\n" << result.report.text();
      EXPECT_EQ(result.sums, std::vector<float>(kTiles * kAdders * 4, expected)) << kind;
    }
  }
}

TEST(Order, PlantedFaults) {
  const std::string wait = "ld.acquire.gpu.global.u32 r, [x]; setp.ne.u32 p, r, turn; @p bra WAIT;";
  const std::string faults[] = {
      // Nobody waits, or only looks.
      replace(kOrderedAdd, wait, ""),
      replace(kOrderedAdd, "@p bra WAIT;", ""),
      replace(kOrderedAdd, "setp.ne.u32 p, r, turn", "setp.gt.u32 p, r, turn"),
      // The counter before the add.
      replace(replace(kOrderedAdd, "bar.arrive 2, 96; // ARRIVE", ""), "red.global", "bar.arrive 2, 96; red.global"),
      // The helper waits, and the others do not wait for it.
      replace(replace(kOrderedAdd, "bar.sync 1, 96; // GRANT", ""), "// ADD", "\nbar.sync 1, 96;"),
      // What is passed on, or taken, orders nothing.
      replace(kOrderedAdd, "red.release.gpu", "red.relaxed.gpu"),
      replace(kOrderedAdd, "red.release.gpu", "red.release.cta"),
      replace(kOrderedAdd, "ld.acquire", "ld.relaxed"),
  };
  for (const std::string &fault : faults) {
    for (uint64_t turns : {0, 1, 2}) {
      const Report report = runOrdered(fault, turns).report;
      EXPECT_TRUE(report.has(FindingKind::UnorderedAdd)) << fault << turns << "\n" << report.text();
    }
  }
}

TEST(Order, WaitForALaterTicket) {
  const std::string later = replace(kOrderedAdd, "setp.ne.u32 p, r, turn", "setp.ne.u32 p, r, last");
  EXPECT_TRUE(runOrdered(later, 0, kBlocks).report.clean());
  for (uint64_t turns : {0, 1}) {
    const Result result = runOrdered(later, turns, kBlocks - 1);
    const Finding *finding = result.report.find(FindingKind::Deadlock);
    ASSERT_TRUE(finding) << result.report.text();
    EXPECT_FALSE(result.report.has(FindingKind::InstructionLimit)) << result.report.text();
    EXPECT_NE(result.report.text().find("5 of 6 blocks have started"), std::string::npos) << result.report.text();
  }
  // Numbers of blocks are no tickets: they start in any order.
  const std::string byNumber = replace(kOrderedAdd, "[tickets], 1;", "[tickets], 1; mov.u32 r, %ctaid.x;");
  EXPECT_TRUE(runOrdered(byNumber, 0).report.clean());
  EXPECT_TRUE(runOrdered(byNumber, 1, 1).report.has(FindingKind::Deadlock));
}

/// Two blocks of a thread each: block 0 executes `first`, block 1 `second`. x: data, y: a flag, of 0.
Report runTwo(const std::string &first, const std::string &second, uint64_t turns = 0) {
  GlobalMemory memory;
  Launch arguments{{2, 1, 1}, {1, 1, 1}};
  arguments.maxInstructions = 10000;
  arguments.turns = turns;
  arguments.parameters = {pointer(memory.allocate("data", std::vector<uint32_t>(2))),
                          pointer(memory.allocate("flag", std::vector<uint32_t>(2)))};
  return launch(makeModule("u64 data, u64 flag",
                           ".reg .pred p; .reg .b32 r; .reg .b64 x, y; ld.param.u64 x, [data]; ld.param.u64 y, [flag];"
                           "mov.u32 r, %ctaid.x; setp.eq.u32 p, r, 1; @p bra SECOND;\n" +
                               first + "\nret;\nSECOND:\n" + second + "\nret;"),
                memory, arguments);
}

TEST(Order, DataBehindAFlag) {
  const std::string set = "st.release.gpu.global.u32 [y], 1;",
                    wait = "WAIT: ld.acquire.gpu.global.u32 r, [y]; setp.eq.u32 p, r, 0; @p bra WAIT;";
  const std::string write = "st.global.u32 [x], 7;", read = "ld.global.u32 r, [x];";
  for (uint64_t turns : {0, 1, 2, 3}) {
    expectClean(runTwo(write + set, wait + read, turns));
    expectClean(runTwo(read + set, wait + write, turns));
    expectClean(runTwo(wait + read, write + set, turns));
    // Whoever accesses the data before the flag.
    EXPECT_TRUE(runTwo(set + write, wait + read, turns).has(FindingKind::Race));
    EXPECT_TRUE(runTwo(write + set, read + wait, turns).has(FindingKind::Race));
    EXPECT_TRUE(runTwo(read + set, write + wait, turns).has(FindingKind::Race));
    // A flag that is no strong access.
    EXPECT_TRUE(runTwo(write + "st.global.u32 [y], 1;", wait + read, turns).has(FindingKind::Race));
    // Atomics of integers need no order, with stores they do.
    expectClean(runTwo("red.global.add.u32 [x], 1;", "atom.global.max.u32 r, [x], 5;", turns));
    EXPECT_TRUE(runTwo("red.global.add.u32 [x], 1;", write, turns).has(FindingKind::Race));
    // Neither do words side by side.
    expectClean(runTwo("red.global.add.f32 [x], 0f3F800000;", "red.global.add.f32 [x+4], 0f3F800000;", turns));
    EXPECT_TRUE(runTwo("red.global.add.f32 [x], 0f3F800000;", "atom.global.add.f32 r, [x], 0f3F800000;", turns)
                    .has(FindingKind::UnorderedAdd));
  }
}

} // namespace
