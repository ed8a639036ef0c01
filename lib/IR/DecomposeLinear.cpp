//===- DecomposeLinear.cpp - linear attention, token by token -------------===//
//
// The reference of attn.linear: a loop over sequences, where they are packed or
// have slots, and in it one over tokens; each token is a few linalg ops on the
// state of all heads.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecomposeLinear.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

using enum DimKind;

Values attn::buildLoop(OpBuilder &b, Location loc, Value lower, Value upper, ValueRange init,
                       function_ref<Values(Value, ValueRange)> body) {
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto loop =
      scf::ForOp::create(b, loc, lower, upper, one, init, [&](OpBuilder &, Location, Value iv, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(iv.getParentBlock());
        scf::YieldOp::create(b, loc, body(iv, carried));
      });
  return Values(loop.getResults());
}

Values attn::buildSequences(OpBuilder &b, Location loc, Value sums, Value slots, ArrayRef<OpFoldResult> sizes,
                            unsigned token, ValueRange init,
                            function_ref<Values(const LinearTokens &, ValueRange)> body) {
  LinearTokens tokens;
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  tokens.first = zero;
  tokens.end = getValueOrCreateConstantIndexOp(b, loc, sizes[token]);
  if (!sums && !slots)
    return body(tokens, init);
  auto read = [&](Value list, Value at) -> Value {
    Value number = tensor::ExtractOp::create(b, loc, list, ValueRange{at});
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), number);
  };
  Value count = getValueOrCreateConstantIndexOp(b, loc, sizes[0]);
  return buildLoop(b, loc, zero, count, init, [&](Value sequence, ValueRange carried) {
    tokens.sequence = sequence;
    if (sums) {
      tokens.first = read(sums, sequence);
      Value one = arith::ConstantIndexOp::create(b, loc, 1);
      tokens.end = read(sums, arith::AddIOp::create(b, loc, sequence, one));
    }
    if (slots) {
      Value slot = read(slots, sequence);
      tokens.isNone = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, slot, zero);
      tokens.slot = arith::MaxSIOp::create(b, loc, slot, zero); // the first one for none
    }
    return body(tokens, carried);
  });
}

namespace {
/// The loops of one op. Slices are of one token, and of one sequence where there is a loop over these.
class LinearFormula {
public:
  LinearFormula(OpBuilder &builder, LinearOp op, Type type)
      : b(builder), loc(op.getLoc()), op(op), f(builder, op, type), specs(getOperandSpecs(op)), whole(f.sizes),
        offsets(f.sizes.size(), builder.getIndexAttr(0)), sizes(f.sizes) {
    for (auto [i, spec] : llvm::enumerate(specs))
      positions[spec.name] = i;
  }

  Values build() {
    return buildSequences(b, loc, op.getCuSeqlens(), op.getSlots(), whole, f.numBatch, {op.getOutput(), op.getState()},
                          [&](const LinearTokens &tokens, ValueRange carried) {
                            if (tokens.sequence) {
                              offsets[0] = tokens.sequence;
                              sizes[0] = f.sizes[0] = b.getIndexAttr(1);
                            }
                            return buildSequence(tokens, carried);
                          });
  }

private:
  AffineMap mapOf(StringRef name) { return f.maps[positions.lookup(name)]; }
  Slice sliceOf(StringRef name) { return getOperandSlice(b, loc, mapOf(name), offsets, sizes); }
  Value slice(StringRef name) { return createSlice(b, loc, op->getOperand(positions.lookup(name)), sliceOf(name)); }
  Value insert(Value part, Value into, const Slice &slice) {
    if (part.getType() == into.getType() &&
        llvm::all_of(slice.offsets, [](auto x) { return isConstantIntValue(x, 0); }))
      return part;
    return tensor::InsertSliceOp::create(b, loc, part, into, slice.offsets, slice.sizes, slice.strides);
  }

  /// The state of a sequence, or of its slot.
  Slice getStateSlice(Value slot) {
    auto saved = offsets[0];
    if (slot)
      offsets[0] = slot;
    Slice slice = sliceOf("state");
    offsets[0] = saved;
    return slice;
  }

  Values buildSequence(const LinearTokens &range, ValueRange results) {
    AffineMap map = f.getMap({HeadSize, ValueSize}), outer = mapOf("state");
    Value isNone = range.isNone;
    Slice place = getStateSlice(range.slot);
    Value old = createSlice(b, loc, results[1], place);
    Value state = f.generic({HeadSize, ValueSize}, {}, {old}, {outer}, f.empty({HeadSize, ValueSize}), map,
                            [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
                              if (!isNone)
                                return x[0];
                              Value zero = createFloatConstant(nested, loc, f.type, 0);
                              return arith::SelectOp::create(nested, loc, isNone, zero, x[0]);
                            });
    Values tokens =
        buildLoop(b, loc, range.first, range.end, {results[0], state}, [&](Value token, ValueRange carried) {
          offsets[f.numBatch] = token;
          sizes[f.numBatch] = f.sizes[f.numBatch] = b.getIndexAttr(1);
          return buildToken(carried[0], carried[1]);
        });
    offsets[f.numBatch] = b.getIndexAttr(0);
    sizes[f.numBatch] = f.sizes[f.numBatch] = whole[f.numBatch];
    Value kept = f.generic({HeadSize, ValueSize}, {}, {tokens[1]}, {map}, old, outer,
                           [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
                             return isNone ? arith::SelectOp::create(nested, loc, isNone, x[1], x[0]) : x[0];
                           });
    return {tokens[0], insert(kept, results[1], place)};
  }

