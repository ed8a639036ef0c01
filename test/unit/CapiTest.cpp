//===- CapiTest.cpp - libattn.so as a program sees it -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CapiExample.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

using namespace attn::test;

namespace {

constexpr const char *kTwoKernels = R"(
func.func @first(%q: tensor<1x4xf64>, %k: tensor<3x4xf64>, %v: tensor<3x2xf64>) -> tensor<1x2xf64> {
  %o = tensor.empty() : tensor<1x2xf64>
  %r = attn.sdpa ins(%q, %k, %v : tensor<1x4xf64>, tensor<3x4xf64>, tensor<3x2xf64>) outs(%o : tensor<1x2xf64>)
      -> tensor<1x2xf64>
  return %r : tensor<1x2xf64>
}
func.func @second(%q: tensor<1x4xf64>, %k: tensor<3x4xf64>, %v: tensor<3x2xf64>) -> tensor<1x2xf64> {
  %o = tensor.empty() : tensor<1x2xf64>
  %r = attn.sdpa ins(%q, %k, %v : tensor<1x4xf64>, tensor<3x4xf64>, tensor<3x2xf64>) outs(%o : tensor<1x2xf64>)
      {causal = #attn.causal<top_left>} -> tensor<1x2xf64>
  return %r : tensor<1x2xf64>
}
)";

//===----------------------------------------------------------------------===//
// Compile and call
//===----------------------------------------------------------------------===//

TEST(Capi, WorkedExample) {
  for (const char *target : {"host", kLowest})
    for (const char *parallel : {"openmp", "none"})
      for (int reference : {0, 1}) {
        Module module = compile(OneQuery::problem, nullptr, {target, parallel, reference, 0});
        ASSERT_TRUE(module);
        OneQuery example;
        example.call(module.get());
        example.checkResult();
      }
}

TEST(Capi, KernelsByName) {
  Module module = compile(kTwoKernels, nullptr, ATTN_DEFAULT_OPTIONS, ATTN_SOURCE_MLIR);
  ASSERT_TRUE(module);
  Tensor q({1, 4}, {.1, .2, .3, .4}), k({3, 4}, {0, .1, 0, .1, .2, .1, 0, 0, .1, 0, .3, .1});
  Tensor v({3, 2}, {1, 0, 0, 1, 1, 1}), out({1, 2});
  const DLTensor *arguments[] = {&q.view, &k.view, &v.view, &out.view};
  // Null is the first kernel.
  for (const char *name : {static_cast<const char *>(nullptr), "first"}) {
    out.data = {Tensor::kUntouched, Tensor::kUntouched};
    ASSERT_EQ(attn_module_call(module.get(), name, arguments, 4, nullptr, 0), ATTN_OK);
    EXPECT_NEAR(out.data[0], 0.673344, 5e-7);
    EXPECT_NEAR(out.data[1], 0.670061, 5e-7);
  }
  // The causal row sees the first key alone.
  ASSERT_EQ(attn_module_call(module.get(), "second", arguments, 4, nullptr, 0), ATTN_OK);
  EXPECT_NEAR(out.data[0], 1, 1e-12);
  EXPECT_NEAR(out.data[1], 0, 1e-12);
  // The message is whole, or cut and terminated.
  std::string message(64, '#');
  EXPECT_EQ(attn_module_call(module.get(), "third", arguments, 4, message.data(), 64), ATTN_NO_SUCH_KERNEL);
  EXPECT_STREQ(message.c_str(), "no kernel named 'third' in this module");
  EXPECT_EQ(attn_module_call(module.get(), "third", arguments, 4, message.data(), 10), ATTN_NO_SUCH_KERNEL);
  EXPECT_STREQ(message.c_str(), "no kernel");
  EXPECT_EQ(attn_module_call(module.get(), "third", arguments, 4, message.data(), 0), ATTN_NO_SUCH_KERNEL);
}

TEST(Capi, ManifestDescribesTheKernels) {
  Module module = compile("b2 hq8 hkv2 sq5 sk7 d16 dv8 f32 causal=bottom_right softcap=30 mask=2,1,5,7 out=lse",
                          nullptr, {"x86-64-v3", "none", 0, 0});
  ASSERT_TRUE(module);
  llvm::Expected<llvm::json::Value> manifest = llvm::json::parse(attn_module_manifest(module.get()));
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  const llvm::json::Object &root = *manifest->getAsObject();
  EXPECT_EQ(root.getString("attn"), attn_version());
  EXPECT_EQ(root.getString("parallel"), "none");
  EXPECT_EQ(root.getObject("target")->getString("name"), "x86-64-v3");
  EXPECT_EQ(root.getObject("target")->getInteger("vector_bits"), 256);
  ASSERT_EQ(root.getArray("kernels")->size(), 1u);
  const llvm::json::Object &kernel = *(*root.getArray("kernels"))[0].getAsObject();
  EXPECT_EQ(kernel.getString("name"), "sdpa");
  EXPECT_EQ(kernel.getString("entry"), "sdpa");
  EXPECT_EQ(kernel.getString("checked_entry"), "sdpa_checked");
  EXPECT_EQ(kernel.getString("path"), "flash");
  const llvm::json::Object &conventions = *kernel.getObject("conventions");
  EXPECT_EQ(conventions.getNumber("scale"), 0.25);
  EXPECT_EQ(conventions.getNumber("softcap"), 30);
  EXPECT_EQ(conventions.getString("causal"), "bottom_right");

  struct Argument {
    const char *name, *role, *dtype;
    std::vector<int64_t> shape, strides;
    int64_t alignment;
  };
  const Argument expected[] = {
      {"q", "input", "float32", {2, 8, 5, 16}, {640, 80, 16, 1}, 4},
      {"k", "input", "float32", {2, 2, 7, 16}, {224, 112, 16, 1}, 4},
      {"v", "input", "float32", {2, 2, 7, 8}, {112, 56, 8, 1}, 4},
      {"mask", "input", "bool", {2, 1, 5, 7}, {35, 35, 7, 1}, 1},
      {"out", "output", "float32", {2, 8, 5, 8}, {320, 40, 8, 1}, 4},
      {"lse", "output", "float32", {2, 8, 5}, {40, 5, 1}, 4},
  };
  auto getNumbers = [](const llvm::json::Array &array) {
    std::vector<int64_t> numbers;
    for (const llvm::json::Value &value : array)
      numbers.push_back(*value.getAsInteger());
    return numbers;
  };
  const llvm::json::Array &arguments = *kernel.getArray("arguments");
  ASSERT_EQ(arguments.size(), std::size(expected));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const llvm::json::Object &argument = *arguments[i].getAsObject();
    EXPECT_EQ(argument.getString("name"), expected[i].name);
    EXPECT_EQ(argument.getString("role"), expected[i].role);
    EXPECT_EQ(argument.getString("dtype"), expected[i].dtype);
    EXPECT_EQ(getNumbers(*argument.getArray("shape")), expected[i].shape) << expected[i].name;
    EXPECT_EQ(getNumbers(*argument.getArray("strides")), expected[i].strides) << expected[i].name;
    EXPECT_EQ(argument.getInteger("alignment"), expected[i].alignment);
  }
}

