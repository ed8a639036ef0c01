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

/// As in llvm-mca: rounds that hide the filling of the pipeline, and the cycles assumed of a call.
static constexpr unsigned kRounds = 100, kCallCycles = 100;

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
  mca::CircularSourceMgr rounds(sequence, kRounds);
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
  return double(*cycles) / kRounds;
}
