//===- UndefinedTest.cpp - registers that nothing has written -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FaultCase.h"

using namespace attn::ptx;

namespace {

constexpr FindingKind kUndefined = FindingKind::UndefinedRegister;
/// Where the thread's word of `out` lies, in z.
const std::string kOwn = "mul.wide.u32 z, t, 4;\nadd.u64 z, x, z;\n";

TEST(Undefined, Observed) {
  Case test;
  test.expectOnly(kUndefined, kOwn + "st.global.u32 [z], r;\n", "st.global.u32", "reads r as an operand");
  test.expectOnly(kUndefined, "@p mov.u32 r, 1;\n", "@p mov.u32", "reads p as a predicate");
  test.expectOnly(kUndefined, "@!p bra L;\nL:\n", "@!p bra", "reads p as a predicate");
  test.expectOnly(kUndefined, "vote.sync.any.pred q, p, -1;\n", "vote.sync", "reads p as an operand");
  test.expectOnly(kUndefined, "bar.sync s;\n", "bar.sync", "reads s as an operand");
  test.expectOnly(kUndefined, "atom.global.exch.b32 u, [y], r;\n", "atom.global.exch", "reads r as an operand");
  Report report = test.run("ld.shared.u32 r, [s];\n");
  ASSERT_TRUE(report.has(kUndefined)) << report.text();
  EXPECT_NE(report.find(kUndefined)->message.find("reads s as an address"), std::string::npos) << report.text();
}

TEST(Undefined, Mma) {
  Case test;
  const std::string zeros = "mov.u32 s, 0;\nmov.f32 f, 0f00000000;\n";
  const std::string multiply = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {_, _, _, _}, {";
  test.expectNone(zeros + multiply + "s, s, s, s}, {s, s}, {f, f, f, f};\n");
  test.expectOnly(kUndefined, zeros + multiply + "s, s, u, s}, {s, s}, {f, f, f, f};\n", "mma.sync", "reads u as");
  test.expectOnly(kUndefined, "mov.u32 s, 0;\n" + multiply + "s, s, s, s}, {s, s}, {f, f, f, f};\n", "mma.sync",
                  "reads f as");
}

/// Arithmetic and moves pass it on; it is said where it matters, and not before.
TEST(Undefined, PassedOn) {
  Case test;
  test.expectNone("add.u32 r, s, 1;\nmov.b32 u, r;\nsetp.lt.u32 p, u, 5;\nselp.b32 r, 1, 2, p;\n");
  test.expectOnly(kUndefined, kOwn + "add.u32 r, s, 1;\nmul.lo.u32 u, t, r;\nst.global.u32 [z], u;\n", "st.global.u32",
                  "reads u as");
  test.expectOnly(kUndefined, "cvt.rn.f32.s32 f, s;\nsetp.lt.f32 p, f, 0f00000000;\nmov.pred q, p;\n@q bra L;\nL:\n",
                  "@q bra", "reads q as");
  // Written again, it is as good as any.
  test.expectNone(kOwn + "add.u32 r, s, 1;\nmov.u32 r, 3;\nst.global.u32 [z], r;\n");
}

TEST(Undefined, OnePathWrites) {
  Case test;
  const std::string some = "setp.lt.u32 p, t, 5;\n@!p bra L;\nmov.u32 r, 1;\nL:\n" + kOwn;
  test.expectOnly(kUndefined, some + "st.global.u32 [z], r;\n", "st.global.u32", "reads r as");
  Report report = test.run(some + "st.global.u32 [z], r;\n");
  EXPECT_EQ(report.find(kUndefined)->thread.x, 5u);
  // By lane: those that read it have written it.
  test.expectNone(some + "@p st.global.u32 [z], r;\n");
  test.expectNone(some + "selp.b32 r, r, 7, p;\nst.global.u32 [z], r;\n");
  test.expectOnly(kUndefined, some + "selp.b32 r, 7, r, p;\nst.global.u32 [z], r;\n", "st.global.u32", "reads r as");
  test.expectNone("setp.lt.u32 p, t, 5;\n@p mov.u32 r, 1;\n@!p mov.u32 r, 2;\n" + kOwn + "st.global.u32 [z], r;\n");
}

TEST(Undefined, LoopWithoutStart) {
  Case test;
  const std::string loop = "mov.u32 s, 0;\nL:\nadd.u32 r, r, s;\nadd.u32 s, s, 1;\nsetp.lt.u32 p, s, 4;\n@p bra L;\n";
  test.expectOnly(kUndefined, loop + kOwn + "st.global.u32 [z], r;\n", "st.global.u32", "reads r as");
  test.expectNone("mov.u32 r, 0;\n" + loop + kOwn + "st.global.u32 [z], r;\n");
}

/// A shuffle takes it from the lane that it reads.
TEST(Undefined, Shuffle) {
  Case test;
  const std::string some = "and.b32 u, t, 31;\nsetp.eq.u32 p, u, 0;\n@p mov.u32 r, 1;\n" + kOwn;
  test.expectNone(some + "shfl.sync.idx.b32 s, r, 0, 31, -1;\nst.global.u32 [z], s;\n");
  test.expectOnly(kUndefined, some + "shfl.sync.idx.b32 s, r, 1, 31, -1;\nst.global.u32 [z], s;\n", "st.global.u32",
                  "reads s as");
}

} // namespace