TEST(Capi, Version) {
  EXPECT_STREQ(attn_version(), "0.1.0");
  // Each name listed is one that compiles.
  std::string targets = attn_targets();
  EXPECT_EQ(targets.substr(0, 5), "host ");
  EXPECT_NE(targets.find(" x86-64-v3"), std::string::npos);
}

TEST(Capi, Threads) {
  int before = attn_get_num_threads();
  attn_set_num_threads(3);
  EXPECT_EQ(attn_get_num_threads(), 3);
  attn_set_num_threads(0);
  EXPECT_EQ(attn_get_num_threads(), before);
}

// A NaN of any payload is seen in every row that keeps its key, and in no other; the key's place in its block, and how
// many keys come after it, do not matter.
TEST(Capi, NaNOfAKeyReachesTheRowsThatKeepIt) {
  constexpr int64_t queries = 5, keys = 37;
  double allOnes;
  std::memset(&allOnes, 0xff, sizeof(allOnes));
  for (bool causal : {false, true}) {
    Module module = compile(causal ? "sq5 sk37 d4 f64 causal=bottom_right out=lse" : "sq5 sk37 d4 f64 out=lse");
    ASSERT_TRUE(module);
    for (double nan : {std::nan(""), allOnes})
      for (int64_t bad = 0; bad < keys; ++bad) {
        Tensor q({1, 1, queries, 4}, std::vector<double>(queries * 4, .5));
        Tensor k({1, 1, keys, 4}, std::vector<double>(keys * 4, .25)), v({1, 1, keys, 4}, k.data);
        Tensor out({1, 1, queries, 4}), lse({1, 1, queries});
        k.data[bad * 4 + bad % 4] = nan;
        const DLTensor *arguments[] = {&q.view, &k.view, &v.view, &out.view, &lse.view};
        ASSERT_EQ(attn_module_call(module.get(), nullptr, arguments, 5, nullptr, 0), ATTN_OK);
        for (int64_t row = 0; row < queries; ++row) {
          bool isKept = !causal || bad <= row + keys - queries;
          EXPECT_EQ(std::isnan(lse.data[row]), isKept) << "lse of row " << row << ", NaN in key " << bad;
          for (int64_t e = 0; e < 4; ++e)
            EXPECT_EQ(std::isnan(out.data[row * 4 + e]), isKept) << "row " << row << ", NaN in key " << bad;
        }
      }
  }
}

