//===- WarpTile.h - what the GPU tile lowerings share -----------*- C++ -*-===//
//
// A block of warps has one tile; warp w holds rows [w warp_rows, (w + 1)
// warp_rows) of it in fragments of 16 rows. In a fragment of an accumulator
// (m16n8, PTX ISA "Matrix fragments for mma.m16n8k16") a thread has, with
// g = lane / 4 and t = lane % 4,
//
//   element 0, 1: row g,     columns 2 t, 2 t + 1
//   element 2, 3: row g + 8, columns 2 t, 2 t + 1
//
// so that the four threads of a quad share two rows. docs/GPU.md draws it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_WARPTILE_H
#define ATTN_LIB_CONVERSION_NVVM_WARPTILE_H

#include "WarpBuilder.h"
#include "attn/IR/ScoreFunctions.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include <variant>

namespace attn::nvvm {

/// Numbers of a thread that stay from op to op: an array of f32 that LLVM takes into registers, as all indices are
/// constants.
class RegisterArray {
public:
  static constexpr llvm::StringLiteral kName = "row_max and row_sum of a state in registers";
  RegisterArray() = default;
  RegisterArray(WarpBuilder &wb, mlir::Block &entry, int64_t size);
  mlir::Value get(WarpBuilder &wb, int64_t i) const;
  /// A number of 32 bits.
  void set(WarpBuilder &wb, int64_t i, mlir::Value value) const;
  /// All of them, as numbers of a type of 32 bits.
  Values getAll(WarpBuilder &wb, mlir::Type type) const;
  /// True for the same registers.
  friend bool operator==(const RegisterArray &x, const RegisterArray &y) { return x.storage == y.storage; }

private:
  mlir::Value at(WarpBuilder &wb, int64_t i) const;
  mlir::Value storage;
  int64_t size = 0;
};

/// Numbers of elements that divide the offset and the strides of a memref (ViewAlignment.cpp); 0 is divided by all.
struct ViewDivisors {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
};
ViewDivisors getViewDivisors(mlir::Value memref);

/// An operand in global memory, with its map from the domain of the op: a pointer, and strides by domain dimension.
class GlobalView {
public:
  GlobalView() = default;
  GlobalView(WarpBuilder &wb, mlir::Value memref, mlir::AffineMap map);
  explicit operator bool() const { return base != nullptr; }
  /// In elements, an i64; null where the operand has not the dimension.
  mlir::Value getStride(unsigned dim) const { return strides[dim]; }
  /// An i32.
  mlir::Value getSize(WarpBuilder &wb, unsigned dim) const;
  std::optional<int64_t> getStaticSize(unsigned dim) const;
  bool isContiguous(unsigned dim) const { return contiguous[dim]; }
  /// Bytes, at most 16, that divide the addresses of the elements whose index of `columnDim` is 0.
  unsigned getRowAlignment(unsigned columnDim) const;
  mlir::Type getElementType() const { return elementType; }
  int64_t getElementBytes() const { return std::max<int64_t>(1, elementType.getIntOrFloatBitWidth() / 8); }
  /// The address `offset` elements (i64) from the first one on.
  mlir::Value getAddress(WarpBuilder &wb, mlir::Value offset) const;
  /// sum of stride(dim) * index; indices are i32, null for dimensions of size 1.
  mlir::Value getOffset(WarpBuilder &wb, llvm::ArrayRef<std::pair<unsigned, mlir::Value>> indices) const;

private:
  mlir::Value base;
  mlir::Type elementType;
  Values strides;
  llvm::SmallVector<mlir::OpFoldResult> sizes;
  llvm::SmallVector<bool> contiguous;
  ViewDivisors divisors; ///< strides by domain dimension
};

/// The rows of a tile: query rows of one head, or of all heads that share a head of K, one head after the other.
struct TileRows {
  unsigned numBatch = 0;
  int64_t heads = 1, queries = 0, blockRows = 0;
  int64_t count() const { return heads * queries; }

