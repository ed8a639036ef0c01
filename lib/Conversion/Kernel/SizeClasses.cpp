//===- SizeClasses.cpp - equal sizes of a kernel --------------------------===//
//
// A union-find over (tensor, dimension). One int64 of the C entry represents a class, and the checked entry tests that
// its dimensions are equal. So a class must contain every size that the kernel's code assumes to be the same.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SizeClasses.h"
#include "attn/IR/Decompose.h"
#include "attn/IR/Words.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

SizeClasses::SizeClasses(func::FuncOp function) {
  function.walk([&](Operation *op) { addOp(op); });
  closeProducts();
}

unsigned SizeClasses::create() {
  classes.push_back({static_cast<unsigned>(classes.size()), {}});
  return classes.size() - 1;
}

unsigned SizeClasses::findRoot(unsigned id) {
  while (classes[id].parent != id)
    id = classes[id].parent = classes[classes[id].parent].parent;
  return id;
}

unsigned SizeClasses::find(Value tensor, unsigned dim) {
  auto [entry, isNew] = ids.try_emplace({tensor, dim}, 0);
  if (!isNew)
    return findRoot(entry->second);
  entry->second = create();
  classes.back().size = cast<ShapedType>(tensor.getType()).getDimSize(dim);
  return entry->second;
}

void SizeClasses::unite(unsigned a, unsigned b) {
  a = findRoot(a);
  b = findRoot(b);
  if (a == b)
    return;
  classes[b].parent = a;
  if (classes[a].name.empty())
    classes[a].name = classes[b].name;
  if (ShapedType::isDynamic(classes[a].size))
    classes[a].size = classes[b].size;
}

/// The name of a domain dimension of an attn op in problem lines.
static StringRef getDomainName(Operation *op, unsigned position) {
  unsigned numBatch = getNumBatchDims(op);
  if (position < numBatch)
    return position == 0 ? "b" : position + 1 == numBatch ? "hq" : "";
  switch (getDomainDims(op)[position - numBatch]) {
  case DimKind::Query: return "sq";
  case DimKind::Key: return "sk";
  default: return "";
  }
}

unsigned SizeClasses::findDomain(Operation *op, Domain &domain, unsigned position) {
  auto [entry, isNew] = domain.try_emplace(position, 0);
  if (isNew) {
    entry->second = create();
    if (isStructuredOp(op))
      classes.back().name = getDomainName(op, position);
  }
  return entry->second;
}

/// The operands whose first dimension is of places.
static SmallVector<Value> getPools(Operation *op) {
  SmallVector<Value> pools;
  if (isa<LinearOp, LinearBackwardOp>(op))
    for (auto [operand, spec] : llvm::zip(op->getOperands(), getOperandSpecs(op)))
      if (spec.role == OperandRole::Pool)
        pools.push_back(operand);
  return pools;
}

/// Dimensions that a single domain dimension indexes have its size.
SizeClasses::Domain SizeClasses::addIndexedOp(Operation *op, ValueRange operands, ArrayRef<AffineMap> maps) {
  Domain domain;
  for (auto [operand, map] : llvm::zip(operands, maps)) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || type.getRank() != map.getNumResults())
      continue;
    bool isPool = llvm::is_contained(getPools(op), operand);
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && !(isPool && dim.getPosition() == 0))
        unite(findDomain(op, domain, dim.getPosition()), find(operand, i));
  }
  return domain;
}

/// Words with one element per batch index or per head; prefix sums have one more than there are sequences.
void SizeClasses::addLists(Operation *op, Domain &domain) {
  for (auto [word, list] : getWordOperands(op)) {
    if (word->shape == WordShape::PerBatch)
      unite(findDomain(op, domain, 0), find(list, 0));
    if (word->shape == WordShape::PerHead)
      unite(findDomain(op, domain, getNumBatchDims(op) - 1), find(list, 0));
  }
  llvm::TypeSwitch<Operation *>(op).Case<LinearOp, LinearBackwardOp>([&](auto linear) {
    if (linear.getSlots())
      unite(findDomain(op, domain, 0), find(linear.getSlots(), 0));
    for (Value pool : getPools(op)) {
      uniteDims(linear.getState(), 0, pool, 0);
      setName(find(pool, 0), "slots");
    }
    if (linear.getCuSeqlens())
      setName(find(linear.getCuSeqlens(), 0), "b_plus_1");
  });
  auto sdpa = dyn_cast<SdpaOp>(op);
  if (!sdpa)
    return;
  addKvScales(op, domain);
  Value querySums = sdpa.getCuSeqlensQ(), keySums = sdpa.getCuSeqlensK();
  if (!querySums)
    return;
  if (keySums)
    uniteDims(querySums, 0, keySums, 0);
  setName(find(querySums, 0), "b_plus_1");
  // Prefix sums end with the number of rows.
  if (unsigned query = getNumBatchDims(op); querySums == keySums)
    unite(findDomain(op, domain, query), findDomain(op, domain, query + 1));
}

