/*===- RiscvSystem.h - what Linux says of a RISC-V processor ---------------------===
 *
 * A Question is the part of a row of RiscvFeatures.inc that Linux answers: the auxiliary vector has a bit for each
 * letter, the system call riscv_hwprobe (Linux 6.4) for longer names, and vlenb the length of vectors.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_RISCV_SYSTEM_H
#define ATTN_RISCV_SYSTEM_H

#include <stdint.h>

#define FEATURE_TABLE "RiscvFeatures.inc"

/* LENGTH: `bit` is the number of bytes that a vector has at least. */
typedef enum Place { HWCAP, HWPROBE, LENGTH } Place;

typedef struct Question {
  uint8_t place, bit;
} Question;
#define QUESTION(place, bit) {place, bit}
/* In HWCAP. */
#define VECTOR_BIT 21

typedef struct System {
  uint64_t words[2];
  uint64_t length;
} System;

/* Without vectors, reading their length is illegal. */
static System readSystem(void) {
  System system = {{readAuxiliary(AUXILIARY_HWCAP), readExtensions()}, 0};
  if (system.words[HWCAP] >> VECTOR_BIT & 1)
    system.length = readVectorBytes();
  return system;
}

static int isThere(const System *system, const Question *question) {
  if (question->place == LENGTH)
    return system->length >= question->bit;
  return system->words[question->place] >> question->bit & 1;
}

#endif /* ATTN_RISCV_SYSTEM_H */
