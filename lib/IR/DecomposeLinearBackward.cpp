//===- DecomposeLinearBackward.cpp - its gradients, token by token --------===//
//
// The reference of attn.linear_backward: a loop over tokens that keeps the
// states in front of them, and one back, of a few linalg ops a token.
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
#include <map>

using namespace mlir;
using namespace attn;

using enum DimKind;

namespace {
/// A tensor and the dimensions of it behind those of batches.
struct Rows {
  Value tensor;
  AffineMap map;
};
using Body = llvm::function_ref<Value(ImplicitLocOpBuilder &, ValueRange)>;

Value multiply(ImplicitLocOpBuilder &b, ValueRange x) { return arith::MulFOp::create(b, x[0], x[1]); }
Value multiplyAdd(ImplicitLocOpBuilder &b, ValueRange x) { return arith::AddFOp::create(b, x[2], multiply(b, x)); }

class LinearBackwardFormula {
public:
  LinearBackwardFormula(OpBuilder &builder, LinearBackwardOp op, Type type)
      : b(builder), loc(op.getLoc()), op(op), f(builder, op, type), token(f.numBatch), tokens(f.sizes[token]) {
    for (auto [i, spec] : llvm::enumerate(getOperandSpecs(op)))
      positions[spec.name] = i;
  }

  Values build() {
    return buildSequences(b, loc, op.getCuSeqlens(), op.getSlots(), SmallVector<OpFoldResult>(f.sizes), token,
                          op.getDpsInits(), [&](const LinearTokens &range, ValueRange carried) {
                            sequence = range;
                            if (range.sequence)
                              f.sizes[0] = b.getIndexAttr(1);
                            return buildSequence(carried);
                          });
  }

private:
  Values buildSequence(ValueRange gradients) {
    const DimKind both[] = {HeadSize, ValueSize};
    f.sizes[token] = tokens;
    Value states = f.empty({Query, HeadSize, ValueSize});
    f.sizes[token] = b.getIndexAttr(1);
    Value one = arith::ConstantIndexOp::create(b, loc, 1), zero = arith::ConstantIndexOp::create(b, loc, 0);
    Values kept = buildLoop(
        b, loc, sequence.first, sequence.end, {states, convert(operand("state"), "state").tensor},
        [&](Value at, ValueRange carried) {
          setToken(at);
          Rows state = {carried[1], getMap(both)};
          Value next = buildNext(state).tensor;
          return Values{insert(state, carried[0], getMap({Query, HeadSize, ValueSize}), /*isOfSequence=*/true), next};
        });
    Values init(gradients.drop_back());
    init.append({convert(gradients.back(), "dstate").tensor, kept[1]});
    Value count = arith::SubIOp::create(b, loc, sequence.end, sequence.first);
    Value last = arith::SubIOp::create(b, loc, sequence.end, one);
    Values results = buildLoop(b, loc, zero, count, init, [&](Value at, ValueRange carried) {
      setToken(arith::SubIOp::create(b, loc, last, at));
      return buildToken(kept[0], carried);
    });
    results.pop_back();
    AffineMap own = f.maps[positions.lookup("dstate")];
    Slice place = sliceOfState(own);
    Value old = createSlice(b, loc, gradients.back(), place);
    Value part = map(both, {}, {{results.back(), getMap(both)}}, {old, own}, [&](auto &in, ValueRange x) -> Value {
      return sequence.isNone ? arith::SelectOp::create(in, sequence.isNone, x[1], x[0]) : x[0];
    });
    results.back() = insertSlice(part, gradients.back(), place);
    return results;
  }

  AffineMap getMap(ArrayRef<DimKind> dims) { return f.getMap(dims); }
  void setToken(Value at) {
    offsets.assign(f.sizes.size(), b.getIndexAttr(0));
    offsets[token] = at;
    if (sequence.sequence)
      offsets[0] = sequence.sequence;
  }

