//===- Bundle.cpp - kernels for several targets in one object -------------===//
//
// A task is one source for one target, with its own contexts. Tasks run on all cores. Their results are joined in the
// order of the sources.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Bundle.h"
#include "Dispatcher.h"
#include "attn/CodeGen/CodeGen.h"
#include "attn/Compiler/TunedFile.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <atomic>

using namespace llvm;

namespace attn {

namespace {
/// The result of one task.
struct Part {
  bool isFine = false;
  std::string object, entries, diagnostics;
  std::vector<Kernel> kernels;
};
} // namespace

static Error compilePart(const BundleSource &source, const Variant &variant, CompileOptions options, bool withEntries,
                         raw_ostream &diagnostics, Part &part) {
  options.target = variant.target.name;
  options.disabledFeatures = variant.untested;
  if (options.tuned && !source.problem.empty()) {
    Error isForeign = options.tuned->checkTarget(variant.target);
    if (!isForeign) {
      const TunedProblem *tuned = options.tuned->find(source.problem);
      options.schedule = tuned ? tuned->schedule : "";
    }
    consumeError(std::move(isForeign));
  }
  Expected<std::unique_ptr<Compiler>> compiler = Compiler::create(options, diagnostics);
  if (!compiler)
    return compiler.takeError();
  if (failed((*compiler)->parse(MemoryBuffer::getMemBuffer(source.text, source.name))) || failed((*compiler)->run()))
    return Error::success();
  LLVMContext context;
  std::unique_ptr<Module> module = (*compiler)->translate(context, ModulePart::Variant, variant.suffix);
  std::unique_ptr<Module> entries = withEntries ? (*compiler)->translate(context, ModulePart::Entries) : nullptr;
  if (!module || (withEntries && !entries))
    return createStringError("translation to LLVM IR failed");
  StackBytes stackBytes;
  EmitOptions emit = (*compiler)->getEmitOptions();
  emit.isSplit = false; // the entries of a variant are hidden, for the dispatcher to find
  Expected<std::string> object =
      compileModule(*module, (*compiler)->getObjectTarget(), FileKind::Object, emit, &stackBytes);
  if (!object)
    return object.takeError();
  (*compiler)->noteStack(stackBytes, variant.suffix);
  part.kernels = (*compiler)->getKernels();
  part.object = std::move(*object);
  raw_string_ostream os(part.entries);
  if (entries)
    WriteBitcodeToFile(*entries, os);
  part.isFine = true;
  return Error::success();
}

/// Kernels with fewer dynamic sizes come first. `numbers` are the source indices of the kernels.
static std::vector<LibraryGroup> groupKernels(ArrayRef<BundleSource> sources, ArrayRef<size_t> numbers,
                                              ArrayRef<Kernel> kernels) {
  MapVector<StringRef, LibraryGroup> groups;
  for (auto [number, kernel] : zip_equal(numbers, kernels)) {
    const BundleSource &source = sources[number];
    LibraryGroup &group = groups[kernel.features];
    group.features = kernel.features;
    group.line = kernel.kind == "forward" ? source.forwardLine : source.line;
    group.kernels.push_back(&kernel);
  }
  std::vector<LibraryGroup> list;
  for (auto &[features, group] : groups) {
    // Ties keep the order of the file, which is that of the addresses.
    llvm::sort(group.kernels, [](const Kernel *a, const Kernel *b) {
      return std::pair(a->sizes.size(), a) < std::pair(b->sizes.size(), b);
    });
    list.push_back(std::move(group));
  }
  return list;
}

static bool takesTheSame(const Kernel &a, const Kernel &b) {
  auto isSame = [](const KernelArgument &x, const KernelArgument &y) {
    return x.element == y.element && x.shape == y.shape && x.isStrided == y.isStrided;
  };
  return llvm::equal(a.arguments, b.arguments, isSame);
}

/// An error if two kernels match the same call.
static Error checkUnique(ArrayRef<LibraryGroup> groups) {
  for (const LibraryGroup &group : groups)
    for (auto [i, kernel] : enumerate(group.kernels))
      for (const Kernel *other : ArrayRef(group.kernels).take_front(i))
        if (takesTheSame(*kernel, *other))
          return createStringError("expected problems that differ in features or in tensors, found '" + other->problem +
                                   "' and '" + kernel->problem + "'; leave one out");
  return Error::success();
}

/// The parts of each source, one per variant.
static std::vector<Part> compileParts(ArrayRef<BundleSource> sources, ArrayRef<Variant> variants,
                                      const BundleOptions &options) {
  std::vector<Part> parts(sources.size() * variants.size());
  std::atomic<size_t> done = 0;
  DefaultThreadPool pool(hardware_concurrency(options.jobs));
  for (auto [i, part] : enumerate(parts))
    pool.async([&, i = i, &part = part] {
      raw_string_ostream os(part.diagnostics);
      size_t variant = i % variants.size();
      if (Error error =
              compilePart(sources[i / variants.size()], variants[variant], options.compile, variant == 0, os, part))
        os << "error: " << toString(std::move(error)) << "\n";
      if (options.onProgress) {
        const BundleSource &source = sources[i / variants.size()];
        std::string name = source.problem.empty() ? source.name : source.problem;
        options.onProgress(++done, parts.size(), name + " for " + variants[variant].target.describe());
      }
    });
  pool.wait();
  return parts;
}

/// Adds another variant of a kernel: its launches, and the maximum of the memory sizes.
static void addVariant(Kernel &kernel, const Kernel &variant) {
  llvm::append_range(kernel.launches, variant.launches);
  kernel.stackBytes = std::max(kernel.stackBytes, variant.stackBytes);
  bool isBySizes = kernel.heapBytes < 0 || variant.heapBytes < 0;
  kernel.heapBytes = isBySizes ? -1 : std::max(kernel.heapBytes, variant.heapBytes);
}

Expected<Bundle> compileBundle(ArrayRef<BundleSource> sources, ArrayRef<Variant> variants, const BundleOptions &options,
                               raw_ostream &diagnostics) {
  if (const TargetInfo &target = variants.front().target; !target.gpu && !Triple(target.triple).isOSBinFormatELF())
    return createStringError("expected Linux as the system of an object for several targets or of a library, which are "
                             "merged as ELF, found '" +
                             target.describe() + "'; compile each kernel for one target by a call of its own");
  std::vector<Part> parts = compileParts(sources, variants, options);
  Bundle bundle;
  std::vector<std::string> objects, entries;
  std::vector<size_t> numbers; // source index of each kernel
  for (auto [i, part] : enumerate(parts)) {
    diagnostics << part.diagnostics;
    if (!part.isFine)
      return createStringError(
          "compilation failed for target " + variants[i % variants.size()].target.describe() +
          (options.library.empty() ? std::string() : " of problem '" + sources[i / variants.size()].problem + "'"));
    objects.push_back(std::move(part.object));
    for (Kernel &kernel : part.kernels)
      for (GpuLaunch &launch : kernel.launches)
        launch.target = variants[i % variants.size()].target.name;
    if (i % variants.size() != 0) {
      for (auto [kernel, first] :
           zip_equal(part.kernels, MutableArrayRef(bundle.kernels).take_back(part.kernels.size())))
        addVariant(first, kernel);
      continue;
    }
    entries.push_back(std::move(part.entries));
    for (Kernel &kernel : part.kernels) {
      numbers.push_back(i / variants.size());
      const BundleSource &from = sources[numbers.back()];
      kernel.problem = from.problem;
      kernel.features = kernel.kind == "forward" ? from.forwardFeatures : from.features;
      bundle.kernels.push_back(std::move(kernel));
    }
  }
  DispatcherSource source{variants, bundle.kernels, entries, options.library, {}};
  std::vector<LibraryGroup> groups;
  if (!options.library.empty()) {
    groups = groupKernels(sources, numbers, bundle.kernels);
    if (Error error = checkUnique(groups))
      return error;
    source.groups = groups;
  }
  Expected<std::string> dispatcher = compileDispatcher(source);
  if (!dispatcher)
    return dispatcher.takeError();
  objects.push_back(std::move(*dispatcher));
  Expected<std::string> object = mergeObjects(objects);
  if (!object)
    return object.takeError();
  bundle.object = std::move(*object);
  return bundle;
}

} // namespace attn
