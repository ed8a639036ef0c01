/*===- WebLibrary.c - what modules of WebAssembly have of a C library ------------===
 *
 * A module of attnc --emit=wasm needs no system: this is linked into it. Memory is a list of free blocks that grows at
 * the end of the module's memory; malloc and free are exports, by which a page gets memory for tensors. Objects have
 * nothing of this file: they link the C library of their system.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include <inttypes.h>
#include <stdio.h>

#define EXPORTED __attribute__((visibility("default")))

/*===----------------------------------------------------------------------===*/
/* Memory */
/*===----------------------------------------------------------------------===*/

/* In front of each block. Blocks are multiples of its size, so all are aligned to a cache line. */
typedef struct Block {
  size_t size; /* with this header */
  struct Block *next;
  char padding[56];
} Block;

enum { UNIT = sizeof(Block), PAGE = 65536 };
_Static_assert(sizeof(Block) == 64, "a cache line");

extern char __heap_base;  /* the linker's: the end of data and stack */
static Block *firstFree;  /* by address */
static uintptr_t heapEnd; /* what lies behind is not of any block */

static void insertFree(Block *block) {
  Block **place = &firstFree, *before = NULL;
  while (*place && *place < block)
    before = *place, place = &before->next;
  block->next = *place;
  *place = block;
  if (block->next && (char *)block + block->size == (char *)block->next)
    block->size += block->next->size, block->next = block->next->next;
  if (before && (char *)before + before->size == (char *)block)
    before->size += block->size, before->next = block->next;
}

/* At least that many bytes more among the free blocks; 0 where the engine has none. */
static int growHeap(size_t size) {
  if (!heapEnd)
    heapEnd = ((uintptr_t)&__heap_base + UNIT - 1) / UNIT * UNIT;
  uint64_t there = (uint64_t)__builtin_wasm_memory_size(0) * PAGE, needed = (uint64_t)heapEnd + size;
  if (needed > there && __builtin_wasm_memory_grow(0, (size_t)((needed - there + PAGE - 1) / PAGE)) == SIZE_MAX)
    return 0;
  Block *block = (Block *)heapEnd;
  /* The last bytes of 4 GiB are left: an end of 0 would be none. */
  uint64_t end = (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
  heapEnd = end > SIZE_MAX ? (uintptr_t)0 - UNIT : (uintptr_t)end;
  block->size = heapEnd - (uintptr_t)block;
  insertFree(block);
  return block->size >= size;
}

EXPORTED void *malloc(size_t size) {
  if (size > SIZE_MAX - 2 * UNIT)
    return NULL;
  size = (size + 2 * UNIT - 1) / UNIT * UNIT;
  for (int isGrown = 0;; isGrown = 1) {
    for (Block **place = &firstFree; *place; place = &(*place)->next) {
      Block *block = *place;
      if (block->size < size)
        continue;
      *place = block->next;
      if (block->size > size) {
        Block *rest = (Block *)((char *)block + size);
        rest->size = block->size - size;
        block->size = size;
        insertFree(rest);
      }
      return block + 1;
    }
    if (isGrown || !growHeap(size))
      return NULL;
  }
}

EXPORTED void free(void *memory) {
  if (memory)
    insertFree((Block *)memory - 1);
}

/* A module has one thread. */
void attn_parallel_for(void (*function)(void *context, int64_t index), void *context, int64_t count) {
  for (int64_t index = 0; index < count; ++index)
    function(context, index);
}

/*===----------------------------------------------------------------------===*/
/* Functions of compiler-rt that LLVM calls */
/*===----------------------------------------------------------------------===*/

/* A product of 128 bits, of which tests for overflow are made: by halves of 32 bits. */
__int128 __multi3(__int128 a, __int128 b) {
  uint64_t aLow = (uint64_t)a, bLow = (uint64_t)b, aHigh = (uint64_t)(a >> 64), bHigh = (uint64_t)(b >> 64);
  uint64_t a0 = (uint32_t)aLow, a1 = aLow >> 32, b0 = (uint32_t)bLow, b1 = bLow >> 32;
  uint64_t first = a0 * b0, middle = a1 * b0 + (first >> 32), other = a0 * b1 + (uint32_t)middle;
  uint64_t low = other << 32 | (uint32_t)first;
  uint64_t high = a1 * b1 + (middle >> 32) + (other >> 32) + aHigh * bLow + aLow * bHigh;
  return (__int128)((unsigned __int128)high << 64 | low);
}

static uint32_t getBits(float number) {
  uint32_t bits;
  __builtin_memcpy(&bits, &number, sizeof(bits));
  return bits;
}

static float getFloat(uint32_t bits) {
  float number;
  __builtin_memcpy(&number, &bits, sizeof(number));
  return number;
}

/* f16 to f32: the exponent of 5 bits is moved by a product with 2^112, which makes normal numbers of denormal ones. */
float __extendhfsf2(uint16_t half) {
  uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
  uint32_t bits = magnitude >= 0x0f800000 ? magnitude | 0x7f800000 : getBits(getFloat(magnitude) * 0x1p112f);
  return getFloat(bits | (uint32_t)(half & 0x8000) << 16);
}

/* f32 to f16, to nearest, ties to even. */
uint16_t __truncsfhf2(float number) {
  uint32_t bits = getBits(number), magnitude = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
  if (magnitude > 0x7f800000)
    return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x47800000) /* 2^16 */
    return (uint16_t)(sign | 0x7c00);
  if (magnitude < 0x38800000) /* 2^-14: the sum has the bits of a denormal number in its last place */
    return (uint16_t)(sign | (getBits(getFloat(magnitude) + 0.5f) - 0x3f000000));
  magnitude += 0xfff + (magnitude >> 13 & 1);
  return (uint16_t)(sign | (magnitude - 0x38000000) >> 13);
}

