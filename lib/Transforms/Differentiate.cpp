//===- Differentiate.cpp - attn-differentiate -----------------------------===//
//
// Before: a function with attn.grad = ["q", "k", …], whose results are those of
// one attention. After: NAME_forward, which returns lse too, and NAME_backward,
// from the arguments, the results and their cotangents to the gradients asked for.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Derivative.h"
#include "attn/IR/GradientAttrs.h"
#include "attn/IR/Words.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

namespace attn {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// What a tensor is a view of, through reshapes alone; the reshapes, the last one first.
struct View {
  Value root;
  SmallVector<Operation *> reshapes;
};

View getView(Value value) {
  View view = {value, {}};
  while (Operation *op = view.root.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    view.reshapes.push_back(op);
    view.root = op->getOperand(0);
  }
  return view;
}

/// `value`, of the type of the result of `reshape`, in the shape of its source.
Value undoReshape(OpBuilder &b, Operation *reshape, Value value) {
  Type type = reshape->getOperand(0).getType();
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape))
    return tensor::CollapseShapeOp::create(b, reshape->getLoc(), type, value, expand.getReassociationIndices());
  auto collapse = cast<tensor::CollapseShapeOp>(reshape);
  return tensor::ExpandShapeOp::create(b, reshape->getLoc(), type, value, collapse.getReassociationIndices());
}

/// The inputs of sdpa that have gradients, in the order of these.
enum Input : unsigned { OfQuery, OfKey, OfValue, OfBias, OfSink, NumInputs };

/// True for a tensor of floats that an op of the region reads.
bool isRead(Region &region, Value tensor) {
  return isa<FloatType>(getElementTypeOrSelf(tensor.getType())) && isa<RankedTensorType>(tensor.getType()) &&
         llvm::any_of(tensor.getUsers(), [&](Operation *user) { return region.isAncestor(user->getParentRegion()); });
}

class Differentiator {
public:
  explicit Differentiator(func::FuncOp function)
      : function(function), b(function.getContext()), name(function.getName().str()) {}

  LogicalResult run() {
    auto names = function->getAttrOfType<ArrayAttr>(kGradAttr);
    function->removeAttr(kGradAttr);
    if (failed(findAttention()) || failed(findResults()) || failed(findWanted(names)) || failed(refuseOthers()))
      return failure();
    returnsLse = lseResult >= 0;
    if (!returnsLse)
      addLse();
    return buildBackward();
  }

private:
  InFlightDiagnostic refuse() { return function.emitOpError("cannot be differentiated: "); }

  //===--------------------------------------------------------------------===//
  // What there is
  //===--------------------------------------------------------------------===//

  LogicalResult findAttention() {
    if (!function.getBody().hasOneBlock())
      return refuse() << "expected a function of one block";
    SmallVector<ApplyOp> chains;
    function.walk([&](ApplyOp apply) { chains.push_back(apply); });
    for (ApplyOp apply : chains) {
      std::string reason;
      IRRewriter rewriter(apply);
      if (failed(fuseChain(rewriter, apply, &reason)))
        return refuse() << "expected a chain that fuses into one attn.sdpa, found one that does not: " << reason;
    }
    if (!chains.empty()) {
      IRRewriter rewriter(function.getContext());
      (void)runRegionDCE(rewriter, function->getRegions()); // what is left of the chain
    }
    SmallVector<SdpaOp> ops;
    Operation *other = nullptr;
    function.walk([&](Operation *op) {
      if (auto found = dyn_cast<SdpaOp>(op))
        ops.push_back(found);
      else if (isa_and_nonnull<AttnDialect>(op->getDialect()) && op->getParentOp() == function && !other)
        other = op;
    });
    if (other)
      return refuse() << "expected no other op of attention than attn.sdpa, found " << other->getName()
                      << ", which has no rule";
    if (ops.size() != 1)
      return refuse() << "expected one attn.sdpa, or a chain that fuses into one, found " << ops.size();
    sdpa = ops.front();
    if (sdpa->getParentOp() != function)
      return refuse() << "expected attn.sdpa in the body of the function, found it in "
                      << sdpa->getParentOp()->getName();
    if (sdpa->getNumResults() == 0)
      return refuse() << "expected attn.sdpa on tensors, found memrefs";
    return success();
  }

