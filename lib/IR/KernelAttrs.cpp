//===- KernelAttrs.cpp - what the compiler notes on a kernel's function ---===//
//
// attn.arguments, attn.sizes (with formulas and limits), attn.path, attn.conventions, attn.cuda_entry, attn.schedule,
// attn.kind, attn.pair, attn.grad, attn.name and attn.strided are discardable attributes that later phases and the
// emitted header rely on; so is attn.consecutive of a loop. As each may also be read from a file, the dialect
// verifies its form here. They are dictionaries, not attributes of the dialect, so that a stock mlir-translate reads
// the output of attn-to-llvm.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/GradientAttrs.h"
#include "attn/IR/LoopAttrs.h"
#include "attn/IR/Words.h"
#include "attn/Support/SizeFormula.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attn;

static bool isIdentifier(StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// A scalar or a ranked tensor of scalars, with the index in attn.sizes of each dynamic size.
static bool isArgumentType(Type type, DenseI32ArrayAttr places, int64_t numSizes) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type.isIntOrFloat() && !places;
  if (!tensor.getElementType().isIntOrFloat() || (!places && !tensor.hasStaticShape()))
    return false;
  if (!places)
    return true;
  if (places.size() != tensor.getRank())
    return false;
  return llvm::all_of(llvm::zip(tensor.getShape(), places.asArrayRef()), [&](auto dim) {
    auto [size, place] = dim;
    return ShapedType::isDynamic(size) ? place >= 0 && place < numSizes : place == -1;
  });
}

/// Pairs (argument, dimension) of the function, or (-1, constant).
static bool isSizePlaces(Attribute attribute, int64_t count, ArrayAttr arguments) {
  auto numbers = dyn_cast_or_null<DenseI64ArrayAttr>(attribute);
  if (!numbers || numbers.size() != 2 * count)
    return false;
  for (int64_t i = 0; i < 2 * count; i += 2) {
    int64_t argument = numbers[i], dim = numbers[i + 1];
    if (argument < -1 || argument >= int64_t(arguments.size()) || dim < 0)
      return false;
    auto entry = argument < 0 ? DictionaryAttr() : dyn_cast<DictionaryAttr>(arguments[argument]);
    auto type = entry ? entry.getAs<TypeAttr>("type") : TypeAttr();
    auto tensor = type ? dyn_cast<RankedTensorType>(type.getValue()) : RankedTensorType();
    if (argument >= 0 && (!tensor || dim >= tensor.getRank()))
      return false;
  }
  return true;
}

/// True for a tensor of rank `rank` of i32 or i64.
static bool isIntegers(Attribute attribute, int64_t rank) {
  auto entry = dyn_cast<DictionaryAttr>(attribute);
  auto type = entry ? entry.getAs<TypeAttr>("type") : TypeAttr();
  auto tensor = type ? dyn_cast<RankedTensorType>(type.getValue()) : RankedTensorType();
  return tensor && tensor.getRank() == rank &&
         (tensor.getElementType().isInteger(32) || tensor.getElementType().isInteger(64));
}

/// One entry of `checks` of an argument, as Kernels.h defines it: the checked entry reads memory according to it.
static bool isValueCheck(Attribute attribute, Attribute argument, ArrayAttr arguments) {
  auto check = dyn_cast<DictionaryAttr>(attribute);
  auto kind = check ? check.getAs<StringAttr>("kind") : StringAttr();
  auto lengths = check ? check.getAs<IntegerAttr>("lengths") : IntegerAttr();
  if (!kind || !lengths || check.size() != 5 || !isSizePlaces(check.get("limit"), 2, arguments) ||
      !isSizePlaces(check.get("page"), 1, arguments) || !isSizePlaces(check.get("rows"), 1, arguments))
    return false;
  bool isTable = llvm::is_contained({"block_table", "append_table"}, kind.getValue());
  bool isList = llvm::is_contained({"lengths", "prefix_sums", "positions", "slots"}, kind.getValue());
  if (!isTable && !isList)
    return false;
  int64_t other = lengths.getInt();
  bool hasLengths = other >= 0 && other < static_cast<int64_t>(arguments.size()) && isIntegers(arguments[other], 1);
  return isIntegers(argument, isTable ? 2 : 1) && (hasLengths || (isList && other == -1));
}

static bool isArgument(Attribute attribute, ArrayAttr arguments, int64_t numSizes) {
  auto entry = dyn_cast<DictionaryAttr>(attribute);
  if (!entry)
    return false;
  auto isCheck = [&](Attribute check) { return isValueCheck(check, attribute, arguments); };
  auto checks = entry.getAs<ArrayAttr>("checks");
  if (checks && !llvm::all_of(checks, isCheck))
    return false;
  auto name = entry.getAs<StringAttr>("name");
  auto type = entry.getAs<TypeAttr>("type");
  auto places = entry.getAs<DenseI32ArrayAttr>("sizes");
  auto output = entry.getAs<BoolAttr>("output");
  auto updated = entry.getAs<UnitAttr>("updated");
  auto result = entry.getAs<IntegerAttr>("result");
  auto strided = entry.getAs<UnitAttr>("strided");
  if (result && (!output || !output.getValue()))
    return false;
  if (strided && (!output || (output.getValue() && !updated) || !type || !isa<RankedTensorType>(type.getValue())))
    return false;
  return entry.size() == 3u + bool(places) + bool(checks) + bool(updated) + bool(result) + bool(strided) && name &&
         isIdentifier(name) && output && (output.getValue() || !updated) && type &&
         isArgumentType(type.getValue(), places, numSizes);
}

