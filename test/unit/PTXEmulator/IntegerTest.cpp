//===- IntegerTest.cpp - integer arithmetic and bits ----------------------===//
//
// Expected values are worked out by hand from the PTX ISA's definitions.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunPTX.h"

using namespace attn::ptx;

namespace {

using I32 = std::vector<int32_t>;
using U32 = std::vector<uint32_t>;
using I64 = std::vector<int64_t>;
using U64 = std::vector<uint64_t>;
using U16 = std::vector<uint16_t>;
using I16 = std::vector<int16_t>;

TEST(Integer, AddAndSubtractWrap) {
  EXPECT_EQ(evaluate<uint32_t>("add.u32 d, a, b;", U32{1, 0xffffffff}, U32{2, 1}), (U32{3, 0}));
  EXPECT_EQ(evaluate<int32_t>("sub.s32 d, a, b;", I32{1, INT32_MIN}, I32{2, 1}), (I32{-1, INT32_MAX}));
  EXPECT_EQ(evaluate<uint16_t>("add.u16 d, a, b;", U16{0xffff}, U16{2}), (U16{1}));
  EXPECT_EQ(evaluate<int64_t>("add.s64 d, a, 16;", I64{-1}), (I64{15}));
  EXPECT_EQ(evaluate<uint64_t>("sub.u64 d, a, b;", U64{0}, U64{1}), (U64{~0ull}));
}

TEST(Integer, AddSaturates) {
  EXPECT_EQ(evaluate<int32_t>("add.sat.s32 d, a, b;", I32{INT32_MAX, INT32_MIN, 3}, I32{1, -1, 4}),
            (I32{INT32_MAX, INT32_MIN, 7}));
  EXPECT_EQ(evaluate<int32_t>("sub.sat.s32 d, a, b;", I32{INT32_MIN}, I32{1}), (I32{INT32_MIN}));
}

TEST(Integer, Carry) {
  // 0x1_ffffffff + 0x2_00000001 = 0x4_00000000 in two words.
  EXPECT_EQ(evaluate<uint32_t>("add.cc.u32 r, a, b; addc.u32 d, 1, 2;", U32{0xffffffff, 5}, U32{1, 1}), (U32{4, 3}));
  // 0x5_00000000 − 1: the low word borrows.
  EXPECT_EQ(evaluate<uint32_t>("sub.cc.u32 r, a, b; subc.u32 d, 5, 0;", U32{0, 1}, U32{1, 1}), (U32{4, 5}));
}

TEST(Integer, MultiplyLowHighWide) {
  EXPECT_EQ(evaluate<int32_t>("mul.lo.s32 d, a, b;", I32{100000, -3}, I32{100000, 7}), (I32{1410065408, -21}));
  EXPECT_EQ(evaluate<uint32_t>("mul.hi.u32 d, a, b;", U32{0xffffffff, 100000}, U32{0xffffffff, 100000}),
            (U32{0xfffffffe, 2}));
  EXPECT_EQ(evaluate<int32_t>("mul.hi.s32 d, a, b;", I32{-1, INT32_MIN}, I32{1, INT32_MIN}), (I32{-1, 0x40000000}));
  EXPECT_EQ(evaluate<int64_t>("mul.wide.s32 d, a, b;", I32{-2, INT32_MAX}, I32{3, 2}), (I64{-6, 4294967294}));
  EXPECT_EQ(evaluate<uint64_t>("mul.wide.u32 d, a, b;", U32{0xffffffff}, U32{2}), (U64{0x1fffffffe}));
  EXPECT_EQ(evaluate<int32_t>("mul.wide.s16 d, a, b;", I16{-300}, I16{300}), (I32{-90000}));
  EXPECT_EQ(evaluate<uint64_t>("mul.hi.u64 d, a, b;", U64{~0ull}, U64{16}), (U64{15}));
  EXPECT_EQ(evaluate<int64_t>("mul.hi.s64 d, a, b;", I64{-1}, I64{16}), (I64{-1}));
  EXPECT_EQ(evaluate<uint16_t>("mul.lo.u16 d, a, b;", U16{0xffff}, U16{0xffff}), (U16{1}));
}

TEST(Integer, MultiplyAdd) {
  EXPECT_EQ(evaluate<int32_t>("mad.lo.s32 d, a, b, c;", I32{7, -7}, I32{6, 6}, I32{1, 2}), (I32{43, -40}));
  EXPECT_EQ(evaluate<uint32_t>("mad.hi.u32 d, a, b, c;", U32{0x80000000}, U32{6}, U32{10}), (U32{13}));
  EXPECT_EQ(evaluate<int64_t>("mad.wide.s32 d, a, b, c;", I32{-5}, I32{4}, I64{int64_t(1) << 40}),
            (I64{(int64_t(1) << 40) - 20}));
  // The low 24 bits, 0xffffff = −1 as a signed number.
  EXPECT_EQ(evaluate<int32_t>("mul24.lo.s32 d, a, b;", I32{0x7fffffff}, I32{5}), (I32{-5}));
  EXPECT_EQ(evaluate<uint32_t>("mad24.lo.u32 d, a, b, c;", U32{0xff000002}, U32{5}, U32{1}), (U32{11}));
}

TEST(Integer, DivideTruncates) {
  EXPECT_EQ(evaluate<int32_t>("div.s32 d, a, b;", I32{-7, 7, INT32_MIN}, I32{2, -2, -1}), (I32{-3, -3, INT32_MIN}));
  EXPECT_EQ(evaluate<int32_t>("rem.s32 d, a, b;", I32{-7, 7, INT32_MIN}, I32{2, -2, -1}), (I32{-1, 1, 0}));
  EXPECT_EQ(evaluate<uint32_t>("div.u32 d, a, b;", U32{0xffffffff}, U32{10}), (U32{429496729}));
  EXPECT_EQ(evaluate<uint64_t>("rem.u64 d, a, b;", U64{1000000000001}, U64{10}), (U64{1}));
}

TEST(Integer, MinMaxAbsNegSad) {
  EXPECT_EQ(evaluate<int32_t>("min.s32 d, a, b;", I32{-1, 5}, I32{1, 3}), (I32{-1, 3}));
  EXPECT_EQ(evaluate<uint32_t>("min.u32 d, a, b;", U32{0xffffffff}, U32{1}), (U32{1}));
  EXPECT_EQ(evaluate<int16_t>("max.s16 d, a, b;", I16{-4}, I16{-5}), (I16{-4}));
  EXPECT_EQ(evaluate<int32_t>("min.relu.s32 d, a, b;", I32{-1, 5}, I32{1, 3}), (I32{0, 3}));
  EXPECT_EQ(evaluate<int32_t>("max.relu.s32 d, a, b;", I32{-4, 5}, I32{-1, 3}), (I32{0, 5}));
  EXPECT_EQ(evaluate<int32_t>("abs.s32 d, a;", I32{-3, INT32_MIN}), (I32{3, INT32_MIN}));
  EXPECT_EQ(evaluate<int64_t>("neg.s64 d, a;", I64{5}), (I64{-5}));
  EXPECT_EQ(evaluate<uint32_t>("sad.u32 d, a, b, c;", U32{3, 10}, U32{10, 3}, U32{100, 100}), (U32{107, 107}));
  EXPECT_EQ(evaluate<int32_t>("dp4a.s32.s32 d, a, b, c;", I32{0x01ff02fe}, I32{0x02030405}, I32{1000}),
            (I32{1000 + 1 * 2 + -1 * 3 + 2 * 4 + -2 * 5}));
}

TEST(Bits, Logic) {
  EXPECT_EQ(evaluate<uint32_t>("and.b32 d, a, b;", U32{0xf0f0}, U32{0xff00}), (U32{0xf000}));
  EXPECT_EQ(evaluate<uint32_t>("or.b32 d, a, 1;", U32{0xf0}), (U32{0xf1}));
  EXPECT_EQ(evaluate<uint64_t>("xor.b64 d, a, b;", U64{~0ull}, U64{0xff}), (U64{0xffffffffffffff00}));
  EXPECT_EQ(evaluate<uint16_t>("not.b16 d, a;", U16{0x00ff}), (U16{0xff00}));
  EXPECT_EQ(evaluate<uint32_t>("cnot.b32 d, a;", U32{0, 5}), (U32{1, 0}));
}

TEST(Bits, ShiftsClamp) {
  EXPECT_EQ(evaluate<uint32_t>("shl.b32 d, a, b;", U32{1, 1, 1}, U32{31, 32, 200}), (U32{0x80000000, 0, 0}));
  EXPECT_EQ(evaluate<uint32_t>("shr.u32 d, a, b;", U32{0x80000000, 0x80000000}, U32{31, 32}), (U32{1, 0}));
  EXPECT_EQ(evaluate<int32_t>("shr.s32 d, a, b;", I32{-8, -8, 8}, U32{1, 40, 40}), (I32{-4, -1, 0}));
  EXPECT_EQ(evaluate<uint64_t>("shl.b64 d, a, b;", U64{1}, U32{63}), (U64{1ull << 63}));
  EXPECT_EQ(evaluate<int16_t>("shr.s16 d, a, b;", I16{-256}, U32{4}), (I16{-16}));
}

TEST(Bits, FunnelShift) {
  const U32 low{0x89abcdef, 0x89abcdef}, high{0x01234567, 0x01234567};
  EXPECT_EQ(evaluate<uint32_t>("shf.l.wrap.b32 d, a, b, c;", low, high, U32{8, 40}), (U32{0x23456789, 0x23456789}));
  EXPECT_EQ(evaluate<uint32_t>("shf.r.wrap.b32 d, a, b, c;", low, high, U32{8, 0}), (U32{0x6789abcd, 0x89abcdef}));
  EXPECT_EQ(evaluate<uint32_t>("shf.l.clamp.b32 d, a, b, c;", low, high, U32{32, 99}), (U32{0x89abcdef, 0x89abcdef}));
  EXPECT_EQ(evaluate<uint32_t>("shf.r.clamp.b32 d, a, b, c;", low, high, U32{32, 4}), (U32{0x01234567, 0x789abcde}));
}

TEST(Bits, ExtractField) {
  EXPECT_EQ(
      evaluate<uint32_t>("bfe.u32 d, a, b, c;", U32{0x12345678, 0x12345678, 0xffffffff}, U32{8, 28, 4}, U32{12, 8, 0}),
      (U32{0x456, 0x1, 0}));
  // The sign is the field's highest bit, or the register's where the field ends beyond it.
  EXPECT_EQ(evaluate<int32_t>("bfe.s32 d, a, b, c;", I32{0x0000ff00, 0x00007f00, INT32_MIN, INT32_MIN},
                              U32{8, 8, 28, 40}, U32{8, 8, 8, 4}),
            (I32{-1, 127, -8, -1}));
  EXPECT_EQ(evaluate<uint64_t>("bfe.u64 d, a, b, c;", U64{0x123456789abcdef0}, U32{32}, U32{16}), (U64{0x5678}));
}

TEST(Bits, InsertField) {
  EXPECT_EQ(evaluate<uint32_t>("bfi.b32 d, a, b, 8, 12;", U32{0xabc}, U32{0xffffffff}), (U32{0xfffabcff}));
  EXPECT_EQ(evaluate<uint32_t>("bfi.b32 d, a, b, 28, 12;", U32{0xabc}, U32{0}), (U32{0xc0000000}));
  EXPECT_EQ(evaluate<uint32_t>("bfi.b32 d, a, b, 4, 0;", U32{0xabc}, U32{7}), (U32{7}));
  EXPECT_EQ(evaluate<uint32_t>("bfi.b32 d, a, b, 0, 32;", U32{0xabc}, U32{7}), (U32{0xabc}));
}

TEST(Bits, Count) {
  EXPECT_EQ(evaluate<uint32_t>("popc.b32 d, a;", U32{0xff00ff, 0}), (U32{16, 0}));
  EXPECT_EQ(evaluate<uint32_t>("popc.b64 d, a;", U64{~0ull}), (U32{64}));
  EXPECT_EQ(evaluate<uint32_t>("clz.b32 d, a;", U32{1, 0}), (U32{31, 32}));
  EXPECT_EQ(evaluate<uint32_t>("bfind.u32 d, a;", U32{0x80, 0}), (U32{7, 0xffffffff}));
  EXPECT_EQ(evaluate<uint32_t>("bfind.s32 d, a;", I32{-1, -128, 127}), (U32{0xffffffff, 6, 6}));
  EXPECT_EQ(evaluate<uint32_t>("bfind.shiftamt.u32 d, a;", U32{0x80}), (U32{24}));
  EXPECT_EQ(evaluate<uint32_t>("brev.b32 d, a;", U32{0x1, 0x12345678}), (U32{0x80000000, 0x1e6a2c48}));
}

TEST(Bits, Lop3) {
  // The ISA's tables: (a & b & c) is 0x80, (a | b | c) 0xfe, (a & b & ~c) 0x40, ((a & b) | (~a & c)) 0xca.
  const U32 a{0x0f0f00ff}, b{0x3333ff00}, c{0x55550ff0};
  EXPECT_EQ(evaluate<uint32_t>("lop3.b32 d, a, b, c, 0x80;", a, b, c), (U32{0x0f0f00ff & 0x3333ff00 & 0x55550ff0}));
  EXPECT_EQ(evaluate<uint32_t>("lop3.b32 d, a, b, c, 0xfe;", a, b, c), (U32{0x0f0f00ff | 0x3333ff00 | 0x55550ff0}));
  EXPECT_EQ(evaluate<uint32_t>("lop3.b32 d, a, b, c, 0x40;", a, b, c), (U32{0x0f0f00ff & 0x3333ff00 & ~0x55550ff0u}));
  EXPECT_EQ(evaluate<uint32_t>("lop3.b32 d, a, b, c, 0xca;", a, b, c),
            (U32{(0x0f0f00ff & 0x3333ff00) | (~0x0f0f00ffu & 0x55550ff0)}));
}

TEST(Bits, Permute) {
  // Bytes of b:a are 0xb7b6b5b4_a3a2a1a0.
  const U32 a{0xa3a2a1a0}, b{0xb7b6b5b4};
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32 d, a, b, 0x5410;", a, b), (U32{0xb5b4a1a0}));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32 d, a, b, 0x7632;", a, b), (U32{0xb7b6a3a2}));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32 d, a, b, 0x0123;", a, b), (U32{0xa0a1a2a3}));
  // Bit 3 replicates the byte's sign.
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32 d, a, b, 0x8888;", a, b), (U32{0xffffffff}));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32 d, a, b, 0xa8;", U32{0x007f0080}, b), (U32{0x808000ff}));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32.f4e d, a, b, 1;", a, b), (U32{0xb4a3a2a1}));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32.b4e d, a, b, 1;", a, b), (U32{0xb6b7a0a1}));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32.rc8 d, a, b, 2;", a, b), (U32{0xa2a2a2a2}));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32.ecl d, a, b, 2;", a, b), (U32{0xa3a2a2a2}));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32.ecr d, a, b, 1;", a, b), (U32{0xa1a1a1a0}));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32.rc16 d, a, b, 1;", a, b), (U32{0xa3a2a3a2}));
}

