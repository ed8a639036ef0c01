//===- CompileBundle.cpp - attnc --target=A,B and attnc --problems=FILE ---===//
//
// One object for several targets, or for all kernels of a problem file.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include "attn/Support/CNames.h"
#include "attnc.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

Expected<std::vector<Problem>> driver::readProblems(StringRef file) {
  auto buffer = MemoryBuffer::getFile(file);
  if (!buffer)
    return createFileError(file, buffer.getError());
  Expected<std::vector<Problem>> parsed = parseProblems((*buffer)->getBuffer());
  if (!parsed)
    return createFileError(file, parsed.takeError());
  if (parsed->empty())
    return createStringError("expected at least one problem line in '" + file + "', found none");
  return parsed;
}

/// The sources of a library; a duplicate line is an error.
static Expected<std::vector<BundleSource>> readLibrary(const BundleCommand &command) {
  // The prefix of its functions, like attn's own.
  if (!isCFunctionName(command.options.library) || !isCFunctionName(command.options.library + "_call"))
    return createStringError("expected the name of the library to be a C identifier that is no keyword, no name of the "
                             "C library or dlpack.h and neither attn nor begins with attn_, found '" +
                             command.options.library + "'; write --name=NAME");
  Expected<std::vector<Problem>> problems = readProblems(command.problemFile);
  if (!problems)
    return problems.takeError();
  std::vector<BundleSource> sources;
  for (const Problem &problem : *problems) {
    BundleSource source = makeLibrarySource(problem, command.options.library);
    for (const BundleSource &other : sources)
      if (other.problem == source.problem)
        return createStringError("expected each problem once in '" + command.problemFile + "', found '" +
                                 source.problem + "' twice");
    sources.push_back(std::move(source));
  }
  return sources;
}

static Expected<std::vector<BundleSource>> readSources(const BundleCommand &command) {
  if (!command.source)
    return readLibrary(command);
  Expected<std::unique_ptr<MemoryBuffer>> text = command.source->open();
  if (!text)
    return text.takeError();
  BundleSource source;
  source.name = (*text)->getBufferIdentifier().str();
  source.text = (*text)->getBuffer().str();
  source.problem = command.source->problem.value_or("");
  return std::vector<BundleSource>{std::move(source)};
}

int driver::compileBundle(const BundleCommand &command) {
  if (command.emit != EmitKind::Object && command.emit != EmitKind::Shared)
    return reportError(createStringError("expected --emit=obj or --emit=shared for several targets or a library, found "
                                         "another --emit; compile one kernel for one target for text"));
  if (command.output.empty() || command.output == "-")
    return reportError(createStringError("expected -o FILE for several targets or a library, found " +
                                         Twine(command.output.empty() ? "none" : "standard output")));
  Expected<std::vector<Variant>> variants = getVariants(command.targets);
  if (!variants)
    return reportError(variants.takeError());
  Expected<std::vector<BundleSource>> sources = readSources(command);
  if (!sources)
    return reportError(sources.takeError());
  Progress progress;
  BundleOptions bundleOptions = command.options;
  bundleOptions.onProgress = [&](size_t done, size_t all, StringRef name) {
    progress.update(double(done) / all, Twine(done) + " of " + Twine(all) + " compiled, " + name);
  };
  std::string diagnostics;
  raw_string_ostream os(diagnostics);
  Expected<Bundle> bundle = attn::compileBundle(*sources, *variants, bundleOptions, os);
  progress.clear();
  errs() << diagnostics;
  if (!bundle)
    return reportError(bundle.takeError());
  if (command.emit == EmitKind::Shared) {
    Expected<std::string> library =
        linkSharedLibrary(bundle->object, variants->front().target, command.options.compile.parallel);
    if (!library)
      return reportError(library.takeError());
    bundle->object = std::move(*library);
  }
  std::string targets = join(map_range(*variants, [](const Variant &x) { return x.target.describe(); }), ",");
  std::string entries = writeBundleEntries(bundle->kernels, *variants, command.options.library);
  return writeFiles({{command.output, bundle->object},
                     {command.header, writeHeader(getGuard(command.header), bundle->kernels, targets,
                                                  command.options.compile, entries)},
                     {command.manifest, writeBundleManifest(bundle->kernels, *variants, command.options)}},
                    command.source ? command.source->file : command.problemFile);
}
