//===- TargetInfo.h - hardware facts as plain data --------------*- C++ -*-===//
//
// The facts that passes may use: vector widths, register counts, instructions. No pass tests the name of a chip.
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

/// Facts of a GPU: the limits of a block (CUDA C++ Programming Guide, "Technical specifications per compute
/// capability").
struct GpuInfo {
  unsigned computeCapability = 80;          ///< 80 for sm_80
  int64_t sharedBytesPerBlock = 163 * 1024; ///< opt-in maximum
  unsigned multiprocessors = 108;           ///< of the largest chip of its kind; used only to split keys
  int64_t l2Bytes = 40 * 1024 * 1024;       ///< L2 cache of that chip
  bool hasWgmma = false;                    ///< products of warpgroups, wgmma
  bool isExact = false;                     ///< its code runs on no other compute capability
  unsigned warpLanes = 32;
  /// Copies of boxes of a tensor, cp.async.bulk.tensor: the targets with wgmma have them.
  bool hasTensorMaps() const { return hasWgmma; }
  /// A kernel may start before the one in front of it has ended, and wait for it (griddepcontrol).
  bool hasDependentLaunches() const { return computeCapability >= 90; }
  /// Conversions of e4m3: from compute capability 8.9 on, in PTX 8.1, which targets before sm_90a do not have.
  bool hasFloat8() const { return hasWgmma || computeCapability >= 100; }
};

/// One target of --target. Sizes are in bits and bytes.
struct TargetInfo {
  std::string name;     ///< as the user wrote it
  std::string triple;   ///< LLVM target triple
  std::string cpu;      ///< LLVM processor name
  std::string features; ///< LLVM feature string, "+avx2,+fma"
  unsigned vectorBits = 128;
  unsigned vectorRegisters = 16;
  /// Bits of the SVE registers used for vectors, which the processor must have exactly; 0 for other vectors, such as
  /// NEON.
  unsigned sveBits = 0;
  bool hasFma = false; ///< fused multiply-add in one instruction, in every vector width
  /// Has no fused multiply-add that rounds once, in instructions or in a library: LLVM may contract a product and a sum
  /// to an instruction that rounds once or twice (relaxed_madd of WebAssembly).
  bool contracts = false;
  /// All code is validated before any of it runs, so that it cannot test for features.
  bool isValidated = false;
  /// A vector multiply-add takes a scalar register as a factor (vfmacc.vf of RISC-V): a factor in memory costs a load
  /// of a scalar, and no vector register.
  bool takesScalars = false;
  /// Vector multiply-adds use the ports of all other vector code, so a concurrent softmax costs twice as much as where
  /// adds and shifts have ports of their own (Intel's servers since Sapphire Rapids).
  bool sharesFmaPorts = false;
  /// Vector multiply-adds issued per cycle, latency of their sum in cycles, and instructions of any kind issued per
  /// cycle.
  double fmaPerCycle = 2, fmaLatency = 5, issuedPerCycle = 4;
  /// An f32 multiply-add can take a lane of a vector as a factor, so that one load provides four factors (fmla by
  /// element). Otherwise a factor in memory costs no more than its broadcast.
  bool takesLanes = false;
  /// A multiply-add overwrites its addend: if the addend is still used, as a constant is, it needs a copy.
  bool overwritesAddend = false;
  /// Has a maximum that ignores NaN operands, and one that propagates them (fmaxnm, fmax).
  bool hasNumberMax = false;
  /// Has a table instruction for 2^(i / 64) of integers i, in f32 (fexpa).
  bool hasPowerTable = false;
  bool hasHalf = false; ///< widens f16 in one instruction
  /// Rate of bf16 products (vdpbf16ps, which sums pairs; bfmmla) relative to f32 multiply-adds; 0 if the target lacks
  /// them. It depends on the processor, not on the width of the type: below 1, widening is faster.
  double bf16DotRate = 0;
  /// Adds four products of an unsigned and a signed byte (vpdpbusd), or of signed ones (sdot, hasSignedByteDot), to
  /// each i32 of a vector in one instruction.
  bool hasByteDot = false, hasSignedByteDot = false;
  /// Limits of kernels that use it. Rows are multiples of kByteDotColumns bytes, within which shuffles stay. A sum has
  /// at most kMaxByteDotSum products of 16 by 8 bits, so that it fits an i32.
  static constexpr int64_t kByteDotColumns = 16, kMaxByteDotSum = 512;
  /// Multiplies 2 x 4 by 4 x 2 bf16 in one instruction (bfmmla), and sums pairs of bf16 products (bfdot).
  bool hasBf16Matrices = false;
  /// Rate of tdpbf16ps, which multiplies tiles of 16 rows by 32 bf16, relative to f32 multiply-adds; 0 if the target
  /// lacks it. A process must request the tiles from its operating system before it uses them; a host that refuses has
  /// none.
  double tileRate = 0;
  bool hasTiles() const { return tileRate > 0; }
  static constexpr int64_t kTileRows = 16, kTileDepth = 32;
  /// The L1 data cache: l1Ways is the number of lines in each set. On x86-64 8 ways up to Skylake and Zen 4, 12 since.
  int64_t l1Sets = 64, l1Ways = 8, lineBytes = 64;
  int64_t l2Bytes = 512 * 1024;
  /// Decode kernels prefetch K and V into the L2 cache, even where they read these line by line. Otherwise they
  /// prefetch into the L1 cache, and leave line by line reads to the hardware. This takes 8 to 28 % less time on Zen 4,
  /// where prefetching into L1 gains little. It takes 5 to 15 % more on Zen 5, which keeps more lines in flight
  /// (benchmarks/notes).
  bool prefetchesIntoL2 = false;
  std::optional<GpuInfo> gpu; ///< set for sm_80 and the like; vector facts are then meaningless

  /// Elements of a type of `elementBits` in one vector register.
  unsigned getLanes(unsigned elementBits) const { return vectorBits / elementBits; }

  /// Looks up "host" (this processor), an x86-64 level ("x86-64", "x86-64-v2", "-v3", "-v4"), a processor known to LLVM
  /// ("znver5"), 64-bit Arm by its triple ("aarch64-linux-gnu", "aarch64-apple-darwin"), an architecture ("armv8.2-a")
  /// or a processor ("neoverse-v2"), both as "aarch64-linux-gnu:neoverse-v2", with features as "neoverse-v1+sve256" and
  /// "neoverse-v2+nosve", 64-bit RISC-V in the same way ("rva23+zvl256b"), WebAssembly ("wasm32"), or an NVIDIA GPU
  /// ("sm_80" to "sm_120"). The error lists the known names.
  static llvm::Expected<TargetInfo> get(llvm::StringRef name);

  /// For readers on another machine: "host (znver5)", any other name unchanged.
  std::string describe() const;

  bool isArm() const;
  /// The target whose code runs on every processor of this one's architecture and system.
  std::string getLowestName() const;

  /// The names listed in documentation and errors.
  static llvm::StringRef getKnownNames();
};

} // namespace attn

#endif // ATTN_TARGET_TARGETINFO_H
