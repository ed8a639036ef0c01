// A mask of documents, before and after the documents are overwritten: each attention asks its own map of tiles.
// RUN: attnc run %s --check | FileCheck %s
// CHECK-COUNT-2: : ok

func.func @twice(%q: tensor<1x64x16xf32>, %k: tensor<1x64x16xf32>, %v: tensor<1x64x8xf32>, %d: tensor<64xi32>)
    -> (tensor<1x64x8xf32>, tensor<1x64x8xf32>) {
  %o = tensor.empty() : tensor<1x64x8xf32>
  %e = tensor.empty() : tensor<64xi32>
  %max = arith.constant 2147483647 : i32
  // One document, whatever %d is.
  %one = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%d : tensor<64xi32>) outs(%e : tensor<64xi32>) {
  ^bb0(%x: i32, %y: i32):
    %z = arith.divsi %x, %max : i32
    linalg.yield %z : i32
  } -> tensor<64xi32>
  %0 = attn.sdpa ins(%q, %k, %v : tensor<1x64x16xf32>, tensor<1x64x16xf32>, tensor<1x64x8xf32>)
      outs(%o : tensor<1x64x8xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %x = tensor.extract %one[%j] : tensor<64xi32>
    %y = tensor.extract %one[%i] : tensor<64xi32>
    %z = arith.cmpi eq, %x, %y : i32
    attn.yield %z : i1
  } -> tensor<1x64x8xf32>
  // A document a row, in the same buffer.
  %many = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%one : tensor<64xi32>) {
  ^bb0(%y: i32):
    %i = linalg.index 0 : index
    %z = arith.index_cast %i : index to i32
    linalg.yield %z : i32
  } -> tensor<64xi32>
  %1 = attn.sdpa ins(%q, %k, %v : tensor<1x64x16xf32>, tensor<1x64x16xf32>, tensor<1x64x8xf32>)
      outs(%o : tensor<1x64x8xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %x = tensor.extract %many[%j] : tensor<64xi32>
    %y = tensor.extract %many[%i] : tensor<64xi32>
    %z = arith.cmpi eq, %x, %y : i32
    attn.yield %z : i1
  } -> tensor<1x64x8xf32>
  return %0, %1 : tensor<1x64x8xf32>, tensor<1x64x8xf32>
}