  /// query or key over channels, divided by sqrt(sum x^2 + eps).
  Value buildRow(StringRef name) {
    Value row = slice(name);
    AffineMap map = mapOf(name), rowMap = f.getMap({HeadSize}), numberMap = f.getMap({});
    if (!op.getNormalize())
      return f.generic({HeadSize}, {}, {row}, {map}, f.empty({HeadSize}), rowMap,
                       [](OpBuilder &, Location, ValueRange x) { return x[0]; });
    Value sum = f.generic({HeadSize}, {HeadSize}, {row}, {map}, f.filled({}, 0), numberMap,
                          [](OpBuilder &nested, Location loc, ValueRange x) -> Value {
                            Value square = arith::MulFOp::create(nested, loc, x[0], x[0]);
                            return arith::AddFOp::create(nested, loc, x[1], square);
                          });
    return f.generic({HeadSize}, {}, {row, sum}, {map, numberMap}, f.empty({HeadSize}), rowMap,
                     [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
                       Value eps = createFloatConstant(nested, loc, f.type, op.getNormalize()->convertToDouble());
                       Value norm = math::SqrtOp::create(nested, loc, arith::AddFOp::create(nested, loc, x[1], eps));
                       return arith::DivFOp::create(nested, loc, x[0], norm);
                     });
  }

  /// One token: the output with its row, and the new state.
  Values buildToken(Value output, Value state) {
    const SmallVector<DimKind, 2> both = {HeadSize, ValueSize};
    AffineMap map = f.getMap(both), rowMap = f.getMap({HeadSize}), columnMap = f.getMap({ValueSize});
    auto multiply = [](OpBuilder &nested, Location loc, Value x, Value y) -> Value {
      return arith::MulFOp::create(nested, loc, x, y);
    };
    auto add = [](OpBuilder &nested, Location loc, Value x, Value y) -> Value {
      return arith::AddFOp::create(nested, loc, x, y);
    };
    Value query = buildRow("query"), key = buildRow("key"), decayed = state;
    if (op.getDecay()) // D = exp(g) S
      decayed = f.generic(both, {}, {state, slice("decay")}, {map, mapOf("decay")}, f.empty(both), map,
                          [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
                            return multiply(nested, loc, x[0], math::ExpOp::create(nested, loc, x[1]));
                          });
    Values inputs = {decayed, key, slice("value")};
    SmallVector<AffineMap> maps = {map, rowMap, mapOf("value")};
    if (op.getBeta()) {
      inputs.push_back(slice("beta"));
      maps.push_back(mapOf("beta"));
    }
    if (op.getBeta() || op.getErase()) { // e = D^T a, a = -beta k
      StringRef factor = op.getBeta() ? "beta" : "erase";
      Value erased = f.generic(both, {HeadSize}, {op.getBefore() ? state : decayed, key, slice(factor)},
                               {map, rowMap, mapOf(factor)}, f.filled({ValueSize}, 0), columnMap,
                               [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
                                 Value a = x[2];
                                 if (op.getBeta())
                                   a = multiply(nested, loc, arith::NegFOp::create(nested, loc, x[2]), x[1]);
                                 return add(nested, loc, x[3], multiply(nested, loc, x[0], a));
                               });
      inputs.push_back(erased);
      maps.push_back(columnMap);
    }
    if (op.getWrite()) {
      inputs.push_back(slice("write"));
      maps.push_back(mapOf("write"));
    }
    // S = D + w e^T + k v^T
    Value next = f.generic(both, {}, inputs, maps, f.empty(both), map,
                           [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
                             Value value = op.getBeta() ? multiply(nested, loc, x[2], x[3]) : x[2];
                             Value sum = add(nested, loc, x[0], multiply(nested, loc, x[1], value));
                             if (!op.getBeta() && !op.getErase())
                               return sum;
                             Value e = x[op.getBeta() ? 4 : 3], w = op.getWrite() ? x[4] : x[1];
                             return add(nested, loc, sum, multiply(nested, loc, w, e));
                           });
    // o = scale S^T q
    Value read = f.generic(both, {HeadSize}, {next, query}, {map, rowMap}, f.filled({ValueSize}, 0), columnMap,
                           [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
                             return add(nested, loc, x[2], multiply(nested, loc, x[0], x[1]));
                           });
    Slice place = sliceOf("output");
    Value row = f.generic({ValueSize}, {}, {read}, {columnMap}, createSlice(b, loc, output, place), mapOf("output"),
                          [&](OpBuilder &nested, Location loc, ValueRange x) -> Value {
                            Value scale = createFloatConstant(nested, loc, f.type, op.getScaleNumber());
                            return multiply(nested, loc, x[0], scale);
                          });
    return {insert(row, output, place), next};
  }

  OpBuilder &b;
  Location loc;
  LinearOp op;
  Formula f;
  SmallVector<OperandSpec> specs;
  SmallVector<OpFoldResult> whole, offsets, sizes;
  llvm::StringMap<unsigned> positions; ///< of an operand, by its name in the table
};
} // namespace

Values attn::decomposeLinear(OpBuilder &builder, LinearOp op, Type type) {
  return LinearFormula(builder, op, type).build();
}
