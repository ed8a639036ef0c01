//===- CudaLaunchTest.cpp - the launcher over the emulated driver ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CudaEmulator/CudaEmulator.h"

#include <array>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <regex>
#include <thread>

using attn::ptx::CudaEmulator;

namespace {

/// x[i] = i of a block of 32, once in shared memory and back.
const char *const kPTX = R"(
.version 7.8
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry iota(.param .u64 x)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [x];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
.visible .entry idle(.param .u64 x)
{
  ret;
}
)";

struct CudaLaunch : testing::Test {
  attn_cuda_image image = {kPTX, int64_t(strlen(kPTX)), nullptr, 0, 80, 11080, 0, nullptr};
  attn_cuda_kernel kernel = {&image, "iota", nullptr};
  const attn_cuda_driver *driver = &attn::ptx::getEmulatedDriver();
  CudaEmulator &emulator = CudaEmulator::get();
  unsigned long long buffer = 0;

  void SetUp() override {
    emulator.capability = 90;
    emulator.driverVersion = 13000;
    ASSERT_EQ(attn_cuda_use_driver(driver), 0);
    makeCurrent();
    ASSERT_EQ(driver->cuMemAlloc(&buffer, 32 * 4), 0);
  }
  void TearDown() override {
    attn_cuda_kernel *kernels[] = {&kernel};
    attn_cuda_unload(&image, kernels, 1);
    driver->cuMemFree(buffer);
  }
  void makeCurrent() {
    CUcontext context;
    driver->cuDevicePrimaryCtxRetain(&context, 0);
    driver->cuCtxSetCurrent(context);
  }
  int32_t launch(int64_t blocks = 1, int64_t threads = 32, int64_t shared = 0) {
    void *parameters[] = {&buffer};
    return attn_cuda_launch(&kernel, blocks, 1, 1, threads, 1, 1, shared, nullptr, parameters);
  }
  void expectRefusal(int32_t code, int32_t expected, const char *text) {
    EXPECT_EQ(code, expected);
    EXPECT_NE(std::string(attn_cuda_message()).find(text), std::string::npos) << attn_cuda_message();
  }
};

TEST_F(CudaLaunch, runsAndLoadsOnce) {
  uint64_t loads = emulator.numLoads;
  EXPECT_EQ(launch(), 0) << attn_cuda_message();
  EXPECT_EQ(launch(), 0) << attn_cuda_message();
  EXPECT_EQ(emulator.numLoads, loads + 1);
  int32_t values[32];
  ASSERT_EQ(driver->cuMemcpyDtoH(values, buffer, sizeof(values)), 0);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(values[i], i);
}

TEST_F(CudaLaunch, loadsOnceForAllThreads) {
  uint64_t loads = emulator.numLoads;
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      makeCurrent();
      failures += launch(1, 32, 50 * 1024) != 0;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(emulator.numLoads, loads + 1);
}

TEST_F(CudaLaunch, kernelsOfAnImageShareAModule) {
  uint64_t loads = emulator.numLoads;
  attn_cuda_kernel other = {&image, "iota", nullptr};
  void *parameters[] = {&buffer};
  EXPECT_EQ(launch(), 0);
  EXPECT_EQ(attn_cuda_launch(&other, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters), 0);
  EXPECT_EQ(emulator.numLoads, loads + 1);
  attn_cuda_kernel *kernels[] = {&other};
  attn_cuda_unload(&image, kernels, 1);
}

TEST_F(CudaLaunch, loadsAgainAfterUnload) {
  uint64_t loads = emulator.numLoads;
  EXPECT_EQ(launch(), 0);
  attn_cuda_kernel *kernels[] = {&kernel};
  attn_cuda_unload(&image, kernels, 1);
  EXPECT_EQ(launch(), 0);
  EXPECT_EQ(emulator.numLoads, loads + 2);
}

TEST_F(CudaLaunch, gridWithoutBlocksDoesNothing) {
  uint64_t launches = emulator.numLaunches;
  EXPECT_EQ(launch(0), 0);
  EXPECT_EQ(emulator.numLaunches, launches);
}

TEST_F(CudaLaunch, persistentBlocksAreNoMoreThanTheDeviceHolds) {
  attn_cuda_kernel idle = {&image, "idle", nullptr};
  emulator.multiprocessors = 2;
  emulator.keepsLaunches = true;
  void *parameters[] = {&buffer};
  for (int64_t tiles : {0, 1, 2, 5})
    EXPECT_EQ(attn_cuda_launch_persistent(&idle, tiles, 1, 1, 32, 1, 1, 0, nullptr, parameters), 0)
        << attn_cuda_message();
  EXPECT_EQ(attn_cuda_launch(&idle, 5, 1, 1, 32, 1, 1, 0, nullptr, parameters), 0) << attn_cuda_message();
  std::vector<uint64_t> blocks;
  for (const attn::ptx::LaunchRecord &launch : emulator.launches)
    blocks.push_back(launch.report.grid.count());
  EXPECT_EQ(blocks, (std::vector<uint64_t>{1, 2, 2, 5}));
  emulator.launches.clear();
  emulator.keepsLaunches = false;
  attn_cuda_kernel *kernels[] = {&idle};
  attn_cuda_unload(&image, kernels, 1);
}

