//===- RacesTest.cpp - planted races and reads of data that is not there yet ===//
//
// Each kernel is tested beside the one without the fault, which must be clean.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FaultCase.h"

using namespace attn::ptx;

namespace {

/// s: the shared address of the thread's word; u: that of the thread with the number's lowest bit of warps flipped.
const std::string kAddresses = "mov.u32 r, buffer;\nshl.b32 s, t, 2;\nxor.b32 u, s, 128;\n"
                               "add.u32 s, s, r;\nadd.u32 u, u, r;\n";

TEST(Races, RaceBetweenWarps) {
  Case test;
  const std::string write = kAddresses + "st.shared.u32 [s], t;\n";
  test.expectNone(write + "bar.sync 0;\nld.shared.u32 r, [u];\n");
  // A barrier that was passed before orders what came before it, and no more.
  const std::string again = "mov.u32 r, 3;\nbar.sync 0;\n" + write;
  test.expectNone(again + "bar.sync 0;\nld.shared.u32 r, [u];\n");
  test.expectRace(write + "ld.shared.u32 r, [s];\nld.shared.u32 r, [u];\n", "st.shared.u32 [s], t",
                  "ld.shared.u32 r, [u]");
}

TEST(Races, RaceOfAWriteAfterReads) {
  // The barrier before the second write is missing: somebody may still read the first.
  Case test;
  const std::string start = kAddresses + "st.shared.u32 [s], t;\nbar.sync 0;\nld.shared.u32 r, [u];\n";
  test.expectNone(start + "bar.sync 0;\nst.shared.u32 [s], 7;\n");
  test.expectRace(start + "st.shared.u32 [s], 7;\n", "ld.shared.u32 r, [u]", "st.shared.u32 [s], 7");
}

TEST(Races, RaceWithinAWarp) {
  Case test;
  const std::string write = "mov.u32 r, buffer;\nshl.b32 s, t, 2;\nxor.b32 u, s, 4;\nadd.u32 s, s, r;\n"
                            "add.u32 u, u, r;\nst.shared.u32 [s], t;\n";
  test.expectNone(write + "bar.warp.sync 0xffffffff;\nld.shared.u32 r, [u];\n");
  test.expectRace(write + "ld.shared.u32 r, [u];\n", "st.shared.u32 [s], t", "ld.shared.u32 r, [u]");
}

TEST(Races, RaceOfTwoWritesToOneWord) {
  Case test;
  test.expectOnly(FindingKind::Race, "mov.u32 r, buffer;\nst.shared.u32 [r], t;\n", "st.shared.u32 [r], t");
  test.expectNone("mov.u32 r, buffer;\nsetp.eq.u32 p, t, 0;\n@p st.shared.u32 [r], t;\n");
  // Neighbouring bytes are no conflict, and atomics are none with each other.
  test.expectNone("mov.u32 r, buffer;\nadd.u32 r, r, t;\nst.shared.u8 [r], 1;\n");
  test.expectNone("mov.u32 r, buffer;\nsetp.eq.u32 p, t, 0;\n@p st.shared.u32 [r], 0;\nbar.sync 0;\n"
                  "red.shared.add.u32 [r], 1;\n");
}

TEST(Races, RaceWithTheFirstOfTwoReaders) {
  // Warps 0 and 1 read, warp 2 writes after a barrier with warp 1 only.
  Case test;
  test.threads = 96;
  const std::string read = "mov.u32 r, buffer;\nsetp.eq.u32 p, t, 0;\n@p st.shared.u32 [r], 0;\nbar.sync 0;\n"
                           "setp.ge.u32 p, t, 64;\n@p bra WRITE;\nld.shared.u32 s, [r];\n";
  const std::string write = "WRITE:\nbar.sync 1, 64;\nsetp.eq.u32 p, t, 64;\n@p st.shared.u32 [r], 1;\n";
  test.expectRace(read + "setp.ge.u32 p, t, 32;\n@!p bra END;\n" + write + "END:\n", "ld.shared.u32 s, [r]",
                  "@p st.shared.u32 [r], 1");
  // All three warps at the barrier: no race.
  test.expectNone(read + "WRITE:\nbar.sync 1, 96;\nsetp.eq.u32 p, t, 64;\n@p st.shared.u32 [r], 1;\n");
}

TEST(Races, RaceOfAnAtomicWithAStore) {
  Case test;
  const std::string store = "mov.u32 r, buffer;\nsetp.eq.u32 p, t, 0;\n@p st.shared.u32 [r], 0;\n";
  test.expectRace(store + "red.shared.add.u32 [r], 1;\n", "@p st.shared.u32 [r], 0", "red.shared.add");
  const std::string add = store + "bar.sync 0;\nred.shared.add.u32 [r], 1;\n";
  test.expectRace(add + "ld.shared.u32 s, [r];\n", "red.shared.add", "ld.shared.u32 s, [r]");
  test.expectRace(store +
                      "bar.sync 0;\nsetp.ge.u32 q, t, 32;\n@q red.shared.add.u32 [r], 1;\n@!q ld.shared.u32 s, [r];\n",
                  "@q red.shared.add", "@!q ld.shared.u32 s, [r]");
  test.expectNone(add + "bar.sync 0;\nld.shared.u32 s, [r];\n");
}

TEST(Races, RaceOverAnotherNamedBarrier) {
  // Warp 0 and warp 1 pass barriers of their own, of 32 threads each, which orders nothing between them.
  Case test;
  const std::string body = kAddresses + "st.shared.u32 [s], t;\nshr.u32 r, t, 5;\nadd.u32 r, r, 1;\n";
  test.expectRace(body + "bar.sync r, 32;\nld.shared.u32 r, [u];\n", "st.shared.u32 [s], t", "ld.shared.u32 r, [u]");
  test.expectNone(body + "bar.sync 3, 64;\nld.shared.u32 r, [u];\n");
}

TEST(Races, ProducerConsumerByArrive) {
  // Warp 0 writes and arrives; warp 1 waits and reads: the ISA's own example.
  Case test;
  const std::string body = "mov.u32 r, buffer;\nand.b32 s, t, 31;\nshl.b32 s, s, 2;\nadd.u32 s, s, r;\n"
                           "setp.lt.u32 p, t, 32;\n@p bra WRITE;\n";
  test.expectNone(body + "bar.sync 1, 64;\nld.shared.u32 r, [s];\nret;\n"
                         "WRITE:\nst.shared.u32 [s], t;\nbar.arrive 1, 64;\n");
  test.expectRace(body + "bar.sync 1, 64;\nld.shared.u32 r, [s];\nret;\n"
                         "WRITE:\nbar.arrive 1, 64;\nst.shared.u32 [s], t;\n",
                  "st.shared.u32 [s], t", "ld.shared.u32 r, [s]");
}

const std::string kCopy =
    "mov.u32 r, buffer;\nshl.b32 s, t, 4;\nadd.u32 s, s, r;\nxor.b32 u, t, 32;\nshl.b32 u, u, 4;\n"
    "add.u32 u, u, r;\nmul.wide.u32 z, t, 4;\nadd.u64 z, y, z;\nand.b64 z, z, -16;\n"
    "cp.async.cg.shared.global [s], [z], 16;\ncp.async.commit_group;\n";

TEST(Races, AsynchronousDataBeforeTheWait) {
  Case test;
  test.expectNone(kCopy + "cp.async.wait_group 0;\nld.shared.u32 r, [s];\n");
  test.expectOnly(FindingKind::AsyncBeforeWait, kCopy + "ld.shared.u32 r, [s];\n", "ld.shared.u32 r, [s]",
                  "wait for it first");
  // One group may still be pending.
  test.expectOnly(FindingKind::AsyncBeforeWait, kCopy + "cp.async.wait_group 1;\nld.shared.u32 r, [s];\n",
                  "ld.shared.u32 r, [s]");
  test.expectOnly(FindingKind::AsyncBeforeWait, kCopy + "st.shared.u32 [s], 0;\n", "st.shared.u32 [s], 0");
  // A group that was not committed: wait_group does not wait for it, wait_all does.
  const std::string open = kCopy.substr(0, kCopy.find("cp.async.commit"));
  test.expectOnly(FindingKind::AsyncBeforeWait, open + "cp.async.wait_group 0;\nld.shared.u32 r, [s];\n",
                  "ld.shared.u32 r, [s]");
  test.expectNone(open + "cp.async.wait_all;\nld.shared.u32 r, [s];\n");
}

TEST(Races, AsynchronousDataOfAnotherThread) {
  Case test;
  const std::string wait = kCopy + "cp.async.wait_group 0;\n";
  test.expectNone(wait + "bar.sync 0;\nld.shared.u32 r, [u];\n");
  // Waited for by its own thread only: no barrier tells the others. Which of the two it is depends on who runs first.
  const Report report = test.run(wait + "ld.shared.u32 r, [u];\n");
  EXPECT_TRUE(report.has(FindingKind::Race) || report.has(FindingKind::AsyncBeforeWait) ||
              report.has(FindingKind::UninitialisedRead))
      << report.text();
  // The barrier before the wait instead of after it.
  EXPECT_FALSE(test.run(kCopy + "bar.sync 0;\ncp.async.wait_group 0;\nld.shared.u32 r, [u];\n").clean());
}

TEST(Races, AsynchronousDataAfterTheWaitOfAnotherThread) {
  // Warp 1 copies, all meet, and only then it waits: what warp 0 reads may be there or not.
  Case test;
  const std::string start = "mov.u32 r, buffer;\nand.b32 s, t, 31;\nshl.b32 s, s, 4;\nadd.u32 s, s, r;\n"
                            "setp.ge.u32 p, t, 32;\n@p cp.async.cg.shared.global [s], [y], 16;\n";
  test.expectRace(start + "bar.sync 0;\ncp.async.wait_all;\n@!p ld.shared.u32 r, [s];\n", "@p cp.async",
                  "@!p ld.shared");
  test.expectNone(start + "cp.async.wait_all;\nbar.sync 0;\n@!p ld.shared.u32 r, [s];\n");
}

TEST(Races, AsynchronousCopyIntoWhatIsRead) {
  // The next stage is fetched into memory that another warp may still read.
  Case test;
  const std::string again = "cp.async.cg.shared.global [s], [y], 16;\n";
  const std::string read = kCopy + "cp.async.wait_group 0;\nbar.sync 0;\nld.shared.u32 r, [u];\n";
  test.expectNone(read + "bar.sync 0;\n" + again);
  const Report report = test.run(read + again);
  EXPECT_TRUE(report.has(FindingKind::Race)) << report.text();
}

TEST(Races, TwoBlocksAtOneByte) {
  auto run = [](const std::string &body) {
    GlobalMemory memory;
    Launch arguments{{2, 1, 1}, {32, 1, 1}};
    arguments.parameters = {pointer(memory.allocate("out", std::vector<uint32_t>(64)))};
    return launch(makeModule("u64 out", ".reg .b64 x; .reg .b32 r, s; .reg .pred p; ld.param.u64 x, [out];\n"
                                        "mov.u32 r, %ctaid.x; mov.u32 s, %laneid; mad.wide.u32 x, s, 4, x;\n" +
                                            body + "\nret;"),
                  memory, arguments);
  };
  // Each block its own 32 words.
  expectClean(run("mad.wide.u32 x, r, 128, x; st.global.u32 [x], r;"));
  EXPECT_TRUE(run("st.global.u32 [x], r;").has(FindingKind::Race));
  EXPECT_TRUE(run("setp.eq.u32 p, r, 0; @p st.global.u32 [x], 1; ld.global.u32 s, [x];").has(FindingKind::Race));
  expectClean(run("red.global.add.u32 [x], 1;"));
  // Whoever runs first.
  EXPECT_TRUE(run("setp.eq.u32 p, r, 1; @p st.global.u32 [x], 1; ld.global.u32 s, [x];").has(FindingKind::Race));
  // A fence alone orders nothing.
  EXPECT_TRUE(run("st.global.u32 [x], r; membar.gl;").has(FindingKind::Race));
}

} // namespace
