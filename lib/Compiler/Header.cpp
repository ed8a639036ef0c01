//===- Header.cpp - the C header of compiled kernels ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Weights.h"
#include "attn-c/attn_runtime.h"
#include "attn/Compiler/Compiler.h"
#include "attn/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace attn {

/// A condition that the plain entry assumes and the checked one tests.
static StringRef describeValues(ValueCheck::Kind kind) {
  switch (kind) {
  case ValueCheck::Kind::Lengths: return "lengths, each from 0 to the number of rows";
  case ValueCheck::Kind::PrefixSums: return "prefix sums that start with 0 and end with the number of rows";
  case ValueCheck::Kind::BlockTable: return "page numbers, read for the pages within the lengths";
  case ValueCheck::Kind::Positions: return "positions that leave room for the new rows";
  case ValueCheck::Kind::AppendTable: return "page numbers, read for the pages of the new rows";
  case ValueCheck::Kind::Slots: return "places of the pool, each once, or -1 for none";
  }
  llvm_unreachable("all kinds are handled");
}

static void writeArgument(raw_ostream &os, const KernelArgument &argument, ArrayRef<std::string> sizes, bool isGpu) {
  os << " *   " << argument.name << ": " << (argument.isOutput ? "output" : "input")
     << (argument.isUpdated ? " that is updated" : "") << ", ";
  const ElementInfo &element = getElementInfo(argument.element);
  if (argument.isScalar) {
    os << element.cName << " by value\n";
    return;
  }
  os << element.cName << "[";
  interleave(argument.printShape(sizes), os, "][");
  os << "], strides (";
  interleaveComma(argument.printStrides(sizes), os);
  os << ") elements, aligned to " << argument.getAlignment(isGpu) << " bytes";
  if (argument.element == ElementKind::I1)
    os << ", 0 or 1";
  if (argument.element == ElementKind::F8E4M3FN || argument.element == ElementKind::F8E5M2)
    os << ", bits of " << element.numpyName;
  for (const ValueCheck &check : argument.checks)
    os << ", " << describeValues(check.kind);
  os << "\n";
}

static void writeGpuConventions(raw_ostream &os, const Kernel &kernel) {
  os << " Buffers are in the memory of the device, scalars on the host.\n"
        " * Starts its kernels on the stream and does not wait for them. The workspace, in the memory of the device, "
        "holds\n"
        " * "
     << getWorkspaceBytesName(kernel.name)
     << " bytes at a multiple of 256, and belongs to the call until the stream has done it.\n"
        " * Returns 0, or a code of attn_cuda.h, whose attn_cuda_message says why. Calls attn_cuda_launch: link "
        "libattn_runtime.";
}

/// The memory that a calling thread needs.
static void writeMemory(raw_ostream &os, const Kernel &kernel) {
  os << "\n * Memory:";
  if (kernel.stackBytes)
    os << " " << *kernel.stackBytes << " bytes of stack of a thread that runs it,";
  if (kernel.heapBytes == 0) {
    os << " none of the heap.";
    if (kernel.takesWorkspace)
      os << " The workspace holds " << getWorkspaceBytesName(kernel.name) << " bytes at a multiple of "
         << ATTN_WORKSPACE_ALIGNMENT
         << " and belongs\n * to the call. Returns 0, or ATTN_NO_MEMORY (12) where it is smaller or elsewhere, and "
            "then "
            "writes nothing.";
    return;
  }
  os << " of the heap ";
  if (kernel.heapBytes > 0)
    os << "at most " << *kernel.heapBytes << " bytes";
  else
    os << "what its sizes need";
  os << ".\n * Returns 0, or ATTN_NO_MEMORY (12) where it gets no memory; its outputs may then hold anything.";
}

static void writeWorkspaceBytes(raw_ostream &os, const Kernel &kernel) {
  os << "/* The bytes of workspace that a call needs; 0 for none. */\nint64_t " << getWorkspaceBytesName(kernel.name)
     << "(";
  interleaveComma(kernel.sizes, os, [&](const std::string &size) { os << "int64_t " << size; });
  os << (kernel.sizes.empty() ? "void" : "") << ");\n\n";
}

/// All entries but the plain one.
static void writeGpuEntries(raw_ostream &os, const Kernel &kernel) {
  std::string bytes = getWorkspaceBytesName(kernel.name);
  writeWorkspaceBytes(os, kernel);
  os << "/* Both on " << kernel.arguments.size()
     << " DLPack tensors in the order above, each tested first: count, rank, shape, type, strides, alignment,\n"
        " * device (kDLCUDA; scalars on the CPU), overlap. Values in the memory of the device are not tested. The "
        "first\n"
        " * returns 0, a code of attn.h or one of attn_cuda.h; the second bytes, or a code as a negative number; with "
        "a\n"
        " * message (at most `size` bytes; may be NULL). */\nint32_t "
     << getCheckedName(kernel.name)
     << "(const DLTensor *const *arguments, int64_t count, void *workspace, int64_t workspace_bytes,\n"
        "    CUstream stream, char *message, int64_t size);\nint64_t "
     << getCheckedName(bytes) << "(const DLTensor *const *arguments, int64_t count, char *message, int64_t size);\n\n";
}

