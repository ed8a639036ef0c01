/*===- CappedProcessor.c - a lesser processor, as programs see it ---------------===
 *
 * Loaded by LD_PRELOAD (scripts/test.sh --host=LEVEL), CPUID answers in the process and its threads as the first Intel
 * processor of a level does: Linux has the instruction trap (arch_prctl, ARCH_SET_CPUID), and the handler takes away
 * what LEVEL has not. The product is unchanged: its detection, LLVM's and NumPy's find the lesser processor. What is
 * executed all the same is not stopped: a kernel for more than LEVEL runs where the processor really has it. Only the
 * tiles of AMX, for which a process has to ask, are refused.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <cpuid.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* What CPUID may say of features, register by register: bits as in Intel's manual, volume 2A. */
typedef struct Leaf {
  unsigned leaf, subleaf, eax, ebx, ecx, edx;
} Leaf;

#define BIT(n) (1u << (n))
#define ALL 0xffffffffu
/* Nehalem: SSE3, MONITOR, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT; and whether there is a hypervisor. */
#define V2_LEAF1_ECX (BIT(0) | BIT(3) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23) | BIT(31))
/* Haswell: also PCLMUL, FMA, X2APIC, MOVBE, the TSC's deadline, AES, XSAVE, OSXSAVE, AVX, F16C, RDRAND. */
#define V3_LEAF1_ECX                                                                                                   \
  (V2_LEAF1_ECX | BIT(1) | BIT(12) | BIT(21) | BIT(22) | BIT(24) | BIT(25) | BIT(26) | BIT(27) | BIT(28) | BIT(29) |   \
   BIT(30))
/* Haswell: FSGSBASE, BMI1, AVX2, SMEP, BMI2, ERMS, INVPCID. */
#define V3_LEAF7_EBX (BIT(0) | BIT(3) | BIT(5) | BIT(7) | BIT(8) | BIT(9) | BIT(10))
/* LAHF in 64-bit mode; LZCNT. */
#define V2_EXTENDED_ECX BIT(0)
#define V3_EXTENDED_ECX (BIT(0) | BIT(5))

#if LEVEL == 2
enum { kSignature = 0x106a5 }; /* family 6, model 0x1a */
static const Leaf leaves[] = {
    {1, 0, ALL, ALL, V2_LEAF1_ECX, ALL},
    {7, 0, 0, 0, 0, 0},
    {0xd, 0, ALL, ALL, ALL, ALL},
    {0xd, 1, 0, 0, 0, 0},
    {0x80000001, 0, ALL, ALL, V2_EXTENDED_ECX, ALL},
    {0x80000008, 0, ALL, 0, ALL, ALL},
};
#elif LEVEL == 3
enum { kSignature = 0x306c3 }; /* family 6, model 0x3c */
static const Leaf leaves[] = {
    {1, 0, ALL, ALL, V3_LEAF1_ECX, ALL},
    {7, 0, 0, V3_LEAF7_EBX, 0, 0},
    {0xd, 0, ALL, ALL, ALL, ALL},
    {0xd, 1, BIT(0), 0, 0, 0},
    {0x80000001, 0, ALL, ALL, V3_EXTENDED_ECX, ALL},
    {0x80000008, 0, ALL, 0, ALL, ALL},
};
#else
#error "expected LEVEL to be 2 or 3"
#endif

/* The last leaf of which Haswell says something; those behind it are empty, and so are further parts of a leaf above.
 */
enum { kLastLeaf = 0xd };

static unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }

/* What CPUID says in registers r (EAX … EDX), made what the lesser processor says. */
static void cap(unsigned leaf, unsigned subleaf, unsigned r[4]) {
  if (leaf == 0)
    r[0] = min(r[0], kLastLeaf);
  int isFeatureLeaf = leaf == 7 || leaf > kLastLeaf;
  if (leaf >= 0x80000000u)
    isFeatureLeaf = leaf > 0x80000008u;
  Leaf allowed = {leaf, subleaf, ALL, ALL, ALL, ALL};
  if (isFeatureLeaf)
    memset(&allowed, 0, sizeof(allowed));
  for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); ++i)
    if (leaves[i].leaf == leaf && (leaves[i].subleaf == subleaf || (leaf != 7 && leaf != 0xd)))
      allowed = leaves[i];
  r[0] &= allowed.eax;
  r[1] &= allowed.ebx;
  r[2] &= allowed.ecx;
  r[3] &= allowed.edx;
  if (leaf == 1)
    r[0] = kSignature;
}

