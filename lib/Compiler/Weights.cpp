//===- Weights.cpp - constants in a file that programs map ----------------===//
//
// Before: kernels on the LLVM dialect, whose large constants are globals. After: these are not in the module; functions
// read them where the file is mapped, a kernel has a function that maps it, and its checked entry asks for that. The
// file is struct attn_weights_header, then the constants at multiples of a cache line, in the order of the module. The
// object has struct attn_weights, which all of its kernels share.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Weights.h"
#include "attn-c/attn.h"
#include "attn-c/attn_runtime.h"
#include "attn/Support/CNames.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

using namespace mlir;
using namespace attn;

/// Constants of fewer bytes stay in the object.
static constexpr uint64_t kLeastBytes = 4096;
static constexpr uint64_t kAlignment = 64;
static constexpr StringLiteral kWeightsSymbol = "attn.weights";

std::string attn::getMapWeightsName(StringRef kernel) { return (kernel + "_map_weights").str(); }

/// The elements of a large constant whose bytes are those in memory; null for any other global.
static DenseElementsAttr getElements(LLVM::GlobalOp global) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(global.getValueOrNull());
  if (!global.getConstant() || !elements || elements.isSplat() || !elements.getElementType().isIntOrFloat())
    return {};
  uint64_t bytes = elements.getRawData().size(), bits = elements.getElementType().getIntOrFloatBitWidth();
  bool isPlain = bits % 8 == 0 && bytes == uint64_t(elements.getNumElements()) * (bits / 8);
  return isPlain && bytes >= kLeastBytes ? elements : DenseElementsAttr();
}

namespace {
class WeightsMover {
public:
  explicit WeightsMover(ModuleOp module)
      : module(module), b(module.getContext()), pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  Weights run() {
    DenseMap<StringAttr, SmallVector<LLVM::AddressOfOp>> uses;
    module.walk([&](LLVM::AddressOfOp use) { uses[use.getGlobalNameAttr().getAttr()].push_back(use); });
    Weights weights;
    weights.size = sizeof(attn_weights_header);
    SmallVector<uint64_t> contents;
    for (LLVM::GlobalOp global : llvm::make_early_inc_range(module.getOps<LLVM::GlobalOp>())) {
      DenseElementsAttr elements = getElements(global);
      ArrayRef<LLVM::AddressOfOp> found = uses[global.getSymNameAttr()];
      auto isInFunction = [](LLVM::AddressOfOp use) { return use->getParentOfType<LLVM::LLVMFuncOp>() != nullptr; };
      if (!elements || !llvm::all_of(found, isInFunction))
        continue;
      uint64_t offset = llvm::alignTo(weights.size, kAlignment);
      for (LLVM::AddressOfOp use : found)
        readAt(use, offset);
      global.erase();
      ArrayRef<char> bytes = elements.getRawData();
      contents.append(
          {offset, llvm::xxh3_64bits(ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()))});
      weights.tensors.emplace_back(offset, elements);
      weights.size = offset + bytes.size();
    }
    weights.key = llvm::xxh3_64bits(
        ArrayRef(reinterpret_cast<const uint8_t *>(contents.data()), contents.size() * sizeof(uint64_t)));
    return weights;
  }

