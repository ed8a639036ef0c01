//===- EmitTile.cpp - code of the vector builder, executed ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "EmitTile.h"
#include "attn/Compiler/Bundle.h"
#include "attn/InitAll.h"
#include "attn/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace attn;
using namespace attn::test;

static OwningOpRef<ModuleOp> buildModule(MLIRContext *ctx, const TargetInfo &target, bool isDouble, Shapes shapes,
                                         Body body) {
  OpBuilder b(ctx);
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module(ModuleOp::create(loc));
  FloatType element = isDouble ? FloatType(b.getF64Type()) : FloatType(b.getF32Type());
  SmallVector<Type> types;
  for (ArrayRef<int64_t> shape : shapes)
    types.push_back(MemRefType::get(shape, element));
  types.push_back(b.getIndexType());
  b.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(b, loc, "tile", b.getFunctionType(types, {}));
  function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(), b.getUnitAttr());
  b.setInsertionPointToStart(function.addEntryBlock());
  cpu::VectorBuilder vb(b, loc, target, element);
  body(vb, function.getArguments());
  func::ReturnOp::create(b, loc);
  return module;
}

std::unique_ptr<Tile> Tile::emit(const TargetInfo &target, bool isDouble, Shapes shapes, Body body, bool isEmulated) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = buildModule(&context, target, isDouble, shapes, body);
  PassManager pm(&context);
  buildPhase(pm, Phase::Llvm, PhaseOptions());
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code;
  if (succeeded(pm.run(*module)))
    code = translateModuleToLLVMIR(*module, llvmContext, "tile");
  if (!code)
    llvm::report_fatal_error("the tile does not compile");
  TargetInfo objectTarget = isEmulated ? getEmulatedTarget(target) : target;
  std::unique_ptr<llvm::TargetMachine> machine = llvm::cantFail(createTargetMachine(objectTarget));
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  if (isEmulated)
    emulateVectors(*code);
  auto object = llvm::cantFail(compileModule(*code, objectTarget, FileKind::Object));
  auto result = std::make_unique<Tile>();
  result->object = llvm::cantFail(LoadedObject::load(object));
  result->entry = llvm::cantFail(result->object->lookup("_mlir_ciface_tile"));
  return result;
}

llvm::SmallVector<TargetInfo, 4> attn::test::getExecutableTargets() {
  TargetInfo host = llvm::cantFail(TargetInfo::get("host"));
  llvm::SmallVector<TargetInfo, 4> targets;
  for (llvm::StringRef name : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64-linux-gnu", "neoverse-v2"}) {
    TargetInfo target = llvm::cantFail(TargetInfo::get(name));
    if (llvm::Error error = checkProcessor(target))
      llvm::consumeError(std::move(error));
    else
      targets.push_back(target);
  }
  targets.push_back(host);
  return targets;
}
