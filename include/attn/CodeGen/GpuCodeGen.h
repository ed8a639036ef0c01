//===- GpuCodeGen.h - gpu.module to PTX and cubin ---------------*- C++ -*-===//
//
// PTX by LLVM's NVPTX backend, in process; machine code by ptxas, if it is installed; and both as the constant that the
// launcher reads.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_CODEGEN_GPUCODEGEN_H
#define ATTN_CODEGEN_GPUCODEGEN_H

#include "attn/Target/TargetInfo.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace attn {

/// The LLVM IR of a gpu.module on the LLVM and NVVM dialects, for optimizeModule, or compileModule, whose assembly is
/// PTX. Only kernels are visible from outside.
llvm::Expected<std::unique_ptr<llvm::Module>> translateGpuModule(mlir::Operation *gpuModule, const TargetInfo &target,
                                                                 llvm::LLVMContext &context);

/// ptxas' figures for one kernel.
struct KernelResources {
  std::string kernel;
  int64_t registers = 0, staticSharedBytes = 0, stackBytes = 0, spillBytes = 0;
};

struct Cubin {
  std::string bytes;
  std::vector<KernelResources> kernels;
  std::string messages; ///< all messages of ptxas
  /// Messages that wgmma instructions are serialised, or that setmaxnreg is ignored: the code is correct but slow.
  std::vector<std::string> slowdowns;
};

/// `given` if it is not empty, otherwise the ptxas in PATH or in /usr/local/cuda. Empty if there is none.
std::string findPtxas(llvm::StringRef given);

/// Assembles PTX. The error contains the messages of ptxas.
llvm::Expected<Cubin> assemblePTX(llvm::StringRef ptx, const TargetInfo &target, llvm::StringRef ptxas);

/// Defines the global `name` of `host` (struct attn_cuda_image of attn_cuda.h), where it is declared. `cubin` may be
/// empty.
void defineImage(llvm::Module &host, llvm::StringRef name, llvm::StringRef ptx, llvm::StringRef cubin,
                 const TargetInfo &target);

} // namespace attn

#endif // ATTN_CODEGEN_GPUCODEGEN_H
