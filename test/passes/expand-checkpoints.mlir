// RUN: sinter-opt %s --sinter-build-gradient="function=f wrt=0 mode=grad memory=online(4)" --sinter-expand-checkpoints --canonicalize | FileCheck %s --check-prefix=ONLINE
// RUN: sinter-opt %s --sinter-build-gradient="function=f wrt=0 mode=grad memory=binomial(4)" --sinter-expand-checkpoints --canonicalize | FileCheck %s --check-prefix=BINOMIAL
// RUN: sinter-opt %s --sinter-build-gradient="function=f wrt=0 mode=grad memory=period(5)" --sinter-expand-checkpoints --canonicalize | FileCheck %s --check-prefix=PERIOD
// RUN: sinter-opt %s --sinter-build-gradient="function=f wrt=0 mode=grad memory=all" --sinter-expand-checkpoints --canonicalize | FileCheck %s --check-prefix=ALL
// RUN: not sinter-opt %s --sinter-build-gradient="function=f wrt=0 mode=grad memory=some" 2>&1 | FileCheck %s --check-prefix=SOME

// Four rows of each carry, and no stack.
// ONLINE-LABEL: @f_grad
// ONLINE-NOT: sinter.memory
// ONLINE-NOT: tensor<?x8xf64>
// ONLINE: sinter.while({{.*}}tensor<4x8xf64>
// ONLINE: sinter.for

// BINOMIAL-LABEL: @f_grad
// BINOMIAL-NOT: tensor<?x8xf64>
// BINOMIAL: sinter.for{{.*}}tensor<4x8xf64>

// PERIOD-LABEL: @f_grad
// PERIOD: sinter.while{{.*}}tensor<?x8xf64>
// PERIOD: sinter.for
// PERIOD: sinter.for

// ALL-LABEL: @f_grad
// ALL-NOT: sinter.memory
// ALL: sinter.while{{.*}}tensor<?x8xf64>
// ALL: sinter.scan

// SOME: requires a memory policy of all, recompute, period(K), binomial(SLOTS), online(SLOTS) and implicit with 1 <= K, SLOTS <= 1048576, got 'some'
func.func @f(%x: tensor<8xf64>, %n: tensor<i64>) -> tensor<f64> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %0:3 = sinter.while (%zero, %x) captures(%n) : (tensor<i64>, tensor<8xf64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<8xf64>) cond {
  ^bb0(%i: tensor<i64>, %c: tensor<8xf64>, %m: tensor<i64>):
    %go = sinter.compare lt %i, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%i: tensor<i64>, %c: tensor<8xf64>, %m: tensor<i64>):
    %one = sinter.constant dense<1> : tensor<i64>
    %j = sinter.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %next = sinter.sin %c : (tensor<8xf64>) -> tensor<8xf64>
    sinter.yield (%j, %next) : tensor<i64>, tensor<8xf64>
  }
  %s = sinter.reduce add %0#2 axes = [0] : (tensor<8xf64>) -> tensor<f64>
  return %s : tensor<f64>
}
