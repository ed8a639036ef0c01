//===- SizeClasses.h - equal sizes of a kernel ------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_KERNEL_SIZECLASSES_H
#define ATTN_LIB_CONVERSION_KERNEL_SIZECLASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include <map>

namespace attn {

/// The dimensions of a function's tensors in classes of equal size: those indexed by one dimension of an op's domain, a
/// result and its destination, sizes that tensor.dim passes to a tensor.empty or a slice, and those for which reshapes
/// make equal products.
class SizeClasses {
public:
  explicit SizeClasses(mlir::func::FuncOp function);

  /// The class of a dimension of a tensor.
  unsigned find(mlir::Value tensor, unsigned dim);
  /// Its name in the iteration domain, as "sq"; empty where no attn op uses it.
  llvm::StringRef getName(unsigned id) const { return classes[id].name; }
  /// The size if one of the tensors has it statically, otherwise kDynamic.
  int64_t getStaticSize(unsigned id) const { return classes[id].size; }

private:
  struct Class {
    unsigned parent;
    llvm::StringRef name;
    int64_t size = mlir::ShapedType::kDynamic;
  };
  unsigned create();
  unsigned findRoot(unsigned id);
  void unite(unsigned a, unsigned b);
  void uniteDims(mlir::Value a, unsigned dimA, mlir::Value b, unsigned dimB) { unite(find(a, dimA), find(b, dimB)); }
  /// The classes of the dimensions of an op's domain.
  using Domain = llvm::SmallDenseMap<unsigned, unsigned>;
  unsigned findDomain(mlir::Operation *op, Domain &domain, unsigned position);
  Domain addIndexedOp(mlir::Operation *op, mlir::ValueRange operands, llvm::ArrayRef<mlir::AffineMap> maps);
  void setName(unsigned id, llvm::StringRef name) {
    if (classes[id].name.empty())
      classes[id].name = name;
  }
  void addKvScales(mlir::Operation *op, Domain &domain);
  void addLists(mlir::Operation *op, Domain &domain);
  void addCaptures(mlir::Operation *op, Domain &domain);
  void addPaging(mlir::Operation *op);
  void addSizes(mlir::Value tensor, mlir::ArrayRef<mlir::OpFoldResult> sizes);
  void addProduct(mlir::Value wide, mlir::ArrayRef<int64_t> group, unsigned collapsed);
  void closeProducts();
  void addOp(mlir::Operation *op);

  /// The class `product` is `factor` times the class `size`.
  struct Product {
    unsigned size;
    int64_t factor;
    unsigned product;
  };
  std::vector<Class> classes;
  std::vector<Product> products;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, unsigned> ids;
};

} // namespace attn

#endif // ATTN_LIB_CONVERSION_KERNEL_SIZECLASSES_H
