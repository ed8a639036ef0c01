//===- WidenFloats.cpp - attn-widen-floats --------------------------------===//
//
// Before: kernels on tensors, with attn ops, loops and other user code. After: every computed float is f64. Floats that
// are only moved keep their type and are widened where they are read. Explicit roundings of the user stay.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "attn/IR/Decompose.h"
#include "attn/Support/Dialects.h"
#include "attn/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

namespace attn {
#define GEN_PASS_DEF_WIDENFLOATSPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Floats, and tensors of them, that f64 represents exactly. Quantised K and V of 8 bits keep their type.
static bool isNarrow(Type type) {
  Type element = isa<RankedTensorType>(type) ? getElementTypeOrSelf(type) : type;
  return element.isF32() || element.isF16() || element.isBF16();
}

static Type widenType(Type type) {
  Type f64 = Float64Type::get(type.getContext());
  auto tensor = dyn_cast<TensorType>(type);
  return tensor ? Type(tensor.clone(f64)) : f64;
}

namespace {
/// How an op is widened.
enum class Kind {
  Computes, ///< in f64
  Moves,    ///< moves elements of its operands: in f64 if one of them is
  Stays,    ///< keeps its types, as they are part of its meaning or unknown here
};
} // namespace

/// True for ops that upstream's or our own dialects define on floats of every type.
static bool isGeneric(Operation *op) {
  return isOfDialect<arith::ArithDialect, math::MathDialect, linalg::LinalgDialect, tensor::TensorDialect,
                     scf::SCFDialect, cf::ControlFlowDialect, AttnDialect>(op) ||
         isa<affine::AffineForOp, affine::AffineIfOp, affine::AffineYieldOp>(op);
}

static Kind getKind(Operation *op) {
  // An explicit rounding, or a bitcast.
  if (auto append = dyn_cast<KvAppendOp>(op))
    if (Type cache = getElementTypeOrSelf(append.getOutput());
        isQuantised(cache) && getElementTypeOrSelf(append.getInput()) != cache)
      return Kind::Stays;
  if (!isGeneric(op) || isa<arith::TruncFOp, arith::BitcastOp, tensor::BitcastOp>(op))
    return Kind::Stays;
  auto isTensorOrScalar = [](Type type) { return !isa<BaseMemRefType, VectorType, UnrankedTensorType>(type); };
  if (!llvm::all_of(op->getOperandTypes(), isTensorOrScalar) || !llvm::all_of(op->getResultTypes(), isTensorOrScalar))
    return Kind::Stays;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<FloatAttr, DenseFPElementsAttr>(constant.getValue()) ? Kind::Computes : Kind::Stays;
  return isa<arith::ExtFOp, arith::SelectOp, tensor::CastOp, tensor::CollapseShapeOp, tensor::ConcatOp, tensor::EmptyOp,
             tensor::ExpandShapeOp, tensor::ExtractOp, tensor::ExtractSliceOp, tensor::FromElementsOp, tensor::InsertOp,
             tensor::InsertSliceOp, tensor::ReshapeOp, tensor::SplatOp, GatherPagesOp, KvAppendOp>(op)
             ? Kind::Moves
             : Kind::Computes;
}

/// A linalg.generic widens each element that it reads; sizes do not depend on the type.
static bool takesAnyType(OpOperand &use) {
  auto generic = dyn_cast<linalg::GenericOp>(use.getOwner());
  return (generic && generic.isDpsInput(&use)) || isa<tensor::DimOp, tensor::RankOp>(use.getOwner());
}

/// The scales of quantised rows are f32 (C21).
static bool isKvScale(OpOperand &use) {
  auto sdpa = dyn_cast<SdpaOp>(use.getOwner());
  return sdpa && llvm::is_contained({sdpa.getKeyScale(), sdpa.getValueScale()}, use.get());
}

namespace {
/// Widens one function: finds the values that stay narrow, sets the types of the others, and inserts casts where the
/// two meet.
class Widener {
public:
  Widener(func::FuncOp function, bool outputs) : function(function), outputs(outputs), b(function.getContext()) {}

  void run() {
    generalize();
    findDestinations();
    collect();
    setTypes();
    for (Operation *op : ops)
      castOperands(op);
    for (auto &[op, destinations] : returns)
      castResults(op, destinations);
    foldExtensions();
  }

private:
  /// The body of a generalised op states its computation.
  void generalize() {
    SmallVector<linalg::LinalgOp> named;
    function.walk([&](linalg::LinalgOp op) {
      if (!isa<linalg::GenericOp>(op) && op.hasPureTensorSemantics())
        named.push_back(op);
    });
    for (linalg::LinalgOp op : named) {
      IRRewriter rewriter(op);
      // An op without a general form is not lowered to loops by any pass.
      (void)linalg::generalizeNamedOp(rewriter, op);
    }
  }

