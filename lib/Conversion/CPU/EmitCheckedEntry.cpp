//===- EmitCheckedEntry.cpp - attn-emit-checked-entry ---------------------===//
//
// Before: kernels as llvm.func with the attribute attn.arguments. After: beside
// each an entry NAME_checked that tests DLPack tensors against a constant table
// (struct attn_argument_spec of attn_runtime.h) and calls the kernel.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Kernels.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"

namespace attn {
#define GEN_PASS_DEF_EMITCHECKEDENTRYPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static constexpr StringLiteral kCheckArguments = "attn_check_arguments";

namespace {

class CheckedEntry {
public:
  explicit CheckedEntry(ModuleOp module)
      : module(module), b(module.getContext()), pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  void emit(LLVM::LLVMFuncOp kernel, ArrayRef<KernelArgument> arguments) {
    loc = kernel.getLoc();
    b.setInsertionPointToStart(module.getBody());
    LLVM::LLVMFuncOp check = declareCheck();
    LLVM::GlobalOp specs = createSpecs(kernel.getName(), arguments);

    // i32 NAME_checked(const DLTensor *const *arguments, i64 count, char *message, i64 size)
    b.setInsertionPointAfter(kernel);
    Type i64 = b.getI64Type(), i32 = b.getI32Type();
    auto type = LLVM::LLVMFunctionType::get(i32, {pointer, i64, pointer, i64});
    auto entry = LLVM::LLVMFuncOp::create(b, loc, getCheckedName(kernel.getName()), type);
    Block *first = entry.addEntryBlock(b);
    Block *call = b.createBlock(&entry.getBody(), entry.getBody().end());
    Block *refuse = b.createBlock(&entry.getBody(), entry.getBody().end());

    b.setInsertionPointToStart(first);
    Value table = LLVM::AddressOfOp::create(b, loc, specs);
    Value expected = LLVM::ConstantOp::create(b, loc, i64, static_cast<int64_t>(arguments.size()));
    Value code = LLVM::CallOp::create(b, loc, check,
                                      ValueRange{first->getArgument(0), first->getArgument(1), table, expected,
                                                 first->getArgument(2), first->getArgument(3)})
                     .getResult();
    Value zero = LLVM::ConstantOp::create(b, loc, i32, 0);
    Value isFine = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, code, zero);
    LLVM::CondBrOp::create(b, loc, isFine, call, refuse);

    b.setInsertionPointToStart(call);
    SmallVector<Value> operands;
    for (auto [i, argument] : llvm::enumerate(arguments))
      operands.push_back(loadArgument(first->getArgument(0), i, kernel.getFunctionType().getParamType(i)));
    LLVM::CallOp::create(b, loc, kernel, operands);
    LLVM::ReturnOp::create(b, loc, zero);

