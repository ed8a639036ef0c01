//===- Image.cpp - modules as bytes, and keys of compilations -------------===//
//
// An image is a header, the manifest and the object, in this order.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "attn-c/attn_image.h"
#include "attn/CodeGen/GpuCodeGen.h"
#include "attn/Support/BuildId.h"
#include "attn/Support/Version.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/xxhash.h"
#include "llvm/TargetParser/Host.h"
#include <cstring>

using namespace llvm;
using namespace attn;

namespace {
struct ImageHeader {
  char magic[8];
  uint64_t build; ///< hash of the build id
  uint64_t manifestSize, codeSize;
  XXH128_hash_t checksum; ///< of everything before it and after the header
};
} // namespace

static constexpr char kMagic[8] = {'a', 't', 't', 'n', 'i', 'm', 'g', '1'};

static XXH128_hash_t getChecksum(const ImageHeader &header, StringRef body) {
  XXH128_hash_t sum = xxh3_128bits(arrayRefFromStringRef(body));
  uint64_t front = xxh3_64bits(ArrayRef(reinterpret_cast<const uint8_t *>(&header), offsetof(ImageHeader, checksum)));
  sum.low64 ^= front;
  return sum;
}

/// The builds of this library and of the MLIR and LLVM that it runs with.
static const std::string &getBuildId() {
  static const std::string id =
      getBuildIds({reinterpret_cast<uintptr_t>(&attn_compile_key), reinterpret_cast<uintptr_t>(&mlir::verify),
                   reinterpret_cast<uintptr_t>(&sys::getHostCPUFeatures)});
  return id;
}

static attn_status refuse(attn_status status, const Twine &text, char **message) {
  if (message)
    *message = strdup(text.str().c_str());
  return status;
}

/// Adds a field to a hash, with its length, so that different lists of fields never have the same bytes.
static void addField(SHA256 &hash, StringRef field) {
  hash.update((Twine(field.size()) + ":").str());
  hash.update(field);
}

/// Identifies the ptxas that makes a GPU's machine code; empty where there is none.
static std::string describePtxas(const CompileOptions &options) {
  std::string path = findPtxas(options.ptxas);
  sys::fs::file_status status;
  if (path.empty() || sys::fs::status(path, status))
    return "";
  return (path + ":" + Twine(status.getSize()) + ":" +
          Twine(status.getLastModificationTime().time_since_epoch().count()))
      .str();
}

extern "C" {

attn_status attn_compile_key(attn_source_kind kind, const char *data, size_t size, const attn_compile_options *given,
                             char key[ATTN_KEY_SIZE], char **message) {
  if (message)
    *message = nullptr;
  if (!data || !key)
    return refuse(ATTN_NULL_ARGUMENT, "expected a source and a place for the key, found null", message);
  Expected<CompileOptions> options = getCompileOptions(given);
  if (!options)
    return refuse(ATTN_COMPILE_ERROR, toString(options.takeError()), message);
  Expected<TargetInfo> target = TargetInfo::get(options->target);
  if (!target)
    return refuse(ATTN_COMPILE_ERROR, toString(target.takeError()), message);
  SHA256 hash;
  for (StringRef field : {StringRef(kVersion), StringRef(getBuildId()), StringRef(target->name), StringRef(target->cpu),
                          StringRef(target->features)})
    addField(hash, field);
  addField(hash, target->gpu ? describePtxas(*options) : "");
  addField(hash, {options->parallel ? "openmp" : "none"});
  for (bool flag : {options->reference, options->failOnFallback})
    addField(hash, flag ? "1" : "0");
  addField(hash, std::to_string(kind));
  // A path does not identify the file, nor the files that a model refers to.
  std::unique_ptr<MemoryBuffer> read;
  if (kind == ATTN_SOURCE_ONNX_FILE) {
    Expected<std::unique_ptr<MemoryBuffer>> source = openSource(kind, StringRef(data, size));
    if (!source)
      return refuse(ATTN_COMPILE_ERROR, toString(source.takeError()), message);
    read = std::move(*source);
  }
  addField(hash, read ? read->getBuffer() : StringRef(data, size));
  std::string digits = toHex(hash.final(), /*LowerCase=*/true);
  std::memcpy(key, digits.c_str(), ATTN_KEY_SIZE);
  return ATTN_OK;
}

char *attn_module_take_image(attn_module *module, size_t *size) {
  if (size)
    *size = 0;
  if (!module || !size || module->code.empty())
    return nullptr;
  std::string body = module->manifest + module->code;
  ImageHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.build = xxh3_64bits(getBuildId());
  header.manifestSize = module->manifest.size();
  header.codeSize = module->code.size();
  header.checksum = getChecksum(header, body);
  module->code = std::string(); // frees its memory
  char *image = static_cast<char *>(malloc(sizeof(header) + body.size()));
  if (!image)
    return nullptr;
  std::memcpy(image, &header, sizeof(header));
  std::memcpy(image + sizeof(header), body.data(), body.size());
  *size = sizeof(header) + body.size();
  return image;
}

attn_status attn_module_load(const char *image, size_t size, attn_module **module, char **message) {
  if (message)
    *message = nullptr;
  if (module)
    *module = nullptr;
  if (!module || !image)
    return refuse(ATTN_NULL_ARGUMENT, "expected an image and a place for the module, found null", message);
  ImageHeader header;
  if (size < sizeof(header) || std::memcmp(image, kMagic, sizeof(kMagic)) != 0)
    return refuse(ATTN_WRONG_VALUE, "expected an image of a module, found other bytes", message);
  std::memcpy(&header, image, sizeof(header));
  StringRef body(image + sizeof(header), size - sizeof(header));
  if (header.manifestSize > body.size() || header.codeSize != body.size() - header.manifestSize ||
      getChecksum(header, body) != header.checksum)
    return refuse(ATTN_WRONG_VALUE, "expected an image with the checksum that it was made with, found a damaged one",
                  message);
  if (header.build != xxh3_64bits(getBuildId()))
    return refuse(ATTN_WRONG_VALUE, "expected an image that this build has made, found one of another", message);
  Expected<std::unique_ptr<attn_module>> loaded =
      createModule(body.take_front(header.manifestSize).str(), body.drop_front(header.manifestSize));
  if (!loaded)
    return refuse(ATTN_WRONG_VALUE, toString(loaded.takeError()), message);
  *module = loaded->release();
  return ATTN_OK;
}
}
