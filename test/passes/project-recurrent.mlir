// RUN: sinter-opt --sinter-project-recurrent %s | FileCheck %s

// CHECK-LABEL: func.func @lstm_input_product_leaves_the_cell(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<7x2x3xf32>, %[[W:[a-z0-9]+]]: tensor<16x3xf32>, %[[R:[a-z0-9]+]]: tensor<16x4xf32>, %[[BIAS:[a-z0-9]+]]: tensor<16xf32>
// CHECK: %[[P:.*]] = sinter.dot_general %[[X]], %[[W]]
// CHECK: %[[B:.*]] = sinter.broadcast %[[BIAS]]
// CHECK: %[[S:.*]] = sinter.add %[[P]], %[[B]]
// CHECK: sinter.lstm %[[S]], %[[R]]
// CHECK-NOT: bias
func.func @lstm_input_product_leaves_the_cell(%x: tensor<7x2x3xf32>, %w: tensor<16x3xf32>, %r: tensor<16x4xf32>, %bias: tensor<16xf32>,
                                              %h: tensor<2x4xf32>, %c: tensor<2x4xf32>) -> tensor<7x2x4xf32> {
  %y:3 = sinter.lstm %x input_weights(%w), %r, %h, %c bias(%bias)
      : (tensor<7x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
      -> (tensor<7x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return %y#0 : tensor<7x2x4xf32>
}
