//===- CheckOutputs.cpp - outputs against the f64 reference ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "llvm/Support/Format.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// For f32 and f64, the tolerance is that of docs/Semantics.md. For 16 bits, that page compares with the same
/// mathematics in the low type; here three roundings to that type are allowed, of the weights, of the output and of the
/// reference's output: 3/2 of its epsilon.
static double getTypeTolerance(NpyType type, bool roundsScores, bool roundsInputs) {
  switch (type) {
  case NpyType::Float64: return 1e-12;
  case NpyType::BFloat16: return 1.5 / (1 << 7);
  case NpyType::Float16: return 1.5 / (1 << 10);
  default: return roundsInputs ? 1e-3 : roundsScores ? 1e-4 : 1e-5;
  }
}

/// True where scores, and lse of them, may come from a Q rounded to integers (docs/Semantics.md): a 16-bit Q with int8
/// keys.
static bool roundsScores(ArrayRef<NpyArray> arguments) {
  auto hasType = [&](ArrayRef<NpyType> types) {
    return any_of(arguments, [&](const NpyArray &array) { return is_contained(types, array.type); });
  };
  return hasType({NpyType::Float16, NpyType::BFloat16}) && hasType({NpyType::Int8});
}

/// In a partial result, f32 with a 16-bit Q, only the weights are rounded; products of both signs are larger than their
/// sum.
static double getPartialTolerance(NpyType queryType) {
  return getTypeTolerance(queryType, /*roundsScores=*/false, /*roundsInputs=*/false) * 2 / 3;
}

/// True for f32 sums over keys or queries of products of 16-bit values.
static bool isPartial(StringRef name, const NpyArray &output, ArrayRef<NpyArray> arguments) {
  return output.type == NpyType::Float32 && is_contained({NpyType::Float16, NpyType::BFloat16}, arguments[0].type) &&
         is_contained({"out", "output", "dq", "dk", "dv", "dbias"}, name);
}

/// A backward pass has twice the products, each on values that were rounded before.
double driver::getTolerance(const Kernel &kernel, StringRef name, const NpyArray &output,
                            ArrayRef<NpyArray> arguments) {
  double factor = kernel.kind == "backward" ? 2 : 1;
  if (isPartial(name, output, arguments))
    return factor * getPartialTolerance(arguments[0].type);
  return factor * getTypeTolerance(output.type, roundsScores(arguments), kernel.inputBits > 0);
}

namespace {
struct Difference {
  double largest = 0, scale = 0;
};
} // namespace

double driver::readFloat(const NpyArray &array, int64_t index) {
  switch (array.type) {
  case NpyType::Float32: return reinterpret_cast<const float *>(array.data)[index];
  case NpyType::Float64: return reinterpret_cast<const double *>(array.data)[index];
  case NpyType::Float16:
  case NpyType::BFloat16: return fromNarrowFloat(array.type, reinterpret_cast<const uint16_t *>(array.data)[index]);
  case NpyType::Float8E4M3FN:
  case NpyType::Float8E5M2: return fromNarrowFloat(array.type, reinterpret_cast<const uint8_t *>(array.data)[index]);
  default: return readInteger(array, index);
  }
}

/// Equal infinities, and a NaN on both sides, are no difference; any other non-finite value is an infinite one.
static Difference compareArrays(const NpyArray &found, const NpyArray &expected) {
  Difference difference;
  for (int64_t i = 0, e = getNumElements(found.shape); i < e; ++i) {
    double a = readFloat(found, i), b = readFloat(expected, i);
    if (std::isfinite(b))
      difference.scale = std::max(difference.scale, std::abs(b));
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double error = std::abs(a - b);
    difference.largest =
        std::max(difference.largest, std::isfinite(error) ? error : std::numeric_limits<double>::infinity());
  }
  return difference;
}

/// The largest |a - b| that is not NaN.
static double getLargestFinite(const NpyArray &a, const NpyArray &b) {
  double largest = 0;
  for (int64_t i = 0, e = getNumElements(a.shape); i < e; ++i)
    if (double difference = std::abs(readFloat(a, i) - readFloat(b, i)); std::isfinite(difference))
      largest = std::max(largest, difference);
  return largest;
}

/// The reference's floats are f64.
static void copyElements(const NpyArray &from, NpyArray &to) {
  int64_t count = getNumElements(from.shape);
  if (from.type == to.type)
    std::memcpy(to.data, from.data, getNpyTypeSize(from.type) * count);
  else
    for (int64_t i = 0; i < count; ++i)
      reinterpret_cast<double *>(to.data)[i] = readFloat(from, i);
}

Expected<std::vector<NpyArray>> driver::createOutputs(const LoadedKernel &reference, ArrayRef<NpyArray> arguments) {
  std::vector<NpyArray> outputs(arguments.size());
  for (auto [argument, given, output] : zip_equal(reference.getDescription().arguments, arguments, outputs)) {
    if (!argument.isOutput)
      continue;
    Expected<NpyArray> array = createZeros(argument, given.shape);
    if (!array)
      return array.takeError();
    output = std::move(*array);
    if (argument.isUpdated)
      copyElements(given, output);
  }
  return outputs;
}

Expected<LoadedKernel> driver::compileReference(const Source &source, CompileOptions options, StringRef kernel) {
  options.isQuick = true;
  options.target = "host"; // the processor that runs the kernel
  options.reference = options.f64Outputs = true;
  options.schedule.clear();
  options.remarks = RemarkFilter::None;
  options.dumpDirectory.clear();
  return LoadedKernel::compile(source, options, kernel);
}

