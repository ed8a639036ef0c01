//===- StructureVerifier.cpp - C1, C2, C3, C7, C11: maps and sizes --------===//
//
// What every structured op shares: its operands fit the table of dimensions and
// their indexing maps.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "attn/IR/Words.h"
#include "attn/Support/OtherWords.h"

using namespace mlir;
using namespace attn;

LogicalResult attn::verifyForm(Operation *op) {
  bool hasTensors = false, hasMemRefs = false;
  for (Type type : op->getOperandTypes()) {
    hasTensors |= isa<RankedTensorType>(type) && !isInRegisters(type);
    hasMemRefs |= isa<MemRefType>(type);
  }
  if (hasTensors && hasMemRefs)
    return op->emitOpError("C11: expected operands that are all tensors or all memrefs, found both");
  SmallVector<Type> expected;
  for (Value init : cast<DestinationStyleOpInterface>(op).getDpsInits())
    if (isa<RankedTensorType>(init.getType()))
      expected.push_back(init.getType());
  if (op->getNumResults() != expected.size())
    return op->emitOpError("C11: expected ")
           << expected.size() << " results, one for each output tensor, found " << op->getNumResults();
  for (auto [result, type] : llvm::zip(op->getResults(), expected))
    if (result.getType() != type)
      return op->emitOpError("C11: expected a result of its output's type ") << type << ", found " << result.getType();
  return success();
}

