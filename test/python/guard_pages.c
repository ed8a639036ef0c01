/*===- guard_pages.c - buffers between pages that must not be touched ----------===
 *
 * A buffer lies flush with the first or with the last byte of its pages; on both sides of these is address space
 * without access. A read or write there, and a write to a buffer that was sealed, ends the process with kFaultStatus
 * and one line on standard output that names the buffer, the side and the distance. Loaded by guard.py.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { kMaxBuffers = 64, kNameSize = 64, kFaultStatus = 3, kWriteBit = 2 };
/* Wide, so that a wrong stride lands in it as well; address space without access costs nothing. */
static const size_t kGuardBytes = (size_t)64 << 20;
static const unsigned char kSlackByte = 0xA5;

typedef struct Buffer {
  char name[kNameSize];
  char *reserved, *pages, *data;
  size_t reservedBytes, pageBytes, bytes;
} Buffer;

static Buffer buffers[kMaxBuffers];
static int numBuffers;
static atomic_flag isReported = ATOMIC_FLAG_INIT;

static const Buffer *findBuffer(const char *address) {
  for (int i = 0; i < numBuffers; ++i)
    if (address >= buffers[i].reserved && address < buffers[i].reserved + buffers[i].reservedBytes)
      return &buffers[i];
  return NULL;
}

static void reportFault(int number, siginfo_t *info, void *opaque) {
  /* The other threads of the kernel may be here too: they wait for the end of the process. */
  while (atomic_flag_test_and_set(&isReported))
    pause();
  const ucontext_t *context = opaque;
  const char *address = info->si_addr;
  const char *what = context->uc_mcontext.gregs[REG_ERR] & kWriteBit ? "a write" : "a read";
  const Buffer *buffer = findBuffer(address);
  char line[256];
  int length;
  if (!buffer)
    length = snprintf(line, sizeof(line), "fault: %s far from every buffer, signal %d\n", what, number);
  else if (address < buffer->data)
    length = snprintf(line, sizeof(line), "fault: %s %td bytes before the first byte of %s\n", what,
                      buffer->data - address, buffer->name);
  else if (address < buffer->data + buffer->bytes)
    length = snprintf(line, sizeof(line), "fault: %s to byte %td of the input %s\n", what, address - buffer->data,
                      buffer->name);
  else
    length = snprintf(line, sizeof(line), "fault: %s %td bytes behind the last byte of %s\n", what,
                      address - (buffer->data + buffer->bytes) + 1, buffer->name);
  if (write(STDOUT_FILENO, line, (size_t)length) != length)
    _exit(kFaultStatus + 1);
  _exit(kFaultStatus);
}

int guard_install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_sigaction = reportFault;
  action.sa_flags = SA_SIGINFO;
  return sigaction(SIGSEGV, &action, NULL) | sigaction(SIGBUS, &action, NULL);
}

/* Writable memory of exactly `bytes` bytes, ending (or beginning) where access ends; null where there is none left. */
void *guard_allocate(const char *name, size_t bytes, int atEnd) {
  if (numBuffers == kMaxBuffers)
    return NULL;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  Buffer *buffer = &buffers[numBuffers];
  buffer->bytes = bytes;
  buffer->pageBytes = (bytes + page - 1) / page * page;
  buffer->reservedBytes = buffer->pageBytes + 2 * kGuardBytes;
  buffer->reserved = mmap(NULL, buffer->reservedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (buffer->reserved == MAP_FAILED)
    return NULL;
  buffer->pages = buffer->reserved + kGuardBytes;
  if (buffer->pageBytes && mprotect(buffer->pages, buffer->pageBytes, PROT_READ | PROT_WRITE) != 0)
    return NULL;
  memset(buffer->pages, kSlackByte, buffer->pageBytes);
  buffer->data = buffer->pages + (atEnd ? buffer->pageBytes - bytes : 0);
  snprintf(buffer->name, kNameSize, "%s", name);
  ++numBuffers;
  return buffer->data;
}

/* Makes the pages of the newest buffer read-only. */
int guard_seal(void) {
  const Buffer *buffer = &buffers[numBuffers - 1];
  return buffer->pageBytes ? mprotect(buffer->pages, buffer->pageBytes, PROT_READ) : 0;
}

/* The name of a buffer whose pages were written to on their open side, beside the buffer itself; null if there is none.
 */
const char *guard_find_overwritten(void) {
  for (int i = 0; i < numBuffers; ++i)
    for (const char *byte = buffers[i].pages; byte < buffers[i].pages + buffers[i].pageBytes; ++byte) {
      if (byte == buffers[i].data)
        byte += buffers[i].bytes;
      if (byte < buffers[i].pages + buffers[i].pageBytes && *(const unsigned char *)byte != kSlackByte)
        return buffers[i].name;
    }
  return NULL;
}

void guard_free_all(void) {
  while (numBuffers > 0) {
    --numBuffers;
    munmap(buffers[numBuffers].reserved, buffers[numBuffers].reservedBytes);
  }
}
