//===- ParallelForTest.cpp - the parallel loop of kernels -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn-c/attn_runtime.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <latch>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

// Of <omp.h>, which gcc and clang keep apart from each other's.
extern "C" int omp_get_max_active_levels(void);
extern "C" int omp_get_max_threads(void);
extern "C" void omp_set_max_active_levels(int levels);
extern "C" void omp_set_num_threads(int threads);

namespace {

/// Calls `function` through the C interface, and counts the threads that took part.
template <typename Function> size_t parallelFor(int64_t count, Function function) {
  struct Context {
    Function &function;
    std::mutex mutex;
    std::set<std::thread::id> threads;
  } context{function, {}, {}};
  attn_parallel_for(
      [](void *opaque, int64_t index) {
        Context &context = *static_cast<Context *>(opaque);
        {
          std::lock_guard<std::mutex> lock(context.mutex);
          context.threads.insert(std::this_thread::get_id());
        }
        context.function(index);
      },
      &context, count);
  return context.threads.size();
}

/// Waits, not for ever, and yields: there may be fewer cores than threads.
template <typename Condition> bool waitFor(Condition condition) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  return condition();
}

struct ParallelFor : testing::Test {
  void TearDown() override { attn_runtime_set_num_threads(0); }
};

TEST_F(ParallelFor, CallsEachIndexOnce) {
  for (int threads : {1, 2, 3, 16}) {
    attn_runtime_set_num_threads(threads);
    for (int64_t count : {0, 1, 2, 3, 1000}) {
      std::vector<std::atomic<int>> calls(count);
      parallelFor(count, [&](int64_t index) { ++calls.at(index); });
      for (const std::atomic<int> &each : calls)
        EXPECT_EQ(each.load(), 1) << threads << " threads, " << count << " indices";
    }
  }
}

TEST_F(ParallelFor, NegativeCountDoesNothing) {
  parallelFor(-3, [](int64_t index) { FAIL() << index; });
}

