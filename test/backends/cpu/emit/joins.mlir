// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter compile %s --emit=loops --target=x86-64-v4 | FileCheck %s
// RUN: sinter compile %s --emit=loops --target=x86-64-v3 | FileCheck %s --check-prefix=UNMASKED

// A join along the lanes is walked part by part: each is copied by whole vectors and one under a mask, or by shorter
// ones where the target has no masks. Nothing is chosen.

// CHECK-LABEL: func.func {{.*}}map(
// CHECK-NOT: scf.if
// CHECK-NOT: vector.gather
// CHECK-COUNT-3: vector.maskedstore
// CHECK-NOT: vector.maskedstore
// CHECK: return
// UNMASKED-LABEL: func.func {{.*}}map(
// UNMASKED-NOT: scf.if
// UNMASKED-NOT: memref.load
// UNMASKED: vector.store {{.*}}vector<8xf32>
// UNMASKED: vector.store {{.*}}vector<8xf32>
// UNMASKED: vector.store {{.*}}vector<8xf32>
// UNMASKED: vector.store {{.*}}vector<4xf32>
// UNMASKED: vector.store {{.*}}vector<2xf32>
// UNMASKED: return
func.func @parts(%a: tensor<9x24xf32>, %b: tensor<9x24xf32>, %c: tensor<9x46xf32>) -> tensor<9x94xf32> {
  %0 = sinter.concatenate %a, %b, %c {axis = 1} : (tensor<9x24xf32>, tensor<9x24xf32>, tensor<9x46xf32>) -> tensor<9x94xf32>
  return %0 : tensor<9x94xf32>
}

// Rows around a middle axis are one, and so are the parts' rows with what lies behind them. Parts are whole vectors
// then.

// CHECK-LABEL: func.func {{.*}}map(
// CHECK-NOT: scf.if
// CHECK-NOT: vector.masked
// CHECK: return
func.func @middle_axis(%a: tensor<2x9x3x16xf32>, %b: tensor<2x9x5x16xf32>) -> tensor<2x9x8x16xf32> {
  %0 = sinter.concatenate %a, %b {axis = 2} : (tensor<2x9x3x16xf32>, tensor<2x9x5x16xf32>) -> tensor<2x9x8x16xf32>
  %1 = sinter.tanh %0 : (tensor<2x9x8x16xf32>) -> tensor<2x9x8x16xf32>
  return %1 : tensor<2x9x8x16xf32>
}

// Joins at other places are taken apart together.

// CHECK-LABEL: func.func {{.*}}map(
// CHECK-NOT: scf.if
// CHECK: return
func.func @other_places(%a: tensor<9x16xf32>, %b: tensor<9x48xf32>, %c: tensor<9x32xf32>, %d: tensor<9x32xf32>) -> tensor<9x64xf32> {
  %0 = sinter.concatenate %a, %b {axis = 1} : (tensor<9x16xf32>, tensor<9x48xf32>) -> tensor<9x64xf32>
  %1 = sinter.concatenate %c, %d {axis = 1} : (tensor<9x32xf32>, tensor<9x32xf32>) -> tensor<9x64xf32>
  %2 = sinter.add %0, %1 : (tensor<9x64xf32>, tensor<9x64xf32>) -> tensor<9x64xf32>
  return %2 : tensor<9x64xf32>
}

// What is read from its end as well is not.

// CHECK-LABEL: func.func {{.*}}map(
// CHECK: scf.if
// CHECK: return
func.func @read_in_two_ways(%a: tensor<9x24xf32>, %b: tensor<9x40xf32>) -> tensor<9x64xf32> {
  %0 = sinter.concatenate %a, %b {axis = 1} : (tensor<9x24xf32>, tensor<9x40xf32>) -> tensor<9x64xf32>
  %1 = sinter.reverse %0 {axes = array<i64: 1>} : (tensor<9x64xf32>) -> tensor<9x64xf32>
  %2 = sinter.add %0, %1 : (tensor<9x64xf32>, tensor<9x64xf32>) -> tensor<9x64xf32>
  return %2 : tensor<9x64xf32>
}
