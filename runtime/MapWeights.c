/*===- MapWeights.c - constants of an object that stand in a file ---------------===
 *
 * Processes that map one file share its pages, and pages that no call reads are never loaded.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "Message.h"
#include "attn-c/attn.h"
#include "attn-c/attn_runtime.h"

static int32_t refuse(Message *text, const char *path, const char *found) {
  append(text, "expected the file of weights that attnc --weights has written with this object, found %s: '%s'", found,
         path);
  return ATTN_NO_WEIGHTS;
}

#if defined(_WIN32) || defined(__wasm__)
int32_t attn_map_weights(attn_weights *weights, const char *path, char *message, size_t size) {
  Message text = startMessage(message, size);
  (void)weights;
  return refuse(&text, path ? path : "", "a system without mmap; compile without --weights");
}
#else
/* Of fcntl.h, unistd.h and sys/mman.h, the same on 64-bit Linux and macOS: bitcode is compiled without a C library's
 * headers. */
int open(const char *path, int flags, ...);
int close(int file);
int64_t lseek(int file, int64_t offset, int whence);
void *mmap(void *address, size_t size, int protection, int flags, int file, int64_t offset);
int munmap(void *address, size_t size);
enum { kReadOnly = 0, kFromEnd = 2, kProtectRead = 1, kShared = 1 };

/* What is wrong with the mapped file; null for nothing. */
static const char *findFault(const attn_weights *weights, const attn_weights_header *header, uint64_t size) {
  if (!isSame(header->magic, ATTN_WEIGHTS_MAGIC))
    return "a file of another kind";
  if (header->key != weights->key || header->size != weights->size)
    return "the weights of another object";
  return size == weights->size ? NULL : size < weights->size ? "a part of it" : "more than it";
}

int32_t attn_map_weights(attn_weights *weights, const char *path, char *message, size_t size) {
  Message text = startMessage(message, size);
  void *base = NULL;
  if (path) {
    int file = open(path, kReadOnly);
    if (file < 0)
      return refuse(&text, path, "none that can be read");
    int64_t bytes = lseek(file, 0, kFromEnd);
    if (bytes >= (int64_t)sizeof(attn_weights_header))
      base = mmap(NULL, (size_t)bytes, kProtectRead, kShared, file, 0);
    close(file);
    if (base == NULL || base == (void *)-1)
      return refuse(&text, path, bytes < (int64_t)sizeof(attn_weights_header) ? "a part of it" : "no memory to map it");
    const char *fault = findFault(weights, base, (uint64_t)bytes);
    if (fault) {
      munmap(base, (size_t)bytes);
      return refuse(&text, path, fault);
    }
  }
  const void *old = weights->base;
  weights->base = base;
  if (old)
    munmap((void *)old, weights->size);
  return ATTN_OK;
}
#endif

void attn_describe_no_weights(char *message, size_t size) {
  Message text = startMessage(message, size);
  append(&text, "expected weights that are mapped, found none; call the kernel's function NAME_map_weights first");
}
