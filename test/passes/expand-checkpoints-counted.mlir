// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --sinter-build-gradient="function=f wrt=0 mode=grad memory=binomial(4)" --sinter-expand-checkpoints --canonicalize | FileCheck %s --check-prefix=BINOMIAL
// RUN: sinter-opt %s --sinter-build-gradient="function=f wrt=0 mode=grad memory=period(5)" --sinter-expand-checkpoints --canonicalize | FileCheck %s --check-prefix=PERIOD
// RUN: sinter-opt %s --sinter-build-gradient="function=s wrt=0,1 mode=vjp memory=online(3)" --sinter-expand-checkpoints --canonicalize | FileCheck %s --check-prefix=SCAN
// RUN: not sinter-opt %s --sinter-build-gradient="function=fixed wrt=0 mode=grad" 2>&1 | FileCheck %s --check-prefix=IMPLICIT

// Four rows of the carry, kept on the way by the loop itself, and no stack.
// BINOMIAL-LABEL: @f_grad
// BINOMIAL-NOT: sinter.memory
// BINOMIAL-NOT: tensor<?x8xf64>
// BINOMIAL: sinter.for{{.*}}tensor<4x8xf64>
// BINOMIAL: sinter.cond
// BINOMIAL: sinter.dynamic_update_slice
// BINOMIAL: sinter.for{{.*}}tensor<4x8xf64>
// BINOMIAL-NOT: tensor<?x8xf64>
// BINOMIAL: return

// As many rows as there are segments; stacks are of one segment.
// PERIOD-LABEL: @f_grad
// PERIOD-NOT: sinter.memory
// PERIOD: sinter.for{{.*}}tensor<?x8xf64>
// PERIOD: sinter.for
// PERIOD: sinter.for

// What others read of a scan stays stacked; the gradient of its sequence is written slice by slice.
// SCAN-LABEL: @s_vjp
// SCAN: sinter.scan{{.*}}out_axes = array<i64: 1>,{{.*}}tensor<3x8xf64>
// SCAN: sinter.for{{.*}}tensor<8x?xf64>
// SCAN-NOT: sinter.scan
// SCAN: return

// IMPLICIT: 'sinter.for' op has no gradient under the policy implicit: it requires a while

func.func @f(%x: tensor<8xf64>, %n: tensor<i64>) -> tensor<f64> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0 = sinter.for %zero to %n step %one (%x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<8xf64>) -> tensor<8xf64> body {
  ^bb0(%i: tensor<i64>, %c: tensor<8xf64>):
    %next = sinter.sin %c : (tensor<8xf64>) -> tensor<8xf64>
    sinter.yield (%next) : tensor<8xf64>
  }
  %s = sinter.reduce add %0 axes = [0] : (tensor<8xf64>) -> tensor<f64>
  return %s : tensor<f64>
}

func.func @s(%x: tensor<8xf64>, %xs: tensor<8x?xf64>) -> (tensor<8xf64>, tensor<8x?xf64>) {
  %0:2 = sinter.scan (%x) over(%xs) captures() {axes = array<i64: 1>, reverse = array<i1: true>, out_axes = array<i64: 1>, out_reverse = array<i1: false>}
       : (tensor<8xf64>, tensor<8x?xf64>) -> (tensor<8xf64>, tensor<8x?xf64>) body {
  ^bb0(%c: tensor<8xf64>, %s: tensor<8xf64>):
    %p = sinter.mul %c, %s : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
    %next = sinter.sin %p : (tensor<8xf64>) -> tensor<8xf64>
    sinter.yield (%next, %p) : tensor<8xf64>, tensor<8xf64>
  }
  return %0#0, %0#1 : tensor<8xf64>, tensor<8x?xf64>
}

func.func @fixed(%x: tensor<f64>, %n: tensor<i64>) -> tensor<f64> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0 = sinter.for %zero to %n step %one (%x) captures() {sinter.memory = "implicit"} : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f64>) -> tensor<f64> body {
  ^bb0(%i: tensor<i64>, %c: tensor<f64>):
    %next = sinter.sin %c : (tensor<f64>) -> tensor<f64>
    sinter.yield (%next) : tensor<f64>
  }
  return %0 : tensor<f64>
}
