// RUN: %sinter compile %s --emit=fused -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: %sinter compile %t.mlir -o %t.smod
// RUN: %sinter run %t.smod | FileCheck %s --check-prefix=VALUE

// A graph that has kernels is past the passes of graphs: they would undo the loop of one trip, and then the reduction
// over its one slice, and leave a kernel whose template and schedule are for something else.
// CHECK: sinter.for
// CHECK: sinter.kernel  reduce({{.*}}) {schedule = #sinter.schedule<reduce, lanes = 2, tile = [1], chunk = 64>}
// CHECK: sinter.reduce  add
// VALUE: 1.5
func.func @main() -> tensor<3x5xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %slices = sinter.for %zero to %one step %one() captures() : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?x3x5xf32> body {
  ^bb0(%i: tensor<i64>):
    %slice = sinter.constant dense<1.5> : tensor<3x5xf32>
    sinter.yield(%slice) : tensor<3x5xf32>
  }
  %sum = sinter.kernel reduce(%slices) {schedule = #sinter.schedule<reduce, lanes = 2, tile = [1], chunk = 64>} : (tensor<?x3x5xf32>) -> tensor<3x5xf32> {
  ^bb0(%x: tensor<?x3x5xf32>):
    %total = sinter.reduce add %x axes = [0] : (tensor<?x3x5xf32>) -> tensor<3x5xf32>
    sinter.yield(%total) : tensor<3x5xf32>
  }
  return %sum : tensor<3x5xf32>
}