  TileRows(WarpBuilder &wb, mlir::Operation *op);
  /// The rows of a tile in shared memory, of which `blockRows` are copied.
  TileRows(mlir::Value tile, mlir::AffineMap map, int64_t blockRows);
  /// (head, query) of row `row` of the tile. Rows of the block beyond the last one count as the last one.
  std::pair<mlir::Value, mlir::Value> split(WarpBuilder &wb, mlir::Value row) const;
  /// Where `view` has the row.
  mlir::Value getOffset(WarpBuilder &wb, const GlobalView &view, mlir::Value row) const;
  /// True where the tile and `view` have the row; null where all rows of the block are.
  mlir::Value isInside(WarpBuilder &wb, const GlobalView &view, mlir::Value row) const;

private:
  void addSizes(mlir::Value operand, mlir::AffineMap map);
};

/// The running state of a tile in the registers of its threads. The row sums are of each thread alone: those of a
/// quad are added up when all is done.
struct TileState {
  static constexpr llvm::StringLiteral kName = "a state or sums in registers";
  RegisterArray acc, max, sum;
  RegisterArray lse; ///< of rows of gradients, of which some may be without keys
  int64_t fragments = 0, valueBlocks = 0;
  int64_t accIndex(int64_t fragment, int64_t block, int64_t element) const {
    return (fragment * valueBlocks + block) * kFragmentElements + element;
  }
  static int64_t rowIndex(int64_t fragment, int64_t half) { return fragment * kThreadRows + half; }
};

/// acc = alpha acc
void scaleAcc(WarpBuilder &wb, const TileState &state, llvm::ArrayRef<mlir::Value> alphas);

/// A tile in shared memory, at `offset` bytes.
struct SharedTile {
  SharedTileLayout layout;
  int64_t offset = 0;
  mlir::Value stage = {}; ///< bytes from there to the stage in use, an i32; null where there is one
  /// For products: descriptors of its parts are computed for each, as a loop would keep all in registers.
  bool isAddressedAgain = false;
  /// Of the tile in shared memory, an i32.
  mlir::Value getAddress(WarpBuilder &wb, mlir::Value byteOffset = {}) const;
  /// Chunk `chunk` of row `row` + `rowsBelow`, a multiple of 8 that is no more than an offset.
  mlir::Value at(WarpBuilder &wb, mlir::Value row, mlir::Value chunk, int64_t rowsBelow = 0) const;
  /// In a tile of f32 without a swizzle: column `column` + `columnsBehind` of row `row`.
  mlir::Value atNumber(WarpBuilder &wb, int64_t row, mlir::Value column, int64_t columnsBehind = 0) const;
};

/// The rows of a tile of attn.copy_statistics.
enum class Statistic { Lse, LogSum, Delta, Exponent };

/// True where ds = p (scale dw - scale delta), so that weights need not wait for dw.
bool isLinear(ScoreGradientsOp op);
/// What attn.copy_statistics multiplies delta by: -scale for these, -1 for others.
double getDeltaFactor(ScoreGradientsOp op);

/// The stages of a tile in a kernel with a producer, and which of them is the next one (Producer.cpp).
class TileRing {
public:
  /// At the entry of the kernel.
  TileRing(WarpBuilder &wb, const SharedTile &tile, int64_t stages, int64_t barriers);
  /// The barriers, by one thread.
  void initialise(WarpBuilder &wb, int64_t consumers) const;
  /// Until the next stage is full, or empty; or the one behind it.
  void waitFor(WarpBuilder &wb, bool isEmpty, bool isAhead = false) const;
  /// The next stage, or the one behind it.
  SharedTile getTile(WarpBuilder &wb, bool isAhead = false) const;
  /// Fills the next stage, once it is empty, from a box of a tensor; the outermost dimension first. By a thread, or by
  /// the first lane of a warp.
  void copyBox(WarpBuilder &wb, mlir::Value map, llvm::ArrayRef<mlir::Value> begin, bool isWarp) const;
  /// Fills the next stage, once it is empty, by the lanes of a warp.
  void fill(WarpBuilder &wb, llvm::function_ref<void(const SharedTile &tile, mlir::Value lane)> body) const;
  /// Rows of a stage from `count` on, and those that are `isEmpty`, become 0: consumers do it together, and see
  /// it. Without `isEmpty` it is the first ones alone.
  void clearRows(WarpBuilder &wb, const SharedTile &stage, mlir::Value count,
                 llvm::function_ref<mlir::Value(mlir::Value row)> isEmpty) const;
  /// The warp has read the next stage.
  void release(WarpBuilder &wb) const;

private:
  mlir::Value getCount(WarpBuilder &wb, bool isAhead = false) const;
  mlir::Value getBarrier(WarpBuilder &wb, bool isEmpty, bool isAhead = false) const;
  void advance(WarpBuilder &wb) const;

