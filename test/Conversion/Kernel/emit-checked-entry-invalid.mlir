// RUN: attn-opt %s --attn-emit-checked-entry --split-input-file --verify-diagnostics

// A user's own function of a name that entries call.
// expected-error @below {{expected 'attn_check_arguments' to be the runtime's function of type '!llvm.func<i32 (ptr, i64, ptr, i64, ptr, i64)>', found another of this name; rename it}}
llvm.func @attn_check_arguments(!llvm.ptr)
llvm.func @kernel(%p: !llvm.ptr)
    attributes {attn.arguments = [{name = "out", output = true, type = tensor<4xf32>}]} {
  llvm.return
}
