//===- EmitCheckedEntry.cpp - attn-emit-checked-entry ---------------------===//
//
// Before: kernels as llvm.func with the attribute attn.arguments. After: in addition, each has an entry NAME_checked
// that tests DLPack tensors against a constant table (struct attn_argument_spec of attn_runtime.h) and calls the
// kernel. A GPU kernel also has an entry that computes the size of its workspace from tensors.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SizeChecks.h"
#include "attn/Conversion/Kernels.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace attn {
#define GEN_PASS_DEF_EMITCHECKEDENTRYPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static constexpr StringLiteral kCheckArguments = "attn_check_arguments", kGetStride = "attn_get_stride",
                               kCopyMessage = "attn_cuda_copy_message", kDescribeNoMemory = "attn_describe_no_memory";
/// Positions in a DLTensor.
static constexpr int kDataField = 0, kShapeField = 4, kByteOffsetField = 6;
/// The position of `sizes` in an attn_argument_spec.
static constexpr int64_t kSizesField = 13;
/// The value of a dynamic size in attn_argument_spec.
static constexpr int64_t kAnySize = -1;
/// DLPack's kDLCUDA.
static constexpr int64_t kCudaDevice = 2;

namespace {

class CheckedEntry {
public:
  explicit CheckedEntry(ModuleOp module)
      : module(module), b(module.getContext()), pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  /// A user's symbols with the names of the runtime's functions must be these functions.
  LogicalResult checkRuntime(LLVM::LLVMFuncOp kernel) {
    if (failed(checkRuntime(kCheckArguments, getCheckType())) || failed(checkRuntime(kGetStride, getStrideType())))
      return failure();
    return checkRuntime(getDescribeName(kernel), getDescribeType());
  }

  void emit(LLVM::LLVMFuncOp kernel, ArrayRef<KernelArgument> arguments) {
    loc = kernel.getLoc();
    b.setInsertionPointToStart(module.getBody());
    bool isCuda = kernel->hasAttr(kCudaEntryAttr);
    LLVM::GlobalOp specs = createSpecs(kernel, arguments, isCuda);
    b.setInsertionPointAfter(kernel);
    bool takesWorkspace = isCuda || kernel->hasAttr(kWorkspaceAttr);
    if (takesWorkspace)
      emitWorkspaceBytes(kernel, arguments, specs);
    b.setInsertionPointAfter(kernel);

    // i32 NAME_checked(const DLTensor *const *arguments, i64 count, char *message, i64 size); for a GPU kernel: …, i64
    // count, void *workspace, i64 bytes, CUstream stream, char *message, i64 size). A processor kernel with a workspace
    // has no stream.
    Type i64 = b.getI64Type(), i32 = b.getI32Type();
    SmallVector<Type> types{pointer, i64};
    if (takesWorkspace)
      types.append({pointer, i64});
    if (isCuda)
      types.push_back(pointer);
    types.append({pointer, i64});
    Entry entry = createEntry(getCheckedName(kernel.getName()), i32, types, specs, arguments.size());
    SmallVector<Value> operands;
    for (auto [i, argument] : llvm::enumerate(arguments))
      operands.push_back(loadArgument(entry.getTensors(), i, kernel.getFunctionType().getParamType(i)));
    for (size_t symbol = 0, e = getKernelSizes(kernel).size(); symbol < e; ++symbol)
      operands.push_back(loadSize(entry.getTensors(), symbol, arguments));
    for (auto [i, argument] : llvm::enumerate(arguments))
      for (size_t dim = 0, e = argument.getStrideNames().size(); dim < e; ++dim)
        operands.push_back(getStride(entry.getTensors(), i, dim));
    llvm::append_range(operands, entry.first->getArguments().drop_front(2).drop_back(2));
    auto call = LLVM::CallOp::create(b, loc, kernel, operands);
    if (call.getNumResults() == 0) // in handwritten IR
      LLVM::ReturnOp::create(b, loc, LLVM::ConstantOp::create(b, loc, i32, 0).getResult());
    else
      returnCode(call.getResult(), getDescribeName(kernel), entry);

    b.setInsertionPointToStart(entry.refuse);
    LLVM::ReturnOp::create(b, loc, entry.code);
  }

private:
  /// A function that has called the check; the insertion point is where that returned 0.
  struct Entry {
    Block *first, *refuse;
    Value code; ///< of the check
    Value getTensors() const { return first->getArgument(0); }
    ValueRange getMessage() const { return first->getArguments().take_back(2); }
  };
  Entry createEntry(const std::string &name, Type result, ArrayRef<Type> types, LLVM::GlobalOp specs, int64_t count) {
    Type i64 = b.getI64Type(), i32 = b.getI32Type();
    LLVM::LLVMFuncOp check = declare(kCheckArguments, getCheckType());
    auto function = LLVM::LLVMFuncOp::create(b, loc, name, LLVM::LLVMFunctionType::get(result, types));
    Entry entry;
    entry.first = function.addEntryBlock(b);
    Block *call = b.createBlock(&function.getBody(), function.getBody().end());
    entry.refuse = b.createBlock(&function.getBody(), function.getBody().end());
    b.setInsertionPointToStart(entry.first);
    Value table = LLVM::AddressOfOp::create(b, loc, specs);
    Value expected = LLVM::ConstantOp::create(b, loc, i64, count);
    SmallVector<Value> operands{entry.first->getArgument(0), entry.first->getArgument(1), table, expected};
    llvm::append_range(operands, entry.getMessage());
    entry.code = LLVM::CallOp::create(b, loc, check, operands).getResult();
    Value zero = LLVM::ConstantOp::create(b, loc, i32, 0);
    Value isFine = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, entry.code, zero);
    LLVM::CondBrOp::create(b, loc, isFine, call, entry.refuse);
    b.setInsertionPointToStart(call);
    return entry;
  }

