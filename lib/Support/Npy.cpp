//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//
//
// A .npy file is "\x93NUMPY", two version bytes, the length of the header, the
// header (a Python dictionary of 'descr', 'fortran_order' and 'shape'), and the
// elements. The format: numpy.lib.format.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Support/Npy.h"
#include "attn/Support/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace attn;
using llvm::formatv;
using llvm::StringRef;

static constexpr StringRef kMagic = "\x93NUMPY";
static constexpr uint64_t kDataAlignment = 64;
/// NumPy's own limit (max_header_size) and its limit on dimensions.
static constexpr size_t kMaxHeaderLength = 10000;
static constexpr size_t kMaxRank = 64;

namespace {
struct TypeRow {
  NpyType type;
  StringRef descr;
  StringRef name;
  int64_t size;
};
} // namespace

static constexpr TypeRow kTypes[] = {{NpyType::Float32, "<f4", "float32", 4},
                                     {NpyType::Float64, "<f8", "float64", 8},
                                     {NpyType::Float16, "<f2", "float16", 2},
                                     {NpyType::BFloat16, "<V2", "bfloat16", 2},
                                     {NpyType::Float8E4M3FN, "<V1", "float8_e4m3fn", 1},
                                     {NpyType::Float8E5M2, "<f1", "float8_e5m2", 1},
                                     {NpyType::Bool, "|b1", "bool", 1},
                                     {NpyType::Int8, "|i1", "int8", 1},
                                     {NpyType::Int32, "<i4", "int32", 4},
                                     {NpyType::Int64, "<i8", "int64", 8}};

static const TypeRow &getRow(NpyType type) { return kTypes[size_t(type)]; }
StringRef attn::getNpyTypeName(NpyType type) { return getRow(type).name; }
int64_t attn::getNpyTypeSize(NpyType type) { return getRow(type).size; }

//===----------------------------------------------------------------------===//
// The header's dictionary
//===----------------------------------------------------------------------===//

namespace {
struct Header {
  std::optional<StringRef> descr;
  std::optional<bool> isFortranOrder;
  std::optional<llvm::SmallVector<int64_t, 4>> shape;
};

/// Parses the subset of Python that headers use.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : rest(text.rtrim(" \n")) {}

  /// Null if the text is not such a dictionary.
  std::optional<Header> parse() {
    Header header;
    if (!consume("{"))
      return std::nullopt;
    while (!consume("}"))
      if (!parseEntry(header) || (!consume(",") && !rest.starts_with("}")))
        return std::nullopt;
    if (!rest.empty() || !header.descr || !header.isFortranOrder || !header.shape)
      return std::nullopt;
    return header;
  }

private:
  bool consume(StringRef token) {
    rest = rest.ltrim(' ');
    bool found = rest.consume_front(token);
    rest = rest.ltrim(' ');
    return found;
  }

  std::optional<StringRef> parseString() {
    char quote = rest.empty() ? 0 : rest.front();
    if (quote != '\'' && quote != '"')
      return std::nullopt;
    size_t end = rest.find(quote, 1);
    if (end == StringRef::npos)
      return std::nullopt;
    StringRef text = rest.slice(1, end);
    rest = rest.drop_front(end + 1);
    return text;
  }

  std::optional<llvm::SmallVector<int64_t, 4>> parseShape() {
    llvm::SmallVector<int64_t, 4> shape;
    if (!consume("("))
      return std::nullopt;
    while (!consume(")")) {
      int64_t size;
      if (rest.consumeInteger(10, size) || size < 0 || shape.size() == kMaxRank)
        return std::nullopt;
      shape.push_back(size);
      if (!consume(",") && !rest.starts_with(")"))
        return std::nullopt;
    }
    return shape;
  }

  bool parseEntry(Header &header) {
    std::optional<StringRef> key = parseString();
    if (!key || !consume(":"))
      return false;
    if (*key == "descr" && !header.descr)
      return (header.descr = parseString()).has_value();
    if (*key == "shape" && !header.shape)
      return (header.shape = parseShape()).has_value();
    if (*key != "fortran_order" || header.isFortranOrder)
      return false;
    bool isTrue = consume("True");
    header.isFortranOrder = isTrue;
    return isTrue || consume("False");
  }

  StringRef rest;
};
} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static llvm::Error makeError(StringRef name, const llvm::Twine &text) {
  return llvm::createStringError(name + ": " + text);
}

/// A short, printable part of the file for an error.
static std::string quote(StringRef text) {
  std::string quoted = text.take_front(100).str();
  for (char &c : quoted)
    if (!llvm::isPrint(c))
      c = '?';
  return quoted + (text.size() > 100 ? "…" : "");
}

/// Splits the header's text off the front of the file.
static llvm::Expected<StringRef> takeHeader(StringRef &bytes, StringRef name) {
  if (!bytes.consume_front(kMagic))
    return makeError(name, "expected a .npy file, found other contents; write one with numpy.save");
  if (bytes.size() < 2)
    return makeError(name, "expected a header, found the end of the file");
  unsigned version = uint8_t(bytes[0]);
  if ((version != 1 && version != 2) || bytes[1] != 0)
    return makeError(name,
                     formatv("expected .npy version 1.0 or 2.0, found {0}.{1}", version, unsigned(uint8_t(bytes[1]))));
  bytes = bytes.drop_front(2);
  size_t lengthBytes = version == 1 ? 2 : 4;
  if (bytes.size() < lengthBytes)
    return makeError(name, "expected a header, found the end of the file");
  size_t length =
      version == 1 ? llvm::support::endian::read16le(bytes.data()) : llvm::support::endian::read32le(bytes.data());
  bytes = bytes.drop_front(lengthBytes);
  if (length > kMaxHeaderLength)
    return makeError(name, formatv("expected a header of at most {0} bytes, found {1}", kMaxHeaderLength, length));
  if (length > bytes.size())
    return makeError(
        name, formatv("expected a header of {0} bytes, found the end of the file after {1}", length, bytes.size()));
  StringRef header = bytes.take_front(length);
  bytes = bytes.drop_front(length);
  return header;
}