/// "x + n", "x - n", or "x".
static std::string printSum(StringRef x, int64_t n) {
  return n == 0 ? x.str() : (x + (n < 0 ? " - " : " + ") + Twine(n < 0 ? -uint64_t(n) : uint64_t(n))).str();
}

/// The key on the diagonal of query i.
static std::string getDiagonal(const Kernel &kernel) {
  switch (kernel.words.getAlignment().value_or(Alignment::TopLeft)) {
  case Alignment::TopLeft: return "i";
  case Alignment::BottomRight: return "i + Sk - Sq";
  case Alignment::Offset: return ("i + " + getOffset().argument + "[b]").str();
  }
  llvm_unreachable("all alignments are handled");
}

/// A sentence for each word that changes scores, the scale first.
static void writeWords(raw_ostream &os, const Kernel &kernel) {
  for (bool isScale : {true, false})
    for (const WordInfo &word : getWords())
      if ((word.form == WordForm::Real) == isScale && kernel.words.has(word.word) && !word.sentence.empty())
        os << " " << formatv(false, word.sentence.data(), printWordValue(kernel.words[word.word]));
}

/// The keys that query i keeps, whose diagonal key is i + off: a condition on j for each mask.
static void writeMask(raw_ostream &os, const Kernel &kernel) {
  std::string diagonal = getDiagonal(kernel), operand = diagonal == "i" ? "i" : "(" + diagonal + ")";
  SmallVector<std::string> conditions;
  for (const WordInfo &word : getWords()) {
    if (!kernel.words.has(word.word))
      continue;
    auto add = [&](const std::string &condition) { conditions.push_back((word.token + ": " + condition).str()); };
    if (const auto *bounds = kernel.words.get<KeyBounds>(word.word)) {
      if (bounds->left)
        add("j >= " + printSum(diagonal, -*bounds->left));
      if (bounds->right)
        add("j <= " + printSum(diagonal, *bounds->right));
    }
    if (!word.condition.empty())
      add(formatv(false, word.condition.data(), printWordValue(kernel.words[word.word]), diagonal, operand));
  }
  if (conditions.empty())
    return;
  os << "\n * Query i keeps key j where all of these hold (lengths, the mask and regions remove further keys):";
  for (const std::string &condition : conditions)
    os << "\n *   " << condition;
  bool hasLengths = any_of(getWords(), [&](const WordInfo &word) {
    return word.counts != WordCounts::Nothing && kernel.words.has(word.word);
  });
  if (hasLengths && kernel.words.getAlignment() == Alignment::BottomRight)
    os << "\n * Sk and Sq are the lengths of the sequence.";
}

