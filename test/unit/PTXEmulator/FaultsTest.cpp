//===- FaultsTest.cpp - small kernels with one planted fault each ---------===//
//
// Each kernel is tested beside the one without the fault, which must be clean.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FaultCase.h"

using namespace attn::ptx;

namespace {

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
  test.expectOnly(FindingKind::UnknownInstruction, "mov.u31 r, buffer;\n", "mov.u31", "expected a type");
  test.expectOnly(FindingKind::UnknownInstruction, "call (r), f, (s);\n", "call (r)", "'call'");
  test.expectOnly(FindingKind::UnknownInstruction, "mapa.u64 x, y, r;\n", "mapa.u64");
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

} // namespace
