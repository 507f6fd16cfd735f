// Words of bytes without VNNI that are joined: small weights, of which sums of four products fit in 16 bits, are added two
// words at a time before pmaddwd widens the sums. Others are as in byte-pairs.mlir.
// RUN: sinter compile %s --target=x86-64-v3 --emit=fused -o - | FileCheck %s
// RUN: sinter compile %s --target=x86-64-v3 --emit=asm -o %t.s
// RUN: FileCheck --check-prefix=ASM %s < %t.s
// RUN: python3 %source/tools/check_spills.py %t.s 20 pmaddubsw | FileCheck --check-prefix=TILE %s
// RUN: sinter compile %s --target=x86-64-v2 --emit=asm -o - | FileCheck --check-prefix=SSE %s
// RUN: sinter compile %s --target=skylake-avx512 --emit=asm -o - | FileCheck --check-prefix=WIDE %s
// RUN: sinter check %s
// ASM: vpmaddubsw {{.*}}%ymm
// ASM: vpaddw
// ASM-NEXT: vpmaddwd
// TILE: FMAs in
// SSE: pmaddubsw {{.*}}%xmm
// SSE: paddw
// WIDE: vpmaddubsw {{.*}}%zmm
// WIDE: vpaddw {{.*}}%zmm

// CHECK-LABEL: @joined
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 2, 0, 0, 0>
func.func @joined(%x: tensor<30x96xui8>) -> tensor<30x32xi32> {
  %w = sinter.constant dense<32> : tensor<96x32xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x96xui8>, tensor<96x32xi8>) -> tensor<30x32xi32>
  return %p : tensor<30x32xi32>
}

// CHECK-LABEL: @signed_rows
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 2, 0, 0, 0>
func.func @signed_rows(%x: tensor<30x96xi8>) -> tensor<30x32xi32> {
  %w = sinter.constant dense<-32> : tensor<96x32xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x96xi8>, tensor<96x32xi8>) -> tensor<30x32xi32>
  return %p : tensor<30x32xi32>
}

// CHECK-LABEL: @unsigned_weights
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 2, 0, 0, 0>
func.func @unsigned_weights(%x: tensor<30x96xi8>) -> tensor<30x32xi32> {
  %w = sinter.constant dense<32> : tensor<96x32xui8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x96xi8>, tensor<96x32xui8>) -> tensor<30x32xi32>
  return %p : tensor<30x32xi32>
}

// The greatest are neighbours, of which each goes with three of the others.
// CHECK-LABEL: @in_order
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 2, 16, 1, 0>
func.func @in_order(%x: tensor<30x96xui8>) -> tensor<30x1xi32> {
  %w = sinter.constant dense<[[100], [100], [100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [100], [100], [100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [100], [100], [100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [100], [100], [100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [100], [100], [100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [100], [100], [100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5]]> : tensor<96x1xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x96xui8>, tensor<96x1xi8>) -> tensor<30x1xi32>
  return %p : tensor<30x1xi32>
}

// CHECK-LABEL: @groups_of_eight
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 2, 8, 1, 0>
func.func @groups_of_eight(%x: tensor<30x24xui8>) -> tensor<30x1xi32> {
  %w = sinter.constant dense<[[-100], [-100], [-5], [-5], [-5], [-5], [-5], [-5], [-100], [-100], [-5], [-5], [-5], [-5], [-5], [-5], [-100], [-100], [-5], [-5], [-5], [-5], [-5], [-5]]> : tensor<24x1xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x24xui8>, tensor<24x1xi8>) -> tensor<30x1xi32>
  return %p : tensor<30x1xi32>
}

// One set of many does not fit: what is beyond is multiplied by itself, the others as they lie.
// CHECK-LABEL: @extra_word
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 2, 16, 0, 1>
func.func @extra_word(%x: tensor<30x256xui8>) -> tensor<30x1xi32> {
  %w = sinter.constant dense<[[100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5]]> : tensor<256x1xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x256xui8>, tensor<256x1xi8>) -> tensor<30x1xi32>
  return %p : tensor<30x1xi32>
}

// Five great ones of a group are in four sets.
// CHECK-LABEL: @extra_word_in_order
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 2, 16, 1, 1>
func.func @extra_word_in_order(%x: tensor<30x96xui8>) -> tensor<30x1xi32> {
  %w = sinter.constant dense<[[100], [100], [100], [100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [100], [100], [100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [100], [100], [100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [100], [100], [100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [100], [100], [100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [100], [100], [100], [100], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5], [5]]> : tensor<96x1xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x96xui8>, tensor<96x1xi8>) -> tensor<30x1xi32>
  return %p : tensor<30x1xi32>
}

// Of an odd number of words none are joined.
// CHECK-LABEL: @odd_word
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 1, 0, 0, 0>
func.func @odd_word(%x: tensor<30x12xui8>) -> tensor<30x32xi32> {
  %w = sinter.constant dense<32> : tensor<12x32xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x12xui8>, tensor<12x32xi8>) -> tensor<30x32xi32>
  return %p : tensor<30x32xi32>
}

// CHECK-LABEL: @filter
// CHECK: convolution{{.*}}sinter.pairs = array<i64: 2, 0, 0, 0>
func.func @filter(%x: tensor<1x14x14x64xui8>) -> tensor<1x14x14x32xi32> {
  %w = sinter.constant dense<-32> : tensor<32x3x3x64xi8>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = i32} : (tensor<1x14x14x64xui8>, tensor<32x3x3x64xi8>) -> tensor<1x14x14x32xi32>
  return %p : tensor<1x14x14x32xi32>
}
