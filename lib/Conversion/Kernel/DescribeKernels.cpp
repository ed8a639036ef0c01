//===- DescribeKernels.cpp - attn-describe-kernels ------------------------===//
//
// Before: public functions on tensors, as the user wrote them. After: the same functions with attn.arguments, which
// describes the arguments of the C entry once results have become destinations, and with attn.sizes if sizes are
// dynamic.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "KernelChecks.h"
#include "SizeReader.h"
#include "ValueChecks.h"
#include "attn/Conversion/Kernels.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Roles.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

namespace attn {
#define GEN_PASS_DEF_DESCRIBEKERNELSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Most bits of an argument's byte count: what a process can address.
constexpr unsigned kMaxArgumentBits = 47;

bool fitsInMemory(RankedTensorType type) {
  int64_t bytes = getElementInfo(*getElementKind(type.getElementType())).bytes;
  for (int64_t size : type.getShape()) {
    // An empty dimension does not excuse an overflow of the others: their strides count elements anyway. A dynamic one
    // counts as 1: the checked entry tests the whole.
    if (llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes))
      return false;
  }
  return bytes <= int64_t(1) << kMaxArgumentBits;
}

/// An argument, and the tensors as which a memref is read.
SmallVector<Value> getReads(BlockArgument argument) {
  SmallVector<Value> values{argument};
  for (Operation *user : argument.getUsers())
    if (auto read = dyn_cast<bufferization::ToTensorOp>(user))
      values.push_back(read.getResult());
  return values;
}

/// True where an op may write to a memref, or to a view of it.
bool isWritten(Value memref) {
  return llvm::any_of(memref.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<bufferization::ToTensorOp, memref::DimOp>(user))
      return false;
    if (isa<ViewLikeOpInterface>(user))
      return llvm::any_of(user->getResults(), [](Value view) { return isWritten(view); });
    if (auto write = dyn_cast<bufferization::MaterializeInDestinationOp>(user))
      return write.getDest() == use.get();
    auto effects = dyn_cast<MemoryEffectOpInterface>(user);
    return !effects || effects.getEffectOnValue<MemoryEffects::Write>(use.get()).has_value();
  });
}

/// Collects one function's arguments and gives each a unique C identifier.
class Describer {
public:
  explicit Describer(func::FuncOp function)
      : function(function), b(function.getContext()), classes(function), checks(function, classes), sizes(classes) {}

  LogicalResult run() {
    llvm::SmallDenseMap<Value, int64_t> destinations; // each with the index of its result
    auto terminator = cast<func::ReturnOp>(function.getBody().front().getTerminator());
    for (auto [i, result] : llvm::enumerate(terminator.getOperands())) {
      if (!isa<RankedTensorType>(result.getType()))
        return function.emitOpError("expected a kernel to return ranked tensors, found ") << result.getType();
      if (isa<BlockArgument>(result))
        return function.emitOpError("expected a kernel to compute what it returns, found an argument that is returned "
                                    "as it is");
      Value destination = getDestination(result);
      if (isa<BlockArgument>(destination) && !destinations.try_emplace(destination, i).second)
        return function.emitOpError("expected each result to have a destination of its own, found one for two results");
    }
    for (BlockArgument argument : function.getArguments()) {
      bool isBuffer = isa<MemRefType>(argument.getType()), isOutput = destinations.contains(argument);
      if (isBuffer && failed(checkBuffer(argument)))
        return failure();
      if (isBuffer && isWritten(argument)) {
        if (function.getNumResults() > 0)
          return function.emitOpError("expected a kernel to write to memrefs or to return tensors, found both");
        isOutput = true;
      }
      if (failed(add(argument, getArgumentName(argument, isOutput), isOutput)))
        return failure();
    }
    for (auto [i, result] : llvm::enumerate(terminator.getOperands()))
      if (!isa<BlockArgument>(getDestination(result)) &&
          failed(add(result, getResultName(i, result), /*isOutput=*/true)))
        return failure();
    noteOrderOfResults(destinations, terminator.getOperands());
    function->setAttr(kArgumentsAttr, b.getArrayAttr(entries));
    noteSizes();
    // The names are recorded now; later passes and LLVM would not know the attributes.
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      function.removeArgAttr(i, kNameAttr);
      function.removeArgAttr(i, kStridedAttr);
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      function.removeResultAttr(i, b.getStringAttr(kNameAttr));
    return success();
  }

private:
  /// If outputs are not in the order of the results, records the index of each one's result.
  void noteOrderOfResults(const llvm::SmallDenseMap<Value, int64_t> &destinations, ValueRange results) {
    SmallVector<int64_t> order;
    for (BlockArgument argument : function.getArguments())
      if (auto found = destinations.find(argument); found != destinations.end())
        order.push_back(found->second);
    for (auto [i, result] : llvm::enumerate(results))
      if (!isa<BlockArgument>(getDestination(result)))
        order.push_back(i);
    if (llvm::is_sorted(order))
      return;
    auto *next = order.begin();
    for (Attribute &attribute : entries) {
      auto entry = cast<DictionaryAttr>(attribute);
      if (!entry.getAs<BoolAttr>("output").getValue())
        continue;
      NamedAttrList named(entry);
      named.set("result", b.getI64IntegerAttr(*next++));
      attribute = named.getDictionary(b.getContext());
    }
  }

