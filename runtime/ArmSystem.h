/*===- ArmSystem.h - what a system says of a 64-bit Arm processor ----------------===
 *
 * A Question is the part of a row of ArmFeatures.inc that this system answers. Compiled without headers of any C
 * library: functions of the system are declared here.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_ARM_SYSTEM_H
#define ATTN_ARM_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#define FEATURE_TABLE "ArmFeatures.inc"

#if defined(__APPLE__)
int sysctlbyname(const char *name, void *old, size_t *oldSize, void *new, size_t newSize);

typedef struct Question {
  char name[32]; /* inline: a table of pointers would need relocations */
} Question;
#define QUESTION(place, bit, apple, windows) {"hw.optional." apple}

typedef struct System {
  char unused;
} System;
static System readSystem(void) { return (System){0}; }

/* An unknown name is an error. An empty name leaves only the prefix with its dot, which no system knows. */
static int isThere(const System *system, const Question *question) {
  (void)system;
  int32_t value = 0;
  size_t size = sizeof(value);
  return sysctlbyname(question->name, &value, &size, NULL, 0) == 0 && value != 0;
}
#elif defined(_WIN32)
__declspec(dllimport) int IsProcessorFeaturePresent(uint32_t feature);

typedef struct Question {
  uint8_t number;
} Question;
#define QUESTION(place, bit, apple, windows) {windows}

typedef struct System {
  char unused;
} System;
static System readSystem(void) { return (System){0}; }

static int isThere(const System *system, const Question *question) {
  (void)system;
  return question->number != 0 && IsProcessorFeaturePresent(question->number) != 0;
}
#else
/* The word of the auxiliary vector with a feature. LENGTH: the length of SVE registers; `bit` is the number of 128-bit
 * vectors. */
typedef enum Place { HWCAP, HWCAP2, LENGTH } Place;

typedef struct Question {
  uint8_t place, bit;
} Question;
#define QUESTION(place, bit, apple, windows) {place, bit}
/* In HWCAP. */
#define SVE_BIT 22

typedef struct System {
  uint64_t words[2];
  uint32_t length;
} System;

static System readSystem(void) {
  System system = {{readAuxiliary(AUXILIARY_HWCAP), readAuxiliary(AUXILIARY_HWCAP2)}, 0};
  if (system.words[HWCAP] >> SVE_BIT & 1)
    system.length = readSveBytes() / 16;
  return system;
}

static int isThere(const System *system, const Question *question) {
  if (question->place == LENGTH)
    return system->length == question->bit;
  return system->words[question->place] >> question->bit & 1;
}
#endif

#endif /* ATTN_ARM_SYSTEM_H */
