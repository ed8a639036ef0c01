//===- ExternalData.cpp - weights in files beside the model ---------------===//
//
// TensorProto.external_data: location, offset and length. A location must be
// inside the folder of the model, also after following links.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ExternalData.h"
#include "OnnxChecks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

namespace path = llvm::sys::path;

namespace {

/// Opens each file once.
class Loader {
public:
  Loader(Model &model, StringRef folder, StringRef name) : model(model), folder(folder), name(name) {}
  Error load(StringRef tensorName, TensorData &tensor);

private:
  Expected<StringRef> open(StringRef location);

  Model &model;
  StringRef folder, name;
};

} // namespace

static StringRef findEntry(const TensorData &tensor, StringRef key) {
  for (const ExternalEntry &entry : tensor.external)
    if (entry.key == key)
      return entry.value;
  return "";
}

/// The bytes of a file; the error does not name the tensor.
Expected<StringRef> Loader::open(StringRef location) {
  auto &known = model.files[location];
  if (known)
    return known->getBuffer();
  bool leaves = llvm::is_contained(llvm::make_range(path::begin(location), path::end(location)), "..");
  if (location.empty() || path::is_absolute(location) || leaves || location.contains('\0'))
    return llvm::createStringError("expected a location in the folder of the model, found " + quote(location));
  llvm::SmallString<256> file(folder.empty() ? "." : folder), root, target;
  if (std::error_code error = llvm::sys::fs::real_path(file, root))
    return llvm::createStringError("expected the folder " + quote(file) + ", found: " + error.message());
  path::append(file, location);
  if (std::error_code error = llvm::sys::fs::real_path(file, target))
    return llvm::createStringError("expected a file " + quote(location) +
                                   " in the folder of the model, found: " + error.message());
  path::append(root, "");
  if (!target.starts_with(root))
    return llvm::createStringError("expected a file in the folder of the model, found " + quote(location) +
                                   ", a link to " + quote(target) + "; write a copy of it in its place");
  if (!llvm::sys::fs::is_regular_file(target))
    return llvm::createStringError("expected a file, found " + quote(location) + ", which is none");
  auto buffer = llvm::MemoryBuffer::getFile(target, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError("expected a file " + quote(location) +
                                   " that can be read, found: " + buffer.getError().message());
  known = std::move(*buffer);
  return known->getBuffer();
}

Error Loader::load(StringRef tensorName, TensorData &tensor) {
  StringRef location = findEntry(tensor, "location");
  auto fail = [&](const llvm::Twine &reason) {
    return llvm::createStringError(name + ": external data of " + quote(tensorName) + ": " + reason);
  };
  Expected<StringRef> bytes = open(location);
  if (!bytes)
    return fail(llvm::toString(bytes.takeError()));
  uint64_t offset = 0, length = 0;
  StringRef from = findEntry(tensor, "offset"), size = findEntry(tensor, "length");
  if (!from.empty() && from.getAsInteger(10, offset))
    return fail("expected offset as a whole number, found " + quote(from));
  if (offset > bytes->size())
    return fail(formatv("expected an offset of at most {0}, the size of {1}, found {2}", bytes->size(), quote(location),
                        offset));
  length = bytes->size() - offset;
  if (!size.empty() && size.getAsInteger(10, length))
    return fail("expected length as a whole number, found " + quote(size));
  if (length > bytes->size() - offset)
    return fail(formatv("expected {0} bytes at {1} in {2}, found {3}", length, offset, quote(location),
                        bytes->size() - offset));
  tensor.bytes = bytes->substr(offset, length);
  tensor.integers.clear();
  tensor.isExternal = false;
  if (Error error = checkTensor(tensor))
    return fail(quote(location) + ": " + llvm::toString(std::move(error)));
  return Error::success();
}

Error attn::onnx::loadExternalData(Model &model, StringRef folder, StringRef name) {
  Loader loader(model, folder, name);
  for (auto &entry : model.initializers)
    if (entry.second.isExternal)
      if (Error error = loader.load(entry.first(), entry.second))
        return error;
  for (Node &node : model.nodes)
    for (Attribute &attribute : node.attributes)
      if (attribute.tensor.isExternal)
        if (Error error = loader.load(node.outputs.empty() ? node.name : node.outputs[0], attribute.tensor))
          return error;
  return Error::success();
}