  LogicalResult add(Value value, std::string name, bool isOutput) {
    Type type = value.getType();
    if (auto buffer = dyn_cast<MemRefType>(type))
      type = RankedTensorType::get(buffer.getShape(), buffer.getElementType());
    auto shaped = dyn_cast<RankedTensorType>(type);
    if (!shaped && !type.isIntOrFloat())
      return function.emitOpError("expected kernel arguments that are ranked tensors, memrefs or numbers, found ")
             << type;
    if (!getElementKind(getElementTypeOrSelf(type)))
      return function.emitOpError("expected element type ")
             << kElementTypes << ", found " << getElementTypeOrSelf(type);
    if (shaped && shaped.getEncoding())
      return function.emitOpError("expected dense tensors without an encoding, found ") << type;
    if (shaped && !fitsInMemory(shaped))
      return function.emitOpError("expected arguments of at most 2^") << kMaxArgumentBits << " bytes, found " << type;
    std::string unique = makeUnique(name);
    SmallVector<NamedAttribute> entry = {b.getNamedAttr("name", b.getStringAttr(unique)),
                                         b.getNamedAttr("output", b.getBoolAttr(isOutput)),
                                         b.getNamedAttr("type", TypeAttr::get(type))};
    auto argument = dyn_cast<BlockArgument>(value);
    bool isUpdated = isOutput && argument && readsOldValues(argument);
    if (isUpdated)
      entry.push_back(b.getNamedAttr("updated", b.getUnitAttr()));
    if (argument && isStrided(argument)) {
      if (isOutput && !isUpdated)
        return function.emitOpError("expected a dense output, or one that is updated in place, found '")
               << unique << "' with " << kStridedAttr << "; leave it out";
      entry.push_back(b.getNamedAttr("strided", b.getUnitAttr()));
    }
    if (shaped && !shaped.hasStaticShape()) {
      FailureOr<SmallVector<int32_t>> places = addSizes(value, unique, isOutput && !isa<BlockArgument>(value));
      if (failed(places))
        return failure();
      entry.push_back(b.getNamedAttr("sizes", b.getDenseI32ArrayAttr(*places)));
    }
    if (ArrayRef<ValueCheck> found = checks.get(value); !found.empty()) {
      auto print = [&](const ValueCheck &check) { return check.toAttribute(b.getContext()); };
      entry.push_back(b.getNamedAttr("checks", b.getArrayAttr(llvm::map_to_vector(found, print))));
    }
    entries.push_back(b.getDictionaryAttr(entry));
    return success();
  }

