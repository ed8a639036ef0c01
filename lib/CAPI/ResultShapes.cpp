//===- ResultShapes.cpp - what a caller allocates results by --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Module.h"

using namespace llvm;
using namespace attn;

static std::string print(const json::Value &size) {
  if (std::optional<int64_t> number = size.getAsInteger())
    return std::to_string(*number);
  return size.getAsString().value_or("").str();
}

Expected<ResultShapes> ResultShapes::read(const json::Object &kernel) {
  const json::Array *sizes = kernel.getArray("sizes"), *arguments = kernel.getArray("arguments");
  const json::Object *formulas = kernel.getObject("size_formulas");
  if (!sizes || !arguments || !formulas)
    return createStringError("expected sizes and arguments of each kernel in the manifest, found none");
  SmallVector<std::string> names = to_vector(map_range(*sizes, print));
  auto parse = [&](StringRef text) -> Expected<SizeFormula> {
    std::optional<SizeFormula> formula = SizeFormula::parse(text, names);
    if (!formula)
      return createStringError("expected arithmetic on sizes in the manifest, found '" + text + "'");
    return *formula;
  };
  ResultShapes shapes;
  shapes.places.resize(names.size());
  for (const std::string &name : names) {
    std::optional<StringRef> text = formulas->getString(name);
    Expected<SizeFormula> formula = text ? parse(*text) : SizeFormula();
    if (!formula)
      return formula.takeError();
    shapes.formulas.push_back(std::move(*formula));
  }
  for (const json::Value &value : *arguments) {
    const json::Object *argument = value.getAsObject();
    const json::Array *shape = argument ? argument->getArray("shape") : nullptr;
    if (!shape)
      return createStringError("expected a shape of each argument in the manifest, found none");
    bool isOutput = argument->getString("role") == StringRef("output");
    std::vector<SizeFormula> dims;
    for (auto [dim, size] : enumerate(*shape)) {
      Expected<SizeFormula> formula = parse(print(size));
      if (!formula)
        return formula.takeError();
      std::optional<int64_t> known = formula->getSize();
      if (!isOutput && known && !shapes.places[*known])
        shapes.places[*known] = {shapes.ranks.size(), dim};
      dims.push_back(std::move(*formula));
    }
    if (isOutput)
      shapes.dims.push_back(std::move(dims));
    else
      shapes.ranks.push_back(dims.size());
  }
  return shapes;
}

Expected<SmallVector<int64_t>> ResultShapes::get(ArrayRef<const DLTensor *> inputs, int64_t result) const {
  if (result < 0 || result >= int64_t(dims.size()))
    return createStringError("expected a result from 0 to " + Twine(int64_t(dims.size()) - 1) + ", found " +
                             Twine(result));
  if (inputs.size() != ranks.size())
    return createStringError("expected " + Twine(ranks.size()) + " inputs, found " + Twine(inputs.size()));
  for (auto [i, input, rank] : enumerate(inputs, ranks))
    if (!input || input->ndim != int32_t(rank) || (rank && !input->shape))
      return createStringError("expected input " + Twine(i) + " of rank " + Twine(rank) + ", found " +
                               (input ? Twine(input->ndim) : Twine("null")));
  SmallVector<int64_t> sizes, shape;
  for (const std::optional<Place> &place : places)
    sizes.push_back(place ? inputs[place->input]->shape[place->dim] : 0);
  for (auto [size, place, formula] : zip_equal(sizes, places, formulas))
    if (!place && !formula.empty())
      size = formula.evaluate(sizes);
  for (const SizeFormula &dim : dims[result])
    shape.push_back(dim.evaluate(sizes));
  return shape;
}
