/*===- CheckArguments.c - the argument check of checked entries ----------------===
 *
 * Compares DLPack tensors with the specifications for which a kernel was compiled, before anything is read or written.
 * Built twice: into the runtime, and as LLVM bitcode that the compiler links into each kernel, so that an emitted
 * object needs nothing but libc. Uses no allocation, no state, and of libc only vsnprintf.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "CheckSizes.h"
#include "CheckValues.h"
#include "Message.h"
#include "attn-c/attn.h"
#include "attn-c/attn_runtime.h"

#include <inttypes.h>

static void appendSizes(Message *message, const int64_t *sizes, int32_t rank) {
  append(message, "[");
  for (int32_t dim = 0; dim < rank; ++dim) {
    append(message, "%s", dim ? ", " : "");
    if (sizes[dim] == -1)
      append(message, "?");
    else
      append(message, "%" PRId64, sizes[dim]);
  }
  append(message, "]");
}

static void appendType(Message *message, unsigned code, unsigned bits, unsigned lanes) {
  static const char *const names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  if (code == ATTN_DLPACK_FLOAT8_E4M3FN)
    append(message, "float8_e4m3fn");
  else if (code == ATTN_DLPACK_FLOAT8_E5M2)
    append(message, "float8_e5m2");
  else if (code >= sizeof(names) / sizeof(names[0]))
    append(message, "type code %u with %u bits", code, bits);
  else if (code == ATTN_DLPACK_BOOL && bits == 8)
    append(message, "bool");
  else
    append(message, "%s%u", names[code], bits);
  if (lanes != 1)
    append(message, " of %u lanes", lanes);
}

static int isEmpty(const DLTensor *tensor) {
  for (int32_t dim = 0; dim < tensor->ndim; ++dim)
    if (tensor->shape[dim] == 0)
      return 1;
  return 0;
}

/* The size that an earlier dimension gave to the symbol of (argument, dim), or -1 if this is its first use. */
static int64_t findSymbol(const DLTensor *const *arguments, const attn_argument_spec *specs, int64_t argument,
                          int32_t dim) {
  int32_t symbol = specs[argument].symbols[dim];
  for (int64_t other = 0; other <= argument; ++other) {
    if (!specs[other].symbols)
      continue;
    int32_t end = other == argument ? dim : specs[other].rank;
    for (int32_t otherDim = 0; otherDim < end; ++otherDim)
      if (specs[other].shape[otherDim] == -1 && specs[other].symbols[otherDim] == symbol)
        return arguments[other]->shape[otherDim];
  }
  return -1;
}

static int32_t checkNull(const DLTensor *tensor, int64_t index, const attn_argument_spec *spec, Message *message) {
  const char *what = NULL;
  if (!tensor)
    what = "a tensor";
  else if (tensor->ndim > 0 && !tensor->shape)
    what = "a shape";
  else if (!tensor->data && !isEmpty(tensor))
    what = "data";
  if (!what)
    return ATTN_OK;
  appendArgument(message, index, spec);
  append(message, ": expected %s, found a null pointer", what);
  return ATTN_NULL_ARGUMENT;
}

static int32_t checkShape(const DLTensor *const *arguments, const attn_argument_spec *specs, int64_t index,
                          Message *message) {
  const attn_argument_spec *spec = &specs[index];
  const DLTensor *tensor = arguments[index];
  if (tensor->ndim != spec->rank) {
    appendArgument(message, index, spec);
    append(message, ": expected %" PRId32 " dimensions, found %" PRId32, spec->rank, tensor->ndim);
    return ATTN_WRONG_RANK;
  }
  int64_t bytes = (spec->bits + 7) / 8;
  int overflows = 0;
  for (int32_t dim = 0; dim < spec->rank; ++dim) {
    int64_t size = tensor->shape[dim];
    if (spec->shape[dim] == -1 ? size < 0 : size != spec->shape[dim]) {
      appendArgument(message, index, spec);
      append(message, ": expected shape ");
      appendSizes(message, spec->shape, spec->rank);
      append(message, ", found ");
      appendSizes(message, tensor->shape, tensor->ndim);
      return ATTN_WRONG_SHAPE;
    }
    if (spec->shape[dim] == -1 && spec->symbols && spec->symbols[dim] >= 0) {
      int64_t known = findSymbol(arguments, specs, index, dim);
      if (known != -1 && known != size) {
        appendArgument(message, index, spec);
        append(message,
               ": expected size %" PRId64 " in dimension %" PRId32 ", as an earlier dimension has, found %" PRId64,
               known, dim, size);
        return ATTN_WRONG_SHAPE;
      }
    }
    overflows |= __builtin_mul_overflow(bytes, size, &bytes);
  }
  if (overflows && !isEmpty(tensor)) {
    appendArgument(message, index, spec);
    append(message, ": expected less than 2^63 bytes, found shape ");
    appendSizes(message, tensor->shape, tensor->ndim);
    return ATTN_WRONG_SHAPE;
  }
  return ATTN_OK;
}

