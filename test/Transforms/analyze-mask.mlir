// RUN: attn-opt %s --attn-analyze-mask | FileCheck %s
// RUN: attn-opt %s --attn-analyze-mask --remarks-filter-analyse=attn --remark-format=emitRemark --verify-diagnostics

// Every key is visited and full.
// CHECK-LABEL: func @no_mask(
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @no_mask(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                   %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// Row i keeps keys 0 to i: a tile [d0, d1) visits keys below d1; all of its rows keep those up to d0.
// CHECK-LABEL: func @top_left(
//       CHECK:   attn.sdpa
//   CHECK-NOT:   causal
//       CHECK:   mask_mod {
//   CHECK-DAG:     %[[I:.*]] = attn.index query : index
//   CHECK-DAG:     %[[J:.*]] = attn.index key : index
//       CHECK:     %[[KEEP:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
//       CHECK:     attn.yield %[[KEEP]]
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @top_left(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                    %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{predicate: 0 conjuncts always hold, 1 became key ranges, 0 are tested on every key}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) {causal = #attn.causal<top_left>} -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// The diagonal ends at the last key: Sk - Sq = 3 more keys.
// CHECK-LABEL: func @bottom_right(
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @bottom_right(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                        %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{1 became key ranges}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) {causal = #attn.causal<bottom_right>} -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// One query at the end keeps every key: the mask is dropped.
// CHECK-LABEL: func @decoding_step(
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @decoding_step(%q: tensor<1x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                         %o: tensor<1x8xf32>) -> tensor<1x8xf32> {
  // expected-remark @below {{predicate: 1 conjuncts always hold, 0 became key ranges}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<1x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<1x8xf32>) {causal = #attn.causal<bottom_right>} -> tensor<1x8xf32>
  return %r : tensor<1x8xf32>
}

// A window i - 4 < j <= i has a left and a right border.
// CHECK-LABEL: func @window(
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @window(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                  %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{2 became key ranges}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %four = arith.constant 4 : index
    %first = arith.subi %i, %four : index
    %right = arith.cmpi sle, %j, %i : index
    %left = arith.cmpi sgt, %j, %first : index
    %keep = arith.andi %left, %right : i1
    attn.yield %keep : i1
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// j < 7 is the same for all rows; 0 <= j always holds and is dropped.
// CHECK-LABEL: func @key_length(
//       CHECK:   mask_mod {
//   CHECK-NOT:     arith.cmpi sle
//       CHECK:     arith.cmpi slt
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @key_length(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                      %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{predicate: 1 conjuncts always hold, 1 became key ranges}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) mask_mod {
    %j = attn.index key : index
    %zero = arith.constant 0 : index
    %end = arith.constant 7 : index
    %in = arith.cmpi slt, %j, %end : index
    %some = arith.cmpi sle, %zero, %j : index
    %keep = arith.andi %in, %some : i1
    attn.yield %keep : i1
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// 2 j <= i: the bounds are rounded.
// CHECK-LABEL: func @every_second_key(
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @every_second_key(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                            %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{1 became key ranges}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %two = arith.constant 2 : index
    %twice = arith.muli %j, %two : index
    %keep = arith.cmpi sle, %twice, %i : index
    attn.yield %keep : i1
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// i = j: both borders at once.
// CHECK-LABEL: func @diagonal(
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @diagonal(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                    %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{1 became key ranges}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %keep = arith.cmpi eq, %i, %j : index
    attn.yield %keep : i1
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// A predicate that is false visits no key.
// CHECK-LABEL: func @nothing_kept(
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @nothing_kept(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                        %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{1 became key ranges}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) mask_mod {
    %keep = arith.constant false
    attn.yield %keep : i1
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// A predicate of rows alone: all keys or none.
// CHECK-LABEL: func @rows_only(
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @rows_only(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                     %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{1 became key ranges}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) mask_mod {
    %i = attn.index query : index
    %four = arith.constant 4 : index
    %keep = arith.cmpi slt, %i, %four : index
    attn.yield %keep : i1
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// i * j is no affine form: every key is tested, causal still bounds them.
// CHECK-LABEL: func @not_affine(
//       CHECK:     arith.andi
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @not_affine(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                      %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{predicate: 0 conjuncts always hold, 1 became key ranges, 1 are tested on every key}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) {causal = #attn.causal<top_left>} mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %ten = arith.constant 10 : index
    %x = arith.muli %i, %j : index
    %keep = arith.cmpi sle, %x, %ten : index
    attn.yield %keep : i1
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// j != i: the keys before i, or those after it. One of the two is full.
// CHECK-LABEL: func @not_equal(
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @not_equal(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                     %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{1 became key ranges, 0 are tested on every key}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %keep = arith.cmpi ne, %i, %j : index
    attn.yield %keep : i1
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// In i8, 16 i wraps at row 8: no range follows. In i32 it does not.
// CHECK-LABEL: func @narrow_type(
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @narrow_type(%q: tensor<16x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                       %o: tensor<16x8xf32>) -> tensor<16x8xf32> {
  // expected-remark @below {{predicate: 0 conjuncts always hold, 1 became key ranges, 1 are tested on every key}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<16x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<16x8xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %i8 = arith.index_cast %i : index to i8
    %j8 = arith.index_cast %j : index to i8
    %c8 = arith.constant 16 : i8
    %x8 = arith.muli %i8, %c8 : i8
    %keep8 = arith.cmpi sle, %j8, %x8 : i8
    %i32 = arith.index_cast %i : index to i32
    %j32 = arith.index_cast %j : index to i32
    %c32 = arith.constant 16 : i32
    %x32 = arith.muli %i32, %c32 : i32
    %keep32 = arith.cmpi sle, %j32, %x32 : i32
    %keep = arith.andi %keep8, %keep32 : i1
    attn.yield %keep : i1
  } -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// Numbers beyond 31 bits are not calculated with.
// CHECK-LABEL: func @huge_numbers(
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @huge_numbers(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                        %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{0 became key ranges, 1 are tested on every key}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %big = arith.constant 4611686018427387904 : index
    %x = arith.muli %i, %big : index
    %y = arith.muli %x, %big : index
    %keep = arith.cmpi sle, %j, %y : index
    attn.yield %keep : i1
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// A boolean mask may remove any key: none is full.
// CHECK-LABEL: func @dense_mask(
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @dense_mask(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>, %o: tensor<8x8xf32>,
                      %m: tensor<11xi1>) -> tensor<8x8xf32> {
  // expected-remark @below {{the dense mask or bias is read on every visited tile}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>) mask(%m : tensor<11xi1>)
      outs(%o : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// What holds for no last row that is known, is not dropped.
// CHECK-LABEL: func @dynamic_rows(
//       CHECK:   mask_mod
//       CHECK:   key_ranges {
//       CHECK:     attn.yield %{{.*}} : index, index, index, index
func.func @dynamic_rows(%q: tensor<?x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                        %o: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-remark @below {{predicate: 0 conjuncts always hold, 1 became key ranges}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<?x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<?x8xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %four = arith.constant 4 : index
    %last = arith.addi %i, %four : index
    %keep = arith.cmpi sle, %j, %last : index
    attn.yield %keep : i1
  } -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// Lengths and a sink become regions that read captured tensors; nothing of them stays on the op.
// CHECK-LABEL: func @lengths(
//       CHECK:   attn.sdpa ins({{.*}}) outs({{.*}}) mask_mod {
//       CHECK:     tensor.extract %[[N:.*]][%{{.*}}] : tensor<2xi32>
//       CHECK:   key_ranges {
//       CHECK:     tensor.extract %[[N]][%{{.*}}] : tensor<2xi32>
//       CHECK:   start {
//       CHECK:     tensor.extract %{{.*}}[%{{.*}}] : tensor<3xf32>
func.func @lengths(%q: tensor<2x3x8x16xf32>, %k: tensor<2x3x11x16xf32>, %v: tensor<2x3x11x8xf32>,
                   %n: tensor<2xi32>, %s: tensor<3xf32>, %o: tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
  // expected-remark @below {{predicate: 0 conjuncts always hold, 2 became key ranges, 0 are tested}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x3x8x16xf32>, tensor<2x3x11x16xf32>, tensor<2x3x11x8xf32>)
      sink(%s : tensor<3xf32>) kv_lengths(%n : tensor<2xi32>) outs(%o : tensor<2x3x8x8xf32>)
      {causal = #attn.causal<bottom_right>} -> tensor<2x3x8x8xf32>
  return %r : tensor<2x3x8x8xf32>
}

// Document ids: a map of tiles, made at run time.
// CHECK-LABEL: func @documents(
//       CHECK:   attn.sdpa {{.*}} {block_map}
func.func @documents(%q: tensor<8x16xf32>, %k: tensor<8x16xf32>, %v: tensor<8x8xf32>, %d: tensor<8xi32>,
                     %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{0 became key ranges, 1 are tested on every key, once a call, for a map of the tiles}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x8xf32>)
      outs(%o : tensor<8x8xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %x = tensor.extract %d[%i] : tensor<8xi32>
    %y = tensor.extract %d[%j] : tensor<8xi32>
    %keep = arith.cmpi eq, %x, %y : i32
    attn.yield %keep : i1
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// Ranges written by hand stay.
// CHECK-LABEL: func @given_ranges(
//       CHECK:   key_ranges {
//       CHECK:     %[[TWO:.*]] = arith.constant 2 : index
//       CHECK:     attn.yield %[[TWO]], %[[TWO]], %[[TWO]], %[[TWO]]
func.func @given_ranges(%q: tensor<8x16xf32>, %k: tensor<11x16xf32>, %v: tensor<11x8xf32>,
                        %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<11x16xf32>, tensor<11x8xf32>)
      outs(%o : tensor<8x8xf32>) key_ranges {
    %two = arith.constant 2 : index
    attn.yield %two, %two, %two, %two : index, index, index, index
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// Rows beyond the length are empty, whatever they start with.
// CHECK-LABEL: func @start_beside_lengths(
//       CHECK:   start {
//       CHECK:     %[[LENGTH:.*]] = tensor.extract %{{.*}} : tensor<2xi32>
//       CHECK:     arith.cmpi slt
//       CHECK:     arith.select
func.func @start_beside_lengths(%q: tensor<2x3x8x16xf32>, %k: tensor<2x3x8x16xf32>, %v: tensor<2x3x8x8xf32>,
                                %n: tensor<2xi32>, %s: tensor<3xf32>, %o: tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
  // expected-remark @below {{predicate: 0 conjuncts always hold}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>, tensor<2x3x8x8xf32>)
      q_lengths(%n : tensor<2xi32>) outs(%o : tensor<2x3x8x8xf32>) start {
    %h = attn.index head : index
    %x = tensor.extract %s[%h] : tensor<3xf32>
    attn.yield %x : f32
  } -> tensor<2x3x8x8xf32>
  return %r : tensor<2x3x8x8xf32>
}
