/* Calls the kernel of gpu-add.mlir through both of its entries, as a program on a machine with a GPU would. */
#include "add.h"
#include "attn-c/attn_cuda.h"

#include <stdio.h>

static float x[100], out[100];

int main(void) {
  int64_t needed = quadruple_workspace_bytes(100);
  printf("workspace: %lld bytes\n", (long long)needed);
  int32_t code = quadruple(x, out, 100, NULL, 0, NULL);
  printf("without a workspace: %d, %s\n", code, attn_cuda_message());
  _Alignas(256) static char workspace[512];
  code = quadruple(x, out, 100, workspace, sizeof(workspace), NULL);
  printf("with one: %d, %s\n", code, attn_cuda_message());

  int64_t shape[1] = {100};
  DLTensor tensors[2] = {{x, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0},
                         {out, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0}};
  const DLTensor *arguments[2] = {&tensors[0], &tensors[1]};
  char message[256];
  code = quadruple_checked(arguments, 2, workspace, sizeof(workspace), NULL, message, sizeof(message));
  printf("on the CPU: %d, %s\n", code, message);
  printf("its workspace: %lld\n", (long long)quadruple_workspace_bytes_checked(arguments, 2, message, sizeof(message)));
  return 0;
}
