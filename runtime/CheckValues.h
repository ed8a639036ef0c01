/*===- CheckValues.h - values that a kernel counts or addresses with ------------===
 *
 * The part of CheckArguments.c that reads tensors of integers: lengths, positions, prefix sums and block tables.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_RUNTIME_CHECKVALUES_H
#define ATTN_RUNTIME_CHECKVALUES_H

#include "CheckSizes.h"

static int64_t readInteger(const DLTensor *tensor, int64_t index) {
  const char *data = (const char *)tensor->data + tensor->byte_offset;
  return tensor->dtype.bits == 64 ? ((const int64_t *)(const void *)data)[index]
                                  : (int64_t)((const int32_t *)(const void *)data)[index];
}

static int64_t readSize(const DLTensor *const *arguments, attn_size size) {
  return size.argument < 0 ? size.dim : arguments[size.argument]->shape[size.dim];
}

static int64_t getLimit(const DLTensor *const *arguments, const attn_value_check *check) {
  int64_t limit;
  /* If the product of sizes overflows, there is no limit. */
  return __builtin_mul_overflow(readSize(arguments, check->limit), readSize(arguments, check->factor), &limit)
             ? INT64_MAX
             : limit;
}

static int64_t countElements(const DLTensor *tensor) {
  int64_t count = 1;
  for (int32_t dim = 0; dim < tensor->ndim; ++dim)
    count *= tensor->shape[dim];
  return count;
}

static int32_t checkLengths(const DLTensor *const *arguments, const attn_argument_spec *specs, int64_t index,
                            const attn_value_check *check, Message *message) {
  int64_t limit = getLimit(arguments, check), count = countElements(arguments[index]);
  int64_t rows = check->kind == ATTN_POSITIONS ? readSize(arguments, check->rows) : 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = readInteger(arguments[index], i);
    if (value >= 0 && value <= limit - rows)
      continue;
    appendArgument(message, index, &specs[index]);
    if (check->kind == ATTN_POSITIONS)
      append(message, ": expected positions from 0 that leave room for %" PRId64 " rows in %" PRId64, rows, limit);
    else
      append(message, ": expected lengths in 0 to %" PRId64, limit);
    append(message, ", found %" PRId64 " at index %" PRId64, value, i);
    return ATTN_WRONG_VALUE;
  }
  return ATTN_OK;
}

static int32_t checkPrefixSums(const DLTensor *const *arguments, const attn_argument_spec *specs, int64_t index,
                               const attn_value_check *check, Message *message) {
  int64_t limit = getLimit(arguments, check), count = countElements(arguments[index]), before = 0;
  if (check->lengths >= 0 && count - 1 != countElements(arguments[check->lengths])) {
    appendArgument(message, index, &specs[index]);
    append(message, ": expected %" PRId64 " prefix sums, one more than the elements of ",
           countElements(arguments[check->lengths]) + 1);
    appendArgument(message, check->lengths, &specs[check->lengths]);
    append(message, ", found %" PRId64, count);
    return ATTN_WRONG_VALUE;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = readInteger(arguments[index], i);
    int isShort = i == count - 1 && value < limit && limit != INT64_MAX;
    int isFine = i == 0 ? value == 0 : value >= before && value <= limit;
    if (!isFine || isShort) {
      appendArgument(message, index, &specs[index]);
      if (i == 0 && value != 0)
        append(message, ": expected prefix sums that start with 0, found %" PRId64, value);
      else if (value < before)
        append(message, ": expected prefix sums that never decrease, found %" PRId64 " after %" PRId64, value, before);
      else if (value > limit)
        append(message, ": expected prefix sums of at most %" PRId64 ", found %" PRId64, limit, value);
      else
        append(message, ": expected prefix sums that end with %" PRId64 ", all rows, found %" PRId64, limit, value);
      append(message, " at index %" PRId64, i);
      return ATTN_WRONG_VALUE;
    }
    before = value;
  }
  return ATTN_OK;
}

static int32_t checkBlockTable(const DLTensor *const *arguments, const attn_argument_spec *specs, int64_t index,
                               const attn_value_check *check, Message *message) {
  const DLTensor *table = arguments[index], *lengths = arguments[check->lengths];
  int64_t limit = getLimit(arguments, check), page = readSize(arguments, check->page), maxPages = table->shape[1];
  for (int64_t batch = 0; page > 0 && batch < table->shape[0]; ++batch) {
    int64_t first = 0, end = readInteger(lengths, batch);
    if (check->kind == ATTN_APPEND_TABLE) {
      first = end;
      end += readSize(arguments, check->rows);
    }
    /* The pages with rows first to end - 1. Both are in range if the check of their own argument has passed. */
    for (int64_t i = first / page; first < end && i <= (end - 1) / page && i < maxPages; ++i) {
      int64_t value = readInteger(table, batch * maxPages + i);
      if (value >= 0 && value < limit)
        continue;
      appendArgument(message, index, &specs[index]);
      append(message,
             ": expected page numbers in 0 to %" PRId64 ", found %" PRId64 " at index [%" PRId64 ", %" PRId64 "]",
             limit - 1, value, batch, i);
      return ATTN_WRONG_VALUE;
    }
  }
  return ATTN_OK;
}

static int32_t checkSlots(const DLTensor *const *arguments, const attn_argument_spec *specs, int64_t index,
                          const attn_value_check *check, Message *message) {
  int64_t limit = getLimit(arguments, check), count = countElements(arguments[index]);
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = readInteger(arguments[index], i), other = 0;
    if (value == -1)
      continue;
    while (other < i && readInteger(arguments[index], other) != value)
      ++other;
    if (value >= 0 && value < limit && other == i)
      continue;
    appendArgument(message, index, &specs[index]);
    if (other < i)
      append(message, ": expected each slot once, found %" PRId64 " at indices %" PRId64 " and %" PRId64, value, other,
             i);
    else
      append(message, ": expected slots in 0 to %" PRId64 ", or -1 for none, found %" PRId64 " at index %" PRId64,
             limit - 1, value, i);
    return ATTN_WRONG_VALUE;
  }
  return ATTN_OK;
}

static int32_t checkValues(const DLTensor *const *arguments, const attn_argument_spec *specs, int64_t index,
                           const attn_value_check *check, Message *message) {
  switch (check->kind) {
  case ATTN_PREFIX_SUMS: return checkPrefixSums(arguments, specs, index, check, message);
  case ATTN_SLOTS: return checkSlots(arguments, specs, index, check, message);
  case ATTN_BLOCK_TABLE:
  case ATTN_APPEND_TABLE: return checkBlockTable(arguments, specs, index, check, message);
  default: return checkLengths(arguments, specs, index, check, message);
  }
}

/* Lengths and positions before the tables that they index. */
static int32_t checkAllValues(const DLTensor *const *arguments, int64_t count, const attn_argument_spec *specs,
                              Message *message) {
  for (int tables = 0; tables < 2; ++tables)
    for (int64_t index = 0; index < count; ++index)
      for (int32_t i = 0; i < specs[index].num_checks; ++i) {
        const attn_value_check *check = &specs[index].checks[i];
        int isTable = check->kind == ATTN_BLOCK_TABLE || check->kind == ATTN_APPEND_TABLE;
        int32_t status = isTable == tables ? checkValues(arguments, specs, index, check, message) : (int32_t)ATTN_OK;
        if (status != ATTN_OK)
          return status;
      }
  return ATTN_OK;
}

#endif /* ATTN_RUNTIME_CHECKVALUES_H */