/// Either every output has a distinct result index, or none has one.
static bool areResults(ArrayAttr arguments) {
  llvm::SmallSet<int64_t, 4> results;
  int64_t numOutputs = 0, largest = -1;
  for (auto entry : arguments.getAsRange<DictionaryAttr>()) {
    numOutputs += entry.getAs<BoolAttr>("output").getValue();
    auto result = entry.getAs<IntegerAttr>("result");
    int64_t number = result ? result.getValue().getSExtValue() : 0;
    if (result && (number < 0 || !results.insert(number).second))
      return false;
    largest = std::max(largest, result ? number : -1);
  }
  return results.empty() || (static_cast<int64_t>(results.size()) == numOutputs && largest < numOutputs);
}

/// The text of a formula over the sizes of arguments.
static bool isSizeFormula(Attribute attribute, ArrayRef<std::string> sizes) {
  auto text = dyn_cast<StringAttr>(attribute);
  return text && SizeFormula::parse(text.getValue(), sizes);
}

/// The names in attn.sizes without a formula.
static SmallVector<std::string> getFreeSizes(Operation *op) {
  auto formulas = op->getAttrOfType<DictionaryAttr>(kSizeFormulasAttr);
  SmallVector<std::string> names;
  if (auto sizes = op->getAttrOfType<ArrayAttr>(kSizesAttr))
    for (Attribute name : sizes)
      if (auto text = dyn_cast<StringAttr>(name); text && !(formulas && formulas.contains(text)))
        names.push_back(text.str());
  return names;
}

static bool isSizeFormulas(Operation *op, Attribute attribute) {
  auto entries = dyn_cast<DictionaryAttr>(attribute);
  auto sizes = op->getAttrOfType<ArrayAttr>(kSizesAttr);
  return entries && sizes && llvm::all_of(entries, [&](const NamedAttribute &entry) {
           Attribute name = StringAttr::get(op->getContext(), entry.getName().getValue());
           return llvm::is_contained(sizes, name) && isSizeFormula(entry.getValue(), getFreeSizes(op));
         });
}

static bool isSizeLimits(Operation *op, Attribute attribute) {
  auto entries = dyn_cast<ArrayAttr>(attribute);
  return entries && llvm::all_of(entries, [&](Attribute entry) {
           auto pair = dyn_cast<ArrayAttr>(entry);
           return pair && pair.size() == 2 &&
                  llvm::all_of(pair, [&](Attribute text) { return isSizeFormula(text, getFreeSizes(op)); });
         });
}

static bool isSizeNames(Attribute attribute) {
  auto names = dyn_cast_or_null<ArrayAttr>(attribute);
  return names && llvm::all_of(names, [](Attribute name) {
           return isa<StringAttr>(name) && isIdentifier(cast<StringAttr>(name).getValue());
         });
}