  /// attn.weights = {null, size, key}
  void define(const Weights &weights) {
    b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, b.getI64Type(), b.getI64Type()});
    auto global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal, kWeightsSymbol,
                                         Attribute());
    b.createBlock(&global.getInitializerRegion());
    Value value = LLVM::ZeroOp::create(b, loc, type);
    for (auto [position, number] : {std::pair(1, weights.size), std::pair(2, weights.key)})
      value = LLVM::InsertValueOp::create(b, loc, value, createNumber(number), position);
    LLVM::ReturnOp::create(b, loc, value);
  }

  /// i32 NAME_map_weights(const char *path, char *message, i64 size)
  void createEntry(StringRef kernel) {
    Type i32 = b.getI32Type(), i64 = b.getI64Type();
    auto map = declare(kMapWeights, LLVM::LLVMFunctionType::get(i32, {pointer, pointer, pointer, i64}));
    b.setInsertionPointToEnd(module.getBody());
    auto function = LLVM::LLVMFuncOp::create(b, loc, getMapWeightsName(kernel),
                                             LLVM::LLVMFunctionType::get(i32, {pointer, pointer, i64}));
    Block *block = function.addEntryBlock(b);
    b.setInsertionPointToStart(block);
    SmallVector<Value> operands{getAddress()};
    llvm::append_range(operands, block->getArguments());
    LLVM::ReturnOp::create(b, loc, LLVM::CallOp::create(b, loc, map, operands).getResult());
  }

  /// Has a checked entry refuse calls before the file is mapped.
  void guard(LLVM::LLVMFuncOp entry) {
    auto describe = declare(kDescribeNoWeights, LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                                                            {pointer, b.getI64Type()}));
    Block *first = &entry.front(), *rest = first->splitBlock(first->begin());
    Block *refuse = b.createBlock(&entry.getBody(), entry.getBody().end());
    LLVM::CallOp::create(b, loc, describe, ValueRange(first->getArguments().take_back(2)));
    LLVM::ReturnOp::create(
        b, loc, LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(ATTN_NO_WEIGHTS)).getResult());
    b.setInsertionPointToEnd(first);
    Value base = LLVM::LoadOp::create(b, loc, pointer, getAddress());
    Value isMapped = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, base, LLVM::ZeroOp::create(b, loc, pointer));
    LLVM::CondBrOp::create(b, loc, isMapped, rest, refuse);
  }

private:
  Value createNumber(uint64_t number) {
    return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(int64_t(number)));
  }

  Value getAddress() { return LLVM::AddressOfOp::create(b, loc, pointer, kWeightsSymbol); }

  LLVM::LLVMFuncOp declare(StringRef name, LLVM::LLVMFunctionType type) {
    if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return existing;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    return LLVM::LLVMFuncOp::create(b, loc, name, type);
  }

  /// base + offset, with one load of the base in a function: no call maps another file while a kernel runs.
  void readAt(LLVM::AddressOfOp use, uint64_t offset) {
    auto function = use->getParentOfType<LLVM::LLVMFuncOp>();
    Value &base = bases[function];
    if (!base) {
      b.setInsertionPointToStart(&function.front());
      base = LLVM::LoadOp::create(b, loc, pointer, getAddress(), /*alignment=*/0, /*isVolatile=*/false,
                                  /*isNonTemporal=*/false, /*isInvariant=*/true);
    }
    b.setInsertionPoint(use);
    Value address = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), base,
                                        ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(createNumber(offset))});
    use.replaceAllUsesWith(address);
    use.erase();
  }

  ModuleOp module;
  OpBuilder b;
  Type pointer;
  Location loc = UnknownLoc::get(module.getContext());
  DenseMap<Operation *, Value> bases;
};
} // namespace

LogicalResult Compiler::moveWeights() {
  for (const Kernel &kernel : kernels)
    if (Operation *existing = module->lookupSymbol(getMapWeightsName(kernel.name)))
      return existing->emitError("expected '")
             << getMapWeightsName(kernel.name) << "' to be free for the function that maps weights; rename it";
  WeightsMover mover(*module);
  weights = std::make_unique<Weights>(mover.run());
  if (weights->tensors.empty())
    return module->emitError("expected constants of at least ")
           << kLeastBytes << " bytes for a file of weights, found none; leave --weights out";
  mover.define(*weights);
  for (Kernel &kernel : kernels) {
    kernel.weightsBytes = weights->size;
    mover.createEntry(kernel.name);
    if (auto entry = module->lookupSymbol<LLVM::LLVMFuncOp>(getCheckedName(kernel.name)))
      mover.guard(entry);
  }
  return success();
}

void Compiler::writeWeights(llvm::raw_ostream &os) const {
  attn_weights_header header{ATTN_WEIGHTS_MAGIC, weights->size, weights->key, {}};
  os.write(reinterpret_cast<const char *>(&header), sizeof(header));
  uint64_t end = sizeof(header);
  for (const auto &[offset, elements] : weights->tensors) {
    os.write_zeros(offset - end);
    ArrayRef<char> bytes = elements.getRawData();
    os.write(bytes.data(), bytes.size());
    end = offset + bytes.size();
  }
}