static int32_t checkType(DLDataType type, int64_t index, const attn_argument_spec *spec, Message *message) {
  int isBool = spec->type_code == ATTN_DLPACK_BOOL;
  int codeMatches = type.code == spec->type_code || (isBool && type.code == kDLUInt);
  if (codeMatches && type.bits == spec->bits && type.lanes == 1)
    return ATTN_OK;
  appendArgument(message, index, spec);
  append(message, ": expected type ");
  appendType(message, spec->type_code, spec->bits, 1);
  append(message, "%s, found ", isBool ? " or uint8" : "");
  appendType(message, type.code, type.bits, type.lanes);
  return ATTN_WRONG_TYPE;
}

int64_t attn_get_stride(const DLTensor *tensor, int64_t dim) {
  if (tensor->strides)
    return tensor->strides[dim];
  int64_t stride = 1;
  for (int64_t next = dim + 1; next < tensor->ndim; ++next)
    stride *= tensor->shape[next];
  return stride;
}

static int32_t checkStrides(const DLTensor *tensor, int64_t index, const attn_argument_spec *spec, Message *message) {
  if (!tensor->strides || isEmpty(tensor))
    return ATTN_OK;
  int64_t stride = 1;
  int32_t first = spec->is_strided ? tensor->ndim - 1 : 0;
  for (int32_t dim = tensor->ndim - 1; dim >= first; --dim) {
    if (tensor->shape[dim] != 1 && tensor->strides[dim] != stride) {
      appendArgument(message, index, spec);
      append(message, ": expected %s strides (%" PRId64 " in dimension %" PRId32 "), found [",
             spec->is_strided ? "row-contiguous" : "C-contiguous", stride, dim);
      for (int32_t each = 0; each < tensor->ndim; ++each)
        append(message, "%s%" PRId64, each ? ", " : "", tensor->strides[each]);
      append(message, "]");
      return ATTN_WRONG_STRIDES;
    }
    stride *= tensor->shape[dim];
  }
  return ATTN_OK;
}

static int64_t magnitude(int64_t value) { return value < 0 ? -value : value; }

/* In a written tensor, no two elements may share an address. In ascending order, each stride must exceed the span of
 * the smaller ones. */
static int32_t checkOwnPlaces(const DLTensor *tensor, int64_t index, const attn_argument_spec *spec, Message *message) {
  if (!spec->is_output || !spec->is_strided || !tensor->strides || isEmpty(tensor))
    return ATTN_OK;
  uint64_t done = 0;
  for (int64_t reached = 1;;) {
    int32_t next = -1;
    for (int32_t dim = 0; dim < tensor->ndim; ++dim)
      if (tensor->shape[dim] > 1 && !(done >> dim & 1) &&
          (next < 0 || magnitude(tensor->strides[dim]) < magnitude(tensor->strides[next])))
        next = dim;
    if (next < 0)
      return ATTN_OK;
    if (magnitude(tensor->strides[next]) < reached) {
      appendArgument(message, index, spec);
      append(message, ": expected memory of its own for each element, found strides that overlap; pass a copy");
      return ATTN_WRONG_STRIDES;
    }
    reached += magnitude(tensor->strides[next]) * (tensor->shape[next] - 1);
    done |= (uint64_t)1 << next;
  }
}

