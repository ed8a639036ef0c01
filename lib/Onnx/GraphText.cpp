//===- GraphText.cpp - the body of a function, an op a line ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::onnx;
using llvm::formatv;
using llvm::join;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Types, sizes, maps
//===----------------------------------------------------------------------===//

bool attn::onnx::isSame(const Size &lhs, const Size &rhs) {
  return lhs.number == rhs.number && (lhs.number || lhs.value == rhs.value);
}

StringRef attn::onnx::getElementName(DataType type) {
  switch (type) {
  case DataType::Int32: return "i32";
  case DataType::Int64: return "i64";
  case DataType::Bool: return "i1";
  default: return getFloatName(int64_t(type));
  }
}

bool attn::onnx::isFloat(DataType type) { return !getFloatName(int64_t(type)).empty(); }

DataType attn::onnx::getComputeType(DataType type) {
  return type == DataType::Float16 || type == DataType::BFloat16 ? DataType::Float : type;
}

std::string attn::onnx::printType(const Value &value) {
  return FunctionPrinter::printType(value.sizes, getElementName(value.element));
}

std::vector<std::string> attn::onnx::getDims(size_t rank) {
  std::vector<std::string> dims;
  for (size_t i = 0; i < rank; ++i)
    dims.push_back("d" + std::to_string(i));
  return dims;
}

std::string attn::onnx::printMap(unsigned rank, llvm::ArrayRef<std::string> results) {
  return formatv("affine_map<({0}) -> ({1})>", join(getDims(rank), ", "), join(results, ", "));
}