TEST_F(ParallelFor, OneIndexRunsOnTheCaller) {
  attn_runtime_set_num_threads(4);
  for (int repeat = 0; repeat < 2000; ++repeat)
    parallelFor(1, [caller = std::this_thread::get_id()](int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST_F(ParallelFor, UsesTheThreadsAskedFor) {
  attn_runtime_set_num_threads(4);
  EXPECT_EQ(attn_runtime_get_num_threads(), 4);
  // Each call waits for a second thread, so one thread alone cannot take all indices.
  std::atomic<int> arrived = 0;
  size_t threads = parallelFor(4, [&](int64_t) {
    ++arrived;
    waitFor([&] { return arrived == 4; });
  });
  EXPECT_EQ(threads, 4u);
}

TEST_F(ParallelFor, AThreadThatIsDoneTakesFromTheOthers) {
  attn_runtime_set_num_threads(3);
  for (int64_t slow : {0, 4, 9}) {
    // One index ends last, wherever it lies: the others of its thread's range run elsewhere.
    std::atomic<int> done = 0;
    parallelFor(10, [&](int64_t index) {
      if (index == slow)
        EXPECT_TRUE(waitFor([&] { return done == 9; })) << "slow index " << slow;
      else
        ++done;
    });
  }
}

TEST_F(ParallelFor, AThreadBeginsWithConsecutiveIndices) {
  attn_runtime_set_num_threads(2);
  std::mutex mutex;
  std::map<std::thread::id, int64_t> firsts;
  std::atomic<bool> isHalfway = false;
  parallelFor(100, [&](int64_t index) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      firsts.try_emplace(std::this_thread::get_id(), index);
    }
    if (index == 0)
      EXPECT_TRUE(waitFor([&] { return isHalfway.load(); }));
    if (index == 50)
      isHalfway = true;
  });
  std::set<int64_t> found;
  for (auto [thread, first] : firsts)
    found.insert(first);
  EXPECT_EQ(found, (std::set<int64_t>{0, 50}));
}

TEST_F(ParallelFor, CallersAtOnceShareTheThreads) {
  attn_runtime_set_num_threads(4);
  constexpr int kOthers = 3;
  std::latch started(kOthers), end(1);
  std::vector<std::thread> others;
  for (int other = 0; other < kOthers; ++other)
    others.emplace_back([&] {
      parallelFor(1, [&](int64_t) {
        started.count_down();
        end.wait();
      });
    });
  started.wait();
  for (int repeat = 0; repeat < 100; ++repeat)
    EXPECT_EQ(parallelFor(100, [](int64_t) {}), 1u);
  end.count_down();
  for (std::thread &other : others)
    other.join();
}

TEST_F(ParallelFor, NestedLoopsWithLevelsToUse) {
  int before = omp_get_max_active_levels();
  omp_set_max_active_levels(3);
  attn_runtime_set_num_threads(4);
  std::atomic<int> calls = 0;
  parallelFor(8, [&](int64_t) { parallelFor(8, [&](int64_t) { parallelFor(8, [&](int64_t) { ++calls; }); }); });
  EXPECT_EQ(calls.load(), 512);
  omp_set_max_active_levels(before);
}

TEST_F(ParallelFor, ZeroRestoresTheSettingOfOpenMP) {
  int before = omp_get_max_threads();
  omp_set_num_threads(5);
  EXPECT_EQ(attn_runtime_get_num_threads(), 5);
  attn_runtime_set_num_threads(3);
  EXPECT_EQ(attn_runtime_get_num_threads(), 3);
  for (int restore : {0, -1}) {
    attn_runtime_set_num_threads(restore);
    EXPECT_EQ(attn_runtime_get_num_threads(), 5);
  }
  omp_set_num_threads(before);
}

/// A team of three std::threads, as another OpenMP would bring.
thread_local int threadOfTeam = 0;
std::atomic<int> regionsOfTeam = 0;

void runTeam(void (*function)(void *), void *context, unsigned threads, unsigned) {
  ++regionsOfTeam;
  std::vector<std::thread> team;
  for (unsigned thread = 0; thread < threads; ++thread)
    team.emplace_back([=] {
      threadOfTeam = static_cast<int>(thread);
      function(context);
    });
  for (std::thread &thread : team)
    thread.join();
}

TEST_F(ParallelFor, RunsOnAnotherOpenMP) {
  const attn_openmp other = {runTeam, [] { return threadOfTeam; }, [] { return 3; }};
  const attn_openmp numberAlone = {nullptr, nullptr, [] { return 6; }};
  attn_runtime_set_openmp(&other);
  EXPECT_EQ(attn_runtime_get_num_threads(), 3);
  std::vector<std::atomic<int>> calls(1000);
  parallelFor(1000, [&](int64_t index) {
    EXPECT_LT(threadOfTeam, 3);
    ++calls.at(index);
  });
  EXPECT_EQ(regionsOfTeam, 1);
  for (const std::atomic<int> &each : calls)
    EXPECT_EQ(each.load(), 1);
  attn_runtime_set_num_threads(2);
  EXPECT_EQ(attn_runtime_get_num_threads(), 2);
  attn_runtime_set_num_threads(0);
  attn_runtime_set_openmp(&numberAlone);
  EXPECT_EQ(attn_runtime_get_num_threads(), 6);
  parallelFor(1000, [](int64_t) {});
  EXPECT_EQ(regionsOfTeam, 1);
  attn_runtime_set_openmp(nullptr);
  EXPECT_EQ(attn_runtime_get_num_threads(), omp_get_max_threads());
}

TEST_F(ParallelFor, NestedLoopsRunOnTheirCaller) {
  attn_runtime_set_num_threads(4);
  std::atomic<int> calls = 0;
  parallelFor(8, [&](int64_t) {
    auto outer = std::this_thread::get_id();
    size_t threads = parallelFor(8, [&](int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      ++calls;
    });
    EXPECT_EQ(threads, 1u);
  });
  EXPECT_EQ(calls.load(), 64);
}

TEST_F(ParallelFor, SeveralCallersAtOnce) {
  attn_runtime_set_num_threads(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([] {
      std::atomic<int> calls = 0;
      for (int repeat = 0; repeat < 20; ++repeat)
        parallelFor(50, [&](int64_t) { ++calls; });
      EXPECT_EQ(calls.load(), 20 * 50);
    });
  for (std::thread &caller : callers)
    caller.join();
}

} // namespace