TEST_F(CudaLaunch, dependentKernelsStartEarlyWhereTheyWait) {
  void *parameters[] = {&buffer};
  auto launchDependent = [&](attn_cuda_kernel *which) {
    return attn_cuda_launch_dependent(which, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters);
  };
  EXPECT_NE(launchDependent(&kernel), 0); // it does not wait
  // A driver whose graphs have no such launches, or that has none, starts it as any other.
  emulator.driverVersion = 12020;
  EXPECT_EQ(launchDependent(&kernel), 0);
  emulator.driverVersion = 12030;
  attn_cuda_driver without = *driver;
  without.cuLaunchKernelEx = nullptr;
  ASSERT_EQ(attn_cuda_use_driver(&without), 0);
  EXPECT_EQ(launchDependent(&kernel), 0);
  attn_cuda_unload(&image, std::array{&kernel}.data(), 1);
  ASSERT_EQ(attn_cuda_use_driver(driver), 0);
  const std::string text = std::regex_replace(kPTX, std::regex("  st.global"), "  griddepcontrol.wait;\n  st.global");
  const std::string early = std::regex_replace(text, std::regex("sm_80"), "sm_90");
  attn_cuda_image waiting = {early.c_str(), int64_t(early.size()), nullptr, 0, 90, 11080, 0, nullptr};
  attn_cuda_kernel waits = {&waiting, "iota", nullptr};
  EXPECT_EQ(launchDependent(&waits), 0) << attn_cuda_message();
  attn_cuda_kernel *kernels[] = {&waits};
  attn_cuda_unload(&waiting, kernels, 1);
}

TEST_F(CudaLaunch, cubinThatTheDriverDoesNotTakeFallsBackToPTX) {
  emulator.capability = 86; // of the major version that the cubin is for
  image.cubin = "\x7f"
                "ELF of another machine";
  image.cubin_bytes = 8;
  EXPECT_EQ(launch(), 0) << attn_cuda_message();
}

TEST_F(CudaLaunch, usesTheStreamsContextWhereNoneIsCurrent) {
  driver->cuCtxSetCurrent(nullptr);
  void *parameters[] = {&buffer};
  auto stream = reinterpret_cast<CUstream>(uintptr_t(2));
  EXPECT_EQ(attn_cuda_launch(&kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters), 0) << attn_cuda_message();
  CUcontext current;
  driver->cuCtxGetCurrent(&current);
  EXPECT_EQ(current, nullptr);
}

TEST_F(CudaLaunch, usesTheDevicesPrimaryContextWhereNoneIsCurrent) {
  driver->cuCtxSetCurrent(nullptr);
  EXPECT_EQ(attn_cuda_use_device(0), 0) << attn_cuda_message();
  EXPECT_EQ(launch(), 0) << attn_cuda_message();
  CUcontext current, same;
  driver->cuCtxGetCurrent(&current);
  EXPECT_EQ(attn_cuda_use_device(1), 0) << attn_cuda_message(); // the current one stays
  driver->cuCtxGetCurrent(&same);
  EXPECT_EQ(current, same);
}

TEST_F(CudaLaunch, refusesADeviceThatIsNotThere) {
  driver->cuCtxSetCurrent(nullptr);
  expectRefusal(attn_cuda_use_device(7), ATTN_CUDA_NO_CONTEXT,
                "the primary context of the device cannot be made current");
}

TEST_F(CudaLaunch, refusesNoContext) {
  driver->cuCtxSetCurrent(nullptr);
  expectRefusal(launch(), ATTN_CUDA_NO_CONTEXT, "expected a current CUDA context on this thread, found none");
}

TEST_F(CudaLaunch, refusesNoDriver) {
  expectRefusal(attn_cuda_load_driver("/nowhere/libcuda.so"), ATTN_CUDA_NO_DRIVER, "no CUDA driver: cannot load");
}

TEST_F(CudaLaunch, refusesALibraryThatIsNoDriver) {
  expectRefusal(attn_cuda_load_driver("libc.so.6"), ATTN_CUDA_DRIVER_TOO_OLD, "expected cuInit in the CUDA driver");
}

