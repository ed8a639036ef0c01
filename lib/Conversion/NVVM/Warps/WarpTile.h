//===- WarpTile.h - shared parts of the GPU tile lowerings ------*- C++ -*-===//
//
// A block of warps has one tile; warp w holds rows [w warp_rows, (w + 1) warp_rows) of it in fragments of 16 rows. In a
// fragment of an accumulator (m16n8, PTX ISA "Matrix fragments for mma.m16n8k16") a thread has, with g = lane / 4 and t
// = lane % 4,
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

#include "GlobalView.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include <variant>

namespace attn::nvvm {

/// A thread's 32-bit values that persist from op to op: an array of f32 that LLVM promotes to registers, as all indices
/// are constants.
class RegisterArray {
public:
  static constexpr llvm::StringLiteral kName = "row_max and row_sum of a state in registers";
  RegisterArray() = default;
  RegisterArray(WarpBuilder &wb, mlir::Block &entry, int64_t size);
  mlir::Value get(WarpBuilder &wb, int64_t i) const;
  /// `value` has 32 bits.
  void set(WarpBuilder &wb, int64_t i, mlir::Value value) const;
  /// All values, as `type`, which has 32 bits.
  Values getAll(WarpBuilder &wb, mlir::Type type) const;
  /// True for the same registers.
  friend bool operator==(const RegisterArray &x, const RegisterArray &y) { return x.storage == y.storage; }

private:
  mlir::Value at(WarpBuilder &wb, int64_t i) const;
  mlir::Value storage;
  int64_t size = 0;
};

/// The rows of a tile: query rows of one head, or of all heads that share a key head, one head after the other.
struct TileRows {
  unsigned numBatch = 0;
  int64_t heads = 1, queries = 0, blockRows = 0;
  int64_t count() const { return heads * queries; }

