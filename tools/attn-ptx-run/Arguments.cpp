//===- Arguments.cpp - kernel arguments as words --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace attn;
using namespace attn::ptx;

namespace {

constexpr int64_t kLargestBuffer = int64_t(1) << 34;
constexpr NpyType kNpyTypes[] = {NpyType::Float32, NpyType::Float64, NpyType::Float16, NpyType::BFloat16,
                                 NpyType::Bool,    NpyType::Int8,    NpyType::Int32,   NpyType::Int64};

Error expected(StringRef word, const Twine &what) {
  return createStringError("expected " + what + " in '--arg=" + word + "'; write one of\n" + kArgumentHelp);
}

Expected<NpyType> parseElementType(StringRef word, StringRef name) {
  for (NpyType type : kNpyTypes)
    if (getNpyTypeName(type) == name)
      return type;
  return expected(word, "float32, float64, float16, bfloat16, bool, int8, int32 or int64, found '" + name + "'");
}

/// TYPE:SIZES
Error parseShape(StringRef word, StringRef typeName, StringRef sizes, OutputArray &array, int64_t &bytes) {
  Expected<NpyType> type = parseElementType(word, typeName);
  if (!type)
    return type.takeError();
  array.type = *type;
  bytes = getNpyTypeSize(*type);
  SmallVector<StringRef, 4> parts;
  sizes.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size;
    if (part.getAsInteger(10, size) || size < 1 || MulOverflow(bytes, size, bytes) || bytes > kLargestBuffer)
      return expected(word, "sizes as 8x256x64 of at most 16 GiB together, found '" + sizes + "'");
    array.shape.push_back(size);
  }
  return Error::success();
}

ArrayRef<uint8_t> bytesOf(const NpyArray &array) {
  int64_t bytes = getNpyTypeSize(array.type);
  for (int64_t size : array.shape)
    bytes *= size;
  return {reinterpret_cast<const uint8_t *>(array.data), size_t(bytes)};
}

template <typename T> Error addInteger(StringRef word, StringRef text, KernelCall &call) {
  T value;
  if (text.getAsInteger(0, value))
    return expected(word, "an integer of " + Twine(8 * sizeof(T)) + " bits, found '" + text + "'");
  call.parameters.push_back(scalar(value));
  return Error::success();
}

Error addFloat(StringRef word, StringRef text, bool isDouble, KernelCall &call) {
  double value;
  if (text.getAsDouble(value))
    return expected(word, "a number, found '" + text + "'");
  call.parameters.push_back(isDouble ? scalar(value) : scalar(float(value)));
  return Error::success();
}

Error addBytes(StringRef word, StringRef text, KernelCall &call) {
  std::string bytes;
  if (!tryGetFromHex(text, bytes) || text.size() % 2)
    return expected(word, "pairs of hexadecimal digits, found '" + text + "'");
  call.parameters.emplace_back(bytes.begin(), bytes.end());
  return Error::success();
}

Error addInput(StringRef path, StringRef output, KernelCall &call) {
  Expected<NpyArray> array = readNpy(path);
  if (!array)
    return array.takeError();
  const ArrayRef<uint8_t> bytes = bytesOf(*array);
  const uint64_t address = call.memory.allocate(path.str(), bytes.size(), bytes);
  call.memory.at(address).isReadOnly = output.empty();
  call.parameters.push_back(pointer(address));
  if (!output.empty())
    call.outputs.push_back({output.str(), array->type, array->shape, address});
  return Error::success();
}

Error addOutput(StringRef word, StringRef path, StringRef type, StringRef sizes, bool isZero, KernelCall &call) {
  OutputArray array{path.str(), NpyType::Float32, {}, 0};
  int64_t bytes = 0;
  if (Error error = parseShape(word, type, sizes, array, bytes))
    return error;
  const std::vector<uint8_t> zeros(isZero ? bytes : 0);
  array.address = call.memory.allocate(path.empty() ? "zeros" : path.str(), bytes, zeros);
  call.parameters.push_back(pointer(array.address));
  if (!path.empty())
    call.outputs.push_back(std::move(array));
  return Error::success();
}

} // namespace

const char *const attn::ptx::kArgumentHelp =
    "  in:FILE.npy                 a buffer that the kernel may only read\n"
    "  inout:FILE.npy:OUT.npy      one that it changes\n"
    "  out:OUT.npy:TYPE:SIZES      one that it fills, as out:o.npy:bfloat16:8x256x64\n"
    "  zeros:TYPE:SIZES[:OUT.npy]  one of zeros\n"
    "  null                        a null pointer\n"
    "  i32:N i64:N u32:N u64:N f32:X f64:X  a number\n"
    "  bytes:HEX                   any other parameter\n";

Error attn::ptx::addArgument(StringRef word, KernelCall &call) {
  SmallVector<StringRef, 4> parts;
  word.split(parts, ':');
  const StringRef kind = parts[0];
  auto has = [&](size_t count) { return parts.size() == count; };
  if (kind == "in" && has(2))
    return addInput(parts[1], "", call);
  if (kind == "inout" && has(3) && !parts[2].empty())
    return addInput(parts[1], parts[2], call);
  if (kind == "out" && has(4) && !parts[1].empty())
    return addOutput(word, parts[1], parts[2], parts[3], false, call);
  if (kind == "zeros" && (has(3) || has(4)))
    return addOutput(word, has(4) ? parts[3] : "", parts[1], parts[2], true, call);
  if (kind == "null" && has(1)) {
    call.parameters.push_back(pointer(0));
    return Error::success();
  }
  if (!has(2))
    return expected(word, "a kind of argument and its parts");
  if (kind == "i32")
    return addInteger<int32_t>(word, parts[1], call);
  if (kind == "i64")
    return addInteger<int64_t>(word, parts[1], call);
  if (kind == "u32")
    return addInteger<uint32_t>(word, parts[1], call);
  if (kind == "u64")
    return addInteger<uint64_t>(word, parts[1], call);
  if (kind == "f32" || kind == "f64")
    return addFloat(word, parts[1], kind == "f64", call);
  if (kind == "bytes")
    return addBytes(word, parts[1], call);
  return expected(word, "a kind of argument, found '" + kind + "'");
}

Expected<Dim3> attn::ptx::parseDim3(StringRef flag, StringRef text) {
  uint32_t numbers[3] = {1, 1, 1};
  SmallVector<StringRef, 3> parts;
  text.split(parts, ',');
  bool isValid = parts.size() <= 3;
  for (size_t i = 0; isValid && i < parts.size(); ++i)
    isValid = !parts[i].getAsInteger(10, numbers[i]) && numbers[i] > 0;
  if (!isValid)
    return createStringError("expected --" + flag + "=X,Y,Z, up to three positive numbers, found '" + text + "'");
  return Dim3{numbers[0], numbers[1], numbers[2]};
}
