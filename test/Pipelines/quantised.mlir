// attn.sdpa on quantised keys and values along every path that attn-opt has, against itself on what they stand for:
// materialised in f32 and f64, tiled (4 query rows, 3 keys) on tensors, and tiled on vectors.
// DEFINE: %{bufferize} = --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map"
// DEFINE: %{lower} = --convert-linalg-to-loops --expand-strided-metadata --lower-affine --convert-scf-to-cf \
// DEFINE:   --convert-vector-to-llvm --convert-math-to-libm --expand-strided-metadata --lower-affine --convert-to-llvm \
// DEFINE:   --reconcile-unrealized-casts
// DEFINE: %{execute} = mlir-runner -e examples --entry-point-result=void \
// DEFINE:   --shared-libs=%mlir_lib_dir/libmlir_runner_utils.so,%mlir_lib_dir/libmlir_c_runner_utils.so
// RUN: attn-opt %s --attn-to-reference %{bufferize} %{lower} | %{execute} | FileCheck %s
// RUN: attn-opt %s --attn-to-reference=compute-type=f64 %{bufferize} %{lower} | %{execute} | FileCheck %s
// RUN: attn-opt %s --attn-to-flash=target=x86-64 --attn-lower-to-reference %{bufferize} --scf-forall-to-for %{lower} | %{execute} \
// RUN:   | FileCheck %s
// RUN: attn-opt %s --attn-to-flash=target=x86-64 %{bufferize} --attn-lower-tile-to-vector=target=x86-64 \
// RUN:   --attn-outline-parallel=parallel=false %{lower} | %{execute} | FileCheck %s

!q = tensor<1x4x5x3xf32>
#schedule = #attn.prefill<query_tile = 4, key_tile = 3, lanes = 4, block_rows = 2, block_vectors = 1>

func.func private @printMemrefF32(tensor<*xf32>)

// The largest |x - y|.
func.func private @print_difference(%x: !q, %y: !q) {
  %zero = arith.constant dense<0.0> : tensor<1xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(b, h, i, e) -> (b, h, i, e)>, affine_map<(b, h, i, e) -> (b, h, i, e)>,
      affine_map<(b, h, i, e) -> (0)>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
      ins(%x, %y : !q, !q) outs(%zero : tensor<1xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %difference = arith.subf %a, %b : f32
    %size = math.absf %difference : f32
    %eps = arith.constant 1.0e-5 : f32
    %wrong = arith.cmpf ugt, %size, %eps : f32
    %one = arith.constant 1.0 : f32
    %new = arith.select %wrong, %one, %old : f32
    linalg.yield %new : f32
  } -> tensor<1xf32>
  %u = tensor.cast %d : tensor<1xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}

func.func private @wide(%q: !q, %k: tensor<1x2x4x3xf32>) -> !q {
  %o = tensor.empty() : !q
  %r = attn.sdpa ins(%q, %k, %k : !q, tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>) outs(%o : !q)
      {causal = #attn.causal<top_left>, softcap = 3.0 : f64, schedule = #schedule} score_mod {
  ^bb0(%score: f32):
    %one = arith.constant 1.0 : f32
    %more = arith.addf %score, %one : f32
    attn.yield %more : f32
  } -> !q
  return %r : !q
}

func.func private @integers(%q: !q, %k: tensor<1x2x4x3xi8>, %s: tensor<2xf32>) -> !q {
  %o = tensor.empty() : !q
  %r = attn.sdpa ins(%q, %k, %k : !q, tensor<1x2x4x3xi8>, tensor<1x2x4x3xi8>)
      kv_scale(%s, %s : tensor<2xf32>, tensor<2xf32>) outs(%o : !q)
      {causal = #attn.causal<top_left>, softcap = 3.0 : f64, schedule = #schedule} score_mod {
  ^bb0(%score: f32):
    %one = arith.constant 1.0 : f32
    %more = arith.addf %score, %one : f32
    attn.yield %more : f32
  } -> !q
  return %r : !q
}

func.func private @integers_a_token(%q: !q, %k: tensor<1x2x4x3xi8>, %s: tensor<1x2x4xf32>) -> !q {
  %o = tensor.empty() : !q
  %r = attn.sdpa ins(%q, %k, %k : !q, tensor<1x2x4x3xi8>, tensor<1x2x4x3xi8>)
      kv_scale(%s, %s : tensor<1x2x4xf32>, tensor<1x2x4xf32>) outs(%o : !q)
      {causal = #attn.causal<top_left>, softcap = 3.0 : f64, schedule = #schedule} score_mod {
  ^bb0(%score: f32):
    %one = arith.constant 1.0 : f32
    %more = arith.addf %score, %one : f32
    attn.yield %more : f32
  } -> !q
  return %r : !q
}