LogicalResult AttnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  Attribute value = attribute.getValue();
  if (attribute.getName() == kArgumentsAttr) {
    auto entries = dyn_cast<ArrayAttr>(value);
    auto sizes = op->getAttrOfType<ArrayAttr>(kSizesAttr);
    if (!entries ||
        !llvm::all_of(entries, [&](Attribute entry) { return isArgument(entry, entries, sizes ? sizes.size() : 0); }) ||
        !areResults(entries))
      return op->emitError("expected ") << kArgumentsAttr << " to be an array of {name = \"…\", output = …, type = …} "
                                        << "with C identifiers, updated and result for outputs alone, strided for "
                                           "tensors that are inputs or updated, "
                                        << "sizes = array<i32: …> of places in " << kSizesAttr
                                        << " where a type is dynamic, and checks of integers; found " << value;
    if (auto function = dyn_cast<FunctionOpInterface>(op); !function || function.isExternal())
      return op->emitError("expected ") << kArgumentsAttr << " on a function with a body";
  } else if (attribute.getName() == kSizesAttr) {
    if (!isSizeNames(value) || !op->hasAttr(kArgumentsAttr))
      return op->emitError("expected ") << kSizesAttr << " to be an array of C identifiers beside " << kArgumentsAttr
                                        << ", found " << value;
  } else if (attribute.getName() == kSizeFormulasAttr) {
    if (!isSizeFormulas(op, value))
      return op->emitError("expected ") << kSizeFormulasAttr
                                        << " to have formulas in postfix order, as \"n0 n1 *\", of "
                                        << "sizes in " << kSizesAttr << " by others in it, found " << value;
  } else if (attribute.getName() == kSizeLimitsAttr) {
    if (!isSizeLimits(op, value))
      return op->emitError("expected ") << kSizeLimitsAttr << " to have pairs of formulas in postfix order on sizes in "
                                        << kSizesAttr << " without one, as [\"n0\", \"64\"], found " << value;
  } else if (attribute.getName() == kPathAttr) {
    auto path = dyn_cast<StringAttr>(value);
    if (!path || !llvm::is_contained({"flash", "mixed", "reference"}, path.getValue()))
      return op->emitError("expected ") << kPathAttr << " to be \"flash\", \"mixed\" or \"reference\", found " << value;
    if (!op->hasAttr(kConventionsAttr))
      return op->emitError("expected ") << kConventionsAttr << " beside " << kPathAttr << ", found none";
  } else if (attribute.getName() == kConventionsAttr) {
    auto entries = dyn_cast<DictionaryAttr>(value);
    if (!entries || !llvm::all_of(entries, [](NamedAttribute entry) { return readWord(entry).has_value(); }))
      return op->emitError("expected ")
             << kConventionsAttr << " to hold attributes of attn.sdpa under their names, those of the dialect as "
             << "strings (\"" << getWordAttribute(op->getContext(), Alignment::TopLeft)
             << "\"), and units for its operands, found " << value;
  } else if (attribute.getName() == kCudaEntryAttr) {
    if (!isa<UnitAttr>(value))
      return op->emitError("expected ") << kCudaEntryAttr << " to be a unit, found " << value;
    if (!op->hasAttr(kArgumentsAttr))
      return op->emitError("expected ") << kArgumentsAttr << " beside " << kCudaEntryAttr << ", found none";
  } else if (attribute.getName() == kGradAttr) {
    auto names = dyn_cast<ArrayAttr>(value);
    if (!names || names.empty() || !llvm::all_of(names, llvm::IsaPred<StringAttr, IntegerAttr>) ||
        !isa<FunctionOpInterface>(op))
      return op->emitError("expected ") << kGradAttr << " on a function, an array of names or numbers of its "
                                        << "arguments, as [\"q\", \"k\"], found " << value;
  } else if (attribute.getName() == kIntoAttr) {
    auto names = dyn_cast<ArrayAttr>(value);
    if (!names || names.empty() || !llvm::all_of(names, llvm::IsaPred<StringAttr, IntegerAttr>) ||
        !op->hasAttr(kGradAttr))
      return op->emitError("expected ") << kIntoAttr << " to be an array of names or numbers of arguments beside "
                                        << kGradAttr << ", found " << value;
  } else if (attribute.getName() == kKindAttr) {
    auto kind = dyn_cast<StringAttr>(value);
    if (!kind || !llvm::is_contained({"forward", "backward"}, kind.getValue()) ||
        !isa_and_nonnull<StringAttr>(op->getAttr(kPairAttr)))
      return op->emitError("expected ") << kKindAttr << " to be \"forward\" or \"backward\" beside a name as "
                                        << kPairAttr << ", found " << value;
  } else if (attribute.getName() == kScheduleAttr) {
    if (!isa<BlockAttr>(value))
      return op->emitError("expected ") << kScheduleAttr << " to be a schedule, #attn.block<…>, found " << value;
  } else if (attribute.getName() == kConsecutiveAttr) {
    if (!isa<UnitAttr>(value) || !isa<scf::ForOp>(op))
      return op->emitError("expected ") << kConsecutiveAttr << " to be a unit on an scf.for, found " << value;
  }
  return success();
}

static LogicalResult verifyName(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kNameAttr && !isa<StringAttr>(attribute.getValue()))
    return op->emitError("expected ") << kNameAttr << " to be a string, found " << attribute.getValue();
  return success();
}

LogicalResult AttnDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned argument,
                                                    NamedAttribute attribute) {
  if (attribute.getName() != kStridedAttr)
    return verifyName(op, attribute);
  auto function = dyn_cast<FunctionOpInterface>(op);
  Type type = function ? function.getArgumentTypes()[argument] : Type();
  if (!isa<UnitAttr>(attribute.getValue()) || !isa_and_nonnull<RankedTensorType>(type))
    return op->emitError("expected ") << kStridedAttr << " to be a unit on an argument that is a ranked tensor, found "
                                      << attribute.getValue() << " on argument " << argument;
  return success();
}

LogicalResult AttnDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  return verifyName(op, attribute);
}

bool attn::isStridedArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : FunctionOpInterface();
  if (!function)
    return false;
  unsigned i = argument.getArgNumber();
  // A described kernel has the attribute in its description.
  if (auto described = function->getAttrOfType<ArrayAttr>(kArgumentsAttr))
    return i < described.size() && cast<DictionaryAttr>(described[i]).contains("strided");
  return function.getArgAttr(i, kStridedAttr) != nullptr;
}
