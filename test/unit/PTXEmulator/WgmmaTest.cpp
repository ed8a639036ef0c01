//===- WgmmaTest.cpp - what wgmma computes, and what is said of its misuse ===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WgmmaCase.h"

using namespace attn::ptx;

namespace {

constexpr TensorSwizzle kSwizzles[] = {TensorSwizzle::None, TensorSwizzle::Bytes32, TensorSwizzle::Bytes64,
                                       TensorSwizzle::Bytes128};
const std::string kFirst = "wgmma.mma_async", kCommit = "wgmma.commit_group.sync.aligned;\n";

std::string without(std::string text, const std::string &part) {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.erase(at, part.size());
}

TEST(Wgmma, Layouts) {
  for (TensorSwizzle swizzle : kSwizzles)
    for (bool isTransposedA : {false, true})
      for (bool isTransposedB : {false, true}) {
        WgmmaCase test;
        test.swizzle = swizzle;
        test.isTransposedA = isTransposedA;
        test.isTransposedB = isTransposedB;
        test.n = 128;
        test.expectProduct();
      }
}

TEST(Wgmma, Widths) {
  for (unsigned n = 8; n <= 256; n += n < 32 ? 8 : 56) {
    WgmmaCase test;
    test.n = n;
    test.expectProduct();
    test.isAInRegisters = true;
    test.expectProduct();
  }
}

TEST(Wgmma, TypesAndSigns) {
  for (unsigned i = 0; i < 8; ++i) {
    WgmmaCase test;
    test.isF16 = i & 1;
    test.isNegatedA = i & 2;
    test.isNegatedB = i & 4;
    test.expectProduct();
  }
}

TEST(Wgmma, WrongDescriptors) {
  WgmmaCase test;
  // Wrong numbers, or bytes that nothing wrote: a start, a stride, a major.
  const std::string end = test.multiplyAll() + WgmmaCase::wait() + test.store();
  EXPECT_TRUE(test.run(test.fill() + "add.u64 l1, l1, 2;\n" + end).clean());
  EXPECT_GT(test.error(), 1);
  EXPECT_TRUE(test.run(test.fill() + "xor.b64 l1, l1, 0x5000000000;\n" + end).clean()); // SBO 256
  EXPECT_GT(test.error(), 1);
  WgmmaCase transposed;
  transposed.isTransposedB = true;
  EXPECT_TRUE(transposed.run(test.fill() + end).clean());
  EXPECT_GT(transposed.error(), 1);
  auto expectInvalid = [&](const std::string &change, const std::string &message) {
    test.expectFound(FindingKind::InvalidValue, test.fill() + change + test.multiplyAll() + WgmmaCase::wait(), kFirst,
                     message);
  };
  expectInvalid("add.u64 l0, l0, 8;\n", "in the first 128 bytes of a multiple of 1024, found 8320");
  expectInvalid("or.b64 l0, l0, 0x4000;\n", "found bits that it has not");
  expectInvalid("or.b64 l0, l0, 0x2000000000000;\n", "a base offset of 0");
  expectInvalid("@q add.u64 k0, k0, 2;\n", "expected one descriptor of A for all lanes");
  test.expectFound(FindingKind::OutOfBounds, test.fill() + "or.b64 l0, l0, 0x3000;\n" + test.multiplyAll(), kFirst,
                   "of shared memory");
}

TEST(Wgmma, FenceOfRegisters) {
  WgmmaCase test;
  const std::string end = WgmmaCase::wait() + test.store();
  test.expectFound(FindingKind::WgmmaFence,
                   test.fill() + without(test.multiplyAll(), "wgmma.fence.sync.aligned;\n") + end, kFirst,
                   "before the first wgmma");
  // Accumulators that are written after the fence, and read.
  const std::string zero = "mov.f32 d5, 0f00000000;\n";
  test.expectNone(test.fill() + zero + test.multiplyAll() + end);
  test.expectFound(FindingKind::WgmmaFence,
                   test.fill() + "wgmma.fence.sync.aligned;\n" + zero +
                       without(test.multiplyAll(), "wgmma.fence.sync.aligned;\n") + end,
                   kFirst, "uses d5, which threads have touched");
  const std::string again = test.multiply(0, "p");
  test.expectNone(test.fill() + test.multiplyAll() + end + "wgmma.fence.sync.aligned;\n" + again + kCommit +
                  WgmmaCase::wait());
  test.expectFound(FindingKind::WgmmaFence,
                   test.fill() + test.multiplyAll() + end + again + kCommit + WgmmaCase::wait(), again);
  // A fragment.
  WgmmaCase fragments;
  fragments.isAInRegisters = true;
  fragments.expectFound(FindingKind::WgmmaFence,
                        fragments.fill() + "wgmma.fence.sync.aligned;\nmov.b32 a7, 0;\n" +
                            without(fragments.multiplyAll(), "wgmma.fence.sync.aligned;\n") + end,
                        fragments.multiply(1, "1"), "uses a7");
}

TEST(Wgmma, RegistersBeforeTheWait) {
  WgmmaCase test;
  const std::string start = test.fill() + test.multiplyAll(), read = "add.f32 d9, d9, d9;\n";
  test.expectNone(start + WgmmaCase::wait() + read);
  test.expectFound(FindingKind::WgmmaPending, start + read + WgmmaCase::wait(), read, "touches d9, an accumulator");
  test.expectFound(FindingKind::WgmmaPending, start + WgmmaCase::wait(1) + read + WgmmaCase::wait(), read);
  // Not committed: no wait waits for it.
  test.expectFound(FindingKind::WgmmaPending, without(start, kCommit) + WgmmaCase::wait() + read, read);
  test.expectFound(FindingKind::AsyncBeforeWait, start, test.multiply(3, "1"), "expected wgmma.wait_group");
  // One of two groups.
  const std::string other = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d120, d121, d122, d123}, k0, l0, 0, "
                            "1, 1, 0, 0;\n" +
                            kCommit;
  test.expectNone(start + other + WgmmaCase::wait(1) + read + WgmmaCase::wait());
  test.expectFound(FindingKind::WgmmaPending,
                   start + other + WgmmaCase::wait(1) + "mov.f32 d120, d0;\n" + WgmmaCase::wait(), "mov.f32 d120");
  // Of another shape.
  const std::string shape =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, k0, l0, 0, 1, 1, 0, 0;\n";
  test.expectFound(FindingKind::WgmmaPending, start + shape + kCommit + WgmmaCase::wait(), shape, "in another way");
  test.expectNone(start + WgmmaCase::wait() + shape + kCommit + WgmmaCase::wait());
  WgmmaCase fragments;
  fragments.isAInRegisters = true;
  const std::string write = "mov.b32 a6, 0;\n";
  fragments.expectNone(fragments.fill() + fragments.multiplyAll() + WgmmaCase::wait() + write);
  fragments.expectFound(FindingKind::WgmmaPending,
                        fragments.fill() + fragments.multiplyAll() + write + WgmmaCase::wait(), write,
                        "touches a6, a fragment of A");
}

