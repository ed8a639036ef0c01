// What attn.sdpa accumulates is merged behind it, elementwise, for a GPU.

// RUN: attn-opt %s --attn-split-accumulation | FileCheck %s
// RUN: not attn-opt %s --attn-select-schedule=target=sm_80 2>&1 | FileCheck %s --check-prefix=ALONE

// CHECK-LABEL: func.func @state
//       CHECK: %[[OWN:.*]]:2 = attn.sdpa ins(%{{.*}}) outs(%{{[0-9]+}}, %{{[0-9]+}} :
//   CHECK-NOT: accumulate
//       CHECK: %[[OUT:.*]] = linalg.generic {{.*}} ins(%[[OWN]]#0, {{.*}}) outs(%arg3 :
//       CHECK: %[[LSE:.*]] = linalg.generic {{.*}} ins(%[[OWN]]#1, {{.*}}) outs(%arg4 :
//       CHECK: return %[[OUT]], %[[LSE]]
// ALONE: error: 'attn.sdpa' op expected no accumulate on a GPU, whose kernels overwrite their outputs; run attn-split-accumulation first
func.func @state(%q: tensor<2x16x64xf32>, %k: tensor<2x32x64xf32>, %v: tensor<2x32x64xf32>,
                 %out: tensor<2x16x64xf32>, %lse: tensor<2x16xf32>) -> (tensor<2x16x64xf32>, tensor<2x16xf32>) {
  %0:2 = attn.sdpa ins(%q, %k, %v : tensor<2x16x64xf32>, tensor<2x32x64xf32>, tensor<2x32x64xf32>)
      outs(%out, %lse : tensor<2x16x64xf32>, tensor<2x16xf32>) {accumulate} -> tensor<2x16x64xf32>, tensor<2x16xf32>
  return %0#0, %0#1 : tensor<2x16x64xf32>, tensor<2x16xf32>
}
