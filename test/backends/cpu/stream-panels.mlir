// Packed weights that stream from beyond the second-level cache: each tile asks for its part of the next panels into that
// cache (prefetcht1), of long ones for its part of a block of k, or, where only a call tells how many tiles there are,
// for what it needs 128 steps later (prefetcht0). Nothing is asked for that fits the second-level cache. A panel that
// does not stay in half of the first-level cache is brought there some steps early, each line once. No tile spills.
// RUN: sinter compile %s --target=emeraldrapids --emit=asm -o %t.s
// RUN: FileCheck %s < %t.s
// RUN: python3 %source/tools/check_spills.py %t.s 28 | FileCheck --check-prefix=TILE %s
// RUN: sinter compile %s --target=x86-64-v3 --emit=asm -o %t.narrow.s
// RUN: FileCheck --check-prefix=NARROW %s < %t.narrow.s
// RUN: python3 %source/tools/check_spills.py %t.narrow.s 12 | FileCheck --check-prefix=TILE %s

// TILE: FMAs in
// CHECK-LABEL: k0_contraction:
// CHECK: prefetcht0
// CHECK: prefetcht0
// CHECK: prefetcht1
// CHECK-NOT: prefetcht{{[01]}}
// CHECK: vfmadd231ps
// CHECK-NOT: prefetcht{{[01]}}
func.func @main(%x: tensor<124x768xf32>) -> tensor<124x1024xf32> {
  %w = sinter.constant dense<0.5> : tensor<768x1024xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<124x768xf32>, tensor<768x1024xf32>) -> tensor<124x1024xf32>
  return %p : tensor<124x1024xf32>
}

// CHECK-LABEL: k1_contraction:
// CHECK: prefetcht0
// CHECK: prefetcht0
// CHECK: prefetcht1
// CHECK-NOT: prefetcht{{[01]}}
// CHECK: vfmadd231ps
// CHECK-NOT: prefetcht{{[01]}}
func.func @long_sums(%x: tensor<124x3072xf32>) -> tensor<124x256xf32> {
  %w = sinter.constant dense<0.5> : tensor<3072x256xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<124x3072xf32>, tensor<3072x256xf32>) -> tensor<124x256xf32>
  return %p : tensor<124x256xf32>
}

// CHECK-LABEL: k2_contraction:
// CHECK-NOT: prefetcht1
// CHECK: prefetcht0
// CHECK-NOT: prefetcht1
func.func @unknown_rows(%x: tensor<?x3072xf32>) -> tensor<?x256xf32> {
  %w = sinter.constant dense<0.5> : tensor<3072x256xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<?x3072xf32>, tensor<3072x256xf32>) -> tensor<?x256xf32>
  return %p : tensor<?x256xf32>
}

// CHECK-LABEL: k3_contraction:
// CHECK: prefetcht0
// CHECK-NOT: prefetcht1
// NARROW-LABEL: k3_contraction:
// NARROW: prefetcht0 5120(
// NARROW: prefetcht0 1024(
// NARROW-NOT: prefetcht0
// NARROW: vfmadd231ps
func.func @in_second_cache(%x: tensor<124x300xf32>) -> tensor<124x256xf32> {
  %w = sinter.constant dense<0.5> : tensor<300x256xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<124x300xf32>, tensor<300x256xf32>) -> tensor<124x256xf32>
  return %p : tensor<124x256xf32>
}

// CHECK-LABEL: k4_contraction:
// CHECK-NOT: prefetcht{{[01]}}
func.func @in_first_cache(%x: tensor<124x100xf32>) -> tensor<124x256xf32> {
  %w = sinter.constant dense<0.5> : tensor<100x256xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<124x100xf32>, tensor<100x256xf32>) -> tensor<124x256xf32>
  return %p : tensor<124x256xf32>
}
