//===- NpyTest.cpp - NumPy's .npy files -----------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Support/Npy.h"
#include "attn/Support/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;
namespace fs = llvm::sys::fs;

namespace {

std::string makeFile(llvm::StringRef header, llvm::StringRef data, char version = 1) {
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  file += char(header.size() & 0xff);
  file += char(header.size() >> 8);
  if (version == 2)
    file += std::string(2, '\0');
  return file + header.str() + data.str();
}

const std::string fourFloats(16, '\0');

/// Why a file is refused; "" where it is not.
std::string parse(llvm::StringRef file) {
  auto buffer = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(file.size());
  std::memcpy(buffer->getBufferStart(), file.data(), file.size());
  llvm::Expected<NpyArray> array = parseNpy(std::move(buffer), "x.npy");
  return array ? "" : llvm::toString(array.takeError());
}

/// A folder that is removed with what is in it.
struct Npy : testing::Test {
  llvm::SmallString<128> folder;
  void SetUp() override { ASSERT_FALSE(fs::createUniqueDirectory("attn-npy", folder)); }
  void TearDown() override {
    unlink(path("pipe").c_str()); // LLVM removes no pipes
    ASSERT_FALSE(fs::remove_directories(folder, /*IgnoreErrors=*/false));
  }
  std::string path(llvm::StringRef name) { return (folder + "/" + name).str(); }
  size_t countFiles() {
    std::error_code error;
    size_t count = 0;
    for (fs::directory_iterator file(folder, error), end; file != end && !error; file.increment(error))
      ++count;
    return count;
  }
};

TEST_F(Npy, RoundTrip) {
  const double values[6] = {1, -2, 3.5, 0, 1e300, -0.0};
  llvm::SmallVector<int64_t> shapes[] = {{2, 3}, {6}, {1, 6, 1}, {}, {3, 0, 5}};
  for (const auto &shape : shapes) {
    ASSERT_FALSE(bool(writeNpy(path("a.npy"), NpyType::Float64, shape, values)));
    llvm::Expected<NpyArray> array = readNpy(path("a.npy"));
    ASSERT_TRUE(bool(array)) << llvm::toString(array.takeError());
    EXPECT_EQ(array->type, NpyType::Float64);
    EXPECT_TRUE(llvm::equal(array->shape, shape));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array->data) % 64, 0u);
    size_t count = 1;
    for (int64_t size : shape)
      count *= size;
    EXPECT_EQ(std::memcmp(array->data, values, count * sizeof(double)), 0);
  }
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(Npy, TheBytesAreThoseOfNumPy) {
  // numpy.save("a.npy", numpy.array([[1, 2]], dtype="<i4"))
  const int32_t values[] = {1, 2};
  ASSERT_FALSE(bool(writeNpy(path("a.npy"), NpyType::Int32, {1, 2}, values)));
  auto buffer = llvm::MemoryBuffer::getFile(path("a.npy"));
  ASSERT_TRUE(bool(buffer));
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2), }";
  header += std::string(117 - header.size(), ' ') + "\n";
  EXPECT_EQ((*buffer)->getBuffer().str(), makeFile(header, llvm::StringRef("\1\0\0\0\2\0\0\0", 8)));
}

TEST_F(Npy, HeadersThatOthersWrite) {
  EXPECT_EQ(parse(makeFile("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }  \n", fourFloats)), "");
  EXPECT_EQ(parse(makeFile("{\"shape\":(2,2),\"fortran_order\":False,\"descr\":\"<f4\"}", fourFloats)), "");
  EXPECT_EQ(parse(makeFile("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", fourFloats, 2)), "");
  EXPECT_EQ(parse(makeFile("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", llvm::StringRef("\0\1", 2))),
            "");
}

TEST_F(Npy, ElementsAreAlignedWhateverTheHeader) {
  std::string file = makeFile("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }  \n", "abcd");
  ASSERT_NE(file.size() % 4, 0u);
  ASSERT_FALSE(bool(writeOutputFile(path("a.npy"), [&](llvm::raw_ostream &stream) { stream << file; })));
  llvm::Expected<NpyArray> array = readNpy(path("a.npy"));
  ASSERT_TRUE(bool(array)) << llvm::toString(array.takeError());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(array->data) % 64, 0u);
  EXPECT_EQ(llvm::StringRef(array->data, 4), "abcd");
}

TEST_F(Npy, NotNpy) {
  EXPECT_EQ(parse(""), "x.npy: expected a .npy file, found other contents; write one with numpy.save");
  EXPECT_EQ(parse("PK\3\4"), "x.npy: expected a .npy file, found other contents; write one with numpy.save");
}

TEST_F(Npy, Version) {
  EXPECT_EQ(parse(makeFile("{}", "", 3)), "x.npy: expected .npy version 1.0 or 2.0, found 3.0");
  EXPECT_EQ(parse(makeFile("{}", "", char(200))), "x.npy: expected .npy version 1.0 or 2.0, found 200.0");
}

TEST_F(Npy, EveryTruncationIsRefused) {
  std::string whole = makeFile("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n", fourFloats);
  ASSERT_EQ(parse(whole), "");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(llvm::StringRef(parse(llvm::StringRef(whole).take_front(size))).starts_with("x.npy: expected "))
        << size;
}

