//===- StructureTest.cpp - dimensions of the structured ops -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/IR/Structure.h"
#include "ParseIR.h"
#include "attn/IR/Attn.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace attn;

namespace {

constexpr int64_t kDynamic = ShapedType::kDynamic;

using Strings = std::vector<std::string>;
using Sizes = SmallVector<int64_t>;
using Iterators = SmallVector<utils::IteratorType>;

// Two batches, 8 heads on 2, 113 rows, 203 keys, sizes 64 and 80; a bias of rank 3, a mask that ignores the head.
constexpr StringLiteral kGrouped = R"(
func.func @f(%q: tensor<2x8x113x64xf32>, %k: tensor<2x2x203x64xf32>, %v: tensor<2x2x203x80xf32>,
             %bias: tensor<8x1x203xf32>, %mask: tensor<2x1x113x203xi1>,
             %o: tensor<2x8x113x80xf32>, %l: tensor<2x8x113xf32>) -> (tensor<2x8x113x80xf32>, tensor<2x8x113xf32>) {
  %r, %s = attn.sdpa ins(%q, %k, %v : tensor<2x8x113x64xf32>, tensor<2x2x203x64xf32>, tensor<2x2x203x80xf32>)
      bias(%bias : tensor<8x1x203xf32>) mask(%mask : tensor<2x1x113x203xi1>)
      outs(%o, %l : tensor<2x8x113x80xf32>, tensor<2x8x113xf32>) -> tensor<2x8x113x80xf32>, tensor<2x8x113xf32>
  return %r, %s : tensor<2x8x113x80xf32>, tensor<2x8x113xf32>
})";

/// An sdpa of one head on `type` operands with more attributes.
std::string getPlain(StringRef q, StringRef k, StringRef v, StringRef o, StringRef attributes = "") {
  return ("func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v + ", %o: " + o + ") -> " + o +
          " {\n%r = attn.sdpa ins(%q, %k, %v : " + q + ", " + k + ", " + v + ") outs(%o : " + o + ") " + attributes +
          " -> " + o + "\nreturn %r : " + o + "\n}")
      .str();
}

class Structure : public attn::test::IRTest {
protected:
  static std::string print(AffineMap map) {
    std::string text;
    llvm::raw_string_ostream(text) << map;
    return text;
  }

  static Strings printMaps(Operation *op) {
    Strings texts;
    for (AffineMap map : getMaps(op))
      texts.push_back(print(map));
    return texts;
  }

  SdpaOp parseSdpa(StringRef text) {
    module = parse(text);
    return getOnly<SdpaOp>(*module);
  }

  static Sizes getConstants(ArrayRef<OpFoldResult> values) {
    Sizes constants;
    for (OpFoldResult value : values)
      constants.push_back(getConstantIntValue(value).value_or(kDynamic));
    return constants;
  }

  /// The slice of operand `number` under a tile of static offsets and sizes.
  Slice getSlice(Operation *op, unsigned number, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes) {
    OpBuilder builder(op);
    return getOperandSlice(builder, op->getLoc(), getMaps(op)[number], getAsIndexOpFoldResult(getContext(), offsets),
                           getAsIndexOpFoldResult(getContext(), sizes));
  }

  OwningOpRef<ModuleOp> module;
};

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

TEST_F(Structure, OperandsOfSdpa) {
  SdpaOp sdpa = parseSdpa(kGrouped);
  Strings names;
  for (const OperandSpec &spec : getOperandSpecs(sdpa))
    names.push_back(spec.name.str());
  EXPECT_EQ(names, (Strings{"query", "key", "value", "bias", "mask", "output", "lse"}));
  EXPECT_EQ(names.size(), sdpa->getNumOperands()) << "without scale_value, every operand is shaped";
  EXPECT_TRUE(isStructuredOp(sdpa));
  EXPECT_FALSE(isStructuredOp(sdpa->getParentOp()));
  EXPECT_EQ(getNumBatchDims(sdpa), 2u);
  EXPECT_EQ(getDomainPosition(sdpa, DimKind::Query), 2u);
  EXPECT_EQ(getDomainPosition(sdpa, DimKind::Key), 3u);
  EXPECT_EQ(getDomainPosition(sdpa, DimKind::HeadSize), 4u);
  EXPECT_EQ(getDomainPosition(sdpa, DimKind::ValueSize), 5u);
}