TEST_F(CudaLaunch, refusesAnOldDriver) {
  emulator.driverVersion = 11040;
  expectRefusal(launch(), ATTN_CUDA_DRIVER_TOO_OLD, "expected a CUDA driver of version 11.8 or later, found 11.4");
}

TEST_F(CudaLaunch, refusesADeviceOfLowerCapability) {
  emulator.capability = 75;
  expectRefusal(launch(), ATTN_CUDA_WRONG_DEVICE, "expected a device of compute capability 8.0 or higher, found 7.5");
}

TEST_F(CudaLaunch, refusesADeviceOfAnotherCapability) {
  image.is_exact = 1;
  emulator.capability = 90;
  expectRefusal(launch(), ATTN_CUDA_WRONG_DEVICE,
                "expected a device of compute capability 8.0 and no other, found 9.0");
  emulator.capability = 80;
  EXPECT_EQ(launch(), 0);
}

TEST_F(CudaLaunch, refusesMoreSharedMemoryThanTheDeviceHas) {
  emulator.capability = 86;
  expectRefusal(launch(1, 32, 150 * 1024), ATTN_CUDA_WRONG_DEVICE,
                "'iota' needs 153600 bytes of shared memory, a block of this device has 101376");
}

TEST_F(CudaLaunch, refusesAnUnknownKernel) {
  kernel.name = "other";
  expectRefusal(launch(), ATTN_CUDA_LOAD_FAILED, "the module has no kernel 'other'");
}

TEST_F(CudaLaunch, refusesPTXWithTheDriversLog) {
  image.ptx = ".version 7.8\n.target sm_80\n.address_size 64\nnonsense";
  expectRefusal(launch(), ATTN_CUDA_LOAD_FAILED, "the driver refuses the module: ptx:4:");
}

TEST_F(CudaLaunch, refusesSizesThatNoDeviceHas) {
  expectRefusal(launch(int64_t(1) << 32), ATTN_CUDA_LAUNCH_FAILED, "expected a grid of at most");
  expectRefusal(launch(1, 2000), ATTN_CUDA_LAUNCH_FAILED, "expected blocks of 1 to 1024 threads, found 2000");
}

TEST_F(CudaLaunch, reportsALaunchThatFails) {
  unsigned long long other = buffer;
  buffer += 64; // the second half of its threads writes behind the buffer
  testing::internal::CaptureStderr();
  expectRefusal(launch(), ATTN_CUDA_LAUNCH_FAILED, "launch of 'iota' failed: CUDA error 719");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("out-of-bounds"), std::string::npos);
  buffer = other;
}

TEST_F(CudaLaunch, selectsTheLastTargetThatTheDeviceRuns) {
  const attn_cuda_target targets[] = {{"sm_80", 80, 0}, {"sm_90", 90, 0}, {"sm_90a", 90, 1}};
  auto select = [&](int capability) {
    emulator.capability = capability;
    return attn_cuda_select_target(targets, 3, nullptr);
  };
  EXPECT_EQ(select(80), 0);
  EXPECT_EQ(select(89), 0);
  EXPECT_EQ(select(90), 2);
  EXPECT_EQ(select(100), 1) << "code of sm_90a runs on no later device";
  EXPECT_EQ(select(120), 0) << "code of sm_90 may take more shared memory than 12.0 has";
  EXPECT_EQ(select(75), -ATTN_CUDA_WRONG_DEVICE);
  EXPECT_STREQ(attn_cuda_message(), "expected a device that runs code for one of sm_80, sm_90, sm_90a, found compute "
                                    "capability 7.5; compile with --target=sm_75, if that is a target");
}

TEST_F(CudaLaunch, checksTheWorkspace) {
  char *bytes = reinterpret_cast<char *>(uintptr_t(4096));
  EXPECT_EQ(attn_cuda_check_workspace(nullptr, 0, 0), 0);
  EXPECT_EQ(attn_cuda_check_workspace(bytes, 512, 512), 0);
  expectRefusal(attn_cuda_check_workspace(nullptr, 512, 512), ATTN_CUDA_WORKSPACE,
                "expected a workspace of 512 bytes, found a null pointer");
  expectRefusal(attn_cuda_check_workspace(bytes, 511, 512), ATTN_CUDA_WORKSPACE,
                "expected a workspace of 512 bytes, found 511");
  expectRefusal(attn_cuda_check_workspace(bytes + 16, 512, 512), ATTN_CUDA_WORKSPACE,
                "expected a workspace aligned to 256 bytes, found 16 more");
}

TEST_F(CudaLaunch, copiesItsMessage) {
  char text[8];
  kernel.name = "other";
  launch();
  attn_cuda_copy_message(text, sizeof(text));
  EXPECT_STREQ(text, "the mod");
  attn_cuda_copy_message(nullptr, 8);
}

} // namespace
