//===- FaultCase.h - a kernel with a planted fault --------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_PTXEMULATOR_FAULTCASE_H
#define ATTN_TEST_UNIT_PTXEMULATOR_FAULTCASE_H

#include "RunPTX.h"

namespace attn::ptx {

inline constexpr FindingKind kAll[] = {FindingKind::UnknownInstruction,
                                       FindingKind::InvalidOperand,
                                       FindingKind::OutOfBounds,
                                       FindingKind::Misaligned,
                                       FindingKind::UninitialisedRead,
                                       FindingKind::WriteToReadOnly,
                                       FindingKind::Race,
                                       FindingKind::UnorderedAdd,
                                       FindingKind::AsyncBeforeWait,
                                       FindingKind::BarrierMismatch,
                                       FindingKind::Deadlock,
                                       FindingKind::DivergentAligned,
                                       FindingKind::UndefinedShuffle,
                                       FindingKind::UndefinedRegister,
                                       FindingKind::InvalidValue,
                                       FindingKind::Mbarrier,
                                       FindingKind::ProxyFence,
                                       FindingKind::WgmmaPending,
                                       FindingKind::WgmmaFence,
                                       FindingKind::Trap,
                                       FindingKind::InstructionLimit};

/// A body over 64 threads with `out` (64 words) and `in` (64 words) in x and y, the thread in t.
struct Case {
  std::string globals = ".shared .align 16 .b8 buffer[1024];";
  uint32_t threads = 64;
  uint64_t maxInstructions = 100000;
  std::string module;

  Report run(const std::string &body) {
    module = makeModule("u64 out, u64 in",
                        ".reg .pred p, q; .reg .b32 r, s, t, u; .reg .b64 x, y, z; .reg .f32 f; .reg .b16 h;\n"
                        "ld.param.u64 x, [out];\nld.param.u64 y, [in];\nmov.u32 t, %tid.x;\n" +
                            body + "\nret;",
                        globals);
    GlobalMemory memory;
    Launch arguments{{1, 1, 1}, {threads, 1, 1}};
    arguments.maxInstructions = maxInstructions;
    std::vector<uint32_t> input(64);
    for (uint32_t i = 0; i < 64; ++i)
      input[i] = i;
    arguments.parameters = {pointer(memory.allocate("out", 256)), pointer(memory.allocate("in", input))};
    return launch(module, memory, arguments);
  }

  void expectOnly(FindingKind kind, const std::string &body, const std::string &faultyLine,
                  const std::string &message = "") {
    const Report report = run(body);
    const Finding *finding = report.find(kind);
    ASSERT_TRUE(finding) << module << report.text();
    EXPECT_EQ(finding->line, lineOf(module, faultyLine)) << module << report.text();
    EXPECT_NE(finding->message.find(message), std::string::npos) << report.text();
    for (FindingKind other : kAll) {
      if (other != kind) {
        EXPECT_FALSE(report.has(other)) << report.text();
      }
    }
  }
  /// A race between these two lines, found at whichever runs second. Whoever reads first also reads what is not there.
  void expectRace(const std::string &body, const std::string &one, const std::string &other) {
    const Report report = run(body);
    bool isFound = false;
    for (const Finding &finding : report.findings) {
      EXPECT_TRUE(finding.kind == FindingKind::Race || finding.kind == FindingKind::UninitialisedRead) << report.text();
      auto names = [&](const std::string &here, const std::string &there) {
        return finding.line == lineOf(module, here) &&
               finding.message.find("at line " + std::to_string(lineOf(module, there)) + ";") != std::string::npos;
      };
      isFound |= finding.kind == FindingKind::Race && (names(one, other) || names(other, one));
    }
    EXPECT_TRUE(isFound) << module << report.text();
  }
  void expectNone(const std::string &body) {
    const Report report = run(body);
    EXPECT_TRUE(report.clean()) << module << report.text();
  }
};

} // namespace attn::ptx

#endif // ATTN_TEST_UNIT_PTXEMULATOR_FAULTCASE_H
