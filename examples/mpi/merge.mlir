// Attention of the same rows over two disjoint ranges of keys, (out1, lse1) and (out2, lse2), as attention over both.
// ring.c and decode.c call it for the blocks of other ranks.
//
// RUN: attnc run %s --check | FileCheck %s
// CHECK: out: largest error {{.*}}: ok
// CHECK: lse: largest error {{.*}}: ok
func.func @merge(%out1: tensor<?x32xf32> {attn.name = "out1"}, %lse1: tensor<?xf32> {attn.name = "lse1"},
                 %out2: tensor<?x32xf32> {attn.name = "out2"}, %lse2: tensor<?xf32> {attn.name = "lse2"})
    -> (tensor<?x32xf32> {attn.name = "out"}, tensor<?xf32> {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %lse1, %c0 : tensor<?xf32>
  %unit = arith.constant 1.0 : f32
  // What a kernel returns is a state whose row sum is 1: out = acc / 1, lse = m + ln 1.
  %one = tensor.splat %unit[%rows] : tensor<?xf32>
  %acc, %max, %sum = attn.merge_states ins(%out2, %lse2, %one : tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>)
      outs(%out1, %lse1, %one : tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>)
      -> tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>
  %out0 = tensor.empty(%rows) : tensor<?x32xf32>
  %lse0 = tensor.empty(%rows) : tensor<?xf32>
  %out, %lse = attn.finalize ins(%acc, %max, %sum : tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>)
      outs(%out0, %lse0 : tensor<?x32xf32>, tensor<?xf32>) -> tensor<?x32xf32>, tensor<?xf32>
  return %out, %lse : tensor<?x32xf32>, tensor<?xf32>
}
