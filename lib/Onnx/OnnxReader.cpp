//===- OnnxReader.cpp - the messages of ONNX models -----------------------===//
//
// One function per message of onnx.proto reads the relevant fields by number
// and skips the others. Messages nest only as the functions do: subgraphs of
// attributes are never entered.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "WireFormat.h"
#include "attn/Onnx/OnnxModel.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::formatv;
using llvm::StringRef;

/// Protobuf's own limit on a message.
static constexpr size_t kMaxBytes = (size_t(1) << 31) - 1;

namespace {

class Reader : public WireReader {
public:
  using WireReader::WireReader;
  Error readModel(Model &model);

private:
  Error readGraph(StringRef bytes, Model &model);
  Error readNode(StringRef bytes, Node &node);
  Error readAttribute(StringRef bytes, Attribute &attribute);
  Error readValue(StringRef bytes, Model &model);
  Error readType(StringRef bytes, TensorType &type);
  Error readTensorType(StringRef bytes, TensorType &type);
  Error readDimension(StringRef bytes, Dimension &dimension);
  Error readGraphValue(const Field &field, Model &model, std::vector<StringRef> &names);
  Error readInitializer(StringRef bytes, Model &model);
  Error readTensor(StringRef bytes, TensorData &tensor);
  Error readEntry(StringRef bytes, ExternalEntry &entry);
  Error readIntegers(const Field &field, std::vector<int64_t> &integers);
  Error readBytes(const Field &field, TensorData &tensor);
  Error readOpset(StringRef bytes, Model &model);
  Error readFunction(StringRef bytes, Function &function);

  using WireReader::take;
  template <typename T> Error take(const Field &field, Error (Reader::*read)(StringRef, T &), T &into);
};

} // namespace

template <typename T> Error Reader::take(const Field &field, Error (Reader::*read)(StringRef, T &), T &into) {
  StringRef bytes;
  if (Error error = take(field, bytes))
    return error;
  return (this->*read)(bytes, into);
}

//===----------------------------------------------------------------------===//
// The messages of onnx.proto, by field number
//===----------------------------------------------------------------------===//

Error Reader::readModel(Model &model) {
  if (file.size() > kMaxBytes)
    return llvm::createStringError(name + ": expected at most 2 GiB, found " + llvm::Twine(file.size()) +
                                   " bytes; write the weights as external data");
  return readFields(file, "the model", [&](const Field &field) -> Error {
    switch (field.number) {
    case 7: return take(field, &Reader::readGraph, model);
    case 8: return take(field, &Reader::readOpset, model);
    case 25: return take(field, &Reader::readFunction, model.functions.emplace_back());
    default: return Error::success();
    }
  });
}

Error Reader::readOpset(StringRef bytes, Model &model) {
  StringRef domain;
  int64_t version = 0;
  Error error = readFields(bytes, "opset_import", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1: return take(field, domain);
    case 2: return take(field, version);
    default: return Error::success();
    }
  });
  if (!error && isStandardDomain(domain))
    model.opset = version;
  return error;
}

Error Reader::readFunction(StringRef bytes, Function &function) {
  return readFields(bytes, "a function", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1: return take(field, function.name);
    case 10: return take(field, function.domain);
    default: return Error::success();
    }
  });
}

Error Reader::readGraph(StringRef bytes, Model &model) {
  return readFields(bytes, "the graph", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1: return take(field, &Reader::readNode, model.nodes.emplace_back());
    case 2: return take(field, model.graphName);
    case 5: return take(field, &Reader::readInitializer, model);
    case 11: return readGraphValue(field, model, model.inputs);
    case 12: return readGraphValue(field, model, model.outputs);
    case 13: return take(field, &Reader::readValue, model); // value_info
    default: return Error::success();
    }
  });
}

Error Reader::readNode(StringRef bytes, Node &node) {
  return readFields(bytes, "a node", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1: return take(field, node.inputs.emplace_back());
    case 2: return take(field, node.outputs.emplace_back());
    case 3: return take(field, node.name);
    case 4: return take(field, node.opType);
    case 5: return take(field, &Reader::readAttribute, node.attributes.emplace_back());
    case 7: return take(field, node.domain);
    case 8: return take(field, node.overload);
    default: return Error::success();
    }
  });
}

Error Reader::readAttribute(StringRef bytes, Attribute &attribute) {
  return readFields(bytes, "an attribute", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1: return take(field, attribute.name);
    case 2: return take(field, attribute.real);
    case 3: return take(field, attribute.integer);
    case 4: return take(field, attribute.string);
    case 5: return take(field, &Reader::readTensor, attribute.tensor);
    case 8: return readIntegers(field, attribute.integers);
    case 20: return take(field, attribute.kind);
    case 21: return take(field, attribute.reference);
    default: return Error::success();
    }
  });
}

