/*===- attn-runner.c - calls one kernel of a library ----------------------------===
 *
 *   attn-runner LIBRARY.so ENTRY CALL
 *
 * Built for the processor of the library, which may be emulated: attnc run --runner="qemu-aarch64 … attn-runner" writes
 * the library and the call (CallFile.h), and reads the answer from there. ENTRY is a checked entry. Each array ends at
 * a protected page, so a load or store beyond it faults. The exit status is 0 if the entry has returned, with any code;
 * 2 if it could not be called.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#define _GNU_SOURCE
#include "CallFile.h"

#include <dlfcn.h>
#include <dlpack/dlpack.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int32_t (*Entry)(const DLTensor *const *tensors, int64_t count, char *message, int64_t size);

static void stop(const char *what, const char *name) {
  fprintf(stderr, "attn-runner: error: %s %s\n", what, name);
  exit(2);
}

static char *copyBeforeGuard(const char *bytes, size_t size) {
  size_t page = sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
  char *base = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base + whole, page, PROT_NONE))
    stop("expected memory for a tensor, found none", "");
  return memcpy(base + whole - size, bytes, size);
}

static void call(Entry entry, char *file) {
  attn_call_header *header = (attn_call_header *)file;
  attn_call_tensor *records = (attn_call_tensor *)(header + 1);
  DLTensor *tensors = calloc(header->count + 1, sizeof(DLTensor));
  const DLTensor **pointers = calloc(header->count + 1, sizeof(DLTensor *));
  for (int64_t i = 0; i < header->count; ++i) {
    attn_call_tensor *record = &records[i];
    tensors[i] = (DLTensor){.data = copyBeforeGuard(file + record->offset, record->bytes),
                            .device = {kDLCPU, 0},
                            .ndim = (int32_t)record->rank,
                            .dtype = {(uint8_t)record->type_code, (uint8_t)record->type_bits, 1},
                            .shape = record->shape,
                            .strides = record->has_strides ? record->strides : NULL,
                            .byte_offset = record->first};
    pointers[i] = &tensors[i];
  }
  header->code = entry(pointers, header->count, header->message, sizeof(header->message));
  for (int64_t i = 0; i < header->count; ++i)
    memcpy(file + records[i].offset, tensors[i].data, records[i].bytes);
}

int main(int argc, char **argv) {
  if (argc != 4)
    stop("expected LIBRARY.so ENTRY CALL, found another number of arguments of", argv[0]);
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library)
    stop("cannot load the library:", dlerror());
  Entry entry = (Entry)dlsym(library, argv[2]);
  if (!entry)
    stop("cannot find the entry:", dlerror());
  int fd = open(argv[3], O_RDWR);
  struct stat info;
  if (fd < 0 || fstat(fd, &info))
    stop("cannot open", argv[3]);
  char *file = mmap(NULL, info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (file == MAP_FAILED || ((attn_call_header *)file)->magic != ATTN_CALL_MAGIC)
    stop("expected a call that attnc has written, found another file:", argv[3]);
  call(entry, file);
  return 0;
}
