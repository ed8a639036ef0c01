//===- TensorMaps.cpp - cuTensorMapEncodeTiled of the emulated driver -----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CudaEmulator.h"
#include "PTXEmulator/TensorMap.h"

#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <iterator>

using namespace llvm;
using namespace attn::ptx;

namespace {
/// From cuda.h.
enum Result { Success = 0, InvalidValue = 1 };
/// In the order of CUtensorMapDataType: the integers, then float16, 32, 64, bfloat16, float32 and tfloat32 twice.
constexpr uint8_t kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
constexpr int kLargestSwizzle = int(TensorSwizzle::Bytes128);

int refuse(const Twine &message) {
  errs() << "emulated driver: cuTensorMapEncodeTiled: " << message << "\n";
  return InvalidValue;
}
} // namespace

int attn::ptx::encodeTiledTensorMap(void *result, int type, unsigned rank, void *address, const uint64_t *sizes,
                                    const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides,
                                    int interleave, int swizzle, int promotion, int fill) {
  if (!result || reinterpret_cast<uintptr_t>(result) % kTensorMapAlign != 0)
    return refuse("expected a map at a multiple of 64 bytes");
  if (type < 0 || size_t(type) >= std::size(kElementBytes))
    return refuse("expected a type of elements, found " + Twine(type));
  if (rank < 1 || rank > kMostDimensions)
    return refuse("expected 1 to 5 dimensions, found " + Twine(rank));
  if (swizzle < 0 || swizzle > kLargestSwizzle)
    return refuse("expected a swizzle of 0, 32, 64 or 128 bytes, found number " + Twine(swizzle));
  if (interleave != 0 || fill != 0)
    return refuse("interleaved layouts and NaN beyond the tensor are not emulated");
  TensorMap map;
  map.rank = uint8_t(rank);
  map.elementBytes = kElementBytes[type];
  map.swizzle = TensorSwizzle(swizzle);
  map.address = reinterpret_cast<uint64_t>(address);
  for (unsigned i = 0; i < rank; ++i) {
    if (elementStrides[i] != 1)
      return refuse("strides of elements are not emulated");
    map.sizes[i] = sizes[i];
    map.strides[i] = i == 0 ? map.elementBytes : strides[i - 1];
    map.box[i] = box[i];
  }
  if (Error error = checkTensorMap(map))
    return refuse(toString(std::move(error)));
  const auto bytes = encodeTensorMap(map);
  std::memcpy(result, bytes.data(), bytes.size());
  return Success;
}
