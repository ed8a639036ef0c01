//===- Print.cpp - intermediate results of a compilation, as text ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "attn-c/attn_print.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace attn;

/// The phase of this name, which the target's pipeline has; null is the last one. Only IR text has phases.
static Expected<Phase> getPhase(attn_text what, const char *name, const TargetInfo &target) {
  if (what != ATTN_TEXT_IR && name)
    return createStringError("expected a phase with ATTN_TEXT_IR alone, found '" + Twine(name) + "'");
  auto isThere = [&](Phase phase) { return hasPhase(phase, target.gpu.has_value()); };
  std::optional<Phase> phase = name ? parsePhase(name) : Phase::Llvm;
  if (phase && isThere(*phase))
    return *phase;
  std::string names = join(map_range(make_filter_range(getAllPhases(), isThere), getPhaseName), ", ");
  return createStringError("expected a phase of the way to '" + target.name + "', one of " + names + ", found '" +
                           name + "'");
}

/// PTX of all kernels.
static Expected<std::string> printPTX(Compiler &compiler) {
  Expected<std::vector<Compiler::GpuImage>> images = compiler.emitImages();
  if (!images)
    return images.takeError();
  return join(map_range(*images, [](const Compiler::GpuImage &image) { return image.ptx; }), "\n");
}

static Expected<std::string> print(attn_source_kind kind, StringRef data, CompileOptions options, attn_text what,
                                   Phase last, std::string &diagnostics) {
  options.embedCubin = false; // the text is the compiler's own
  options.remarks = what == ATTN_TEXT_REMARKS ? RemarkFilter::All : RemarkFilter::None;
  Expected<std::unique_ptr<MemoryBuffer>> source = openSource(kind, data);
  if (!source)
    return source.takeError();
  raw_string_ostream stream(diagnostics);
  Expected<std::unique_ptr<Compiler>> compiler = Compiler::create(options, stream);
  if (!compiler)
    return compiler.takeError();
  if (failed((*compiler)->parse(std::move(*source))) || failed((*compiler)->run(last)))
    return createStringError("compilation failed");
  if (what == ATTN_TEXT_REMARKS)
    return diagnostics;
  if (what == ATTN_TEXT_ASSEMBLY)
    return (*compiler)->getTarget().gpu ? printPTX(**compiler)
                                        : (*compiler)->emit(FileKind::Assembly, ModulePart::ForThisProcess);
  std::string text;
  raw_string_ostream os(text);
  (*compiler)->getModule()->print(os);
  return text;
}

extern "C" attn_status attn_print(attn_source_kind kind, const char *data, size_t size,
                                  const attn_compile_options *given, attn_text what, const char *phase, char **text,
                                  char **message) {
  if (message)
    *message = nullptr;
  if (text)
    *text = nullptr;
  auto refuse = [&](attn_status status, const std::string &reason) {
    if (message)
      *message = strdup(reason.c_str());
    return status;
  };
  if (!text || !data)
    return refuse(ATTN_NULL_ARGUMENT, "expected a source and a place for the text, found null");
  if (what != ATTN_TEXT_IR && what != ATTN_TEXT_ASSEMBLY && what != ATTN_TEXT_REMARKS)
    return refuse(ATTN_WRONG_VALUE, "expected ATTN_TEXT_IR, ATTN_TEXT_ASSEMBLY or ATTN_TEXT_REMARKS, found " +
                                        std::to_string(static_cast<int>(what)));
  Expected<CompileOptions> options = getCompileOptions(given);
  if (!options)
    return refuse(ATTN_COMPILE_ERROR, toString(options.takeError()));
  Expected<TargetInfo> target = TargetInfo::get(options->target);
  if (!target)
    return refuse(ATTN_COMPILE_ERROR, toString(target.takeError()));
  Expected<Phase> last = getPhase(what, phase, *target);
  if (!last)
    return refuse(ATTN_WRONG_VALUE, toString(last.takeError()));
  std::string diagnostics;
  Expected<std::string> printed = print(kind, StringRef(data, size), *options, what, *last, diagnostics);
  if (!printed)
    return refuse(ATTN_COMPILE_ERROR, diagnostics + toString(printed.takeError()));
  *text = strdup(printed->c_str());
  return ATTN_OK;
}
