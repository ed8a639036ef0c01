//===- WarpBuilder.cpp - instructions of a thread -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"
#include "attn/IR/Decompose.h"
#include "attn/Schedule/ColumnGroups.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <numeric>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// The dynamic shared memory of a kernel; one symbol a gpu.module.
static constexpr StringLiteral kSharedSymbol = "attn_shared";
static constexpr unsigned kSharedSpace = 3, kGlobalSpace = 1;

/// Alignment of a row of chunks, and of a panel of eight of them.
static constexpr int64_t kRowAlignment = 128, kPanelAlignment = 1024;

static LLVM::GlobalOp getSharedMemory(OpBuilder &b, gpu::GPUFuncOp kernel, bool hasPanels) {
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  if (auto existing = module.lookupSymbol<LLVM::GlobalOp>(kSharedSymbol)) {
    if (hasPanels)
      existing.setAlignment(kPanelAlignment);
    return existing;
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  return LLVM::GlobalOp::create(b, kernel.getLoc(), type, /*isConstant=*/false, LLVM::Linkage::External, kSharedSymbol,
                                Attribute(), hasPanels ? kPanelAlignment : kRowAlignment, kSharedSpace);
}

/// The columns of V of a kernel's state; 0 without one.
static int64_t getValueSize(gpu::GPUFuncOp kernel) {
  int64_t size = 0;
  kernel.walk([&](InitStateOp op) { size = getStaticSize(op, DimKind::ValueSize); });
  return size;
}

WarpBuilder::WarpBuilder(OpBuilder &builder, gpu::GPUFuncOp kernel, BlockAttr schedule)
    : b(builder), loc(kernel.getLoc()), instruction(schedule.getInstruction().getInfo()), lanes(schedule.getLanes()),
      threads(schedule.getThreads()), warpRows(schedule.getWarpRows()), blockRows(schedule.getBlockRows()),
      keyTile(schedule.getKeyTile()), columnGroups(getColumnGroups(schedule, getValueSize(kernel))) {
  blockRows /= columnGroups;
  LLVM::GlobalOp memory = getSharedMemory(b, kernel, instruction.readsPanels());
  b.setInsertionPointToStart(&kernel.getBody().front());
  sharedBase = LLVM::AddressOfOp::create(b, loc, memory);
  place(NVVM::ThreadIdXOp::create(b, loc, b.getI32Type()));
}

void WarpBuilder::place(Value number) {
  thread = number;
  warp = divide(thread, lanes);
  // The warps of a product must have the same descriptors: the shuffle shows ptxas that the index is uniform in a warp.
  if (instruction.readsPanels())
    warp = shuffleFrom(warp, constant(0));
  lane = remainder(thread, lanes);
  quad = divide(lane, 4);
  quadLane = remainder(lane, 4);
  if (columnGroups > 1)
    columnGroup = divide(warp, blockRows / warpRows);
  firstRow = multiply(getRowWarp(), warpRows);
}

Value WarpBuilder::getRowWarp() { return columnGroup ? remainder(warp, blockRows / warpRows) : warp; }

Value WarpBuilder::isFirstColumnGroup() { return columnGroup ? isLess(columnGroup, constant(1)) : Value(); }

static Value createMove(OpBuilder &b, Location loc, Type type, ValueRange operands, StringRef text,
                        StringRef constraints) {
  return LLVM::InlineAsmOp::create(b, loc, type, operands, text, constraints, /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr())
      .getRes();
}

Value WarpBuilder::hide(Value x) {
  bool isWide = x.getType().isInteger(64);
  return createMove(b, loc, x.getType(), x, isWide ? "mov.b64 $0, $1;" : "mov.b32 $0, $1;", isWide ? "=l,l" : "=r,r");
}

Value WarpBuilder::readThread() {
  return createMove(b, loc, b.getI32Type(), ValueRange(), "mov.u32 $0, %tid.x;", "=r");
}

Value WarpBuilder::fromIndex(OpFoldResult x, unsigned width) {
  if (std::optional<int64_t> constantValue = getConstantIntValue(x))
    return arith::ConstantIntOp::create(b, loc, *constantValue, width);
  return arith::IndexCastOp::create(b, loc, b.getIntegerType(width), cast<Value>(x));
}

Value WarpBuilder::fma(Value x, Value y, Value z) {
  return LLVM::FMAOp::create(b, loc, x.getType(), ValueRange{x, y, z});
}

Value WarpBuilder::convert(Value x, Type to) {
  if (isQuantised(getElementTypeOrSelf(x.getType())))
    return convertQuantised(b, loc, x, cast<FloatType>(to));
  return convertFloat(b, loc, x, to);
}

Value WarpBuilder::packPair(Value low, Value high, Type elementType) {
  bool isBF16 = elementType.isBF16();
  // cvt.rn.bf16x2.f32 d, high, low
  StringRef name = isBF16 ? "llvm.nvvm.ff2bf16x2.rn" : "llvm.nvvm.ff2f16x2.rn";
  Type type = VectorType::get({2}, elementType);
  auto call = LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(name), ValueRange{high, low});
  return LLVM::BitcastOp::create(b, loc, b.getI32Type(), call.getResults());
}