TEST_F(Structure, AbsentOperandsHaveNoRow) {
  SdpaOp sdpa = parseSdpa(getPlain("tensor<4x16xf32>", "tensor<6x16xf32>", "tensor<6x8xf32>", "tensor<4x8xf32>"));
  EXPECT_EQ(getOperandSpecs(sdpa).size(), 4u);
  EXPECT_EQ(getNumBatchDims(sdpa), 0u);
  EXPECT_EQ(printMaps(sdpa), (Strings{"(d0, d1, d2, d3) -> (d0, d2)", "(d0, d1, d2, d3) -> (d1, d2)",
                                      "(d0, d1, d2, d3) -> (d1, d3)", "(d0, d1, d2, d3) -> (d0, d3)"}));
}

TEST_F(Structure, Iterators) {
  using enum utils::IteratorType;
  SdpaOp sdpa = parseSdpa(kGrouped);
  EXPECT_EQ(getIteratorTypes(sdpa), (Iterators{parallel, parallel, parallel, reduction, reduction, parallel}));
  OwningOpRef<ModuleOp> chain = parse(R"(
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %s: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%s : tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = attn.softmax ins(%0 : tensor<4x6xf32>) outs(%s : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
})");
  EXPECT_EQ(getIteratorTypes(getOnly<ScoresOp>(*chain)), (Iterators{parallel, parallel, reduction}));
  EXPECT_EQ(getIteratorTypes(getOnly<SoftmaxOp>(*chain)), (Iterators{parallel, reduction}));
}

//===----------------------------------------------------------------------===//
// Maps and sizes
//===----------------------------------------------------------------------===//

TEST_F(Structure, DefaultMapsGroupHeadsAndBroadcast) {
  EXPECT_EQ(printMaps(parseSdpa(kGrouped)),
            (Strings{"(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)",
                     "(d0, d1, d2, d3, d4, d5) -> (d0, d1 floordiv 4, d3, d4)",
                     "(d0, d1, d2, d3, d4, d5) -> (d0, d1 floordiv 4, d3, d5)",
                     "(d0, d1, d2, d3, d4, d5) -> (d1, 0, d3)", "(d0, d1, d2, d3, d4, d5) -> (d0, 0, d2, d3)",
                     "(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)", "(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)"}));
}

// As many heads of K as of Q: no floordiv. One for all: h floordiv 8, which is 0.
TEST_F(Structure, KvHeadMap) {
  auto getMap = [&](StringRef kvHeads) {
    std::string k = ("tensor<" + kvHeads + "x6x16xf32>").str(), q = "tensor<8x4x16xf32>";
    return print(getKvHeadMap(parseSdpa(getPlain(q, k, k, q))));
  };
  EXPECT_EQ(print(getKvHeadMap(parseSdpa(kGrouped))), "(d0) -> (d0 floordiv 4)");
  EXPECT_EQ(getMap("8"), "(d0) -> (d0)");
  EXPECT_EQ(getMap("4"), "(d0) -> (d0 floordiv 2)");
  EXPECT_EQ(getMap("1"), "(d0) -> (d0 floordiv 8)");
  SdpaOp headless =
      parseSdpa(getPlain("tensor<8x4x16xf32>", "tensor<6x16xf32>", "tensor<6x16xf32>", "tensor<8x4x16xf32>",
                         "{maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (j, d)>,"
                         " affine_map<(h, i, j, d, e) -> (j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>]}"));
  EXPECT_EQ(print(getKvHeadMap(headless)), "(d0) -> (0)");
}

TEST_F(Structure, StaticDomain) {
  SdpaOp sdpa = parseSdpa(kGrouped);
  EXPECT_EQ(getStaticDomain(sdpa), (Sizes{2, 8, 113, 203, 64, 80}));
  EXPECT_EQ(getStaticSize(sdpa, DimKind::Query), 113);
  EXPECT_EQ(getStaticSize(sdpa, DimKind::Key), 203);
  EXPECT_EQ(getStaticSize(sdpa, DimKind::HeadSize), 64);
  EXPECT_EQ(getStaticSize(sdpa, DimKind::ValueSize), 80);
  OpBuilder builder(sdpa);
  EXPECT_EQ(getConstants(getDomainSizes(builder, sdpa)), (Sizes{2, 8, 113, 203, 64, 80}));
}

