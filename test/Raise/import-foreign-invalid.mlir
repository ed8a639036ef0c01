// RUN: attn-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(attn-import-foreign))' \
// RUN:     --split-input-file --verify-diagnostics

// An op of IREE without maps.
func.func @no_maps(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x8xf32>, %s: f32) -> tensor<4x8xf32> {
  // expected-error @below {{expected a query, a key, a value, a scale, a mask or none, 1 destinations, and an indexing map for each}}
  %r = "iree_linalg_ext.attention"(%q, %k, %v, %s, %q) ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, f32, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A result that is no destination's.
#m = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
      affine_map<(i, j, d, e) -> ()>, affine_map<(i, j, d, e) -> (i, e)>]
func.func @other_result(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %s: f32) -> tensor<4x8xf16> {
  // expected-error @below {{expected results of the types of their destinations, found 'tensor<4x8xf16>' and 'tensor<4x8xf32>'}}
  %r = "iree_linalg_ext.attention"(%q, %k, %k, %s, %q) <{indexing_maps = #m}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, f32, tensor<4x8xf32>) -> tensor<4x8xf16>
  return %r : tensor<4x8xf16>
}

// -----

// Values without a dimension of keys: there is no dimension of values alone.
#m = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, d)>,
      affine_map<(i, j, d, e) -> ()>, affine_map<(i, j, d, e) -> (i, d)>]
func.func @dimensions(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %s: f32) -> tensor<4x8xf32> {
  // expected-error @below {{expected indexing maps of dimensions (batch…, query, key, head, value), each but batch once}}
  %r = "iree_linalg_ext.attention"(%q, %k, %k, %s, %q) <{indexing_maps = #m}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, f32, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Keys of bytes.
#m = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
      affine_map<(i, j, d, e) -> ()>, affine_map<(i, j, d, e) -> (i, e)>]
func.func @bytes(%q: tensor<4x8xf32>, %k: tensor<6x8xi8>, %s: f32) -> tensor<4x8xf32> {
  // expected-error @below {{expected queries, keys, values and a result that are ranked tensors of f16, bf16, f32 or f64, found 'tensor<6x8xi8>'}}
  %r = "iree_linalg_ext.attention"(%q, %k, %k, %s, %q) <{indexing_maps = #m}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<4x8xf32>, tensor<6x8xi8>, tensor<6x8xi8>, f32, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A region of integers.
#m = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
      affine_map<(i, j, d, e) -> ()>, affine_map<(i, j, d, e) -> (i, e)>]
func.func @integers(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %s: f32) -> tensor<4x8xf32> {
  // expected-error @below {{expected a region that takes and yields one score, a float}}
  %r = "iree_linalg_ext.attention"(%q, %k, %k, %s, %q) <{indexing_maps = #m}> ({
  ^bb0(%x: i32):
    %y = arith.addi %x, %x : i32
    "iree_linalg_ext.yield"(%y) : (i32) -> ()
  }) : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, f32, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A region with an op that no linked dialect has.
#m = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
      affine_map<(i, j, d, e) -> ()>, affine_map<(i, j, d, e) -> (i, e)>]
func.func @unknown_in_region(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %s: f32) -> tensor<4x8xf32> {
  %r = "iree_linalg_ext.attention"(%q, %k, %k, %s, %q) <{indexing_maps = #m}> ({
  ^bb0(%x: f32):
    // expected-error @below {{expected ops of arith and math on a score, found other.op}}
    %y = "other.op"(%x) : (f32) -> f32
    "iree_linalg_ext.yield"(%y) : (f32) -> ()
  }) : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, f32, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// An online attention that goes on from another state.
#m = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
      affine_map<(i, j, d, e) -> ()>, affine_map<(i, j, d, e) -> (i, e)>, affine_map<(i, j, d, e) -> (i)>,
      affine_map<(i, j, d, e) -> (i)>]
func.func @goes_on(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %s: f32, %state: tensor<4xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{expected an online attention that starts from zeros and whose sum then divides it, found another use; write it as iree_linalg_ext.attention}}
  %r:3 = "iree_linalg_ext.online_attention"(%q, %k, %k, %s, %q, %state, %state) <{indexing_maps = #m}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, f32, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return %r#0 : tensor<4x8xf32>
}

// -----

// What is not attention has to be linalg.
func.func @beside(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{expected linalg beside the attention, found other.op; lower it to linalg first}}
  %x = "other.op"(%q) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = "tm_tensor.attention"(%x, %k, %k, %q)
      : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// No destination.
func.func @no_destination(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{expected a query, a key, a value, a mask or none, a destination and a result}}
  %r = "tm_tensor.attention"(%q, %k, %k) : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Buffers.