TEST(Wgmma, SharedMemory) {
  WgmmaCase test;
  const std::string fence = "fence.proxy.async.shared::cta;\n", end = test.multiplyAll() + WgmmaCase::wait();
  test.expectFound(FindingKind::ProxyFence, without(test.fill(), fence) + end, kFirst);
  test.expectFound(FindingKind::ProxyFence, without(test.fill(), fence) + "fence.acq_rel.cta;\nbar.sync 0;\n" + end,
                   kFirst);
  EXPECT_FALSE(test.run(without(test.fill(), "bar.sync 0;\n") + end).clean());
  // Written over: while it is read, after the own wait, after that of all.
  const std::string write = "mov.u32 s, tile;\n@q st.shared.u32 [s+8192], 0;\n", line = "@q st.shared.u32 [s+8192]";
  EXPECT_TRUE(test.run(test.fill() + test.multiplyAll() + write + WgmmaCase::wait()).has(FindingKind::Race));
  test.expectFound(FindingKind::Race, test.fill() + test.multiplyAll() + "bar.sync 0;\n" + write + WgmmaCase::wait(),
                   line, "wgmma of warp");
  EXPECT_TRUE(test.run(test.fill() + end + write).has(FindingKind::Race));
  test.expectNone(test.fill() + end + "bar.sync 0;\n" + write);
  // Nothing wrote the last columns of B.
  WgmmaCase wide = test;
  wide.n = 128;
  WgmmaCase narrow = test;
  test.expectFound(FindingKind::UninitialisedRead, narrow.fill() + wide.multiplyAll() + WgmmaCase::wait(), kFirst);
}

TEST(Wgmma, WarpsOfAGroup) {
  WgmmaCase test;
  const std::string end = test.multiplyAll() + WgmmaCase::wait();
  const std::string last = "setp.ge.u32 p, t, 96;\n";
  test.expectFound(FindingKind::DivergentAligned, test.fill() + last + "@p add.u64 l0, l0, 2;\n" + end, kFirst,
                   "the operands that another warp of the group has");
  test.expectFound(FindingKind::DivergentAligned, test.fill() + last + "@p bra END;\n" + end + "END:\n", "wgmma.fence",
                   "another of its group has done this");
  test.expectFound(FindingKind::DivergentAligned,
                   test.fill() + last + "@p bra OTHER;\n" + end + "ret;\nOTHER:\nwgmma.fence.sync.aligned;\n",
                   "wgmma.fence", "expected the instruction that another warp of the group does");
  test.threads = 96;
  test.expectFound(FindingKind::DivergentAligned, "wgmma.fence.sync.aligned;\n", "wgmma.fence",
                   "expected four warps in the group");
}

