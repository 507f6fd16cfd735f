// A block of rows fills half of the second-level cache, so that the right operand comes from beyond it as few times as
// may be. Rows that nearly fit are one block, and no block is so large that fewer than 24 chunks are left.
// RUN: sinter compile %s --target=x86-64-v4 --emit=fused -o - | FileCheck --check-prefixes=CHECK,MIB1 %s
// RUN: sinter compile %s --target=emeraldrapids --emit=fused -o - | FileCheck --check-prefixes=CHECK,MIB2 %s
// RUN: sinter compile %s --target=haswell --emit=fused -o - | FileCheck --check-prefixes=CHECK,KIB256 %s
// RUN: sinter compile %s --target=neoverse-v2 --emit=fused -o - | FileCheck --check-prefixes=CHECK,ARM %s

// Half of the cache in elements, times the columns of a tile.
// CHECK-LABEL: @many_blocks
// MIB1: tile = [6, 4], chunk = 8388608,
// MIB2: tile = [6, 4], chunk = 16777216,
// KIB256: tile = [6, 2], chunk = 524288,
// ARM: tile = [6, 4], chunk = 4194304,
func.func @many_blocks(%x: tensor<2048x960xf32>) -> tensor<2048x2048xf32> {
  %w = sinter.constant dense_resource<w> : tensor<960x2048xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2048x960xf32>, tensor<960x2048xf32>) -> tensor<2048x2048xf32>
  return %p : tensor<2048x2048xf32>
}

// 1.5 MiB of rows: one block where the cache has 2 MiB.
// CHECK-LABEL: @nearly_fits
// MIB1: tile = [6, 4], chunk = 8388608,
// MIB2: tile = [6, 4], chunk = 24576000,
// KIB256: tile = [6, 2], chunk = 524288,
// ARM: tile = [6, 4], chunk = 6144000,
func.func @nearly_fits(%x: tensor<400x960xf32>) -> tensor<400x1536xf32> {
  %w = sinter.constant dense_resource<w> : tensor<960x1536xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<400x960xf32>, tensor<960x1536xf32>) -> tensor<400x1536xf32>
  return %p : tensor<400x1536xf32>
}

// A panel of 3072 steps fills more than an eighth of the cache, and k goes by blocks of a sixteenth: what stays is a
// block of each row, its sums and two panels' blocks. Tiles are narrow though rows lie 4 KiB apart.
// CHECK-LABEL: @long_sums
// MIB1: tile = [8, 2], chunk = 10420224,
// MIB2: tile = [12, 2], chunk = 12582912,
// KIB256: tile = [6, 2], chunk = 1032192,
// ARM: tile = [4, 4], chunk = 6291456,
func.func @long_sums(%x: tensor<128x3072xf32>) -> tensor<128x1536xf32> {
  %w = sinter.constant dense_resource<w> : tensor<3072x1536xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<128x3072xf32>, tensor<3072x1536xf32>) -> tensor<128x1536xf32>
  return %p : tensor<128x1536xf32>
}

// One group of columns: blocks of a 24th of the rows.
// CHECK-LABEL: @few_columns
// MIB1: tile = [6, 4], chunk = 4128768,
// MIB2: tile = [6, 4], chunk = 4128768,
// KIB256: tile = [6, 2], chunk = 524288,
// ARM: tile = [6, 4], chunk = 4128768,
func.func @few_columns(%x: tensor<6144x252xf32>) -> tensor<6144x64xf32> {
  %w = sinter.constant dense_resource<w> : tensor<252x64xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<6144x252xf32>, tensor<252x64xf32>) -> tensor<6144x64xf32>
  return %p : tensor<6144x64xf32>
}
