// RUN: attn-opt %s --attn-describe-kernels --split-input-file --verify-diagnostics

// What a kernel's entries, their tables and its code on a GPU are called is free, for each target alike.
// expected-error @below {{expected the name of its checked entry to be free, found another 'f_checked'; rename one of the two}}
func.func @f(%x: tensor<2x4x8xf32>, %o: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %r = attn.sdpa ins(%x, %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
      outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
// expected-note @below {{here}}
func.func private @f_checked()

// -----

// expected-error @below {{expected the name of its function of a GPU kernel's workspace to be free, found another 'f_workspace_bytes'; rename one of the two}}
func.func @f(%x: tensor<2x4x8xf32>, %o: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %r = attn.sdpa ins(%x, %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
      outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
// expected-note @below {{here}}
func.func private @f_workspace_bytes()

// -----

// expected-error @below {{expected the name of its function of a GPU kernel's workspace to be free, found another 'f_workspace_bytes_checked'; rename one of the two}}
func.func @f(%x: tensor<2x4x8xf32>, %o: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %r = attn.sdpa ins(%x, %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
      outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
// expected-note @below {{here}}
func.func private @f_workspace_bytes_checked()

// -----

// expected-error @below {{expected the name of its table of arguments to be free, found another 'f_arguments'; rename one of the two}}
func.func @f(%x: tensor<2x4x8xf32>, %o: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %r = attn.sdpa ins(%x, %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
      outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
// expected-note @below {{here}}
func.func private @f_arguments()

// -----

// expected-error @below {{expected the name of its table of arguments to be free, found another 'f_argument0_shape'; rename one of the two}}
func.func @f(%x: tensor<2x4x8xf32>, %o: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %r = attn.sdpa ins(%x, %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
      outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
// expected-note @below {{here}}
func.func private @f_argument0_shape()

// -----

// expected-error @below {{expected the name of its code on a GPU to be free, found another 'f_gpu'; rename one of the two}}
func.func @f(%x: tensor<2x4x8xf32>, %o: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %r = attn.sdpa ins(%x, %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
      outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
// expected-note @below {{here}}
func.func private @f_gpu()

// -----

// expected-error @below {{expected the name of its code on a GPU to be free, found another 'f_gpu_image'; rename one of the two}}
func.func @f(%x: tensor<2x4x8xf32>, %o: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %r = attn.sdpa ins(%x, %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
      outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
// expected-note @below {{here}}
func.func private @f_gpu_image()

// -----

func.func @f(%x: tensor<2x4x8xf32>, %o: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %r = attn.sdpa ins(%x, %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
      outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
// expected-error @below {{expected another name than that of the runtime's function, which kernels on a GPU call, found 'attn_cuda_launch'; rename it}}
func.func private @attn_cuda_launch()

// -----

// Names that only begin like these.
func.func @f(%x: tensor<2x4x8xf32>, %o: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %r = attn.sdpa ins(%x, %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
      outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
func.func private @f_argument()
func.func private @f_argument0()
func.func private @f_gpu_imagery()
func.func private @f_tile()