static llvm::Expected<NpyType> findType(StringRef descr, StringRef name) {
  for (const TypeRow &row : kTypes)
    if (row.descr == descr)
      return row.type;
  // NumPy writes elements of one byte or two with either descr.
  if (descr == "|V2")
    return NpyType::BFloat16;
  if (descr == "|V1")
    return NpyType::Float8E4M3FN;
  auto printName = [](const TypeRow &row) { return row.name; };
  auto printDescr = [](const TypeRow &row) { return ("'" + row.descr + "'").str(); };
  return makeError(name, formatv("expected an array of type {0}, little-endian ({1}), found '{2}'; convert it with "
                                 "numpy's astype",
                                 llvm::join(llvm::map_range(kTypes, printName), ", "),
                                 llvm::join(llvm::map_range(kTypes, printDescr), ", "), quote(descr)));
}

/// The bytes of an array, or nullopt if they overflow an int64.
static std::optional<int64_t> countBytes(NpyType type, llvm::ArrayRef<int64_t> shape) {
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t bytes = getNpyTypeSize(type);
  for (int64_t size : shape)
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::nullopt;
  return bytes;
}

llvm::Expected<NpyArray> attn::parseNpy(std::unique_ptr<llvm::WritableMemoryBuffer> buffer, StringRef name) {
  StringRef bytes = buffer->MemoryBuffer::getBuffer();
  llvm::Expected<StringRef> text = takeHeader(bytes, name);
  if (!text)
    return text.takeError();
  std::optional<Header> header = HeaderParser(*text).parse();
  if (!header)
    return makeError(name,
                     formatv("expected a header of 'descr', 'fortran_order' and 'shape', found {0}", quote(*text)));
  if (*header->isFortranOrder)
    return makeError(name, "expected an array in C order, found Fortran order; save numpy.ascontiguousarray of it");
  llvm::Expected<NpyType> type = findType(*header->descr, name);
  if (!type)
    return type.takeError();
  std::optional<int64_t> expected = countBytes(*type, *header->shape);
  if (expected != int64_t(bytes.size()))
    return makeError(name, formatv("expected {0} bytes of elements for shape [{1}] of {2}, found {3}",
                                   expected ? std::to_string(*expected) : "more than 2^63",
                                   llvm::make_range(header->shape->begin(), header->shape->end()),
                                   getNpyTypeName(*type), bytes.size()));
  for (char byte : *type == NpyType::Bool ? bytes : StringRef())
    if (uint8_t(byte) > 1)
      return makeError(name, formatv("expected booleans of 0 or 1, found {0}", unsigned(uint8_t(byte))));

  // The header need not be a multiple of the alignment: the elements move to the front of the buffer.
  char *data = buffer->getBufferStart();
  if (!bytes.empty())
    std::memmove(data, bytes.data(), bytes.size());
  return NpyArray{*type, std::move(*header->shape), data, std::move(buffer)};
}

llvm::Expected<NpyArray> attn::readNpy(StringRef path) {
  // Endless files (devices, pipes) have no size to check the header against.
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return llvm::createFileError(path, error);
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return makeError(path, "expected a regular file");
  // Volatile means read, not mapped: a mapped file that shrinks meanwhile would end the process.
  llvm::ErrorOr<std::unique_ptr<llvm::WritableMemoryBuffer>> buffer =
      llvm::WritableMemoryBuffer::getFile(path, /*IsVolatile=*/true, llvm::Align(kDataAlignment));
  if (!buffer)
    return llvm::createFileError(path, buffer.getError());
  return parseNpy(std::move(*buffer), path);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void attn::writeNpy(llvm::raw_ostream &stream, NpyType type, llvm::ArrayRef<int64_t> shape, const void *data) {
  auto print = [](int64_t size) { return std::to_string(size); };
  std::string sizes = llvm::join(llvm::map_range(shape, print), ", ") + (shape.size() == 1 ? "," : "");
  std::string header =
      formatv("{{'descr': '{0}', 'fortran_order': False, 'shape': ({1}), }", getRow(type).descr, sizes);
  // Spaces and a line end pad everything before the elements to a multiple of 64.
  size_t prefix = kMagic.size() + 4;
  header.append(llvm::alignTo(prefix + header.size() + 1, kDataAlignment) - prefix - header.size() - 1, ' ');
  header += '\n';
  std::optional<int64_t> bytes = countBytes(type, shape);
  assert(bytes && header.size() <= kMaxHeaderLength && "an array in memory is smaller than memory");

  stream << kMagic << '\1' << '\0' << char(header.size() & 0xff) << char(header.size() >> 8) << header;
  stream.write(static_cast<const char *>(data), *bytes);
}

llvm::Error attn::writeNpy(StringRef path, NpyType type, llvm::ArrayRef<int64_t> shape, const void *data) {
  return writeOutputFile(path, [&](llvm::raw_ostream &stream) { writeNpy(stream, type, shape, data); });
}
