// RUN: attn-opt %s --allow-unregistered-dialect --attn-check-allocations --verify-diagnostics

// What a region of an op that nobody registered runs is not known.
// expected-error @below {{expected registered ops beside kernels, found one with a region that is not; lower it first}}
module {
  "foreign.region"() ({
    "foreign.op"() : () -> ()
  }) : () -> ()
  llvm.func @malloc(i64) -> !llvm.ptr
  llvm.func @kernel(%a: !llvm.ptr) -> i32 attributes {attn.arguments = []} {
    %bytes = llvm.mlir.constant(8 : i64) : i64
    %p = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
    %code = llvm.mlir.constant(0 : i32) : i32
    llvm.return %code : i32
  }
}