func.func private @float8(%q: !q, %k: tensor<1x2x4x3xf8E4M3FN>, %s: tensor<2xf32>) -> !q {
  %o = tensor.empty() : !q
  %r = attn.sdpa ins(%q, %k, %k : !q, tensor<1x2x4x3xf8E4M3FN>, tensor<1x2x4x3xf8E4M3FN>)
      kv_scale(%s, %s : tensor<2xf32>, tensor<2xf32>) outs(%o : !q)
      {causal = #attn.causal<top_left>, softcap = 3.0 : f64, schedule = #schedule} score_mod {
  ^bb0(%score: f32):
    %one = arith.constant 1.0 : f32
    %more = arith.addf %score, %one : f32
    attn.yield %more : f32
  } -> !q
  return %r : !q
}

func.func @examples() {
  %q = arith.constant dense<[[[[0.5, -1.0, 2.0], [1.0, 0.25, 0.0], [-1.0, 1.0, 0.5], [2.0, 0.0, 1.0], [0.1, 0.2, 0.3]],
                              [[1.5, -2.0, 0.0], [0.5, 0.5, 1.0], [-2.0, 0.0, 0.5], [1.0, 1.0, 1.0], [0.3, 0.2, 0.1]],
                              [[0.0, -1.0, 1.0], [1.0, 2.25, 0.5], [-1.0, 0.5, 0.5], [0.0, 2.0, 1.0], [0.9, 0.0, 0.3]],
                              [[0.5, -0.5, 2.0], [3.0, 0.25, 1.0], [-1.0, 1.0, 2.5], [2.0, 1.0, 0.0], [0.1, 0.7, 0.0]]]]> : !q
  %numbers = arith.constant dense<[[[[-4, 1, 3], [2, 8, -6], [0, 1, -1], [5, -2, 7]],
                                    [[1, -3, 2], [12, 0, 4], [-8, 6, 1], [2, 2, -2]]]]> : tensor<1x2x4x3xi8>
  %heads = arith.constant dense<[0.25, -0.125]> : tensor<2xf32>
  %tokens = arith.constant dense<[[[0.25, 0.5, 2.0, 0.125], [1.0, 0.0625, -0.5, 0.25]]]> : tensor<1x2x4xf32>
  // Number times scale of the head, and of the token.
  %by_head = arith.constant dense<[[[[-1.0, 0.25, 0.75], [0.5, 2.0, -1.5], [0.0, 0.25, -0.25], [1.25, -0.5, 1.75]],
      [[-0.125, 0.375, -0.25], [-1.5, 0.0, -0.5], [1.0, -0.75, -0.125], [-0.25, -0.25, 0.25]]]]> : tensor<1x2x4x3xf32>
  %by_token = arith.constant dense<[[[[-1.0, 0.25, 0.75], [1.0, 4.0, -3.0], [0.0, 2.0, -2.0], [0.625, -0.25, 0.875]],
      [[1.0, -3.0, 2.0], [0.75, 0.0, 0.25], [4.0, -3.0, -0.5], [0.5, 0.5, -0.5]]]]> : tensor<1x2x4x3xf32>
  // The bits of the same numbers as f8E4M3FN: 1 is 0x38, 2 is 0x40, 3 is 0x44, 4 is 0x48 …
  %bits = arith.constant dense<[[[[200, 56, 68], [64, 80, 204], [0, 56, 184], [74, 192, 78]],
                                 [[56, 196, 64], [84, 0, 72], [208, 76, 56], [64, 64, 192]]]]> : tensor<1x2x4x3xi8>
  %floats = arith.bitcast %bits : tensor<1x2x4x3xi8> to tensor<1x2x4x3xf8E4M3FN>

  %head = call @wide(%q, %by_head) : (!q, tensor<1x2x4x3xf32>) -> !q
  %token = call @wide(%q, %by_token) : (!q, tensor<1x2x4x3xf32>) -> !q
  %a = call @integers(%q, %numbers, %heads) : (!q, tensor<1x2x4x3xi8>, tensor<2xf32>) -> !q
  %b = call @integers_a_token(%q, %numbers, %tokens) : (!q, tensor<1x2x4x3xi8>, tensor<1x2x4xf32>) -> !q
  %c = call @float8(%q, %floats, %heads) : (!q, tensor<1x2x4x3xf8E4M3FN>, tensor<2xf32>) -> !q
  // CHECK-COUNT-3: {{^}}[0]
  // CHECK: {{^}}[1]
  call @print_difference(%a, %head) : (!q, !q) -> ()
  call @print_difference(%b, %token) : (!q, !q) -> ()
  call @print_difference(%c, %head) : (!q, !q) -> ()
  call @print_difference(%a, %token) : (!q, !q) -> ()
  return
}
