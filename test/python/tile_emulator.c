// AMX tiles on a processor without them: preloaded (LD_PRELOAD), this library does what an instruction that stopped
// with SIGILL would have done, and goes on behind it. Source: Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 2, "LDTILECFG", "TILELOADD", "TILESTORED", "TILEZERO", "TDPBF16PS" and "TILERELEASE".
//
// Any other instruction, and a use of tiles that a processor would refuse, ends the process with a line on stderr.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64 };

// Of one thread, as the registers are.
static __thread struct {
  int rows[TILES], bytes[TILES];
  uint8_t data[TILES][ROWS][ROW_BYTES];
} state;
static long long products;

static void fail(const char *reason, const uint8_t *code) {
  fprintf(stderr, "tile emulator: %s:", reason);
  for (int i = 0; i < 10; ++i)
    fprintf(stderr, " %02x", code[i]);
  fputc('\n', stderr);
  _exit(3);
}

static void configure(const uint8_t *config, const uint8_t *code) {
  if (config[0] != 1)
    fail("expected palette 1", code);
  memset(&state, 0, sizeof state);
  for (int t = 0; t < TILES; ++t) {
    uint16_t bytes;
    memcpy(&bytes, config + 16 + 2 * t, 2);
    state.rows[t] = config[48 + t];
    state.bytes[t] = bytes;
    if (state.rows[t] > ROWS || bytes > ROW_BYTES || bytes % 4 != 0 || !state.rows[t] != !bytes)
      fail("no such tile", code);
  }
}

static float widen(const uint8_t *bf16) {
  uint16_t bits;
  memcpy(&bits, bf16, 2);
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, 4);
  return value;
}

static float flush(float x) { return __builtin_fabsf(x) < 0x1p-126f ? 0 : x; }

// sums[m][n] += (sum_k left[m][2k] right[k][2n]) + (sum_k left[m][2k+1] right[k][2n+1]); numbers below 2^-126 are 0
static void multiply(int sums, int left, int right, const uint8_t *code) {
  int depth = state.bytes[left] / 4, columns = state.bytes[sums] / 4;
  if (sums == left || sums == right || left == right || !state.rows[sums] || state.rows[sums] != state.rows[left] ||
      depth != state.rows[right] || state.bytes[sums] != state.bytes[right])
    fail("tiles of these sizes have no product", code);
  for (int m = 0; m < state.rows[sums]; ++m)
    for (int n = 0; n < columns; ++n) {
      float sum, parts[2] = {0, 0};
      memcpy(&sum, &state.data[sums][m][4 * n], 4);
      for (int k = 0; k < depth; ++k)
        for (int odd = 0; odd < 2; ++odd)
          parts[odd] = flush(parts[odd] + flush(widen(&state.data[left][m][4 * k + 2 * odd])) *
                                              flush(widen(&state.data[right][k][4 * n + 2 * odd])));
      sum = flush(flush(sum) + flush(parts[0] + parts[1]));
      memcpy(&state.data[sums][m][4 * n], &sum, 4);
    }
  __atomic_fetch_add(&products, 1, __ATOMIC_RELAXED);
}

struct Operand {
  uint8_t *address; // without the index
  int64_t stride;   // scale * index
  int length;       // of ModRM, SIB and displacement
};

