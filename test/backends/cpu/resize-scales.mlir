// The scales of a resize are part of its kernel: what is upsampled by whole numbers is copied, without a division, and
// axes that stay as they are, without a gather.
// RUN: sinter compile %s --target=znver4 --emit=asm -o - | FileCheck %s
// RUN: sinter check %s

// CHECK-LABEL: k0_map:
// CHECK-NOT: {{vdiv|vgather}}
// CHECK: vmulps
// CHECK-NOT: {{vdiv|vgather}}
func.func @main(%scale: tensor<1x1x1x24xf32>, %x: tensor<1x20x20x24xf32>) -> tensor<1x160x160x24xf32> {
  %scales = sinter.constant dense<[1.0, 8.0, 8.0, 1.0]> : tensor<4xf32>
  %b = sinter.broadcast %scale axes = [0, 1, 2, 3] {type = tensor<1x20x20x24xf32>} : (tensor<1x1x1x24xf32>) -> tensor<1x20x20x24xf32>
  %m = sinter.mul %x, %b : (tensor<1x20x20x24xf32>, tensor<1x20x20x24xf32>) -> tensor<1x20x20x24xf32>
  %r = sinter.resize %m scales(%scales) {coordinates = #sinter<coordinate_mode asymmetric>, mode = #sinter<resize_mode nearest>, nearest = #sinter<nearest_mode floor>} : (tensor<1x20x20x24xf32>, tensor<4xf32>) -> tensor<1x160x160x24xf32>
  return %r : tensor<1x160x160x24xf32>
}

// CHECK-LABEL: k1_map:
// CHECK-NOT: vgather
func.func @linear(%x: tensor<1x20x20x32xf32>) -> tensor<1x30x50x32xf32> {
  %scales = sinter.constant dense<[1.0, 1.5, 2.5, 1.0]> : tensor<4xf32>
  %r = sinter.resize %x scales(%scales) {coordinates = #sinter<coordinate_mode half_pixel>, mode = #sinter<resize_mode linear>} : (tensor<1x20x20x32xf32>, tensor<4xf32>) -> tensor<1x30x50x32xf32>
  return %r : tensor<1x30x50x32xf32>
}
// CHECK: .size{{.*}}k1_map

// Where something else of the kernel reads them, they stay an operand.
func.func @read_twice(%x: tensor<1x4x5x4xf32>) -> tensor<1x8x10x4xf32> {
  %scales = sinter.constant dense<[1.0, 2.0, 2.0, 1.0]> : tensor<4xf32>
  %r = sinter.resize %x scales(%scales) {coordinates = #sinter<coordinate_mode asymmetric>, mode = #sinter<resize_mode nearest>, nearest = #sinter<nearest_mode floor>} : (tensor<1x4x5x4xf32>, tensor<4xf32>) -> tensor<1x8x10x4xf32>
  %b = sinter.broadcast %scales axes = [3] {type = tensor<1x8x10x4xf32>} : (tensor<4xf32>) -> tensor<1x8x10x4xf32>
  %s = sinter.add %r, %b : (tensor<1x8x10x4xf32>, tensor<1x8x10x4xf32>) -> tensor<1x8x10x4xf32>
  return %s : tensor<1x8x10x4xf32>
}