Error driver::callReference(const LoadedKernel &reference, const Kernel &kernel, MutableArrayRef<NpyArray> arguments,
                            MutableArrayRef<NpyArray> expected) {
  // The inputs are shared, and swapped back afterwards.
  auto swapInputs = [&] {
    for (auto [argument, own, other] : zip_equal(kernel.arguments, arguments, expected))
      if (!argument.isOutput)
        std::swap(own, other);
  };
  swapInputs();
  Error error = reference.call(expected);
  swapInputs();
  return error;
}

/// The results of the reference with `other` as the argument `place`.
static Expected<std::vector<NpyArray>> callReferenceWith(const LoadedKernel &reference, const Kernel &kernel,
                                                         MutableArrayRef<NpyArray> arguments, NpyArray &place,
                                                         NpyArray other) {
  Expected<std::vector<NpyArray>> outputs = createOutputs(reference, arguments);
  if (!outputs)
    return outputs.takeError();
  std::swap(place, other);
  Error error = callReference(reference, kernel, arguments, *outputs);
  std::swap(place, other);
  if (error)
    return error;
  return outputs;
}

/// dout where dout · out is positive, zeros elsewhere.
static Expected<NpyArray> selectPositive(const KernelArgument &argument, const NpyArray &dout, const NpyArray &out) {
  Expected<NpyArray> selected = createZeros(argument, dout.shape);
  if (!selected)
    return selected.takeError();
  int64_t size = getNpyTypeSize(dout.type);
  for (int64_t i = 0, e = getNumElements(dout.shape); i < e; ++i)
    if (readFloat(dout, i) * readFloat(out, i) > 0)
      std::memcpy(static_cast<char *>(selected->data) + size * i, static_cast<const char *>(dout.data) + size * i,
                  size);
  return selected;
}

Expected<bool> driver::checkOutputs(const LoadedKernel &reference, const Kernel &kernel,
                                    MutableArrayRef<NpyArray> arguments, std::vector<NpyArray> expected,
                                    raw_ostream &os) {
  if (Error error = callReference(reference, kernel, arguments, expected))
    return error;
  auto find = [&](StringRef name) {
    auto isInput = [&](const KernelArgument &argument) { return !argument.isOutput && argument.name == name; };
    return find_if(kernel.arguments, isInput) - kernel.arguments.begin();
  };
  size_t out = find("out"), dout = find("dout"), count = kernel.arguments.size();
  // Parts cost two more calls of the reference: they are computed only if a gradient is inexact relative to its own
  // size.
  if (kernel.kind != "backward" || out == count || dout == count ||
      compareOutputs(kernel, arguments, expected, nulls()))
    return compareOutputs(kernel, arguments, expected, os);
  // The gradients without Δ = Σ dout · out, which those of scores subtract.
  Expected<NpyArray> zeros = createZeros(kernel.arguments[out], arguments[out].shape);
  if (!zeros)
    return zeros.takeError();
  Expected<std::vector<NpyArray>> withoutDelta =
      callReferenceWith(reference, kernel, arguments, arguments[out], std::move(*zeros));
  if (!withoutDelta)
    return withoutDelta.takeError();
  // Gradients are linear in dout, and a sum over rows may cancel: the gradient of a scale of V is Σ Δ / scale.
  Expected<NpyArray> positive = selectPositive(kernel.arguments[dout], arguments[dout], arguments[out]);
  if (!positive)
    return positive.takeError();
  Expected<std::vector<NpyArray>> ofPositive =
      callReferenceWith(reference, kernel, arguments, arguments[dout], std::move(*positive));
  if (!ofPositive)
    return ofPositive.takeError();
  return compareOutputs(kernel, arguments, expected, os, {*withoutDelta, *ofPositive});
}

bool driver::compareOutputs(const Kernel &kernel, ArrayRef<NpyArray> arguments, ArrayRef<NpyArray> expected,
                            raw_ostream &os, ArrayRef<ArrayRef<NpyArray>> parts) {
  bool isFine = true;
  for (auto [i, argument] : enumerate(kernel.arguments)) {
    if (!argument.isOutput)
      continue;
    Difference difference = compareArrays(arguments[i], expected[i]);
    // With one key, gradients of q and k are differences that cancel.
    double part = 0;
    for (ArrayRef<NpyArray> outputs : parts)
      part = std::max(part, getLargestFinite(expected[i], outputs[i]));
    // ln l of a sum l ≥ 1: a relative error of l is an absolute one of ln l, however close to 0 that is.
    if (argument.name == "log_sum")
      part = std::max(part, 1.0);
    bool isOfParts = part > difference.scale;
    difference.scale = std::max(difference.scale, part);
    double relative = difference.largest == 0 ? 0 : difference.largest / (difference.scale > 0 ? difference.scale : 1);
    double tolerance = getTolerance(kernel, argument.name, arguments[i], arguments);
    bool isWithin = relative <= tolerance;
    isFine &= isWithin;
    os << argument.name << ": largest error " << format("%.3g", difference.largest) << ", relative to "
       << (isOfParts ? "its parts " : "max |ref| ") << format("%.3g", relative) << (isWithin ? " <= " : " > ")
       << format("%.2g", tolerance) << (isWithin ? ": ok" : ": FAILED") << "\n";
  }
  return isFine;
}
