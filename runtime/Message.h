/*===- Message.h - texts of refusals, in the caller's buffer --------------------===
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_RUNTIME_MESSAGE_H
#define ATTN_RUNTIME_MESSAGE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* The text so far, in a buffer that may be too small or absent. */
typedef struct Message {
  char *text;
  size_t left;
} Message;

__attribute__((format(printf, 2, 3))) static inline void append(Message *message, const char *format, ...) {
  if (!message->text || message->left == 0)
    return;
  va_list values;
  va_start(values, format);
  int length = vsnprintf(message->text, message->left, format, values);
  va_end(values);
  if (length < 0)
    return;
  /* After truncation, only the terminator has space: nothing more is appended. */
  size_t written = (size_t)length < message->left ? (size_t)length : message->left - 1;
  message->text += written;
  message->left -= written;
}

/* Starts with an empty text, in case nothing is appended. */
static inline Message startMessage(char *text, size_t size) {
  if (text && size > 0)
    text[0] = 0;
  return (Message){text, size};
}

/* strcmp, without another symbol of the C library. */
static inline int isSame(const char *a, const char *b) {
  while (*a && *a == *b)
    ++a, ++b;
  return *a == *b;
}

#endif /* ATTN_RUNTIME_MESSAGE_H */
