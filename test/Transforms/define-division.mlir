// RUN: attn-opt %s --attn-define-division | FileCheck %s
// RUN: attn-opt %s --attn-define-division --attn-define-division | FileCheck %s

// CHECK-LABEL: @quotient
func.func @quotient(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK: %[[I:.*]] = attn.index query
  // CHECK: %[[J:.*]] = attn.index key
  // CHECK: %[[NEXT:.*]] = arith.addi %[[J]], %{{.*}}
  // CHECK: %[[IS_SPECIAL:.*]] = arith.cmpi ult, %[[NEXT]], %{{.*}}
  // CHECK: %[[DIVISOR:.*]] = arith.select %[[IS_SPECIAL]], %{{.*}}, %[[J]]
  // CHECK: %[[PRODUCT:.*]] = arith.muli %[[I]], %[[J]]
  // CHECK: %[[QUOTIENT:.*]] = arith.floordivsi %[[I]], %[[DIVISOR]]
  // CHECK: %[[X:.*]] = arith.select %[[IS_SPECIAL]], %[[PRODUCT]], %[[QUOTIENT]]
  // CHECK: arith.cmpi eq, %[[X]], %[[I]]
  %r = attn.mask ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %x = arith.floordivsi %i, %j : index
    %keep = arith.cmpi eq, %x, %i : index
    attn.yield %keep : i1
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// CHECK-LABEL: @remainders
func.func @remainders(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK: %[[DIVISOR:.*]] = arith.select
  // CHECK-NEXT: %[[SIGNED:.*]] = arith.remsi %{{.*}}, %[[DIVISOR]]
  // CHECK: %[[POSITIVE:.*]] = arith.maxui
  // CHECK-NEXT: %[[UNSIGNED:.*]] = arith.remui %{{.*}}, %[[POSITIVE]]
  // CHECK-NEXT: arith.cmpi eq, %[[SIGNED]], %[[UNSIGNED]]
  %r = attn.mask ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %x = arith.remsi %i, %j : index
    %y = arith.remui %i, %j : index
    %keep = arith.cmpi eq, %x, %y : index
    attn.yield %keep : i1
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// Divisors that are neither 0 nor -1 stay.
// CHECK-LABEL: @known
func.func @known(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK-NOT: arith.select
  %r = attn.mask ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) mask_mod {
    %c4 = arith.constant 4 : index
    %i = attn.index query : index
    %j = attn.index key : index
    %x = arith.floordivsi %i, %c4 : index
    %n = arith.maxsi %j, %c4 : index
    %y = arith.remsi %i, %n : index
    %keep = arith.cmpi eq, %x, %y : index
    attn.yield %keep : i1
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// What stands outside of regions is not ours.
// CHECK-LABEL: @outside
func.func @outside(%x: index, %y: index) -> index {
  // CHECK-NEXT: arith.floordivsi %{{.*}}, %{{.*}} : index
  %q = arith.floordivsi %x, %y : index
  return %q : index
}
