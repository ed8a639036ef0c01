//===- MbarrierTest.cpp - mbarrier objects, and what goes wrong with them -===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FaultCase.h"

using namespace attn::ptx;

namespace {

constexpr FindingKind kMbarrier = FindingKind::Mbarrier;

/// An object at 0 of `buffer`, whose address is r; q: thread 0. s: a word of warp 0's thread of the same lane.
std::string init(unsigned arrivals) {
  return "mov.u32 r, buffer;\nsetp.eq.u32 q, t, 0;\n@q mbarrier.init.shared::cta.b64 [r], " + std::to_string(arrivals) +
         ";\nbar.sync 0;\nand.b32 s, t, 31;\nshl.b32 s, s, 2;\nadd.u32 s, s, r;\n";
}
std::string wait(const std::string &parity, const std::string &label = "W") {
  return label + ":\nmbarrier.try_wait.parity.shared::cta.b64 p, [r], " + parity + ";\n@!p bra " + label + ";\n";
}
const std::string kArrive = "mbarrier.arrive.shared::cta.b64 _, [r];\n";
/// Warp 0 goes on, warp 1 jumps.
const std::string kOther = "setp.ge.u32 p, t, 32;\n@p bra OTHER;\n";

TEST(Mbarrier, OrdersWhoArrivesBeforeWhoWaits) {
  Case test;
  const std::string write = "st.shared.u32 [s+64], t;\n",
                    read = "ret;\nOTHER:\n" + wait("0") + "ld.shared.u32 u, [s+64];\n";
  test.expectNone(init(32) + kOther + write + kArrive + read);
  // Written after the arrival; no wait; an arrival that orders nothing.
  test.expectRace(init(32) + kOther + kArrive + write + read, "st.shared.u32 [s+64]", "ld.shared.u32 u");
  test.expectRace(init(32) + kOther + write + kArrive + "ret;\nOTHER:\nld.shared.u32 u, [s+64];\n",
                  "st.shared.u32 [s+64]", "ld.shared.u32 u");
  test.expectRace(init(32) + kOther + write + "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [r];\n" + read,
                  "st.shared.u32 [s+64]", "ld.shared.u32 u");
  // The wait gives up, and nobody asks.
  test.expectRace(init(32) + kOther + write + kArrive +
                      "ret;\nOTHER:\nmbarrier.try_wait.parity.shared::cta.b64 p, [r], 0;\nld.shared.u32 u, [s+64];\n",
                  "st.shared.u32 [s+64]", "ld.shared.u32 u");
}

TEST(Mbarrier, CountsArrivals) {
  Case test;
  test.expectNone(init(64) + kArrive + wait("0"));
  test.expectNone(init(128) + "mbarrier.arrive.shared::cta.b64 _, [r], 2;\n" + wait("0"));
  test.expectNone(init(1) + "@q mbarrier.arrive.shared.b64 x, [r];\n" + wait("0"));
  test.expectOnly(FindingKind::Deadlock, init(65) + kArrive + wait("0"), "mbarrier.try_wait",
                  "phase 0 of the mbarrier at 0 waits for 1 of 65 arrivals and 0 bytes");
  test.expectOnly(kMbarrier, init(2) + "@q mbarrier.arrive.shared.b64 _, [r], 3;\n", "@q mbarrier.arrive",
                  "arrives 3 times");
  test.expectOnly(FindingKind::InvalidValue, init(0), "@q mbarrier.init", "expected 1 to 1048575 arrivals, found 0");
}

TEST(Mbarrier, WaitsByState) {
  Case test;
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 z, [r];\n";
  const std::string loop = "W:\nmbarrier.test_wait.shared::cta.b64 p, [r], z;\n@!p bra W;\n";
  test.expectNone(init(64) + arrive + loop + arrive + "V:\nmbarrier.try_wait.shared::cta.b64 p, [r], z;\n@!p bra V;\n");
  EXPECT_TRUE(test.run(init(65) + arrive + loop).has(FindingKind::InstructionLimit));
}

TEST(Mbarrier, PhasesAlternate) {
  Case test;
  test.expectNone(init(64) + kArrive + wait("0") + kArrive + wait("1", "V") + kArrive + wait("0", "U"));
  // The parity of the phase before: a fresh object passes at once, and orders nothing.
  test.expectNone(init(64) + wait("1"));
  test.expectOnly(FindingKind::InvalidValue, init(64) + wait("2"), "mbarrier.try_wait", "a parity of 0 or 1");
  // The second wait forgets to flip: it passes too early, for the phase that is complete.
  const std::string share = "setp.ge.u32 p, t, 32;\n@!p st.shared.u32 [s+64], t;\n";
  const std::string read = "setp.ge.u32 p, t, 32;\n@p ld.shared.u32 u, [s+64];\n";
  test.expectNone(init(64) + kArrive + wait("0") + share + kArrive + wait("1", "V") + read);
  // Whether it passes or waits for phase 2 depends on who runs first.
  EXPECT_FALSE(test.run(init(64) + kArrive + wait("0") + share + kArrive + wait("0", "V") + read).clean());
}

TEST(Mbarrier, LeavesItsWaiterBehind) {
  // Warp 1 waits for phase 0, and then for phase 1 when 3 phases are complete: the same parity, so that it passes.
  Case test;
  const std::string phases[] = {kArrive + wait("0", "A"), kArrive + wait("1", "B"), kArrive + wait("0", "C"),
                                kArrive + wait("1", "D")};
  const std::string start = init(32) + kOther, others = "bar.sync 1, 64;\nret;\nOTHER:\n" + wait("0", "E");
  test.expectNone(start + phases[0] + phases[1] + others + "bar.sync 1, 64;\n" + wait("1", "F"));
  test.expectOnly(kMbarrier,
                  start + phases[0] + phases[1] + phases[2] + phases[3] + others + "bar.sync 1, 64;\nF:\n" +
                      "mbarrier.try_wait.parity.shared::cta.b64 q, [r], 1;\n@!q bra F;\n",
                  "mbarrier.try_wait.parity.shared::cta.b64 q", "has left its waiter behind");
}

TEST(Mbarrier, ExpectsBytes) {
  Case test;
  const std::string expect = "@q mbarrier.arrive.expect_tx.shared::cta.b64 _, [r], 96;\n";
  const std::string complete = "@q mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [r], 96;\n";
  test.expectNone(init(1) + expect + complete + wait("0"));
  // Bytes may come first, and in parts.
  test.expectNone(init(1) + complete + expect + wait("0"));
  test.expectNone(init(1) + "@q mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [r], 96;\n" + complete + "@q " +
                  kArrive + wait("0"));
  test.expectOnly(FindingKind::Deadlock, init(1) + expect + wait("0"), "mbarrier.try_wait",
                  "0 of 1 arrivals and 96 bytes");
  test.expectOnly(kMbarrier, init(1) + complete + "@q " + kArrive, "@q mbarrier.arrive", "brought 96 bytes more");
  test.expectOnly(kMbarrier, init(1) + expect, "@q mbarrier.init", "still expects 96 bytes");
  test.expectOnly(kMbarrier, init(1) + expect + complete + complete, "@q mbarrier.init", "still expects -96 bytes");
}

TEST(Mbarrier, BeforeInit) {
  Case test;
  const std::string own = "mov.u32 r, buffer;\nsetp.eq.u32 q, t, 0;\n";
  const std::string start = "@q mbarrier.init.shared::cta.b64 [r], 64;\n";
  test.expectNone(own + start + "bar.sync 0;\n" + kArrive);
  test.expectOnly(kMbarrier, own + kArrive, "mbarrier.arrive", "mbarrier.init comes first");
  // No barrier: thread 0 runs first here, and need not.
  test.expectOnly(FindingKind::Race, own + start + kArrive, "mbarrier.arrive", "no barrier is between them");
  // Its bytes belong to it.
  test.expectOnly(kMbarrier, own + start + "@q ld.shared.u32 u, [r+4];\n", "@q ld.shared", "where an mbarrier is");
  test.expectOnly(kMbarrier, own + start + "@q st.shared.u32 [r], 0;\n", "@q st.shared", "where an mbarrier is");
  test.expectOnly(FindingKind::Misaligned, own + "@q mbarrier.init.shared::cta.b64 [r+4], 64;\n", "@q mbarrier.init");
}

TEST(Mbarrier, InitialisedTwice) {
  Case test;
  const std::string start = init(64), again = "@q mbarrier.init.shared::cta.b64 [r], 32;\n";
  const std::string invalidate = "bar.sync 0;\n@q mbarrier.inval.shared::cta.b64 [r];\n";
  test.expectNone(start + kArrive + wait("0") + invalidate + again);
  test.expectNone(start + kArrive + wait("0") + invalidate + "@q st.shared.u32 [r], 0;\n@q ld.shared.u32 u, [r];\n");
  test.expectOnly(kMbarrier, start + kArrive + wait("0") + "bar.sync 0;\n" + again,
                  "@q mbarrier.init.shared::cta.b64 [r], 32", "nothing has invalidated it");
  test.expectOnly(kMbarrier, start + "bar.sync 0;\n@q mbarrier.inval.shared::cta.b64 [r];\nbar.sync 0;\n" + kArrive,
                  "mbarrier.arrive", "mbarrier.init comes first");
  // Others may still use it.
  test.expectOnly(FindingKind::Race, start + kArrive + wait("0") + "@q mbarrier.inval.shared::cta.b64 [r];\n",
                  "@q mbarrier.inval");
}

/// A producer's warp exits early: barriers of the others count without it.
TEST(Mbarrier, ProducerThatExits) {
  Case test;
  const std::string produce = "st.shared.u32 [s+64], t;\n" + kArrive + "ret;\nOTHER:\n";
  test.expectNone(init(32) + kOther + produce + wait("0") + "bar.sync 1, 32;\nld.shared.u32 u, [s+64];\n");
  test.expectOnly(FindingKind::Deadlock, init(32) + kOther + produce + wait("0") + "bar.sync 0, 64;\n",
                  "bar.sync 0, 64", "32 of the block have exited");
}

} // namespace
