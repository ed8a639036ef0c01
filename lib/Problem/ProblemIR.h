//===- ProblemIR.h - a problem while its IR is built ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_PROBLEM_PROBLEMIR_H
#define ATTN_LIB_PROBLEM_PROBLEMIR_H

#include "attn/IR/Words.h"
#include "attn/Problem/ProblemText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"

namespace attn {

/// A dimension: a constant, or kDynamic and which dynamic size it is.
struct Dim {
  enum Name { B, Hq, Sq, Sk, Table, None };
  int64_t size = 1;
  Name name = None;
};
using Dims = llvm::SmallVector<Dim>;

struct Tensor {
  mlir::Value value;
  Dims dims;
};

struct Result {
  llvm::StringRef name;
  Dims dims;
  mlir::Type element;
};

/// Arguments.cpp has arguments and results, ProblemIR.cpp the function, sizes, views and regions; ProblemOps.cpp the
/// attn ops, KeySums.cpp sums of weights a key.
class ProblemBuilder : public mlir::ImplicitLocOpBuilder {
public:
  ProblemBuilder(mlir::MLIRContext &context, const Problem &problem);
  /// Null if a region or a type is not valid MLIR, which has been reported.
  mlir::OwningOpRef<mlir::ModuleOp> build(llvm::StringRef name);

private:
  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    return Op::create(*this, std::forward<Args>(args)...)->getResult(0);
  }

  // Arguments and results, in their order
  Dims getRows(Dim heads, Dim length, int64_t columns) const;
  Dims getRowDims() const;
  Dims getKeyDims() const;
  Dims getCacheDims(int64_t columns) const;
  Dims getScaleDims() const;
  mlir::Type getArgumentType(const WordInfo &word);
  mlir::Value addArgument(llvm::StringRef name, mlir::Type type, bool isStrided = false);
  void addArguments();
  void addResults();

  // Types and values
  mlir::RankedTensorType getType(const Dims &dims, mlir::Type element);
  llvm::SmallVector<mlir::OpFoldResult> fold(const Dims &dims);
  mlir::Value find(llvm::StringRef argument) const { return values.lookup(argument); }
  void addSizes();
  void addSize(const Dim &dim, llvm::StringRef tensor, unsigned position);
  Tensor addEmpty(const Dims &dims, mlir::Type element);
  Tensor addFilled(const Dims &dims, mlir::Type element);
  Tensor addPages(llvm::StringRef cache, const Dims &dims);
  Tensor addSplit(const Tensor &packed, const Dims &dims);
  Tensor addSplitHeads(const Tensor &packed, const Dim &length, int64_t heads, int64_t columns) {
    return addSplit(packed, {b, length, {heads}, {columns}});
  }
  mlir::Value addCollapsed(mlir::Value value, const Dims &dims, unsigned first);

  // Regions of the user
  void setRegion(mlir::Region &region, llvm::StringRef text, bool hasKeyHeads);
  void removeKeyHeads(mlir::Region &region);

  // Ops
  /// Creates an op with the operands that are not null, and the given words that the problem has.
  template <typename Op>
  Op createOp(mlir::TypeRange results, std::initializer_list<std::pair<unsigned, mlir::Value>> operands,
              unsigned numRegions, llvm::function_ref<bool(const WordInfo &)> isAsked);
  mlir::Value findOperand(const WordInfo &word) const;
  void addSdpa();
  void addKeySums(mlir::Value max, mlir::Value logSum);
  Tensor addKeySumsInit();
  void addKeySumsResult(const Tensor &sums);
  void addChain();
  bool widensChain() const;
  mlir::Value addScores();
  mlir::Value addWeights(mlir::Value scores);
  void addOutput(mlir::Value weights);
  Tensor addWideRows(const Tensor &rows, unsigned scale, mlir::Type to);
  /// An elementwise op; in another float type if the init has one.
  mlir::Value addGeneric(llvm::ArrayRef<mlir::Value> inputs, llvm::ArrayRef<mlir::AffineMap> maps, mlir::Value init,
                         llvm::function_ref<mlir::Value(mlir::ValueRange)> build);
  mlir::Value addCast(mlir::Value value, mlir::Value init);
  mlir::Value castFloat(mlir::Value value, mlir::Type to);

  // Maps over the domain (batch, head, query, key, head size, value size), the chain's without one of the last two
  enum Loop : unsigned { B, H, I, J, D, E };
  mlir::AffineExpr getKvHead();
  mlir::AffineMap mapRows(unsigned rank, mlir::AffineExpr head, unsigned row, unsigned column, bool isHeadMajor);
  mlir::AffineMap mapScores(unsigned rank, unsigned count);
  llvm::SmallVector<mlir::AffineMap> mapInputs();

  const Problem &problem;
  mlir::func::FuncOp function;
  mlir::Type element, kvElement, wide, outElement;
  /// The layouts of q and out, and of k and v as sdpa reads them.
  bool isHeadMajor, isKeyHeadMajor;
  Dim b, hq, hkv, sq, sk;
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttrs;
  llvm::SmallVector<Result> results;
  llvm::StringMap<mlir::Value> values; ///< arguments except captures, and results once they are built
  llvm::StringMap<mlir::Value> olds;   ///< the arguments with results of other keys, which results merge with
  llvm::SmallVector<mlir::Value> captures;
  std::array<mlir::Value, 5> sizes;
  Tensor query, key, value;
  llvm::SmallVector<Tensor, 2> scales; ///< of K and V, as sdpa reads them
  bool isWrong = false;
};

template <typename Op>
Op ProblemBuilder::createOp(mlir::TypeRange results, std::initializer_list<std::pair<unsigned, mlir::Value>> operands,
                            unsigned numRegions, llvm::function_ref<bool(const WordInfo &)> isAsked) {
  llvm::SmallVector<std::pair<unsigned, mlir::Value>> all(operands);
#define ATTN_OPERAND(NAME, ...)                                                                                        \
  if constexpr (requires { Op::odsIndex_##NAME; })                                                                     \
    if (const WordInfo &word = getWord(Word::NAME); isAsked(word))                                                     \
      all.push_back({Op::odsIndex_##NAME, findOperand(word)});
#include "attn/Support/Words.def"
  llvm::sort(all, llvm::less_first());
  mlir::OperationState state(getLoc(), Op::getOperationName());
  auto &segments = state.getOrAddProperties<typename Op::Properties>().operandSegmentSizes;
  for (auto [index, operand] : all)
    if (operand) {
      state.addOperands(operand);
      segments[index] = 1;
    }
  state.addTypes(results);
  for (unsigned i = 0; i < numRegions; ++i)
    state.addRegion();
  auto op = mlir::cast<Op>(create(state));
  for (const WordInfo &word : getWords())
    if (word.isAttribute() && isAsked(word))
      if (mlir::Attribute attribute = getWordAttribute(getContext(), problem.words[word.word]))
        op->setAttr(word.name, attribute);
  return op;
}

/// An error if a captured array has the name of an argument or a result.
llvm::Error checkCaptureNames(const Problem &problem);

} // namespace attn

#endif // ATTN_LIB_PROBLEM_PROBLEMIR_H