TEST(Bits, Predicates) {
  const std::string start = "setp.lt.u32 p, a, 2; setp.eq.u32 q, b, 1;";
  auto result = [&](const std::string &op) {
    return evaluate<uint32_t>(start + op + " selp.u32 d, 1, 0, p;", U32{0, 1, 2, 3}, U32{0, 1, 0, 1});
  };
  EXPECT_EQ(result("and.pred p, p, q;"), (U32{0, 1, 0, 0}));
  EXPECT_EQ(result("or.pred p, p, q;"), (U32{1, 1, 0, 1}));
  EXPECT_EQ(result("xor.pred p, p, q;"), (U32{1, 0, 0, 1}));
  EXPECT_EQ(result("not.pred p, p;"), (U32{0, 0, 1, 1}));
}

TEST(Bits, MovePacksAndUnpacks) {
  EXPECT_EQ(evaluate<uint64_t>("mov.b64 d, {a, b};", U32{0x11111111}, U32{0x22222222}), (U64{0x2222222211111111}));
  EXPECT_EQ(evaluate<uint32_t>("mov.b64 {r, d}, a;", U64{0x2222222211111111}), (U32{0x22222222}));
  EXPECT_EQ(evaluate<uint32_t>("mov.b64 {d, _}, a;", U64{0x2222222211111111}), (U32{0x11111111}));
  EXPECT_EQ(evaluate<uint32_t>("mov.b32 {h, l}, a; mov.b32 d, {l, h};", U32{0x12345678}), (U32{0x56781234}));
  EXPECT_EQ(evaluate<uint32_t>("mov.u32 d, %laneid;", U32{9, 9, 9}), (U32{0, 1, 2}));
}

} // namespace
