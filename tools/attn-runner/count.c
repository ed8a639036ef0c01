/*===- count.c - a plugin of qemu-aarch64 that counts a kernel's instructions ----===
 *
 * build/arm/counting-runner (scripts/build-runner.sh arm) loads it. It counts the instructions that a library executes:
 * all, vector multiply-adds (including those of 2^x), loads and stores, and prints the counts on standard error. A
 * translated block belongs to the library if its code is mapped from the file `library`.
 *
 * Debian's qemu-user has no qemu-plugin.h: these are declarations of version 1 of the interface, as of QEMU 7.2.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t qemu_plugin_id_t;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int op, void *counter, uint64_t addend);
int qemu_plugin_version = 1;

enum { ADD_U64 = 0 }; /* of qemu_plugin_op */

static char library[4096];
static uint64_t instructions, multiplyAdds, loads, stores;

/* Arm Architecture Reference Manual for A-profile architecture, "A64 instruction set encoding". */
static int isMultiplyAdd(uint32_t word) {
  static const struct {
    uint32_t mask, bits;
  } forms[] = {
      {0xbfa0fc00, 0x0e20cc00}, {0xbfa0fc00, 0x0ea0cc00}, {0xbf80f400, 0x0f801000}, /* fmla, fmls, fmla by element */
      {0xffe0fc00, 0x6e40ec00}, {0xbfe0fc00, 0x2e40fc00}, {0xbfc0f400, 0x0f40f000}, /* bfmmla, bfdot, by element */
      {0xbfe0fc00, 0x0e809400}, {0xbfc0f400, 0x0f80e000}, {0xffe0fc00, 0x4e80a400}, /* sdot, by element, smmla */
      {0xff20c000, 0x65200000}, {0xff20c000, 0x65208000},                           /* of SVE: fmla, fmls; fmad, fmsb */
  };
  for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); ++i)
    if ((word & forms[i].mask) == forms[i].bits)
      return 1;
  return 0;
}

/* True if this address is mapped from the library. */
static int isInLibrary(const void *address) {
  static uintptr_t first, last;
  uintptr_t place = (uintptr_t)address;
  if (place >= first && place < last)
    return 1;
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[4096 + 128];
  int found = 0;
  while (maps && fgets(line, sizeof(line), maps)) {
    uintptr_t start, end;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2 && place >= start && place < end &&
        strlen(line) >= strlen(library) && !strcmp(line + strlen(line) - strlen(library), library)) {
      first = start;
      last = end;
      found = 1;
    }
  }
  if (maps)
    fclose(maps);
  return found;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
  (void)id;
  size_t count = qemu_plugin_tb_n_insns(block);
  if (count == 0 || !isInLibrary(qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(block, 0))))
    return;
  for (size_t i = 0; i < count; ++i) {
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
    uint32_t word;
    memcpy(&word, qemu_plugin_insn_data(insn), sizeof(word));
    qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD_U64, &instructions, 1);
    if (isMultiplyAdd(word))
      qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD_U64, &multiplyAdds, 1);
    else if ((word & 0x0a000000) == 0x08000000) /* loads and stores; bit 22 tells the common ones apart */
      qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD_U64, word >> 22 & 1 ? &loads : &stores, 1);
  }
}

static void finish(qemu_plugin_id_t id, void *data) {
  (void)id, (void)data;
  fprintf(stderr,
          "%" PRIu64 " instructions, %" PRIu64 " multiply-adds, %" PRIu64 " loads, %" PRIu64
          " stores: %.3f instructions a multiply-add\n",
          instructions, multiplyAdds, loads, stores, (double)instructions / (multiplyAdds ? multiplyAdds : 1));
}

/* library=FILE */
int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int count, char **arguments) {
  (void)info;
  for (int i = 0; i < count; ++i)
    if (!strncmp(arguments[i], "library=", 8))
      snprintf(library, sizeof(library), "%s", arguments[i] + 8);
  if (!library[0])
    return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  qemu_plugin_register_atexit_cb(id, finish, 0);
  return 0;
}