std::optional<Sizes> attn::onnx::broadcastSizes(llvm::ArrayRef<const Value *> values) {
  size_t rank = 0;
  for (const Value *value : values)
    rank = std::max(rank, value->getRank());
  Sizes result(rank, fixed(1));
  for (const Value *value : values)
    for (size_t i = 0; i < value->getRank(); ++i) {
      const Size &size = value->sizes[i];
      Size &into = result[rank - value->getRank() + i];
      if (into.number == 1 || (!into.number && size.number && size.number != 1))
        into = size;
      else if (size.number && size.number != 1 && size.number != into.number)
        return std::nullopt;
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

std::string Body::add(const llvm::Twine &op) {
  std::string name = "%t" + std::to_string(count++);
  text += "    " + name + " = " + op.str() + "\n";
  return name;
}

std::string Body::cast(const std::string &value, DataType from, DataType to) {
  if (from == to)
    return value;
  std::string source = getElementName(from).str(), target = getElementName(to).str();
  auto convert = [&](const char *op) { return add(llvm::Twine(op) + " " + value + " : " + source + " to " + target); };
  if (to == DataType::Bool) {
    if (!isFloat(from))
      return add("arith.cmpi ne, " + value + ", " + add("arith.constant 0 : " + source) + " : " + source);
    return add("arith.cmpf une, " + value + ", " + add("arith.constant 0.0 : " + source) + " : " + source);
  }
  if (from == DataType::Bool)
    return convert(isFloat(to) ? "arith.uitofp" : "arith.extui");
  if (isFloat(from) != isFloat(to))
    return convert(isFloat(to) ? "arith.sitofp" : "arith.fptosi");
  if (!isFloat(from))
    return convert(to == DataType::Int64 ? "arith.extsi" : "arith.trunci");
  // Between f16 and bf16 by f32.
  if (getComputeType(from) != from && getComputeType(to) != to)
    return cast(cast(value, from, DataType::Float), DataType::Float, to);
  bool isWider = from != DataType::Double && (to == DataType::Double || to == DataType::Float);
  return convert(isWider ? "arith.extf" : "arith.truncf");
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

std::string GraphText::addScalar(StringRef text, StringRef type) {
  auto [entry, isNew] = scalars.try_emplace(type == "i1" ? text.str() : (text + " : " + type).str());
  if (isNew) {
    entry->second = "%c" + std::to_string(scalars.size());
    constants += formatv("  {0} = arith.constant {1}\n", entry->second, entry->first());
  }
  return entry->second;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::string GraphText::getName(const Value &value) {
  if (!value.name.empty())
    return value.name;
  if (value.data) {
    std::string &name = tensors[value.data];
    if (name.empty()) {
      name = "%w" + std::to_string(tensors.size());
      constants +=
          formatv("  {0} = arith.constant dense<{1}> : {2}\n", name, printElements(*value.data), printType(value));
    }
    return name;
  }
  // Integers that are known, of which some may be sizes of this run.
  StringRef element = getElementName(value.element);
  std::vector<std::string> names;
  for (const Size &size : *value.integers) {
    if (size.number) {
      std::string text = std::to_string(*size.number);
      if (value.element == DataType::Bool)
        text = *size.number ? "true" : "false";
      names.push_back(addScalar(text, element));
      continue;
    }
    names.push_back(makeName());
    line("{0} = arith.index_cast {1} : index to {2}", names.back(), size.value, element);
  }
  std::string name = makeName();
  line("{0} = tensor.from_elements {1} : {2}", name, join(names, ", "), printType(value));
  return name;
}

Value GraphText::addEmpty(DataType element, const Sizes &sizes) {
  Value value = {element, sizes, makeName()};
  std::vector<std::string> dynamic;
  for (const Size &size : sizes)
    if (!size.number)
      dynamic.push_back(size.value);
  line("{0} = tensor.empty({1}) : {2}", value.name, join(dynamic, ", "), printType(value));
  return value;
}

Value GraphText::addFilled(DataType element, const Sizes &sizes, StringRef scalar) {
  std::string constant = addScalar(scalar, getElementName(element));
  Value empty = addEmpty(element, sizes), value = empty;
  value.name = makeName();
  line("{0} = linalg.fill ins({1} : {2}) outs({3} : {4}) -> {4}", value.name, constant, getElementName(element),
       empty.name, printType(value));
  return value;
}

Value GraphText::cast(const Value &value, DataType element) {
  if (value.element == element)
    return value;
  return addElementwise(element, value.sizes, {&value}, [&](Body &body, const std::vector<std::string> &names) {
    return body.cast(names[0], value.element, element);
  });
}

Value GraphText::transpose(const Value &value, llvm::ArrayRef<int64_t> permutation) {
  Sizes sizes;
  for (int64_t dim : permutation)
    sizes.push_back(value.sizes[dim]);
  std::string source = getName(value);
  Value init = addEmpty(value.element, sizes), result = init;
  result.name = makeName();
  auto print = [](int64_t dim) { return std::to_string(dim); };
  line("{0} = linalg.transpose ins({1} : {2}) outs({3} : {4}) permutation = [{5}]", result.name, source,
       printType(value), init.name, printType(init), join(llvm::map_range(permutation, print), ", "));
  return result;
}

Value GraphText::broadcast(const Value &value, const Sizes &sizes) {
  return addElementwise(value.element, sizes, {&value},
                        [](Body &, const std::vector<std::string> &names) { return names[0]; });
}

static bool isEmpty(const Sizes &sizes) {
  return llvm::any_of(sizes, [](const Size &size) { return size.number == 0; });
}

Value GraphText::slice(const Value &value, const Sizes &offsets, const Sizes &sizes, llvm::ArrayRef<int64_t> strides) {
  if (isEmpty(sizes))
    return addEmpty(value.element, sizes);
  Value result = {value.element, sizes, ""};
  Sizes steps;
  for (int64_t stride : strides)
    steps.push_back(fixed(stride));
  std::string source = getName(value);
  result.name = makeName();
  line("{0} = tensor.extract_slice {1}{2} {3} {4} : {5} to {6}", result.name, source,
       FunctionPrinter::printSizes(offsets), FunctionPrinter::printSizes(sizes), FunctionPrinter::printSizes(steps),
       printType(value), printType(result));
  return result;
}

Value GraphText::insert(const Value &value, const Value &init, const Sizes &offsets) {
  if (isEmpty(value.sizes))
    return init;
  std::string source = getName(value);
  Value result = init;
  result.name = makeName();
  line("{0} = tensor.insert_slice {1} into {2}{3} {4} {5} : {6} into {7}", result.name, source, init.name,
       FunctionPrinter::printSizes(offsets), FunctionPrinter::printSizes(value.sizes),
       FunctionPrinter::printSizes(Sizes(value.getRank(), fixed(1))), printType(value), printType(result));
  return result;
}

//===----------------------------------------------------------------------===//
// Generics
//===----------------------------------------------------------------------===//

Value GraphText::addGeneric(const Value &init, const std::vector<std::string> &initMap,
                            llvm::ArrayRef<Operand> operands, size_t loops, llvm::ArrayRef<size_t> reductions,
                            llvm::function_ref<std::string(Body &, const std::vector<std::string> &)> print) {
  std::vector<std::string> maps, names, types, given, arguments, iterators(loops, "\"parallel\"");
  for (size_t dim : reductions)
    iterators[dim] = "\"reduction\"";
  for (const auto &[i, operand] : llvm::enumerate(operands)) {
    StringRef element = getElementName(operand.value->element);
    // A reduction asks its operands how many there are to sum up.
    StringRef scalar = operand.value->splat;
    if (!scalar.empty() && operand.value->name.empty() && reductions.empty()) {
      given.push_back(addScalar(scalar, element));
      continue;
    }
    given.push_back("%in" + std::to_string(i));
    arguments.push_back((given.back() + ": " + element).str());
    maps.push_back(printMap(loops, operand.map));
    names.push_back(getName(*operand.value));
    types.push_back(printType(*operand.value));
  }
  maps.push_back(printMap(loops, initMap));
  given.push_back("%out");
  arguments.push_back(("%out: " + getElementName(init.element)).str());
  Body region;
  std::string yielded = print(region, given);
  Value result = init;
  result.name = makeName();
  std::string ins = names.empty() ? "" : formatv(" ins({0} : {1})", join(names, ", "), join(types, ", ")).str();
  line("{0} = linalg.generic {{indexing_maps = [{1}], iterator_types = [{2}]}{3} outs({4} : {5}) {{", result.name,
       join(maps, ", "), join(iterators, ", "), ins, init.name, printType(init));
  line("^bb0({0}):", join(arguments, ", "));
  body += region.getText();
  line("  linalg.yield {0} : {1}", yielded, getElementName(init.element));
  line("} -> {0}", printType(init));
  return result;
}

Value GraphText::addElementwise(DataType element, const Sizes &sizes, llvm::ArrayRef<const Value *> operands,
                                llvm::function_ref<std::string(Body &, const std::vector<std::string> &)> print) {
  std::vector<Operand> mapped;
  for (const Value *value : operands) {
    std::vector<std::string> map;
    for (size_t i = 0; i < value->getRank(); ++i) {
      size_t dim = sizes.size() - value->getRank() + i;
      const Size &size = value->sizes[i];
      bool isRepeated = size.number == 1 && sizes[dim].number != 1;
      // Sizes of the run that are not known to be equal: a call in which one is 1, to be repeated, is refused.
      if (!isRepeated && !isSame(size, sizes[dim])) {
        addLimit(size, sizes[dim]);
        addLimit(sizes[dim], size);
      }
      map.push_back(isRepeated ? "0" : "d" + std::to_string(dim));
    }
    mapped.push_back({value, std::move(map)});
  }
  return addGeneric(addEmpty(element, sizes), getDims(sizes.size()), mapped, sizes.size(), {}, print);
}
