// Attention of the whole on 4 processes: upstream's sharding passes, its lowering to MPI, and attn's kernels, compared with
// kernels of one process. What stands between the passes here are gaps of LLVM 22.1 (docs/Scaling.md).
//
// REQUIRES: mpi
// UNSUPPORTED: asan
// RUN: rm -rf %t && mkdir %t
// RUN: attn-opt %s --pass-pipeline="builtin.module(func.func(sharding-propagation,shard-partition),canonicalize,cse,convert-shard-to-mpi,canonicalize,cse)" -o %t/mpi.mlir
// The grid has no lowering. It is the world, so the communicator is too: upstream keeps 32 bits of Open MPI's 64.
// RUN: sed -e '/shard.grid/d' -e 's/mpi.comm_split(.*) :/mpi.comm_world :/' %t/mpi.mlir > %t/world.mlir
// RUN: attn-opt %t/world.mlir --attn-to-flash="target=host kernels=true" --attn-to-llvm="target=host parallel=false deallocate=false" -o %t/kernels.mlir
// RUN: attn-opt %t/kernels.mlir --convert-to-llvm --reconcile-unrealized-casts -o %t/llvm.mlir
// Open MPI calls its reductions ompi_mpi_op_max.
// RUN: sed 's/ompi_mpi_\(max\|sum\)/ompi_mpi_op_\1/g' %t/llvm.mlir > %t/names.mlir
// RUN: mlir-translate --mlir-to-llvmir %t/names.mlir -o %t/kernels.ll
// RUN: clang -c -O2 -march=native -Wno-override-module %t/kernels.ll -o %t/kernels.o
// RUN: attnc --problem="hq8 hkv4 sq64 sk64 d16 causal=top_left out=lse grad=q,k,v" --parallel=none -o %t/whole.o --header=%t/whole.h
// RUN: attnc --problem="hq8 hkv4 sq64 sk64 d16 causal=bottom_right q_lengths kv_lengths out=lse" --name=padded --parallel=none -o %t/padded.o --header=%t/padded.h
// RUN: attnc --problem="hq8 hkv4 sq64 sk64 d16 kv_lengths" --name=short_keys --parallel=none -o %t/short_keys.o --header=%t/short_keys.h
// RUN: mpicc -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror %attn_cflags -I%t %S/Inputs/ranks.c %t/kernels.o %t/whole.o %t/padded.o %t/short_keys.o -L%libdir -lattn_runtime -Wl,-rpath,%libdir -lm -o %t/ranks
// RUN: %mpirun 4 %t/ranks | FileCheck %s
// CHECK: heads: out {{.*}}: ok
// CHECK: rows: out {{.*}}: ok
// CHECK: keys: out {{.*}}, lse {{.*}}: ok
// CHECK: lengths: rows {{.*}}, keys {{.*}}, keys without a diagonal {{.*}}: ok
// CHECK: gradients by rows: dq {{.*}}, dk {{.*}}, dv {{.*}}: ok
// CHECK: gradients by keys: dq {{.*}}, dk {{.*}}, dv {{.*}}: ok
!q = tensor<1x8x64x16xf32>
!kv = tensor<1x4x64x16xf32>
!lse = tensor<1x8x64xf32>
module attributes {dlti.map = #dlti.map<"MPI:Implementation" = "OpenMPI">} {
shard.grid @grid(shape = 4)

func.func @heads(%q: !q, %k: !kv, %v: !kv) -> !q {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  %o = tensor.empty() : !q
  %r = attn.sdpa ins(%q1, %k, %v : !q, !kv, !kv) outs(%o : !q) {causal = #attn.causal<top_left>} -> !q
  return %r : !q
}

func.func @rows(%q: !q, %k: !kv, %v: !kv) -> !q {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  %o = tensor.empty() : !q
  %r = attn.sdpa ins(%q1, %k, %v : !q, !kv, !kv) outs(%o : !q) {causal = #attn.causal<top_left>} -> !q
  return %r : !q
}

func.func @keys(%q: !q, %k: !kv, %v: !kv) -> (!q, !lse) {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %k1 = shard.shard %k to %s annotate_for_users : !kv
  %o = tensor.empty() : !q
  %l = tensor.empty() : !lse
  %r:2 = attn.sdpa ins(%q, %k1, %v : !q, !kv, !kv) outs(%o, %l : !q, !lse) {causal = #attn.causal<top_left>} -> !q, !lse
  return %r#0, %r#1 : !q, !lse
}

func.func @row_lengths(%q: !q, %k: !kv, %v: !kv, %nq: tensor<1xi32>, %nk: tensor<1xi32>) -> !q {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  %o = tensor.empty() : !q
  %r = attn.sdpa ins(%q1, %k, %v : !q, !kv, !kv) q_lengths(%nq : tensor<1xi32>) kv_lengths(%nk : tensor<1xi32>)
      outs(%o : !q) {causal = #attn.causal<bottom_right>} -> !q
  return %r : !q
}

func.func @key_lengths(%q: !q, %k: !kv, %v: !kv, %nq: tensor<1xi32>, %nk: tensor<1xi32>) -> !q {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %k1 = shard.shard %k to %s annotate_for_users : !kv
  %o = tensor.empty() : !q
  %r = attn.sdpa ins(%q, %k1, %v : !q, !kv, !kv) q_lengths(%nq : tensor<1xi32>) kv_lengths(%nk : tensor<1xi32>)
      outs(%o : !q) {causal = #attn.causal<bottom_right>} -> !q
  return %r : !q
}

func.func @key_lengths_alone(%q: !q, %k: !kv, %v: !kv, %nk: tensor<1xi32>) -> !q {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %k1 = shard.shard %k to %s annotate_for_users : !kv
  %o = tensor.empty() : !q
  %r = attn.sdpa ins(%q, %k1, %v : !q, !kv, !kv) kv_lengths(%nk : tensor<1xi32>) outs(%o : !q) -> !q
  return %r : !q
}

func.func @row_gradients(%q: !q, %k: !kv, %v: !kv, %out: !q, %lse: !lse, %dout: !q) -> (!q, !kv, !kv) {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %q1 = shard.shard %q to %s annotate_for_users : !q
  %dq = tensor.empty() : !q
  %dk = tensor.empty() : !kv
  %dv = tensor.empty() : !kv
  %r:3 = attn.sdpa_backward ins(%q1, %k, %v, %out, %lse, %dout : !q, !kv, !kv, !q, !lse, !q)
      outs(%dq, %dk, %dv : !q, !kv, !kv) {causal = #attn.causal<top_left>} -> !q, !kv, !kv
  return %r#0, %r#1, %r#2 : !q, !kv, !kv
}

func.func @key_gradients(%q: !q, %k: !kv, %v: !kv, %out: !q, %lse: !lse, %dout: !q) -> (!q, !kv, !kv) {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %k1 = shard.shard %k to %s annotate_for_users : !kv
  %dq = tensor.empty() : !q
  %dk = tensor.empty() : !kv
  %dv = tensor.empty() : !kv
  %r:3 = attn.sdpa_backward ins(%q, %k1, %v, %out, %lse, %dout : !q, !kv, !kv, !q, !lse, !q)
      outs(%dq, %dk, %dv : !q, !kv, !kv) {causal = #attn.causal<top_left>} -> !q, !kv, !kv
  return %r#0, %r#1, %r#2 : !q, !kv, !kv
}
}
