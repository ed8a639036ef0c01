/* Stands in for the bindings, which no package has for MLIR 22.1: a context, and what is registered in it. */

#include "mlir-c/IR.h"

void *create_context(void) { return mlirContextCreate().ptr; }

int knows(void *context, const char *op) {
  return mlirContextIsRegisteredOperation((MlirContext){context}, mlirStringRefCreateFromCString(op));
}
