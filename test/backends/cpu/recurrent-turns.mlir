// Steps that are worth several threads (105,000 multiply-adds) are launched one after the other, a chunk for each vector
// of units; of a small cell one chunk walks all steps. Recurrent weights that a cache does not hold (420 KB of 512) are
// walked forwards and backwards in turn; those that it holds (64 KB) always forwards. Empty sequences leave the states.
// RUN: sinter check %s --target x86-64-v3 --threads 1
// RUN: sinter check %s --target x86-64-v3 --threads 2
// RUN: sinter compile %s --target x86-64-v3 --emit=schedule -o - | FileCheck --check-prefix=LAUNCH %s
// RUN: sinter compile %s --target x86-64-v3 --emit=loops -o - | FileCheck %s
// REQUIRES: x86_64

// CHECK-LABEL: func.func {{.*}}k0_recurrent
// CHECK: arith.select
// CHECK-LABEL: func.func {{.*}}k1_recurrent
// CHECK-NOT: arith.select
// LAUNCH-LABEL: schedule.function
// LAUNCH-DAG: launch @{{.*}}k0_recurrent({{.*}} chunks %c21_i64 steps %c5_i64
// LAUNCH-DAG: launch inline @{{.*}}k1_recurrent({{.*}} chunks %c1_i64 :
func.func @main(%x: tensor<5x3x648xf32>, %h: tensor<3x162xf32>, %x1: tensor<5x3x256xf32>, %h1: tensor<3x64xf32>) -> (tensor<5x3x162xf32>, tensor<5x3x64xf32>) {
  %r = sinter.constant dense<0.03125> : tensor<648x162xf32>
  %r1 = sinter.constant dense<0.03125> : tensor<256x64xf32>
  %y, %hh, %cc = sinter.lstm %x, %r, %h, %h : (tensor<5x3x648xf32>, tensor<648x162xf32>, tensor<3x162xf32>, tensor<3x162xf32>) -> (tensor<5x3x162xf32>, tensor<3x162xf32>, tensor<3x162xf32>)
  %y1, %hh1, %cc1 = sinter.lstm %x1, %r1, %h1, %h1 : (tensor<5x3x256xf32>, tensor<256x64xf32>, tensor<3x64xf32>, tensor<3x64xf32>) -> (tensor<5x3x64xf32>, tensor<3x64xf32>, tensor<3x64xf32>)
  return %y, %y1 : tensor<5x3x162xf32>, tensor<5x3x64xf32>
}
