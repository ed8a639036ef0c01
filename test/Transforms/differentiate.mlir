// RUN: attn-opt %s --attn-differentiate | FileCheck %s

// The terms of lse are results of the forward pass, and no cotangent of lse is an argument, as the function did not
// return it.
// CHECK-LABEL: func.func @plain_forward(
// CHECK-SAME:    -> (tensor<2x4x8xf32>, tensor<2x4xf32> {attn.name = "max"}, tensor<2x4xf32> {attn.name = "log_sum"})
// CHECK-SAME:    attributes {attn.kind = "forward", attn.pair = "plain"}
// CHECK:         %[[OUT:.*]]:3 = attn.sdpa
// CHECK:         return %[[OUT]]#0, %[[OUT]]#1, %[[OUT]]#2
// CHECK-LABEL: func.func @plain_backward(
// CHECK-SAME:    %[[Q:.*]]: tensor<2x4x16xf32> {attn.name = "q"}, %[[K:.*]]: tensor<1x6x16xf32> {attn.name = "k"},
// CHECK-SAME:    %[[V:.*]]: tensor<1x6x8xf32> {attn.name = "value"}, %[[O:.*]]: tensor<2x4x8xf32> {attn.name = "out"},
// CHECK-SAME:    %[[MAX:.*]]: tensor<2x4xf32> {attn.name = "max"}, %[[SUM:.*]]: tensor<2x4xf32> {attn.name = "log_sum"},
// CHECK-SAME:    %[[DO:.*]]: tensor<2x4x8xf32> {attn.name = "dout"})
// CHECK-SAME:    -> (tensor<1x6x16xf32> {attn.name = "dk"}, tensor<2x4x16xf32> {attn.name = "dq"})
// CHECK-SAME:    attributes {attn.kind = "backward", attn.pair = "plain"}
// CHECK:         %[[GRADIENTS:.*]]:3 = attn.sdpa_backward ins(%[[Q]], %[[K]], %[[V]], %[[O]], %[[MAX]], %[[DO]] :
// CHECK-SAME:      log_sum(%[[SUM]] :
// CHECK:         causal = #attn.causal<bottom_right>
// CHECK:         return %[[GRADIENTS]]#1, %[[GRADIENTS]]#0
func.func @plain(%q: tensor<2x4x16xf32> {attn.name = "q"}, %k: tensor<1x6x16xf32> {attn.name = "k"},
                 %v: tensor<1x6x8xf32>, %o: tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    attributes {attn.grad = ["k", 0]} {
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x4x16xf32>, tensor<1x6x16xf32>, tensor<1x6x8xf32>)
      outs(%o : tensor<2x4x8xf32>) {causal = #attn.causal<bottom_right>} -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// A chain, with a sink, a bias that has a gradient, and an lse of its own, whose cotangent is an argument.
// CHECK-LABEL: func.func @chain_forward(
// CHECK:         attn.sdpa
// CHECK-LABEL: func.func @chain_backward(
// CHECK-SAME:    tensor<4xf32> {attn.name = "log_sum"}, %{{.*}}: tensor<4x8xf32> {attn.name = "dout"},
// CHECK-SAME:    %[[DLSE:.*]]: tensor<4xf32> {attn.name = "dlse"})
// CHECK-SAME:    -> (tensor<6xf32> {attn.name = "dbias"})
// CHECK:         attn.sdpa_backward
// CHECK-SAME:      dlse(%[[DLSE]] : tensor<4xf32>) log_sum({{.*}}) bias(
// CHECK-SAME:      dbias(
func.func @chain(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>,
                 %b: tensor<6xf32> {attn.name = "bias"}) -> (tensor<4x8xf32>, tensor<4xf32>)
    attributes {attn.grad = ["bias"]} {
  %e = tensor.empty() : tensor<4x6xf32>
  %l = tensor.empty() : tensor<4xf32>
  %o = tensor.empty() : tensor<4x8xf32>
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %m = attn.mask ins(%s : tensor<4x6xf32>) bias(%b : tensor<6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p, %lse = attn.softmax ins(%m : tensor<4x6xf32>) outs(%e, %l : tensor<4x6xf32>, tensor<4xf32>)
      -> tensor<4x6xf32>, tensor<4xf32>
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r, %lse : tensor<4x8xf32>, tensor<4xf32>
}

// Heads side by side: the reshapes are undone.
// CHECK-LABEL: func.func @reshaped_backward(
// CHECK-SAME:    %[[Q:.*]]: tensor<4x32xf32> {attn.name = "q"}
// CHECK-SAME:    -> (tensor<4x32xf32> {attn.name = "dq"})
// CHECK-DAG:     tensor.expand_shape %[[Q]]
// CHECK:         %[[GRADIENTS:.*]]:3 = attn.sdpa_backward
// CHECK-SAME:      maps = [
// CHECK:         %[[DQ:.*]] = tensor.collapse_shape %[[GRADIENTS]]#0 {{.*}} into tensor<4x32xf32>
// CHECK:         return %[[DQ]]
#rows = affine_map<(h, i, j, d, e) -> (i, h, d)>
#keys = affine_map<(h, i, j, d, e) -> (j, h, d)>
#values = affine_map<(h, i, j, d, e) -> (j, h, e)>
#outs = affine_map<(h, i, j, d, e) -> (i, h, e)>
func.func @reshaped(%q: tensor<4x32xf32> {attn.name = "q"}, %k: tensor<6x2x16xf32>, %v: tensor<6x2x8xf32>)
    -> tensor<4x16xf32> attributes {attn.grad = ["q"]} {
  %o = tensor.empty() : tensor<4x2x8xf32>
  %heads = tensor.expand_shape %q [[0], [1, 2]] output_shape [4, 2, 16] : tensor<4x32xf32> into tensor<4x2x16xf32>
  %r = attn.sdpa ins(%heads, %k, %v : tensor<4x2x16xf32>, tensor<6x2x16xf32>, tensor<6x2x8xf32>)
      outs(%o : tensor<4x2x8xf32>) {maps = [#rows, #keys, #values, #outs]} -> tensor<4x2x8xf32>
  %c = tensor.collapse_shape %r [[0], [1, 2]] : tensor<4x2x8xf32> into tensor<4x16xf32>
  return %c : tensor<4x16xf32>
}

// Others stay as they are.
// CHECK-LABEL: func.func @other(
// CHECK-NOT:   @other_
func.func @other(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>)
    -> tensor<4x8xf32> {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// A score_mod has its derivative beside it; what it reads is read there too.
// CHECK-LABEL: func.func @modified_backward(
// CHECK-SAME:    %[[SLOPES:[a-z0-9]+]]: tensor<2xf32> {attn.name = "slopes"}
// CHECK:         attn.sdpa_backward
// CHECK:         score_mod {
// CHECK:         score_grad {
// CHECK-NEXT:    ^bb0(%{{.*}}: f32, %[[DS:[a-z0-9]+]]: f32):
// CHECK:           %[[SLOPE:.*]] = tensor.extract %[[SLOPES]]
// CHECK:           %[[GRADIENT:.*]] = arith.mulf %[[DS]], %[[SLOPE]]
// CHECK:           %[[SELECTED:.*]] = arith.select %{{.*}}, %{{.*}}, %[[GRADIENT]]
// CHECK:           attn.yield %[[SELECTED]]
func.func @modified(%q: tensor<2x4x16xf32> {attn.name = "q"}, %k: tensor<2x6x16xf32>, %v: tensor<2x6x8xf32>,
                    %slopes: tensor<2xf32> {attn.name = "slopes"}) -> tensor<2x4x8xf32>
    attributes {attn.grad = ["q"]} {
  %o = tensor.empty() : tensor<2x4x8xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>)
      outs(%o : tensor<2x4x8xf32>) score_mod {
  ^bb0(%score: f32):
    %h = attn.index head : index
    %slope = tensor.extract %slopes[%h] : tensor<2xf32>
    %scaled = arith.mulf %score, %slope : f32
    attn.yield %scaled : f32
  } -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// Weights that are returned: the chain stays, and each of its ops has a rule. The weights are not computed again.
// CHECK-LABEL: func.func @weights_forward(
// CHECK-SAME:    -> (tensor<4x8xf32> {attn.name = "out"}, tensor<4x6xf32> {attn.name = "weights"})
// CHECK-LABEL: func.func @weights_backward(
// CHECK-SAME:    %[[P:[a-z0-9]+]]: tensor<4x6xf32> {attn.name = "weights"}, %[[DO:[a-z0-9]+]]: tensor<4x8xf32> {attn.name = "dout"}, %[[DP:[a-z0-9]+]]: tensor<4x6xf32> {attn.name = "dweights"})
// CHECK-SAME:    -> (tensor<4x16xf32> {attn.name = "dquery"})
// CHECK-NOT:     attn.softmax
// CHECK:         arith.addf %[[DP]]
func.func @weights(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>) -> (tensor<4x8xf32>, tensor<4x6xf32>)
    attributes {attn.grad = [0]} {
  %e = tensor.empty() : tensor<4x6xf32>
  %o = tensor.empty() : tensor<4x8xf32>
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r, %p : tensor<4x8xf32>, tensor<4x6xf32>
}

// Projections: their products are saved, and have products as gradients.
// CHECK-LABEL: func.func @layer_forward(
// CHECK-SAME:    tensor<1x5x8xf32> {attn.name = "out"}, tensor<1x5x8xf32> {attn.name = "saved"}
// CHECK-LABEL: func.func @layer_backward(
// CHECK:         attn.sdpa_backward
// CHECK-NOT:     attn.sdpa
func.func @layer(%x: tensor<1x5x8xf32>, %w: tensor<8x8xf32> {attn.name = "w"}) -> tensor<1x5x8xf32>
    attributes {attn.grad = ["w"]} {
  %y = tensor.empty() : tensor<1x5x8xf32>
  %r = attn.multi_head ins(%x, %w, %w, %w, %w : tensor<1x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>,
                           tensor<8x8xf32>) outs(%y : tensor<1x5x8xf32>) {heads = 2} -> tensor<1x5x8xf32>
  return %r : tensor<1x5x8xf32>
}

// Names: what the user gave, then roles, long or short, through reshapes, then numbers. An argument with two roles has
// none.
// CHECK-LABEL: func.func @roles_forward(
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<8x16xf32> {attn.name = "query"}, %{{[a-z0-9]+}}: tensor<2x6x16xf32> {attn.name = "v"}, %{{[a-z0-9]+}}: tensor<2x6x8xf32> {attn.name = "value"}, %{{[a-z0-9]+}}: tensor<4x6xf32> {attn.name = "bias"}, %{{[a-z0-9]+}}: tensor<2xf32> {attn.name = "sink"})
// CHECK-LABEL: func.func @roles_backward(
// CHECK-SAME:    -> (tensor<8x16xf32> {attn.name = "dquery"}, tensor<2x6x16xf32> {attn.name = "dv"}, tensor<2x6x8xf32> {attn.name = "dvalue"}, tensor<4x6xf32> {attn.name = "dbias"}, tensor<2xf32> {attn.name = "dsink"})
func.func @roles(%q: tensor<8x16xf32>, %k: tensor<2x6x16xf32> {attn.name = "v"}, %v: tensor<2x6x8xf32>,
                 %b: tensor<4x6xf32>, %s: tensor<2xf32>) -> tensor<2x4x8xf32>
    attributes {attn.grad = ["q", "key", "value", "bias", 4]} {
  %o = tensor.empty() : tensor<2x4x8xf32>
  %e = tensor.expand_shape %q [[0, 1], [2]] output_shape [2, 4, 16] : tensor<8x16xf32> into tensor<2x4x16xf32>
  %r = attn.sdpa ins(%e, %k, %v : tensor<2x4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>) bias(%b : tensor<4x6xf32>)
      sink(%s : tensor<2xf32>) outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
