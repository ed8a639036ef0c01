//===- LayerVerifiers.cpp - constraints of the ops around attention -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Verifiers.h"

using namespace mlir;
using namespace attn;

/// True for two static sizes that differ.
static bool differ(int64_t x, int64_t y) { return !ShapedType::isDynamic(x) && !ShapedType::isDynamic(y) && x != y; }

static bool isInteger32(Value value, int64_t rank) {
  auto type = cast<ShapedType>(value.getType());
  return type.getRank() == rank && type.getElementType().isInteger(32);
}

LogicalResult GatherPagesOp::verify() {
  if (failed(verifyAttributes(*this)))
    return failure();
  if (failed(verifyForm(*this)))
    return failure();
  auto cache = cast<ShapedType>(getCache().getType()), output = cast<ShapedType>(getOutput().getType());
  bool hasPageNumbers = cache.getRank() == 2, hasColumns = cache.getRank() == 4;
  if (cache.getRank() < 2 || cache.getRank() > 4)
    return emitOpError(
               "C17: expected a cache of 4 dimensions in the order of page_layout, of 3 without the head size, or "
               "of 2, (pages, Hkv), found ")
           << cache;
  if (hasPageNumbers != getRowsPerPage().has_value())
    return emitOpError("C17: expected rows_per_page beside a cache (pages, Hkv) alone, found ")
           << cache << (hasPageNumbers ? " without it; write rows_per_page = 16 : i64" : " with it; leave it out");
  if (!isInteger32(getBlockTable(), 2) || !isInteger32(getLengths(), 1))
    return emitOpError("C17: expected block_table of two dimensions and lengths of one, of i32, found ")
           << getBlockTable().getType() << " and " << getLengths().getType();
  if (output.getRank() != (hasColumns ? 4 : 3))
    return emitOpError("C17: expected an output (B, Hkv, Sk")
           << (hasColumns ? ", D" : "") << ") of the cache " << cache << ", found " << output;
  if (getBatch())
    return success(); // a tile
  int64_t page = getPageSize(), heads = cache.getDimSize(hasPageNumbers ? 1 : getCacheDims().head);
  auto table = cast<ShapedType>(getBlockTable().getType());
  if (ShapedType::isDynamic(page) || ShapedType::isDynamic(heads) ||
      (hasColumns && ShapedType::isDynamic(cache.getDimSize(3))))
    return emitOpError("C17: expected a static page size, heads and head size, found ") << cache;
  if (page < 1)
    return emitOpError("C17: expected a page size of at least 1, found ") << page;
  if (differ(output.getDimSize(0), table.getDimSize(0)) || differ(output.getDimSize(1), heads) ||
      (hasColumns && differ(output.getDimSize(3), cache.getDimSize(3))) ||
      differ(table.getDimSize(0), cast<ShapedType>(getLengths().getType()).getDimSize(0)))
    return emitOpError("C17: expected an output (B, Hkv, Sk")
           << (hasColumns ? ", D" : "") << ") of the cache " << cache << " and the block_table " << table << ", found "
           << output;
  if (!ShapedType::isDynamic(output.getDimSize(2)) && !ShapedType::isDynamic(table.getDimSize(1)) &&
      output.getDimSize(2) > table.getDimSize(1) * page)
    return emitOpError("C17: expected at most ")
           << table.getDimSize(1) * page << " keys, the pages of block_table times the page size, found "
           << output.getDimSize(2);
  return success();
}

/// C19: new rows of the type of the cache, or converted to it, by a scale beside 8 bits.
static LogicalResult verifyRowTypes(KvAppendOp op) {
  auto input = cast<ShapedType>(op.getInput().getType()), cache = cast<ShapedType>(op.getOutput().getType());
  Type from = input.getElementType(), to = cache.getElementType();
  bool isNarrowed = from != to && isQuantised(to);
  auto isFloat = [](Type type) { return isa<Float32Type, Float64Type, BFloat16Type, Float16Type>(type); };
  if (from != to && !(isFloat(from) && (isNarrowed ? !from.isF64() : isFloat(to))))
    return op.emitOpError("C19: expected new rows of the cache's element type ")
           << to << ", or f32, bf16 or f16" << (isNarrowed ? "" : ", or f64, beside a cache of these") << ", found "
           << from;
  if (!op.getScale())
    return success();
  auto scale = cast<ShapedType>(op.getScale().getType());
  if (!isNarrowed)
    return op.emitOpError("C19: expected a scale only beside rows that are converted to i8, f8E4M3FN or f8E5M2, found ")
           << from << " to " << to;
  SmallVector<int64_t> ofRows(input.getShape().take_front(3)), ofHeads{input.getDimSize(1)};
  ArrayRef<int64_t> wanted = scale.getRank() == 1 ? ofHeads : ofRows;
  if (!scale.getElementType().isF32() || scale.getRank() != int64_t(wanted.size()) ||
      llvm::any_of(llvm::zip_equal(scale.getShape(), wanted), [](auto x) { return std::apply(differ, x); }))
    return op.emitOpError("C19: expected a scale of f32, (Hkv) or (B, Hkv, N) of the new rows ")
           << input << ", found " << scale;
  return success();
}

