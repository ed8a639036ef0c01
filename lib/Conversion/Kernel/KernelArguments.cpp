//===- KernelArguments.cpp - attn.arguments as a structure ----------------===//
//
// Parses the attributes of attn-describe-kernels; all interfaces of a kernel (its entries, header, manifest) use this.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Kernels.h"
#include "attn/IR/Attn.h"

using namespace mlir;
using namespace attn;

const ElementInfo &attn::getElementInfo(ElementKind kind) {
  // In C, bf16, f16 and the 8-bit floats are raw bits.
  static constexpr ElementInfo table[] = {
      {"float32", "float", 4, 2},          {"float64", "double", 8, 2},
      {"bfloat16", "uint16_t", 2, 4},      {"float16", "uint16_t", 2, 2},
      {"float8_e4m3fn", "uint8_t", 1, 10}, {"float8_e5m2", "uint8_t", 1, 12},
      {"bool", "uint8_t", 1, 6},           {"int8", "int8_t", 1, 0},
      {"int32", "int32_t", 4, 0},          {"int64", "int64_t", 8, 0},
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
  if (isa<Float8E4M3FNType>(type))
    return ElementKind::F8E4M3FN;
  if (isa<Float8E5M2Type>(type))
    return ElementKind::F8E5M2;
  for (auto [bits, kind] : {std::pair(1, ElementKind::I1), std::pair(8, ElementKind::I8),
                            std::pair(32, ElementKind::I32), std::pair(64, ElementKind::I64)})
    if (type.isInteger(bits))
      return kind;
  return std::nullopt;
}

int64_t KernelArgument::getAlignment(bool isGpu) const {
  constexpr int64_t kGpuAlignment = 16;
  bool isInteger = element == ElementKind::I32 || element == ElementKind::I64;
  return isGpu && !isScalar && !isInteger ? kGpuAlignment : getElementInfo(element).bytes;
}

MemRefType attn::getStridedMemref(ShapedType type) {
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  if (!strides.empty())
    strides.back() = 1;
  auto layout = StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides);
  return MemRefType::get(type.getShape(), type.getElementType(), layout);
}

SmallVector<int64_t> KernelArgument::getStrides() const {
  SmallVector<int64_t> strides(shape.size(), 1);
  if (isStrided) {
    std::fill_n(strides.begin(), getStrideNames().size(), ShapedType::kDynamic);
    return strides;
  }
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i) {
    bool isDynamic = ShapedType::isDynamic(strides[i + 1]) || ShapedType::isDynamic(shape[i + 1]);
    strides[i] = isDynamic ? ShapedType::kDynamic : strides[i + 1] * shape[i + 1];
  }
  return strides;
}

SmallVector<std::string> KernelArgument::getStrideNames() const {
  SmallVector<std::string> names;
  for (size_t i = 1; isStrided && i < shape.size(); ++i)
    names.push_back(name + "_stride" + std::to_string(i - 1));
  return names;
}

SmallVector<std::string> KernelArgument::printShape(ArrayRef<std::string> sizes) const {
  SmallVector<std::string> texts;
  for (auto [size, symbol] : llvm::zip_equal(shape, symbols))
    texts.push_back(symbol < 0 ? std::to_string(size) : sizes[symbol]);
  return texts;
}

SmallVector<std::string> KernelArgument::printStrides(ArrayRef<std::string> sizes) const {
  SmallVector<std::string> texts = getStrideNames();
  if (isStrided) {
    texts.resize(shape.size(), "1");
    return texts;
  }
  texts.resize(shape.size());
  std::string names;
  int64_t factor = 1;
  for (int64_t i = static_cast<int64_t>(shape.size()) - 1; i >= 0; --i) {
    texts[i] = names.empty() ? std::to_string(factor) : factor == 1 ? names : names + " * " + std::to_string(factor);
    if (symbols[i] < 0)
      factor *= shape[i];
    else
      names = sizes[symbols[i]] + (names.empty() ? "" : " * " + names);
  }
  return texts;
}

StringRef ValueCheck::getName(Kind kind) {
  static constexpr StringLiteral names[] = {"lengths",   "prefix_sums",  "block_table",
                                            "positions", "append_table", "slots"};
  return names[static_cast<unsigned>(kind) - 1];
}

