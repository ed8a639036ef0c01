//===- ScoreFunctionInterface.td - scalar functions of scores ---*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_SCOREFUNCTIONINTERFACE_TD
#define ATTN_IR_SCOREFUNCTIONINTERFACE_TD

include "mlir/IR/Interfaces.td"

def Attn_ScoreFunction : OpInterface<"ScoreFunction"> {
  let cppNamespace = "::attn";
  let description = [{
    A function of one score, in `score_mod`: one operand and one result, which is finite where the operand is. The
    reference, gradients and every target use its formula; a target may have a faster form of its own.
  }];
  let methods = [
    InterfaceMethod<"The function of `x`, a float or a vector of them, in arith and math.", "::mlir::Value",
                    "buildFormula", (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$x)>,
    InterfaceMethod<"Its derivative at `x`, a float.", "::mlir::Value", "buildSlope",
                    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$x)>
  ];
}

#endif // ATTN_IR_SCOREFUNCTIONINTERFACE_TD