static void writeKernel(raw_ostream &os, const Kernel &kernel, const CompileOptions &options) {
  os << "/* " << kernel.name << "\n *\n";
  if (!kernel.problem.empty())
    os << " * Problem: " << kernel.problem << "\n *\n";
  bool hasStrides = any_of(kernel.arguments, [](const KernelArgument &argument) { return argument.isStrided; });
  os << " * Arguments, " << (hasStrides ? "in row-major order" : "contiguous in row-major order") << ":\n";
  for (const KernelArgument &argument : kernel.arguments)
    writeArgument(os, argument, kernel.sizes, kernel.isGpu);
  if (!kernel.sizes.empty()) {
    os << " *   then the sizes ";
    interleaveComma(kernel.sizes, os);
    os << ", int64_t by value\n";
  }
  for (auto [name, formula] : zip_equal(kernel.sizes, kernel.formulas))
    if (!formula.empty())
      os << " *   " << name << " is " << formula.printInfix(kernel.sizes) << "\n";
  for (const SizeLimit &limit : kernel.limits)
    os << " *   " << limit.value.printInfix(kernel.sizes) << " is at most " << limit.limit.printInfix(kernel.sizes)
       << "\n";
  if (hasStrides)
    os << " *   then the strides that are named above, int64_t by value: any, also 0 and negative ones\n";
  os << " * Outputs must not overlap any other argument; inputs may overlap each other and are not written.\n *\n";
  if (kernel.kind == "backward")
    os << " * The gradients of " << kernel.pair
       << "_forward, from its arguments, what it returned, and the cotangents of "
       << "that.\n *\n";
  os << " * Conventions: heads of K and V are shared by contiguous groups of query heads; a row that keeps no key has\n"
     << (kernel.kind == "backward" ? " * gradient 0 and adds to none, whatever its cotangents hold."
                                   : " * output 0 (and lse -inf).");
  writeWords(os, kernel);
  writeMask(os, kernel);
  os << "\n * Safe to call from several threads at once.";
  if (kernel.isGpu)
    writeGpuConventions(os, kernel);
  else if (options.parallel)
    os << " Calls attn_parallel_for: link libattn_runtime.";
  else
    os << " Runs on the calling thread; needs the C library and libm only.";
  if (!kernel.isGpu)
    writeMemory(os, kernel);
  bool mayFail = kernel.isGpu || kernel.takesWorkspace || kernel.heapBytes != 0;
  os << "\n */\n" << (mayFail ? "int32_t " : "void ") << kernel.name << "(";
  os << (kernel.arguments.empty() && kernel.sizes.empty() && !kernel.isGpu && !kernel.takesWorkspace ? "void" : "");
  interleaveComma(kernel.arguments, os, [&](const KernelArgument &argument) {
    if (argument.isScalar)
      os << getElementInfo(argument.element).cName << " " << argument.name;
    else
      os << (argument.isOutput ? "" : "const ") << getElementInfo(argument.element).cName << " *" << argument.name;
  });
  for (const std::string &size : kernel.sizes)
    os << ", int64_t " << size;
  for (const KernelArgument &argument : kernel.arguments)
    for (const std::string &stride : argument.getStrideNames())
      os << ", int64_t " << stride;
  if (kernel.isGpu) {
    os << ", void *workspace, int64_t workspace_bytes, CUstream stream);\n\n";
    return writeGpuEntries(os, kernel);
  }
  StringRef workspace = kernel.takesWorkspace ? "void *workspace, int64_t workspace_bytes" : "";
  os << (workspace.empty() ? "" : ", ") << workspace << ");\n\n";
  if (kernel.takesWorkspace)
    writeWorkspaceBytes(os, kernel);
  os << "/* The same on " << kernel.arguments.size()
     << " DLPack tensors in the order above, each tested first: count, rank, shape, type, strides, alignment,\n"
        " * device, overlap, values. Returns 0, or a code of attn.h with a message (at most `size` bytes; may be "
        "NULL); "
        "nothing\n"
        " * is written when it refuses"
     << (kernel.heapBytes == 0 ? "" : ", but for ATTN_NO_MEMORY") << ". */\nint32_t " << getCheckedName(kernel.name)
     << "(const DLTensor *const *arguments, int64_t count, " << workspace << (workspace.empty() ? "" : ",\n    ")
     << "char *message, int64_t size);\n\n";
  if (kernel.takesWorkspace)
    os << "/* The bytes of workspace that such a call needs, or a code as a negative number. */\nint64_t "
       << getCheckedName(getWorkspaceBytesName(kernel.name))
       << "(const DLTensor *const *arguments, int64_t count, char *message, int64_t size);\n\n";
}

static void writeMapWeights(raw_ostream &os, const Kernel &kernel) {
  os << "/* To call before the kernel: maps the file of weights that was written with the object, "
     << kernel.weightsBytes
     << " bytes at `path`, for all kernels of the\n * object; processes that map it share it. A null path unmaps. Not "
        "while a kernel runs. Returns 0, or ATTN_NO_WEIGHTS (13) with a\n * message (at most `size` bytes; may be "
        "NULL) and leaves what is mapped. */\nint32_t "
     << getMapWeightsName(kernel.name) << "(const char *path, char *message, int64_t size);\n\n";
}

std::string writeHeader(StringRef guard, ArrayRef<Kernel> kernels, StringRef target, const CompileOptions &options,
                        StringRef more) {
  std::string text;
  raw_string_ostream os(text);
  os << "/* Generated by attnc " << kVersion << " for target " << target << ". */\n#ifndef " << guard << "\n#define "
     << guard << "\n\n#include <stdint.h>\n\n#include <dlpack/dlpack.h>\n\n"
     << (any_of(kernels, [](const Kernel &kernel) { return kernel.isGpu; })
             ? "/* As in cuda.h and attn-c/attn_cuda.h. */\ntypedef struct CUstream_st *CUstream;\n\n"
             : "")
     << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  for (const Kernel &kernel : kernels) {
    writeKernel(os, kernel, options);
    if (kernel.weightsBytes)
      writeMapWeights(os, kernel);
  }
  os << more << "#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << guard << " */\n";
  return text;
}

} // namespace attn