    b.setInsertionPointToStart(refuse);
    LLVM::ReturnOp::create(b, loc, code);
  }

private:
  LLVM::LLVMFuncOp declareCheck() {
    if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(kCheckArguments))
      return existing;
    Type i64 = b.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer, i64, pointer, i64, pointer, i64});
    return LLVM::LLVMFuncOp::create(b, loc, kCheckArguments, type);
  }

  /// arguments[i]->data, at its byte_offset; a scalar argument is the element that it points to.
  Value loadArgument(Value tensors, int64_t i, Type type) {
    Value tensor = LLVM::LoadOp::create(
        b, loc, pointer, LLVM::GEPOp::create(b, loc, pointer, pointer, tensors, ArrayRef<LLVM::GEPArg>{int(i)}));
    // DLTensor: data, {device_type, device_id}, ndim, {code, bits, lanes}, shape, strides, byte_offset
    Type i32 = b.getI32Type(), i64 = b.getI64Type(), i8 = b.getI8Type(), i16 = b.getI16Type();
    auto device = LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32});
    auto dtype = LLVM::LLVMStructType::getLiteral(b.getContext(), {i8, i8, i16});
    auto layout =
        LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, device, i32, dtype, pointer, pointer, i64});
    auto field = [&](int position, Type fieldType) -> Value {
      Value address = LLVM::GEPOp::create(b, loc, pointer, layout, tensor, ArrayRef<LLVM::GEPArg>{0, position});
      return LLVM::LoadOp::create(b, loc, fieldType, address);
    };
    Value data = LLVM::GEPOp::create(b, loc, pointer, i8, field(0, pointer), ArrayRef<LLVM::GEPArg>{field(6, i64)});
    if (isa<LLVM::LLVMPointerType>(type))
      return data;
    return LLVM::LoadOp::create(b, loc, type, data);
  }

  /// A private constant array with an initialiser region.
  LLVM::GlobalOp createConstant(StringRef name, Type type, llvm::function_ref<Value()> build) {
    auto global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Private, name, Attribute());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&global.getInitializerRegion());
    LLVM::ReturnOp::create(b, loc, build());
    return global;
  }

  Value insert(Value aggregate, Value element, int64_t position) {
    return LLVM::InsertValueOp::create(b, loc, aggregate, element, position);
  }

  LLVM::GlobalOp createSpecs(StringRef kernel, ArrayRef<KernelArgument> arguments) {
    Type i64 = b.getI64Type(), i32 = b.getI32Type(), i8 = b.getI8Type();
    auto padding = LLVM::LLVMArrayType::get(i8, 2);
    auto specType =
        LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, pointer, pointer, i32, i32, i32, i8, i8, padding});
    auto tableType = LLVM::LLVMArrayType::get(specType, arguments.size());
    SmallVector<LLVM::GlobalOp> names, shapes;
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      std::string prefix = (kernel + "_argument" + Twine(i)).str();
      std::string text = argument.name + '\0';
      auto textType = LLVM::LLVMArrayType::get(i8, text.size());
      names.push_back(LLVM::GlobalOp::create(b, loc, textType, /*isConstant=*/true, LLVM::Linkage::Private,
                                             prefix + "_name", b.getStringAttr(text)));
      auto shapeType = LLVM::LLVMArrayType::get(i64, argument.shape.size());
      shapes.push_back(createConstant(prefix + "_shape", shapeType, [&] {
        Value shape = LLVM::UndefOp::create(b, loc, shapeType);
        for (auto [dim, size] : llvm::enumerate(argument.shape))
          shape = insert(shape, LLVM::ConstantOp::create(b, loc, i64, size), dim);
        return shape;
      }));
    }
    return createConstant((kernel + "_arguments").str(), tableType, [&] {
      Value table = LLVM::UndefOp::create(b, loc, tableType);
      for (auto [i, argument] : llvm::enumerate(arguments)) {
        Value spec = LLVM::ZeroOp::create(b, loc, specType);
        auto set = [&](int64_t position, Type type, int64_t value) {
          spec = insert(spec, LLVM::ConstantOp::create(b, loc, type, b.getIntegerAttr(type, value)), position);
        };
        spec = insert(spec, LLVM::AddressOfOp::create(b, loc, names[i]), 0);
        spec = insert(spec, LLVM::AddressOfOp::create(b, loc, shapes[i]), 1);
        set(3, i32, argument.shape.size());
        set(5, i32, argument.isOutput);
        const ElementInfo &element = getElementInfo(argument.element);
        set(6, i8, element.dlpackCode);
        set(7, i8, element.bytes * 8);
        table = insert(table, spec, i);
      }
      return table;
    });
  }

  ModuleOp module;
  OpBuilder b;
  Type pointer;
  Location loc = UnknownLoc::get(module.getContext());
};

struct EmitCheckedEntryPass : public attn::impl::EmitCheckedEntryPassBase<EmitCheckedEntryPass> {
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> kernels;
    getOperation().walk([&](LLVM::LLVMFuncOp function) {
      bool hasEntry = getOperation().lookupSymbol(getCheckedName(function.getName())) != nullptr;
      if (function->hasAttr(kArgumentsAttr) && !hasEntry)
        kernels.push_back(function);
    });
    CheckedEntry builder(getOperation());
    for (LLVM::LLVMFuncOp kernel : kernels)
      builder.emit(kernel, getKernelArguments(kernel));
  }
};
} // namespace
