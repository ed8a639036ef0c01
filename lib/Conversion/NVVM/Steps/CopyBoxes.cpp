//===- CopyBoxes.cpp - copies of a producer as boxes of tensors -----------===//
//
// A copy reads nested slices of an argument of the call. The tensor of its map is the innermost of them that the host
// knows and that all copies share; the box begins at the sum of the offsets of the others.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CopyBoxes.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Most dimensions of a tensor map.
static constexpr int64_t kMaxRank = 5;

/// The source of `view`: a slice with strides of 1, or the same shape; null where it is neither.
static Value getSource(Value view) {
  if (auto slice = view.getDefiningOp<memref::SubViewOp>())
    return llvm::all_of(slice.getMixedStrides(), [](auto x) { return isConstantIntValue(x, 1); }) ? slice.getSource()
                                                                                                  : Value();
  auto same = view.getDefiningOp<memref::CastOp>();
  return same ? same.getSource() : Value();
}

/// True where the host can compute `view` from the kernel's operands.
static bool isKnownToHost(Value view, gpu::GPUFuncOp kernel) {
  Block *entry = &kernel.getBody().front();
  FailureOr<SetVector<Operation *>> computation = getComputation(view);
  return succeeded(computation) && llvm::all_of(*computation, [&](Operation *op) {
           bool isOfHost = isOfDialect<memref::MemRefDialect, arith::ArithDialect, affine::AffineDialect,
                                       LLVM::LLVMDialect, BuiltinDialect>(op);
           return isOfHost && isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
                  llvm::all_of(op->getOperands(), [&](Value operand) {
                    auto argument = dyn_cast<BlockArgument>(operand);
                    return !argument || argument.getOwner() == entry;
                  });
         });
}

void CopyBoxes::add(CopyOp copy, int64_t rows, int64_t rowBytes) {
  BoxCopy source{copy, rows, rowBytes, {}, {}, {}};
  for (Value view = storesTile(copy) ? copy.getOutput() : copy.getInput(); view; view = getSource(view))
    source.views.insert(source.views.begin(), view);
  copies.push_back(source);
}

StringRef CopyBoxes::findObstacle() {
  for (BoxCopy &source : copies)
    if (StringRef obstacle = findTensor(source); !obstacle.empty())
      return obstacle;
  return {};
}

/// The tensor is the last view that all copies from it share and that the host can compute. So rows beyond a caller's
/// slice become 0, like those beyond a tensor.
StringRef CopyBoxes::findTensor(BoxCopy &source) {
  size_t shared = 0;
  auto isShared = [&](const BoxCopy &other) {
    return other.views.front() != source.views.front() ||
           (other.views.size() > shared && other.views[shared] == source.views[shared]);
  };
  while (shared < source.views.size() && llvm::all_of(copies, isShared) && isKnownToHost(source.views[shared], kernel))
    ++shared;
  BlockArgument pointer = shared == 0 ? BlockArgument() : findPointer(source.views[shared - 1]);
  if (!pointer || pointer.getOwner() != &kernel.getBody().front())
    return "rows do not come from slices of a tensor of the call";
  source.tensor = source.views[shared - 1];
  auto type = cast<MemRefType>(source.tensor.getType());
  if (type.getElementType() != getElementTypeOrSelf(source.copy.getOutput().getType()))
    return "rows are converted";
  AffineMap map = source.getMap();
  AffineExpr column = getAffineDimExpr(map.getNumDims() - 1, b.getContext());
  SmallVector<unsigned> dims = followSlices(source, [](unsigned, OpFoldResult) {});
  ViewDivisors divisors = getViewDivisors(source.tensor);
  int64_t elementBytes = getElementBytes(type), multiple = kChunkBytes / elementBytes;
  SmallVector<int64_t> strides;
  int64_t offset;
  bool hasRows = succeeded(type.getStridesAndOffset(strides, offset)) && type.getRank() <= kMaxRank &&
                 map.getResults().back() == column && dims.back() == type.getRank() - 1 && strides.back() == 1 &&
                 divisors.offset % multiple == 0 &&
                 llvm::all_of(ArrayRef(divisors.strides).drop_back(),
                              [&](int64_t stride) { return stride > 0 && stride % multiple == 0; });
  if (!hasRows)
    return "rows do not lie as one of five dimensions, at multiples of 16 bytes";
  source.box.assign(type.getRank(), 1);
  source.box[getRowDim(source, dims)] = source.rows;
  source.box.back() = source.rowBytes / elementBytes;
  return {};
}

