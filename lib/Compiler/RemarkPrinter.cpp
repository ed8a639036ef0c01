//===- RemarkPrinter.cpp - remarks of a compilation -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RemarkPrinter.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace attn;

namespace {
class RemarkStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkStreamer(std::function<void(const RemarkRecord &)> onRemark) : onRemark(std::move(onRemark)) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    RemarkRecord record;
    if (auto location = remark.getLocation()->findInstanceOf<FileLineColLoc>()) {
      record.file = location.getFilename().str();
      record.line = location.getLine();
      record.column = location.getColumn();
    } else if (auto node = remark.getLocation()->findInstanceOf<NameLoc>()) {
      record.file = node.getName().str();
    }
    record.kind = getKind(remark.getRemarkType());
    record.code = remark.getRemarkName().str();
    for (const remark::detail::Remark::Arg &argument : remark.getArgs())
      record.text += argument.val;
    record.function = remark.getFunction().str();
    onRemark(record);
  }

private:
  static StringRef getKind(llvm::remarks::Type type) {
    switch (type) {
    case llvm::remarks::Type::Passed: return "passed";
    case llvm::remarks::Type::Missed: return "missed";
    default: return "analysis";
    }
  }

  std::function<void(const RemarkRecord &)> onRemark;
};
} // namespace

void attn::printRemark(llvm::raw_ostream &os, const RemarkRecord &remark) {
  if (remark.line != 0)
    os << remark.file << ":" << remark.line << ":" << remark.column << ": ";
  else if (!remark.file.empty())
    os << "'" << remark.file << "': ";
  os << "remark: " << remark.kind << " " << remark.code << ": " << remark.text << " [" << remark.function << "]\n";
}

LogicalResult attn::enableRemarks(MLIRContext &context, RemarkFilter filter,
                                  std::function<void(const RemarkRecord &)> onRemark) {
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
  return remark::enableOptimizationRemarks(context, std::make_unique<RemarkStreamer>(std::move(onRemark)),
                                           std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}