  /// output = body(inputs, output).
  Value map(ArrayRef<DimKind> loops, ArrayRef<DimKind> reduced, ArrayRef<Rows> inputs, Rows output, Body body) {
    Values tensors;
    SmallVector<AffineMap> maps;
    for (const Rows &input : inputs) {
      tensors.push_back(input.tensor);
      maps.push_back(input.map);
    }
    return f.generic(loops, reduced, tensors, maps, output.tensor, output.map,
                     [&](OpBuilder &nested, Location nestedLoc, ValueRange x) {
                       ImplicitLocOpBuilder inner(nestedLoc, nested);
                       return body(inner, x);
                     });
  }
  Rows compute(ArrayRef<DimKind> dims, ArrayRef<Rows> inputs, Body body) {
    return {map(dims, {}, inputs, {f.empty(dims), getMap(dims)}, body), getMap(dims)};
  }
  /// The sum of products over a dimension of the state, or of rows of one.
  Rows sum(ArrayRef<DimKind> loops, DimKind over, Rows x, Rows y) {
    auto dims = llvm::filter_to_vector(loops, [&](DimKind each) { return each != over; });
    return {map(loops, over, {x, y}, {f.filled(dims, 0), getMap(dims)}, multiplyAdd), getMap(dims)};
  }

  Value operand(StringRef name) { return op->getOperand(positions.lookup(name)); }
  /// The part of the current token, of a tensor of one sequence or of all.
  Slice sliceOf(AffineMap map, bool isOfSequence = false) {
    SmallVector<OpFoldResult> at(offsets);
    if (isOfSequence && sequence.sequence)
      at[0] = b.getIndexAttr(0);
    return getOperandSlice(b, loc, map, at, f.sizes);
  }
  Slice sliceOfState(AffineMap map) {
    SmallVector<OpFoldResult> at(f.sizes.size(), b.getIndexAttr(0));
    if (sequence.sequence)
      at[0] = sequence.slot ? sequence.slot : sequence.sequence;
    return getOperandSlice(b, loc, map, at, f.sizes);
  }
  Value insertSlice(Value part, Value into, const Slice &slice) {
    return part.getType() == into.getType()
               ? part
               : tensor::InsertSliceOp::create(b, loc, part, into, slice.offsets, slice.sizes, slice.strides);
  }
  /// An operand of the current token.
  Rows row(StringRef name) {
    AffineMap own = f.maps[positions.lookup(name)];
    return {createSlice(b, loc, operand(name), sliceOf(own)), own};
  }
  /// The state of the sequence in the type of the formula, 0 where it has no slot.
  Rows convert(Value states, StringRef name) {
    AffineMap own = f.maps[positions.lookup(name)];
    return compute({HeadSize, ValueSize}, {{createSlice(b, loc, states, sliceOfState(own)), own}},
                   [&](ImplicitLocOpBuilder &in, ValueRange x) -> Value {
                     if (!sequence.isNone)
                       return x[0];
                     Value zero = createFloatConstant(in, loc, f.type, 0);
                     return arith::SelectOp::create(in, sequence.isNone, zero, x[0]);
                   });
  }
  /// `x` in the place of the current token, in its type.
  Value insert(Rows x, Value into, AffineMap own, bool isOfSequence = false) {
    Slice slice = sliceOf(own, isOfSequence);
    SmallVector<DimKind, 2> loops;
    for (DimKind kind : {HeadSize, ValueSize})
      if (own.isFunctionOfDim(getDomainPosition(op, kind)))
        loops.push_back(kind);
    Value part =
        map(loops, {}, {x}, {createSlice(b, loc, into, slice), own}, [](auto &, ValueRange y) { return y[0]; });
    return insertSlice(part, into, slice);
  }