namespace {

ShapedType getShaped(Value value) { return cast<ShapedType>(value.getType()); }

StringRef getDimName(Operation *op, unsigned position) {
  unsigned numBatch = getNumBatchDims(op);
  if (position < numBatch)
    return position + 1 == numBatch ? "head (last batch)" : "batch";
  switch (getDomainDims(op)[position - numBatch]) {
  case DimKind::Query: return "query";
  case DimKind::Key: return "key";
  case DimKind::HeadSize: return "head-size";
  case DimKind::ValueSize: return "value-size";
  }
  llvm_unreachable("covered switch");
}

/// Operands that a dot product reads in pairs: Q along D, V along the keys, and the packs of these.
bool takesPairs(Operation *op, const OperandSpec &spec) {
  return (isa<OnlineStepOp>(op) && (spec.name == "query" || spec.name == "value")) ||
         (isa<ProductOp>(op) && (spec.name == "lhs" || spec.name == "rhs")) ||
         (isa<PackOp>(op) && spec.name == "output");
}

/// Operands that tiles multiply in parts: Q, K and V, and the packs of these.
bool hasParts(Operation *op, Value operand, AffineMap map, const OperandSpec &spec) {
  return (isa<PackOp>(op) ||
          (isa<OnlineStepOp>(op) && (spec.name == "query" || spec.name == "key" || spec.name == "value"))) &&
         getNumParts(operand, map) > 1;
}

/// C1: a result is d, d floordiv G (SharedHead), d floordiv 2 and d mod 2 (pairs), or 0 (SharedHead and Broadcast, and
/// parts).
LogicalResult verifyMapResult(Operation *op, Value operand, AffineMap map, AffineExpr expr, const OperandSpec &spec) {
  if (isa<AffineDimExpr>(expr))
    return success();
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  if (constant && constant.getValue() == 0 &&
      (spec.role == OperandRole::Broadcast || spec.role == OperandRole::SharedHead || hasParts(op, operand, map, spec)))
    return success();
  auto group = dyn_cast<AffineBinaryOpExpr>(expr);
  bool isGroup = group && group.getKind() == AffineExprKind::FloorDiv && isa<AffineDimExpr>(group.getLHS()) &&
                 isa<AffineConstantExpr>(group.getRHS()) &&
                 cast<AffineDimExpr>(group.getLHS()).getPosition() < getNumBatchDims(op);
  if (isGroup && spec.role == OperandRole::SharedHead) {
    if (int64_t size = cast<AffineConstantExpr>(group.getRHS()).getValue(); size < 1)
      return op->emitOpError("C3: expected groups of at least 1 query head, found ")
             << size << " in the map of " << spec.name;
    return success();
  }
  std::optional<unsigned> paired = getPairedDim(expr, getNumBatchDims(op));
  if (paired && isPaired(map, *paired) && takesPairs(op, spec))
    return success();
  return op->emitOpError("C1: expected the map of ")
         << spec.name << " to hold dimensions"
         << (spec.role == OperandRole::SharedHead  ? ", a batch dimension floordiv a constant, or 0 for a dimension of "
                                                     "size 1"
             : spec.role == OperandRole::Broadcast ? ", or 0 for a broadcast dimension"
                                                   : "")
         << ", found " << AffineMapAttr::get(map);
}

/// C1: only the named dimensions of the operand's row of the table. Another one would make the operand vary over a
/// dimension that the formula reduces or does not have there.
LogicalResult verifyNoForeignDim(Operation *op, AffineMap map, const OperandSpec &spec) {
  for (DimKind kind : getDomainDims(op)) {
    unsigned position = getDomainPosition(op, kind);
    if (llvm::is_contained(spec.dims, kind) || !map.isFunctionOfDim(position))
      continue;
    std::string allowed = "batch";
    for (auto [i, own] : llvm::enumerate(spec.dims))
      allowed += (i + 1 == spec.dims.size() ? " and " : ", ") + getDimName(op, getDomainPosition(op, own)).str();
    return op->emitOpError("C1: expected the map of ")
           << spec.name << " to hold " << allowed << " dimensions only, found the " << getDimName(op, position)
           << " dimension in " << AffineMapAttr::get(map);
  }
  return success();
}

/// C1: the maps fit the domain and the operand.
LogicalResult verifyMap(Operation *op, Value operand, AffineMap map, const OperandSpec &spec, unsigned numDims) {
  if (map.getNumDims() != numDims || map.getNumSymbols() != 0)
    return op->emitOpError("C1: expected the map of ")
           << spec.name << " to have " << numDims << " dimensions and no symbols, found " << AffineMapAttr::get(map);
  if (int64_t(map.getNumResults()) != getShaped(operand).getRank())
    return op->emitOpError("C1: expected ")
           << spec.name << " to have " << map.getNumResults() << " dimensions, found " << operand.getType();
  for (AffineExpr expr : map.getResults())
    if (failed(verifyMapResult(op, operand, map, expr, spec)))
      return failure();
  if (failed(verifyNoForeignDim(op, map, spec)))
    return failure();
  // Named dimensions that the operand must hold: its map may not repeat or drop one.
  if (spec.role != OperandRole::Broadcast)
    for (DimKind kind : spec.dims)
      if (llvm::count(map.getResults(), getAffineDimExpr(getDomainPosition(op, kind), op->getContext())) +
              isPaired(map, getDomainPosition(op, kind)) !=
          1)
        return op->emitOpError("C1: expected the map of ")
               << spec.name << " to hold the " << getDimName(op, getDomainPosition(op, kind))
               << " dimension once, found " << AffineMapAttr::get(map);
  return success();
}

/// C3: groups of query heads are whole. A tile of the online form, and a product of it, may hold a part of one; kernels
/// for the whole op count groups.
LogicalResult verifyWholeGroups(Operation *op, AffineExpr expr, const OperandSpec &spec, ArrayRef<int64_t> domain) {
  auto group = dyn_cast<AffineBinaryOpExpr>(expr);
  unsigned head = getNumBatchDims(op) - 1;
  if (!group || spec.role != OperandRole::SharedHead || !group.isFunctionOfDim(head) ||
      isa<OnlineStepOp, ProductOp, BackwardStepOp>(op))
    return success();
  int64_t size = cast<AffineConstantExpr>(group.getRHS()).getValue();
  if (ShapedType::isDynamic(domain[head]) || domain[head] % size == 0)
    return success();
  return op->emitOpError("C3: expected the number of query heads (")
         << domain[head] << ") to be a multiple of the " << size << " heads of a group in the map of " << spec.name
         << "; write 0 in its place where all heads share one";
}

/// C2, C3, C7: sizes agree.
LogicalResult verifySizes(Operation *op, Value operand, AffineMap map, const OperandSpec &spec,
                          ArrayRef<int64_t> domain) {
  bool mayBeParts = hasParts(op, operand, map, spec);
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    int64_t found = getShaped(operand).getShape()[i];
    if (ShapedType::isDynamic(found)) {
      if (failed(verifyWholeGroups(op, expr, spec, domain)))
        return failure();
      continue;
    }
    if (isa<AffineConstantExpr>(expr)) {
      if (found != 1 && !std::exchange(mayBeParts, false))
        return op->emitOpError("C7: expected dimension ")
               << i << " of " << spec.name << " to have size 1, as its map broadcasts it, found " << found;
      continue;
    }
    if (expr.getKind() == AffineExprKind::Mod) {
      if (found != 2)
        return op->emitOpError("C2: expected dimension ")
               << i << " of " << spec.name << " to have size 2, as it holds pairs, found " << found;
      continue;
    }
    int64_t group = 1;
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim) {
      auto binary = cast<AffineBinaryOpExpr>(expr);
      dim = cast<AffineDimExpr>(binary.getLHS());
      group = cast<AffineConstantExpr>(binary.getRHS()).getValue();
    }
    unsigned position = dim.getPosition();
    int64_t size = domain[position];
    if (ShapedType::isDynamic(size) || (spec.role == OperandRole::Pool && position == 0))
      continue;
    bool isHead = spec.role == OperandRole::SharedHead && position + 1 == getNumBatchDims(op);
    if (isHead && (found != llvm::divideCeilSigned(size, group) || (found > 0 && size % found != 0)))
      return op->emitOpError("C3: expected the number of query heads (")
             << size << ") to be a multiple of the number of " << spec.name << " heads, found " << found << " "
             << spec.name << " heads";
    if (failed(verifyWholeGroups(op, expr, spec, domain)))
      return failure();
    int64_t expected = llvm::divideCeilSigned(size, group);
    bool fits = spec.role == OperandRole::State && position == getDomainPosition(op, DimKind::Query)
                    ? found >= expected
                    : found == expected;
    if (fits)
      continue;
    if (spec.role == OperandRole::Broadcast)
      return op->emitOpError("C7: expected the ") << getDimName(op, position) << " dimension of " << spec.name
                                                  << " to be " << expected << " or 1, found " << found;
    return op->emitOpError("C2: expected the ")
           << getDimName(op, position) << " dimension of " << spec.name << " to be " << expected << ", found " << found;
  }
  return success();
}

