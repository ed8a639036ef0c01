//===- BundleHeader.cpp - the entries of a bundle -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Bundle.h"
#include "attn/Support/CNames.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attn {

static void writeTargetNames(raw_ostream &os, ArrayRef<Variant> variants) {
  os << "/* Every kernel of this object is there for ";
  interleaveComma(variants, os, [&](const Variant &variant) {
    // "host" (znver5): the name that use_target takes, and the processor it was.
    const std::string &name = variant.target.name;
    os << '"' << name << '"' << variant.target.describe().substr(name.size());
  });
}

/// GPU variants: the stream's device selects one, so a caller has no choice.
static void writeGpuTargets(raw_ostream &os, ArrayRef<Variant> variants) {
  writeTargetNames(os, variants);
  os << ".\n * A call takes the last of these that the device of its stream runs, and returns ATTN_CUDA_WRONG_DEVICE "
        "(33) "
        "where\n * it runs none. A workspace is large enough for all of them. */\n\n";
}

static void writeTargets(raw_ostream &os, StringRef prefix, ArrayRef<Variant> variants) {
  writeTargetNames(os, variants);
  os << ".\n * A call takes the last of these that the processor runs. Where it runs none, a checked entry returns\n"
        " * ATTN_WRONG_PROCESSOR (11) with a message, and a plain one ends the process by an illegal instruction, "
        "before\n"
        " * anything is read or written.\n *\n * "
     << getUseTargetName(prefix)
     << " has all later calls of any kernel of this object take another target; NULL: the choice above.\n"
        " * Returns 0, or 11 with a message (at most `size` bytes; may be NULL) and then changes nothing. Safe at any "
        "time.\n * "
     << getTargetName(prefix) << " is the name of the target that calls take, NULL where the processor runs none. */\n"
     << "int32_t " << getUseTargetName(prefix) << "(const char *target, char *message, int64_t size);\n"
     << "const char *" << getTargetName(prefix) << "(void);\n\n";
}

static void writeLibrary(raw_ostream &os, StringRef library, ArrayRef<Kernel> kernels, bool isGpu) {
  os << "/* Calls the kernel of this library that takes these tensors.\n *\n"
        " * features: the words of a problem line that tensors do not show, in any order, spelled as below; NULL: "
        "none.\n"
        " *   The library has\n";
  SmallVector<StringRef> written;
  for (const Kernel &kernel : kernels)
    if (!is_contained(written, kernel.features)) {
      written.push_back(kernel.features);
      os << " *     \"" << kernel.features << "\"\n";
    }
  os << " * arguments: the DLPack tensors of the kernel in its order: inputs, then outputs.\n *\n"
        " * Among the kernels of these features, one of static sizes is taken before one of dynamic sizes, and of "
        "those the\n"
        " * one with fewer of them. Returns what the kernel's checked entry returns, or ATTN_NO_SUCH_KERNEL (21) with "
        "the\n"
        " * problem line that is missing; nothing is written when it refuses. */\n"
     << "int32_t " << getCallName(library)
     << "(const char *features, const DLTensor *const *arguments, int64_t count,\n"
     << std::string(getCallName(library).size() + 9, ' ')
     << (isGpu ? "void *workspace, int64_t workspace_bytes, CUstream stream, " : "")
     << "char *message, int64_t size);\n\n";
  if (isGpu)
    os << "/* The bytes of workspace that such a call needs, or a code as a negative number. */\nint64_t "
       << getWorkspaceBytesName(library) << "(const char *features, const DLTensor *const *arguments, int64_t count,\n"
       << std::string(getWorkspaceBytesName(library).size() + 9, ' ') << "char *message, int64_t size);\n\n";
  os << "/* Stores the C name of the kernel that such a call takes in *kernel (not null). Reads no element of any "
        "tensor. */\n"
     << "int32_t " << getFindName(library)
     << "(const char *features, const DLTensor *const *arguments, int64_t count, const char **kernel,\n"
     << std::string(getFindName(library).size() + 9, ' ') << "char *message, int64_t size);\n\n";
}

std::string writeBundleEntries(ArrayRef<Kernel> kernels, ArrayRef<Variant> variants, StringRef library) {
  std::string text;
  raw_string_ostream os(text);
  bool isGpu = variants.front().target.gpu.has_value();
  if (!library.empty())
    writeLibrary(os, library, kernels, isGpu);
  if (isGpu) {
    writeGpuTargets(os, variants);
    return text;
  }
  if (!library.empty()) {
    writeTargets(os, library, variants);
    return text;
  }
  for (const Kernel &kernel : kernels)
    writeTargets(os, kernel.name, variants);
  return text;
}

} // namespace attn