/* f64 to f32 with the last bit set where it is not exact, so that the second rounding is right. */
static float roundToOdd(double number) {
  float nearest = (float)number;
  double back = nearest;
  uint32_t bits = getBits(nearest);
  if (back == number || number != number || bits & 1 || (bits & 0x7f800000) == 0x7f800000)
    return nearest;
  return getFloat((back > number) == (number > 0) ? bits - 1 : bits + 1);
}

uint16_t __truncdfhf2(double number) { return __truncsfhf2(roundToOdd(number)); }

/*===----------------------------------------------------------------------===*/
/* Functions of libm: of lse, sinks and softcap */
/*===----------------------------------------------------------------------===*/

/* x = 2^n m, m from sqrt(1/2) to sqrt(2); ln m = 2 artanh(s) = 2 (s + s^3 / 3 + s^5 / 5 + ...), s = (m - 1) / (m + 1).
 */
double log(double x) {
  if (!(x > 0) || x == __builtin_inf())
    return x == 0 ? -__builtin_inf() : x < 0 ? __builtin_nan("") : x;
  int64_t bits, exponent = -1023;
  if (x < 0x1p-1022)
    x *= 0x1p54, exponent -= 54;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  exponent += bits >> 52;
  bits = (bits & 0xfffffffffffff) | 0x3ff0000000000000;
  double m;
  __builtin_memcpy(&m, &bits, sizeof(m));
  if (m > 0x1.6a09e667f3bcdp0)
    m /= 2, ++exponent;
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int k = 25; k >= 3; k -= 2)
    sum = square * (sum + 1.0 / k);
  /* ln 2 in two parts: the product with the first, of 32 bits, is exact. */
  double high = 0x1.62e42feep-1, low = 0x1.a39ef35793c76p-33;
  return (double)exponent * high + (2 * s + (2 * s * sum + (double)exponent * low));
}

float logf(float x) { return (float)log(x); }

/* 2^n of -1022 <= n <= 1023. */
static double getPower(int n) {
  uint64_t bits = (uint64_t)(n + 1023) << 52;
  double power;
  __builtin_memcpy(&power, &bits, sizeof(power));
  return power;
}

/* x = n ln 2 + r, |r| <= ln 2 / 2. Returns e^r - 1 by its series. */
static double reduce(double x, int *n) {
  *n = (int)(x * 0x1.71547652b82fep0 + (x < 0 ? -0.5 : 0.5));
  double r = x - *n * 0x1.62e42feep-1 - *n * 0x1.a39ef35793c76p-33, sum = 1;
  for (int k = 15; k >= 2; --k)
    sum = 1 + r / k * sum;
  return r * sum;
}

double exp(double x) {
  int n;
  if (x != x || x > 710 || x < -750)
    return x != x ? x : x > 0 ? __builtin_inf() : 0;
  double rest = reduce(x, &n);
  return (1 + rest) * getPower(n / 2) * getPower(n - n / 2); /* 2^n alone may have no place */
}

float expf(float x) { return (float)exp(x); }

/* e^x - 1 of 0 <= x < 40. */
static double expMinusOne(double x) {
  int n;
  double rest = reduce(x, &n), power = getPower(n);
  return power * rest + (power - 1);
}

/* LLVM's own of f32 is inline; this one is of softcap in f64. tanh x = (e^2x - 1) / (e^2x + 1). */
double tanh(double x) {
  double magnitude = x < 0 ? -x : x, grown = magnitude < 20 ? expMinusOne(2 * magnitude) : 0;
  double result = magnitude < 20 ? grown / (grown + 2) : magnitude >= 20 ? 1 : magnitude;
  return x < 0 ? -result : result;
}

/*===----------------------------------------------------------------------===*/
/* Texts of refusals */
/*===----------------------------------------------------------------------===*/

typedef struct Text {
  char *text;
  size_t size, length;
} Text;

static void put(Text *text, char letter) {
  if (text->length + 1 < text->size)
    text->text[text->length] = letter;
  ++text->length;
}

static void putNumber(Text *text, uint64_t number) {
  char digits[20];
  int count = 0;
  do
    digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  while (count > 0)
    put(text, digits[--count]);
}

static void putSigned(Text *text, int64_t number) {
  if (number < 0)
    put(text, '-');
  putNumber(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

/* The conversions of runtime/: s, d, u, and lengths of them. */
int vsnprintf(char *text, size_t size, const char *format, va_list values) {
  Text to = {text, size, 0};
  for (; *format; ++format) {
    if (*format != '%') {
      put(&to, *format);
      continue;
    }
    int longs = 0;
    while (*++format == 'l')
      ++longs;
    if (*format == 's')
      for (const char *each = va_arg(values, const char *); *each; ++each)
        put(&to, *each);
    else if (*format == 'd')
      putSigned(&to, longs == 2 ? va_arg(values, long long) : longs ? va_arg(values, long) : va_arg(values, int));
    else if (*format == 'u')
      putNumber(&to, longs == 2 ? va_arg(values, unsigned long long)
                     : longs    ? va_arg(values, unsigned long)
                                : va_arg(values, unsigned));
    else
      put(&to, *format);
  }
  if (size > 0)
    text[to.length < size ? to.length : size - 1] = 0;
  return (int)to.length;
}