// Sizes come from where the maps say, whatever the position: rows before heads, transposed K.
TEST_F(Structure, ExplicitMapsGiveTheDomain) {
  SdpaOp sdpa =
      parseSdpa(getPlain("tensor<113x8x64xf32>", "tensor<64x203xf32>", "tensor<203x80xf32>", "tensor<113x8x80xf32>",
                         "{maps = [affine_map<(h, i, j, d, e) -> (i, h, d)>, affine_map<(h, i, j, d, e) -> (d, j)>,"
                         " affine_map<(h, i, j, d, e) -> (j, e)>, affine_map<(h, i, j, d, e) -> (i, h, e)>]}"));
  EXPECT_EQ(getNumBatchDims(sdpa), 1u);
  EXPECT_EQ(getStaticDomain(sdpa), (Sizes{8, 113, 203, 64, 80}));
}

// A builder that is given no maps, and one that is given an empty array of them: those of the default layout.
TEST_F(Structure, NoMapsAreTheDefaultOnes) {
  SdpaOp parsed = parseSdpa(getPlain("tensor<5x6xf32>", "tensor<7x6xf32>", "tensor<7x3xf32>", "tensor<5x3xf32>"));
  OpBuilder b(parsed);
  auto built = SdpaOp::create(b, parsed.getLoc(), parsed.getQuery(), parsed.getKey(), parsed.getValue(),
                              parsed.getOutput(), /*lse=*/Value(), /*maps=*/ArrayRef<AffineMap>());
  EXPECT_TRUE(succeeded(verify(built)));
  EXPECT_FALSE(built.getMaps());
  built.setMapsAttr(b.getArrayAttr({}));
  EXPECT_TRUE(succeeded(verify(built)));
  EXPECT_EQ(getMaps(built), getMaps(parsed));
}

