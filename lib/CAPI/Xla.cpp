//===- Xla.cpp - kernels as custom calls of XLA ---------------------------===//
//
// One handler of XLA's foreign function interface for all kernels, which python/attn/jax.py registers. A custom call
// names its kernel; its operands and results are the kernel's arguments in order, and an operand whose memory XLA has
// given to a result is the argument that the kernel updates, once. Names are those registered in this
// process: a program that XLA has cached on disk gets an error in another process, not a stale address.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn-c/attn.h"
#include "xla/ffi/api/c_api.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <mutex>
#include <optional>

using namespace llvm;

/// The attribute that names the kernel of a custom call.
static constexpr StringLiteral kernelAttribute = "kernel";
static constexpr size_t messageSize = 1024;
/// DLPack's kDLBool, which older headers lack.
static constexpr uint8_t boolCode = 6;

namespace {
struct Registered {
  const attn_module *module;
  std::string kernel;
};
} // namespace

static std::mutex registryMutex;
static StringMap<Registered> registry;

/// Registers the kernel of a module for custom calls under a name. The module must live as long as the process.
extern "C" ATTN_API void attn_xla_register(const char *name, const attn_module *module, const char *kernel) {
  std::lock_guard lock(registryMutex);
  registry[name] = {module, kernel};
}

static XLA_FFI_Error *makeError(const XLA_FFI_CallFrame *frame, XLA_FFI_Error_Code code, const std::string &message) {
  XLA_FFI_Error_Create_Args args{XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, message.c_str(), code};
  return frame->api->XLA_FFI_Error_Create(&args);
}

static std::optional<DLDataType> getElementType(XLA_FFI_DataType type) {
  switch (type) {
  case XLA_FFI_DataType_PRED: return DLDataType{boolCode, 8, 1};
  case XLA_FFI_DataType_S8: return DLDataType{kDLInt, 8, 1};
  case XLA_FFI_DataType_S32: return DLDataType{kDLInt, 32, 1};
  case XLA_FFI_DataType_S64: return DLDataType{kDLInt, 64, 1};
  case XLA_FFI_DataType_F16: return DLDataType{kDLFloat, 16, 1};
  case XLA_FFI_DataType_BF16: return DLDataType{kDLBfloat, 16, 1};
  case XLA_FFI_DataType_F32: return DLDataType{kDLFloat, 32, 1};
  case XLA_FFI_DataType_F64: return DLDataType{kDLFloat, 64, 1};
  default: return std::nullopt;
  }
}

/// The tensor of an operand or a result; none where no kernel has its element type.
static std::optional<DLTensor> getTensor(void *buffer) {
  auto *given = static_cast<XLA_FFI_Buffer *>(buffer);
  std::optional<DLDataType> type = getElementType(given->dtype);
  if (!type)
    return std::nullopt;
  // Empty buffers have no memory, but a null argument is an error to a kernel.
  void *data = given->data ? given->data : given;
  return DLTensor{data, {kDLCPU, 0}, static_cast<int32_t>(given->rank), *type, given->dims, nullptr, 0};
}

static StringRef getKernelName(const XLA_FFI_Attrs &attributes) {
  for (int64_t i = 0; i < attributes.size; ++i) {
    const XLA_FFI_ByteSpan &name = *attributes.names[i];
    if (attributes.types[i] != XLA_FFI_AttrType_STRING || StringRef(name.ptr, name.len) != kernelAttribute)
      continue;
    auto *value = static_cast<XLA_FFI_ByteSpan *>(attributes.attrs[i]);
    return StringRef(value->ptr, value->len);
  }
  return "";
}

/// Runs the kernel that a custom call names on its buffers.
static XLA_FFI_Error *execute(XLA_FFI_CallFrame *frame) {
  StringRef name = getKernelName(frame->attrs);
  Registered found;
  {
    std::lock_guard lock(registryMutex);
    found = registry.lookup(name);
  }
  if (!found.module)
    return makeError(frame, XLA_FFI_Error_Code_NOT_FOUND,
                     "expected a kernel of attn that this process has compiled, found '" + name.str() +
                         "'; trace the function in this process");
  auto isUpdated = [&](void *operand) {
    void *data = static_cast<XLA_FFI_Buffer *>(operand)->data;
    return data && any_of(ArrayRef(frame->rets.rets, frame->rets.size),
                          [&](void *result) { return static_cast<XLA_FFI_Buffer *>(result)->data == data; });
  };
  SmallVector<DLTensor> tensors;
  for (int64_t i = 0; i < frame->args.size + frame->rets.size; ++i) {
    bool isOperand = i < frame->args.size;
    if (isOperand && isUpdated(frame->args.args[i]))
      continue;
    std::optional<DLTensor> tensor =
        getTensor(isOperand ? frame->args.args[i] : frame->rets.rets[i - frame->args.size]);
    if (!tensor)
      return makeError(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT,
                       "expected numbers or bool of a type that kernels of attn take, found another in buffer " +
                           itostr(i));
    tensors.push_back(*tensor);
  }
  auto arguments = llvm::to_vector(llvm::map_range(tensors, [](const DLTensor &tensor) { return &tensor; }));
  char message[messageSize];
  attn_status status = attn_module_call(found.module, found.kernel.c_str(), arguments.data(),
                                        static_cast<int64_t>(arguments.size()), message, messageSize);
  if (status == ATTN_OK)
    return nullptr;
  bool isMemory = status == ATTN_NO_MEMORY;
  return makeError(frame, isMemory ? XLA_FFI_Error_Code_RESOURCE_EXHAUSTED : XLA_FFI_Error_Code_INVALID_ARGUMENT,
                   message);
}

/// The handler. XLA queries its version once, by a frame that is not a call.
extern "C" ATTN_API XLA_FFI_Error *attn_xla_call(XLA_FFI_CallFrame *frame) {
  for (XLA_FFI_Extension_Base *extension = frame->extension_start; extension; extension = extension->next) {
    if (extension->type != XLA_FFI_Extension_Metadata)
      continue;
    XLA_FFI_Metadata *metadata = reinterpret_cast<XLA_FFI_Metadata_Extension *>(extension)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = XLA_FFI_API_MINOR;
    metadata->traits = 0;
    return nullptr;
  }
  return frame->stage == XLA_FFI_ExecutionStage_EXECUTE ? execute(frame) : nullptr;
}