  /// Destination arguments, and their previous contents, are as wide as the results.
  void findDestinations() {
    function.walk([&](func::ReturnOp op) {
      SmallVector<Value> &destinations = returns.emplace_back(op, SmallVector<Value>()).second;
      for (Value result : op.getOperands())
        destinations.push_back(isa<TensorType>(result.getType()) ? getDestination(result) : Value());
    });
    auto entries = function->getAttrOfType<ArrayAttr>(kArgumentsAttr);
    if (!outputs || !entries)
      return;
    SmallVector<Attribute> widened;
    for (auto [i, entry] : llvm::enumerate(entries.getAsRange<DictionaryAttr>())) {
      NamedAttrList named(entry);
      Type type = entry.getAs<TypeAttr>("type").getValue();
      // A caller's buffer keeps its type.
      bool isBuffer = i < function.getNumArguments() && isa<BaseMemRefType>(function.getArgument(i).getType());
      if (entry.getAs<BoolAttr>("output").getValue() && isNarrow(type) && !isBuffer) {
        named.set("type", TypeAttr::get(widenType(type)));
        if (i < function.getNumArguments())
          widenedArguments.insert(function.getArgument(i));
      }
      widened.push_back(named.getDictionary(b.getContext()));
    }
    function->setAttr(kArgumentsAttr, b.getArrayAttr(widened));
  }

  bool isWide(Value value) const { return !isNarrow(value.getType()) || wide.contains(value); }