func.func @buffers(%q: memref<4x8xf32>, %k: memref<6x8xf32>) -> memref<4x8xf32> {
  // expected-error @below {{expected ranked tensors, and a result of the type of its destination}}
  %r = "tm_tensor.attention"(%q, %k, %k, %q)
      : (memref<4x8xf32>, memref<6x8xf32>, memref<6x8xf32>, memref<4x8xf32>) -> memref<4x8xf32>
  return %r : memref<4x8xf32>
}

// -----

// Keys without the batch of the queries.
func.func @ranks(%q: tensor<2x4x8xf32>, %k: tensor<6x8xf32>) -> tensor<2x4x8xf32> {
  // expected-error @below {{expected queries, keys and values of one rank, of two dimensions or more}}
  %r = "tm_tensor.attention"(%q, %k, %k, %q)
      : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// -----

// A mask of more dimensions than the scores.
func.func @mask(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %m: tensor<1x4x6xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{expected a mask of at most 2 dimensions, found 'tensor<1x4x6xf32>'}}
  %r = "tm_tensor.attention"(%q, %k, %k, %m, %q)
      : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<1x4x6xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// An op of another version of PyTorch.
func.func @operands(%q: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32> {
  // expected-error @below {{expected 8 operands, those of aten::scaled_dot_product_attention, found 3}}
  %r = "torch.aten.scaled_dot_product_attention"(%q, %q, %q)
      : (!torch.vtensor<[4,8],f32>, !torch.vtensor<[4,8],f32>, !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32>
  return %r : !torch.vtensor<[4,8],f32>
}

// -----

// Dropout, which training has.
!t = !torch.vtensor<[4,8],f32>
func.func @dropout(%q: !t) -> !t {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() <{value = 0.1 : f64}> : () -> !torch.float
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  // expected-error @below {{expected a constant dropout_p of 0 and constants is_causal and scale}}
  %r = "torch.aten.scaled_dot_product_attention"(%q, %q, %q, %none, %p, %no, %none, %no)
      : (!t, !t, !t, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !t
  return %r : !t
}

// -----

// The mask of a dropout.
!t = !torch.vtensor<[4,8],f32>
func.func @dropout_mask(%q: !t, %m: !torch.vtensor<[4,4],f32>) -> !t {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  // expected-error @below {{expected no dropout_mask, found one}}
  %r:2 = "torch.aten._scaled_dot_product_attention_math"(%q, %q, %q, %none, %p, %no, %m, %none, %no)
      : (!t, !t, !t, !torch.none, !torch.float, !torch.bool, !torch.vtensor<[4,4],f32>, !torch.none, !torch.bool)
      -> (!t, !torch.vtensor<[4,4],f32>)
  return %r#0 : !t
}

// -----

// Tensors of no known size.
!t = !torch.vtensor<*,f32>
func.func @unranked(%q: !t) -> !t {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  // expected-error @below {{expected operands of type !torch.vtensor<[SIZES],TYPE> of floats, found '!torch.vtensor<*,f32>'}}
  %r = "torch.aten.scaled_dot_product_attention"(%q, %q, %q, %none, %p, %no, %none, %no)
      : (!t, !t, !t, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !t
  return %r : !t
}

// -----

// The seed of the dropout is read.
!t = !torch.vtensor<[4,8],f32>
func.func @seed(%q: !t) -> (!t, !torch.int) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  // expected-error @below {{expected a use of the output and of the log-sum-exp alone, found one of result 2; leave it out}}
  %r:4 = "torch.aten._scaled_dot_product_efficient_attention"(%q, %q, %q, %none, %no, %p, %no, %none)
      : (!t, !t, !t, !torch.none, !torch.bool, !torch.float, !torch.bool, !torch.none)
      -> (!t, !torch.vtensor<[4],f32>, !torch.int, !torch.int)
  return %r#0, %r#2 : !t, !torch.int
}

// -----

// A log-sum-exp that is padded to a multiple of 32 rows.
!t = !torch.vtensor<[4,8],f32>
func.func @padded(%q: !t) -> (!t, !torch.vtensor<[32],f32>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  // expected-error @below {{expected a log-sum-exp of floats and of the sizes of the query but its last one, 'tensor<4x8xf32>', found '!torch.vtensor<[32],f32>'}}
  %r:4 = "torch.aten._scaled_dot_product_efficient_attention"(%q, %q, %q, %none, %no, %p, %no, %none)
      : (!t, !t, !t, !torch.none, !torch.bool, !torch.float, !torch.bool, !torch.none)
      -> (!t, !torch.vtensor<[32],f32>, !torch.int, !torch.int)
  return %r#0, %r#1 : !t, !torch.vtensor<[32],f32>
}