static struct Operand decode(const ucontext_t *context, const uint8_t *vex) {
  // gregs in the order of the encoding: rax rcx rdx rbx rsp rbp rsi rdi r8 …
  static const int kRegisters[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                   REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  const greg_t *registers = context->uc_mcontext.gregs;
  int extendIndex = vex[1] & 0x40 ? 0 : 8, extendBase = vex[1] & 0x20 ? 0 : 8;
  uint8_t modrm = vex[4];
  int mod = modrm >> 6, rm = modrm & 7;
  struct Operand operand = {0, 0, 1};
  int base = rm;
  if (rm == 4) {
    uint8_t sib = vex[5];
    operand.length = 2;
    base = sib & 7;
    int index = (sib >> 3 & 7) + extendIndex;
    if (index != 4)
      operand.stride = (int64_t)registers[kRegisters[index]] << (sib >> 6);
  }
  int32_t displacement = 0;
  if (mod == 1)
    displacement = (int8_t)vex[4 + operand.length];
  else if (mod == 2 || (mod == 0 && base == 5))
    memcpy(&displacement, vex + 4 + operand.length, 4);
  int displacementBytes = mod == 1 ? 1 : mod == 2 || (mod == 0 && base == 5) ? 4 : 0;
  operand.length += displacementBytes;
  if (mod == 0 && rm == 5) // relative to the next instruction
    operand.address = (uint8_t *)vex + 4 + operand.length;
  else if (!(mod == 0 && base == 5))
    operand.address = (uint8_t *)registers[kRegisters[base + extendBase]];
  operand.address += displacement;
  return operand;
}

static void handle(int signal, siginfo_t *info, void *raw) {
  (void)signal, (void)info;
  ucontext_t *context = raw;
  uint8_t *code = (uint8_t *)context->uc_mcontext.gregs[REG_RIP];
  // VEX.128.*.0F38.W0 of three bytes
  if (code[0] != 0xC4 || (code[1] & 0x1F) != 2 || (code[2] & 0x84) != 0)
    fail("no instruction of tiles", code);
  int prefix = code[2] & 3, opcode = code[3], modrm = code[4], isRegister = modrm >> 6 == 3, tile = modrm >> 3 & 7;
  enum { NONE, P66, PF3, PF2 };
  int length = 5;
  if (opcode == 0x49 && prefix == NONE && modrm == 0xC0) {
    memset(&state, 0, sizeof state);
  } else if (opcode == 0x49 && prefix == PF2 && isRegister) {
    if (!state.rows[tile])
      fail("tile without rows", code);
    memset(state.data[tile], 0, sizeof state.data[tile]);
  } else if (opcode == 0x5C && prefix == PF3 && isRegister) {
    multiply(tile, modrm & 7, ~code[2] >> 3 & 7, code);
  } else if ((opcode == 0x49 && prefix == NONE) ||
             (opcode == 0x4B && (prefix == PF2 || prefix == PF3 || prefix == P66))) {
    if (isRegister)
      fail("expected an operand in memory", code);
    struct Operand operand = decode(context, code);
    length = 4 + operand.length;
    if (opcode == 0x49) {
      configure(operand.address + operand.stride, code);
    } else {
      if (!state.rows[tile])
        fail("tile without rows", code);
      if (prefix != PF3)
        memset(state.data[tile], 0, sizeof state.data[tile]);
      for (int row = 0; row < state.rows[tile]; ++row) {
        uint8_t *memory = operand.address + row * operand.stride;
        if (prefix == PF3)
          memcpy(memory, state.data[tile][row], state.bytes[tile]);
        else
          memcpy(state.data[tile][row], memory, state.bytes[tile]);
      }
    }
  } else {
    fail("no instruction of tiles", code);
  }
  context->uc_mcontext.gregs[REG_RIP] += length;
}

static int (*systemSigaction)(int, const struct sigaction *, struct sigaction *);

// The program's own handler of SIGILL, which prints a stack, does not take our place.
int sigaction(int signal, const struct sigaction *action, struct sigaction *old) {
  if (!systemSigaction)
    *(void **)&systemSigaction = dlsym(RTLD_NEXT, "sigaction");
  return systemSigaction(signal, signal == SIGILL ? NULL : action, old);
}

__attribute__((constructor)) static void install(void) {
  struct sigaction action = {0};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  *(void **)&systemSigaction = dlsym(RTLD_NEXT, "sigaction");
  systemSigaction(SIGILL, &action, NULL);
}

__attribute__((destructor)) static void report(void) {
  if (products)
    fprintf(stderr, "tile emulator: %lld products of tiles\n", products);
}
