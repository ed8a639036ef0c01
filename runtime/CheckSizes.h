/*===- CheckSizes.h - sizes of a call that follow from others -------------------===
 *
 * The part of CheckArguments.c that evaluates attn_size_word.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_RUNTIME_CHECKSIZES_H
#define ATTN_RUNTIME_CHECKSIZES_H

#include "Message.h"
#include "attn-c/attn.h"
#include "attn-c/attn_runtime.h"

#include <inttypes.h>

static void appendArgument(Message *message, int64_t index, const attn_argument_spec *spec) {
  append(message, "argument %" PRId64 " '%s'", index, spec->name);
}

/* The value of an operator; the largest integer where it overflows. */
static int64_t calculate(int64_t op, int64_t left, int64_t right) {
  int64_t result = 0;
  int overflows = 0;
  switch (op) {
  case ATTN_SIZE_ADD: overflows = __builtin_add_overflow(left, right, &result); break;
  case ATTN_SIZE_SUBTRACT: overflows = __builtin_sub_overflow(left, right, &result); break;
  case ATTN_SIZE_MULTIPLY: overflows = __builtin_mul_overflow(left, right, &result); break;
  case ATTN_SIZE_DIVIDE: result = right > 0 ? left / right : 0; break;
  case ATTN_SIZE_MINIMUM: result = left < right ? left : right; break;
  default: result = left > right ? left : right; break;
  }
  return overflows ? INT64_MAX : result;
}

static int32_t refuseLimit(const attn_argument_spec *specs, int64_t index, const attn_size_word *word, int64_t value,
                           int64_t limit, Message *message) {
  int64_t place = word->argument < 0 ? index : word->argument;
  appendArgument(message, place, &specs[place]);
  if (word->argument >= 0)
    append(message, ": expected a size of at most %" PRId64 " in dimension %" PRId64, limit, word->dim);
  else
    append(message, ": expected sizes that make one of at most %" PRId64, limit);
  append(message, ", found %" PRId64, value);
  return ATTN_WRONG_SHAPE;
}

/* Checks sizes that other sizes determine. */
static int32_t checkSizes(const DLTensor *const *arguments, const attn_argument_spec *specs, int64_t index,
                          Message *message) {
  int64_t stack[16];
  int depth = 0;
  for (const attn_size_word *word = specs[index].sizes; word && word->op != ATTN_SIZE_END; ++word) {
    if (word->op == ATTN_SIZE_DIM || word->op == ATTN_SIZE_NUMBER) {
      stack[depth++] = word->op == ATTN_SIZE_DIM ? arguments[word->argument]->shape[word->dim] : word->dim;
    } else if (word->op == ATTN_SIZE_EQUALS) {
      int64_t expected = stack[--depth], found = arguments[index]->shape[word->dim];
      if (expected == found)
        continue;
      appendArgument(message, index, &specs[index]);
      append(message,
             ": expected size %" PRId64 " in dimension %" PRId64
             ", as sizes of other arguments make it, found %" PRId64,
             expected, word->dim, found);
      return ATTN_WRONG_SHAPE;
    } else if (word->op == ATTN_SIZE_AT_MOST) {
      depth -= 2;
      if (stack[depth] > stack[depth + 1])
        return refuseLimit(specs, index, word, stack[depth], stack[depth + 1], message);
    } else {
      --depth;
      stack[depth - 1] = calculate(word->op, stack[depth - 1], stack[depth]);
    }
  }
  return ATTN_OK;
}

#endif /* ATTN_RUNTIME_CHECKSIZES_H */