Error Reader::readValue(StringRef bytes, Model &model) {
  StringRef valueName;
  TensorType type;
  Error error = readFields(bytes, "a value", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1: return take(field, valueName);
    case 2: return take(field, &Reader::readType, type);
    default: return Error::success();
    }
  });
  if (!error)
    model.types[valueName] = std::move(type);
  return error;
}

/// An input or output of the graph: its name in `names`, and its type.
Error Reader::readGraphValue(const Field &field, Model &model, std::vector<StringRef> &names) {
  StringRef bytes, &valueName = names.emplace_back();
  if (Error error = take(field, bytes))
    return error;
  if (Error error = readFields(bytes, "a value", [&](const Field &part) -> Error {
        return part.number == 1 ? take(part, valueName) : Error::success();
      }))
    return error;
  return readValue(bytes, model);
}

Error Reader::readType(StringRef bytes, TensorType &type) {
  return readFields(bytes, "a type", [&](const Field &field) -> Error {
    // Sequences, maps and optionals have no element type.
    return field.number == 1 ? take(field, &Reader::readTensorType, type) : Error::success();
  });
}

Error Reader::readTensorType(StringRef bytes, TensorType &type) {
  return readFields(bytes, "a tensor type", [&](const Field &field) -> Error {
    if (field.number == 1)
      return take(field, type.elementType);
    if (field.number != 2)
      return Error::success();
    type.hasShape = true;
    StringRef shape;
    if (Error error = take(field, shape))
      return error;
    return readFields(shape, "a shape", [&](const Field &dimension) -> Error {
      return dimension.number == 1 ? take(dimension, &Reader::readDimension, type.shape.emplace_back())
                                   : Error::success();
    });
  });
}

Error Reader::readDimension(StringRef bytes, Dimension &dimension) {
  return readFields(bytes, "a dimension", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1: return take(field, dimension.size.emplace());
    case 2: dimension.size.reset(); return take(field, dimension.symbol);
    default: return Error::success();
    }
  });
}

/// A repeated integer is one field per element, or one packed field.
Error Reader::readIntegers(const Field &field, std::vector<int64_t> &integers) {
  if (field.wire != WireType::Bytes)
    return take(field, integers.emplace_back());
  for (StringRef rest = field.bytes; !rest.empty();) {
    uint64_t integer;
    if (Error error = readVarint(rest, "a list of integers", integer))
      return error;
    integers.push_back(int64_t(integer));
  }
  return Error::success();
}

/// raw_data, or packed floats and doubles, which have the same bytes; all writers pack them.
Error Reader::readBytes(const Field &field, TensorData &tensor) {
  if (!tensor.bytes.empty())
    return fail(field.start, "expected the values of a tensor in one field, found another");
  return take(field, tensor.bytes);
}

Error Reader::readEntry(StringRef bytes, ExternalEntry &entry) {
  return readFields(bytes, "external data", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1: return take(field, entry.key);
    case 2: return take(field, entry.value);
    default: return Error::success();
    }
  });
}

Error Reader::readTensor(StringRef bytes, TensorData &tensor) {
  std::vector<int64_t> sizes;
  int64_t location = 0;
  Error error = readFields(bytes, "a tensor", [&](const Field &field) -> Error {
    switch (field.number) {
    case 1: return readIntegers(field, sizes);
    case 2: return take(field, tensor.type.elementType);
    case 4:  // float_data
    case 9:  // raw_data
    case 10: // double_data
      return readBytes(field, tensor);
    case 5: // int32_data
    case 7: // int64_data
      return readIntegers(field, tensor.integers);
    case 13: return take(field, &Reader::readEntry, tensor.external.emplace_back());
    case 14: return take(field, location);
    default: return Error::success();
    }
  });
  tensor.isExternal = location != 0;
  tensor.type.hasShape = true;
  for (int64_t size : sizes)
    tensor.type.shape.emplace_back().size = size;
  return error;
}

Error Reader::readInitializer(StringRef bytes, Model &model) {
  StringRef valueName;
  TensorData tensor;
  Error error = readFields(bytes, "an initializer", [&](const Field &field) -> Error {
    return field.number == 8 ? take(field, valueName) : Error::success();
  });
  if (!error)
    error = readTensor(bytes, tensor);
  if (error)
    return error;
  model.types[valueName] = tensor.type;
  model.initializers[valueName] = std::move(tensor);
  return Error::success();
}

llvm::Expected<Model> attn::onnx::readModel(StringRef bytes, StringRef name) {
  Model model;
  if (Error error = Reader(bytes, name).readModel(model))
    return std::move(error);
  return model;
}
