//===- BulkCase.h - kernels with bulk copies --------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_PTXEMULATOR_BULKCASE_H
#define ATTN_TEST_UNIT_PTXEMULATOR_BULKCASE_H

#include "FaultCase.h"
#include "PTXEmulator/TensorMap.h"

#include <numeric>

namespace attn::ptx {

/// A body over 64 threads with the map's address in m, `in` and `out` in y and x, the thread in t, thread 0 in q, a
/// tile at r, an mbarrier for one arrival at b.
struct BulkCase {
  TensorMap map; ///< of `in`, the address apart
  std::vector<uint16_t> input = std::vector<uint16_t>(4096);
  std::vector<uint16_t> output = std::vector<uint16_t>(4096, 0xabcd);
  std::string module, fence = "fence.mbarrier_init.release.cluster;\n";

  explicit BulkCase(std::vector<uint64_t> sizes = {64, 64}, std::vector<uint32_t> box = {64, 8},
                    TensorSwizzle swizzle = TensorSwizzle::Bytes128) {
    std::iota(input.begin(), input.end(), uint16_t(1));
    map.rank = uint8_t(sizes.size());
    map.elementBytes = 2;
    map.swizzle = swizzle;
    uint64_t stride = 2;
    for (size_t i = 0; i < sizes.size(); ++i) {
      map.sizes[i] = sizes[i];
      map.box[i] = box[i];
      map.strides[i] = stride;
      stride *= sizes[i];
    }
  }

  Report run(const std::string &body) {
    GlobalMemory memory;
    const uint64_t in = memory.allocate("in", input), out = memory.allocate("out", output);
    module = makeModule("align 64 .b8 map[128], u64 out, u64 in",
                        ".reg .pred p, q; .reg .b32 b, r, s, t, u, v, w, k; .reg .b64 m, x, y, z; .reg .b32 c<8>;\n"
                        "mov.b64 m, map;\ncvta.param.u64 m, m;\nld.param.u64 x, [out];\nld.param.u64 y, [in];\n"
                        "mov.u32 t, %tid.x;\nmov.u32 r, tile;\nmov.u32 b, bar;\nsetp.eq.u32 q, t, 0;\n"
                        "@q mbarrier.init.shared::cta.b64 [b], 1;\n" +
                            fence + "bar.sync 0;\n" + body + "\nret;",
                        ".shared .align 1024 .b8 tile[8192];\n.shared .align 8 .b8 bar[8];");
    TensorMap encoded = map;
    encoded.address += in;
    const auto bytes = encodeTensorMap(encoded);
    Launch arguments{{1, 1, 1}, {64, 1, 1}};
    arguments.maxInstructions = 100000;
    arguments.parameters = {ParameterBytes(bytes.begin(), bytes.end()), pointer(out), pointer(in)};
    Report report = launch(module, memory, arguments);
    output = memory.read<uint16_t>(out);
    return report;
  }
  void expectNone(const std::string &body) {
    const Report report = run(body);
    EXPECT_TRUE(report.clean()) << module << report.text();
  }
  /// A race, at whichever of the two runs second.
  void expectRace(const std::string &body) {
    const Report report = run(body);
    EXPECT_TRUE(report.has(FindingKind::Race)) << module << report.text();
  }
  void expectOnly(FindingKind kind, const std::string &body, const std::string &faultyLine,
                  const std::string &message = "") {
    const Report report = run(body);
    const Finding *finding = report.find(kind);
    ASSERT_TRUE(finding) << module << report.text();
    EXPECT_EQ(finding->line, lineOf(module, faultyLine)) << module << report.text();
    EXPECT_NE(finding->message.find(message), std::string::npos) << report.text();
    EXPECT_EQ(report.findings.size(), 1u) << report.text();
  }
};

/// Thread 0 expects so many bytes, all wait, each copies its chunks of the tile to `out`.
inline std::string expectBytes(unsigned bytes) {
  return "@q mbarrier.arrive.expect_tx.shared::cta.b64 _, [b], " + std::to_string(bytes) + ";\n";
}
inline std::string waitFor(const std::string &parity = "0", const std::string &label = "W") {
  return label + ":\nmbarrier.try_wait.parity.shared::cta.b64 p, [b], " + parity + ";\n@!p bra " + label + ";\n";
}
inline std::string copyOut(unsigned bytes) {
  std::string text = "shl.b32 s, t, 4;\nmul.wide.u32 z, t, 16;\nadd.u64 z, x, z;\nadd.u32 s, s, r;\n";
  for (unsigned at = 0; at < bytes; at += 1024) {
    const std::string offset = "+" + std::to_string(at);
    text += "setp.lt.u32 p, t, " + std::to_string((bytes - at) / 16) + ";\n@p ld.shared.v4.u32 {u, v, w, k}, [s" +
            offset + "];\n@p st.global.v4.u32 [z" + offset + "], {u, v, w, k};\n";
  }
  return text;
}

} // namespace attn::ptx

#endif // ATTN_TEST_UNIT_PTXEMULATOR_BULKCASE_H