Value WarpBuilder::intrinsic(StringRef name, Value x) {
  return LLVM::CallIntrinsicOp::create(b, loc, x.getType(), b.getStringAttr(name), x).getResults();
}

Value WarpBuilder::shuffle(NVVM::ShflKind kind, Value x, Value by) {
  // All lanes; no segments.
  return NVVM::ShflOp::create(b, loc, x.getType(), constant(-1), x, by, constant(31), kind, UnitAttr());
}

Value WarpBuilder::quadMax(Value x) {
  x = maxf(x, shuffleXor(x, 1));
  return maxf(x, shuffleXor(x, 2));
}

Value WarpBuilder::quadSum(Value x) {
  x = addf(x, shuffleXor(x, 1));
  return addf(x, shuffleXor(x, 2));
}

Value WarpBuilder::sharedAt(Value byteOffset) {
  auto type = LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace);
  return LLVM::GEPOp::create(b, loc, type, b.getI8Type(), sharedBase, ArrayRef<LLVM::GEPArg>{byteOffset});
}

Value WarpBuilder::load(Type type, Value pointer, unsigned alignment) {
  return LLVM::LoadOp::create(b, loc, type, pointer, alignment);
}

void WarpBuilder::store(Value value, Value pointer, unsigned alignment) {
  LLVM::StoreOp::create(b, loc, value, pointer, alignment);
}

static Values unpack(OpBuilder &b, Location loc, Value aggregate) {
  Values parts;
  for (size_t i = 0, e = cast<LLVM::LLVMStructType>(aggregate.getType()).getBody().size(); i < e; ++i)
    parts.push_back(LLVM::ExtractValueOp::create(b, loc, aggregate, i));
  return parts;
}

Values WarpBuilder::loadMatrices(Value pointer, bool isTransposed, int64_t count) {
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, b.getI32Type()));
  Value matrices =
      NVVM::LdMatrixOp::create(b, loc, type, pointer, count, isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
                               NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
  return unpack(b, loc, matrices);
}

void WarpBuilder::storeMatrices(Value pointer, ArrayRef<Value> matrices, bool isTransposed) {
  Values operands{pointer};
  llvm::append_range(operands, matrices);
  StringRef text = isTransposed ? "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0], {$1, $2, $3, $4};"
                                : "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};";
  assemble(text, "r,r,r,r,r,~{memory}", operands);
}

Value WarpBuilder::roundToFragment(Value x) {
  return NVVM::ConvertFloatToTF32Op::create(b, loc, b.getI32Type(), x, NVVM::FPRoundingMode::RNA);
}

