// One-shot bufferisation writes each op's destination in place, without a copy or a buffer of its own.
// RUN: attn-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN:     --drop-equivalent-buffer-results | FileCheck %s --implicit-check-not=memref.alloc --implicit-check-not=memref.copy

// CHECK-LABEL: func @scores(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: {{[^,)]*}}, %[[K:[a-z0-9]*]]: {{[^,)]*}}, %[[O:[a-z0-9]*]]: {{[^,)]*}})
//       CHECK:   attn.scores ins(%[[Q]], %[[K]] : memref<4x16xf32>, memref<6x16xf32>) outs(%[[O]] : memref<4x6xf32>){{$}}
func.func @scores(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// CHECK-LABEL: func @scale(
//  CHECK-SAME:     %[[S:[a-z0-9]*]]: {{[^,)]*}}, %[[O:[a-z0-9]*]]: {{[^,)]*}})
//       CHECK:   attn.scale ins(%[[S]] : memref<4x6xf32>) outs(%[[O]] : memref<4x6xf32>) {scale = 5.000000e-01 : f64}{{$}}
func.func @scale(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = attn.scale ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) {scale = 0.5 : f64} -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// CHECK-LABEL: func @softcap(
//  CHECK-SAME:     %[[S:[a-z0-9]*]]: {{[^,)]*}}, %[[O:[a-z0-9]*]]: {{[^,)]*}})
//       CHECK:   attn.softcap ins(%[[S]] : memref<4x6xf32>) outs(%[[O]] : memref<4x6xf32>) {softcap = 2.000000e+00 : f64}{{$}}
func.func @softcap(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = attn.softcap ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) {softcap = 2.0 : f64} -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// CHECK-LABEL: func @mask(
//  CHECK-SAME:     %[[S:[a-z0-9]*]]: {{[^,)]*}}, %[[M:[a-z0-9]*]]: {{[^,)]*}}, %[[O:[a-z0-9]*]]: {{[^,)]*}})
//       CHECK:   attn.mask ins(%[[S]] : memref<4x6xf32>) mask(%[[M]] : memref<1x6xi1>) outs(%[[O]] : memref<4x6xf32>) mask_mod {
func.func @mask(%s: tensor<4x6xf32>, %m: tensor<1x6xi1>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = attn.mask ins(%s : tensor<4x6xf32>) mask(%m : tensor<1x6xi1>) outs(%o : tensor<4x6xf32>) mask_mod {
      %i = attn.index query : index
      %j = attn.index key : index
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// CHECK-LABEL: func @softmax(
//  CHECK-SAME:     %[[S:[a-z0-9]*]]: {{[^,)]*}}, %[[O:[a-z0-9]*]]: {{[^,)]*}})
//       CHECK:   attn.softmax ins(%[[S]] : memref<4x6xf32>) outs(%[[O]] : memref<4x6xf32>){{$}}
func.func @softmax(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = attn.softmax ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// CHECK-LABEL: func @apply(
//  CHECK-SAME:     %[[P:[a-z0-9]*]]: {{[^,)]*}}, %[[V:[a-z0-9]*]]: {{[^,)]*}}, %[[O:[a-z0-9]*]]: {{[^,)]*}})
//       CHECK:   attn.apply ins(%[[P]], %[[V]] : memref<4x6xf32>, memref<6x8xf32>) outs(%[[O]] : memref<4x8xf32>){{$}}
func.func @apply(%p: tensor<4x6xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Both outputs, and a scale that is no buffer.
// CHECK-LABEL: func @sdpa(
//       CHECK:   attn.sdpa ins({{.*}} : memref<4x16xf32>, memref<6x16xf32>, memref<6x8xf32>) bias(%{{.*}} : memref<6xf32>)
//  CHECK-SAME:     scale_value(%{{.*}} : f32) outs(%{{.*}} : memref<4x8xf32>, memref<4xf32>){{$}}
func.func @sdpa(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %b: tensor<6xf32>, %s: f32,
                %o: tensor<4x8xf32>, %l: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %r:2 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) bias(%b : tensor<6xf32>)
      scale_value(%s : f32) outs(%o, %l : tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>
  return %r#0, %r#1 : tensor<4x8xf32>, tensor<4xf32>
}

// The whole online form works on one state: init, step and merge write where they read.
// CHECK-LABEL: func @online(
//  CHECK-SAME:     %[[A:[a-z0-9]*]]: memref<4x8xf32>, %[[M:[a-z0-9]*]]: memref<4xf32>, %[[L:[a-z0-9]*]]: memref<4xf32>, %[[O:[a-z0-9]*]]: {{[^,]*}})
//       CHECK:   attn.init_state outs(%[[A]], %[[M]], %[[L]] :
//       CHECK:   attn.online_step ins({{.*}}) outs(%[[A]], %[[M]], %[[L]] :
//       CHECK:   attn.merge_states ins({{.*}}) outs(%[[A]], %[[M]], %[[L]] :
//       CHECK:   attn.finalize ins(%[[A]], %[[M]], %[[L]] : {{.*}}) outs(%[[O]] :
func.func @online(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %x: tensor<4x8xf32>, %y: tensor<4xf32>,
                  %a: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %i:3 = attn.init_state outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  %s:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%i#0, %i#1, %i#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  %t:3 = attn.merge_states ins(%x, %y, %y : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%s#0, %s#1, %s#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  %r = attn.finalize ins(%t#0, %t#1, %t#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func @pack(
//       CHECK:   attn.pack ins(%{{.*}} : memref<3x6xi1>) outs(%{{.*}} : memref<4x6xi8>){{$}}
func.func @pack(%m: tensor<3x6xi1>, %o: tensor<4x6xi8>) -> tensor<4x6xi8> {
  %r = attn.pack ins(%m : tensor<3x6xi1>) outs(%o : tensor<4x6xi8>) -> tensor<4x6xi8>
  return %r : tensor<4x6xi8>
}