// A size that one operand knows is known, whichever operand comes first.
TEST_F(Structure, DynamicSizes) {
  SdpaOp sdpa =
      parseSdpa(getPlain("tensor<?x?x16xf32>", "tensor<?x?x16xf32>", "tensor<?x6x8xf32>", "tensor<3x?x8xf32>"));
  EXPECT_EQ(getStaticDomain(sdpa), (Sizes{3, kDynamic, 6, 16, 8}));
  OpBuilder builder(sdpa);
  SmallVector<OpFoldResult> sizes = getDomainSizes(builder, sdpa);
  EXPECT_EQ(getConstants(sizes), (Sizes{3, kDynamic, 6, 16, 8}));
  auto dim = cast<Value>(sizes[1]).getDefiningOp<tensor::DimOp>();
  ASSERT_TRUE(dim);
  EXPECT_EQ(dim.getSource(), sdpa.getQuery());
  EXPECT_EQ(dim.getConstantIndex(), 1);
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

TEST_F(Structure, SlicesFollowTheMaps) {
  SdpaOp sdpa = parseSdpa(kGrouped);
  int64_t offsets[] = {1, 5, 32, 64, 0, 0}, sizes[] = {1, 1, 16, 128, 64, 80};
  Slice query = getSlice(sdpa, 0, offsets, sizes), key = getSlice(sdpa, 1, offsets, sizes);
  EXPECT_EQ(getConstants(query.offsets), (Sizes{1, 5, 32, 0}));
  EXPECT_EQ(getConstants(query.sizes), (Sizes{1, 1, 16, 64}));
  EXPECT_EQ(getConstants(query.strides), (Sizes{1, 1, 1, 1}));
  EXPECT_EQ(getConstants(key.offsets), (Sizes{1, 1, 64, 0}));
  EXPECT_EQ(getConstants(key.sizes), (Sizes{1, 1, 128, 64}));
  Slice bias = getSlice(sdpa, 3, offsets, sizes), mask = getSlice(sdpa, 4, offsets, sizes);
  EXPECT_EQ(getConstants(bias.offsets), (Sizes{5, 0, 64}));
  EXPECT_EQ(getConstants(bias.sizes), (Sizes{1, 1, 128}));
  EXPECT_EQ(getConstants(mask.offsets), (Sizes{1, 0, 32, 64}));
  EXPECT_EQ(getConstants(mask.sizes), (Sizes{1, 1, 16, 128}));
}

// Against brute force: the heads of K that a range of query heads reads, for tiles that are part of a group or whole
// ones.
TEST_F(Structure, SlicesOfGroupedHeads) {
  SdpaOp sdpa = parseSdpa(kGrouped);
  constexpr int64_t group = 4;
  for (int64_t size : {1, 2, 4, 8})
    for (int64_t offset = 0; offset + size <= 8; offset += size) {
      int64_t offsets[] = {0, offset, 0, 0, 0, 0}, sizes[] = {1, size, 1, 1, 1, 1};
      Slice slice = getSlice(sdpa, 1, offsets, sizes);
      EXPECT_EQ(getConstantIntValue(slice.offsets[1]), offset / group);
      EXPECT_EQ(getConstantIntValue(slice.sizes[1]), (offset + size - 1) / group - offset / group + 1)
          << size << " heads from " << offset;
    }
}

TEST_F(Structure, SlicesAtValues) {
  SdpaOp sdpa = parseSdpa(kGrouped);
  OpBuilder builder(sdpa);
  Value head = arith::ConstantIndexOp::create(builder, sdpa->getLoc(), 6);
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  Value opaque = tensor::DimOp::create(builder, sdpa->getLoc(), sdpa.getQuery(), head);
  SmallVector<OpFoldResult> offsets = {zero, opaque, zero, zero, zero, zero}, sizes(6, one);
  Slice slice = getOperandSlice(builder, sdpa->getLoc(), getMaps(sdpa)[1], offsets, sizes);
  auto apply = cast<Value>(slice.offsets[1]).getDefiningOp<affine::AffineApplyOp>();
  ASSERT_TRUE(apply);
  EXPECT_EQ(apply.getAffineMap().getResult(0).getKind(), AffineExprKind::FloorDiv);
  EXPECT_EQ(apply.getOperand(0), opaque);
  EXPECT_EQ(getConstantIntValue(slice.sizes[1]), 1);
}

TEST_F(Structure, CreateSlice) {
  SdpaOp sdpa = parseSdpa(kGrouped);
  OpBuilder builder(sdpa);
  int64_t offsets[] = {1, 5, 32, 64, 0, 0}, sizes[] = {1, 1, 16, 128, 64, 80};
  Value tile = createSlice(builder, sdpa->getLoc(), sdpa.getKey(), getSlice(sdpa, 1, offsets, sizes));
  EXPECT_TRUE(isa<tensor::ExtractSliceOp>(tile.getDefiningOp()));
  EXPECT_EQ(tile.getType(), RankedTensorType::get({1, 1, 128, 64}, builder.getF32Type()));
  OwningOpRef<ModuleOp> memrefs = parse(R"(
func.func @f(%q: memref<4x16xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>, %o: memref<4x8xf32>) {
  attn.sdpa ins(%q, %k, %v : memref<4x16xf32>, memref<6x16xf32>, memref<6x8xf32>) outs(%o : memref<4x8xf32>)
  return
})");
  sdpa = getOnly<SdpaOp>(*memrefs);
  builder.setInsertionPoint(sdpa);
  tile = createSlice(builder, sdpa->getLoc(), sdpa.getKey(), getSlice(sdpa, 1, {0, 2, 0, 0}, {4, 3, 16, 8}));
  EXPECT_TRUE(isa<memref::SubViewOp>(tile.getDefiningOp()));
  EXPECT_EQ(cast<MemRefType>(tile.getType()).getShape(), ArrayRef<int64_t>({3, 16}));
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

TEST_F(Structure, AccumulationType) {
  Builder builder(getContext());
  EXPECT_EQ(getAccumulationType(builder.getF64Type()), builder.getF64Type());
  for (Type type : {Type(builder.getF32Type()), Type(builder.getBF16Type()), Type(builder.getF16Type())})
    EXPECT_EQ(getAccumulationType(type), builder.getF32Type());
}

// What tiling does: an index of a tile counts from the tile's first row or key.
TEST_F(Structure, ShiftIndex) {
  SdpaOp sdpa = parseSdpa(getPlain("tensor<4x16xf32>", "tensor<6x16xf32>", "tensor<6x8xf32>", "tensor<4x8xf32>",
                                   "mask_mod {\n%i = attn.index query : index\n%j = attn.index key : index\n"
                                   "%keep = arith.cmpi sle, %j, %i : index\nattn.yield %keep : i1\n}"));
  OpBuilder builder(sdpa);
  OpFoldResult zero = builder.getIndexAttr(0), two = builder.getIndexAttr(2);
  shiftIndex(builder, sdpa.getMaskMod(), {zero, two, zero, zero}, sdpa);
  auto compare = getOnly<arith::CmpIOp>(*module);
  auto shifted = compare.getLhs().getDefiningOp<arith::AddIOp>();
  ASSERT_TRUE(shifted) << "the key is shifted by 2";
  EXPECT_EQ(cast<IndexOp>(shifted.getLhs().getDefiningOp()).getKind(), IndexKind::Key);
  EXPECT_EQ(getConstantIntValue(shifted.getRhs()), 2);
  EXPECT_TRUE(compare.getRhs().getDefiningOp<IndexOp>()) << "the query is not";
}

} // namespace
