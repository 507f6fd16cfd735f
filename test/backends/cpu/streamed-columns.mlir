// What one tile of rows reads of a large matrix comes from memory, once: the second-level cache is asked far ahead for one
// of the eight lines of a step. Hardware brings the others, and all of those of a step that reads four: few rows are one
// tile of several panels side by side.
// RUN: sinter compile %s --target=x86-64-v4 --emit=asm -o - | FileCheck %s
// RUN: sinter compile %s --target=x86-64-v3 --emit=asm -o - | FileCheck --check-prefix=FEW %s
// RUN: sinter compile %s --target=x86-64-v3 --emit=fused -o - | FileCheck --check-prefix=TILES %s
// RUN: sinter check %s
// FEW-NOT: prefetcht1
// TILES: tile = [1, 8]
// TILES: tile = [3, 4]
// TILES: tile = [5, 2]

// CHECK-LABEL: streamed_columns_k0_contraction:
// CHECK: prefetcht1
// CHECK-NOT: prefetcht1
// CHECK: streamed_columns_k1_contraction:
func.func @product(%x: tensor<1x1024xf32>) -> tensor<1x1024xf32> {
  %w = sinter.constant dense<0.5> : tensor<1024x1024xf32>
  %p = sinter.dot_general %x, %w {lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, lhs_batch = array<i64>, rhs_batch = array<i64>, element_type = f32} : (tensor<1x1024xf32>, tensor<1024x1024xf32>) -> tensor<1x1024xf32>
  return %p : tensor<1x1024xf32>
}

func.func @three_rows(%x: tensor<3x1024xf32>) -> tensor<3x1024xf32> {
  %w = sinter.constant dense<0.5> : tensor<1024x1024xf32>
  %p = sinter.dot_general %x, %w {lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, lhs_batch = array<i64>, rhs_batch = array<i64>, element_type = f32} : (tensor<3x1024xf32>, tensor<1024x1024xf32>) -> tensor<3x1024xf32>
  return %p : tensor<3x1024xf32>
}

func.func @five_rows(%x: tensor<5x1024xf32>) -> tensor<5x1024xf32> {
  %w = sinter.constant dense<0.5> : tensor<1024x1024xf32>
  %p = sinter.dot_general %x, %w {lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, lhs_batch = array<i64>, rhs_batch = array<i64>, element_type = f32} : (tensor<5x1024xf32>, tensor<1024x1024xf32>) -> tensor<5x1024xf32>
  return %p : tensor<5x1024xf32>
}
