//===- Dialect.cpp - the dialect and its schedules for MLIR's C API -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn-c/attn_mlir.h"
#include "attn/InitAll.h"
#include "attn/Target/PassTarget.h"
#include "attn/TransformOps/AttnTransformOps.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

// Like MLIR_DEFINE_CAPI_DIALECT_REGISTRATION, but with the interface models.

static void insertDialect(MlirDialectRegistry registry) { registerDialect(*unwrap(registry)); }

static MlirDialect loadDialect(MlirContext context) {
  DialectRegistry registry;
  registerDialect(registry);
  unwrap(context)->appendDialectRegistry(registry);
  return wrap(static_cast<Dialect *>(unwrap(context)->getOrLoadDialect<AttnDialect>()));
}

static MlirStringRef getNamespace() { return wrap(AttnDialect::getDialectNamespace()); }

MlirDialectHandle mlirGetDialectHandle__attn__() {
  static MlirDialectRegistrationHooks hooks = {insertDialect, loadDialect, getNamespace};
  return MlirDialectHandle{&hooks};
}

void mlirRegisterAttnTransformExtension(MlirDialectRegistry registry) {
  registerTransformDialectExtension(*unwrap(registry));
}

void mlirRegisterAllAttnDialects(MlirDialectRegistry registry) { attn::registerAllDialects(*unwrap(registry)); }

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

MlirOperation mlirAttnSdpaCreate(MlirLocation location, MlirValue query, MlirValue key, MlirValue value,
                                 MlirValue output, MlirValue lse) {
  OpBuilder builder(unwrap(location)->getContext());
  Value stats = lse.ptr ? unwrap(lse) : Value();
  auto op = SdpaOp::create(builder, unwrap(location), unwrap(query), unwrap(key), unwrap(value), unwrap(output), stats,
                           /*maps=*/{});
  return wrap(op.getOperation());
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

bool mlirAttributeIsAAttnSchedule(MlirAttribute attribute) { return isa<ScheduleAttr>(unwrap(attribute)); }

MlirAttribute mlirAttnScheduleParse(MlirContext context, MlirStringRef text, MlirAttribute base) {
  auto schedule = dyn_cast_if_present<ScheduleAttr>(unwrap(base));
  unwrap(context)->getOrLoadDialect<AttnDialect>();
  llvm::Expected<ScheduleAttr> parsed = parseSchedule(unwrap(text), schedule, unwrap(context));
  if (parsed)
    return wrap(Attribute(*parsed));
  emitError(UnknownLoc::get(unwrap(context)), "schedule: ") << llvm::toString(parsed.takeError());
  return MlirAttribute{nullptr};
}

MlirAttribute mlirAttnScheduleSelect(MlirOperation sdpa, MlirStringRef target) {
  auto op = dyn_cast<SdpaOp>(unwrap(sdpa));
  if (!op) {
    unwrap(sdpa)->emitError("expected attn.sdpa to choose a schedule for");
    return MlirAttribute{nullptr};
  }
  FailureOr<TargetInfo> info = getTarget(op, "mlirAttnScheduleSelect", unwrap(target));
  FailureOr<ScheduleAttr> schedule = failure();
  if (succeeded(info))
    schedule = selectSchedule(op, *info);
  return succeeded(schedule) ? wrap(Attribute(*schedule)) : MlirAttribute{nullptr};
}

MlirLogicalResult mlirAttnScheduleVerify(MlirAttribute schedule, MlirOperation op, MlirStringRef target) {
  if (!isa<SdpaOp, OnlineStepOp>(unwrap(op)))
    return wrap(LogicalResult(unwrap(op)->emitError("expected attn.sdpa or attn.online_step to have a schedule")));
  auto attribute = cast<ScheduleAttr>(unwrap(schedule));
  if (unwrap(target).empty())
    return wrap(attribute.verifyFor(unwrap(op), /*target=*/nullptr));
  FailureOr<TargetInfo> info = getTarget(unwrap(op), "mlirAttnScheduleVerify", unwrap(target));
  return wrap(succeeded(info) ? attribute.verifyFor(unwrap(op), &*info) : failure());
}

int64_t mlirAttnScheduleGetQueryTile(MlirAttribute schedule) {
  return cast<ScheduleAttr>(unwrap(schedule)).getQueryTile();
}
int64_t mlirAttnScheduleGetKeyTile(MlirAttribute schedule) { return cast<ScheduleAttr>(unwrap(schedule)).getKeyTile(); }
int64_t mlirAttnScheduleGetLanes(MlirAttribute schedule) { return cast<ScheduleAttr>(unwrap(schedule)).getLanes(); }