//===----------------------------------------------------------------------===//
// Refusals of the compiler
//===----------------------------------------------------------------------===//

TEST(Capi, CompileErrorsCarryDiagnostics) {
  struct Case {
    const char *text;
    attn_source_kind kind;
    attn_compile_options options;
    const char *part;
  };
  const Case cases[] = {
      {"sq4 d4 colour=red", ATTN_SOURCE_PROBLEM, ATTN_DEFAULT_OPTIONS, "colour=red"},
      {"", ATTN_SOURCE_PROBLEM, ATTN_DEFAULT_OPTIONS, "sq"},
      {"module {", ATTN_SOURCE_MLIR, ATTN_DEFAULT_OPTIONS, "input.mlir:1:"},
      {"module {}", ATTN_SOURCE_MLIR, ATTN_DEFAULT_OPTIONS, "expected at least one public func.func"},
      {"\xff\xfe", ATTN_SOURCE_MLIR, ATTN_DEFAULT_OPTIONS, "error"},
      {OneQuery::problem, ATTN_SOURCE_PROBLEM, {"z80", nullptr, 0, 0}, "unknown target 'z80'"},
      {OneQuery::problem,
       ATTN_SOURCE_PROBLEM,
       {nullptr, "mpi", 0, 0},
       "expected parallel to be openmp or none, found mpi"},
  };
  for (const Case &each : cases) {
    std::string message;
    EXPECT_FALSE(compile(each.text, &message, each.options, each.kind)) << each.text;
    EXPECT_NE(message.find(each.part), std::string::npos) << message;
  }
}

TEST(Capi, CompileTakesNullOptionsAndMessage) {
  attn_module *module = nullptr;
  EXPECT_EQ(attn_compile(ATTN_SOURCE_PROBLEM, OneQuery::problem, nullptr, &module, nullptr), ATTN_OK);
  ASSERT_TRUE(module);
  OneQuery example;
  example.call(module);
  example.checkResult();
  attn_module_destroy(module);
  EXPECT_EQ(attn_compile(ATTN_SOURCE_PROBLEM, "nonsense", nullptr, &module, nullptr), ATTN_COMPILE_ERROR);
  EXPECT_EQ(module, nullptr) << "a refusal leaves no stale module";
}

TEST(Capi, SourceOfBytes) {
  // What lies behind the size is not read.
  std::string line = std::string(OneQuery::problem) + "nonsense";
  attn_module *module = nullptr;
  EXPECT_EQ(
      attn_compile_bytes(ATTN_SOURCE_PROBLEM, line.data(), std::strlen(OneQuery::problem), nullptr, &module, nullptr),
      ATTN_OK);
  ASSERT_TRUE(module);
  OneQuery example;
  example.call(module);
  example.checkResult();
  attn_module_destroy(module);
  // A zero is a byte of a model: here a graph of one field, cut short.
  const char model[] = {0x3a, 0x02, 0x00, 0x00};
  char *message = nullptr;
  EXPECT_EQ(attn_compile_bytes(ATTN_SOURCE_ONNX, model, 3, nullptr, &module, &message), ATTN_COMPILE_ERROR);
  EXPECT_EQ(module, nullptr);
  EXPECT_STREQ(message, "model.onnx: byte 0: expected 2 bytes of field 7 in the model, found 1; the file is cut short "
                        "or no ONNX model");
  attn_free_string(message);
}

TEST(Capi, NullArguments) {
  attn_module *module = nullptr;
  char *message = nullptr;
  EXPECT_EQ(attn_compile(ATTN_SOURCE_PROBLEM, nullptr, nullptr, &module, &message), ATTN_NULL_ARGUMENT);
  EXPECT_NE(message, nullptr);
  attn_free_string(message);
  message = nullptr;
  EXPECT_EQ(attn_compile(ATTN_SOURCE_PROBLEM, OneQuery::problem, nullptr, nullptr, &message), ATTN_NULL_ARGUMENT);
  EXPECT_NE(message, nullptr);
  attn_free_string(message);
  EXPECT_EQ(attn_compile(ATTN_SOURCE_PROBLEM, nullptr, nullptr, nullptr, nullptr), ATTN_NULL_ARGUMENT);

  attn_module_destroy(nullptr);
  attn_free_string(nullptr);
  EXPECT_EQ(attn_module_manifest(nullptr), nullptr);
  OneQuery example;
  std::string text;
  EXPECT_EQ(example.call(nullptr, &text), ATTN_NULL_ARGUMENT);
  EXPECT_EQ(text, "expected a module, found null");
}