  /// Which results of the function are out and lse.
  LogicalResult findResults() {
    for (auto [i, result] : llvm::enumerate(getReturn().getOperands())) {
      Value root = getView(result).root;
      if (root.getDefiningOp() != sdpa)
        return refuse() << "expected results that are those of attn.sdpa, as they are or reshaped, found another as "
                           "result "
                        << i;
      int64_t &place = root == sdpa->getResult(0) ? outResult : lseResult;
      if (place >= 0)
        return refuse() << "expected each result of attn.sdpa to be returned once, found one as results " << place
                        << " and " << i;
      place = i;
    }
    if (outResult < 0)
      return refuse() << "expected the output of attn.sdpa to be returned";
    return success();
  }

  /// An input, or behind the last one a captured tensor.
  Value getInput(unsigned input) {
    if (input >= NumInputs)
      return captures[input - NumInputs];
    switch (input) {
    case OfQuery: return sdpa.getQuery();
    case OfKey: return sdpa.getKey();
    case OfValue: return sdpa.getValue();
    case OfBias: return sdpa.getBias();
    default: return sdpa.getSink();
    }
  }

  std::string getName(BlockArgument argument) {
    if (auto given = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
      return given.str();
    return "argument" + std::to_string(argument.getArgNumber());
  }

  /// The arguments that have a gradient, as "q, k, v".
  std::string joinNames() {
    SmallVector<std::string> names;
    for (unsigned i = 0; i < NumInputs; ++i)
      if (Value input = getInput(i))
        if (auto argument = dyn_cast<BlockArgument>(getView(input).root))
          names.push_back(getName(argument));
    for (BlockArgument argument : function.getArguments())
      if (isRead(sdpa.getScoreMod(), argument) && !llvm::is_contained(names, getName(argument)))
        names.push_back(getName(argument));
    return llvm::join(names, ", ");
  }

  BlockArgument findArgument(Attribute wanted) {
    for (BlockArgument argument : function.getArguments()) {
      auto text = dyn_cast<StringAttr>(wanted);
      auto number = dyn_cast<IntegerAttr>(wanted);
      if (text ? text.getValue() == getName(argument) : number && number.getInt() == argument.getArgNumber())
        return argument;
    }
    return {};
  }

  LogicalResult findWanted(ArrayAttr list) {
    if (!list || list.empty())
      return refuse() << "expected " << kGradAttr << " to be an array of names or numbers of arguments, as [\"q\", "
                      << "\"k\"]";
    for (Attribute entry : list) {
      BlockArgument argument = findArgument(entry);
      if (!argument)
        return refuse() << "expected one of " << joinNames() << ", found " << entry;
      SmallVector<unsigned> inputs;
      for (unsigned i = 0; i < NumInputs; ++i)
        if (Value input = getInput(i); input && getView(input).root == argument)
          inputs.push_back(i);
      if (inputs.empty() && isRead(sdpa.getScoreMod(), argument)) {
        inputs.push_back(NumInputs + captures.size());
        captures.push_back(argument);
      }
      if (inputs.empty())
        return refuse() << "expected one of " << joinNames() << ", found " << getName(argument)
                        << ", which has no gradient";
      if (inputs.size() > 1)
        return refuse() << "expected arguments that attn.sdpa reads once, found " << getName(argument)
                        << " as several of its operands; give it as several arguments";
      if (llvm::is_contained(wanted, inputs.front()))
        return refuse() << "expected each argument once, found " << getName(argument) << " twice";
      wanted.push_back(inputs.front());
    }
    return success();
  }

  /// What attn.sdpa has and attn.sdpa_backward has not.
  LogicalResult refuseOthers() {
    if (sdpa.getScoreWeight())
      return refuse() << "expected scores that are products, found score_weight";
    for (unsigned input : wanted)
      if (isQuantised(getElementTypeOrSelf(getInput(input).getType())))
        return refuse() << "expected gradients of floats, found that of "
                        << getElementTypeOrSelf(getInput(input).getType()) << " asked for; leave it out";
    for (StringRef suffix : {"_forward", "_backward"})
      if (SymbolTable::lookupSymbolIn(function->getParentOp(), name + suffix.str()))
        return refuse() << "expected the name " << name << suffix << " to be free";
    return success();
  }

  func::ReturnOp getReturn() { return cast<func::ReturnOp>(function.getBody().front().getTerminator()); }

  //===--------------------------------------------------------------------===//
  // Forward
  //===--------------------------------------------------------------------===//

  std::string getResultName(int64_t i, StringRef otherwise) {
    if (auto given = function.getResultAttrOfType<StringAttr>(i, kNameAttr))
      return given.str();
    return otherwise.str();
  }

  /// lse as another result of sdpa, and of the function.
  void addLse() {
    b.setInsertionPoint(sdpa);
    Location loc = sdpa.getLoc();
    unsigned numBatch = getNumBatchDims(sdpa), row = getDomainPosition(sdpa, DimKind::Query);
    SmallVector<OpFoldResult> domain = getDomainSizes(b, sdpa), sizes;
    SmallVector<AffineExpr> exprs;
    for (unsigned i = getPackedSequences(sdpa) ? 1 : 0; i < numBatch; ++i) {
      sizes.push_back(domain[i]);
      exprs.push_back(b.getAffineDimExpr(i));
    }
    sizes.push_back(domain[row]);
    exprs.push_back(b.getAffineDimExpr(row));
    Type type = getAccumulationType(getElementTypeOrSelf(sdpa.getQuery().getType()));
    Value init = tensor::EmptyOp::create(b, loc, sizes, type);
    ArrayAttr maps = getExplicitMaps(sdpa);

    SmallVector<Type> types(sdpa->getResultTypes());
    types.push_back(init.getType());
    OperationState state(loc, sdpa->getName(), sdpa->getOperands(), types, sdpa->getAttrs());
    for (Region &region : sdpa->getRegions())
      state.addRegion()->takeBody(region);
    auto whole = cast<SdpaOp>(b.create(state));
    whole.getLseMutable().assign(init);
    if (maps) {
      SmallVector<Attribute> all(maps.getValue());
      all.push_back(AffineMapAttr::get(AffineMap::get(domain.size(), 0, exprs, b.getContext())));
      whole.setMapsAttr(b.getArrayAttr(all));
    }
    sdpa->getResult(0).replaceAllUsesWith(whole->getResult(0));
    sdpa.erase();
    sdpa = whole;

    lseResult = getReturn().getNumOperands();
    getReturn()->insertOperands(lseResult, sdpa->getResult(1));
    SmallVector<Type> results(function.getResultTypes());
    results.push_back(init.getType());
    function.setType(b.getFunctionType(function.getArgumentTypes(), results));
    function.setResultAttr(lseResult, kNameAttr, b.getStringAttr("lse"));
  }

  //===--------------------------------------------------------------------===//
  // Backward
  //===--------------------------------------------------------------------===//

  /// Of the argument; that of a captured tensor is summed, and returned, in the type of the accumulation.
  Type getGradientType(unsigned input) {
    auto type = cast<RankedTensorType>(getView(getInput(input)).root.getType());
    return input < NumInputs ? type : type.clone(getAccumulationType(getElementTypeOrSelf(sdpa.getQuery().getType())));
  }

  /// True for a destination of a result: it is no input of the backward pass.
  bool isDestination(BlockArgument argument) {
    return isa<RankedTensorType>(argument.getType()) && !argument.use_empty() &&
           llvm::all_of(argument.getUses(), [&](OpOperand &use) { return sdpa.isDpsInit(&use); });
  }

  LogicalResult buildBackward() {
    // Arguments: those of the forward pass, its results, and their cotangents.
    SmallVector<Type> types;
    SmallVector<std::string> names;
    SmallVector<BlockArgument> kept;
    auto add = [&](Type type, std::string argumentName) {
      types.push_back(type);
      names.push_back(std::move(argumentName));
    };
    for (BlockArgument argument : function.getArguments())
      if (!isDestination(argument)) {
        kept.push_back(argument);
        auto given = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
        add(argument.getType(), given ? given.str() : "");
      }
    std::string outName = getResultName(outResult, "out"), lseName = getResultName(lseResult, "lse");
    Type outType = function.getResultTypes()[outResult], lseType = function.getResultTypes()[lseResult];
    add(outType, outName);
    add(lseType, lseName);
    add(outType, "d" + outName);
    if (returnsLse)
      add(lseType, "d" + lseName);
    SmallVector<Type> results;
    for (unsigned input : wanted)
      results.push_back(getGradientType(input));

    b.setInsertionPointAfter(function);
    auto backward = func::FuncOp::create(b, function.getLoc(), name + "_backward", b.getFunctionType(types, results));
    backward.setVisibility(function.getVisibility());
    Block *body = backward.addEntryBlock();
    for (auto [i, argumentName] : llvm::enumerate(names))
      if (!argumentName.empty())
        backward.setArgAttr(i, kNameAttr, b.getStringAttr(argumentName));
    for (auto [i, input] : llvm::enumerate(wanted))
      backward.setResultAttr(i, kNameAttr,
                             b.getStringAttr("d" + getName(cast<BlockArgument>(getView(getInput(input)).root))));

    IRMapping mapping;
    for (auto [i, argument] : llvm::enumerate(kept))
      mapping.map(argument, body->getArgument(i));
    b.setInsertionPointToStart(body);
    if (failed(cloneInputs(mapping)))
      return failure();
    SmallVector<Value> values;
    for (unsigned i = kept.size(); i < body->getNumArguments(); ++i) {
      bool isOut = i == kept.size() || i == kept.size() + 2;
      Value value = body->getArgument(i);
      for (Operation *reshape : getView(getReturn().getOperand(isOut ? outResult : lseResult)).reshapes)
        value = undoReshape(b, reshape, value);
      values.push_back(value);
    }
    SdpaBackwardOp op = createBackward(mapping, values);
    if (!op.getScoreMod().empty() &&
        failed(buildScoreGradient(b, op.getLoc(), op.getScoreMod(), op.getScoreGrad(),
                                  llvm::map_to_vector(captures, [&](Value x) { return mapping.lookup(x); }),
                                  op.getDcaptures(), [&] { return refuse(); })))
      return failure();
    SmallVector<Value> gradients;
    for (unsigned input : wanted) {
      Value gradient = getGradient(op, input);
      for (Operation *reshape : getView(getInput(input)).reshapes)
        gradient = undoReshape(b, reshape, gradient);
      gradients.push_back(gradient);
    }
    func::ReturnOp::create(b, function.getLoc(), gradients);
    IRRewriter rewriter(function.getContext());
    (void)runRegionDCE(rewriter, backward->getRegions());
    return rename(backward);
  }

  /// What the operands of sdpa are made of, but for its destinations.
  LogicalResult cloneInputs(IRMapping &mapping) {
    for (Operation &op : function.getBody().front()) {
      if (&op == sdpa)
        break;
      bool isKnown = true;
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          isKnown &= mapping.contains(operand) || op.isAncestor(operand.getParentBlock()->getParentOp());
      });
      if (isKnown)
        b.clone(op, mapping);
    }
    for (OpOperand &operand : sdpa->getOpOperands())
      if (!sdpa.isDpsInit(&operand) && !mapping.contains(operand.get()))
        return refuse() << "expected operands of attn.sdpa that no destination of it is used for";
    return success();
  }

  Value createEmpty(Value like) {
    Type type = getElementTypeOrSelf(like.getType());
    if (isQuantised(type))
      type = getAccumulationType(getElementTypeOrSelf(sdpa.getQuery().getType()));
    return tensor::EmptyOp::create(b, sdpa.getLoc(), tensor::getMixedSizes(b, sdpa.getLoc(), like), type);
  }

  /// `values` are out, lse, dout and, where lse is returned, dlse.
  SdpaBackwardOp createBackward(IRMapping &mapping, ArrayRef<Value> values) {
    auto map = [&](Value value) { return value ? mapping.lookup(value) : Value(); };
    SmallVector<Value> outputs;
    for (unsigned i : {OfQuery, OfKey, OfValue})
      outputs.push_back(createEmpty(map(getInput(i))));
    auto createOptional = [&](Input input) {
      Value output = llvm::is_contained(wanted, input) ? createEmpty(map(getInput(input))) : Value();
      if (output)
        outputs.push_back(output);
      return output;
    };
    Value dbias = createOptional(OfBias), dsink = createOptional(OfSink);
    SmallVector<Value> dcaptures;
    for (Value capture : captures) {
      Type type = getAccumulationType(getElementTypeOrSelf(sdpa.getQuery().getType()));
      dcaptures.push_back(
          tensor::EmptyOp::create(b, sdpa.getLoc(), tensor::getMixedSizes(b, sdpa.getLoc(), map(capture)), type));
    }
    llvm::append_range(outputs, dcaptures);
    auto op = SdpaBackwardOp::create(
        b, sdpa.getLoc(), ValueRange(outputs).getTypes(), map(sdpa.getQuery()), map(sdpa.getKey()),
        map(sdpa.getValue()), values[0], values[1], values[2], returnsLse ? values[3] : Value(), map(sdpa.getBias()),
        map(sdpa.getMask()), outputs[0], outputs[1], outputs[2], dbias, dsink, dcaptures, map(sdpa.getSink()),
        map(sdpa.getQLengths()), map(sdpa.getKvLengths()), map(sdpa.getCausalOffset()), map(sdpa.getCuSeqlensQ()),
        map(sdpa.getCuSeqlensK()), map(sdpa.getKeyScale()), map(sdpa.getValueScale()), map(sdpa.getDropoutSeed()),
        map(sdpa.getDropoutOffset()), map(sdpa.getScaleValue()), sdpa.getScaleAttr(), sdpa.getCausalAttr(),
        sdpa.getWindowAttr(), sdpa.getAlignAttr(), sdpa.getChunkAttr(), sdpa.getPrefixAttr(), sdpa.getSoftcapAttr(),
        sdpa.getDropoutPAttr(), getBackwardMaps(), /*schedule=*/ScheduleAttr());
    sdpa.getMaskMod().cloneInto(&op.getMaskMod(), mapping);
    sdpa.getScoreMod().cloneInto(&op.getScoreMod(), mapping);
    return op;
  }

  /// The maps of sdpa by name, those of cotangents and gradients as those of what they belong to.
  ArrayAttr getBackwardMaps() {
    if (!getExplicitMaps(sdpa))
      return {};
    llvm::StringMap<AffineMap> byName;
    for (auto [map, spec] : llvm::zip(getMaps(sdpa), getOperandSpecs(sdpa)))
      byName[spec.name] = map;
    SmallVector<AffineMap> maps;
    auto add = [&](StringRef operand) { maps.push_back(byName[operand]); };
    for (StringRef operand : {"query", "key", "value", "output", "lse", "output"})
      add(operand);
    if (returnsLse)
      add("lse");
    if (sdpa.getBias())
      add("bias");
    if (sdpa.getMask())
      add("mask");
    for (StringRef operand : {"query", "key", "value"})
      add(operand);
    if (llvm::is_contained(wanted, OfBias))
      add("bias");
    return b.getAffineMapArrayAttr(maps);
  }

  /// The results are dq, dk, dv, then dbias and dsink where they stand, then those of captured tensors.
  Value getGradient(SdpaBackwardOp op, unsigned input) {
    unsigned numAbsent = (input > OfBias && !op.getDbias()) + (input > OfSink && !op.getDsink());
    return op->getResult(input - numAbsent);
  }

  LogicalResult rename(func::FuncOp backward) {
    SymbolTable symbols(function->getParentOp());
    if (failed(symbols.rename(function, name + "_forward")))
      return refuse() << "expected uses of its name that can be replaced";
    for (auto [each, kind] : {std::pair(function, "forward"), std::pair(backward, "backward")}) {
      each->setAttr(kKindAttr, b.getStringAttr(kind));
      each->setAttr(kPairAttr, b.getStringAttr(name));
    }
    return success();
  }

  func::FuncOp function;
  OpBuilder b;
  std::string name;
  SdpaOp sdpa;
  int64_t outResult = -1, lseResult = -1;
  bool returnsLse = false;      ///< before lse is added: its cotangent is an argument
  SmallVector<unsigned> wanted; ///< inputs, in the order of the results
  SmallVector<Value> captures;  ///< those of score_mod among them
};

struct DifferentiatePass : public attn::impl::DifferentiatePassBase<DifferentiatePass> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> marked;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(kGradAttr))
        marked.push_back(function);
    for (func::FuncOp function : marked)
      if (failed(Differentiator(function).run()))
        return signalPassFailure();
  }
};

} // namespace
