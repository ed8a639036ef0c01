/*===- attn_mlir.h - the dialect and its passes for MLIR's C API ----------------===
 *
 * For compilers that are written against mlir-c, in C or behind bindings of another language. The library is
 * AttnMLIRCAPI of the CMake package. attn.h, which needs no MLIR, is another one: libattn.
 *
 * Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_C_ATTN_MLIR_H
#define ATTN_C_ATTN_MLIR_H

#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"

/* mlirRegisterAttn…Passes of each folder of passes, and for each pass of it, as attn-fuse of Transforms,
 * mlirCreateAttnTransformsFusePass and mlirRegisterAttnTransformsFusePass. */
#include "attn/Conversion/Passes.capi.h.inc"
#include "attn/Raise/Passes.capi.h.inc"
#include "attn/Transforms/Passes.capi.h.inc"

#ifdef __cplusplus
extern "C" {
#endif

/* Registration. */

/** mlirGetDialectHandle__attn__(): the dialect with its interface models, so that passes of MLIR tile and bufferise it.
 */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Attn, attn);

/** transform.attn.raise and its siblings. */
MLIR_CAPI_EXPORTED void mlirRegisterAttnTransformExtension(MlirDialectRegistry registry);

/** The dialect, the transform extension, and all of MLIR's dialects and extensions, of which the pipelines need many.
 */
MLIR_CAPI_EXPORTED void mlirRegisterAllAttnDialects(MlirDialectRegistry registry);

/** All passes and pipelines (attn-to-flash, attn-to-llvm, …), for mlirParsePassPipeline. */
MLIR_CAPI_EXPORTED void mlirRegisterAttnPasses(void);

/* Ops. */

/** An attn.sdpa that stands nowhere yet. `lse` may be null; the results are as many as `output` and `lse` are tensors.
 * All else is set on the op, as mlirOperationSetAttributeByName(op, "scale", …). */
MLIR_CAPI_EXPORTED MlirOperation mlirAttnSdpaCreate(MlirLocation location, MlirValue query, MlirValue key,
                                                    MlirValue value, MlirValue output, MlirValue lse);

/* Schedules. A target is named as by attnc --target. */

/** True for #attn.prefill, #attn.decode and #attn.block. */
MLIR_CAPI_EXPORTED bool mlirAttributeIsAAttnSchedule(MlirAttribute attribute);

/** The schedule of `text`, as "#attn.prefill<key_tile = 32>"; fields that it leaves out are those of `base`, which may
 * be null. Null, after a diagnostic, where it is none. */
MLIR_CAPI_EXPORTED MlirAttribute mlirAttnScheduleParse(MlirContext context, MlirStringRef text, MlirAttribute base);

/** What attn-select-schedule chooses for an attn.sdpa. Null, after a diagnostic, where the target has no kernel for it.
 */
MLIR_CAPI_EXPORTED MlirAttribute mlirAttnScheduleSelect(MlirOperation sdpa, MlirStringRef target);

/** Failure, after a diagnostic that says what to write, where an attn.sdpa or attn.online_step cannot have the
 * schedule: on the target, or with an empty one on any. */
MLIR_CAPI_EXPORTED MlirLogicalResult mlirAttnScheduleVerify(MlirAttribute schedule, MlirOperation op,
                                                            MlirStringRef target);

/** Query rows, keys and vector elements (on a GPU, threads of a warp) of a tile. */
MLIR_CAPI_EXPORTED int64_t mlirAttnScheduleGetQueryTile(MlirAttribute schedule);
MLIR_CAPI_EXPORTED int64_t mlirAttnScheduleGetKeyTile(MlirAttribute schedule);
MLIR_CAPI_EXPORTED int64_t mlirAttnScheduleGetLanes(MlirAttribute schedule);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_ATTN_MLIR_H */