TEST(Wgmma, ScaleAndUndefinedAccumulators) {
  WgmmaCase test;
  const std::string end = kCommit + WgmmaCase::wait() + test.store();
  const std::string product = "wgmma.fence.sync.aligned;\n" + test.multiply(0, "p");
  test.expectNone(test.fill() + "setp.ne.u32 p, t, t;\n" + product + end);
  test.expectFound(FindingKind::UndefinedRegister, test.fill() + "setp.eq.u32 p, t, t;\n" + product + end, kFirst,
                   "as an accumulator");
  test.expectFound(FindingKind::InvalidValue, test.fill() + "setp.eq.u32 p, t, 3;\n" + product + end, kFirst,
                   "expected one scale-d");
  WgmmaCase fragments;
  fragments.isAInRegisters = true;
  fragments.expectFound(FindingKind::UndefinedRegister,
                        without(fragments.fill(), "ld.global.v4.b32 {a12, a13, a14, a15}, [z+6144];\n") +
                            fragments.multiplyAll() + end,
                        fragments.multiply(3, "1"), "reads a12");
}

TEST(Wgmma, Operands) {
  WgmmaCase test;
  auto refuse = [&](const std::string &line) {
    const Report report = test.run(line);
    EXPECT_TRUE(report.has(FindingKind::InvalidOperand) || report.has(FindingKind::UnknownInstruction)) << line;
  };
  const std::string name = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 ";
  refuse(name + "{d0, d1, d2}, k0, l0, 0, 1, 1, 0, 0;\n");
  refuse(name + "{d0, d1, d2, d3}, k0, l0, 0, 1, 1, 0;\n");
  refuse(name + "{d0, d1, d2, d3}, {a0, a1, a2, a3}, l0, 0, 1, 1, 0, 0;\n");
  refuse(name + "{d0, d1, d2, d3}, k0, l0, 0, 2, 1, 0, 0;\n");
  refuse("wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16 {d0, d1, d2, d3, d4, d5}, k0, l0, 0, 1, 1, 0, 0;\n");
  refuse("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {d0, d1, d2, d3}, k0, l0, 0, 1, 1;\n");
}

/// Two groups: registers go from the producer's to the consumer's.
TEST(Wgmma, SetMaxRegisters) {
  WgmmaCase test;
  test.threads = 256;
  test.attributes = "\n.maxntid 256, 1, 1\n.minnctapersm 1";
  auto body = [](const std::string &producer, const std::string &consumer) {
    return "setp.ge.u32 p, t, 128;\n@p bra CONSUME;\nsetmaxnreg.dec.sync.aligned.u32 " + producer +
           ";\nret;\nCONSUME:\nsetmaxnreg." + consumer + ";\n";
  };
  test.expectNone(body("24", "inc.sync.aligned.u32 256"));
  test.expectFound(FindingKind::InvalidValue, body("28", "inc.sync.aligned.u32 256"), "setmaxnreg.dec",
                   "multiple of 8");
  test.expectFound(FindingKind::InvalidValue, body("16", "inc.sync.aligned.u32 256"), "setmaxnreg.dec",
                   "from 24 to 256");
  test.expectFound(FindingKind::InvalidValue, body("24", "inc.sync.aligned.u32 128"), "setmaxnreg.inc", "no fewer");
  test.attributes = "\n.maxntid 256, 1, 1\n.maxnreg 128";
  test.expectNone(body("24", "inc.sync.aligned.u32 232"));
  test.expectFound(FindingKind::InvalidValue, body("24", "inc.sync.aligned.u32 240"), "setmaxnreg.inc",
                   "want 33792 registers, and the block has 32768");
  test.attributes = "";
  test.expectFound(FindingKind::InvalidValue, body("24", "inc.sync.aligned.u32 256"), "setmaxnreg.dec",
                   "ptxas ignores it");
  test.attributes = "\n.maxnreg 128";
  test.expectFound(FindingKind::DivergentAligned,
                   "setp.ge.u32 p, t, 96;\n@p bra END;\nsetmaxnreg.dec.sync.aligned.u32 24;\nEND:\n", "setmaxnreg.dec",
                   "another of its group has done this");
}

} // namespace
