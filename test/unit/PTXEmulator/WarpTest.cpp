//===- WarpTest.cpp - lanes together: shuffles, votes, divergence, barriers -===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunPTX.h"

using namespace attn::ptx;

namespace {

using U32 = std::vector<uint32_t>;

/// d of all 32 lanes.
U32 run(const std::string &body) { return evaluate<uint32_t>(body, U32(32, 0)); }

U32 lanes(uint32_t (*f)(uint32_t)) {
  U32 result;
  for (uint32_t lane = 0; lane < 32; ++lane)
    result.push_back(f(lane));
  return result;
}

TEST(Warp, ShuffleButterfly) {
  EXPECT_EQ(run("shfl.sync.bfly.b32 d, lane, 2, 31, 0xffffffff;"), lanes([](uint32_t lane) { return lane ^ 2; }));
}

TEST(Warp, ShuffleUpStopsAtItsSegment) {
  // Segments of 8 lanes: c = (32 − 8) << 8; below the segment's start a lane keeps its own.
  EXPECT_EQ(run("shfl.sync.up.b32 d, lane, 3, 0x1800, 0xffffffff;"),
            lanes([](uint32_t lane) { return lane % 8 < 3 ? lane : lane - 3; }));
}

TEST(Warp, ShuffleDownSaysWhoIsInRange) {
  EXPECT_EQ(run("shfl.sync.down.b32 r|p, lane, 1, 31, 0xffffffff; selp.u32 d, r, 99, p;"),
            lanes([](uint32_t lane) { return lane == 31 ? 99 : lane + 1; }));
}

TEST(Warp, ShuffleDownStopsAtItsSegment) {
  EXPECT_EQ(run("shfl.sync.down.b32 d, lane, 3, 0x181f, 0xffffffff;"),
            lanes([](uint32_t lane) { return lane % 8 > 4 ? lane : lane + 3; }));
}

TEST(Warp, ShuffleIndexInSegments) {
  EXPECT_EQ(run("shfl.sync.idx.b32 d, lane, 1, 0x1c1f, 0xffffffff;"),
            lanes([](uint32_t lane) { return lane / 4 * 4 + 1; }));
  // Each lane its own index, from a register.
  EXPECT_EQ(run("sub.u32 r, 31, lane; shfl.sync.idx.b32 d, lane, r, 31, 0xffffffff;"),
            lanes([](uint32_t lane) { return 31 - lane; }));
}

TEST(Warp, Vote) {
  const std::string odd = "and.b32 r, lane, 1; setp.eq.u32 p, r, 1;";
  EXPECT_EQ(run(odd + "vote.sync.ballot.b32 d, p, 0xffffffff;"), U32(32, 0xaaaaaaaa));
  EXPECT_EQ(run(odd + "vote.sync.ballot.b32 d, !p, 0xffffffff;"), U32(32, 0x55555555));
  EXPECT_EQ(run(odd + "vote.sync.any.pred q, p, 0xffffffff; selp.u32 d, 1, 0, q;"), U32(32, 1));
  EXPECT_EQ(run(odd + "vote.sync.all.pred q, p, 0xffffffff; selp.u32 d, 1, 0, q;"), U32(32, 0));
  EXPECT_EQ(run(odd + "vote.sync.uni.pred q, p, 0xffffffff; selp.u32 d, 1, 0, q;"), U32(32, 0));
}

TEST(Warp, Match) {
  EXPECT_EQ(run("and.b32 r, lane, 3; match.any.sync.b32 d, r, 0xffffffff;"),
            lanes([](uint32_t lane) { return 0x11111111u << (lane % 4); }));
  EXPECT_EQ(run("mov.u32 r, 5; match.all.sync.b32 d|p, r, 0xffffffff; @!p mov.u32 d, 1;"), U32(32, 0xffffffff));
  EXPECT_EQ(run("match.all.sync.b32 d|p, lane, 0xffffffff; @!p mov.u32 d, 1;"), U32(32, 1));
}

TEST(Warp, Reduce) {
  EXPECT_EQ(run("redux.sync.add.u32 d, lane, 0xffffffff;"), U32(32, 496));
  EXPECT_EQ(run("sub.s32 r, lane, 7; redux.sync.min.s32 d, r, 0xffffffff;"), U32(32, uint32_t(-7)));
  EXPECT_EQ(run("redux.sync.xor.b32 d, lane, 0xffffffff;"), U32(32, 0));
}

TEST(Warp, ActiveMaskAndElect) {
  EXPECT_EQ(run("mov.u32 d, 7; setp.lt.u32 p, lane, 4; @!p bra L; activemask.b32 d; L:"),
            lanes([](uint32_t lane) -> uint32_t { return lane < 4 ? 0xf : 7; }));
  EXPECT_EQ(run("elect.sync d|p, 0xffffffff; @p mov.u32 d, 100;"),
            lanes([](uint32_t lane) -> uint32_t { return lane == 0 ? 100 : 0; }));
}

TEST(Divergence, BothSidesMeet) {
  EXPECT_EQ(
      run("setp.lt.u32 p, lane, 5; @p bra LOW; mov.u32 r, 10; bra JOIN; LOW: mov.u32 r, 20; JOIN: activemask.b32 s;"
          "popc.b32 s, s; add.u32 d, r, s;"),
      lanes([](uint32_t lane) -> uint32_t { return (lane < 5 ? 20 : 10) + 32; }));
}

TEST(Divergence, LoopsOfDifferentLength) {
  // d = sum of 1 … lane; after the loop all lanes are together again.
  EXPECT_EQ(
      run("mov.u32 r, 0; mov.u32 s, 0; LOOP: setp.ge.u32 p, r, lane; @p bra DONE; add.u32 r, r, 1;"
          "add.u32 s, s, r; bra LOOP; DONE: activemask.b32 t; setp.eq.u32 p, t, 0xffffffff; selp.u32 d, s, 0, p;"),
      lanes([](uint32_t lane) { return lane * (lane + 1) / 2; }));
}

TEST(Divergence, Nested) {
  EXPECT_EQ(run("and.b32 r, lane, 1; setp.eq.u32 p, r, 0; and.b32 r, lane, 2; setp.eq.u32 q, r, 0; mov.u32 d, 0;"
                "@p bra EVEN; add.u32 d, d, 1; @q bra END; add.u32 d, d, 2; bra END;"
                "EVEN: add.u32 d, d, 4; @q bra END; add.u32 d, d, 8; END: add.u32 d, d, 16;"),
            lanes([](uint32_t lane) -> uint32_t {
              return 16 + (lane & 1 ? 1 + (lane & 2 ? 2 : 0) : 4 + (lane & 2 ? 8 : 0));
            }));
}

TEST(Divergence, SomeLanesExit) {
  GlobalMemory memory;
  const uint64_t out = memory.allocate("out", U32(32, 5));
  Launch arguments{{1, 1, 1}, {32, 1, 1}};
  arguments.parameters = {pointer(out)};
  expectClean(launch(makeModule("u64 out", R"(.reg .pred p; .reg .b32 r, s; .reg .b64 x;
    mov.u32 r, %laneid; setp.lt.u32 p, r, 8; @p exit;
    ld.param.u64 x, [out]; mad.wide.u32 x, r, 4, x; activemask.b32 s; st.global.u32 [x], s; ret;)"),
                     memory, arguments));
  U32 expected(32, 0xffffff00);
  std::fill_n(expected.begin(), 8, 5);
  EXPECT_EQ(memory.read<uint32_t>(out), expected);
}

TEST(Divergence, ShuffleInBothSidesOfABranch) {
  // Each side has its own shuffle of its own lanes.
  EXPECT_EQ(run("setp.lt.u32 p, lane, 16; @p bra LOW; shfl.sync.bfly.b32 d, lane, 1, 31, 0xffff0000; bra END;"
                "LOW: shfl.sync.bfly.b32 d, lane, 2, 31, 0x0000ffff; END:"),
            lanes([](uint32_t lane) { return lane < 16 ? lane ^ 2 : lane ^ 1; }));
}

TEST(Divergence, OneShuffleFromTwoPaths) {
  // Odd lanes are late, but come to the same instruction.
  EXPECT_EQ(run("and.b32 r, lane, 1; setp.eq.u32 p, r, 1; mov.u32 s, lane; @p bra LATE; GO:"
                "shfl.sync.bfly.b32 d, s, 1, 31, 0xffffffff; bra END; LATE: add.u32 s, s, 100; bra GO; END:"),
            lanes([](uint32_t lane) -> uint32_t { return (lane ^ 1) + (lane & 1 ? 0 : 100); }));
}

TEST(Divergence, BranchTable) {
  EXPECT_EQ(run("and.b32 r, lane, 3; TABLE: .branchtargets A, B, C, B; brx.idx r, TABLE; A: mov.u32 d, 10; bra END;"
                "B: mov.u32 d, 20; bra END; C: mov.u32 d, 30; END: activemask.b32 t; popc.b32 t, t; add.u32 d, d, t;"),
            lanes([](uint32_t lane) -> uint32_t {
              return (lane % 4 == 0 ? 10 : lane % 4 == 2 ? 30 : 20) + 32;
            }));
}

// The last instruction of a turn may leave paths to join, and the next turn may have one instruction.
TEST(Divergence, JoinsBetweenTurns) {
  const std::string module = makeModule("u64 out", R"(
.reg .pred p; .reg .b32 i, t; .reg .b64 x;
ld.param.u64 x, [out]; mov.u32 t, %ctaid.x; mad.wide.u32 x, t, 4, x; mov.u32 t, %laneid; mov.u32 i, 0;
LOOP: and.b32 t, t, 1; setp.eq.u32 p, t, 1; @p bra ODD; add.u32 t, t, 1; bra JOIN;
ODD: add.u32 t, t, 1;
JOIN: add.u32 i, i, 1; setp.lt.u32 p, i, 99; @p bra LOOP;
mov.u32 t, %laneid; setp.eq.u32 p, t, 0; @p st.global.u32 [x], i;
ret;)");
  constexpr uint32_t kBlocks = 64;
  GlobalMemory memory;
  const uint64_t out = memory.allocate("out", std::vector<uint32_t>(kBlocks));
  for (uint64_t turns : {725, 1035}) { // each has such a turn
    Launch arguments{{kBlocks, 1, 1}, {32, 1, 1}};
    arguments.parameters = {pointer(out)};
    arguments.turns = turns;
    EXPECT_TRUE(launch(module, memory, arguments).clean());
    EXPECT_EQ(memory.read<uint32_t>(out), std::vector<uint32_t>(kBlocks, 99)) << turns;
  }
}

TEST(Divergence, SpinOnAFlagOfAnotherWarp) {
  // Warp 1 waits in a loop for what warp 0 stores: the warps take turns. The flag is an atomic for both.
  GlobalMemory memory;
  const uint64_t out = memory.allocate("out", U32(1, 0));
  Launch arguments{{1, 1, 1}, {64, 1, 1}};
  arguments.maxInstructions = 1000000;
  arguments.parameters = {pointer(out)};
  expectClean(launch(makeModule("u64 out", R"(.reg .pred p; .reg .b32 r; .reg .b64 x;
    ld.param.u64 x, [out]; mov.u32 r, %tid.x; setp.lt.u32 p, r, 32; @p bra SET;
    LOOP: atom.global.add.u32 r, [x], 0; setp.eq.u32 p, r, 0; @p bra LOOP; ret;
    SET: st.global.u32 [x], 1;)"),
                     memory, arguments));
}

TEST(Divergence, SpinOnAFlagOfAnotherLane) {
  // Lane 0 sets what the others of its warp wait for: paths take turns as well.
  GlobalMemory memory;
  const uint64_t out = memory.allocate("out", U32(1, 0));
  Launch arguments{{1, 1, 1}, {32, 1, 1}};
  arguments.maxInstructions = 1000000;
  arguments.parameters = {pointer(out)};
  expectClean(launch(makeModule("u64 out", R"(.reg .pred p; .reg .b32 r; .reg .b64 x;
    ld.param.u64 x, [out]; mov.u32 r, %tid.x; setp.eq.u32 p, r, 0; @!p bra LOOP;
    atom.global.exch.b32 r, [x], 1; ret;
    LOOP: atom.global.add.u32 r, [x], 0; setp.eq.u32 p, r, 0; @p bra LOOP;)"),
                     memory, arguments));
}

TEST(Barrier, Reductions) {
  const std::string odd = "and.b32 r, lane, 1; setp.eq.u32 p, r, 1;";
  EXPECT_EQ(run(odd + "barrier.cta.red.popc.aligned.u32 d, 0, p;"), U32(32, 16));
  // Again at the same barrier: the votes are counted anew.
  EXPECT_EQ(run(odd + "bar.red.popc.u32 r, 0, p; bar.red.popc.u32 s, 0, 1; add.u32 d, r, s;"), U32(32, 16 + 32));
  EXPECT_EQ(run(odd + "bar.red.and.pred q, 1, p; selp.u32 d, 1, 0, q;"), U32(32, 0));
  EXPECT_EQ(run(odd + "bar.red.or.pred q, 1, 32, !p; selp.u32 d, 1, 0, q;"), U32(32, 1));
}

TEST(Barrier, UnalignedFromTwoSides) {
  // barrier.sync may be reached by parts of a warp, at different places.
  EXPECT_EQ(
      run("and.b32 r, lane, 1; setp.eq.u32 p, r, 1; mov.u32 d, 0; @p bra ODD; barrier.sync 0; mov.u32 d, 1; bra END;"
          "ODD: barrier.sync 0; mov.u32 d, 2; END:"),
      lanes([](uint32_t lane) -> uint32_t { return 1 + lane % 2; }));
}

TEST(Special, IndicesOfBlocksAndThreads) {
  GlobalMemory memory;
  const uint64_t out = memory.allocate("out", 2 * 3 * 2 * 4 * 5 * 2 * 4);
  Launch arguments{{2, 3, 2}, {4, 5, 2}};
  arguments.parameters = {pointer(out)};
  expectClean(launch(makeModule("u64 out", R"(.reg .b32 r, s, n; .reg .b64 x;
    mov.u32 r, %ctaid.z; mov.u32 n, %nctaid.y; mov.u32 s, %ctaid.y; mad.lo.u32 r, r, n, s;
    mov.u32 n, %nctaid.x; mov.u32 s, %ctaid.x; mad.lo.u32 r, r, n, s;
    mov.u32 n, %ntid.z; mov.u32 s, %tid.z; mad.lo.u32 r, r, n, s;
    mov.u32 n, %ntid.y; mov.u32 s, %tid.y; mad.lo.u32 r, r, n, s;
    mov.u32 n, %ntid.x; mov.u32 s, %tid.x; mad.lo.u32 r, r, n, s;
    ld.param.u64 x, [out]; mad.wide.u32 x, r, 4, x; st.global.u32 [x], r; ret;)"),
                     memory, arguments));
  const U32 values = memory.read<uint32_t>(out);
  for (uint32_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], i);
}

TEST(Special, LaneMasks) {
  EXPECT_EQ(run("mov.u32 d, %lanemask_lt;"), lanes([](uint32_t lane) { return (1u << lane) - 1; }));
  EXPECT_EQ(run("mov.u32 d, %lanemask_ge;"), lanes([](uint32_t lane) { return ~((1u << lane) - 1); }));
  EXPECT_EQ(run("mov.u32 d, %lanemask_eq;"), lanes([](uint32_t lane) { return 1u << lane; }));
}

} // namespace
