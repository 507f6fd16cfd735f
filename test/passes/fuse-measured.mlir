// RUN: sinter-opt %s --mlir-disable-threading --sinter-print-fusion-plan -o /dev/null | FileCheck %s
// RUN: sinter-opt %s --sinter-form-kernels | FileCheck %s --check-prefix=FORMED

// The last sizes are those of the product, which the kernel of its sine answers for, and which reads the first sizes. A
// kernel of both selects would store the comparison for the first, and wait for itself.

// CHECK: map: compare select -> 2
// CHECK-NEXT: map: broadcast broadcast mul sin -> 1
// CHECK-NEXT: map: select -> 1
// CHECK-NEXT: map: broadcast -> 1

// FORMED: %[[S:.*]]:2 = sinter.kernel map(
// FORMED: %[[K:.*]] = sinter.kernel map(%arg0, %[[S]]#1, %arg1)
// FORMED: %[[N:.*]] = sinter.shape %[[K]]
// FORMED: sinter.kernel map(%[[S]]#0, %[[N]],
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %one = sinter.constant dense<1> : tensor<1xi64>
  %nx = sinter.shape %x : (tensor<?xf32>) -> tensor<1xi64>
  %ny = sinter.shape %y : (tensor<?xf32>) -> tensor<1xi64>
  %is_one = sinter.compare eq %nx, %one : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1>
  %first = sinter.select %is_one, %ny, %nx : (tensor<1xi1>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %a = sinter.broadcast %x shape(%first) axes = [0] {type = tensor<?xf32>} : (tensor<?xf32>, tensor<1xi64>) -> tensor<?xf32>
  %b = sinter.broadcast %y shape(%first) axes = [0] {type = tensor<?xf32>} : (tensor<?xf32>, tensor<1xi64>) -> tensor<?xf32>
  %product = sinter.mul %a, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %sine = sinter.sin %product : (tensor<?xf32>) -> tensor<?xf32>
  %np = sinter.shape %product : (tensor<?xf32>) -> tensor<1xi64>
  %last = sinter.select %is_one, %np, %nx : (tensor<1xi1>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %c = sinter.broadcast %sine shape(%last) axes = [0] {type = tensor<?xf32>} : (tensor<?xf32>, tensor<1xi64>) -> tensor<?xf32>
  return %c : tensor<?xf32>
}
