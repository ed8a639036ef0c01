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
/// Positions in a DLTensor.
static constexpr int kDataField = 0, kShapeField = 4, kByteOffsetField = 6;
/// What attn_argument_spec writes for a dynamic size.
static constexpr int64_t kAnySize = -1;

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
    for (size_t symbol = 0, e = getKernelSizes(kernel).size(); symbol < e; ++symbol)
      operands.push_back(loadSize(first->getArgument(0), symbol, arguments));
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

  /// A field of *tensors[i].
  Value loadField(Value tensors, int64_t i, int position, Type type) {
    Value tensor = LLVM::LoadOp::create(
        b, loc, pointer, LLVM::GEPOp::create(b, loc, pointer, pointer, tensors, ArrayRef<LLVM::GEPArg>{int(i)}));
    // DLTensor: data, {device_type, device_id}, ndim, {code, bits, lanes}, shape, strides, byte_offset
    Type i32 = b.getI32Type(), i64 = b.getI64Type(), i8 = b.getI8Type(), i16 = b.getI16Type();
    auto device = LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32});
    auto dtype = LLVM::LLVMStructType::getLiteral(b.getContext(), {i8, i8, i16});
    auto layout =
        LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, device, i32, dtype, pointer, pointer, i64});
    Value address = LLVM::GEPOp::create(b, loc, pointer, layout, tensor, ArrayRef<LLVM::GEPArg>{0, position});
    return LLVM::LoadOp::create(b, loc, type, address);
  }

  /// tensors[i]->data, at its byte_offset; a scalar argument is the element that it points to.
  Value loadArgument(Value tensors, int64_t i, Type type) {
    Value data = loadField(tensors, i, kDataField, pointer);
    Value offset = loadField(tensors, i, kByteOffsetField, b.getI64Type());
    data = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), data, ArrayRef<LLVM::GEPArg>{offset});
    if (isa<LLVM::LLVMPointerType>(type))
      return data;
    return LLVM::LoadOp::create(b, loc, type, data);
  }

  /// A dynamic size, from the first dimension that has it; the check has compared the others with it.
  Value loadSize(Value tensors, int32_t symbol, ArrayRef<KernelArgument> arguments) {
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      auto *found = llvm::find(argument.symbols, symbol);
      if (found == argument.symbols.end())
        continue;
      Value shape = loadField(tensors, i, kShapeField, pointer);
      int dim = found - argument.symbols.begin();
      Value address = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), shape, ArrayRef<LLVM::GEPArg>{dim});
      return LLVM::LoadOp::create(b, loc, b.getI64Type(), address);
    }
    // A name in attn.sizes that no argument uses.
    return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(0));
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

  /// A private constant array of int32 or int64.
  template <typename T> LLVM::GlobalOp createNumbers(const std::string &name, ArrayRef<T> numbers) {
    auto element = b.getIntegerType(sizeof(T) * 8);
    auto type = LLVM::LLVMArrayType::get(element, numbers.size());
    return createConstant(name, type, [&] {
      Value array = LLVM::UndefOp::create(b, loc, type);
      for (auto [i, number] : llvm::enumerate(numbers))
        array = insert(array, LLVM::ConstantOp::create(b, loc, element, b.getIntegerAttr(element, number)), i);
      return array;
    });
  }

  /// What the pointers of a spec point to; null where there is nothing to say.
  struct SpecParts {
    LLVM::GlobalOp name, shape, symbols, checks;
  };
  SpecParts createParts(const std::string &prefix, const KernelArgument &argument) {
    SpecParts parts;
    std::string text = argument.name + '\0';
    parts.name =
        LLVM::GlobalOp::create(b, loc, LLVM::LLVMArrayType::get(b.getI8Type(), text.size()),
                               /*isConstant=*/true, LLVM::Linkage::Private, prefix + "_name", b.getStringAttr(text));
    SmallVector<int64_t> shape =
        llvm::map_to_vector(argument.shape, [](int64_t size) { return ShapedType::isDynamic(size) ? kAnySize : size; });
    parts.shape = createNumbers<int64_t>(prefix + "_shape", shape);
    if (llvm::any_of(argument.symbols, [](int32_t symbol) { return symbol >= 0; }))
      parts.symbols = createNumbers<int32_t>(prefix + "_symbols", argument.symbols);
    SmallVector<int64_t> checks;
    for (const ValueCheck &check : argument.checks)
      checks.append({static_cast<int64_t>(check.kind), check.limit[0].argument, check.limit[0].dim,
                     check.limit[1].argument, check.limit[1].dim, check.lengths, check.page.argument, check.page.dim,
                     check.rows.argument, check.rows.dim});
    if (!checks.empty())
      parts.checks = createNumbers<int64_t>(prefix + "_checks", checks);
    return parts;
  }

  LLVM::GlobalOp createSpecs(StringRef kernel, ArrayRef<KernelArgument> arguments) {
    Type i32 = b.getI32Type(), i8 = b.getI8Type();
    auto specType = LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, pointer, pointer, pointer, i32, i32, i32,
                                                                      i32, i8, i8, LLVM::LLVMArrayType::get(i8, 6)});
    auto tableType = LLVM::LLVMArrayType::get(specType, arguments.size());
    SmallVector<SpecParts> parts;
    for (auto [i, argument] : llvm::enumerate(arguments))
      parts.push_back(createParts((kernel + "_argument" + Twine(i)).str(), argument));
    return createConstant(getSpecsName(kernel), tableType, [&] {
      Value table = LLVM::UndefOp::create(b, loc, tableType);
      for (auto [i, argument] : llvm::enumerate(arguments)) {
        Value spec = LLVM::ZeroOp::create(b, loc, specType);
        auto set = [&](int64_t position, Type type, int64_t value) {
          spec = insert(spec, LLVM::ConstantOp::create(b, loc, type, b.getIntegerAttr(type, value)), position);
        };
        const LLVM::GlobalOp pointers[] = {parts[i].name, parts[i].shape, parts[i].symbols, parts[i].checks};
        for (auto [position, part] : llvm::enumerate(pointers))
          if (part)
            spec = insert(spec, LLVM::AddressOfOp::create(b, loc, part), position);
        set(4, i32, argument.shape.size());
        set(6, i32, argument.isOutput);
        set(7, i32, argument.checks.size());
        const ElementInfo &element = getElementInfo(argument.element);
        set(8, i8, element.dlpackCode);
        set(9, i8, element.bytes * 8);
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
