// A fusion plan knows no back end. The ops of a kernel that no emitter takes (its results are of two shapes) become
// kernels of their own.
// RUN: sinter run %s --input arg0=ones --print | FileCheck %s
// RUN: sinter compile %s --emit=loops | FileCheck %s --check-prefix=KERNELS
// CHECK: -4
// CHECK: -1
// KERNELS-DAG: func.func @{{.*}}map
// KERNELS-DAG: func.func @{{.*}}reduce
func.func @results_of_two_shapes(%x: tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3x4xf32>) {
  %0:2 = sinter.kernel reduce (%x) : (tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3x4xf32>) {
  ^bb0(%a: tensor<3x4xf32>):
    %n = sinter.neg %a : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %rows = sinter.reduce add %n axes = [1] : (tensor<3x4xf32>) -> tensor<3xf32>
    sinter.yield (%rows, %n) : tensor<3xf32>, tensor<3x4xf32>
  }
  return %0#0, %0#1 : tensor<3xf32>, tensor<3x4xf32>
}