//===----------------------------------------------------------------------===//
// Several threads
//===----------------------------------------------------------------------===//

template <typename Function> void runThreads(int count, Function function) {
  std::vector<std::thread> threads;
  std::atomic<int> waiting = count;
  for (int number = 0; number < count; ++number)
    threads.emplace_back([&, number] {
      // All at once.
      for (--waiting; waiting > 0;)
        std::this_thread::yield();
      function(number);
    });
  for (std::thread &thread : threads)
    thread.join();
}

// Several tiles a call, so that parallel loops of several callers run at once; every result is the first one's.
TEST(CapiThreads, ConcurrentCalls) {
  Module module = compile("hq3 sq70 sk37 d8 f64 causal=top_left");
  ASSERT_TRUE(module);
  auto call = [&](int seed) {
    std::vector<double> q(3 * 70 * 8), kv(3 * 37 * 8);
    for (size_t i = 0; i < q.size(); ++i)
      q[i] = std::sin(seed + 0.1 * i);
    for (size_t i = 0; i < kv.size(); ++i)
      kv[i] = std::cos(seed + 0.3 * i);
    Tensor query({1, 3, 70, 8}, q), key({1, 3, 37, 8}, kv), value({1, 3, 37, 8}, kv), out({1, 3, 70, 8});
    const DLTensor *arguments[] = {&query.view, &key.view, &value.view, &out.view};
    EXPECT_EQ(attn_module_call(module.get(), nullptr, arguments, 4, nullptr, 0), ATTN_OK);
    return out.data;
  };
  std::vector<std::vector<double>> expected;
  for (int seed = 0; seed < 4; ++seed)
    expected.push_back(call(seed));
  EXPECT_NE(expected[0], expected[1]);
  runThreads(4, [&](int seed) {
    for (int repeat = 0; repeat < 50; ++repeat)
      EXPECT_EQ(call(seed), expected[seed]);
  });
}

// Cancelled before it begins, in the middle, or after its end; null is never.
TEST(CapiThreads, Cancel) {
  std::string text = OneQuery::problem, line = "sq64 sk64 d64 f32\nscore_mod {\n^bb0(%x0: f32):\n";
  for (int i = 0; i < 100; ++i)
    line += "  %x" + std::to_string(i + 1) + " = math.tanh %x" + std::to_string(i) + " : f32\n";
  line += "  attn.yield %x100 : f32\n}";
  auto compile = [](const std::string &source, const int32_t *cancel, std::string &message) {
    attn_module *module = nullptr;
    char *diagnostics = nullptr;
    attn_status status = attn_compile_cancellable(ATTN_SOURCE_PROBLEM, source.data(), source.size(), nullptr, cancel,
                                                  &module, &diagnostics);
    message = diagnostics ? diagnostics : "";
    attn_free_string(diagnostics);
    EXPECT_EQ(module != nullptr, status == ATTN_OK);
    return std::pair(status, Module(module, attn_module_destroy));
  };
  std::string message;
  int32_t cancel = 1;
  EXPECT_EQ(compile(text, &cancel, message).first, ATTN_CANCELLED);
  EXPECT_EQ(message, "the compilation was cancelled");
  cancel = 0;
  for (const int32_t *never : {static_cast<const int32_t *>(nullptr), static_cast<const int32_t *>(&cancel)}) {
    auto [status, module] = compile(text, never, message);
    ASSERT_EQ(status, ATTN_OK) << message;
    OneQuery example;
    example.call(module.get());
    example.checkResult();
  }
  for (int milliseconds : {20, 100, 300}) {
    __atomic_store_n(&cancel, 0, __ATOMIC_RELAXED);
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
    });
    EXPECT_EQ(compile(line, &cancel, message).first, ATTN_CANCELLED);
    EXPECT_EQ(message, "the compilation was cancelled");
    other.join();
  }
}

// Compilations that succeed beside some that do not: each gets its own diagnostics.
TEST(CapiThreads, ConcurrentCompiles) {
  runThreads(4, [](int number) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      if (number % 2) {
        std::string message, name = "colour" + std::to_string(number);
        EXPECT_FALSE(compile(("sq4 d4 " + name + "=red").c_str(), &message));
        EXPECT_NE(message.find(name), std::string::npos) << message;
      }
      Module module = compile(OneQuery::problem);
      ASSERT_TRUE(module);
      OneQuery example;
      example.call(module.get());
      example.checkResult();
    }
  });
}

} // namespace