/// Scales of quantised keys and values, (kv_heads) or (batch, kv_heads, keys).
void SizeClasses::addKvScales(Operation *op, Domain &domain) {
  auto sdpa = cast<SdpaOp>(op);
  if (!sdpa.getKeyScale())
    return;
  AffineMap map = getKvScaleMap(sdpa), keyMap = getMaps(op)[1];
  for (Value scale : {sdpa.getKeyScale(), sdpa.getValueScale()})
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        unite(findDomain(op, domain, dim.getPosition()), find(scale, i));
      // Heads that queries share are a dimension of K alone.
      else if (const auto *head = llvm::find(keyMap.getResults(), expr); head != keyMap.getResults().end())
        unite(find(sdpa.getKey(), head - keyMap.getResults().begin()), find(scale, i));
    }
}

/// A dimension of a captured tensor indexed by a position has the size of the positions, unless it is static, when it
/// may be larger.
void SizeClasses::addCaptures(Operation *op, Domain &domain) {
  unsigned numBatch = getNumBatchDims(op);
  op->walk([&](tensor::ExtractOp extract) {
    for (auto [dim, operand] : llvm::enumerate(extract.getIndices())) {
      auto index = operand.getDefiningOp<IndexOp>();
      if (!index || isShifted(op, index.getKind()) || !extract.getTensor().getType().isDynamicDim(dim))
        continue;
      std::optional<unsigned> position;
      switch (index.getKind()) {
      case IndexKind::Batch: position = 0; break;
      case IndexKind::Head: position = numBatch - 1; break;
      case IndexKind::Query: position = numBatch; break;
      case IndexKind::Key: position = numBatch + 1; break;
      default: break;
      }
      if (position)
        unite(findDomain(op, domain, *position), find(extract.getTensor(), dim));
    }
  });
}

static bool isDynamicDim(Value tensor, unsigned dim) { return cast<ShapedType>(tensor.getType()).isDynamicDim(dim); }

void SizeClasses::addPaging(Operation *op) {
  if (auto gather = dyn_cast<GatherPagesOp>(op)) {
    uniteDims(gather.getOutput(), 0, gather.getBlockTable(), 0);
    uniteDims(gather.getOutput(), 0, gather.getLengths(), 0);
    uniteDims(gather.getOutput(), 1, gather.getCache(), gather.getRowsPerPage() ? 1 : gather.getCacheDims().head);
    if (cast<ShapedType>(gather.getOutput().getType()).getRank() == 4)
      uniteDims(gather.getOutput(), 3, gather.getCache(), 3);
    setName(find(gather.getCache(), 0), "pages");
    // The caches of K and V with a common table have equally many pages, unless their static sizes differ.
    for (Operation *user : gather.getBlockTable().getUsers())
      if (auto other = dyn_cast<GatherPagesOp>(user))
        if (isDynamicDim(gather.getCache(), 0) && isDynamicDim(other.getCache(), 0))
          uniteDims(gather.getCache(), 0, other.getCache(), 0);
    setName(find(gather.getBlockTable(), 1), "max_pages");
  } else if (auto append = dyn_cast<KvAppendOp>(op)) {
    uniteDims(append.getInput(), 0, append.getPositions(), 0);
    if (Value table = append.getBlockTable()) {
      uniteDims(append.getInput(), 0, table, 0);
      setName(find(table, 1), "max_pages");
      setName(find(append.getOutput(), 0), "pages");
    } else {
      uniteDims(append.getInput(), 0, append.getOutput(), 0);
    }
    setName(find(append.getInput(), 0), "b");
    uniteDims(append.getInput(), 1, append.getOutput(), append.getCacheDims().head);
    uniteDims(append.getInput(), 3, append.getOutput(), 3);
    if (Value scale = append.getScale()) {
      bool isOfRows = cast<ShapedType>(scale.getType()).getRank() == 3;
      uniteDims(append.getInput(), 1, scale, isOfRows);
      if (isOfRows) {
        uniteDims(append.getInput(), 0, scale, 0);
        uniteDims(append.getInput(), 2, scale, 2);
      }
    }
  } else if (auto layer = dyn_cast<MultiHeadOp>(op)) {
    uniteDims(layer.getX(), 0, layer.getOutput(), 0);
    uniteDims(layer.getX(), 1, layer.getOutput(), 1);
    setName(find(layer.getX(), 0), "b");
    setName(find(layer.getX(), 1), "s");
  }
}

