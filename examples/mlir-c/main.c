/* Causal attention built with MLIR's C API, scheduled, compiled by attn's pipelines and run in this process:
 * `mlir-c-attention libattn_runtime.so`. It prints how far the result is from the formula. */

#include "attn-c/attn_mlir.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/ExecutionEngine.h"
#include "mlir-c/RegisterEverything.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 2, ROWS = 40, SIZE = 16, COUNT = HEADS * ROWS * SIZE };

static MlirStringRef text(const char *string) { return mlirStringRefCreateFromCString(string); }

static void print(MlirStringRef part, void *stream) { fwrite(part.data, 1, part.length, stream); }

static MlirLogicalResult report(MlirDiagnostic diagnostic, void *stream) {
  fputs("refused: ", stream);
  mlirDiagnosticPrint(diagnostic, print, stream);
  fputs("\n", stream);
  return mlirLogicalResultSuccess();
}

static MlirNamedAttribute named(MlirContext context, const char *name, MlirAttribute attribute) {
  return mlirNamedAttributeGet(mlirIdentifierGet(context, text(name)), attribute);
}

/* Appends an op without regions to `block`. */
static MlirOperation append(MlirBlock block, MlirLocation loc, const char *name, intptr_t numOperands,
                            const MlirValue *operands, intptr_t numResults, const MlirType *results) {
  MlirOperationState state = mlirOperationStateGet(text(name), loc);
  mlirOperationStateAddOperands(&state, numOperands, operands);
  mlirOperationStateAddResults(&state, numResults, results);
  MlirOperation op = mlirOperationCreate(&state);
  mlirBlockAppendOwnedOperation(block, op);
  return op;
}

/* func.func @attend(q, k, v) -> tensor, with an attn.sdpa in it, which is returned. */
static MlirOperation buildFunction(MlirContext context, MlirModule module) {
  MlirLocation loc = mlirLocationUnknownGet(context);
  int64_t shape[] = {HEADS, ROWS, SIZE};
  MlirType tensor = mlirRankedTensorTypeGet(3, shape, mlirF32TypeGet(context), mlirAttributeGetNull());
  MlirType inputs[] = {tensor, tensor, tensor};
  MlirLocation locs[] = {loc, loc, loc};
  MlirBlock block = mlirBlockCreate(3, inputs, locs);
  MlirOperation empty = append(block, loc, "tensor.empty", 0, NULL, 1, &tensor);
  MlirValue none = {NULL};
  MlirOperation sdpa =
      mlirAttnSdpaCreate(loc, mlirBlockGetArgument(block, 0), mlirBlockGetArgument(block, 1),
                         mlirBlockGetArgument(block, 2), mlirOperationGetResult(empty, 0), /*lse=*/none);
  mlirBlockAppendOwnedOperation(block, sdpa);
  mlirOperationSetAttributeByName(sdpa, text("causal"), mlirAttributeParseGet(context, text("#attn.causal<top_left>")));
  MlirValue result = mlirOperationGetResult(sdpa, 0);
  append(block, loc, "func.return", 1, &result, 0, NULL);

  MlirNamedAttribute attributes[] = {
      named(context, "sym_name", mlirStringAttrGet(context, text("attend"))),
      named(context, "function_type", mlirTypeAttrGet(mlirFunctionTypeGet(context, 3, inputs, 1, &tensor)))};
  MlirRegion body = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(body, block);
  MlirOperationState state = mlirOperationStateGet(text("func.func"), loc);
  mlirOperationStateAddAttributes(&state, 2, attributes);
  mlirOperationStateAddOwnedRegions(&state, 1, &body);
  mlirBlockAppendOwnedOperation(mlirModuleGetBody(module), mlirOperationCreate(&state));
  return sdpa;
}

