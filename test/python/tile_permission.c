// Which variant a process takes on a processor with tiles (AMX), whatever runs this: CPUID and XCR0 are made up, the
// answer of Linux is that of a seccomp filter. Prints the name of the variant, or why there is none.
//
//   tile_permission granted|refused|never TARGET…      of the targets "avx512" and "amx", the best last
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

// A Sapphire Rapids, as far as features go.
#define ATTN_REGISTERS_H
static int readLeaf(uint32_t leaf, uint32_t subleaf, uint32_t registers[4]) {
  (void)subleaf;
  for (int i = 0; i < 4; ++i)
    registers[i] = UINT32_MAX;
  return leaf != 0x80000001;
}
static uint32_t readState(void) { return 0x600e7; }
static long callArchPrctl(long code, long argument) {
  long result = 158;
  __asm__ volatile("syscall" : "+a"(result) : "D"(code), "S"(argument) : "rcx", "r11", "memory");
  return result;
}
#include "../../runtime/Processor.c"

// Answers arch_prctl(ARCH_REQ_XCOMP_PERM, …) by `action`.
static int answer(uint32_t action) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REQUEST_PERMISSION, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static attn_variant describe(const char *name) {
  attn_variant variant = {name, {0, 0}};
  const char *needed[] = {"avx512vl", strcmp(name, "amx") ? "avx512f" : "amx-tile"};
  for (int i = 0; i < 2; ++i) {
    int32_t bit = attn_find_feature(needed[i]);
    variant.features[bit / 64] |= UINT64_C(1) << bit % 64;
  }
  return variant;
}

int main(int count, char **words) {
  uint32_t action = SECCOMP_RET_ERRNO | EPERM;
  if (!strcmp(words[1], "granted"))
    action = SECCOMP_RET_ERRNO; // with error 0
  else if (!strcmp(words[1], "never"))
    action = SECCOMP_RET_KILL_PROCESS; // that is, nobody asks
  if (answer(action))
    return perror("seccomp"), 77;
  attn_variant list[4];
  int32_t chosen = 0;
  for (int i = 2; i < count; ++i)
    list[i - 2] = describe(words[i]);
  attn_variants variants = {&chosen, list, count - 2};
  char message[256] = "";
  if (attn_check_processor(&variants, message, sizeof(message)) != ATTN_OK)
    puts(message);
  else
    puts(attn_get_target(&variants));
  if (attn_use_target(&variants, "amx", message, sizeof(message)) != ATTN_OK)
    puts(message);
  return 0;
}