/// {kind = "…", limit = array<i64: argument, dim, argument, dim>, lengths = …, page = …, rows = …}
Attribute ValueCheck::toAttribute(MLIRContext *ctx) const {
  Builder b(ctx);
  auto print = [&](ArrayRef<SizePlace> places) {
    SmallVector<int64_t> numbers;
    for (const SizePlace &place : places)
      numbers.append({place.argument, place.dim});
    return b.getDenseI64ArrayAttr(numbers);
  };
  return b.getDictionaryAttr({b.getNamedAttr("kind", b.getStringAttr(getName(kind))),
                              b.getNamedAttr("limit", print(limit)),
                              b.getNamedAttr("lengths", b.getI64IntegerAttr(lengths)),
                              b.getNamedAttr("page", print(page)), b.getNamedAttr("rows", print(rows))});
}

ValueCheck ValueCheck::fromAttribute(Attribute attribute) {
  auto entry = cast<DictionaryAttr>(attribute);
  auto read = [&](StringRef name, unsigned i) {
    ArrayRef<int64_t> numbers = entry.getAs<DenseI64ArrayAttr>(name).asArrayRef();
    return SizePlace{numbers[2 * i], numbers[2 * i + 1]};
  };
  ValueCheck check;
  for (Kind kind : {Kind::Lengths, Kind::PrefixSums, Kind::BlockTable, Kind::Positions, Kind::AppendTable, Kind::Slots})
    if (entry.getAs<StringAttr>("kind") == getName(kind))
      check.kind = kind;
  check.limit[0] = read("limit", 0);
  check.limit[1] = read("limit", 1);
  check.lengths = entry.getAs<IntegerAttr>("lengths").getInt();
  check.page = read("page", 0);
  check.rows = read("rows", 0);
  return check;
}

SmallVector<KernelArgument> attn::getKernelArguments(Operation *function) {
  SmallVector<KernelArgument> arguments;
  int64_t numOutputs = 0;
  for (Attribute attribute : function->getAttrOfType<ArrayAttr>(kArgumentsAttr)) {
    auto entry = cast<DictionaryAttr>(attribute);
    KernelArgument argument;
    argument.name = entry.getAs<StringAttr>("name").str();
    argument.isOutput = entry.getAs<BoolAttr>("output").getValue();
    argument.isUpdated = entry.contains("updated");
    argument.isStrided = entry.contains("strided");
    if (argument.isOutput) {
      auto result = entry.getAs<IntegerAttr>("result");
      argument.result = result ? result.getInt() : numOutputs;
      ++numOutputs;
    }
    Type type = entry.getAs<TypeAttr>("type").getValue();
    argument.element = *getElementKind(getElementTypeOrSelf(type));
    if (auto shaped = dyn_cast<ShapedType>(type))
      argument.shape = SmallVector<int64_t>(shaped.getShape());
    else
      argument.isScalar = true;
    argument.symbols.assign(argument.shape.size(), -1);
    if (auto sizes = entry.getAs<DenseI32ArrayAttr>("sizes"))
      argument.symbols = SmallVector<int32_t>(sizes.asArrayRef());
    if (auto checks = entry.getAs<ArrayAttr>("checks"))
      for (Attribute check : checks)
        argument.checks.push_back(ValueCheck::fromAttribute(check));
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

SmallVector<std::string> attn::getKernelSizes(Operation *function) {
  SmallVector<std::string> names;
  if (auto sizes = function->getAttrOfType<ArrayAttr>(kSizesAttr))
    for (StringAttr name : sizes.getAsRange<StringAttr>())
      names.push_back(name.str());
  return names;
}

SmallVector<SizeFormula> attn::getSizeFormulas(Operation *function) {
  SmallVector<std::string> sizes = getKernelSizes(function);
  SmallVector<SizeFormula> formulas(sizes.size());
  if (auto entries = function->getAttrOfType<DictionaryAttr>(kSizeFormulasAttr))
    for (auto [name, formula] : llvm::zip(sizes, formulas))
      if (auto text = entries.getAs<StringAttr>(name))
        formula = *SizeFormula::parse(text, sizes);
  return formulas;
}

SmallVector<SizeLimit> attn::getSizeLimits(Operation *function) {
  SmallVector<std::string> sizes = getKernelSizes(function);
  SmallVector<SizeLimit> limits;
  if (auto entries = function->getAttrOfType<ArrayAttr>(kSizeLimitsAttr))
    for (ArrayAttr pair : entries.getAsRange<ArrayAttr>())
      limits.push_back({*SizeFormula::parse(cast<StringAttr>(pair[0]), sizes),
                        *SizeFormula::parse(cast<StringAttr>(pair[1]), sizes)});
  return limits;
}
