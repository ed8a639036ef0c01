//===- FaultsTest.cpp - small kernels with one planted fault each ---------===//
//
// Each kernel is tested beside the one without the fault, which must be clean.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunPTX.h"

using namespace attn::ptx;

namespace {

constexpr FindingKind kAll[] = {FindingKind::UnknownInstruction,
                                FindingKind::InvalidOperand,
                                FindingKind::OutOfBounds,
                                FindingKind::Misaligned,
                                FindingKind::UninitialisedRead,
                                FindingKind::WriteToReadOnly,
                                FindingKind::Race,
                                FindingKind::AsyncBeforeWait,
                                FindingKind::BarrierMismatch,
                                FindingKind::Deadlock,
                                FindingKind::DivergentAligned,
                                FindingKind::UndefinedShuffle,
                                FindingKind::InvalidValue,
                                FindingKind::Trap,
                                FindingKind::InstructionLimit};

/// A body over 64 threads with `out` (64 words) and `in` (64 words) in x and y, the thread in t.
struct Case {
  std::string globals = ".shared .align 16 .b8 buffer[1024];";
  uint32_t threads = 64;
  uint64_t maxInstructions = 100000;
  std::string module;

  Report run(const std::string &body) {
    module = makeModule("u64 out, u64 in",
                        ".reg .pred p, q; .reg .b32 r, s, t, u; .reg .b64 x, y, z; .reg .f32 f; .reg .b16 h;\n"
                        "ld.param.u64 x, [out];\nld.param.u64 y, [in];\nmov.u32 t, %tid.x;\n" +
                            body + "\nret;",
                        globals);
    GlobalMemory memory;
    Launch arguments{{1, 1, 1}, {threads, 1, 1}};
    arguments.maxInstructions = maxInstructions;
    std::vector<uint32_t> input(64);
    for (uint32_t i = 0; i < 64; ++i)
      input[i] = i;
    arguments.parameters = {pointer(memory.allocate("out", 256)), pointer(memory.allocate("in", input))};
    return launch(module, memory, arguments);
  }

