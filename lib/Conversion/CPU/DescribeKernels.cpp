//===- DescribeKernels.cpp - attn-describe-kernels ------------------------===//
//
// Before: public functions on tensors, as the user wrote them. After: the same,
// each with attn.arguments, which says what its C entry will take once results
// have become destinations.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Kernels.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

namespace attn {
#define GEN_PASS_DEF_DESCRIBEKERNELSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

const ElementInfo &attn::getElementInfo(ElementKind kind) {
  // bf16 and f16 are their bits in C.
  static constexpr ElementInfo table[] = {
      {"float32", "float", 4, 2},    {"float64", "double", 8, 2}, {"bfloat16", "uint16_t", 2, 4},
      {"float16", "uint16_t", 2, 2}, {"bool", "uint8_t", 1, 6},   {"int8", "int8_t", 1, 0},
      {"int32", "int32_t", 4, 0},    {"int64", "int64_t", 8, 0},
  };
  return table[static_cast<unsigned>(kind)];
}

std::optional<ElementKind> attn::getElementKind(Type type) {
  if (type.isF32())
    return ElementKind::F32;
  if (type.isF64())
    return ElementKind::F64;
  if (type.isBF16())
    return ElementKind::BF16;
  if (type.isF16())
    return ElementKind::F16;
  for (auto [bits, kind] : {std::pair(1, ElementKind::I1), std::pair(8, ElementKind::I8),
                            std::pair(32, ElementKind::I32), std::pair(64, ElementKind::I64)})
    if (type.isInteger(bits))
      return kind;
  return std::nullopt;
}

SmallVector<int64_t> KernelArgument::getStrides() const {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

SmallVector<KernelArgument> attn::getKernelArguments(Operation *function) {
  SmallVector<KernelArgument> arguments;
  for (Attribute attribute : function->getAttrOfType<ArrayAttr>(kArgumentsAttr)) {
    auto entry = cast<DictionaryAttr>(attribute);
    KernelArgument argument;
    argument.name = entry.getAs<StringAttr>("name").str();
    argument.isOutput = entry.getAs<BoolAttr>("output").getValue();
    Type type = entry.getAs<TypeAttr>("type").getValue();
    argument.element = *getElementKind(getElementTypeOrSelf(type));
    if (auto shaped = dyn_cast<ShapedType>(type))
      argument.shape = SmallVector<int64_t>(shaped.getShape());
    else
      argument.isScalar = true;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Value attn::getDestination(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    auto dps = dyn_cast<DestinationStyleOpInterface>(result.getOwner());
    if (!dps)
      break;
    value = dps.getTiedOpOperand(result)->get();
  }
  return value;
}

namespace {

/// Bytes of an argument, at most: what a process can address.
constexpr unsigned kMaxArgumentBits = 47;

bool fitsInMemory(RankedTensorType type) {
  int64_t bytes = getElementInfo(*getElementKind(type.getElementType())).bytes;
  for (int64_t size : type.getShape()) {
    // An empty dimension later on does not make the others fit: their strides count elements all the same.
    if (llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes))
      return false;
  }
  return bytes <= int64_t(1) << kMaxArgumentBits;
}

/// Collects one function's arguments and gives each a C identifier of its own.
class Describer {
public:
  explicit Describer(func::FuncOp function) : function(function), b(function.getContext()) {}

  LogicalResult run() {
    llvm::SmallDenseSet<Value> destinations;
    auto terminator = cast<func::ReturnOp>(function.getBody().front().getTerminator());
    for (Value result : terminator.getOperands()) {
      if (!isa<RankedTensorType>(result.getType()))
        return function.emitOpError("expected a kernel to return ranked tensors, found ") << result.getType();
      if (isa<BlockArgument>(result))
        return function.emitOpError("expected a kernel to compute what it returns, found an argument that is returned "
                                    "as it is");
      Value destination = getDestination(result);
      if (isa<BlockArgument>(destination) && !destinations.insert(destination).second)
        return function.emitOpError("expected each result to have a destination of its own, found one for two results");
    }
    for (BlockArgument argument : function.getArguments())
      if (failed(add(argument.getType(), getArgumentName(argument), destinations.contains(argument))))
        return failure();
    for (auto [i, result] : llvm::enumerate(terminator.getOperands()))
      if (!isa<BlockArgument>(getDestination(result)) &&
          failed(add(result.getType(), getResultName(i, result), /*isOutput=*/true)))
        return failure();
    function->setAttr(kArgumentsAttr, b.getArrayAttr(entries));
    // The names have their place now; later passes and LLVM would not know them.
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, kNameAttr);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      function.removeResultAttr(i, b.getStringAttr(kNameAttr));
    return success();
  }

private:
  LogicalResult add(Type type, std::string name, bool isOutput) {
    auto shaped = dyn_cast<RankedTensorType>(type);
    if (!shaped && !type.isIntOrFloat())
      return function.emitOpError("expected kernel arguments that are ranked tensors or numbers, found ") << type;
    if (!getElementKind(getElementTypeOrSelf(type)))
      return function.emitOpError("expected element type f32, f64, bf16, f16, i1, i8, i32 or i64, found ")
             << getElementTypeOrSelf(type);
    if (shaped && !shaped.hasStaticShape())
      return function.emitOpError("expected static sizes, found ") << type << "; dynamic sizes have no CPU kernel yet";
    if (shaped && !fitsInMemory(shaped))
      return function.emitOpError("expected arguments of at most 2^") << kMaxArgumentBits << " bytes, found " << type;
    std::string unique = name;
    for (unsigned i = 2; !names.insert(unique).second; ++i)
      unique = name + std::to_string(i);
    entries.push_back(b.getDictionaryAttr({b.getNamedAttr("name", b.getStringAttr(unique)),
                                           b.getNamedAttr("output", b.getBoolAttr(isOutput)),
                                           b.getNamedAttr("type", TypeAttr::get(type))}));
    return success();
  }

  /// What the user wrote as attn.name, or what the first attn op calls the operand.
  std::string getArgumentName(BlockArgument argument) {
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
      return makeCName(name);
    // One name where every use agrees on the role; self-attention on one tensor has none.
    std::string name;
    for (OpOperand &use : argument.getUses()) {
      if (!isStructuredOp(use.getOwner()))
        continue;
      SmallVector<OperandSpec> specs = getOperandSpecs(use.getOwner());
      StringRef role = use.getOperandNumber() < specs.size() ? specs[use.getOperandNumber()].name : "scale";
      if (!name.empty() && name != role)
        return "input";
      name = role.str();
    }
    return name.empty() ? "input" : name;
  }

  std::string getResultName(unsigned i, Value result) {
    if (auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr))
      return makeCName(name);
    if (auto opResult = dyn_cast<OpResult>(result); opResult && isa<SdpaOp>(opResult.getOwner()))
      return opResult.getResultNumber() == 0 ? "output" : "lse";
    return "output";
  }

  func::FuncOp function;
  Builder b;
  SmallVector<Attribute> entries;
  llvm::StringSet<> names;
};

/// The kernel's entries are C functions of these names.
LogicalResult checkName(func::FuncOp function) {
  StringRef name = function.getName();
  if (!isCFunctionName(name))
    return function.emitOpError("expected a kernel's name to be a C identifier that is no keyword and no function of "
                                "the C library or attn, found '")
           << name << "'";
  if (Operation *other = function->getParentOfType<ModuleOp>().lookupSymbol(getCheckedName(name)))
    return (function.emitOpError("expected the name of its checked entry to be free, found another '")
            << getCheckedName(name) << "'")
               .attachNote(other->getLoc())
           << "here";
  return success();
}

struct DescribeKernelsPass : public attn::impl::DescribeKernelsPassBase<DescribeKernelsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function.isPublic() || function.isExternal() || function->hasAttr(kArgumentsAttr))
        continue;
      if (!function.getBody().hasOneBlock()) {
        function.emitOpError("expected a kernel of one block");
        return signalPassFailure();
      }
      if (failed(checkName(function)) || failed(Describer(function).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