/* The policy's schedule with fewer keys a tile; and one that this processor has no vectors for. */
static int setSchedule(MlirContext context, MlirOperation sdpa) {
  MlirAttribute chosen = mlirAttnScheduleSelect(sdpa, text("host"));
  if (mlirAttributeIsNull(chosen))
    return 0;
  MlirAttribute schedule = mlirAttnScheduleParse(context, text("#attn.prefill<key_tile = 16>"), chosen);
  if (mlirAttributeIsNull(schedule) || mlirAttnScheduleGetKeyTile(schedule) != 16 ||
      mlirLogicalResultIsFailure(mlirAttnScheduleVerify(schedule, sdpa, text("host"))))
    return 0;
  fputs("schedule: ", stdout);
  mlirAttributePrint(schedule, print, stdout);
  fputs("\n", stdout);
  mlirOperationSetAttributeByName(sdpa, text("schedule"), schedule);
  MlirAttribute other = mlirAttnScheduleParse(context, text("#attn.prefill<lanes = 1, query_tile = 48>"), chosen);
  return mlirAttributeIsAAttnSchedule(other) &&
         mlirLogicalResultIsFailure(mlirAttnScheduleVerify(other, sdpa, text("host")));
}

static int compile(MlirContext context, MlirModule module) {
  MlirPassManager manager = mlirPassManagerCreate(context);
  MlirOpPassManager passes = mlirPassManagerGetAsOpPassManager(manager);
  const char *pipeline = "builtin.module(attn-to-flash{target=host kernels=true},"
                         "attn-to-llvm{target=host parallel=false})";
  int ok = mlirLogicalResultIsSuccess(mlirParsePassPipeline(passes, text(pipeline), print, stderr)) &&
           mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module)));
  mlirPassManagerDestroy(manager);
  return ok;
}

/* softmax(q kᵀ / sqrt(SIZE)) v of the keys up to each row's own. */
static double getDifference(const float *q, const float *k, const float *v, const float *out) {
  double largest = 0;
  for (int h = 0; h < HEADS; ++h)
    for (int i = 0; i < ROWS; ++i) {
      double weights[ROWS], sum = 0;
      for (int j = 0; j <= i; ++j) {
        double score = 0;
        for (int d = 0; d < SIZE; ++d)
          score += (double)q[(h * ROWS + i) * SIZE + d] * k[(h * ROWS + j) * SIZE + d];
        sum += weights[j] = exp(score / sqrt(SIZE));
      }
      for (int d = 0; d < SIZE; ++d) {
        double expected = 0;
        for (int j = 0; j <= i; ++j)
          expected += weights[j] / sum * v[(h * ROWS + j) * SIZE + d];
        largest = fmax(largest, fabs(expected - out[(h * ROWS + i) * SIZE + d]));
      }
    }
  return largest;
}

static float getRandom(void) { return (float)((double)rand() / RAND_MAX - 0.5); }

/* A kernel is called in C as its function is: inputs, then outputs. */
static int run(MlirModule module, const char *runtime) {
  MlirStringRef libraries[] = {text(runtime)};
  MlirExecutionEngine engine = mlirExecutionEngineCreate(module, /*optLevel=*/2, 1, libraries, false, false);
  if (mlirExecutionEngineIsNull(engine))
    return 0;
  static float q[COUNT], k[COUNT], v[COUNT], out[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    q[i] = getRandom();
    k[i] = getRandom();
    v[i] = getRandom();
  }
  void (*attend)(const float *, const float *, const float *, float *) =
      (void (*)(const float *, const float *, const float *, float *))mlirExecutionEngineLookup(engine, text("attend"));
  if (attend) {
    attend(q, k, v, out);
    printf("largest difference %.1e\n", getDifference(q, k, v, out));
  }
  mlirExecutionEngineDestroy(engine);
  return attend != NULL;
}

int main(int argc, char **argv) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllAttnDialects(registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/false);
  mlirDialectRegistryDestroy(registry);
  mlirContextLoadAllAvailableDialects(context);
  mlirRegisterAllLLVMTranslations(context);
  mlirRegisterAttnPasses();
  mlirContextAttachDiagnosticHandler(context, report, stdout, NULL);

  MlirModule module = mlirModuleCreateEmpty(mlirLocationUnknownGet(context));
  MlirOperation sdpa = buildFunction(context, module);
  int ok = argc == 2 && mlirOperationVerify(mlirModuleGetOperation(module)) && setSchedule(context, sdpa) &&
           compile(context, module) && run(module, argv[1]);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return ok ? 0 : 1;
}