  /// A row of query or key divided by its length sqrt(sum x^2 + eps), and the length.
  std::pair<Rows, Rows> buildUnit(StringRef name) {
    Rows own = row(name);
    if (!op.getNormalize())
      return {compute({HeadSize}, {own}, [](auto &, ValueRange x) { return x[0]; }), {}};
    Rows squares = sum({HeadSize}, HeadSize, own, own);
    Rows length = compute({}, {squares}, [&](ImplicitLocOpBuilder &in, ValueRange x) -> Value {
      Value eps = createFloatConstant(in, loc, f.type, op.getNormalize()->convertToDouble());
      return math::SqrtOp::create(in, arith::AddFOp::create(in, x[0], eps));
    });
    return {compute({HeadSize}, {own, length},
                    [](auto &in, ValueRange x) -> Value { return arith::DivFOp::create(in, x[0], x[1]); }),
            length};
  }

  /// D = exp(g) S
  Rows decay(Rows state) {
    if (!op.getDecay())
      return state;
    return compute({HeadSize, ValueSize}, {state, row("decay")}, [](ImplicitLocOpBuilder &in, ValueRange x) -> Value {
      return arith::MulFOp::create(in, x[0], math::ExpOp::create(in, x[1]));
    });
  }
  /// beta v, -beta k and k in the place of value, erase and write.
  Rows buildValue() {
    return op.getBeta() ? compute({ValueSize}, {row("value"), row("beta")}, multiply) : row("value");
  }
  Rows buildErase(Rows key) {
    if (!op.getBeta())
      return op.getErase() ? row("erase") : Rows();
    return compute({HeadSize}, {key, row("beta")}, [](ImplicitLocOpBuilder &in, ValueRange x) -> Value {
      return arith::NegFOp::create(in, multiply(in, x));
    });
  }

  /// S' = D + w e^T + k v^T
  Rows buildNext(Rows state) {
    const DimKind both[] = {HeadSize, ValueSize};
    Rows key = buildUnit("key").first, decayed = decay(state), erase = buildErase(key), next = decayed;
    next.tensor = map(both, {}, {key, buildValue(), decayed}, {f.empty(both), getMap(both)}, multiplyAdd);
    if (erase.tensor) {
      Rows erased = sum(both, HeadSize, op.getBefore() ? state : decayed, erase);
      next.tensor =
          map(both, {}, {op.getWrite() ? row("write") : key, erased, next}, {f.empty(both), getMap(both)}, multiplyAdd);
    }
    next.map = getMap(both);
    return next;
  }

  /// (dn - n (n . dn)) / r
  Rows undoUnit(Rows gradient, const std::pair<Rows, Rows> &unit) {
    if (!op.getNormalize())
      return gradient;
    Rows along = sum({HeadSize}, HeadSize, unit.first, gradient);
    return compute({HeadSize}, {gradient, unit.first, along, unit.second},
                   [](ImplicitLocOpBuilder &in, ValueRange x) -> Value {
                     Value part = arith::MulFOp::create(in, x[1], x[2]);
                     return arith::DivFOp::create(in, arith::SubFOp::create(in, x[0], part), x[3]);
                   });
  }
  Rows add(ArrayRef<DimKind> dims, Rows x, Rows y) {
    return compute(dims, {x, y}, [](auto &in, ValueRange z) -> Value { return arith::AddFOp::create(in, z[0], z[1]); });
  }

