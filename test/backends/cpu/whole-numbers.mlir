// What is rounded to whole numbers, quantized and read again in the same kernel stays a float; what may have a fraction is truncated, as are numbers with more digits than a float.
// RUN: sinter check %s
// RUN: sinter compile %s --target x86-64-v4 --emit=asm -o - | FileCheck %s
// REQUIRES: x86_64

// CHECK-LABEL: k0_map{{.*}}:
// CHECK-NOT: vcvttps2dq
// CHECK: vrndscaleps
// CHECK-NOT: vcvttps2dq
// CHECK: .size
func.func @bytes(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %z = sinter.constant dense<127.0> : tensor<4096xf32>
  %i = sinter.constant dense<127> : tensor<4096xi32>
  %s = sinter.constant dense<40.0> : tensor<4096xf32>
  %0 = sinter.mul %x, %s : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %1 = sinter.round %0 : (tensor<4096xf32>) -> tensor<4096xf32>
  %2 = sinter.add %1, %z : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %3 = sinter.convert %2 {element_type = ui8} : (tensor<4096xf32>) -> tensor<4096xui8>
  %4 = sinter.convert %3 {element_type = i32} : (tensor<4096xui8>) -> tensor<4096xi32>
  %5 = sinter.sub %4, %i : (tensor<4096xi32>, tensor<4096xi32>) -> tensor<4096xi32>
  %6 = sinter.convert %5 {element_type = f32} : (tensor<4096xi32>) -> tensor<4096xf32>
  %7 = sinter.div %6, %s : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  return %7 : tensor<4096xf32>
}

// CHECK-LABEL: k1_map{{.*}}:
// CHECK-NOT: vcvttps2dq
// CHECK: vrndscaleps
// CHECK-NOT: vcvttps2dq
// CHECK: .size
func.func @signed(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %s = sinter.constant dense<100.0> : tensor<4096xf32>
  %0 = sinter.mul %x, %s : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %1 = sinter.round %0 : (tensor<4096xf32>) -> tensor<4096xf32>
  %2 = sinter.convert %1 {element_type = i8} : (tensor<4096xf32>) -> tensor<4096xi8>
  %3 = sinter.convert %2 {element_type = f32} : (tensor<4096xi8>) -> tensor<4096xf32>
  return %3 : tensor<4096xf32>
}

// CHECK-LABEL: k2_map{{.*}}:
// CHECK: vcvttps2dq
// CHECK: .size
func.func @fractions(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %s = sinter.constant dense<100.0> : tensor<4096xf32>
  %0 = sinter.mul %x, %s : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %1 = sinter.convert %0 {element_type = i8} : (tensor<4096xf32>) -> tensor<4096xi8>
  %2 = sinter.convert %1 {element_type = f32} : (tensor<4096xi8>) -> tensor<4096xf32>
  return %2 : tensor<4096xf32>
}

// CHECK-LABEL: k3_map{{.*}}:
// CHECK: vcvttps2dq
// CHECK: .size
func.func @wide(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %s = sinter.constant dense<1.0e12> : tensor<4096xf32>
  %0 = sinter.mul %x, %s : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %1 = sinter.round %0 : (tensor<4096xf32>) -> tensor<4096xf32>
  %2 = sinter.convert %1 {element_type = i32} : (tensor<4096xf32>) -> tensor<4096xi32>
  %3 = sinter.convert %2 {element_type = f32} : (tensor<4096xi32>) -> tensor<4096xf32>
  return %3 : tensor<4096xf32>
}

// What is stored as a byte is rounded by its conversion, and the zero point is added behind it.
// CHECK-LABEL: k4_map{{.*}}:
// CHECK-NOT: vrndscaleps
// CHECK: vcvtps2dq
// CHECK-NOT: vrndscaleps
// CHECK: .size
func.func @stored(%x: tensor<4096xf32>) -> tensor<4096xui8> {
  %z = sinter.constant dense<127.0> : tensor<4096xf32>
  %s = sinter.constant dense<40.0> : tensor<4096xf32>
  %0 = sinter.mul %x, %s : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %1 = sinter.round %0 : (tensor<4096xf32>) -> tensor<4096xf32>
  %2 = sinter.add %1, %z : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %3 = sinter.convert %2 {element_type = ui8} : (tensor<4096xf32>) -> tensor<4096xui8>
  return %3 : tensor<4096xui8>
}

// What is stored is bounded above by the instruction that narrows it, and what becomes an integer in the end needs no
// zero of one sign on the way.
// CHECK-LABEL: k{{[0-9]+}}_map{{.*}}:
// CHECK: vrndscaleps
// CHECK: vmaxps
// CHECK: vminps
// CHECK-NOT: {{vminps|vxorps}}
// CHECK: vaddps
// CHECK-NOT: vminps
// CHECK: vpmovusdb
// CHECK: .size
func.func @read_and_stored(%x: tensor<4096xf32>, %y: tensor<4096xf32>) -> tensor<4096xui8> {
  %s = sinter.constant dense<40.0> : tensor<4096xf32>
  %0 = sinter.round %x : (tensor<4096xf32>) -> tensor<4096xf32>
  %1 = sinter.convert %0 {element_type = ui8} : (tensor<4096xf32>) -> tensor<4096xui8>
  %2 = sinter.convert %1 {element_type = f32} : (tensor<4096xui8>) -> tensor<4096xf32>
  %3 = sinter.mul %2, %s : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %4 = sinter.add %3, %y : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %5 = sinter.round %4 : (tensor<4096xf32>) -> tensor<4096xf32>
  %6 = sinter.convert %5 {element_type = ui8} : (tensor<4096xf32>) -> tensor<4096xui8>
  return %6 : tensor<4096xui8>
}
