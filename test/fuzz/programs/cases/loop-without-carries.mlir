module {
  func.func @main() -> tensor<7x4xi64> {
    %0 = sinter.constant dense<[[-1.125000e+00, 4.000000e+00, -2.250000e+00, -2.812500e+00], [1.500000e+00, -4.000000e+00, -8.750000e-01, -1.250000e-01], [-3.437500e+00, -4.375000e-01, -6.250000e-01, 3.937500e+00], [-3.562500e+00, -3.250000e+00, 2.875000e+00, -6.250000e-01], [-2.937500e+00, -2.500000e-01, -1.562500e+00, -1.812500e+00], [-3.562500e+00, 3.375000e+00, -4.375000e-01, 3.187500e+00], [-8.125000e-01, 3.187500e+00, -1.375000e+00, -1.687500e+00]]> : tensor<7x4xf32>
    %1 = sinter.constant dense<-8> : tensor<i64>
    %2 = sinter.constant dense<[[false, false, false, false, true, false, false]]> : tensor<1x7xi1>
    %3 = sinter.constant dense<[[3, -6, -9, -1, -7, -4, 9]]> : tensor<1x7xi32>
    %4 = sinter.constant dense<0> : tensor<i64>
    %5 = sinter.constant dense<1> : tensor<i64>
    %6 = sinter.constant dense<5> : tensor<i64>
    %7 = sinter.constant dense<8> : tensor<i64>
    %8 = sinter.rem %7, %6 : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %9:3 = sinter.for %4 to %8 step %5(%2, %3) captures(%1, %0) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<1x7xi1>, tensor<1x7xi32>, tensor<i64>, tensor<7x4xf32>) -> (tensor<1x7xi1>, tensor<1x7xi32>, tensor<?x7x4xi64>) body {
    ^bb0(%arg0: tensor<i64>, %arg1: tensor<1x7xi1>, %arg2: tensor<1x7xi32>, %arg3: tensor<i64>, %arg4: tensor<7x4xf32>):
      %11 = sinter.transpose %arg4 {permutation = array<i64: 0, 1>} : (tensor<7x4xf32>) -> tensor<7x4xf32>
      %values, %positions = sinter.sort %arg4 {axis = 1 : i64, descending = true} : (tensor<7x4xf32>) -> (tensor<7x4xf32>, tensor<7x4xi64>)
      %12 = sinter.sub %positions, %positions : (tensor<7x4xi64>, tensor<7x4xi64>) -> tensor<7x4xi64>
      sinter.yield(%arg1, %arg2, %12) : tensor<1x7xi1>, tensor<1x7xi32>, tensor<7x4xi64>
    }
    %10 = sinter.reduce  add %9#2 axes = [0] : (tensor<?x7x4xi64>) -> tensor<7x4xi64>
    return %10 : tensor<7x4xi64>
  }
}