  /// True if the strides of all dimensions but the last are known only at run time.
  bool isStrided(BlockArgument argument) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    return type ? type == getStridedMemref(type) && !type.getLayout().isIdentity()
                : function.getArgAttr(argument.getArgNumber(), kStridedAttr) != nullptr;
  }

  /// A C entry takes a pointer, sizes, and run-time strides of all dimensions but the last; no offset.
  LogicalResult checkBuffer(BlockArgument argument) {
    auto type = cast<MemRefType>(argument.getType());
    if (!type.getMemorySpace() && (type.getLayout().isIdentity() || isStrided(argument)))
      return success();
    return function.emitOpError("expected kernel arguments that are dense memrefs of the default memory space, or such "
                                "of layout strided<[?, …, 1]>, found ")
           << type
           << "; make the function private, with a public one that calls it with a memref.subview of a dense one";
  }

  /// Whether a destination is read, in bufferisation's analysis. A memref may be read through a view.
  static bool readsOldValues(BlockArgument destination) {
    bufferization::BufferizationOptions options;
    bufferization::AnalysisState state(options);
    if (!isa<MemRefType>(destination.getType()))
      return state.isValueRead(destination);
    return llvm::any_of(destination.getUsers(), [&](Operation *user) {
      if (auto read = dyn_cast<bufferization::ToTensorOp>(user))
        return state.isValueRead(read.getResult());
      return !isa<bufferization::MaterializeInDestinationOp, memref::DimOp>(user);
    });
  }

  /// The index of each dimension in the list of dynamic sizes; -1 where it is static.
  FailureOr<SmallVector<int32_t>> addSizes(Value tensor, StringRef name, bool isResult) {
    SmallVector<int32_t> places;
    for (auto [dim, size] : llvm::enumerate(cast<ShapedType>(tensor.getType()).getShape())) {
      places.push_back(-1);
      if (!ShapedType::isDynamic(size))
        continue;
      unsigned id = classes.find(tensor, dim);
      if (int64_t known = classes.getStaticSize(id); !ShapedType::isDynamic(known))
        return function.emitOpError("expected '") << name << "' to have size " << known << " in dimension " << dim
                                                  << ", as the tensors that it is used with, found ?";
      std::optional<unsigned> place = sizes.find(id);
      // The caller allocates the results, so their sizes must follow from the arguments.
      if (!place && isResult) {
        std::optional<SizeFormula> formula = sizes.read(tensor, dim);
        if (!formula)
          return function.emitOpError(
                     "expected dynamic sizes of results to be sizes of an argument, as tensor.dim gives "
                     "them to tensor.empty, or sums, products, quotients, minima or maxima of such, "
                     "found another in dimension ")
                 << dim << " of '" << name << "'";
        place = sizes.add(id, *formula);
      }
      places.back() = place ? *place : sizes.add(id);
    }
    return places;
  }

  /// One C identifier per dynamic size: its name in the domain, or n0, n1, …
  SmallVector<std::string> getSizeNames() {
    SmallVector<std::string> found;
    unsigned numUnnamed = 0;
    for (unsigned id : sizes.getClasses()) {
      std::string name = classes.getName(id).str();
      if (name.empty())
        name = "n" + std::to_string(numUnnamed++);
      found.push_back(makeUnique(name));
    }
    return found;
  }

  /// Records the dynamic sizes, formulas for those that only results have, and the constraints on a call.
  void noteSizes() {
    SmallVector<std::string> found = getSizeNames();
    if (!found.empty())
      function->setAttr(kSizesAttr, b.getStrArrayAttr(llvm::map_to_vector(found, [](StringRef name) { return name; })));
    NamedAttrList formulas;
    for (auto [name, formula] : llvm::zip(found, sizes.getFormulas()))
      if (!formula.empty())
        formulas.set(name, b.getStringAttr(formula.print(found)));
    if (!formulas.empty())
      function->setAttr(kSizeFormulasAttr, formulas.getDictionary(b.getContext()));
    SmallVector<Attribute> limits;
    for (const SizeLimit &limit : takeSizeLimits(function, sizes))
      limits.push_back(b.getStrArrayAttr({limit.value.print(found), limit.limit.print(found)}));
    if (!limits.empty())
      function->setAttr(kSizeLimitsAttr, b.getArrayAttr(limits));
  }

  std::string makeUnique(const std::string &name) {
    std::string unique = name;
    for (unsigned i = 2; !names.insert(unique).second; ++i)
      unique = name + std::to_string(i);
    return unique;
  }

  /// The user's attn.name, or the operand's name in the first attn op.
  std::string getArgumentName(BlockArgument argument, bool isOutput) {
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
      return makeCName(name);
    // Set if all uses agree on the role; self-attention on one tensor has none.
    std::string name, placeholder = isOutput ? "output" : "input";
    for (Value value : getReads(argument))
      for (OpOperand &use : value.getUses()) {
        if (!isOfDialect<AttnDialect>(use.getOwner()))
          continue;
        StringRef role = getRole(use);
        if (!name.empty() && name != role)
          return placeholder;
        name = role.str();
      }
    return name.empty() ? placeholder : name;
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
  SizeClasses classes;
  ValueChecks checks;
  SizeReader sizes; ///< the dynamic sizes, in the order of their first use
  SmallVector<Attribute> entries;
  llvm::StringSet<> names;
};

/// Finds attention in functions, including private ones that they call.
class AttentionFinder {
public:
  bool contains(func::FuncOp function) {
    // In a cycle of calls: no, unless another function of it has attention.
    auto [entry, isNew] = known.try_emplace(function, false);
    if (!isNew)
      return entry->second;
    WalkResult result = function.walk([&](Operation *op) {
      if (isOfDialect<AttnDialect>(op))
        return WalkResult::interrupt();
      auto call = dyn_cast<func::CallOp>(op);
      auto callee = call ? symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr()) : func::FuncOp();
      return callee && callee.isPrivate() && contains(callee) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return known[function] = result.wasInterrupted();
  }

private:
  SymbolTableCollection symbols;
  DenseMap<Operation *, bool> known;
};

struct DescribeKernelsPass : public attn::impl::DescribeKernelsPassBase<DescribeKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    AttentionFinder attention;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function.isPublic() || function.isExternal() || function->hasAttr(kArgumentsAttr))
        continue;
      if (!allFunctions && !attention.contains(function))
        continue;
      if (!function.getBody().hasOneBlock()) {
        function.emitOpError("expected a kernel of one block");
        return signalPassFailure();
      }
      if (failed(checkNames(function)) || failed(checkDynamicSizes(function)) || failed(Describer(function).run()))
        return signalPassFailure();
    }
    if (failed(checkModule(getOperation())))
      signalPassFailure();
  }
};
} // namespace
