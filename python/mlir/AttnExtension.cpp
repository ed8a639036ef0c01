//===- AttnExtension.cpp - _attnDialects of MLIR's Python bindings --------===//
//
// Registers the dialect and the passes with a context of the bindings.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn-c/attn_mlir.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

namespace nb = nanobind;

NB_MODULE(_attnDialects, module) {
  module.doc() = "The attn dialect in C++, for MLIR's Python bindings.";
  module.def(
      "register_dialect",
      [](MlirContext context, bool load) {
        MlirDialectHandle handle = mlirGetDialectHandle__attn__();
        mlirDialectHandleRegisterDialect(handle, context);
        if (load)
          mlirDialectHandleLoadDialect(handle, context);
      },
      nb::arg("context").none() = nb::none(), nb::arg("load") = true,
      "Registers the dialect with its interface models, in the current context where none is given.");
  module.def("register_passes", mlirRegisterAttnPasses,
             "Registers attn's passes and pipelines for PassManager.parse; once a process.");
}
