//===- micro.cpp - the parts of a kernel, timed alone ---------------------===//
//
// Register kernel, exp2 and transposes, emitted by the compiler's own builder
// for every level of x86-64 that this processor runs, beside the multiply-adds
// that the level can do at all. Operands lie in the first cache.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "EmitTile.h"
#include <benchmark/benchmark.h>
#include <cstdlib>

using namespace mlir;
using namespace attn;
using namespace attn::test;

namespace {

constexpr int64_t kDepth = 64, kTile = 64, kNumbers = 1024;
/// Chains that hide the latency of a multiply-add, and rounds of a call.
constexpr int64_t kChains = 12, kRounds = 1000;

using Matrix = StridedMemRefType<float, 2>;

/// A square in memory, aligned as stack buffers of kernels are.
struct Square {
  explicit Square(int64_t rows = kTile, int64_t columns = kTile)
      : memory(static_cast<float *>(std::aligned_alloc(cpu::kBufferAlignment, rows * columns * sizeof(float)))),
        memref{memory.get(), memory.get(), 0, {rows, columns}, {columns, 1}} {
    for (int64_t i = 0; i < rows * columns; ++i)
      memory.get()[i] = -0.001f * float(i % 1000);
  }
  struct Free {
    void operator()(float *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<float, Free> memory;
  Matrix memref;
};

/// Calls the code with `n`; `work` FLOPs, numbers or bytes a call are reported as a rate.
void measure(benchmark::State &state, const TargetInfo &target, Shapes shapes, Square &in, Square &out, int64_t n,
             double work, const char *unit, Body body) {
  std::unique_ptr<Tile> tile = Tile::emit(target, /*isDouble=*/false, shapes, body);
  for (auto _ : state) {
    tile->call(in.memref, out.memref, n);
    benchmark::ClobberMemory();
  }
  state.counters[unit] = benchmark::Counter(work, benchmark::Counter::kIsIterationInvariantRate);
}

/// x = x a + b in independent chains: what the register kernel is a share of.
void fmaPeak(benchmark::State &state, TargetInfo target) {
  Square in, out;
  SmallVector<int64_t> shape = {kTile, kTile};
  double flops = 2.0 * kRounds * kChains * target.getLanes(32);
  measure(state, target, {shape, shape}, in, out, kRounds, flops, "FLOP/s",
          [](cpu::VectorBuilder &vb, ValueRange args) {
            Value zero = vb.index(0), factor = vb.load(args[0], {zero, zero});
            cpu::Values chains(kChains, factor);
            chains = vb.loop(zero, args[2], 1, chains, [&](Value, ValueRange carried) {
              cpu::Values next;
              for (Value chain : carried)
                next.push_back(vb.multiplyAdd(chain, factor, factor));
              return next;
            });
            for (auto [i, chain] : llvm::enumerate(chains))
              vb.store(chain, args[1], {vb.index(i), zero});
          });
}

/// Rows of scalars against vectors: a block of one of the two products.
void registerKernel(benchmark::State &state, TargetInfo target, int64_t rows, int64_t vectors) {
  Square in, out;
  SmallVector<int64_t> shape = {kTile, kTile};
  double flops = 2.0 * kDepth * rows * vectors * target.getLanes(32);
  measure(state, target, {shape, shape}, in, out, kDepth, flops, "FLOP/s",
          [&](cpu::VectorBuilder &vb, ValueRange args) {
            cpu::Values init(rows * vectors, vb.splat(0));
            cpu::Values sums = cpu::emitRegisterKernel(
                vb, rows, vectors, args[2], init,
                [&](int64_t row, Value k) -> Value {
                  return memref::LoadOp::create(vb.b, vb.loc, args[0], ValueRange{vb.index(row), k});
                },
                [&](Value k, int64_t v) { return vb.load(args[0], {k, vb.index(v * vb.lanes)}); });
            for (int64_t row = 0; row < rows; ++row)
              for (int64_t v = 0; v < vectors; ++v)
                vb.store(sums[row * vectors + v], args[1], {vb.index(row), vb.index(v * vb.lanes)});
          });
}

void exp2(benchmark::State &state, TargetInfo target) {
  Square in(1, kNumbers), out(1, kNumbers);
  SmallVector<int64_t> shape = {1, kNumbers};
  measure(state, target, {shape, shape}, in, out, kNumbers, kNumbers, "exp2/s",
          [](cpu::VectorBuilder &vb, ValueRange args) {
            Value zero = vb.index(0);
            vb.loop(zero, args[2], vb.lanes, {}, [&](Value i, ValueRange) {
              vb.store(vb.exp2(vb.load(args[0], {zero, i})), args[1], {zero, i});
              return cpu::Values();
            });
          });
}

/// Rows of Q to lanes, or lanes to rows of the output.
void transpose(benchmark::State &state, TargetInfo target, bool toLanes) {
  Square in, out;
  SmallVector<int64_t> shape = {kTile, kTile};
  double bytes = kTile * kTile * sizeof(float);
  measure(state, target, {shape, shape}, in, out, kTile, bytes, "bytes/s",
          [&](cpu::VectorBuilder &vb, ValueRange args) {
            auto map = AffineMap::getMultiDimIdentityMap(2, vb.b.getContext());
            auto inOrder = [](Value row, Value column) { return cpu::Values{row, column}; };
            auto swapped = [](Value row, Value column) { return cpu::Values{column, row}; };
            cpu::TransposeSide from{{args[0], map}, inOrder, true}, to{{args[1], map}, swapped, true};
            if (!toLanes) {
              from.getIndices = swapped;
              to.getIndices = inOrder;
            }
            auto *emit = toLanes ? cpu::emitPack : cpu::emitUnpack;
            emit(vb, from, to, args[2], kTile, vb.b.getIndexAttr(kTile));
          });
}

void registerAll() {
  for (const TargetInfo &target : getExecutableTargets()) {
    auto name = [&](const std::string &part) { return part + "/" + target.name; };
    benchmark::RegisterBenchmark(name("fma_peak").c_str(), fmaPeak, target);
    // Accumulators, a vector and a broadcast must fit into the registers.
    for (auto [rows, vectors] : {std::pair<int64_t, int64_t>{4, 2}, {6, 2}, {4, 4}, {8, 2}, {8, 3}})
      if (rows * vectors + vectors + 1 <= target.vectorRegisters && vectors * target.getLanes(32) <= kTile)
        benchmark::RegisterBenchmark(
            name("register_kernel/" + std::to_string(rows) + "x" + std::to_string(vectors)).c_str(), registerKernel,
            target, rows, vectors);
    benchmark::RegisterBenchmark(name("exp2").c_str(), exp2, target);
    benchmark::RegisterBenchmark(name("pack").c_str(), transpose, target, true);
    benchmark::RegisterBenchmark(name("unpack").c_str(), transpose, target, false);
  }
}

} // namespace

int main(int argc, char **argv) {
  registerAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