LogicalResult KvAppendOp::verify() {
  if (failed(verifyAttributes(*this)))
    return failure();
  if (failed(verifyForm(*this)))
    return failure();
  auto input = cast<ShapedType>(getInput().getType()), cache = cast<ShapedType>(getOutput().getType());
  if (input.getRank() != 4 || cache.getRank() != 4)
    return emitOpError("C19: expected new rows (B, Hkv, N, D) and a cache of 4 dimensions, found ")
           << input << " and " << cache;
  if (failed(verifyRowTypes(*this)))
    return failure();
  if (!isInteger32(getPositions(), 1))
    return emitOpError("C19: expected positions of one dimension of i32, found ") << getPositions().getType();
  if (bool(getBlockTable()) != bool(getPageLayout()))
    return emitOpError("C19: expected page_layout beside block_table, found ")
           << (getBlockTable() ? "block_table" : "page_layout") << " alone";
  int64_t batch = input.getDimSize(0), heads = cache.getDimSize(getCacheDims().head);
  if (differ(batch, cast<ShapedType>(getPositions().getType()).getDimSize(0)))
    return emitOpError("C19: expected ") << batch << " positions, one a batch index, found "
                                         << getPositions().getType();
  if (!getBlockTable() && differ(batch, cache.getDimSize(0)))
    return emitOpError("C19: expected a cache (B, Hkv, capacity, D) of ") << batch << " batch indices, found " << cache;
  if (getBlockTable()) {
    if (!isInteger32(getBlockTable(), 2) || differ(batch, cast<ShapedType>(getBlockTable().getType()).getDimSize(0)))
      return emitOpError("C19: expected block_table of two dimensions of i32, a row a batch index, found ")
             << getBlockTable().getType();
    int64_t page = cache.getDimSize(getCacheDims().row);
    if (ShapedType::isDynamic(page) || page < 1)
      return emitOpError("C19: expected a static page size of at least 1, found ") << cache;
  }
  if (differ(input.getDimSize(1), heads) || differ(input.getDimSize(3), cache.getDimSize(3)))
    return emitOpError("C19: expected new rows of the cache's heads and columns, found ") << input << " for " << cache;
  return success();
}

/// C20: sizes that follow from the number of heads; those of projections are known.
static LogicalResult verifyProjections(MultiHeadOp op) {
  auto size = [](Value value, unsigned dim) { return cast<ShapedType>(value.getType()).getDimSize(dim); };
  int64_t heads = op.getHeads(), kvHeads = op.getKvHeads().value_or(heads), features = size(op.getX(), 2);
  for (auto [name, weight, rows] : {std::tuple("w_q", op.getWQ(), features),
                                    {"w_k", op.getWK(), features},
                                    {"w_v", op.getWV(), features},
                                    {"w_o", op.getWO(), ShapedType::kDynamic}}) {
    if (ShapedType::isDynamic(size(weight, 1)))
      return op.emitOpError("C20: expected a static number of columns of ") << name << ", found " << weight.getType();
    if (differ(size(weight, 0), rows))
      return op.emitOpError("C20: expected ")
             << name << " to have " << rows << " rows, the columns of x, found " << size(weight, 0);
  }
  int64_t queryColumns = size(op.getWQ(), 1), keyColumns = size(op.getWK(), 1), valueColumns = size(op.getWV(), 1);
  if (queryColumns == 0 || queryColumns % heads != 0)
    return op.emitOpError("C20: expected the columns of w_q to be a multiple of ")
           << heads << " heads, found " << queryColumns;
  if (keyColumns != queryColumns / heads * kvHeads)
    return op.emitOpError("C20: expected w_k to have ")
           << queryColumns / heads * kvHeads << " columns, " << kvHeads << " heads of " << queryColumns / heads
           << ", found " << keyColumns;
  if (valueColumns == 0 || valueColumns % kvHeads != 0)
    return op.emitOpError("C20: expected the columns of w_v to be a multiple of ")
           << kvHeads << " heads, found " << valueColumns;
  if (differ(size(op.getWO(), 0), valueColumns / kvHeads * heads))
    return op.emitOpError("C20: expected w_o to have ")
           << valueColumns / kvHeads * heads << " rows, " << heads << " heads of " << valueColumns / kvHeads
           << ", found " << size(op.getWO(), 0);
  if (differ(size(op.getOutput(), 0), size(op.getX(), 0)) || differ(size(op.getOutput(), 1), size(op.getX(), 1)) ||
      differ(size(op.getOutput(), 2), size(op.getWO(), 1)))
    return op.emitOpError("C20: expected an output (B, S, E') with the rows of x and the columns of w_o, found ")
           << op.getOutput().getType();
  return success();
}

LogicalResult MultiHeadOp::verify() {
  if (failed(verifyAttributes(*this)))
    return failure();
  if (failed(verifyForm(*this)))
    return failure();
  Type type = getElementTypeOrSelf(getX().getType());
  for (Value operand : getOperands()) {
    auto shaped = cast<ShapedType>(operand.getType());
    int64_t rank = operand == getX() || operand == getOutput() ? 3 : 2;
    if (shaped.getRank() != rank || !isa<FloatType>(type) || shaped.getElementType() != type)
      return emitOpError(
                 "C20: expected x and output of three dimensions and weights of two, of one floating-point type, "
                 "found ")
             << shaped;
  }
  int64_t heads = getHeads(), kvHeads = getKvHeads().value_or(heads);
  if (heads < 1 || kvHeads < 1 || heads % kvHeads != 0)
    return emitOpError("C20: expected heads to be a multiple of kv_heads, both at least 1, found ")
           << heads << " and " << kvHeads;
  if (failed(verifyProjections(*this)))
    return failure();
  Type accumulation = getAccumulationType(getElementTypeOrSelf(getX().getType()));
  if (failed(verifyScale(*this, /*value=*/{}, getScale(), accumulation)) ||
      failed(verifySoftcap(*this, getSoftcap(), accumulation)))
    return failure();
  return verifySpelledOutMask(*this);
}
