//===- AsyncProxyTest.cpp - bulk copies beside threads: what is not ordered ===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BulkCase.h"

using namespace attn::ptx;

namespace {

const std::string kLoad =
    "@q cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [r], [m, {0, 0}], [b];\n";
const std::string kStore = "@q cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [m, {0, 0}], [r];\n";
const std::string kCommit = "@q cp.async.bulk.commit_group;\n";
const std::string kRead = "@q cp.async.bulk.wait_group.read 0;\n";
const std::string kOwn = "shl.b32 s, t, 4;\nadd.u32 s, s, r;\nmov.u32 c0, 0;\n";
const std::string kWrite = "st.shared.v4.u32 [s], {c0, c0, c0, c0};\n";
const std::string kFence = "fence.proxy.async.shared::cta;\n";

TEST(AsyncProxy, ReadBeforeTheCopyCompletes) {
  BulkCase test;
  const std::string start = kOwn + expectBytes(1024) + kLoad, read = "ld.shared.u32 u, [s];\n";
  test.expectNone(start + waitFor() + read);
  test.expectRace(start + read + waitFor());
  // A barrier of the threads says nothing about the copy.
  test.expectOnly(FindingKind::Race, start + "bar.sync 0;\n" + read + waitFor(), "ld.shared.u32 u",
                  "which a copy to the mbarrier at 8192 touched");
  // The wrong phase: it passes, as the phase before the first.
  test.expectRace(start + waitFor("1") + read + waitFor("0", "V"));
  // Only warp 0 waits.
  test.expectRace(start + "setp.ge.u32 p, t, 32;\n@p bra READ;\n" + waitFor() + "READ:\n" + read);
  test.expectNone(start + "setp.ge.u32 p, t, 32;\n@p bra READ;\n" + waitFor() + "READ:\nbar.sync 0;\n" + read);
}

TEST(AsyncProxy, CountsOfBytes) {
  BulkCase test;
  test.expectOnly(FindingKind::Deadlock, expectBytes(1040) + kLoad + waitFor(), "mbarrier.try_wait", "and 16 bytes");
  test.expectOnly(FindingKind::Mbarrier, expectBytes(1008) + kLoad, "@q cp.async.bulk", "16 bytes more than phase 0");
  test.expectOnly(FindingKind::Mbarrier, expectBytes(1024) + kLoad, "@q mbarrier.init", "no thread has waited");
}

TEST(AsyncProxy, MbarrierThatIsNotAnnounced) {
  BulkCase test;
  test.fence = "";
  const std::string body = expectBytes(1024) + kLoad + waitFor();
  test.expectOnly(FindingKind::ProxyFence, body, "@q cp.async.bulk",
                  "expected fence.mbarrier_init or fence.proxy.async");
  test.expectNone("fence.proxy.async;\n" + body);
  test.fence = "fence.proxy.async.shared::cta;\n";
  test.expectNone(body);
  // By another thread than the one that initialised it, and before the barrier.
  test.fence = "@!q fence.mbarrier_init.release.cluster;\n";
  test.expectOnly(FindingKind::ProxyFence, body, "@q cp.async.bulk");
}

TEST(AsyncProxy, CopyOverWhatIsRead) {
  BulkCase test;
  const std::string first = kOwn + expectBytes(1024) + kLoad + waitFor() + "ld.shared.u32 u, [s];\n";
  const std::string second = expectBytes(1024) +
                             "@q cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
                             "complete_tx::bytes [r], [m, {0, 8}], [b];\n" +
                             waitFor("1", "V");
  test.expectNone(first + "bar.sync 0;\n" + second);
  // Found at the copy, or at the read if that comes later.
  EXPECT_TRUE(test.run(first + second).has(FindingKind::Race));
}

TEST(AsyncProxy, StoreOfWhatThreadsWrote) {
  BulkCase test;
  const std::string store = kStore + kCommit + kRead;
  test.expectNone(kOwn + kWrite + kFence + "bar.sync 0;\n" + store);
  // The fence may also be with the thread that stores, after the barrier.
  test.expectNone(kOwn + kWrite + "bar.sync 0;\n" + kFence + store);
  test.expectOnly(FindingKind::ProxyFence, kOwn + kWrite + "bar.sync 0;\n" + store, "@q cp.async.bulk.tensor",
                  "expected fence.proxy.async between them");
  // Before the write, of another proxy, of global memory.
  test.expectOnly(FindingKind::ProxyFence, kOwn + kFence + kWrite + "bar.sync 0;\n" + store, "@q cp.async.bulk.tensor");
  test.expectOnly(FindingKind::ProxyFence, kOwn + kWrite + "fence.acq_rel.cta;\nbar.sync 0;\n" + store,
                  "@q cp.async.bulk.tensor");
  test.expectOnly(FindingKind::ProxyFence, kOwn + kWrite + "fence.proxy.async.global;\nbar.sync 0;\n" + store,
                  "@q cp.async.bulk.tensor");
  test.expectOnly(FindingKind::ProxyFence,
                  kOwn + kWrite + "fence.mbarrier_init.release.cluster;\nbar.sync 0;\n" + store,
                  "@q cp.async.bulk.tensor");
  // Only some threads fence what they wrote.
  test.expectOnly(FindingKind::ProxyFence, kOwn + kWrite + "@!q " + kFence + "bar.sync 0;\n" + store,
                  "@q cp.async.bulk.tensor");
  // No barrier.
  EXPECT_FALSE(test.run(kOwn + kWrite + kFence + store).clean());
  test.expectOnly(FindingKind::UninitialisedRead, store, "@q cp.async.bulk.tensor");
}

TEST(AsyncProxy, LoadOverWhatThreadsWrote) {
  BulkCase test;
  const std::string load = expectBytes(1024) + kLoad + waitFor();
  test.expectNone(kOwn + kWrite + kFence + "bar.sync 0;\n" + load);
  test.expectOnly(FindingKind::ProxyFence, kOwn + kWrite + "bar.sync 0;\n" + load, "@q cp.async.bulk.tensor");
}

TEST(AsyncProxy, WriteOverWhatIsStored) {
  BulkCase test;
  const std::string store = kOwn + kWrite + kFence + "bar.sync 0;\n" + kStore + kCommit;
  const std::string again = "bar.sync 0;\nst.shared.u32 [s], t;\n";
  test.expectNone(store + kRead + again);
  test.expectNone(store + "@q cp.async.bulk.wait_group 0;\n" + again);
  test.expectOnly(FindingKind::Race, store + again + kRead, "st.shared.u32 [s], t", "a bulk store of thread 0 touched");
  test.expectOnly(FindingKind::Race, store + "@q cp.async.bulk.wait_group.read 1;\n" + again + kRead,
                  "st.shared.u32 [s], t");
  // Waited for by its thread, and nobody tells the others.
  EXPECT_FALSE(test.run(store + kRead + "st.shared.u32 [s], t;\n").clean());
  // Reading it is no conflict.
  test.expectNone(store + "ld.shared.u32 u, [s];\n" + kRead);
}

TEST(AsyncProxy, StoreThatIsNotWaitedFor) {
  BulkCase test;
  const std::string store = kOwn + kWrite + kFence + "bar.sync 0;\n" + kStore;
  test.expectOnly(FindingKind::AsyncBeforeWait, store + kCommit, "@q cp.async.bulk.tensor", "wait_group.read");
  // A group that nobody has committed is no group.
  test.expectOnly(FindingKind::AsyncBeforeWait, store + kRead, "@q cp.async.bulk.tensor", "wait_group.read");
}

/// cp.async is of the generic proxy.
TEST(AsyncProxy, AfterCpAsync) {
  BulkCase test;
  const std::string copy = kOwn + "mul.wide.u32 z, t, 16;\nadd.u64 z, y, z;\n"
                                  "cp.async.cg.shared.global [s], [z], 16;\n";
  const std::string store = "bar.sync 0;\n" + kStore + kCommit + kRead;
  test.expectNone(copy + "cp.async.wait_all;\n" + kFence + store);
  test.expectOnly(FindingKind::ProxyFence, copy + "cp.async.wait_all;\n" + store, "@q cp.async.bulk.tensor");
  EXPECT_TRUE(test.run(copy + kFence + store).has(FindingKind::AsyncBeforeWait));
}

} // namespace