/// Gradients of operands that heads or batch indices share are sums over these.
bool isSummed(const OperandSpec &spec) {
  return spec.role == OperandRole::SharedHead || spec.role == OperandRole::Broadcast;
}

/// The attribute of an attn op with this name or the nearest one; empty if there is none.
StringRef getNearestAttribute(MLIRContext *ctx, StringRef name) {
  SmallVector<StringRef> names;
  for (RegisteredOperationName op : ctx->getRegisteredOperations())
    if (isa<AttnDialect>(op.getDialect()))
      llvm::append_range(names, op.getAttributeNames());
  return llvm::is_contained(names, name) ? name : findNearestName(name, names);
}

/// What to write for an attribute of attention ops; empty for one that is no word of attn.sdpa.
StringRef getAssembly(StringRef attribute) {
  if (const WordInfo *word = findWord(attribute))
    return word->assembly;
  return llvm::StringSwitch<StringRef>(attribute)
      .Case("heads", "heads = 8 : i64")
      .Case("kv_heads", "kv_heads = 2 : i64")
      .Case("maps", "maps, one for each shaped operand")
      .Default("");
}

bool hasAttribute(Operation *op, StringRef name) {
  return llvm::any_of(op->getName().getAttributeNames(), [&](StringAttr known) { return known == name; });
}

} // namespace

