// The row maximum and log_sum as results beside lse, each where it is wanted; they cross to the backward pass.

// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -attn-convert-to-online | FileCheck %s --check-prefix=ONLINE

// CHECK-LABEL: func.func @terms
//       CHECK:   attn.sdpa ins(%{{.*}}) outs(%{{.*}} : tensor<4x8xf32>) max(%{{.*}} : tensor<4xf32>) log_sum(
// ONLINE-LABEL: func.func @terms
//       ONLINE:   attn.online_step {{.*}}exact_max
//       ONLINE:   attn.finalize {{.*}} max(%{{.*}} : tensor<4xf32>) log_sum(%{{.*}} : tensor<4xf32>)
func.func @terms(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>,
                 %m: tensor<4xf32>, %l: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {
  %r:3 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      max(%m : tensor<4xf32>) log_sum(%l : tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
}

// Without max a kernel may keep one that is a little less.
// ONLINE-LABEL: func.func @log_sum
//   ONLINE-NOT:   exact_max
func.func @log_sum(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>,
                   %l: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      log_sum(%l : tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>
  return %r#1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @backward
//       CHECK:   attn.sdpa_backward {{.*}} log_sum(%{{.*}} : tensor<4xf32>)
func.func @backward(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>,
                    %m: tensor<4xf32>, %l: tensor<4xf32>) -> tensor<4x16xf32> {
  %dk = tensor.empty() : tensor<6x16xf32>
  %dv = tensor.empty() : tensor<6x8xf32>
  %r:3 = attn.sdpa_backward ins(%q, %k, %v, %o, %m, %o : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>,
      tensor<4x8xf32>, tensor<4xf32>, tensor<4x8xf32>) log_sum(%l : tensor<4xf32>)
      outs(%q, %dk, %dv : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      -> tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
  return %r#0 : tensor<4x16xf32>
}