  SharedTile tile;
  int64_t stages, barriers; ///< offset of the barriers
  mlir::Value count;        ///< of stages that the thread has filled, or read
};

/// The turns of a block beside a producer (Order.cpp): its warps wait for full ones, and pass them on as empty ones.
struct OrderRing {
  TileRing ring;
  mlir::Value current; ///< of the producer: where the address of the count of its turn is; null while it has none
};

/// Reads 16 x 16 pieces of a tile with ldmatrix.x4, of eight rows and a chunk each. The hardware takes the two
/// registers of a B operand as one aligned pair: in another order they are copied.
class MatrixReader {
public:
  enum class Order {
    RowsFirst,   ///< both matrices of the lower chunk, then those of the higher one: A, and B where it is transposed
    ChunksFirst, ///< both matrices of the upper eight rows, then those of the lower ones: B
  };
  MatrixReader(WarpBuilder &wb, const SharedTile &tile, mlir::Value firstRow, Order order = Order::RowsFirst);
  Values load(WarpBuilder &wb, int64_t row, int64_t chunk, bool isTransposed) const;

private:
  SharedTile tile;
  Values variants; ///< addresses by the swizzled part of an even chunk
};

/// Copies rows of global memory to a tile: asynchronously where they have the tile's type, elements next to each other
/// and start at multiples of 16 bytes, by loads and stores otherwise. Rows and columns that are not there become 0.
/// `getOffset` and `isInside` say where a row is. The copies are not committed.
void copyRows(WarpBuilder &wb, const GlobalView &view, const SharedTile &tile, unsigned columnDim, mlir::Type tileType,
              llvm::function_ref<mlir::Value(mlir::Value row)> getOffset,
              llvm::function_ref<mlir::Value(mlir::Value row)> isInside);

/// The number of row `row` in a view with one a row, as lse; rows beyond the last one have that one's.
mlir::Value loadRowNumber(WarpBuilder &wb, const GlobalView &view, unsigned rowDim, mlir::Value row);

/// The scores of a key tile, and then its weights, in the registers of the threads.
struct ScoreTile {
  static constexpr llvm::StringLiteral kName = "the scores of an attn.product in registers";
  Values values; ///< (fragment, block of 8 keys, element)
  int64_t fragments = 0, keyBlocks = 0;
  mlir::Value keyCount;    ///< null where the tile is whole
  bool hasPadding = false; ///< scores of keys from keyCount on are not -inf yet
  Values lse;              ///< of gradients: of the thread's rows, where these are queries that may be without keys