  TileRows(WarpBuilder &wb, mlir::Operation *op);
  /// The rows of a tile in shared memory, of which `blockRows` are copied.
  TileRows(mlir::Value tile, mlir::AffineMap map, int64_t blockRows);
  /// (head, query) of row `row` of the tile. Rows beyond the last one count as the last one.
  std::pair<mlir::Value, mlir::Value> split(WarpBuilder &wb, mlir::Value row) const;
  /// The offset of the row in `view`.
  mlir::Value getOffset(WarpBuilder &wb, const GlobalView &view, mlir::Value row) const;
  /// True where the row is inside of the tile and of `view`; null where all rows of the block are.
  mlir::Value isInside(WarpBuilder &wb, const GlobalView &view, mlir::Value row) const;
  /// Rows inside, of one head; null where all of the block are.
  mlir::Value getCount(WarpBuilder &wb, const GlobalView &view) const;

private:
  void addSizes(mlir::Value operand, mlir::AffineMap map);
};

/// The running state of a tile in the registers of its threads. Each thread has partial row sums; those of a quad are
/// added at the end.
struct TileState {
  static constexpr llvm::StringLiteral kName = "a state or sums in registers";
  RegisterArray acc, max, sum;
  RegisterArray lse; ///< for gradient rows that may have no keys
  int64_t fragments = 0, valueBlocks = 0;
  /// Products of bytes have columns 16 n + 2 i in block 2 n, and those behind them in block 2 n + 1.
  bool isInterleaved = false;
  int64_t accIndex(int64_t fragment, int64_t block, int64_t element) const {
    return (fragment * valueBlocks + block) * kFragmentElements + element;
  }
  /// Of the two elements of a thread's row `half` that are its pair `pair` of adjacent columns.
  int64_t pairIndex(int64_t fragment, int64_t half, int64_t pair, int64_t e) const {
    return isInterleaved ? accIndex(fragment, pair / 2 * 2 + e, 2 * half + pair % 2)
                         : accIndex(fragment, pair, 2 * half + e);
  }
  /// The first column of the pair.
  mlir::Value getPairColumn(WarpBuilder &wb, int64_t pair) const {
    return isInterleaved ? wb.add(wb.multiply(wb.quadLane, 4), (pair / 2 * 8 + pair % 2) * 2)
                         : wb.add(wb.multiply(wb.quadLane, 2), pair * kBlockColumns);
  }
  static int64_t rowIndex(int64_t fragment, int64_t half) { return fragment * kThreadRows + half; }
};

/// acc = alpha acc
void scaleAcc(WarpBuilder &wb, const TileState &state, llvm::ArrayRef<mlir::Value> alphas);

/// A tile in shared memory, at `offset` bytes.
struct SharedTile {
  SharedTileLayout layout;
  int64_t offset = 0;
  mlir::Value stage = {}; ///< offset in bytes of the current stage, an i32; null with a single stage
  /// Computes descriptors anew for each product, as a loop would keep all of them in registers.
  bool isAddressedAgain = false;
  mlir::Type bytes = {};  ///< of 8-bit elements that a product widens; null for those of its own type
  bool isOfLanes = false; ///< read by loads of each lane, not by the products of a warp
  /// The address in shared memory, an i32.
  mlir::Value getAddress(WarpBuilder &wb, mlir::Value byteOffset = {}) const;
  /// Address of chunk `chunk` of row `row` + `rowsBelow`, where `rowsBelow` is a multiple of 8 and becomes a constant
  /// offset.
  mlir::Value at(WarpBuilder &wb, mlir::Value row, mlir::Value chunk, int64_t rowsBelow = 0) const;
  /// Address of chunk `number` of a tile in one panel, whose rows' chunks are counted row after row. `chunksBehind` is
  /// a multiple of those of 8 rows, or any number without a swizzle, and becomes a constant offset.
  mlir::Value atChunk(WarpBuilder &wb, mlir::Value number, int64_t chunksBehind) const;
  /// Address in an f32 tile without a swizzle: column `column` + `columnsBehind` of row `row`.
  mlir::Value atNumber(WarpBuilder &wb, int64_t row, mlir::Value column, int64_t columnsBehind = 0) const;
};

/// The rows of a tile of attn.copy_statistics.
enum class Statistic { Lse, LogSum, Delta, Exponent };

/// True where ds = p (scale dw - scale delta), so weights need not wait for dw.
bool isLinear(ScoreGradientsOp op);
/// The factor of delta in attn.copy_statistics: -scale for linear gradients, -1 for others.
double getDeltaFactor(ScoreGradientsOp op);

/// The stages of a tile in a kernel with a producer, and the index of the next one (Producer.cpp).
class TileRing {
public:
  /// Created at the entry of the kernel.
  TileRing(WarpBuilder &wb, const SharedTile &tile, int64_t stages, int64_t barriers);
  /// Initialises the barriers; run by one thread.
  void initialise(WarpBuilder &wb, int64_t consumers) const;
  /// Waits until the next stage is full, or empty; or the one after it (`isAhead`).
  void waitFor(WarpBuilder &wb, bool isEmpty, bool isAhead = false) const;
  /// The next stage, or the one after it.
  SharedTile getTile(WarpBuilder &wb, bool isAhead = false) const;
  /// Fills the next stage from a box of a tensor, once it is empty; `begin` has the outermost dimension first. Run by a
  /// thread, or by the first lane of a warp.
  void copyBox(WarpBuilder &wb, mlir::Value map, llvm::ArrayRef<mlir::Value> begin, int64_t elementBytes,
               bool isWarp) const;
  /// Fills the next stage by the lanes of a warp, once it is empty.
  void fill(WarpBuilder &wb, llvm::function_ref<void(const SharedTile &tile, mlir::Value lane)> body) const;
  /// Sets rows of a stage to 0: those from `count` on, and those for which `isEmpty` holds. The consumers do it
  /// together and then see the result. `isEmpty` may be null.
  void clearRows(WarpBuilder &wb, const SharedTile &stage, mlir::Value count,
                 llvm::function_ref<mlir::Value(mlir::Value row)> isEmpty) const;
  /// Marks the next stage as read by the warp.
  void release(WarpBuilder &wb) const;

private:
  mlir::Value getCount(WarpBuilder &wb, bool isAhead = false) const;
  mlir::Value getBarrier(WarpBuilder &wb, bool isEmpty, bool isAhead = false) const;
  void advance(WarpBuilder &wb) const;

