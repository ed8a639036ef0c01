//===- WireFormat.h - fields of protobuf messages ---------------*- C++ -*-===//
//
// A message is a sequence of fields: a varint with number and wire type, then
// the value.
//
// Source: Protocol Buffers documentation, "Encoding".
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_WIREFORMAT_H
#define ATTN_LIB_ONNX_WIREFORMAT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace attn::onnx {

enum class WireType : unsigned { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Field {
  uint64_t number = 0;
  WireType wire = WireType::Varint;
  uint64_t value = 0;    ///< of a number
  llvm::StringRef bytes; ///< of the others
  const char *start = nullptr;
};

/// Reads the fields of a file; errors name the file and the byte.
class WireReader {
public:
  WireReader(llvm::StringRef file, llvm::StringRef name) : file(file), name(name) {}

  /// Calls `take` for each field of a message.
  llvm::Error readFields(llvm::StringRef message, llvm::StringRef what,
                         llvm::function_ref<llvm::Error(const Field &)> take);
  llvm::Error readVarint(llvm::StringRef &rest, llvm::StringRef what, uint64_t &value);

  // Stores a field's value; fails where it has another wire type.
  llvm::Error take(const Field &field, llvm::StringRef &into);
  llvm::Error take(const Field &field, int64_t &into);
  llvm::Error take(const Field &field, float &into);

  llvm::Error fail(const char *place, const llvm::Twine &text);

protected:
  llvm::StringRef file, name;

private:
  llvm::Error readField(llvm::StringRef &rest, llvm::StringRef what, Field &field);

  size_t numFields = 0;
};

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_WIREFORMAT_H
