/*===- Registers.h - what Processor.c reads of processor and system -------------===
 *
 * A test defines these functions itself, along with ATTN_REGISTERS_H, before including Processor.c.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_REGISTERS_H
#define ATTN_REGISTERS_H

#include <stdint.h>

#if defined(__aarch64__) && (defined(__APPLE__) || defined(_WIN32))
/* Nothing: ArmSystem.h queries the system. */
#elif defined(__aarch64__) || defined(__riscv)
/* From the C library, as declared in sys/auxv.h. */
unsigned long getauxval(unsigned long type);

enum { AUXILIARY_HWCAP = 16, AUXILIARY_HWCAP2 = 26 };

static uint64_t readAuxiliary(unsigned long type) { return getauxval(type); }
#endif

#if defined(__aarch64__) && (defined(__APPLE__) || defined(_WIN32))
#elif defined(__aarch64__)
/* Bytes of an SVE register of this thread, from the lower 16 bits of prctl(PR_SVE_GET_VL); 0 if the call fails. */
static uint32_t readSveBytes(void) {
  register long number __asm__("x8") = 167;
  register long result __asm__("x0") = 51;
  __asm__ volatile("svc #0" : "+r"(result) : "r"(number) : "memory");
  return result < 0 ? 0 : (uint32_t)(result & 0xffff);
}
#elif defined(__riscv)
/* struct riscv_hwprobe of Linux. */
typedef struct Probe {
  int64_t key;
  uint64_t value;
} Probe;
enum { PROBE_EXTENSIONS = 4 };

/* The word of riscv_hwprobe with a bit for each extension; 0 if the system has no such call. */
static uint64_t readExtensions(void) {
  Probe probe = {PROBE_EXTENSIONS, 0};
  register long number __asm__("a7") = 258;
  register Probe *result __asm__("a0") = &probe;
  register long count __asm__("a1") = 1;
  register long sizeOfSet __asm__("a2") = 0;
  register long set __asm__("a3") = 0;
  register long flags __asm__("a4") = 0;
  __asm__ volatile("ecall" : "+r"(result) : "r"(number), "r"(count), "r"(sizeOfSet), "r"(set), "r"(flags) : "memory");
  return result || probe.key != PROBE_EXTENSIONS ? 0 : probe.value;
}

/* vlenb, by number for assemblers that know its name only with vectors enabled. */
static uint64_t readVectorBytes(void) {
  uint64_t bytes;
  __asm__ volatile("csrr %0, 0xc22" : "=r"(bytes));
  return bytes;
}
#else
#include <cpuid.h>

/* EAX, EBX, ECX and EDX of a leaf; 0 where the processor has no such leaf. */
static int readLeaf(uint32_t leaf, uint32_t subleaf, uint32_t registers[4]) {
  return __get_cpuid_count(leaf, subleaf, &registers[0], &registers[1], &registers[2], &registers[3]);
}

/* The lower half of XCR0. */
static uint32_t readState(void) {
  uint32_t low, high;
  /* xgetbv, as bytes for assemblers that accept it only with a feature enabled */
  __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/* arch_prctl of Linux, without the C library, which freestanding objects lack; 0 or a negative error. */
static long callArchPrctl(long code, long argument) {
  long result = 158; /* the number of the system call */
  __asm__ volatile("syscall" : "+a"(result) : "D"(code), "S"(argument) : "rcx", "r11", "memory");
  return result;
}
#endif

#endif /* ATTN_REGISTERS_H */
