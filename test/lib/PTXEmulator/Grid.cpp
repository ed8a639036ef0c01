//===- Grid.cpp - the blocks of a launch, in turns ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "Block.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace llvm;
using namespace attn::ptx;

namespace {
/// Instructions until another warp's turn, so that a warp that spins on a flag lets others set it.
constexpr unsigned kSlice = 2000;
} // namespace

Grid::Grid(const Program &program, GlobalMemory &global, const Launch &launch, Report &report)
    : program(program), global(global), launch(launch), report(report), constants(program.constants),
      random(launch.turns) {
  if (launch.turns == 0)
    return;
  sequence.resize(launch.grid.count());
  std::iota(sequence.begin(), sequence.end(), 0);
  llvm::shuffle(sequence.begin(), sequence.end(), random);
}

Grid::~Grid() = default;

std::string Grid::describeStarted() const {
  return (Twine(started) + " of " + Twine(launch.grid.count()) + " blocks have started, of which " +
          Twine(blocks.size()) + " are alive, at most " + Twine(launch.resident) + " at once")
      .str();
}

void Grid::start() {
  blocks.push_back(std::make_unique<Block>(*this, sequence.empty() ? started : sequence[started]));
  ++started;
}

void Grid::run() {
  // Without strong accesses, no block of a kernel waits for another.
  const uint64_t resident = program.ordersBlocks ? launch.resident : 1;
  while (!stopped) {
    while (blocks.size() < resident && started < launch.grid.count())
      start();
    if (blocks.empty())
      return;
    if (runTurns())
      continue;
    for (const std::unique_ptr<Block> &block : blocks)
      block->reportDeadlock();
    return;
  }
}

/// One turn of each block. False if none can continue.
bool Grid::runTurns() {
  if (launch.turns != 0)
    llvm::shuffle(blocks.begin(), blocks.end(), random);
  bool isWaiting = true;
  for (std::unique_ptr<Block> &block : blocks) {
    const unsigned slice = launch.turns == 0 ? kSlice : 1 + random() % kSlice;
    const Block::Turn turn = block->run(slice);
    isWaiting &= turn == Block::Turn::Waits;
    if (stopped)
      return true;
    if (turn == Block::Turn::Done)
      block.reset();
  }
  llvm::erase_if(blocks, [](const std::unique_ptr<Block> &block) { return !block; });
  return !isWaiting;
}
