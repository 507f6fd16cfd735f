// Columns that lie packed or go through strips have tiles about as wide as high, which load least for each multiply-add,
// as long as what a tile reads of them stays in a quarter of the second-level cache. Wide ones ask for what they need some steps later. Of columns
// that do not fill tiles the last tile has those that are left.
// RUN: sinter compile %s --target=x86-64-v4 --emit=fused -o - | FileCheck --check-prefixes=CHECK,MIB1 %s
// RUN: sinter compile %s --target=emeraldrapids --emit=fused -o - | FileCheck --check-prefixes=CHECK,MIB2 %s
// RUN: sinter compile %s --target=haswell --emit=fused -o - | FileCheck --check-prefixes=CHECK,FEW %s
// RUN: sinter compile %s --target=x86-64-v4 --emit=asm -o %t.s && FileCheck --check-prefix=ASM %s < %t.s

// ASM-LABEL: k0_contraction:
// ASM: prefetcht0
// ASM: vfmadd231ps
// CHECK-LABEL: @rows_with_rows
// MIB1: tile = [6, 4],
// MIB2: tile = [6, 4],
// FEW: tile = [6, 2],
func.func @rows_with_rows(%x: tensor<600x250xf32>, %y: tensor<512x250xf32>) -> tensor<600x512xf32> {
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<600x250xf32>, tensor<512x250xf32>) -> tensor<600x512xf32>
  return %p : tensor<600x512xf32>
}

// A strip of 64 columns and 1,500 steps takes 375 KiB.
// CHECK-LABEL: @long_sums
// MIB1: tile = [1{{[34]}}, 2],
// MIB2: tile = [6, 4],
// FEW: tile = [6, 2],
func.func @long_sums(%x: tensor<780x1500xf32>, %y: tensor<1500x512xf32>) -> tensor<780x512xf32> {
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<780x1500xf32>, tensor<1500x512xf32>) -> tensor<780x512xf32>
  return %p : tensor<780x512xf32>
}

// Two tiles of three vectors are better than one of four and one of two.
// CHECK-LABEL: @few_columns
// MIB1: tile = [9, 3],
// MIB2: tile = [9, 3],
func.func @few_columns(%x: tensor<603x250xf32>, %y: tensor<96x250xf32>) -> tensor<603x96xf32> {
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<603x250xf32>, tensor<96x250xf32>) -> tensor<603x96xf32>
  return %p : tensor<603x96xf32>
}

// Packed columns lie in panels of two vectors, of which a tile walks one or two.
// CHECK-LABEL: @packed
// MIB1: tile = [6, 4],
// MIB2: tile = [6, 4],
// FEW: tile = [6, 2],
func.func @packed(%x: tensor<624x250xf32>) -> tensor<624x512xf32> {
  %w = sinter.constant dense<0.5> : tensor<250x512xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<624x250xf32>, tensor<250x512xf32>) -> tensor<624x512xf32>
  return %p : tensor<624x512xf32>
}
// Few rows wait for panels, which more tiles of fewer rows would read more often.
// CHECK-LABEL: @packed_for_few_rows
// MIB1: tile = [13, 2],
// MIB2: tile = [13, 2],
func.func @packed_for_few_rows(%x: tensor<130x250xf32>) -> tensor<130x512xf32> {
  %w = sinter.constant dense<0.5> : tensor<250x512xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<130x250xf32>, tensor<250x512xf32>) -> tensor<130x512xf32>
  return %p : tensor<130x512xf32>
}
// Tiles of rows that lie apart and are read where they lie are two vectors wide.
// CHECK-LABEL: @apart
// MIB1: tile = [1{{[34]}}, 2],
// MIB2: tile = [13, 2],
func.func @apart(%x: tensor<300x260xf32>, %y: tensor<300x256xf32>) -> tensor<260x256xf32> {
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<300x260xf32>, tensor<300x256xf32>) -> tensor<260x256xf32>
  return %p : tensor<260x256xf32>
}

