//===- RunPTX.cpp - runs snippets of PTX in tests -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunPTX.h"

#include "llvm/Support/Error.h"

#include <fstream>
#include <sstream>

using namespace attn::ptx;

std::string attn::ptx::makeModule(const std::string &parameters, const std::string &body, const std::string &globals) {
  std::string list;
  for (size_t start = 0; start < parameters.size();) {
    size_t end = parameters.find(", ", start);
    if (end == std::string::npos)
      end = parameters.size();
    list += (list.empty() ? "" : ", ") + (".param ." + parameters.substr(start, end - start));
    start = end + 2;
  }
  return ".version 8.1\n.target sm_90\n.address_size 64\n" + globals + "\n.visible .entry kernel(" + list + ")\n{\n" +
         body + "\n}\n";
}

Report attn::ptx::launch(const std::string &text, GlobalMemory &memory, Launch launch, const std::string &entry) {
  auto module = parseModule(text);
  if (!module) {
    ADD_FAILURE() << llvm::toString(module.takeError()) << "\n" << text;
    return {};
  }
  // The report points into the module; tests read it at once, but the names of loops and opcodes are its own.
  static std::vector<std::unique_ptr<Module>> kept;
  kept.push_back(std::make_unique<Module>(std::move(*module)));
  auto report = run(*kept.back(), entry, memory, launch);
  if (!report) {
    ADD_FAILURE() << llvm::toString(report.takeError());
    return {};
  }
  return std::move(*report);
}

std::vector<uint64_t> attn::ptx::evaluateBits(const std::string &body,
                                              const std::vector<std::vector<uint64_t>> &sources,
                                              const std::vector<unsigned> &sourceBytes, unsigned resultBytes) {
  const char *names[] = {"a", "b", "c"};
  std::string text = ".reg .pred p, q; .reg .b32 r, s, t, lane; .reg .b64 x, y, address; .reg .b16 h, l;\n"
                     "mov.u32 lane, %laneid;\n";
  std::string parameters;
  GlobalMemory memory;
  Launch arguments{{1, 1, 1}, {32, 1, 1}};
  size_t count = 1;
  auto bitsOf = [](unsigned bytes) { return std::to_string(8 * bytes); };
  auto addressOf = [&](const std::string &name, unsigned bytes) {
    return "ld.param.u64 address, [" + name + "_p];\nmad.wide.u32 address, lane, " + std::to_string(bytes) +
           ", address;\n";
  };
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string name = names[i], bits = bitsOf(sourceBytes[i]);
    count = std::max(count, sources[i].size());
    std::vector<uint8_t> data(32 * sourceBytes[i]);
    for (size_t lane = 0; lane < sources[i].size(); ++lane)
      std::memcpy(&data[lane * sourceBytes[i]], &sources[i][lane], sourceBytes[i]);
    arguments.parameters.push_back(pointer(memory.allocate(name, data)));
    parameters += "b64 " + name + "_p, ";
    text += ".reg .b" + bits + " " + name + ";\n" + addressOf(name, sourceBytes[i]) + "ld.global.b" + bits + " " +
            name + ", [address];\n";
  }
  const std::string bits = bitsOf(resultBytes);
  const uint64_t out = memory.allocate("d", std::vector<uint8_t>(32 * resultBytes));
  arguments.parameters.push_back(pointer(out));
  parameters += "b64 d_p";
  text += ".reg .b" + bits + " d;\n" + body + "\n" + addressOf("d", resultBytes) + "st.global.b" + bits +
          " [address], d;\nret;";
  const Report report = launch(makeModule(parameters, text), memory, arguments);
  EXPECT_TRUE(report.clean()) << body << "\n" << report.text();
  std::vector<uint64_t> result(count);
  for (size_t lane = 0; lane < count; ++lane)
    std::memcpy(&result[lane], &memory.at(out).data[lane * resultBytes], resultBytes);
  return result;
}

int attn::ptx::lineOf(const std::string &module, const std::string &text) {
  const size_t at = module.find(text);
  if (at == std::string::npos)
    return -1;
  return 1 + int(std::count(module.begin(), module.begin() + at, '\n'));
}

std::string attn::ptx::readInput(const std::string &name) {
  std::ifstream file(std::string(PTX_INPUTS) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

void attn::ptx::expectClean(const Report &report) { EXPECT_TRUE(report.clean()) << report.text(); }