  SharedTile tile;
  int64_t stages, barriers; ///< offset of the barriers
  mlir::Value count;        ///< stages that the thread has filled or read
};

/// The turns of a block with a producer (Order.cpp): consumer warps wait for full stages, and pass turns on as empty
/// ones.
struct OrderRing {
  TileRing ring;
  mlir::Value current; ///< for the producer: pointer to the address of its turn's count; null without a turn
};

/// Reads 16 x 16 blocks of a tile with ldmatrix.x4, or stores them with stmatrix.x4, as matrices of eight rows by one
/// chunk. The hardware takes the two registers of a B operand as one aligned pair, so in another order they would be
/// copied.
class MatrixReader {
public:
  enum class Order {
    RowsFirst,   ///< both matrices of the lower chunk, then those of the higher one: A, and transposed B
    ChunksFirst, ///< both matrices of the upper eight rows, then those of the lower ones: B
  };
  MatrixReader(WarpBuilder &wb, const SharedTile &tile, mlir::Value firstRow, Order order = Order::RowsFirst);
  /// With two `matrices`, the first two of four.
  Values load(WarpBuilder &wb, int64_t row, int64_t chunk, bool isTransposed, int64_t matrices = 4) const;
  /// Of matrices that are ordered as the reader's.
  void store(WarpBuilder &wb, int64_t row, int64_t chunk, llvm::ArrayRef<mlir::Value> matrices) const;

private:
  mlir::Value getPointer(WarpBuilder &wb, int64_t row, int64_t chunk) const;

  SharedTile tile;
  Values variants; ///< addresses by the swizzled part of an even chunk
};

/// The value of row `row` in a view with one value per row, such as lse. Rows beyond the last one read the last one.
mlir::Value loadRowNumber(WarpBuilder &wb, const GlobalView &view, unsigned rowDim, mlir::Value row);

/// The scores of a key tile, later its weights, in the registers of the threads.
struct ScoreTile {
  static constexpr llvm::StringLiteral kName = "the scores of an attn.product in registers";
  Values values; ///< (fragment, block of 8 keys, element)
  int64_t fragments = 0, keyBlocks = 0;
  mlir::Value keyCount;    ///< null for a full tile
  bool hasPadding = false; ///< scores of keys from keyCount on are not -inf yet
  Values lse;              ///< for gradients: lse of the thread's rows, if these are queries that may have no keys

