//===- WireFormat.cpp - fields of protobuf messages -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "WireFormat.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::formatv;
using llvm::StringRef;

/// Far above real models; bounds the memory for a file of millions of empty messages.
static constexpr size_t kMaxFields = size_t(1) << 20;
/// A varint has seven bits a byte.
static constexpr unsigned kMaxVarintBytes = 10;

Error WireReader::fail(const char *place, const llvm::Twine &text) {
  return llvm::createStringError(name + ": byte " + llvm::Twine(place - file.data()) + ": " + text);
}

Error WireReader::readVarint(StringRef &rest, StringRef what, uint64_t &value) {
  const char *start = rest.data();
  value = 0;
  for (unsigned i = 0; i < kMaxVarintBytes; ++i) {
    if (rest.empty())
      return fail(start,
                  "expected a whole number in " + what + ", found the end; the file is cut short or no ONNX model");
    uint8_t byte = rest.front();
    rest = rest.drop_front();
    value |= uint64_t(byte & 0x7f) << (7 * i);
    if (!(byte & 0x80))
      return Error::success();
  }
  return fail(start, "expected a number of at most " + llvm::Twine(kMaxVarintBytes) + " bytes in " + what +
                         ", found a longer one; this is no ONNX model");
}

Error WireReader::readField(StringRef &rest, StringRef what, Field &field) {
  field.start = rest.data();
  if (++numFields > kMaxFields)
    return fail(field.start, "expected a model of at most " + llvm::Twine(kMaxFields) + " fields, found more");
  uint64_t tag;
  if (Error error = readVarint(rest, what, tag))
    return error;
  field.number = tag >> 3;
  field.wire = WireType(tag & 7);
  uint64_t length;
  switch (field.wire) {
  case WireType::Varint: return readVarint(rest, what, field.value);
  case WireType::Fixed64: length = sizeof(uint64_t); break;
  case WireType::Fixed32: length = sizeof(uint32_t); break;
  case WireType::Bytes:
    if (Error error = readVarint(rest, what, length))
      return error;
    break;
  default:
    return fail(field.start, formatv("expected wire type 0, 1, 2 or 5 in {0}, found {1}; this is no ONNX model", what,
                                     unsigned(field.wire)));
  }
  if (length > rest.size())
    return fail(field.start, formatv("expected {0} bytes of field {1} in {2}, found {3}; the file is cut short or no "
                                     "ONNX model",
                                     length, field.number, what, rest.size()));
  field.bytes = rest.take_front(length);
  rest = rest.drop_front(length);
  return Error::success();
}

Error WireReader::readFields(StringRef message, StringRef what, llvm::function_ref<Error(const Field &)> take) {
  while (!message.empty()) {
    Field field;
    if (Error error = readField(message, what, field))
      return error;
    if (Error error = take(field))
      return error;
  }
  return Error::success();
}

Error WireReader::take(const Field &field, StringRef &into) {
  if (field.wire != WireType::Bytes)
    return fail(field.start, formatv("expected bytes in field {0}, found a number", field.number));
  into = field.bytes;
  return Error::success();
}

Error WireReader::take(const Field &field, int64_t &into) {
  if (field.wire != WireType::Varint)
    return fail(field.start,
                formatv("expected an integer in field {0}, found wire type {1}", field.number, unsigned(field.wire)));
  into = int64_t(field.value);
  return Error::success();
}

Error WireReader::take(const Field &field, float &into) {
  if (field.wire != WireType::Fixed32)
    return fail(field.start,
                formatv("expected a float in field {0}, found wire type {1}", field.number, unsigned(field.wire)));
  into = llvm::bit_cast<float>(llvm::support::endian::read32le(field.bytes.data()));
  return Error::success();
}