  /// Returns the code of a kernel; if it is not 0, with the message of `describe`.
  void returnCode(Value code, StringRef describe, Entry &entry) {
    auto function = cast<LLVM::LLVMFuncOp>(entry.first->getParentOp());
    Value zero = LLVM::ConstantOp::create(b, loc, b.getI32Type(), 0);
    Value isFine = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, code, zero);
    LLVM::LLVMFuncOp copy = declare(describe, getDescribeType());
    Block *block = b.getInsertionBlock();
    Block *done = b.createBlock(&function.getBody(), function.getBody().end());
    LLVM::ReturnOp::create(b, loc, code);
    Block *failed = b.createBlock(&function.getBody(), function.getBody().end());
    LLVM::CallOp::create(b, loc, copy, entry.getMessage());
    LLVM::BrOp::create(b, loc, done);
    b.setInsertionPointToEnd(block);
    LLVM::CondBrOp::create(b, loc, isFine, done, failed);
  }

  /// i64 NAME_workspace_bytes_checked(const DLTensor *const *arguments, i64 count, char *message, i64 size)
  void emitWorkspaceBytes(LLVM::LLVMFuncOp kernel, ArrayRef<KernelArgument> arguments, LLVM::GlobalOp specs) {
    std::string name = getWorkspaceBytesName(kernel.getName());
    auto bytes = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!bytes)
      return;
    Type i64 = b.getI64Type();
    Entry entry = createEntry(getCheckedName(name), i64, {pointer, i64, pointer, i64}, specs, arguments.size());
    SmallVector<Value> sizes;
    for (size_t symbol = 0, e = getKernelSizes(kernel).size(); symbol < e; ++symbol)
      sizes.push_back(loadSize(entry.getTensors(), symbol, arguments));
    LLVM::ReturnOp::create(b, loc, LLVM::CallOp::create(b, loc, bytes, sizes).getResult());

    b.setInsertionPointToStart(entry.refuse);
    Value zero = LLVM::ConstantOp::create(b, loc, i64, 0);
    Value code = LLVM::SExtOp::create(b, loc, i64, entry.code);
    LLVM::ReturnOp::create(b, loc, LLVM::SubOp::create(b, loc, zero, code).getResult());
  }

  LLVM::LLVMFunctionType getCheckType() {
    Type i64 = b.getI64Type();
    return LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer, i64, pointer, i64, pointer, i64});
  }

  LLVM::LLVMFunctionType getStrideType() {
    return LLVM::LLVMFunctionType::get(b.getI64Type(), {pointer, b.getI64Type()});
  }

  /// The function that explains the code of a kernel.
  static StringRef getDescribeName(LLVM::LLVMFuncOp kernel) {
    return kernel->hasAttr(kCudaEntryAttr) ? kCopyMessage : kDescribeNoMemory;
  }
  LLVM::LLVMFunctionType getDescribeType() {
    return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, b.getI64Type()});
  }

  LogicalResult checkRuntime(StringRef name, LLVM::LLVMFunctionType type) {
    Operation *existing = module.lookupSymbol(name);
    auto function = dyn_cast_or_null<LLVM::LLVMFuncOp>(existing);
    if (!existing || (function && function.getFunctionType() == type))
      return success();
    return existing->emitOpError("expected '")
           << name << "' to be the runtime's function of type " << type << ", found another of this name; rename it";
  }

  LLVM::LLVMFuncOp declare(StringRef name, LLVM::LLVMFunctionType type) {
    if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return existing;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    return LLVM::LLVMFuncOp::create(b, loc, name, type);
  }

  Value loadTensor(Value tensors, int64_t i) {
    return LLVM::LoadOp::create(b, loc, pointer,
                                LLVM::GEPOp::create(b, loc, pointer, pointer, tensors, ArrayRef<LLVM::GEPArg>{int(i)}));
  }

  /// The stride of a strided argument; null strides are contiguous ones.
  Value getStride(Value tensors, int64_t i, int64_t dim) {
    Value position = LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(dim));
    Value operands[] = {loadTensor(tensors, i), position};
    return LLVM::CallOp::create(b, loc, declare(kGetStride, getStrideType()), operands).getResult();
  }

  /// A field of *tensors[i].
  Value loadField(Value tensors, int64_t i, int position, Type type) {
    Value tensor = loadTensor(tensors, i);
    // DLTensor: data, {device_type, device_id}, ndim, {code, bits, lanes}, shape, strides, byte_offset
    Type i32 = b.getI32Type(), i64 = b.getI64Type(), i8 = b.getI8Type(), i16 = b.getI16Type();
    auto device = LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32});
    auto dtype = LLVM::LLVMStructType::getLiteral(b.getContext(), {i8, i8, i16});
    auto layout =
        LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, device, i32, dtype, pointer, pointer, i64});
    Value address = LLVM::GEPOp::create(b, loc, pointer, layout, tensor, ArrayRef<LLVM::GEPArg>{0, position});
    return LLVM::LoadOp::create(b, loc, type, address);
  }

  /// tensors[i]->data, at its byte_offset; for a scalar argument, the element there.
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

  /// The pointees of a spec; null where a part is empty.
  struct SpecParts {
    LLVM::GlobalOp name, shape, symbols, checks, sizes;
  };
  SpecParts createParts(const std::string &prefix, const KernelArgument &argument, bool isCuda) {
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
    // They would read device memory.
    if (!checks.empty() && !isCuda)
      parts.checks = createNumbers<int64_t>(prefix + "_checks", checks);
    return parts;
  }

  LLVM::GlobalOp createSpecs(LLVM::LLVMFuncOp function, ArrayRef<KernelArgument> arguments, bool isCuda) {
    StringRef kernel = function.getName();
    Type i32 = b.getI32Type(), i8 = b.getI8Type();
    auto specType =
        LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, pointer, pointer, pointer, i32, i32, i32, i32, i8,
                                                          i8, i8, i8, LLVM::LLVMArrayType::get(i8, 4), pointer});
    auto tableType = LLVM::LLVMArrayType::get(specType, arguments.size());
    SmallVector<SpecParts> parts;
    std::vector<std::vector<int64_t>> sizes = printSizeChecks(function, arguments);
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      std::string prefix = (kernel + "_argument" + Twine(i)).str();
      parts.push_back(createParts(prefix, argument, isCuda));
      if (!sizes[i].empty())
        parts.back().sizes = createNumbers<int64_t>(prefix + "_sizes", sizes[i]);
    }
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
        const ElementInfo &element = getElementInfo(argument.element);
        bool isOnDevice = isCuda && !argument.isScalar;
        if (isOnDevice)
          set(5, i32, argument.getAlignment(/*isGpu=*/true));
        set(6, i32, argument.isOutput);
        set(7, i32, isCuda ? 0 : argument.checks.size());
        set(8, i8, element.dlpackCode);
        set(9, i8, element.bytes * 8);
        if (isOnDevice)
          set(10, i8, kCudaDevice);
        if (argument.isStrided)
          set(11, i8, 1);
        if (parts[i].sizes)
          spec = insert(spec, LLVM::AddressOfOp::create(b, loc, parts[i].sizes), kSizesField);
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
    for (LLVM::LLVMFuncOp kernel : kernels) {
      if (failed(builder.checkRuntime(kernel)))
        return signalPassFailure();
      builder.emit(kernel, getKernelArguments(kernel));
    }
  }
};
} // namespace
