// RUN: attn-opt %s --attn-differentiate | FileCheck %s
// RUN: attn-opt %s --attn-differentiate --attn-lower-to-reference | FileCheck %s --check-prefix=REFERENCE

// Two heads of value share one of key: its gradients are sums over both, and are of f32 until then.
// CHECK-LABEL: func.func @f_forward
// CHECK:         attn.linear ins
// CHECK-LABEL: func.func @f_backward
// CHECK-SAME:    {attn.name = "dout"}, %[[DSTATE:[a-z0-9]+]]: tensor<1x2x8x6xf32> {attn.name = "dstate"}
// CHECK:         %[[R:.*]]:5 = attn.linear_backward ins
// CHECK-SAME:      outs(%{{.*}} : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xbf16>)
// CHECK-SAME:      dbeta(%{{.*}} : tensor<1x2x5xf32>) dstate(%[[DSTATE]] : tensor<1x2x8x6xf32>)
// CHECK:         %[[HEADS:.*]] = tensor.expand_shape %[[R]]#0
// CHECK-SAME:      into tensor<1x1x2x5x8xf32>
// CHECK:         linalg.generic {{.*}}"reduction"
// CHECK-SAME:      ins(%[[HEADS]]
// CHECK:         arith.truncf {{.*}} : tensor<1x1x5x8xf32> to tensor<1x1x5x8xbf16>
// CHECK:         return %{{.*}}, %{{.*}}#3, %{{.*}}#4
// REFERENCE-LABEL: func.func @f_backward
// REFERENCE-NOT:   attn.linear
// REFERENCE:       scf.for
// REFERENCE:       scf.for
// REFERENCE-NOT:   attn.linear
func.func @f(%q: tensor<1x1x5x8xbf16>, %k: tensor<1x1x5x8xbf16>, %v: tensor<1x2x5x6xbf16>, %b: tensor<1x2x5xf32>,
             %s: tensor<1x2x8x6xf32>) -> (tensor<1x2x5x6xbf16>, tensor<1x2x8x6xf32>)
    attributes {attn.grad = ["q", "beta", "state"]} {
  %o = tensor.empty() : tensor<1x2x5x6xbf16>
  %r:2 = attn.linear ins(%q, %k, %v : tensor<1x1x5x8xbf16>, tensor<1x1x5x8xbf16>, tensor<1x2x5x6xbf16>)
      beta(%b : tensor<1x2x5xf32>) outs(%o, %s : tensor<1x2x5x6xbf16>, tensor<1x2x8x6xf32>)
      -> tensor<1x2x5x6xbf16>, tensor<1x2x8x6xf32>
  return %r#0, %r#1 : tensor<1x2x5x6xbf16>, tensor<1x2x8x6xf32>
}
