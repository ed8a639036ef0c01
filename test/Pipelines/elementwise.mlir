// Ops of arith and math on tensors around attention are loops of their own, also where sizes are dynamic.
// RUN: attnc run %s --check --size=b=3,sq=7 | FileCheck %s
// CHECK: output: largest error {{.*}}: ok
func.func @residual(%q: tensor<?x2x?x8xf32>, %k: tensor<?x2x6x8xf32>, %a: tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x2x?x8xf32>
  %sq = tensor.dim %q, %c2 : tensor<?x2x?x8xf32>
  %o = tensor.empty(%b, %sq) : tensor<?x2x?x8xf32>
  %out = attn.sdpa ins(%q, %k, %k : tensor<?x2x?x8xf32>, tensor<?x2x6x8xf32>, tensor<?x2x6x8xf32>)
      outs(%o : tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32>
  %sum = arith.addf %out, %a : tensor<?x2x?x8xf32>
  %r = math.tanh %sum : tensor<?x2x?x8xf32>
  return %r : tensor<?x2x?x8xf32>
}