TEST_F(Npy, WrongAmountOfData) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
  EXPECT_EQ(parse(makeFile(header, fourFloats.substr(1))),
            "x.npy: expected 16 bytes of elements for shape [2, 2] of float32, found 15");
  EXPECT_EQ(parse(makeFile(header, fourFloats + "#")),
            "x.npy: expected 16 bytes of elements for shape [2, 2] of float32, found 17");
}

TEST_F(Npy, ClaimedSizesAllocateNothing) {
  EXPECT_EQ(parse(makeFile("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000000), }", fourFloats)),
            "x.npy: expected 4000000000000000 bytes of elements for shape [1000000, 1000000000] of float32, found 16");
  EXPECT_EQ(
      parse(makeFile("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", fourFloats)),
      "x.npy: expected more than 2^63 bytes of elements for shape [4611686018427387904, 4] of float64, found 16");
}

TEST_F(Npy, HugeHeader) {
  EXPECT_EQ(parse(makeFile(std::string(20000, ' '), "")),
            "x.npy: expected a header of at most 10000 bytes, found 20000");
}

TEST_F(Npy, FortranOrder) {
  EXPECT_EQ(parse(makeFile("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", fourFloats)),
            "x.npy: expected an array in C order, found Fortran order; save numpy.ascontiguousarray of it");
}

TEST_F(Npy, Types) {
  for (const char *type : {">f4", "<c8", "|S4", "|O", "<u4", "=f4", "<f44", "<V4"})
    EXPECT_EQ(
        parse(makeFile(std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (4,), }", fourFloats)),
        std::string(
            "x.npy: expected an array of type float32, float64, float16, bfloat16, float8_e4m3fn, float8_e5m2, bool, "
            "int8, int32, int64, little-endian ('<f4', '<f8', '<f2', '<V2', '<V1', '<f1', '|b1', '|i1', '<i4', "
            "'<i8'), found '") +
            type + "'; convert it with numpy's astype");
}

TEST_F(Npy, BFloat16HasTwoNames) {
  for (const char *type : {"<V2", "|V2"})
    EXPECT_EQ(
        parse(makeFile(std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (8,), }", fourFloats)),
        "");
}

TEST_F(Npy, Float8HasThreeNames) {
  for (const char *type : {"<V1", "|V1", "<f1"})
    EXPECT_EQ(
        parse(makeFile(std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (16,), }", fourFloats)),
        "");
}

TEST_F(Npy, MalformedHeaders) {
  for (const char *header :
       {"", "{", "{}", "[]", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), } x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4, }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-4,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4L,), }",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (4,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"})
    EXPECT_EQ(parse(makeFile(header, fourFloats)),
              std::string("x.npy: expected a header of 'descr', 'fortran_order' and 'shape', found ") + header);
}

TEST_F(Npy, BooleansAreZeroOrOne) {
  EXPECT_EQ(parse(makeFile("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", llvm::StringRef("\0\1\2", 3))),
            "x.npy: expected booleans of 0 or 1, found 2");
}

TEST_F(Npy, FilesThatCannotBeRead) {
  EXPECT_EQ(llvm::toString(readNpy(path("none.npy")).takeError()),
            "'" + path("none.npy") + "': No such file or directory");
  EXPECT_EQ(llvm::toString(readNpy(folder).takeError()), folder.str().str() + ": expected a regular file");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(llvm::toString(readNpy(path("pipe")).takeError()), path("pipe") + ": expected a regular file");
}

TEST_F(Npy, FilesThatCannotBeWritten) {
  float value = 1;
  std::string missing = path("none/a.npy");
  EXPECT_EQ(llvm::toString(writeNpy(missing, NpyType::Float32, {}, &value)),
            "'" + missing + "': No such file or directory");
  // A folder in the place of the file: nothing is left beside it.
  ASSERT_FALSE(fs::create_directory(path("b.npy")));
  EXPECT_EQ(llvm::toString(writeNpy(path("b.npy"), NpyType::Float32, {}, &value)),
            "'" + path("b.npy") + "': Is a directory");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(Npy, AFullDiskLeavesTheOldFile) {
  const float old = 1;
  ASSERT_FALSE(bool(writeNpy(path("a.npy"), NpyType::Float32, {}, &old)));
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = {64, before.rlim_max};
  auto *handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string error = llvm::toString(writeNpy(path("a.npy"), NpyType::Float32, {4}, fourFloats.data()));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(error, "'" + path("a.npy") + "': File too large");
  llvm::Expected<NpyArray> array = readNpy(path("a.npy"));
  ASSERT_TRUE(bool(array)) << llvm::toString(array.takeError());
  EXPECT_EQ(std::memcmp(array->data, &old, sizeof(old)), 0);
  EXPECT_EQ(countFiles(), 1u);
}

// A pipe of our own and no device of the system: as root, a wrong rename would replace the device.
TEST_F(Npy, PipesAreWrittenInPlace) {
  std::string name = path("pipe");
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  int reader = open(name.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  float value = 1;
  ASSERT_FALSE(bool(writeNpy(name, NpyType::Float32, {}, &value)));
  char bytes[256];
  EXPECT_EQ(read(reader, bytes, sizeof(bytes)), 132);
  close(reader);
  fs::file_status status;
  ASSERT_FALSE(fs::status(name, status));
  EXPECT_EQ(status.type(), fs::file_type::fifo_file);
}

} // namespace
