// Every tile of an outer parallel loop reads what its own inner loop captures, however many threads run them.
// RUN: env OMP_NUM_THREADS=4 attnc run %s --check | FileCheck %s
// CHECK: output: {{.*}} ok

func.func @f(%a: tensor<64x640xf32>) -> tensor<64x640xf32> {
  %e = tensor.empty() : tensor<64x640xf32>
  %r = scf.forall (%i) in (64) shared_outs(%o = %e) -> tensor<64x640xf32> {
    %os = tensor.extract_slice %o[%i, 0] [1, 640] [1, 1] : tensor<64x640xf32> to tensor<640xf32>
    %row = scf.forall (%j) in (640) shared_outs(%p = %os) -> tensor<640xf32> {
      %x = tensor.extract %a[%i, %j] : tensor<64x640xf32>
      %y = arith.addf %x, %x : f32
      %one = tensor.empty() : tensor<1xf32>
      %f = linalg.fill ins(%y : f32) outs(%one : tensor<1xf32>) -> tensor<1xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %f into %p[%j] [1] [1] : tensor<1xf32> into tensor<640xf32>
      }
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %row into %o[%i, 0] [1, 640] [1, 1] : tensor<640xf32> into tensor<64x640xf32>
    }
  }
  return %r : tensor<64x640xf32>
}
