//===- TargetInfo.h - hardware facts as plain data --------------*- C++ -*-===//
//
// What passes may know of a processor: widths, register counts, instructions. No pass
// reads the name of a chip.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TARGET_TARGETINFO_H
#define ATTN_TARGET_TARGETINFO_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace attn {

/// Facts of a GPU: what a kernel of one block may take (CUDA C++ Programming
/// Guide, "Technical specifications per compute capability").
struct GpuInfo {
  unsigned computeCapability = 80;          ///< 80 for sm_80
  int64_t sharedBytesPerBlock = 163 * 1024; ///< opt-in maximum
  unsigned multiprocessors = 108;           ///< of the largest chip of its kind; only sets how finely keys are split
  int64_t l2Bytes = 40 * 1024 * 1024;       ///< second-level cache of that chip
  bool hasWgmma = false;                    ///< products of four warps, wgmma
  bool isExact = false;                     ///< its code runs on no other compute capability
  unsigned warpLanes = 32;
  /// Copies of boxes of a tensor, cp.async.bulk.tensor, which the targets with wgmma have.
  bool hasTensorMaps() const { return hasWgmma; }
};

/// One target of --target. Sizes are in bits and bytes.
struct TargetInfo {
  std::string name;     ///< as the user wrote it
  std::string triple;   ///< LLVM target triple
  std::string cpu;      ///< LLVM processor name
  std::string features; ///< LLVM feature string, "+avx2,+fma"
  unsigned vectorBits = 128;
  unsigned vectorRegisters = 16;
  /// Bits of the SVE registers that vectors are held in, which the processor must have set exactly; 0 where vectors are
  /// of another kind, as NEON's are.
  unsigned sveBits = 0;
  bool hasFma = false; ///< fused multiply-add in one instruction, in every vector width
  /// Multiply-adds of whole vectors take the ports of all other vector code, so that a softmax beside them costs twice
  /// what it costs where adds and shifts have ports of their own (Intel's servers since Sapphire Rapids).
  bool sharesFmaPorts = false;
  /// Multiply-adds of vectors that begin in a cycle, cycles until the sum of one is there, instructions of any kind
  /// that begin in a cycle.
  double fmaPerCycle = 2, fmaLatency = 5, issuedPerCycle = 4;
  /// A multiply-add of f32 takes a lane of a vector as a factor, so that one load is the factors of four (fmla by
  /// element). Where it does not, a factor that memory holds costs no more than its broadcast.
  bool takesLanes = false;
  /// A multiply-add writes its sum over the addend: of one that stays, as a constant, it takes a copy.
  bool overwritesAddend = false;
  /// Has a maximum that is the number where one operand is NaN, and one that is NaN then (fmaxnm, fmax).
  bool hasNumberMax = false;
  /// Makes 2^(i / 64) of integers i, in f32, by a table (fexpa).
  bool hasPowerTable = false;
  bool hasHalf = false; ///< widens f16 in one instruction
  /// Rate of products of bf16 (vdpbf16ps, which sums pairs; bfmmla) relative to f32 multiply-adds; 0 if the target
  /// lacks them. It depends on the processor, not on the width of the type: below 1 it is better to widen.
  double bf16DotRate = 0;
  /// Adds four products of an unsigned and a signed byte (vpdpbusd), or of signed ones (sdot, hasSignedByteDot), to
  /// each i32 of a vector in one instruction.
  bool hasByteDot = false, hasSignedByteDot = false;
  /// Limits of kernels that use it. Rows are multiples of kByteDotColumns bytes, the part of a register that shuffles
  /// stay in. A sum has at most kMaxByteDotSum products of 16 by 8 bits, as many as an i32 holds.
  static constexpr int64_t kByteDotColumns = 16, kMaxByteDotSum = 512;
  /// Multiplies 2 x 4 by 4 x 2 bf16 in one instruction (bfmmla), and has sums of pairs of their products (bfdot).
  bool hasBf16Matrices = false;
  /// Rate of tdpbf16ps, which multiplies tiles of 16 rows by 32 bf16, relative to f32 multiply-adds; 0 if the target
  /// lacks it. A process must ask its operating system for the tiles before it uses them; a host that refuses has none.
  double tileRate = 0;
  bool hasTiles() const { return tileRate > 0; }
  static constexpr int64_t kTileRows = 16, kTileDepth = 32;
  /// The first-level data cache: each of its sets has so many lines, its ways. On x86-64 8 ways up to Skylake and Zen
  /// 4, 12 since.
  int64_t l1Sets = 64, l1Ways = 8, lineBytes = 64;
  int64_t l2Bytes = 512 * 1024;
  /// Decode kernels prefetch K and V into the second-level cache, also where they read these line by line. Otherwise
  /// they prefetch into the first-level cache, and leave line by line reads to the hardware. This takes 8 to 28 % less
  /// time on Zen 4, where prefetching into the first level gains little. It takes 5 to 15 % more on Zen 5, which keeps
  /// more lines in flight (benchmarks/notes).
  bool prefetchesIntoL2 = false;
  std::optional<GpuInfo> gpu; ///< set for sm_80 and the like; vector facts have no meaning then

  /// Elements of a type of `elementBits` in one vector register.
  unsigned getLanes(unsigned elementBits) const { return vectorBits / elementBits; }

  /// Looks up "host" (this processor), an x86-64 level ("x86-64", "x86-64-v2", "-v3", "-v4"), a processor that LLVM
  /// knows ("znver5"), 64-bit Arm by its triple ("aarch64-linux-gnu", "aarch64-apple-darwin"), an architecture
  /// ("armv8.2-a") or a processor
  /// ("neoverse-v2"), both as "aarch64-linux-gnu:neoverse-v2", with features as "neoverse-v1+sve256" and
  /// "neoverse-v2+nosve", or an NVIDIA GPU ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"). The error says which names
  /// are known.
  static llvm::Expected<TargetInfo> get(llvm::StringRef name);

  /// For those who read the name on another machine: "host (znver5)", any other name as it is.
  std::string describe() const;

  bool isArm() const;
  /// The target whose code every processor of the architecture and system of this one runs.
  std::string getLowestName() const;

  /// The names that documentation and errors list.
  static llvm::StringRef getKnownNames();
};

} // namespace attn

#endif // ATTN_TARGET_TARGETINFO_H
