/*===- Processor.c - which variant of a kernel this processor runs --------------===
 *
 * CPUID reports what the processor has. XGETBV reports which registers the operating system saves at a context switch.
 * An instruction is used only if both have it. Linux also grants the registers of tiles to processes that request them,
 * or refuses (Documentation/arch/x86/xstate.rst): without permission, the first tile instruction is illegal. On 64-bit
 * Arm, only the system can read the equivalent of CPUID. Linux reports what a process may use in its auxiliary vector
 * (Documentation/arch/arm64/elf_hwcaps.rst), and the length of its SVE registers by prctl; macOS by sysctlbyname,
 * Windows by IsProcessorFeaturePresent. On RISC-V Linux tells by its auxiliary vector and riscv_hwprobe.
 * Built twice, like CheckArguments.c. The only state is one integer of the object; every thread that finds it unset
 * computes the same value.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "Message.h"
#include "Registers.h"
#include "attn-c/attn.h"
#include "attn-c/attn_dispatch.h"

#if defined(__aarch64__)
#include "ArmSystem.h"
#elif defined(__riscv)
#include "RiscvSystem.h"
#endif

#if defined(FEATURE_TABLE) /* the system tells of features */
typedef struct Feature {
  char name[20]; /* inline: a table of pointers would need relocations */
  Question question;
} Feature;
#else
typedef enum Register { EAX, EBX, ECX, EDX } Register;
/* The register state that instructions of a feature need, as bits of XCR0: x87, which XSAVE itself always has; SSE and
 * AVX; these, opmasks and the upper halves of ZMM; tile configuration and data. */
typedef enum State { NONE = 0, XSAVE = 0x1, AVX = 0x6, AVX512 = 0xe6, AMX = 0x60000 } State;

typedef struct Feature {
  char name[20]; /* inline: a table of pointers would need relocations */
  uint32_t leaf, subleaf;
  uint8_t reg, bit;
  uint32_t state;
} Feature;

#endif

static const Feature features[] = {
#if defined(FEATURE_TABLE)
#define FEATURE(name, ...) {name, QUESTION(__VA_ARGS__)},
#include FEATURE_TABLE
#else
#define FEATURE(name, leaf, subleaf, reg, bit, state) {name, leaf, subleaf, reg, bit, state},
#include "ProcessorFeatures.inc"
#endif
#undef FEATURE
};
enum { NUM_FEATURES = sizeof(features) / sizeof(features[0]) };
_Static_assert(NUM_FEATURES <= 64 * ATTN_FEATURE_WORDS, "a bit for each feature");

int32_t attn_find_feature(const char *name) {
  for (int32_t i = 0; i < NUM_FEATURES; ++i)
    if (isSame(features[i].name, name))
      return i;
  return -1;
}

#if defined(FEATURE_TABLE)
static void readFeatures(uint64_t found[ATTN_FEATURE_WORDS]) {
  System system = readSystem();
  for (int word = 0; word < ATTN_FEATURE_WORDS; ++word)
    found[word] = 0;
  for (int32_t i = 0; i < NUM_FEATURES; ++i)
    found[i / 64] |= (uint64_t)isThere(&system, &features[i].question) << i % 64;
}

/* No permission has to be requested. */
static void detectFeatures(const uint64_t needed[ATTN_FEATURE_WORDS], uint64_t found[ATTN_FEATURE_WORDS]) {
  (void)needed;
  readFeatures(found);
}
#else
/* CPUID.1:ECX: the operating system uses XSAVE, and XGETBV exists. */
#define OSXSAVE_BIT 27

/* ARCH_REQ_XCOMP_PERM, and XFEATURE_XTILEDATA. Threads inherit what their process has; asking again costs 0.15 us. */
enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };

/* The features in CPUID and XCR0, whether or not this process may use them. */
static void readFeatures(uint64_t found[ATTN_FEATURE_WORDS]) {
  uint32_t registers[4] = {0}, leaf = 0, subleaf = 0;
  int hasLeaf = 0;
  for (int word = 0; word < ATTN_FEATURE_WORDS; ++word)
    found[word] = 0;
  int hasXsave = readLeaf(1, 0, registers) && (registers[ECX] >> OSXSAVE_BIT & 1);
  uint32_t state = hasXsave ? readState() : 0;
  for (int32_t i = 0; i < NUM_FEATURES; ++i) {
    const Feature *feature = &features[i];
    if (i == 0 || feature->leaf != leaf || feature->subleaf != subleaf) {
      leaf = feature->leaf;
      subleaf = feature->subleaf;
      hasLeaf = readLeaf(leaf, subleaf, registers);
    }
    int isSaved = (state & feature->state) == feature->state;
    if (hasLeaf && isSaved && registers[feature->reg] >> feature->bit & 1)
      found[i / 64] |= UINT64_C(1) << i % 64;
  }
}