Values WarpBuilder::multiplyFragments(Type type, ValueRange a, ValueRange bOperand, ValueRange acc) {
  auto kind = type.isBF16() ? NVVM::MMATypes::bf16 : type.isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::tf32;
  auto cast = [&](ValueRange registers) {
    if (!type.isF16())
      return Values(registers);
    return llvm::map_to_vector(
        registers, [&](Value x) -> Value { return LLVM::BitcastOp::create(b, loc, VectorType::get({2}, type), x); });
  };
  Type f32 = b.getF32Type();
  auto resultType = LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  Value result = NVVM::MmaOp::create(b, loc, resultType, cast(a), cast(bOperand), acc,
                                     ArrayRef<int64_t>{16, 8, type.isF32() ? 8 : 16}, std::nullopt, std::nullopt,
                                     std::array{kind, kind}, std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  return unpack(b, loc, result);
}

void WarpBuilder::barrier() {
  // Barrier 0 is for all threads.
  Value id = barrierThreads ? constant(1) : Value(), count = barrierThreads ? constant(barrierThreads) : Value();
  NVVM::BarrierOp::create(b, loc, Type(), id, count, NVVM::BarrierReductionAttr(), Value());
}

void WarpBuilder::assemble(StringRef text, StringRef constraints, ValueRange operands) {
  LLVM::InlineAsmOp::create(b, loc, Type(), operands, text, constraints, /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

void WarpBuilder::when(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

RegisterArray::RegisterArray(WarpBuilder &wb, Block &entry, int64_t size) : size(size) {
  OpBuilder::InsertionGuard guard(wb.b);
  wb.b.setInsertionPointToStart(&entry);
  storage = LLVM::AllocaOp::create(wb.b, wb.loc, LLVM::LLVMPointerType::get(wb.b.getContext()), wb.b.getF32Type(),
                                   wb.constant(size));
}

Value RegisterArray::at(WarpBuilder &wb, int64_t i) const {
  return LLVM::GEPOp::create(wb.b, wb.loc, storage.getType(), wb.b.getF32Type(), storage,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
}

Value RegisterArray::get(WarpBuilder &wb, int64_t i) const { return wb.load(wb.b.getF32Type(), at(wb, i), 4); }

Values RegisterArray::getAll(WarpBuilder &wb, Type type) const {
  Values values;
  for (int64_t i = 0; i < size; ++i)
    values.push_back(wb.load(type, at(wb, i), 4));
  return values;
}

void RegisterArray::set(WarpBuilder &wb, int64_t i, Value value) const { wb.store(value, at(wb, i), 4); }

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

GlobalView::GlobalView(WarpBuilder &wb, Value memref, AffineMap map)
    : strides(map.getNumDims()), sizes(map.getNumDims()), contiguous(map.getNumDims(), false) {
  OpBuilder &b = wb.b;
  elementType = cast<MemRefType>(memref.getType()).getElementType();
  auto metadata = memref::ExtractStridedMetadataOp::create(b, wb.loc, memref);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, wb.loc, metadata.getBaseBuffer());
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace);
  base = LLVM::IntToPtrOp::create(b, wb.loc, pointer,
                                  arith::IndexCastOp::create(b, wb.loc, b.getI64Type(), address).getResult());
  OpFoldResult offset = metadata.getConstifiedMixedOffset();
  if (!isConstantIntValue(offset, 0))
    base = getAddress(wb, wb.fromIndex(offset, 64));
  ViewDivisors ofMemref = getViewDivisors(memref);
  divisors = {ofMemref.offset, SmallVector<int64_t>(map.getNumDims(), 0)};
  SmallVector<OpFoldResult> memrefSizes = metadata.getConstifiedMixedSizes(),
                            memrefStrides = metadata.getConstifiedMixedStrides();
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    // The head divided by the group size is 0 in a tile, which has one head of K.
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      continue;
    sizes[dim.getPosition()] = memrefSizes[i];
    contiguous[dim.getPosition()] = isConstantIntValue(memrefStrides[i], 1);
    // A single row needs its stride too: a pipeline copies the rows after those of a view.
    strides[dim.getPosition()] = wb.fromIndex(memrefStrides[i], 64);
    divisors.strides[dim.getPosition()] = ofMemref.strides[i];
  }
}

Value GlobalView::getSize(WarpBuilder &wb, unsigned dim) const { return wb.fromIndex(sizes[dim]); }

std::optional<int64_t> GlobalView::getStaticSize(unsigned dim) const {
  return sizes[dim] ? getConstantIntValue(sizes[dim]) : std::nullopt;
}

unsigned GlobalView::getRowAlignment(unsigned columnDim) const {
  int64_t elements = divisors.offset;
  for (auto [dim, stride] : llvm::enumerate(divisors.strides))
    if (dim != columnDim)
      elements = std::gcd(elements, stride);
  return std::gcd(elements * getElementBytes(), kChunkBytes);
}

Value GlobalView::getAddress(WarpBuilder &wb, Value offset) const {
  Type type = elementType.isInteger(1) ? Type(wb.b.getI8Type()) : elementType;
  if (auto floatType = dyn_cast<FloatType>(type); floatType && floatType.getWidth() == 8)
    type = wb.b.getI8Type();
  return LLVM::GEPOp::create(wb.b, wb.loc, base.getType(), type, base, ArrayRef<LLVM::GEPArg>{offset});
}

Value GlobalView::getOffset(WarpBuilder &wb, ArrayRef<std::pair<unsigned, Value>> indices) const {
  Value offset;
  for (auto [dim, index] : indices) {
    if (!strides[dim] || !index)
      continue;
    Value term = wb.widen(index);
    if (!contiguous[dim])
      term = wb.multiply64(term, strides[dim]);
    offset = offset ? wb.add(offset, term) : term;
  }
  return offset ? offset : wb.constant64(0);
}

//===----------------------------------------------------------------------===//
// Rows of a tile
//===----------------------------------------------------------------------===//

TileRows::TileRows(WarpBuilder &wb, Operation *op) : numBatch(getNumBatchDims(op)), blockRows(wb.blockRows) {
  // The caller's part of the last tile may have fewer rows, known only at run time; the state always has all of them.
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    if (isa<ShapedType>(operand.getType()))
      operands.push_back(operand);
  for (auto [operand, map] : llvm::zip(operands, getMaps(op)))
    addSizes(operand, map);
}

TileRows::TileRows(Value tile, AffineMap map, int64_t blockRows)
    : numBatch(map.getNumDims() - 2), blockRows(blockRows) {
  addSizes(tile, map);
}

void TileRows::addSizes(Value operand, AffineMap map) {
  for (auto [size, expr] : llvm::zip(cast<ShapedType>(operand.getType()).getShape(), map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || ShapedType::isDynamic(size))
      continue;
    if (dim.getPosition() == numBatch)
      queries = std::max(queries, size);
    else if (dim.getPosition() + 1 == numBatch)
      heads = std::max(heads, size);
  }
}

std::pair<Value, Value> TileRows::split(WarpBuilder &wb, Value row) const {
  if (count() < blockRows)
    row = wb.minimum(row, wb.constant(count() - 1));
  if (heads == 1)
    return {Value(), row};
  if (queries == 1)
    return {row, Value()};
  Value head = wb.divide(row, queries);
  Value query = arith::SubIOp::create(wb.b, wb.loc, row, wb.multiply(head, queries));
  return {head, query};
}

Value TileRows::getOffset(WarpBuilder &wb, const GlobalView &view, Value row) const {
  auto [head, query] = split(wb, row);
  SmallVector<std::pair<unsigned, Value>> indices = {{numBatch, query}};
  if (head)
    indices.push_back({numBatch - 1, head});
  return view.getOffset(wb, indices);
}

Value TileRows::isInside(WarpBuilder &wb, const GlobalView &view, Value row) const {
  Value condition;
  if (count() < blockRows)
    condition = wb.isLess(row, wb.constant(count()));
  auto [head, query] = split(wb, row);
  if (view.getStaticSize(numBatch) != queries)
    condition = wb.both(condition, wb.isLess(query ? query : wb.constant(0), view.getSize(wb, numBatch)));
  return condition;
}

Value TileRows::getCount(WarpBuilder &wb, const GlobalView &view) const {
  bool isInView = view.getStaticSize(numBatch) == queries;
  Value ofTile = wb.constant(queries);
  if (isInView)
    return queries < blockRows ? ofTile : Value();
  return wb.minimum(ofTile, view.getSize(wb, numBatch));
}
