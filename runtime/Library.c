/*===- Library.c - which kernel of a library takes a call -----------------------===
 *
 * Selects a kernel by the features that the caller names, and by the types and shapes of its tensors: the tables of the
 * checked entries say which kernels accept them. Built twice, like CheckArguments.c; no state.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "Message.h"
#include "attn-c/attn.h"
#include "attn-c/attn_dispatch.h"

#include <inttypes.h>

/*===----------------------------------------------------------------------===*/
/* Features */
/*===----------------------------------------------------------------------===*/

typedef struct Word {
  const char *text;
  int64_t length;
} Word;

/* The next word at *text, after blanks; advances *text beyond it. Empty at the end. */
static Word takeWord(const char **text) {
  while (**text == ' ')
    ++*text;
  Word word = {*text, 0};
  while (**text && **text != ' ')
    ++*text, ++word.length;
  return word;
}

static int hasWord(const char *text, Word wanted) {
  for (Word word = takeWord(&text); word.length; word = takeWord(&text)) {
    int64_t i = 0;
    while (i < word.length && i < wanted.length && word.text[i] == wanted.text[i])
      ++i;
    if (i == word.length && i == wanted.length)
      return 1;
  }
  return 0;
}

static int hasAllWords(const char *text, const char *wanted) {
  for (Word word = takeWord(&wanted); word.length; word = takeWord(&wanted))
    if (!hasWord(text, word))
      return 0;
  return 1;
}

static const attn_library_group *findGroup(const attn_library *library, const char *features) {
  for (int64_t i = 0; i < library->num_groups; ++i) {
    const char *own = library->groups[i].features;
    if (hasAllWords(own, features) && hasAllWords(features, own))
      return &library->groups[i];
  }
  return NULL;
}

/*===----------------------------------------------------------------------===*/
/* Tensors */
/*===----------------------------------------------------------------------===*/

/* True if equal symbols have equal sizes. */
static int agreesWithEarlier(const attn_argument_spec *specs, const DLTensor *const *arguments, int64_t index,
                             int32_t dim) {
  if (!specs[index].symbols || specs[index].symbols[dim] < 0)
    return 1;
  for (int64_t other = 0; other <= index; ++other) {
    int32_t end = other == index ? dim : specs[other].rank;
    for (int32_t otherDim = 0; specs[other].symbols && otherDim < end; ++otherDim)
      if (specs[other].shape[otherDim] == -1 && specs[other].symbols[otherDim] == specs[index].symbols[dim])
        return arguments[other]->shape[otherDim] == arguments[index]->shape[dim];
  }
  return 1;
}

static int takesArgument(const attn_argument_spec *specs, const DLTensor *const *arguments, int64_t index) {
  const attn_argument_spec *spec = &specs[index];
  const DLTensor *tensor = arguments[index];
  int isBool = spec->type_code == ATTN_DLPACK_BOOL && tensor->dtype.code == kDLUInt;
  if (tensor->ndim != spec->rank || (tensor->dtype.code != spec->type_code && !isBool) ||
      tensor->dtype.bits != spec->bits || tensor->dtype.lanes != 1)
    return 0;
  for (int32_t dim = 0; dim < spec->rank; ++dim)
    if (spec->shape[dim] == -1 ? !agreesWithEarlier(specs, arguments, index, dim)
                               : spec->shape[dim] != tensor->shape[dim])
      return 0;
  return 1;
}

static int takes(const attn_library_kernel *kernel, const DLTensor *const *arguments, int64_t count) {
  if (kernel->count != count)
    return 0;
  for (int64_t i = 0; i < count; ++i)
    if (!takesArgument(kernel->specs, arguments, i))
      return 0;
  return 1;
}

/* The index of the only argument that a kernel rejects; -1 if there are several. */
static int64_t findOnlyMisfit(const attn_library_kernel *kernel, const DLTensor *const *arguments, int64_t count) {
  int64_t misfit = -1;
  for (int64_t i = 0; i < count; ++i) {
    if (takesArgument(kernel->specs, arguments, i))
      continue;
    if (misfit >= 0)
      return -1;
    misfit = i;
  }
  return misfit;
}

/*===----------------------------------------------------------------------===*/
/* Messages */
/*===----------------------------------------------------------------------===*/

/* The names of types in problem lines. */
static void appendType(Message *message, DLDataType type) {
  if (type.code == ATTN_DLPACK_FLOAT8_E4M3FN)
    append(message, "fp8");
  else if (type.code == ATTN_DLPACK_FLOAT8_E5M2)
    append(message, "e5m2");
  else if (type.code == ATTN_DLPACK_BOOL)
    append(message, "bool");
  else if (type.code == kDLFloat || type.code == kDLBfloat)
    append(message, "%s%u", type.code == kDLFloat ? "f" : "bf", (unsigned)type.bits);
  else if (type.code == kDLInt || type.code == kDLUInt)
    append(message, "%s%u", type.code == kDLInt ? "int" : "uint", (unsigned)type.bits);
  else
    append(message, "type code %u with %u bits", (unsigned)type.code, (unsigned)type.bits);
  if (type.lanes != 1)
    append(message, " of %u lanes", (unsigned)type.lanes);
}

/* True for element types that a problem line can name. */
static int isElementType(DLDataType type) {
  int isFloat = type.code == kDLFloat && (type.bits == 16 || type.bits == 32 || type.bits == 64);
  return type.lanes == 1 && (isFloat || (type.code == kDLBfloat && type.bits == 16));
}