/* libc's functions, for those of the same name below. */
typedef int (*Sigaction)(int, const struct sigaction *, struct sigaction *);
typedef long (*Syscall)(long, ...);
static Sigaction libcSigaction;
static Syscall libcSyscall;

static void findFunctions(void) {
  if (libcSyscall)
    return;
  libcSigaction = (Sigaction)dlsym(RTLD_NEXT, "sigaction");
  libcSyscall = (Syscall)dlsym(RTLD_NEXT, "syscall");
}

/* What the program wants at a fault that is none of ours. */
static struct sigaction wanted;

static int trapCpuid(int isTrapped) { return (int)libcSyscall(SYS_arch_prctl, ARCH_SET_CPUID, !isTrapped); }

static int isCpuid(const unsigned char *code) { return code[0] == 0x0f && code[1] == 0xa2; }

static void onFault(int number, siginfo_t *info, void *opaque) {
  greg_t *registers = ((ucontext_t *)opaque)->uc_mcontext.gregs;
  /* A trapped instruction is a general protection fault, which names no address; its code can be read. */
  if (info->si_code == SI_KERNEL && isCpuid((const unsigned char *)registers[REG_RIP])) {
    unsigned leaf = (unsigned)registers[REG_RAX], subleaf = (unsigned)registers[REG_RCX], found[4];
    trapCpuid(0);
    __cpuid_count(leaf, subleaf, found[0], found[1], found[2], found[3]);
    trapCpuid(1);
    cap(leaf, subleaf, found);
    registers[REG_RAX] = found[0];
    registers[REG_RBX] = found[1];
    registers[REG_RCX] = found[2];
    registers[REG_RDX] = found[3];
    registers[REG_RIP] += 2;
    return;
  }
  if (wanted.sa_flags & SA_SIGINFO)
    wanted.sa_sigaction(number, info, opaque);
  else if (wanted.sa_handler != SIG_DFL && wanted.sa_handler != SIG_IGN)
    wanted.sa_handler(number);
  else
    libcSigaction(number, &wanted, NULL); /* the instruction faults once more */
}

static int takeFaults(void) {
  struct sigaction action = wanted;
  action.sa_sigaction = onFault;
  action.sa_flags = (wanted.sa_flags & (SA_NODEFER | SA_RESTART)) | SA_SIGINFO | SA_ONSTACK;
  return libcSigaction(SIGSEGV, &action, NULL);
}

__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *action,
                                                     struct sigaction *old) {
  findFunctions();
  if (number != SIGSEGV)
    return libcSigaction(number, action, old);
  struct sigaction before = wanted;
  if (action)
    wanted = *action;
  if (old)
    *old = before;
  return action ? takeFaults() : 0;
}

__attribute__((visibility("default"))) sighandler_t signal(int number, sighandler_t handler) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
  return sigaction(number, &action, &old) ? SIG_ERR : old.sa_handler;
}

/* Refuses the request for a state of registers that no lesser processor has. */
__attribute__((visibility("default"))) long syscall(long number, ...) {
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; ++i)
    a[i] = va_arg(list, long);
  va_end(list);
  findFunctions();
  if (number == SYS_arch_prctl && a[0] == ARCH_REQ_XCOMP_PERM) {
    errno = EINVAL;
    return -1;
  }
  return libcSyscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Before the constructors of all other libraries (-z initfirst), which may ask what the processor has. */
__attribute__((constructor)) static void start(void) {
  findFunctions();
  if (takeFaults() == 0 && trapCpuid(1) == 0)
    return;
  fprintf(stderr, "error: expected a kernel and a processor that let cpuid trap, found: %s\n", strerror(errno));
  _exit(1);
}