/* The features available to code that may use `needed`: requests tiles if it may use them. */
static void detectFeatures(const uint64_t needed[ATTN_FEATURE_WORDS], uint64_t found[ATTN_FEATURE_WORDS]) {
  uint64_t tiles[ATTN_FEATURE_WORDS] = {0};
  int areNeeded = 0;
  readFeatures(found);
  for (int32_t i = 0; i < NUM_FEATURES; ++i)
    if (features[i].state == AMX)
      tiles[i / 64] |= UINT64_C(1) << i % 64;
  for (int word = 0; word < ATTN_FEATURE_WORDS; ++word)
    areNeeded |= (found[word] & tiles[word] & needed[word]) != 0;
  if (areNeeded && callArchPrctl(REQUEST_PERMISSION, TILE_DATA) != 0)
    for (int word = 0; word < ATTN_FEATURE_WORDS; ++word)
      found[word] &= ~tiles[word];
}
#endif

void attn_detect_features(uint64_t found[ATTN_FEATURE_WORDS]) {
  static const uint64_t all[ATTN_FEATURE_WORDS] = {UINT64_MAX, UINT64_MAX};
  detectFeatures(all, found);
}

#if defined(FEATURE_TABLE)
int32_t attn_request_tiles(void) { return 0; }
#else
int32_t attn_request_tiles(void) {
  uint64_t found[ATTN_FEATURE_WORDS];
  int32_t bit = attn_find_feature("amx-tile");
  attn_detect_features(found);
  return (int32_t)(found[bit / 64] >> bit % 64 & 1);
}
#endif

static int isSubset(const uint64_t *needed, const uint64_t *found) {
  for (int word = 0; word < ATTN_FEATURE_WORDS; ++word)
    if (needed[word] & ~found[word])
      return 0;
  return 1;
}

/* The value of attn_variants.chosen if no variant runs. */
enum { NO_VARIANT = -1 };

static int32_t choose(const attn_variants *variants) {
  uint64_t needed[ATTN_FEATURE_WORDS] = {0}, found[ATTN_FEATURE_WORDS];
  for (int64_t i = 0; i < variants->count; ++i)
    for (int word = 0; word < ATTN_FEATURE_WORDS; ++word)
      needed[word] |= variants->variants[i].features[word];
  detectFeatures(needed, found);
  for (int64_t i = variants->count - 1; i >= 0; --i)
    if (isSubset(variants->variants[i].features, found))
      return (int32_t)i + 1;
  return NO_VARIANT;
}

int32_t attn_select_variant(const attn_variants *variants) {
  int32_t chosen = __atomic_load_n(variants->chosen, __ATOMIC_RELAXED);
  if (chosen == 0) {
    int32_t unset = 0;
    chosen = choose(variants);
    /* An earlier choice by hand stays. */
    if (!__atomic_compare_exchange_n(variants->chosen, &unset, chosen, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      chosen = unset;
  }
  return chosen > 0 ? chosen - 1 : -1;
}

/* "x86-64-v3 needs avx2, fma"; "sapphirerapids needs amx-tile, which the system refuses" */
static void appendMissing(Message *message, const attn_variant *variant) {
  uint64_t found[ATTN_FEATURE_WORDS], there[ATTN_FEATURE_WORDS];
  detectFeatures(variant->features, found);
  readFeatures(there);
  append(message, "%s needs", variant->name);
  const char *separator = " ";
  for (int32_t i = 0; i < NUM_FEATURES; ++i)
    if ((variant->features[i / 64] & ~found[i / 64]) >> i % 64 & 1) {
      append(message, "%s%s", separator, features[i].name);
      separator = ", ";
    }
  if (isSubset(variant->features, there))
    append(message, ", which the system refuses");
}

int32_t attn_check_processor(const attn_variants *variants, char *message, size_t size) {
  Message text = startMessage(message, size);
  if (attn_select_variant(variants) >= 0)
    return ATTN_OK;
  append(&text, "expected a processor that runs a target of the kernel, found another: ");
  appendMissing(&text, &variants->variants[0]);
  return ATTN_WRONG_PROCESSOR;
}

int32_t attn_use_target(const attn_variants *variants, const char *name, char *message, size_t size) {
  Message text = startMessage(message, size);
  if (!name) {
    __atomic_store_n(variants->chosen, choose(variants), __ATOMIC_RELAXED);
    return attn_check_processor(variants, message, size);
  }
  for (int64_t i = 0; i < variants->count; ++i) {
    const attn_variant *variant = &variants->variants[i];
    if (!isSame(variant->name, name))
      continue;
    uint64_t found[ATTN_FEATURE_WORDS];
    detectFeatures(variant->features, found);
    if (!isSubset(variant->features, found)) {
      append(&text, "expected a target that this processor runs: ");
      appendMissing(&text, variant);
      return ATTN_WRONG_PROCESSOR;
    }
    __atomic_store_n(variants->chosen, (int32_t)i + 1, __ATOMIC_RELAXED);
    return ATTN_OK;
  }
  append(&text, "expected one of");
  for (int64_t i = 0; i < variants->count; ++i)
    append(&text, "%s %s", i ? "," : "", variants->variants[i].name);
  append(&text, ", found '%s'", name);
  return ATTN_WRONG_PROCESSOR;
}

const char *attn_get_target(const attn_variants *variants) {
  int32_t variant = attn_select_variant(variants);
  return variant < 0 ? NULL : variants->variants[variant].name;
}