/// The tensor's dimension of rows.
unsigned CopyBoxes::getRowDim(const BoxCopy &source, ArrayRef<unsigned> dims) {
  AffineMap map = source.getMap();
  AffineExpr row = getAffineDimExpr(map.getNumDims() - 2, b.getContext());
  return dims[llvm::find(map.getResults(), row) - map.getResults().begin()];
}

/// Maps the dimensions of the view to those of the tensor. `addOffset` is called for each offset of a slice in between.
SmallVector<unsigned> CopyBoxes::followSlices(const BoxCopy &source,
                                              function_ref<void(unsigned, OpFoldResult)> addOffset) {
  auto dims = llvm::to_vector(llvm::seq<unsigned>(0, cast<MemRefType>(source.tensor.getType()).getRank()));
  ArrayRef<Value> views = source.views;
  for (Value view : views.drop_front(llvm::find(views, source.tensor) - views.begin() + 1)) {
    auto slice = view.getDefiningOp<memref::SubViewOp>();
    if (!slice)
      continue;
    llvm::SmallBitVector isDropped = slice.getDroppedDims();
    SmallVector<unsigned> kept;
    for (auto [i, offset] : llvm::enumerate(slice.getMixedOffsets())) {
      addOffset(dims[i], offset);
      if (!isDropped[i])
        kept.push_back(dims[i]);
    }
    dims = kept;
  }
  return dims;
}

static OpFoldResult addPositions(OpBuilder &b, Location loc, OpFoldResult x, OpFoldResult y) {
  if (isConstantIntValue(x, 0))
    return y;
  if (isConstantIntValue(y, 0))
    return x;
  return b.createOrFold<arith::AddIOp>(loc, getValueOrCreateConstantIndexOp(b, loc, x),
                                       getValueOrCreateConstantIndexOp(b, loc, y));
}

void CopyBoxes::addBox(const BoxCopy &source, Value map) {
  CopyOp copy = source.copy;
  b.setInsertionPoint(copy);
  SmallVector<OpFoldResult> begin(source.box.size(), b.getIndexAttr(0));
  auto addOffset = [&](unsigned dim, OpFoldResult offset) {
    begin[dim] = addPositions(b, copy.getLoc(), begin[dim], offset);
  };
  SmallVector<unsigned> dims = followSlices(source, addOffset);
  if (copy.getFirst())
    addOffset(getRowDim(source, dims), copy.getFirst());
  copy.getTensorMapMutable().assign(map);
  copy.getBeginMutable().assign(getValueOrCreateConstantIndexOp(b, copy.getLoc(), begin));
}

void CopyBoxes::place() {
  unsigned numParameters = kernel.getNumArguments();
  Type mapType = LLVM::LLVMArrayType::get(b.getI8Type(), kMapBytes);
  DictionaryAttr byValue =
      b.getDictionaryAttr({b.getNamedAttr(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(mapType)),
                           b.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(kMapAlignment))});
  for (const BoxCopy &source : copies) {
    auto *found = llvm::find(maps, source);
    unsigned number = numParameters + (found - maps.begin());
    if (found == maps.end()) {
      maps.push_back(source);
      (void)kernel.insertArgument(number, LLVM::LLVMPointerType::get(b.getContext()), byValue, kernel.getLoc());
    }
    addBox(source, kernel.getArgument(number));
  }
}

void CopyBoxes::encode(gpu::LaunchFuncOp launch) {
  b.setInsertionPoint(launch);
  SmallVector<Value> operands;
  for (const BoxCopy &map : maps)
    operands.push_back(TensorMapEncoder(b, kernel, launch).encode(map.tensor, map.box));
  launch.getKernelOperandsMutable().append(operands);
}
