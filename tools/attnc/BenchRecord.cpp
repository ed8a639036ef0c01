//===- BenchRecord.cpp - figures of attnc bench as text and as JSON --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include "attn/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

std::string driver::printThreads(int threads) {
  return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

void driver::printRecord(raw_ostream &os, const BenchRecord &record, int threads) {
  const char *milliseconds = record.isOnDevice ? "%.4f" : "%.3f";
  os << record.title << ": best " << format(milliseconds, record.best * 1e3) << " ms, median "
     << format(milliseconds, record.median * 1e3) << " ms, ";
  if (!record.noRate.empty())
    os << "no rate, as " << record.noRate;
  else if (record.isOnDevice)
    os << format("%.1f", record.getGflops() * 1e-3) << " TFLOP/s, " << format("%.1f", record.getGigabytes()) << " GB/s";
  else
    os << format("%.1f", record.getRate()) << record.getUnit() << ", ceiling " << format("%.1f", record.getCeiling())
       << record.getUnit() << " (" << record.getCeilingName() << ", " << printThreads(threads) << "), "
       << format("%.1f", 100 * record.getRate() / record.getCeiling()) << " %";
  if (record.unfused)
    os << ", unfused chain " << format("%.3f", *record.unfused * 1e3) << " ms ("
       << format("%.1f", *record.unfused / record.best) << " x)";
  os << record.busy << "\n";
}

/// The system's name of the processor, or LLVM's.
static std::string getMachine() {
  auto buffer = MemoryBuffer::getFileAsStream("/proc/cpuinfo");
  StringRef text = buffer ? (*buffer)->getBuffer() : "";
  for (StringRef line : split(text, '\n'))
    if (line.starts_with("model name"))
      return line.split(':').second.trim().str();
  return sys::getHostCPUName().str();
}

void driver::writeRecords(raw_ostream &os, ArrayRef<BenchRecord> records, const BenchCommand &command) {
  std::string machine = getMachine();
  json::OStream out(os, /*IndentSize=*/1);
  auto writeRecord = [&](const BenchRecord &record) {
    out.attribute(command.source ? "kernel" : "problem", record.title);
    out.attribute("best_ms", record.best * 1e3);
    out.attribute("median_ms", record.median * 1e3);
    if (record.noRate.empty()) {
      out.attribute("gflop_per_s", record.getGflops());
      out.attribute("gb_per_s", record.getGigabytes());
    }
    if (record.noRate.empty() && !record.isOnDevice) {
      out.attribute("ceiling", record.getCeiling());
      out.attribute("ceiling_unit", record.getUnit().trim());
      out.attribute("ceiling_of", record.getCeilingName());
      out.attribute("share", record.getRate() / record.getCeiling());
    }
    if (command.roofline == Roofline::Measured && record.noRate.empty()) {
      out.attribute("multiply_add_ceiling", record.maxGflops);
      out.attribute("read_ceiling", record.maxGigabytes);
      out.attribute("intensity", record.cost.getIntensity());
    }
    if (record.unfused)
      out.attribute("unfused_ms", *record.unfused * 1e3);
    out.attribute("busy", !record.busy.empty());
    out.attribute("target", command.options.target);
    out.attribute("threads", command.threads);
    out.attribute("machine", machine);
    out.attribute("processor", sys::getHostCPUName());
    out.attribute("attn", kVersion);
  };
  out.array([&] {
    for (const BenchRecord &record : records)
      out.object([&] { writeRecord(record); });
  });
  os << "\n";
}