static int64_t takeNumber(const char **text) {
  int64_t number = 0;
  for (; **text >= '0' && **text <= '9'; ++*text)
    number = number * 10 + (**text - '0');
  return number;
}

/* The problem line of this call. */
static void appendLine(Message *message, const char *line, const DLTensor *const *arguments, int64_t count) {
  while (*line) {
    if (*line != '{') {
      append(message, "%c", *line++);
      continue;
    }
    ++line;
    int64_t argument = takeNumber(&line);
    const DLTensor *tensor = argument < count ? arguments[argument] : NULL;
    if (*line == '.') {
      ++line;
      int64_t dim = takeNumber(&line);
      if (tensor && dim < tensor->ndim)
        append(message, "%" PRId64, tensor->shape[dim]);
      else
        append(message, "?");
    } else if (tensor) {
      appendType(message, tensor->dtype);
    }
    ++line; /* } */
  }
}

static void appendTensor(Message *message, DLDataType type, const int64_t *shape, int32_t rank) {
  appendType(message, type);
  append(message, " [");
  for (int32_t dim = 0; dim < rank; ++dim)
    append(message, shape[dim] == -1 ? "%s?" : "%s%" PRId64, dim ? ", " : "", shape[dim]);
  append(message, "]");
}

static void appendTensors(Message *message, const attn_library_kernel *kernel, const DLTensor *const *arguments,
                          int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    append(message, "%s%s ", i ? ", " : "", kernel->specs[i].name);
    appendTensor(message, arguments[i]->dtype, arguments[i]->shape, arguments[i]->ndim);
  }
}

static int32_t refuseFeatures(const attn_library *library, const char *features, Message *message) {
  append(message, "expected the features of a kernel of this library, one of");
  for (int64_t i = 0; i < library->num_groups; ++i)
    append(message, "%s '%s'", i ? "," : "", library->groups[i].features);
  append(message, "; found '%s': add a problem line with these words", features);
  return ATTN_NO_SUCH_KERNEL;
}

static int32_t refuseTensors(const attn_library *library, const attn_library_group *group,
                             const DLTensor *const *arguments, int64_t count, Message *message) {
  const attn_library_kernel *first = &library->kernels[group->first];
  if (count != first->count) {
    append(message, "expected %" PRId64 " arguments (", first->count);
    for (int64_t i = 0; i < first->count; ++i)
      append(message, "%s%s", i ? ", " : "", first->specs[i].name);
    append(message, ") for the features '%s', found %" PRId64, group->features, count);
    return ATTN_WRONG_COUNT;
  }
  /* If only the output differs, another problem line would not help. */
  for (int64_t i = group->first; i < group->first + group->count; ++i) {
    const attn_library_kernel *kernel = &library->kernels[i];
    int64_t misfit = findOnlyMisfit(kernel, arguments, count);
    if (misfit < 0 || !kernel->specs[misfit].is_output)
      continue;
    const attn_argument_spec *spec = &kernel->specs[misfit];
    DLDataType type = {(uint8_t)spec->type_code, (uint8_t)spec->bits, 1};
    append(message, "%s: expected ", spec->name);
    appendTensor(message, type, spec->shape, spec->rank);
    append(message, " beside the other arguments, as kernel '%s' takes it, found ", kernel->name);
    appendTensor(message, arguments[misfit]->dtype, arguments[misfit]->shape, arguments[misfit]->ndim);
    return ATTN_NO_SUCH_KERNEL;
  }
  append(message, "expected tensors that ");
  if (group->count > 1)
    append(message, "one of the %" PRId64 " kernels", group->count);
  else
    append(message, "the kernel");
  append(message, " of features '%s' takes, found ", group->features);
  appendTensors(message, first, arguments, count);
  if (count > 0 && !isElementType(arguments[0]->dtype)) {
    append(message, "; write a %s of f32, f64, bf16 or f16", first->specs[0].name);
  } else if (group->line[0]) {
    append(message, "; add the problem line '");
    appendLine(message, group->line, arguments, count);
    append(message, "'");
  } else {
    append(message, "; add a problem line for them");
  }
  return ATTN_NO_SUCH_KERNEL;
}

int32_t attn_find_kernel(const attn_library *library, const char *features, const DLTensor *const *arguments,
                         int64_t count, const attn_library_kernel **found, char *message, size_t size) {
  Message text = startMessage(message, size);
  *found = NULL;
  if (!arguments && count > 0) {
    append(&text, "expected an array of %" PRId64 " arguments, found a null pointer", count);
    return ATTN_NULL_ARGUMENT;
  }
  for (int64_t i = 0; i < count; ++i)
    if (!arguments[i] || (arguments[i]->ndim > 0 && !arguments[i]->shape)) {
      append(&text, "argument %" PRId64 ": expected a %s, found a null pointer", i, arguments[i] ? "shape" : "tensor");
      return ATTN_NULL_ARGUMENT;
    }
  const char *words = features ? features : "";
  const attn_library_group *group = findGroup(library, words);
  if (!group)
    return refuseFeatures(library, words, &text);
  for (int64_t i = group->first; i < group->first + group->count; ++i)
    if (takes(&library->kernels[i], arguments, count)) {
      *found = &library->kernels[i];
      return ATTN_OK;
    }
  return refuseTensors(library, group, arguments, count, &text);
}
