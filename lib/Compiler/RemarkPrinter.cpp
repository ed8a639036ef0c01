//===- RemarkPrinter.cpp - remarks as lines of text -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RemarkPrinter.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace attn;

namespace {
class RemarkPrinter : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkPrinter(llvm::raw_ostream &os) : os(os) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    if (auto location = remark.getLocation()->findInstanceOf<FileLineColLoc>())
      os << location.getFilename().getValue() << ":" << location.getLine() << ":" << location.getColumn() << ": ";
    os << "remark: " << getKind(remark.getRemarkType()) << " " << remark.getRemarkName() << ": ";
    for (const remark::detail::Remark::Arg &argument : remark.getArgs())
      os << argument.val;
    os << " [" << remark.getFunction() << "]\n";
  }

private:
  static StringRef getKind(llvm::remarks::Type type) {
    switch (type) {
    case llvm::remarks::Type::Passed: return "passed";
    case llvm::remarks::Type::Missed: return "missed";
    default: return "analysis";
    }
  }

  llvm::raw_ostream &os;
};
} // namespace

LogicalResult attn::enableRemarks(MLIRContext &context, RemarkFilter filter, llvm::raw_ostream &os) {
  if (filter == RemarkFilter::None)
    return success();
  remark::RemarkCategories categories;
  const std::string category = "attn";
  switch (filter) {
  case RemarkFilter::None: break;
  case RemarkFilter::Passed: categories.passed = category; break;
  case RemarkFilter::Missed: categories.missed = category; break;
  case RemarkFilter::Analysis: categories.analysis = category; break;
  case RemarkFilter::All: categories.passed = categories.missed = categories.analysis = category; break;
  }
  return remark::enableOptimizationRemarks(context, std::make_unique<RemarkPrinter>(os),
                                           std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}