static uintptr_t firstByte(const DLTensor *tensor) { return (uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset; }

/* The bytes from the element at the lowest address to that at the highest; strides may be 0 or negative. */
typedef struct Extent {
  uintptr_t first, count;
} Extent;

static Extent getExtent(const DLTensor *tensor) {
  uintptr_t bytes = (tensor->dtype.bits + 7) / 8;
  Extent extent = {firstByte(tensor), isEmpty(tensor) ? 0 : bytes};
  for (int32_t dim = 0; dim < tensor->ndim && extent.count > 0; ++dim) {
    int64_t stride = attn_get_stride(tensor, dim);
    uintptr_t length = (uintptr_t)(tensor->shape[dim] - 1) * bytes * (uintptr_t)(stride < 0 ? -stride : stride);
    extent.count += length;
    extent.first -= stride < 0 ? length : 0;
  }
  return extent;
}

static int32_t checkPlace(const DLTensor *tensor, int64_t index, const attn_argument_spec *spec, Message *message) {
  uintptr_t alignment = spec->alignment > 0 ? (uintptr_t)spec->alignment : (uintptr_t)((spec->bits + 7) / 8);
  if (!isEmpty(tensor) && firstByte(tensor) % alignment != 0) {
    appendArgument(message, index, spec);
    append(message, ": expected data aligned to %" PRIuPTR " bytes, found %" PRIuPTR " more", alignment,
           firstByte(tensor) % alignment);
    return ATTN_WRONG_ALIGNMENT;
  }
  int expected = spec->device_type ? spec->device_type : (int)kDLCPU, found = (int)tensor->device.device_type;
  if (found != expected) {
    appendArgument(message, index, spec);
    append(message, ": expected device type %d (%s), found %d", expected, expected == kDLCPU ? "CPU" : "CUDA", found);
    return ATTN_WRONG_DEVICE;
  }
  return ATTN_OK;
}

static int32_t checkArgument(const DLTensor *const *arguments, const attn_argument_spec *specs, int64_t index,
                             Message *message) {
  const DLTensor *tensor = arguments[index];
  const attn_argument_spec *spec = &specs[index];
  int32_t status = checkNull(tensor, index, spec, message);
  if (status == ATTN_OK)
    status = checkShape(arguments, specs, index, message);
  if (status == ATTN_OK)
    status = checkSizes(arguments, specs, index, message);
  if (status == ATTN_OK)
    status = checkType(tensor->dtype, index, spec, message);
  if (status == ATTN_OK)
    status = checkStrides(tensor, index, spec, message);
  if (status == ATTN_OK)
    status = checkOwnPlaces(tensor, index, spec, message);
  if (status == ATTN_OK)
    status = checkPlace(tensor, index, spec, message);
  return status;
}

static int overlaps(const DLTensor *a, const DLTensor *b) {
  Extent extentA = getExtent(a), extentB = getExtent(b);
  /* Differences instead of ends: a tensor may end at the last address. An empty one overlaps nothing. */
  return extentA.first <= extentB.first ? extentB.first - extentA.first < extentA.count && extentB.count > 0
                                        : extentA.first - extentB.first < extentB.count && extentA.count > 0;
}

static int32_t checkAliasing(const DLTensor *const *arguments, int64_t count, const attn_argument_spec *specs,
                             Message *message) {
  for (int64_t output = 0; output < count; ++output) {
    if (!specs[output].is_output)
      continue;
    for (int64_t other = 0; other < count; ++other) {
      if (other == output || (specs[other].is_output && other > output))
        continue;
      if (!overlaps(arguments[output], arguments[other]))
        continue;
      appendArgument(message, output, &specs[output]);
      append(message, ": expected memory of its own, found an overlap with ");
      appendArgument(message, other, &specs[other]);
      return ATTN_WRONG_ALIASING;
    }
  }
  return ATTN_OK;
}

int32_t attn_check_arguments(const DLTensor *const *arguments, int64_t count, const attn_argument_spec *specs,
                             int64_t expected, char *message, size_t size) {
  Message text = startMessage(message, size);
  if (!arguments && expected != 0) {
    append(&text, "expected an array of %" PRId64 " arguments, found a null pointer", expected);
    return ATTN_NULL_ARGUMENT;
  }
  if (count != expected) {
    append(&text, "expected %" PRId64 " arguments (", expected);
    for (int64_t index = 0; index < expected; ++index)
      append(&text, "%s%s", index ? ", " : "", specs[index].name);
    append(&text, "), found %" PRId64, count);
    return ATTN_WRONG_COUNT;
  }
  for (int64_t index = 0; index < count; ++index) {
    int32_t status = checkArgument(arguments, specs, index, &text);
    if (status != ATTN_OK)
      return status;
  }
  int32_t status = checkAliasing(arguments, count, specs, &text);
  return status == ATTN_OK ? checkAllValues(arguments, count, specs, &text) : status;
}

void attn_describe_no_memory(char *message, size_t size) {
  Message text = startMessage(message, size);
  append(&text,
         "expected memory for the kernel's own buffers, found too little: the heap has none left, or the workspace is "
         "smaller than its function says or not at a multiple of 64 bytes");
}
