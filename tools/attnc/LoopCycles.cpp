//===- LoopCycles.cpp - cycles of a loop by LLVM's model of a processor ---===//
//
// What llvm-mca computes: rounds of the loop through a pipeline with the processor's ports, latencies and queues; loads
// hit the L1 cache, and branches are predicted.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "HotLoops.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MCA/Context.h"
#include "llvm/MCA/InstrBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace attn;

/// Rounds that hide the filling of the pipeline: as many as llvm-mca has, or fewer of a long loop, which fills it
/// alone.
static constexpr size_t kMaxRounds = 100, kMinRounds = 10, kInstructions = 4000;
/// As in llvm-mca, of a call.
static constexpr unsigned kCallCycles = 100;

std::optional<double> driver::simulateLoop(const TargetMachine &machine, const MCInstrAnalysis &analysis,
                                           ArrayRef<MCInst> loop) {
  const MCSubtargetInfo &subtarget = *machine.getMCSubtargetInfo();
  const MCInstrInfo &info = *machine.getMCInstrInfo();
  // RISC-V's models need the length of each vector, which its instructions do not have.
  if (!subtarget.getSchedModel().hasInstrSchedModel() || machine.getTargetTriple().isRISCV())
    return std::nullopt;
  mca::InstrumentManager instruments(subtarget, info);
  mca::InstrBuilder builder(subtarget, info, *machine.getMCRegisterInfo(), &analysis, instruments, kCallCycles);
  std::vector<std::unique_ptr<mca::Instruction>> sequence;
  for (const MCInst &inst : loop) {
    Expected<std::unique_ptr<mca::Instruction>> lowered = builder.createInstruction(inst, {});
    if (!lowered) {
      consumeError(lowered.takeError());
      return std::nullopt;
    }
    sequence.push_back(std::move(*lowered));
  }
  unsigned count = std::clamp(kInstructions / std::max<size_t>(sequence.size(), 1), kMinRounds, kMaxRounds);
  mca::CircularSourceMgr rounds(sequence, count);
  mca::CustomBehaviour behaviour(subtarget, rounds, info);
  mca::Context context(*machine.getMCRegisterInfo(), subtarget);
  // Sizes of 0 are those of the model.
  std::unique_ptr<mca::Pipeline> pipeline =
      context.createDefaultPipeline({0, 0, 0, 0, 0, 0, /*NoAlias=*/true}, rounds, behaviour);
  Expected<unsigned> cycles = pipeline->run();
  if (!cycles) {
    consumeError(cycles.takeError());
    return std::nullopt;
  }
  return double(*cycles) / count;
}