  /// Walks in textual order: values precede their uses except in unusual control flow, where f64 is correct too.
  void collect() {
    for (BlockArgument argument : function.getArguments())
      if (widenedArguments.contains(argument))
        wide.insert(argument);
    for (Block &block : llvm::drop_begin(function.getBody()))
      widenArguments(block);
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op == function || isa<func::ReturnOp>(op))
        return WalkResult::advance();
      ops.push_back(op);
      Kind kind = getKind(op);
      if (kind == Kind::Stays) {
        report(op);
        return WalkResult::skip();
      }
      bool isComputed = kind == Kind::Computes || movesWide(op);
      for (Value result : op->getResults())
        if (isComputed && isNarrow(result.getType()))
          wide.insert(result);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          widenArguments(block);
      return WalkResult::advance();
    });
  }

  /// True where a moved operand has been widened.
  bool movesWide(Operation *op) const {
    return llvm::any_of(op->getOperands(),
                        [&](Value operand) { return isNarrow(operand.getType()) && wide.contains(operand); });
  }

  void widenArguments(Block &block) {
    auto generic = dyn_cast<linalg::GenericOp>(block.getParentOp());
    for (BlockArgument argument : block.getArguments())
      if (isNarrow(argument.getType()) && !(generic && argument.getArgNumber() < generic.getNumDpsInputs() &&
                                            !isWide(generic.getDpsInputs()[argument.getArgNumber()])))
        wide.insert(argument);
  }

  /// Reports arithmetic in another type, whose results then differ from f64.
  static void report(Operation *op) {
    bool isMemory = isOfDialect<bufferization::BufferizationDialect, memref::MemRefDialect>(op);
    bool isExact = isa<arith::TruncFOp, arith::ConstantOp, tensor::CastOp, tensor::ReshapeOp>(op) ||
                   (isMemory && !isa<memref::StoreOp>(op));
    auto hasNarrow = [](TypeRange types) {
      return llvm::any_of(types, [](Type type) { return isNarrow(getElementTypeOrSelf(type)); });
    };
    if (!isExact && (hasNarrow(op->getResultTypes()) ||
                     (hasNarrow(op->getOperandTypes()) && (isa<arith::BitcastOp>(op) || !isMemoryEffectFree(op)))))
      op->emitWarning() << "the reference takes '" << op->getName() << "' in its own type, not in f64";
  }

  void setTypes() {
    for (Value value : wide) {
      types[value] = value.getType();
      value.setType(widenType(value.getType()));
    }
    for (Operation *op : ops) {
      if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && wide.contains(constant.getResult()))
        constant.setValueAttr(widenAttribute(constant.getValue()));
      // A schedule is for the types that it was chosen for, and no formula reads it.
      if (auto step = dyn_cast<OnlineStepOp>(op))
        step.removeScheduleAttr();
    }
    function.setFunctionType(b.getFunctionType(function.getBody().getArgumentTypes(), getResultTypes()));
  }

  TypedAttr widenAttribute(TypedAttr attribute) {
    Type f64 = b.getF64Type();
    auto convert = [&](APFloat number) {
      bool losesInfo;
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      return number;
    };
    if (auto number = dyn_cast<FloatAttr>(attribute))
      return FloatAttr::get(f64, convert(number.getValue()));
    return cast<DenseFPElementsAttr>(attribute).mapValues(
        f64, [&](const APFloat &number) { return convert(number).bitcastToAPInt(); });
  }

  SmallVector<Type> getResultTypes() {
    SmallVector<Type> results(function.getResultTypes());
    if (outputs && function->hasAttr(kArgumentsAttr))
      for (Type &type : results)
        type = isNarrow(type) ? widenType(type) : type;
    return results;
  }

  void castOperands(Operation *op) {
    Kind kind = getKind(op);
    // Ops that move elements have the type of their results. Without results, as for a terminator, they have the type
    // of their target.
    bool staysNarrow =
        kind == Kind::Stays ||
        (kind == Kind::Moves && llvm::none_of(op->getResults(), [&](Value value) { return wide.contains(value); }));
    if (isa<arith::ExtFOp>(op))
      return;
    for (OpOperand &use : op->getOpOperands()) {
      bool isWidened = wide.contains(use.get());
      if ((staysNarrow || isKvScale(use)) && isWidened)
        use.set(narrow(use.get()));
      else if (!staysNarrow && !isWidened && isNarrow(use.get().getType()) && !takesAnyType(use) && !isKvScale(use))
        use.set(widen(use.get()));
    }
    if (kind != Kind::Stays || op->getNumRegions() == 0)
      return;
    // The walk has skipped the regions of an op that stays: their values keep their types.
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      if (wide.contains(value)) {
        Value narrowed = narrow(value);
        value.replaceUsesWithIf(narrowed, [&](OpOperand &use) {
          return op->isProperAncestor(use.getOwner()) && use.getOwner() != narrowed.getDefiningOp();
        });
      }
  }

  /// Casts returned tensors with linalg, so that they are computed in the caller's destinations.
  void castResults(func::ReturnOp op, ArrayRef<Value> destinations) {
    for (auto [use, type, destination] : llvm::zip(op->getOpOperands(), function.getResultTypes(), destinations)) {
      if (use.get().getType() == type)
        continue;
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor) {
        use.set(isNarrow(use.get().getType()) ? widen(use.get()) : narrow(use.get()));
        continue;
      }
      b.setInsertionPoint(op);
      Location loc = op.getLoc();
      Value output = destination;
      if (!isa<BlockArgument>(destination) || destination.getType() != type)
        output = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, use.get()), tensor.getElementType());
      SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(tensor.getRank()));
      SmallVector<utils::IteratorType> loops(tensor.getRank(), utils::IteratorType::parallel);
      auto convert = [&](OpBuilder &nested, Location at, ValueRange x) {
        linalg::YieldOp::create(nested, at, convertFloat(nested, at, x[0], x[1].getType()));
      };
      use.set(
          linalg::GenericOp::create(b, loc, output.getType(), use.get(), output, maps, loops, convert).getResult(0));
    }
  }

  /// Folds extensions of values that are f64 already.
  void foldExtensions() {
    for (Operation *op : ops) {
      auto extension = dyn_cast<arith::ExtFOp>(op);
      if (!extension || extension.getIn().getType() != extension.getType())
        continue;
      extension.replaceAllUsesWith(extension.getIn());
      extension.erase();
    }
  }

  Value widen(Value value) {
    return cast(widened, value, [&](Location loc) -> Value {
      if (auto empty = value.getDefiningOp<tensor::EmptyOp>())
        return tensor::EmptyOp::create(b, loc, empty.getMixedSizes(), b.getF64Type());
      return arith::ExtFOp::create(b, loc, widenType(value.getType()), value);
    });
  }

  /// Through f32: no instruction narrows f64 to 16 bits.
  Value narrow(Value value) {
    return cast(narrowed, value, [&](Location loc) -> Value {
      Type type = types.lookup(value);
      Value result = value;
      if (!getElementTypeOrSelf(type).isF32()) {
        auto tensor = dyn_cast<TensorType>(type);
        Type f32 = b.getF32Type();
        result = arith::TruncFOp::create(b, loc, tensor ? Type(tensor.clone(f32)) : f32, result);
      }
      return arith::TruncFOp::create(b, loc, type, result);
    });
  }

  /// Created once, after the value.
  Value cast(DenseMap<Value, Value> &known, Value value, function_ref<Value(Location)> create) {
    Value &result = known[value];
    if (!result) {
      b.setInsertionPointAfterValue(value);
      result = create(value.getLoc());
    }
    return result;
  }

  func::FuncOp function;
  bool outputs;
  OpBuilder b;
  SmallVector<std::pair<func::ReturnOp, SmallVector<Value>>> returns; ///< with the destinations of their operands
  llvm::SmallDenseSet<Value> widenedArguments;
  llvm::SetVector<Value> wide; ///< narrow in the source, f64 from setTypes on
  DenseMap<Value, Type> types; ///< the original types
  SmallVector<Operation *> ops;
  DenseMap<Value, Value> widened, narrowed;
};

struct WidenFloatsPass : public attn::impl::WidenFloatsPassBase<WidenFloatsPass> {
  using Base::Base;
  void runOnOperation() override {
    if (!getOperation().isExternal())
      Widener(getOperation(), outputs).run();
  }
};
} // namespace