  ScoreTile() = default;
  /// Of `op`, an op on scores, without values.
  ScoreTile(WarpBuilder &wb, mlir::Operation *op);
  size_t at(int64_t fragment, int64_t keyBlock, int64_t element) const {
    return (fragment * keyBlocks + keyBlock) * kFragmentElements + element;
  }
  /// For each score of a thread: its place in `values`, the thread's number of its row, and its key.
  void forEach(WarpBuilder &wb, llvm::function_ref<void(size_t i, int64_t row, mlir::Value key)> body) const;
};

/// Of |m log2 e|: up to here its rounding error is at most 2^-8, no more than that of a score of this size.
constexpr double kLargestProduct = 65536;

/// The maxima of the rows of a thread, as attn.row_max finds them: what rescale and weights are made from.
struct RowTile {
  static constexpr llvm::StringLiteral kName = "the maxima of an attn.row_max in registers";
  struct Row {
    mlir::Value oldMax, newMax; ///< with the scale; -inf where no key is kept; the new one may lag behind
    mlir::Value subtracted;     ///< newMax, or 0 where that is -inf and may be
    mlir::Value product;        ///< of raw scores: subtracted * log2 e
    mlir::Value isLarge;        ///< of raw scores: the product is rounded too much to stand in an exponent
    mlir::Value shift;          ///< of raw scores: the product, or 0 where it is too large and subtracted already
  };
  llvm::SmallVector<Row> rows;
  std::optional<double> scale; ///< of raw scores: they are products, and their scale is left to exp2
  Values exponents; ///< the scores that the maxima are of, less those that are too large for one multiply-add
};

/// Weights, rounded and packed as the product of another round takes them.
struct PackedWeights {
  static constexpr llvm::StringLiteral kName = "rounded weights in registers";
  RegisterArray registers;
  Values lse; ///< of the scores' tile
};

/// What acc is multiplied by once it is there, by rows of the thread, where `any` is true.
struct RescaleFactors {
  static constexpr llvm::StringLiteral kName = "the factors of an attn.rescale_rows";
  mlir::Value any;
  Values alphas;
};

/// A product of an asynchronous instruction that has been started.
struct StartedProduct {
  static constexpr llvm::StringLiteral kName = "the result of an attn.product with async";
  Values acc; ///< registers that it writes
  std::variant<ScoreTile, TileState> output;
};

/// What `product` has computed, where `wait`, an op of its block, waits for it.
Values finishStarted(WarpBuilder &wb, const StartedProduct &started, mlir::Value product, mlir::Operation *wait);

/// What a tile in registers becomes, each kind with the name that errors have for it. States, row maxima and row sums
/// (RegisterArray) stay in their registers from op to op; the others are values.
using LoweredTile = std::variant<std::monostate, ScoreTile, RowTile, TileState, RegisterArray, PackedWeights,
                                 RescaleFactors, StartedProduct>;

class Products;

/// What accumulations behind `before`, where `isKept` holds, add to global memory (WarpAccumulations.cpp); null is the
/// start of the block.
void lowerAccumulations(WarpBuilder &wb, mlir::Operation *before, llvm::function_ref<mlir::Value()> isKept);

/// What a kernel keeps while it is lowered.
class KernelLowering {
public:
  KernelLowering(mlir::RewriterBase &rewriter, mlir::gpu::GPUFuncOp kernel);
  mlir::LogicalResult run();

private:
  mlir::LogicalResult placeTiles();
  void becomeFunction();
  /// Branches for the roles of a kernel with a producer (Producer.cpp). The consumers' loop over tiles; null where
  /// there is none.
  mlir::FailureOr<mlir::scf::ForOp> lowerRoles();
  const TileRing *findRing(mlir::Value memref) const;
  mlir::LogicalResult copyByProducer(CopyOp op);
  mlir::LogicalResult waitForStages(WaitOp op);
  mlir::LogicalResult lowerClearRows(ClearRowsOp op);
  mlir::LogicalResult lowerCopyStatistics(CopyStatisticsOp op);
  mlir::LogicalResult lowerRelease(ReleaseOp op);
  void takeTickets();
  mlir::LogicalResult lowerAwaitOrder(AwaitOrderOp op);
  mlir::LogicalResult lowerPassOrder(PassOrderOp op);
  /// The producer's turn, by one of its threads; the consumers are done with it.
  void passTurn();
  mlir::LogicalResult lowerExchange(ExchangeOp op);
  /// The place that was written last.
  SharedTile getExchanged(const SharedTile &tile);
  mlir::LogicalResult lowerAddRows(AddRowsOp op);
  mlir::LogicalResult lowerTakeTurn();
  mlir::LogicalResult lowerPassTurn(PassTurnOp op);
  /// The ops of a block in their order, with the loops and branches in it.
  mlir::LogicalResult lower(mlir::Block &block);
  mlir::LogicalResult lower(mlir::scf::ForOp loop);
  mlir::LogicalResult lower(mlir::scf::IfOp branch);
  mlir::LogicalResult lower(mlir::Operation *op);
  mlir::LogicalResult lowerTileOp(mlir::Operation *op);
  mlir::LogicalResult lowerCopy(CopyOp op);
  mlir::LogicalResult lowerGatherPages(GatherPagesOp op);
  mlir::LogicalResult lowerWait(WaitOp op);
  mlir::LogicalResult lowerInitState(InitStateOp op);
  mlir::LogicalResult lowerProduct(ProductOp op);
  mlir::LogicalResult lowerValues(ProductOp op, Products &products);
  /// Of a tile of attn.exchange.
  mlir::LogicalResult lowerExchanged(ProductOp op, Products &products);
  mlir::LogicalResult lowerWaitProduct(WaitProductOp op);
  mlir::LogicalResult lowerRescaleRows(RescaleRowsOp op);
  mlir::LogicalResult lowerRescaleAcc(RescaleAccOp op);
  mlir::LogicalResult lowerRounding(mlir::arith::TruncFOp op);
  mlir::LogicalResult lowerMapScores(MapScoresOp op);
  mlir::LogicalResult lowerRowMax(RowMaxOp op);
  mlir::LogicalResult lowerRescale(RescaleOp op);
  mlir::LogicalResult lowerWeights(WeightsOp op);
  mlir::LogicalResult lowerStoreState(StoreStateOp op);
  mlir::LogicalResult lowerMergeStates(MergeStatesOp op);
  mlir::LogicalResult lowerFinalize(FinalizeOp op);
  mlir::LogicalResult lowerClassifyTile(ClassifyTileOp op);
  mlir::LogicalResult lowerZeros(mlir::linalg::FillOp op);
  mlir::LogicalResult lowerScoreGradients(ScoreGradientsOp op);
  mlir::LogicalResult lowerPack(PackOp op);
  mlir::LogicalResult lowerRowDelta(RowDeltaOp op);
  /// Tokens and tiles are values no more.
  void eraseTiles();