/// A tensor with explicit sizes: results of tensor.dim are the sizes that they read.
void SizeClasses::addSizes(Value tensor, ArrayRef<OpFoldResult> sizes) {
  for (auto [i, size] : llvm::enumerate(sizes)) {
    auto value = dyn_cast<Value>(size);
    auto dim = value ? value.getDefiningOp<ShapedDimOpInterface>() : nullptr;
    if (!dim || !isa<RankedTensorType, MemRefType>(dim.getShapedValue().getType()))
      continue;
    if (std::optional<int64_t> position = getConstantIntValue(dim.getDimension()))
      unite(find(dim.getShapedValue(), *position), find(tensor, i));
  }
}

/// A group of a reshape with one unknown size.
void SizeClasses::addProduct(Value wide, ArrayRef<int64_t> group, unsigned collapsed) {
  std::optional<unsigned> dynamic;
  int64_t factor = 1;
  for (int64_t dim : group) {
    int64_t size = cast<RankedTensorType>(wide.getType()).getDimSize(dim);
    if (!ShapedType::isDynamic(size)) {
      factor *= size;
      continue;
    }
    if (dynamic)
      return;
    dynamic = dim;
  }
  if (dynamic && factor == 1)
    unite(find(wide, *dynamic), collapsed);
  else if (dynamic && factor > 0)
    products.push_back({find(wide, *dynamic), factor, collapsed});
}

/// a n = b n where a = b, and vice versa, until a fixed point.
void SizeClasses::closeProducts() {
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::pair<unsigned, int64_t>, const Product *> byFactor, byProduct;
    for (const Product &product : products) {
      auto merge = [&](const Product *other, unsigned Product::*id) {
        if (findRoot(other->*id) == findRoot(product.*id))
          return;
        unite(other->*id, product.*id);
        changed = true;
      };
      merge(byFactor.try_emplace({findRoot(product.size), product.factor}, &product).first->second, &Product::product);
      merge(byProduct.try_emplace({findRoot(product.product), product.factor}, &product).first->second, &Product::size);
    }
  }
}

void SizeClasses::addOp(Operation *op) {
  if (isStructuredOp(op)) {
    Domain domain = addIndexedOp(op, op->getOperands(), getMaps(op));
    addLists(op, domain);
    addCaptures(op, domain);
  } else if (auto linalg = dyn_cast<linalg::LinalgOp>(op)) {
    addIndexedOp(op, op->getOperands(), linalg.getIndexingMapsArray());
  }
  addPaging(op);

  auto uniteAll = [&](Value a, Value b) {
    for (int64_t i = 0, e = cast<RankedTensorType>(a.getType()).getRank(); i < e; ++i)
      unite(find(a, i), find(b, i));
  };
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op); insert && insert.getDroppedDims().none())
    addSizes(insert.getSource(), insert.getMixedSizes());
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op)) {
    for (OpResult result : op->getResults())
      if (isa<RankedTensorType>(result.getType()))
        uniteAll(dps.getTiedOpOperand(result)->get(), result);
  } else if (op->hasTrait<OpTrait::Elementwise>()) {
    for (Value result : op->getResults())
      for (Value operand : op->getOperands())
        if (isa<RankedTensorType>(result.getType()) && isa<RankedTensorType>(operand.getType()))
          uniteAll(operand, result);
  } else if (auto castOp = dyn_cast<tensor::CastOp>(op)) {
    if (isa<RankedTensorType>(castOp.getSource().getType()) && isa<RankedTensorType>(castOp.getType()))
      uniteAll(castOp.getSource(), castOp.getResult());
  } else if (auto read = dyn_cast<bufferization::ToTensorOp>(op)) {
    uniteAll(read.getResult(), read.getBuffer());
  } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    addSizes(empty, empty.getMixedSizes());
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op); slice && slice.getDroppedDims().none()) {
    addSizes(slice, slice.getMixedSizes());
  } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      addSizes(expand, expand.getMixedOutputShape());
    // Dimensions that are not grouped keep their size.
    bool expands = isa<tensor::ExpandShapeOp>(op);
    Value wide = expands ? op->getResult(0) : op->getOperand(0);
    Value narrow = expands ? op->getOperand(0) : op->getResult(0);
    auto groups = expands ? cast<tensor::ExpandShapeOp>(op).getReassociationIndices()
                          : cast<tensor::CollapseShapeOp>(op).getReassociationIndices();
    for (auto [i, group] : llvm::enumerate(groups)) {
      if (group.size() == 1)
        unite(find(narrow, i), find(wide, group.front()));
      else
        addProduct(wide, group, find(narrow, i));
    }
  }
}