LogicalResult attn::verifyAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    // Attributes of a dialect have its prefix; marks that MLIR's own passes set begin with two underscores.
    StringRef name = attribute.getName();
    if (name.contains('.') || name.starts_with("__"))
      continue;
    InFlightDiagnostic diag = op->emitOpError("expected only attributes that ")
                              << op->getName() << " has, found '" << name << "'; ";
    const OtherWord *other = findOtherWord(name);
    if (other && hasAttribute(op, other->attribute))
      return diag << "write " << getAssembly(other->attribute);
    StringRef nearest = getNearestAttribute(op->getContext(), name);
    if (nearest == name)
      return diag << "remove it";
    if (!nearest.empty() && !other)
      return diag << "did you mean '" << nearest << "'?";
    return diag << "remove it, or give a mark of your own a prefix: 'my." << name << "'";
  }
  return success();
}

LogicalResult attn::verifyStructure(Operation *op) {
  if (failed(verifyAttributes(op)))
    return failure();
  SmallVector<OperandSpec> specs = getOperandSpecs(op);
  if (failed(verifyForm(op)))
    return failure();
  ArrayAttr explicitMaps = getExplicitMaps(op);
  if (explicitMaps && explicitMaps.size() != specs.size())
    return op->emitOpError("C1: expected ")
           << specs.size() << " maps, one for each shaped operand, found " << explicitMaps.size();
  ShapedType first = getShaped(op->getOperand(0));
  int64_t numNamed = specs.front().dims.size();
  if (!explicitMaps && first.getRank() < numNamed)
    return op->emitOpError("C1: expected ")
           << specs.front().name << " to have at least " << numNamed << " dimensions, found " << first;
  if (explicitMaps && cast<AffineMapAttr>(explicitMaps[0]).getAffineMap().getNumDims() < getDomainDims(op).size())
    return op->emitOpError("C1: expected maps of at least ")
           << getDomainDims(op).size() << " dimensions, found " << explicitMaps[0];

  SmallVector<AffineMap> maps = getMaps(op);
  unsigned numDims = getNumBatchDims(op) + getDomainDims(op).size();
  for (auto [operand, map, spec] : llvm::zip(op->getOperands(), maps, specs))
    if (failed(verifyMap(op, operand, map, spec, numDims)))
      return failure();
  // A destination without a batch dimension would be overwritten for each index of that dimension, if that is not of
  // size 1. A packed destination gets the sequence from cu_seqlens.
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numInputs = cast<DestinationStyleOpInterface>(op).getDpsInits().getBeginOperandIndex();
  bool isPackedOutput =
      isa<SdpaOp, FinalizeOp, SdpaBackwardOp, BackwardStepOp, LinearOp, LinearBackwardOp>(op) && getPackedSequences(op);
  for (auto [map, spec] : llvm::drop_begin(llvm::zip(maps, specs), numInputs))
    for (unsigned position = isPackedOutput ? 1 : 0, e = getNumBatchDims(op); position < e; ++position)
      if (int64_t count = llvm::count(map.getResults(), getAffineDimExpr(position, op->getContext()));
          count > 1 || (count == 0 && domain[position] != 1 && !isSummed(spec)))
        return op->emitOpError("C1: expected the map of ") << spec.name << " to hold the " << getDimName(op, position)
                                                           << " dimension once, found " << AffineMapAttr::get(map);
  for (auto [operand, map, spec] : llvm::zip(op->getOperands(), maps, specs))
    if (failed(verifySizes(op, operand, map, spec, domain)))
      return failure();
  return success();
}
