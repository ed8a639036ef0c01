//===- ProblemIR.cpp - problems as IR -------------------------------------===//
//
// The function, sizes, views and regions. Layouts are maps; packed layouts
// (batch, row, head * column) are reshapes, which are views in memory; pages
// are attn.gather_pages, which the tiler reads through.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProblemIR.h"
#include "LinearProblem.h"

#include "attn/IR/GradientAttrs.h"
#include "attn/Support/Nesting.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Types and values
//===----------------------------------------------------------------------===//

ProblemBuilder::ProblemBuilder(MLIRContext &context, const Problem &problem)
    : ImplicitLocOpBuilder(UnknownLoc::get(&context), &context), problem(problem),
      element(parseType(printElement(problem.element), &context)),
      kvElement(parseType(printKvElement(problem), &context)), wide(getAccumulationType(element)),
      outElement(problem.isResultWide ? wide : element), isHeadMajor(problem.layout == Problem::Layout::BHSD),
      isKeyHeadMajor(isHeadMajor || problem.paged), b{problem.sizes.b, Dim::B}, hq{problem.sizes.hq, Dim::Hq},
      hkv{problem.sizes.hkv, Dim::Hq}, sq{problem.sizes.sq, Dim::Sq}, sk{problem.sizes.sk, Dim::Sk} {}

RankedTensorType ProblemBuilder::getType(const Dims &dims, Type element) {
  SmallVector<int64_t> shape;
  for (const Dim &dim : dims)
    shape.push_back(dim.size == Problem::kDynamic ? ShapedType::kDynamic : dim.size);
  return RankedTensorType::get(shape, element);
}

SmallVector<OpFoldResult> ProblemBuilder::fold(const Dims &dims) {
  return llvm::map_to_vector(dims, [&](const Dim &dim) -> OpFoldResult {
    return dim.size == Problem::kDynamic ? OpFoldResult(sizes[dim.name]) : getIndexAttr(dim.size);
  });
}

void ProblemBuilder::addSize(const Dim &dim, StringRef tensor, unsigned position) {
  if (dim.size == Problem::kDynamic)
    sizes[dim.name] = make<tensor::DimOp>(find(tensor), int64_t(position));
}

/// The values of the dynamic sizes, from the arguments that have them.
void ProblemBuilder::addSizes() {
  bool isPacked = problem.layout == Problem::Layout::Varlen;
  unsigned row = isHeadMajor ? 2 : isPacked ? 0 : 1;
  if (!isPacked)
    addSize(b, "q", 0);
  else if (problem.paged)
    addSize(b, "block_table", 0);
  addSize(hq, "q", problem.layout == Problem::Layout::BSHD ? 2 : 1);
  addSize(sq, "q", row);
  if (problem.paged && sk.size == Problem::kDynamic) {
    // The view has the rows of all pages in the table.
    addSize({Problem::kDynamic, Dim::Table}, "block_table", 1);
    Value page = make<arith::ConstantIndexOp>(problem.paged->size);
    sizes[Dim::Sk] = make<arith::MulIOp>(sizes[Dim::Table], page);
  } else {
    addSize(sk, "k", row);
  }
}

Tensor ProblemBuilder::addEmpty(const Dims &dims, Type element) {
  return {make<tensor::EmptyOp>(fold(dims), element), dims};
}

/// The rows of a cache one after the other, (batch, head, row, column), or its scales without the column.
Tensor ProblemBuilder::addPages(StringRef cache, const Dims &dims) {
  Value source = find(cache);
  Tensor view = addEmpty(dims, getElementTypeOrSelf(source));
  bool isByPage = problem.kvScale == Problem::KvScale::Page && dims.size() == 3;
  auto layout = problem.paged->isHeadMajor ? PageLayout::HND : PageLayout::NHD;
  view.value = make<GatherPagesOp>(TypeRange(view.value.getType()), source, find("block_table"),
                                   find(getLengths(WordCounts::Keys).argument), Value(), Value(), Value(), view.value,
                                   layout, isByPage ? getI64IntegerAttr(problem.paged->size) : IntegerAttr());
  return view;
}

/// The third dimension split into two: a view of `dims`.
Tensor ProblemBuilder::addSplit(const Tensor &packed, const Dims &dims) {
  RankedTensorType type = getType(dims, getElementTypeOrSelf(packed.value));
  const ReassociationIndices groups[] = {{0}, {1}, {2, 3}};
  return {make<tensor::ExpandShapeOp>(type, packed.value, groups, fold(dims)), dims};
}

/// The dimensions from `first` on in pairs of one, as a view of `dims`: what addSplit has split.
Value ProblemBuilder::addCollapsed(Value value, const Dims &dims, unsigned first) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < int64_t(first); ++i)
    groups.push_back({i});
  groups.push_back({first, first + 1});
  return make<tensor::CollapseShapeOp>(getType(dims, getElementTypeOrSelf(value)), value, groups);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Replaces kv_head by head floordiv the group size, for an op without key heads.
void ProblemBuilder::removeKeyHeads(Region &region) {
  int64_t group = problem.sizes.hq / problem.sizes.hkv; // 1 where both are dynamic
  SmallVector<IndexOp> ops;
  region.walk([&](IndexOp op) {
    if (op.getKind() == IndexKind::KvHead)
      ops.push_back(op);
  });
  for (IndexOp op : ops) {
    InsertionGuard guard(*this);
    setInsertionPoint(op);
    Value head = make<IndexOp>(IndexKind::Head), size = make<arith::ConstantIndexOp>(group);
    op.replaceAllUsesWith(make<arith::DivUIOp>(head, size));
    op.erase();
  }
}