  /// The tile in shared memory that a memref, or what it is a view of, is; nothing for global memory.
  std::optional<SharedTile> findTile(mlir::Value memref);
  /// What `tile`, an operand of `op`, has become; null, with an error, where it is another kind of tile. Valid until
  /// the next tile is added.
  template <typename T> const T *find(mlir::Value tile, mlir::Operation *op) {
    if (auto found = lowered.find(tile); found != lowered.end())
      if (const T *lowering = std::get_if<T>(&found->second))
        return lowering;
    op->emitOpError("expected ") << T::kName << ", found a value of type " << tile.getType();
    return nullptr;
  }
  /// acc, maximum and sum of a state.
  mlir::FailureOr<TileState> findState(mlir::Value acc, mlir::Value rowMax, mlir::Value rowSum, mlir::Operation *op);
  TileState createSums(int64_t columns);
  mlir::Value getRow(int64_t fragment, int64_t half);

  mlir::RewriterBase &rewriter;
  mlir::gpu::GPUFuncOp kernel;
  WarpBuilder wb;
  BlockLayout layout;
  llvm::DenseMap<mlir::Value, SharedTile> tiles;
  llvm::DenseMap<mlir::Value, LoweredTile> lowered; ///< by tile in registers
  llvm::SmallVector<mlir::Operation *> loweredOps;
  mlir::scf::ForOp tileLoop;                    ///< of consumers, which the walk has not reached
  llvm::MapVector<mlir::Value, TileRing> rings; ///< of K and V, by tile
  std::optional<OrderRing> order;               ///< of blocks that add in turn, beside a producer
  mlir::Value exchanges;                        ///< where the count of attn.exchange is; null where there is none
};

/// What a region of scalars yields at one position (NarrowRegion.cpp). `resolve` gives an i32 for attn.index, or null
/// for what is 0 in a tile.
mlir::Value evaluateRegion(WarpBuilder &wb, mlir::Region &region, mlir::ValueRange arguments,
                           llvm::function_ref<mlir::Value(IndexOp)> resolve);
/// A score function of an f32 (WarpScores.cpp).
mlir::Value applyScoreFunction(WarpBuilder &wb, ScoreFunction function, mlir::Value score);

/// Bufferisation puts tiles on the stack, or allocates them where only the call knows their size.
bool isBuffer(mlir::Operation *op);
/// The memref that views of `memref` start from.
mlir::Value getRoot(mlir::Value memref);

/// What the rows of a tile of scores are; the columns are the others.
enum class RowKind { Queries, Keys };

/// Where the scores of a thread are, for the score functions of `op` (WarpScores.cpp).
class ScorePositions {
public:
  ScorePositions(WarpBuilder &wb, mlir::Operation *op, const ScoreTile &tile, const ScoreFunctions &functions,
                 RowKind rowKind = RowKind::Queries);
  /// What becomes of a score or a weight of the thread's row `row` and a column.
  mlir::Value evaluateScore(int64_t row, mlir::Value column, mlir::Value score) const;
  mlir::Value evaluateWeight(int64_t row, mlir::Value column, mlir::Value weight) const;
  /// What `region`, of scores, yields there.
  mlir::Value evaluate(mlir::Region &region, int64_t row, mlir::Value column, mlir::ValueRange arguments) const;

private:
  class Position;
  struct Row {
    mlir::Value head, position; ///< i32, within what the operands have
  };

  WarpBuilder &wb;
  ScoreFunctions functions;
  RowKind rowKind;
  TileRows tileRows;
  mlir::Value columnCount;
  std::optional<int64_t> lastKey; ///< of rows that are keys, where these are known and do not fill the block
  GlobalView bias, mask;
  llvm::SmallVector<Row> rows;
};

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_WARPTILE_H
