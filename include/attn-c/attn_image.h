/*===- attn_image.h - compiled modules as bytes ---------------------------------===
 *
 * For caches of compiled kernels: a key of all that a compilation depends on, and a module as bytes, which load again
 * without a compilation. The functions are in libattn; attn.h says what holds for all of them.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_C_ATTN_IMAGE_H
#define ATTN_C_ATTN_IMAGE_H

#include "attn-c/attn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a key: 64 hexadecimal digits and the terminator. */
#define ATTN_KEY_SIZE 65

/* The key of a compilation: SHA-256 of the source, all options, the target with the name and the features of its
 * processor, for a GPU the ptxas that is found, the version and the builds of attn, MLIR and LLVM. Equal keys mean
 * equal code. The source is not parsed, so a source that compiling would refuse has a key too. An unknown target has
 * none. */
ATTN_API attn_status attn_compile_key(attn_source_kind kind, const char *data, size_t size,
                                      const attn_compile_options *options, char key[ATTN_KEY_SIZE], char **message);

/* Takes the image of a module out of it: its code before it was loaded, and its manifest, with a checksum. It can be
 * taken once; afterwards, and of a module that was loaded from an image, the result is null. Free it with
 * attn_free_string. */
ATTN_API char *attn_module_take_image(attn_module *module, size_t *size);

/* The module of an image. Bytes that are no image, are damaged, or were made by another build are refused with
 * ATTN_WRONG_VALUE. Calls refuse code for another processor, as those of a compiled module do. An image is code: the
 * checksum sees damage, not intent, so load only what this user has written. */
ATTN_API attn_status attn_module_load(const char *image, size_t size, attn_module **module, char **message);

/* Sets a folder for later compilations of the calling thread; null is none, the default. It is made where it is
 * missing. Machine code is kept there by a hash of the LLVM IR that it is made of, before LLVM optimises it, of the
 * processor and of LLVM's build: what another build of attn translates alike is found as well. What was not read for a
 * week is removed, and the oldest beyond 1 GiB. Files of the folder are code: nobody else may write there. */
ATTN_API void attn_set_object_cache(const char *folder);

/* Whether later compilations of the calling thread run a few passes of LLVM in place of its -O3: they take two thirds
 * of the time, and kernels are slower. For tests of what stands around kernels; keep no such kernel where others load
 * it. */
ATTN_API void attn_set_quick_code(int32_t quick);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_ATTN_IMAGE_H */
