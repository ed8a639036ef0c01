// One query over three keys: the kernel that main.c calls. The example is a worked one of the project's specification.
//
// RUN: attnc run %s --check | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: out: largest error {{.*}}: ok
//
// Without the parallel loop the object needs nothing but libc and libm, and no CMake file.
//
// RUN: rm -rf %t && mkdir %t
// RUN: attnc %s -o %t/attention.o --header=%t/attention.h --parallel=none
// RUN: %cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I%t %attn_cflags %S/main.c %t/attention.o -lm -o %t/call-attention
// RUN: %t/call-attention | FileCheck %s
// CHECK: out = 0.673344 0.670061
// CHECK: refused: {{.*}}expected
func.func @attention(%q: tensor<1x4xf32> {attn.name = "q"}, %k: tensor<3x4xf32> {attn.name = "k"},
                     %v: tensor<3x2xf32> {attn.name = "v"}) -> (tensor<1x2xf32> {attn.name = "out"}) {
  %init = tensor.empty() : tensor<1x2xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<1x4xf32>, tensor<3x4xf32>, tensor<3x2xf32>)
      outs(%init : tensor<1x2xf32>) -> tensor<1x2xf32>
  return %out : tensor<1x2xf32>
}