  void expectOnly(FindingKind kind, const std::string &body, const std::string &faultyLine,
                  const std::string &message = "") {
    const Report report = run(body);
    const Finding *finding = report.find(kind);
    ASSERT_TRUE(finding) << module << report.text();
    EXPECT_EQ(finding->line, lineOf(module, faultyLine)) << module << report.text();
    EXPECT_NE(finding->message.find(message), std::string::npos) << report.text();
    for (FindingKind other : kAll) {
      if (other != kind) {
        EXPECT_FALSE(report.has(other)) << report.text();
      }
    }
  }
  /// A race between these two lines, found at whichever runs second. Whoever reads first also reads what is not there.
  void expectRace(const std::string &body, const std::string &one, const std::string &other) {
    const Report report = run(body);
    bool isFound = false;
    for (const Finding &finding : report.findings) {
      EXPECT_TRUE(finding.kind == FindingKind::Race || finding.kind == FindingKind::UninitialisedRead) << report.text();
      auto names = [&](const std::string &here, const std::string &there) {
        return finding.line == lineOf(module, here) &&
               finding.message.find("at line " + std::to_string(lineOf(module, there)) + ";") != std::string::npos;
      };
      isFound |= finding.kind == FindingKind::Race && (names(one, other) || names(other, one));
    }
    EXPECT_TRUE(isFound) << module << report.text();
  }
  void expectNone(const std::string &body) {
    const Report report = run(body);
    EXPECT_TRUE(report.clean()) << module << report.text();
  }
};

/// s: the shared address of the thread's word; u: that of the thread with the number's lowest bit of warps flipped.
const std::string kAddresses = "mov.u32 r, buffer;\nshl.b32 s, t, 2;\nxor.b32 u, s, 128;\n"
                               "add.u32 s, s, r;\nadd.u32 u, u, r;\n";

TEST(Faults, RaceBetweenWarps) {
  Case test;
  const std::string write = kAddresses + "st.shared.u32 [s], t;\n";
  test.expectNone(write + "bar.sync 0;\nld.shared.u32 r, [u];\n");
  // A barrier that was passed before orders what came before it, and no more.
  const std::string again = "mov.u32 r, 3;\nbar.sync 0;\n" + write;
  test.expectNone(again + "bar.sync 0;\nld.shared.u32 r, [u];\n");
  test.expectRace(write + "ld.shared.u32 r, [s];\nld.shared.u32 r, [u];\n", "st.shared.u32 [s], t",
                  "ld.shared.u32 r, [u]");
}

TEST(Faults, RaceOfAWriteAfterReads) {
  // The barrier before the second write is missing: somebody may still read the first.
  Case test;
  const std::string start = kAddresses + "st.shared.u32 [s], t;\nbar.sync 0;\nld.shared.u32 r, [u];\n";
  test.expectNone(start + "bar.sync 0;\nst.shared.u32 [s], 7;\n");
  test.expectRace(start + "st.shared.u32 [s], 7;\n", "ld.shared.u32 r, [u]", "st.shared.u32 [s], 7");
}

TEST(Faults, RaceWithinAWarp) {
  Case test;
  const std::string write = "mov.u32 r, buffer;\nshl.b32 s, t, 2;\nxor.b32 u, s, 4;\nadd.u32 s, s, r;\n"
                            "add.u32 u, u, r;\nst.shared.u32 [s], t;\n";
  test.expectNone(write + "bar.warp.sync 0xffffffff;\nld.shared.u32 r, [u];\n");
  test.expectRace(write + "ld.shared.u32 r, [u];\n", "st.shared.u32 [s], t", "ld.shared.u32 r, [u]");
}

TEST(Faults, RaceOfTwoWritesToOneWord) {
  Case test;
  test.expectOnly(FindingKind::Race, "mov.u32 r, buffer;\nst.shared.u32 [r], t;\n", "st.shared.u32 [r], t");
  test.expectNone("mov.u32 r, buffer;\nsetp.eq.u32 p, t, 0;\n@p st.shared.u32 [r], t;\n");
  // Neighbouring bytes are no conflict, and atomics are none with each other.
  test.expectNone("mov.u32 r, buffer;\nadd.u32 r, r, t;\nst.shared.u8 [r], 1;\n");
  test.expectNone("mov.u32 r, buffer;\nsetp.eq.u32 p, t, 0;\n@p st.shared.u32 [r], 0;\nbar.sync 0;\n"
                  "red.shared.add.u32 [r], 1;\n");
}

TEST(Faults, RaceWithTheFirstOfTwoReaders) {
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

TEST(Faults, RaceOfAnAtomicWithAStore) {
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

TEST(Faults, RaceOverAnotherNamedBarrier) {
  // Warp 0 and warp 1 pass barriers of their own, of 32 threads each, which orders nothing between them.
  Case test;
  const std::string body = kAddresses + "st.shared.u32 [s], t;\nshr.u32 r, t, 5;\nadd.u32 r, r, 1;\n";
  test.expectRace(body + "bar.sync r, 32;\nld.shared.u32 r, [u];\n", "st.shared.u32 [s], t", "ld.shared.u32 r, [u]");
  test.expectNone(body + "bar.sync 3, 64;\nld.shared.u32 r, [u];\n");
}

TEST(Faults, ProducerConsumerByArrive) {
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

TEST(Faults, AsynchronousDataBeforeTheWait) {
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

TEST(Faults, AsynchronousDataOfAnotherThread) {
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

TEST(Faults, AsynchronousDataAfterTheWaitOfAnotherThread) {
  // Warp 1 copies, all meet, and only then it waits: what warp 0 reads may be there or not.
  Case test;
  const std::string start = "mov.u32 r, buffer;\nand.b32 s, t, 31;\nshl.b32 s, s, 4;\nadd.u32 s, s, r;\n"
                            "setp.ge.u32 p, t, 32;\n@p cp.async.cg.shared.global [s], [y], 16;\n";
  test.expectRace(start + "bar.sync 0;\ncp.async.wait_all;\n@!p ld.shared.u32 r, [s];\n", "@p cp.async",
                  "@!p ld.shared");
  test.expectNone(start + "cp.async.wait_all;\nbar.sync 0;\n@!p ld.shared.u32 r, [s];\n");
}

TEST(Faults, AsynchronousCopyIntoWhatIsRead) {
  // The next stage is fetched into memory that another warp may still read.
  Case test;
  const std::string again = "cp.async.cg.shared.global [s], [y], 16;\n";
  const std::string read = kCopy + "cp.async.wait_group 0;\nbar.sync 0;\nld.shared.u32 r, [u];\n";
  test.expectNone(read + "bar.sync 0;\n" + again);
  const Report report = test.run(read + again);
  EXPECT_TRUE(report.has(FindingKind::Race)) << report.text();
}

TEST(Faults, OutOfBounds) {
  Case test;
  test.expectNone("mul.wide.u32 z, t, 4;\nadd.u64 z, x, z;\nst.global.u32 [z], t;\n");
  test.expectOnly(FindingKind::OutOfBounds, "mul.wide.u32 z, t, 4;\nadd.u64 z, x, z;\nst.global.u32 [z+4], t;\n",
                  "st.global.u32 [z+4]", "0 bytes past the end of out (256 bytes)");
  test.expectOnly(FindingKind::OutOfBounds, "ld.global.u32 r, [y+-4];\n", "ld.global.u32");
  test.expectOnly(FindingKind::OutOfBounds, "ld.global.v4.u32 {r, s, t, u}, [y+256];\n", "ld.global.v4.u32");
  test.expectOnly(FindingKind::OutOfBounds, "mov.u64 z, 0;\nld.global.u32 r, [z];\n", "ld.global.u32");
  test.expectOnly(FindingKind::OutOfBounds, "mov.u32 r, buffer;\nst.shared.u32 [r+1024], 0;\n", "st.shared.u32",
                  "4 bytes at offset 1024 of shared memory, which has 1024");
  test.expectOnly(FindingKind::OutOfBounds, "ld.param.u32 r, [out+16];\n", "ld.param.u32");
}

TEST(Faults, OutOfBoundsInPart) {
  Case test;
  test.globals = ".shared .align 16 .b8 buffer[1022];";
  test.expectOnly(FindingKind::OutOfBounds, "mov.u32 r, buffer;\nst.shared.u32 [r+1020], 0;\n", "st.shared.u32",
                  "4 bytes at offset 1020 of shared memory, which has 1022");
}

TEST(Faults, Misaligned) {
  Case test;
  test.expectNone("ld.global.u32 r, [y+4];\nld.global.v2.u32 {r, s}, [y+8];\n");
  test.expectOnly(FindingKind::Misaligned, "ld.global.u32 r, [y+2];\n", "ld.global.u32", "a multiple of 4");
  test.expectOnly(FindingKind::Misaligned, "ld.global.v4.u32 {r, s, t, u}, [y+8];\n", "ld.global.v4",
                  "a multiple of 16");
  const std::string first = "mov.u32 r, buffer;\nsetp.eq.u32 p, t, 0;\n";
  test.expectOnly(FindingKind::Misaligned, first + "@p cp.async.cg.shared.global [r+8], [y], 16;\n", "@p cp.async");
  test.expectOnly(FindingKind::Misaligned, first + "@p cp.async.cg.shared.global [r], [y+8], 16;\n", "@p cp.async");
}

TEST(Faults, UninitialisedRead) {
  Case test;
  const std::string own = "mov.u32 r, buffer;\nshl.b32 s, t, 2;\nadd.u32 s, s, r;\n";
  test.expectNone(own + "st.shared.u32 [s], t;\nld.shared.u32 r, [s];\n");
  test.expectOnly(FindingKind::UninitialisedRead, own + "ld.shared.u32 r, [s];\n", "ld.shared.u32",
                  "which nothing has written");
  test.expectOnly(FindingKind::UninitialisedRead, own + "st.shared.u16 [s], 1;\nld.shared.u32 r, [s];\n",
                  "ld.shared.u32");
  test.expectOnly(FindingKind::UninitialisedRead, "ld.global.u32 r, [x];\n", "ld.global.u32");
}

TEST(Faults, BarrierCounts) {
  Case test;
  test.expectNone("bar.sync 0;\nbar.sync 1, 64;\nbarrier.sync 2;\n");
  Case part; // a warp of 8 threads counts as a whole one
  part.threads = 40;
  part.expectNone("bar.sync 0;\nbar.sync 1, 64;\nbarrier.sync 2;\n");
  // Warp 1 never comes to the barrier.
  test.expectOnly(FindingKind::Deadlock, "setp.ge.u32 p, t, 32;\n@p bra DONE;\nbar.sync 0;\nDONE:\n", "bar.sync 0",
                  "waits for 64 threads, 32 have arrived");
  // Two places disagree about how many threads there are.
  test.expectOnly(FindingKind::BarrierMismatch,
                  "setp.ge.u32 p, t, 32;\n@p bra OTHER;\nbar.sync 1, 64;\nret;\nOTHER:\nbar.sync 1, 32;\n",
                  "bar.sync 1, 32", "expects 32 threads here and 64");
  test.expectOnly(FindingKind::InvalidValue, "bar.sync 1, 48;\n", "bar.sync 1, 48", "a multiple of 32");
  test.expectOnly(FindingKind::InvalidValue, "bar.sync 16;\n", "bar.sync 16", "0 to 15");
}

TEST(Faults, MoreThreadsThanABarrierExpects) {
  // 16 lanes, then a whole warp, then another: 80 of 64.
  Case test;
  test.threads = 96;
  test.expectOnly(FindingKind::BarrierMismatch,
                  "setp.ge.u32 p, t, 32;\n@p bra WARP;\nsetp.lt.u32 p, t, 16;\n@p barrier.arrive 1, 64;\nret;\n"
                  "WARP:\nbar.arrive 1, 64;\n",
                  "bar.arrive 1, 64;\n", "expects 64 threads, 80 arrive");
}

TEST(Faults, WaitingAtTwoBarriers) {
  Case test;
  const Report report = test.run("setp.ge.u32 p, t, 32;\n@p bra OTHER;\nbar.sync 1;\nret;\nOTHER:\nbar.sync 2;\n");
  int deadlocks = 0;
  for (const Finding &finding : report.findings)
    deadlocks += finding.kind == FindingKind::Deadlock;
  EXPECT_EQ(deadlocks, 2) << report.text();
}

TEST(Faults, DivergentAligned) {
  Case test;
  const std::string half = "and.b32 r, t, 1;\nsetp.eq.u32 p, r, 1;\n";
  test.expectNone("setp.lt.u32 p, t, 32;\n@p bra L;\nbar.sync 1, 32;\nret;\nL:\nbar.sync 2, 32;\n");
  test.expectOnly(FindingKind::DivergentAligned, half + "@p bra L;\nbar.sync 0;\nL:\n", "bar.sync 0",
                  "found lanes 0x55555555 of 0xffffffff");
  test.expectOnly(FindingKind::DivergentAligned, half + "@p bar.sync 0;\n", "@p bar.sync 0");
  const std::string matrix =
      "mov.u32 r, buffer;\nshl.b32 s, t, 4;\nadd.u32 r, r, s;\nst.shared.v4.u32 [r], {t, t, t, t};\n"
      "bar.warp.sync -1;\n";
  test.expectNone(matrix + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r, s, t, u}, [r];\n");
  test.expectOnly(FindingKind::DivergentAligned,
                  matrix + "setp.lt.u32 p, t, 16;\n@p bra SOME;\nret;\nSOME:\nand.b32 s, t, 1;\nsetp.eq.u32 p, s, 1;\n"
                           "@p ldmatrix.sync.aligned.m8n8.x1.shared.b16 {s}, [r];\n",
                  "@p ldmatrix");
}

TEST(Faults, ShuffleFromALaneThatIsNotThere) {
  Case test;
  test.expectNone("shfl.sync.bfly.b32 r, t, 1, 31, 0xffffffff;\n");
  // Only the even lanes take part; each reads its odd neighbour.
  test.expectOnly(FindingKind::UndefinedShuffle,
                  "and.b32 r, t, 1;\nsetp.eq.u32 p, r, 0;\n@p shfl.sync.bfly.b32 r, t, 1, 31, 0x55555555;\n",
                  "@p shfl.sync");
}

TEST(Faults, ShuffleThatNotAllReach) {
  Case test;
  test.expectOnly(
      FindingKind::Deadlock,
      "and.b32 r, t, 1;\nsetp.eq.u32 p, r, 0;\n@p shfl.sync.bfly.b32 r, t, 2, 31, 0xffffffff;\nbar.sync 0;\n",
      "@p shfl.sync", "which never arrive here");
  // The odd lanes have exited, which the ISA allows.
  test.expectNone("and.b32 r, t, 1;\nsetp.eq.u32 p, r, 1;\n@p exit;\nshfl.sync.bfly.b32 r, t, 2, 31, 0xffffffff;\n");
}

TEST(Faults, UnknownInstructions) {
  Case test;
  test.expectOnly(FindingKind::UnknownInstruction, "frobnicate.u32 r, s;\n", "frobnicate.u32", "'frobnicate.u32'");
  test.expectOnly(FindingKind::UnknownInstruction, "add.frob.u32 r, s, t;\n", "add.frob.u32", "'.frob'");
  test.expectOnly(FindingKind::UnknownInstruction, "mov.u64 z, %clock64;\n", "%clock64", "%clock64");
  test.expectOnly(FindingKind::UnknownInstruction, "call (r), f, (s);\n", "call (r)", "'call'");
  test.expectOnly(FindingKind::UnknownInstruction, "wgmma.fence.sync.aligned;\n", "wgmma.fence");
  // All of them are named, and nothing was executed.
  const Report report = test.run("st.global.u32 [x], t;\nfirst.u32 r;\nsecond.u32 r;\n");
  EXPECT_EQ(report.findings.size(), 2u);
  EXPECT_TRUE(report.counters.empty());
}

TEST(Faults, WrongOperands) {
  Case test;
  test.expectOnly(FindingKind::InvalidOperand, "add.u64 z, r, s;\n", "add.u64", "expected a register of 64 bits");
  test.expectOnly(FindingKind::InvalidOperand, "add.u32 r, s;\n", "add.u32", "expected 3 operands, found 2");
  test.expectOnly(FindingKind::InvalidOperand, "ld.global.u32 r, [nowhere];\n", "nowhere", "'nowhere'");
  test.expectOnly(FindingKind::InvalidOperand, "cp.async.cg.shared.global [r], [y], 8;\n", "cp.async", "16 bytes");
}

TEST(Faults, EndlessLoop) {
  Case test;
  const Report report = test.run("L:\nbra L;\n");
  EXPECT_TRUE(report.has(FindingKind::InstructionLimit)) << report.text();
}

TEST(Faults, Trap) {
  Case test;
  test.expectOnly(FindingKind::Trap, "setp.eq.u32 p, t, 63;\n@p trap;\n", "@p trap");
}

TEST(Faults, BankConflicts) {
  // Rows of 128 bytes, chunks of 16: ldmatrix reads one chunk of 8 rows. As stored, all 8 are in the same four banks.
  Case test;
  test.globals = ".shared .align 128 .b8 buffer[8192];";
  test.threads = 32;
  const std::string fill = "mov.u32 s, buffer;\nshl.b32 r, t, 2;\nadd.u32 s, s, r;\nmov.u32 r, 0;\n"
                           "FILL:\nst.shared.u32 [s], 0;\nadd.u32 s, s, 128;\nadd.u32 r, r, 1;\n"
                           "setp.lt.u32 p, r, 64;\n@p bra FILL;\nbar.sync 0;\nmov.u32 s, buffer;\nshl.b32 r, t, 7;\n"
                           "add.u32 s, s, r;\n";
  const std::string read = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r, s, t, u}, [s];\n";
  const Report plain = test.run(fill + read);
  expectClean(plain);
  // 4 matrices of 8 passes each where 1 each would do.
  EXPECT_EQ(plain.bankConflicts(), 4u * 7);
  const Report swizzled = test.run(fill + "and.b32 r, t, 7;\nshl.b32 r, r, 4;\nadd.u32 s, s, r;\n" + read);
  expectClean(swizzled);
  EXPECT_EQ(swizzled.bankConflicts(), 0u);
  // Half of the swizzle: two rows share their banks.
  const Report half = test.run(fill + "and.b32 r, t, 3;\nshl.b32 r, r, 4;\nadd.u32 s, s, r;\n" + read);
  EXPECT_EQ(half.bankConflicts(), 4u * 1);
}

TEST(Faults, NarrowGlobalAccesses) {
  Case test;
  test.threads = 32;
  const Report report = test.run("ld.global.u32 r, [y];\nld.global.v4.u32 {r, s, t, u}, [y];\n");
  uint64_t narrow = 0;
  for (const Counters &counter : report.counters)
    narrow += counter.narrowGlobal;
  EXPECT_EQ(narrow, 1u);
}

TEST(Faults, TwoBlocksAtOneByte) {
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
  // With a fence the kernel may order its blocks by itself.
  expectClean(run("st.global.u32 [x], r; membar.gl;"));
}

} // namespace
