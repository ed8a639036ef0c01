//===- ScheduleInterface.td - what all schedules say --------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_SCHEDULE_SCHEDULEINTERFACE_TD
#define ATTN_SCHEDULE_SCHEDULEINTERFACE_TD

include "mlir/IR/Interfaces.td"

def Attn_ScheduleAttr : AttrInterface<"ScheduleAttr"> {
  let cppNamespace = "::attn";
  let description = [{
    A schedule: the tile of a kernel and what multiplies it. One attribute for
    each kind of kernel implements it. `verifyFor` is the only place that says
    which schedule an op can have: the policy, `--schedule`, IR, `attn-tile` and
    the tuner call it.
  }];
  let methods = [
    InterfaceMethod<"Query rows of a tile, of each of its heads.", "int64_t", "getQueryTile">,
    InterfaceMethod<"Keys of a tile.", "int64_t", "getKeyTile">,
    InterfaceMethod<"Elements of a vector register, or threads of a warp.", "int64_t", "getLanes">,
    InterfaceMethod<"What multiplies.", "const ::attn::InstructionInfo &", "getInfo", (ins), [{}],
                    [{ return $_attr.getInstruction().getInfo(); }]>,
    InterfaceMethod<"An error where `op`, an sdpa or online_step, cannot have it: on the target, or on any where that is "
                    "null. The error says what to write.",
                    "::llvm::LogicalResult", "verifyFor", (ins "::mlir::Operation *":$op, "const ::attn::TargetInfo *":$target)>,
    InterfaceMethod<"The part of `verifyFor` that is about the target, also for a tile, whose operands are packed. Sums "
                    "are of type `sum`.",
                    "::llvm::LogicalResult", "verifyTarget",
                    (ins "::mlir::Operation *":$op, "::mlir::Type":$sum, "const ::attn::TargetInfo &":$target)>,
    InterfaceMethod<"True where the query heads that share a head of K are rows of one tile.", "bool", "sharesKeys", (ins),
                    [{}], [{ return false; }]>,
    InterfaceMethod<"Heads of K of a tile.", "int64_t", "getKvHeads", (ins), [{}], [{ return 1; }]>,
    InterfaceMethod<"Keys of a range that has a running state of its own; 0 for all.", "int64_t", "getSplitKeys", (ins), [{}],
                    [{ return 0; }]>
  ];
}

#endif // ATTN_SCHEDULE_SCHEDULEINTERFACE_TD