  ScoreTile() = default;
  /// The tile of `op`, an op on scores, without values.
  ScoreTile(WarpBuilder &wb, mlir::Operation *op);
  size_t at(int64_t fragment, int64_t keyBlock, int64_t element) const {
    return (fragment * keyBlocks + keyBlock) * kFragmentElements + element;
  }
  /// Calls `body` for each score of a thread with its index in `values`, its row index in the thread, and its key.
  void forEach(WarpBuilder &wb, llvm::function_ref<void(size_t i, int64_t row, mlir::Value key)> body) const;
};

/// Largest |m log2 e| whose rounding error is at most 2^-8, no more than that of a score of this size.
constexpr double kLargestProduct = 65536;

/// The row maxima of a thread from attn.row_max, which rescale and weights use.
struct RowTile {
  static constexpr llvm::StringLiteral kName = "the maxima of an attn.row_max in registers";
  struct Row {
    mlir::Value oldMax, newMax; ///< scaled; -inf where no key is kept; the new one may lag behind
    mlir::Value subtracted;     ///< newMax, or 0 where that is -inf
    mlir::Value product;        ///< for raw scores: subtracted * log2 e
    mlir::Value isLarge;        ///< for raw scores: the product's rounding error is too large for an exponent
    mlir::Value shift;          ///< for raw scores: the product, or 0 where it is too large and already subtracted
  };
  llvm::SmallVector<Row> rows;
  std::optional<double> scale; ///< for raw scores: the scale, which is left to exp2
  Values exponents;            ///< the scores of these maxima; those too large for one multiply-add are shifted
};

/// Weights, rounded and packed for a product of another iteration.
struct PackedWeights {
  static constexpr llvm::StringLiteral kName = "rounded weights in registers";
  RegisterArray registers;
  Values lse; ///< of the scores' tile
};

/// The factors of acc by row of the thread, once acc is complete; used where `any` is true.
struct RescaleFactors {
  static constexpr llvm::StringLiteral kName = "the factors of an attn.rescale_rows";
  mlir::Value any;
  Values alphas;
};

/// A product of an asynchronous instruction that has been issued, and the registers that it writes.
struct StartedProduct {
  static constexpr llvm::StringLiteral kName = "the result of an attn.product with async";
  Values acc;
  std::variant<ScoreTile, TileState> output;
};

/// The result of `product`, where `wait`, an op of its block, waits for it.
Values finishStarted(WarpBuilder &wb, const StartedProduct &started, mlir::Value product, mlir::Operation *wait);

/// The lowering of a tile in registers; each kind has the name that diagnostics use. States, row maxima and row sums
/// (RegisterArray) stay in their registers from op to op; the others are values.
using LoweredTile = std::variant<std::monostate, ScoreTile, RowTile, TileState, RegisterArray, PackedWeights,
                                 RescaleFactors, StartedProduct>;

class Products;

/// Lowers the accumulations after `before`, where `isKept` holds, to global memory (WarpAccumulations.cpp); null is the
/// start of the block.
void lowerAccumulations(WarpBuilder &wb, mlir::Operation *before, llvm::function_ref<mlir::Value()> isKept);

/// The state of lowering a kernel.
class KernelLowering {
public:
  KernelLowering(mlir::RewriterBase &rewriter, mlir::gpu::GPUFuncOp kernel, const GpuInfo &gpu);
  mlir::LogicalResult run();

private:
  void startEarly();
  mlir::LogicalResult placeTiles();
  void becomeFunction();
  /// Lowers the roles of a kernel with a producer to branches (Producer.cpp). Returns the consumers' loop over tiles;
  /// null without one.
  mlir::FailureOr<mlir::scf::ForOp> lowerRoles();
  const TileRing *findRing(mlir::Value memref) const;
  mlir::LogicalResult copyByProducer(CopyOp op);
  mlir::LogicalResult lowerStore(CopyOp op, const SharedTile &tile);
  mlir::LogicalResult waitForStages(WaitOp op);
  mlir::LogicalResult lowerClearRows(ClearRowsOp op);
  mlir::LogicalResult lowerCopyStatistics(CopyStatisticsOp op);
  mlir::LogicalResult lowerRelease(ReleaseOp op);
  void takeTickets();
  mlir::LogicalResult lowerAwaitOrder(AwaitOrderOp op);
  mlir::LogicalResult lowerPassOrder(PassOrderOp op);
  /// Passes the producer's turn on, once the consumers are done with it; run by one of its threads.
  void passTurn();
  mlir::LogicalResult lowerExchange(ExchangeOp op);
  /// The buffer that was written last.
  SharedTile getExchanged(const SharedTile &tile);
  mlir::LogicalResult lowerAddRows(AddRowsOp op);
  mlir::LogicalResult lowerTakeTurn();
  mlir::LogicalResult lowerPassTurn(PassTurnOp op);
  /// Lowers the ops of a block in order, including its loops and branches.
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
  /// Lowers a product of a tile of attn.exchange.
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
  /// Erases tokens and tiles, whose values are no longer used.
  void eraseTiles();

  /// The tile in shared memory of a memref or of the source of a view; nothing for global memory.
  std::optional<SharedTile> findTile(mlir::Value memref);
  /// The lowering of `tile`, an operand of `op`; null, with an error, for another kind of tile. Valid until the next
  /// tile is added.
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
  mlir::Type queryType; ///< of elements
  bool hasDependentLaunches = false, isDependent = false;
  bool isProducerWarp = false; ///< a warp has the producer's role, for statistics, not a thread
  llvm::DenseMap<mlir::Value, SharedTile> tiles;
  llvm::DenseMap<mlir::Value, LoweredTile> lowered; ///< by tile in registers
  llvm::SmallVector<mlir::Operation *> loweredOps;
  mlir::scf::ForOp tileLoop;                    ///< in consumers; the walk does not reach it
  llvm::MapVector<mlir::Value, TileRing> rings; ///< of K and V, by tile
  std::optional<OrderRing> order;               ///< for blocks that add in turn, with a producer
  mlir::Value exchanges;                        ///< pointer to the count of attn.exchange; null where there is none
};

/// Bufferisation puts tiles on the stack, or allocates them where their size is known only at run time.
bool isBuffer(mlir::Operation *op);
/// The memref at the root of the views of `memref`.
mlir::Value getRoot(mlir::Value memref);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_WARPTILE_H