/// Parses `text`, a region with its braces that reads captures as %name.
void ProblemBuilder::setRegion(Region &region, StringRef text, bool hasKeyHeads) {
  if (text.empty() || isWrong)
    return;
  auto print = [](const Problem::Capture &capture) { return "%" + capture.name + " : " + capture.type; };
  std::string block =
      captures.empty() ? "" : "\n^bb0(" + llvm::join(llvm::map_range(problem.captures, print), ", ") + "):";
  std::string source = llvm::formatv(
      "\"scf.execute_region\"() ({{{0}\n\"scf.execute_region\"() ({1}) : () -> ()\n}) : () -> ()", block, text);
  // Line numbers are those of printProblem, which prints mask_mod after score_mod.
  if (text.data() == problem.maskMod.data() && !problem.scoreMod.empty())
    source.insert(0, StringRef(problem.scoreMod).count('\n') + 1, '\n');
  Block parsed;
  if (llvm::Error error = checkNesting({source, "problem"})) {
    emitError(llvm::toString(std::move(error)));
    isWrong = true;
    return;
  }
  ParserConfig config(getContext(), /*verifyAfterParse=*/false);
  if (failed(parseSourceString(source, &parsed, config, "problem"))) {
    isWrong = true;
    return;
  }
  Block &outer = parsed.front().getRegion(0).front();
  for (auto [argument, capture] : llvm::zip_equal(outer.getArguments(), captures))
    argument.replaceAllUsesWith(capture);
  region.takeBody(outer.front().getRegion(0));
  if (!hasKeyHeads)
    removeKeyHeads(region);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> ProblemBuilder::build(StringRef name) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(getLoc());
  function = func::FuncOp::create(getLoc(), name, getFunctionType({}, {}));
  module->push_back(function);
  setInsertionPointToEnd(function.addEntryBlock());
  addArguments();
  addResults();
  for (const Problem::Capture &capture : problem.captures) {
    Type type = parseType(capture.type, getContext());
    if (!type)
      return nullptr;
    captures.push_back(addArgument(capture.name, type));
  }
  if (problem.continuesState())
    for (const Result &result : results)
      olds[result.name] = addArgument(result.name, getType(result.dims, result.element));

  addSizes();
  const Problem::Sizes &size = problem.sizes;
  query.value = find("q");
  key.value = find("k");
  value.value = find("v");
  if (problem.layout == Problem::Layout::BSD) {
    query = addSplitHeads(query, sq, size.hq, size.d);
    if (!problem.paged) {
      key = addSplitHeads(key, sk, size.hkv, size.d);
      value = addSplitHeads(value, sk, size.hkv, size.dv);
    }
  }
  if (problem.paged) {
    key = addPages("k", {b, hkv, sk, {size.d}});
    value = addPages("v", {b, hkv, sk, {size.dv}});
  }
  if (problem.isQuantised())
    for (StringRef scale : {"k_scale", "v_scale"})
      scales.push_back(problem.hasScalesInPages() ? addPages(scale, {b, hkv, sk})
                                                  : Tensor{find(scale), getScaleDims()});
  problem.outputs.weights ? addChain() : addSdpa();
  if (isWrong)
    return nullptr;

  SmallVector<Value> returned;
  SmallVector<DictionaryAttr> resultAttrs;
  for (const Result &result : results) {
    returned.push_back(find(result.name));
    resultAttrs.push_back(getDictionaryAttr(getNamedAttr(kNameAttr, getStringAttr(result.name))));
  }
  func::ReturnOp::create(*this, returned);
  function.setType(getFunctionType(function.getBody().getArgumentTypes(), ValueRange(returned).getTypes()));
  function.setAllArgAttrs(argumentAttrs);
  function.setAllResultAttrs(resultAttrs);
  for (auto [attribute, names] : {std::pair(kGradAttr, &problem.grad), {kIntoAttr, &problem.into}})
    if (!problem.grad.empty() && !names->empty())
      function->setAttr(attribute, getStrArrayAttr(llvm::to_vector_of<StringRef>(*names)));
  return module;
}

OwningOpRef<ModuleOp> attn::buildProblem(MLIRContext &context, const Problem &problem, StringRef name) {
  context.loadDialect<AttnDialect, arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                      scf::SCFDialect, tensor::TensorDialect>();
  if (name.empty())
    name = problem.linear ? StringRef(kLinearWord) : "sdpa";
  return problem.linear ? buildLinear(context, problem, name) : ProblemBuilder(context, problem).build(name);
}

llvm::Expected<std::string> attn::problemToMLIR(const Problem &problem, StringRef name) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::string text, diagnostics;
  llvm::raw_string_ostream os(text), errors(diagnostics);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(printProblem(problem), "problem"), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context, errors);
  OwningOpRef<ModuleOp> module = buildProblem(context, problem, name);
  if (!module)
    return llvm::createStringError(StringRef(diagnostics).rtrim());
  os << "// " << printProblemLine(problem) << "\n";
  module->print(os);
  return text;
}
