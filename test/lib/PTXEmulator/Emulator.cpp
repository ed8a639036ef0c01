//===- Emulator.cpp - one launch ------------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "Grid.h"

#include <chrono>

using namespace llvm;
using namespace attn::ptx;

namespace {
constexpr uint64_t kMostThreads = 1024;
constexpr uint64_t kMostLocal = 512 * 1024;
constexpr uint64_t kMostBlocks = uint64_t(1) << 31;

Error checkLaunch(const Function &function, const Launch &launch) {
  const uint64_t threads = launch.block.count(), blocks = launch.grid.count();
  if (threads < 1 || threads > kMostThreads)
    return createStringError("expected a block of 1 to 1024 threads, found " + Twine(threads));
  if (launch.resident < 1)
    return createStringError("expected at least one block that is alive, found 0");
  if (blocks < 1 || blocks > kMostBlocks)
    return createStringError("expected a grid of 1 to 2^31 blocks, found " + Twine(blocks));
  const uint32_t size[] = {launch.block.x, launch.block.y, launch.block.z};
  uint64_t largest = 1;
  for (uint32_t bound : function.largestBlock)
    largest *= bound;
  if (!function.largestBlock.empty() && threads > largest)
    return createStringError("expected at most the " + Twine(largest) + " threads of .maxntid, found " +
                             Twine(threads));
  for (size_t i = 0; i < std::min<size_t>(function.requiredBlock.size(), 3); ++i)
    if (size[i] != function.requiredBlock[i])
      return createStringError("expected the block of .reqntid, " + Twine(function.requiredBlock[i]) +
                               " in dimension " + Twine(i) + ", found " + Twine(size[i]));
  if (launch.parameters.size() != function.parameters.size())
    return createStringError("expected " + Twine(function.parameters.size()) + " parameters of '" + function.name +
                             "', found " + Twine(launch.parameters.size()));
  for (size_t i = 0; i < function.parameters.size(); ++i)
    if (launch.parameters[i].size() != function.parameters[i].size)
      return createStringError("expected " + Twine(function.parameters[i].size) + " bytes for parameter " + Twine(i) +
                               " (." + getTypeName(function.parameters[i].type) + "), found " +
                               Twine(launch.parameters[i].size()));
  return Error::success();
}
} // namespace

Expected<Report> attn::ptx::run(const Module &module, StringRef entry, GlobalMemory &memory, const Launch &launch) {
  const Function *function = module.findEntry(entry);
  if (!function) {
    std::string names;
    for (const Function &candidate : module.functions)
      names += (names.empty() ? "" : ", ") + candidate.name;
    return createStringError("expected an entry of the module (" + (names.empty() ? "it has none" : names) +
                             "), found '" + entry + "'");
  }
  if (Error error = checkLaunch(*function, launch))
    return error;
  Report report;
  report.grid = launch.grid;
  report.block = launch.block;
  auto decoded = decodeKernel(module, *function, report);
  if (!decoded)
    return report;
  report.program = std::make_shared<Program>(std::move(*decoded));
  const Program &program = *report.program;
  report.sharedBytes = program.staticShared + launch.dynamicShared;
  if (report.sharedBytes > launch.largestShared)
    return createStringError("expected at most " + Twine(launch.largestShared) + " bytes of shared memory, found " +
                             Twine(report.sharedBytes));
  if (program.localBytes > kMostLocal)
    return createStringError("expected at most " + Twine(kMostLocal) + " bytes of local memory a thread, found " +
                             Twine(program.localBytes));
  report.counters.resize(program.instructions.size());

  const auto start = std::chrono::steady_clock::now();
  memory.startLaunch();
  Grid(program, memory, launch, report).run();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}
