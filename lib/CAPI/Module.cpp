//===- Module.cpp - from object and manifest to a module ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "attn/Compiler/Bundle.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace attn;

/// Why this processor cannot run code for a target; empty where it can.
static std::string findWrongProcessor(const json::Object &compiled) {
  StringRef target = compiled.getString("name").value_or("");
  if (target == "host") {
    TargetInfo host = cantFail(TargetInfo::get(target));
    std::optional<StringRef> cpu = compiled.getString("cpu");
    if (cpu == StringRef(host.cpu) && compiled.getString("features") == StringRef(host.features))
      return "";
    return ("expected the processor that the code was made for, " + cpu.value_or("none") + ", found " + host.cpu +
            " or other features of it; compile it here")
        .str();
  }
  Expected<TargetInfo> info = TargetInfo::get(target);
  if (!info)
    return toString(info.takeError());
  return toString(checkProcessor(*info));
}

static Error addEntries(attn_module &module, const json::Object &kernel) {
  std::optional<StringRef> name = kernel.getString("name");
  if (!name)
    return createStringError("expected a name of each kernel in the manifest, found none");
  Expected<void *> entry = module.object->lookup(getCheckedName(*name));
  if (!entry)
    return entry.takeError();
  Expected<ResultShapes> results = ResultShapes::read(kernel);
  if (!results)
    return results.takeError();
  Entries entries{*entry, nullptr, std::make_shared<ResultShapes>(std::move(*results))};
  if (module.isGpu) {
    Expected<void *> bytes = module.object->lookup(getCheckedName(getWorkspaceBytesName(*name)));
    if (!bytes)
      return bytes.takeError();
    entries.bytes = *bytes;
  }
  module.entries[*name] = entries;
  if (!module.first.checked)
    module.first = entries;
  return Error::success();
}

Expected<std::unique_ptr<attn_module>> attn::createModule(std::string manifest, StringRef object) {
  Expected<json::Value> parsed = json::parse(manifest);
  if (!parsed)
    return parsed.takeError();
  const json::Object *root = parsed->getAsObject();
  const json::Object *target = root ? root->getObject("target") : nullptr;
  const json::Array *kernels = root ? root->getArray("kernels") : nullptr;
  std::optional<StringRef> targetName = target ? target->getString("name") : std::nullopt;
  if (!targetName || !kernels)
    return createStringError("expected a target and kernels in the manifest, found none");

  auto module = std::make_unique<attn_module>();
  Expected<std::unique_ptr<LoadedObject>> loaded = LoadedObject::load(object);
  if (!loaded)
    return loaded.takeError();
  module->object = std::move(*loaded);
  module->isGpu = targetName->starts_with("sm_");
  for (const json::Value &kernel : *kernels)
    if (const json::Object *described = kernel.getAsObject())
      if (Error error = addEntries(*module, *described))
        return error;
  if (!module->isGpu)
    module->wrongProcessor = findWrongProcessor(*target);
  module->manifest = std::move(manifest);
  return module;
}
