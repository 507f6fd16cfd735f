// RUN: sinter-opt --verify-roundtrip %s

func.func @branches(%p: tensor<i1>, %i: tensor<i64>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = sinter.cond %p (%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %n = sinter.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%n) : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    sinter.yield (%a) : tensor<4xf32>
  }
  %1 = sinter.switch %i (%x) : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    sinter.yield (%a) : tensor<4xf32>
  }, {
  ^bb0(%a: tensor<4xf32>):
    %n = sinter.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%n) : tensor<4xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

func.func @loops(%n: tensor<i64>, %x: tensor<?xf32>, %xs: tensor<3x?xf32>) {
  %0:3 = sinter.while (%n) captures(%x) {max_trip = 10 : i64} : (tensor<i64>, tensor<?xf32>) -> (tensor<i64>, tensor<i64>, tensor<?x?xf32>) cond {
  ^bb0(%i: tensor<i64>, %c: tensor<?xf32>):
    %zero = sinter.constant dense<0> : tensor<i64>
    %go = sinter.compare gt %i, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%i: tensor<i64>, %c: tensor<?xf32>):
    %one = sinter.constant dense<1> : tensor<i64>
    %next = sinter.sub %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    sinter.yield (%next, %c) : tensor<i64>, tensor<?xf32>
  }
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %1:2 = sinter.for %zero to %n step %one (%x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi64>) body {
  ^bb0(%i: tensor<i64>, %c: tensor<?xf32>):
    %next = sinter.exp %c : (tensor<?xf32>) -> tensor<?xf32>
    sinter.yield (%next, %i) : tensor<?xf32>, tensor<i64>
  }
  %2:2 = sinter.scan (%x) over(%xs) captures() {axes = array<i64: 0>, reverse = array<i1: true>, out_axes = array<i64: 1>, out_reverse = array<i1: false>}
       : (tensor<?xf32>, tensor<3x?xf32>) -> (tensor<?xf32>, tensor<?x3xf32>) body {
  ^bb0(%c: tensor<?xf32>, %s: tensor<?xf32>):
    %next = sinter.add %c, %s : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    sinter.yield (%next, %s) : tensor<?xf32>, tensor<?xf32>
  }
  return
}

func.func @no_results(%p: tensor<i1>) {
  sinter.cond %p () : (tensor<i1>) -> () then {
    sinter.yield
  } else {
    sinter.yield
  }
  return
}