  /// One token back: `carried` are the gradients, the cotangent of the state behind it, and that state.
  Values buildToken(Value states, ValueRange carried) {
    const DimKind both[] = {HeadSize, ValueSize};
    AffineMap kept = getMap({Query, HeadSize, ValueSize});
    Rows state = compute(both, {{createSlice(b, loc, states, sliceOf(kept, /*isOfSequence=*/true)), kept}},
                         [](auto &, ValueRange x) { return x[0]; });
    Rows next = {carried.back(), getMap(both)}, dnext = {carried.drop_back().back(), getMap(both)};
    auto query = buildUnit("query"), key = buildUnit("key");
    Rows value = buildValue(), erase = buildErase(key.first), decayed = decay(state);
    auto scale = [&](ImplicitLocOpBuilder &in, Value x) -> Value {
      return arith::MulFOp::create(in, x, createFloatConstant(in, loc, f.type, op.getScaleNumber()));
    };
    Rows dout = compute({ValueSize}, {row("dout")}, [&](auto &in, ValueRange x) { return scale(in, x[0]); });
    std::map<StringRef, Rows> found;
    // dS += scale q dO^T, dq = scale S' dO, dk = dS v, dv = dS^T k
    found["dquery"] = sum(both, ValueSize, next, dout);
    dnext = compute(both, {query.first, dout, dnext}, multiplyAdd);
    Rows dkey = sum(both, ValueSize, dnext, value), dvalue = sum(both, HeadSize, dnext, key.first);
    Rows ddecayed = dnext, dread;
    if (erase.tensor) { // de = dS^T b, db = dS e, da = R de, dR = a de^T
      Rows read = op.getBefore() ? state : decayed;
      Rows derased = sum(both, HeadSize, dnext, op.getWrite() ? row("write") : key.first);
      Rows dwrite = sum(both, ValueSize, dnext, sum(both, HeadSize, read, erase));
      found["derase"] = sum(both, ValueSize, read, derased);
      dread = compute(both, {erase, derased}, multiply);
      if (!op.getBefore())
        ddecayed = add(both, dnext, dread);
      if (op.getWrite())
        found["dwrite"] = dwrite;
      else
        dkey = add({HeadSize}, dkey, dwrite);
    }
    if (op.getBeta()) { // a = -beta k
      Rows along = sum({HeadSize}, HeadSize, key.first, found["derase"]);
      Rows own = sum({ValueSize}, ValueSize, row("value"), dvalue);
      found["dbeta"] = compute({}, {own, along},
                               [](auto &in, ValueRange x) -> Value { return arith::SubFOp::create(in, x[0], x[1]); });
      dkey = compute({HeadSize}, {found["derase"], row("beta"), dkey},
                     [](ImplicitLocOpBuilder &in, ValueRange x) -> Value {
                       return arith::SubFOp::create(in, x[2], multiply(in, x));
                     });
      dvalue = compute({ValueSize}, {dvalue, row("beta")}, multiply);
    }
    found["dquery"] = undoUnit(found["dquery"], query);
    found["dkey"] = undoUnit(dkey, key);
    found["dvalue"] = dvalue;
    Rows dstate = ddecayed;
    if (op.getDecay()) { // dg = sum dD * D, dS = exp(g) dD
      Rows channels = sum(both, ValueSize, ddecayed, decayed);
      found["ddecay"] = channels;
      if (!op.hasChannelDecay()) {
        Value total = map({HeadSize}, {HeadSize}, {channels}, {f.filled({}, 0), getMap({})},
                          [](auto &in, ValueRange x) -> Value { return arith::AddFOp::create(in, x[0], x[1]); });
        found["ddecay"] = {total, getMap({})};
      }
      dstate = decay(ddecayed);
    }
    if (op.getBefore())
      dstate = add(both, dstate, dread);
    Values results;
    SmallVector<OperandSpec> specs = getOperandSpecs(op);
    for (auto [into, spec] : llvm::zip(carried.drop_back(2), ArrayRef(specs).take_back(carried.size() - 1)))
      results.push_back(insert(found.at(spec.name), into, f.maps[positions.lookup(spec.name)]));
    results.append({dstate.tensor, state.tensor});
    return results;
  }

  OpBuilder &b;
  Location loc;
  LinearBackwardOp op;
  Formula f;
  unsigned token;
  OpFoldResult tokens;
  LinearTokens sequence;
  SmallVector<OpFoldResult> offsets;   ///< of the current token
  llvm::StringMap<unsigned> positions; ///< of an operand, by its name in the table
};
} // namespace

Values attn::decomposeLinearBackward(OpBuilder &builder, LinearBackwardOp op, Type type) {
  return LinearBackwardFormula(builder, op, type).build();
}
