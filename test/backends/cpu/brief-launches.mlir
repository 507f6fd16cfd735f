// Threads that share many brief launches wait for each other, and pass each other what they have just written, longer
// than they compute: these stay on the calling thread. Few launches do not, and long ones among brief ones do not.
// RUN: sinter compile %s --target=x86-64-v4 --emit=schedule -o - | FileCheck %s

// CHECK-LABEL: schedule.function @{{.*}}many
// CHECK-COUNT-8: schedule.launch inline
// CHECK-NOT: schedule.launch
func.func @many(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %w = sinter.constant dense<0.5> : tensor<64x64xf32>
  %p0 = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p1 = sinter.dot_general %p0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p2 = sinter.dot_general %p1, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p3 = sinter.dot_general %p2, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p4 = sinter.dot_general %p3, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p5 = sinter.dot_general %p4, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p6 = sinter.dot_general %p5, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p7 = sinter.dot_general %p6, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %p7 : tensor<64x64xf32>
}

// CHECK-LABEL: schedule.function @{{.*}}few
// CHECK-NOT: schedule.launch inline
// CHECK-COUNT-7: schedule.launch @
func.func @few(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %w = sinter.constant dense<0.5> : tensor<64x64xf32>
  %p0 = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p1 = sinter.dot_general %p0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p2 = sinter.dot_general %p1, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p3 = sinter.dot_general %p2, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p4 = sinter.dot_general %p3, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p5 = sinter.dot_general %p4, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p6 = sinter.dot_general %p5, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %p6 : tensor<64x64xf32>
}

// One launch of 1.3 ms among 140 of 5 us.
// CHECK-LABEL: schedule.function @{{.*}}one_is_long
// CHECK-COUNT-140: schedule.launch inline
// CHECK: schedule.launch @
// CHECK-NOT: schedule.launch
func.func @one_is_long(%x: tensor<64x64xf32>, %y: tensor<256x1024xf32>) -> (tensor<64x64xf32>, tensor<256x256xf32>) {
  %w = sinter.constant dense<0.5> : tensor<64x64xf32>
  %p0 = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p1 = sinter.dot_general %p0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p2 = sinter.dot_general %p1, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p3 = sinter.dot_general %p2, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p4 = sinter.dot_general %p3, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p5 = sinter.dot_general %p4, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p6 = sinter.dot_general %p5, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p7 = sinter.dot_general %p6, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p8 = sinter.dot_general %p7, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p9 = sinter.dot_general %p8, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p10 = sinter.dot_general %p9, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p11 = sinter.dot_general %p10, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p12 = sinter.dot_general %p11, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p13 = sinter.dot_general %p12, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p14 = sinter.dot_general %p13, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p15 = sinter.dot_general %p14, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p16 = sinter.dot_general %p15, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p17 = sinter.dot_general %p16, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p18 = sinter.dot_general %p17, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p19 = sinter.dot_general %p18, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p20 = sinter.dot_general %p19, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p21 = sinter.dot_general %p20, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p22 = sinter.dot_general %p21, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p23 = sinter.dot_general %p22, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p24 = sinter.dot_general %p23, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p25 = sinter.dot_general %p24, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p26 = sinter.dot_general %p25, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p27 = sinter.dot_general %p26, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p28 = sinter.dot_general %p27, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p29 = sinter.dot_general %p28, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p30 = sinter.dot_general %p29, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p31 = sinter.dot_general %p30, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p32 = sinter.dot_general %p31, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p33 = sinter.dot_general %p32, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p34 = sinter.dot_general %p33, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p35 = sinter.dot_general %p34, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p36 = sinter.dot_general %p35, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p37 = sinter.dot_general %p36, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p38 = sinter.dot_general %p37, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p39 = sinter.dot_general %p38, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p40 = sinter.dot_general %p39, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p41 = sinter.dot_general %p40, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p42 = sinter.dot_general %p41, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p43 = sinter.dot_general %p42, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p44 = sinter.dot_general %p43, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p45 = sinter.dot_general %p44, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p46 = sinter.dot_general %p45, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p47 = sinter.dot_general %p46, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p48 = sinter.dot_general %p47, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p49 = sinter.dot_general %p48, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p50 = sinter.dot_general %p49, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p51 = sinter.dot_general %p50, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p52 = sinter.dot_general %p51, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p53 = sinter.dot_general %p52, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p54 = sinter.dot_general %p53, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p55 = sinter.dot_general %p54, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p56 = sinter.dot_general %p55, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p57 = sinter.dot_general %p56, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p58 = sinter.dot_general %p57, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p59 = sinter.dot_general %p58, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p60 = sinter.dot_general %p59, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p61 = sinter.dot_general %p60, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p62 = sinter.dot_general %p61, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p63 = sinter.dot_general %p62, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p64 = sinter.dot_general %p63, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p65 = sinter.dot_general %p64, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p66 = sinter.dot_general %p65, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p67 = sinter.dot_general %p66, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p68 = sinter.dot_general %p67, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p69 = sinter.dot_general %p68, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p70 = sinter.dot_general %p69, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p71 = sinter.dot_general %p70, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p72 = sinter.dot_general %p71, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p73 = sinter.dot_general %p72, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p74 = sinter.dot_general %p73, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p75 = sinter.dot_general %p74, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p76 = sinter.dot_general %p75, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p77 = sinter.dot_general %p76, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p78 = sinter.dot_general %p77, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p79 = sinter.dot_general %p78, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p80 = sinter.dot_general %p79, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p81 = sinter.dot_general %p80, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p82 = sinter.dot_general %p81, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p83 = sinter.dot_general %p82, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p84 = sinter.dot_general %p83, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p85 = sinter.dot_general %p84, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p86 = sinter.dot_general %p85, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p87 = sinter.dot_general %p86, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p88 = sinter.dot_general %p87, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p89 = sinter.dot_general %p88, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p90 = sinter.dot_general %p89, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p91 = sinter.dot_general %p90, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p92 = sinter.dot_general %p91, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p93 = sinter.dot_general %p92, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p94 = sinter.dot_general %p93, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p95 = sinter.dot_general %p94, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p96 = sinter.dot_general %p95, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p97 = sinter.dot_general %p96, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p98 = sinter.dot_general %p97, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p99 = sinter.dot_general %p98, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p100 = sinter.dot_general %p99, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p101 = sinter.dot_general %p100, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p102 = sinter.dot_general %p101, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p103 = sinter.dot_general %p102, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p104 = sinter.dot_general %p103, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p105 = sinter.dot_general %p104, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p106 = sinter.dot_general %p105, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p107 = sinter.dot_general %p106, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p108 = sinter.dot_general %p107, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p109 = sinter.dot_general %p108, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p110 = sinter.dot_general %p109, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p111 = sinter.dot_general %p110, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p112 = sinter.dot_general %p111, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p113 = sinter.dot_general %p112, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p114 = sinter.dot_general %p113, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p115 = sinter.dot_general %p114, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p116 = sinter.dot_general %p115, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p117 = sinter.dot_general %p116, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p118 = sinter.dot_general %p117, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p119 = sinter.dot_general %p118, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p120 = sinter.dot_general %p119, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p121 = sinter.dot_general %p120, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p122 = sinter.dot_general %p121, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p123 = sinter.dot_general %p122, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p124 = sinter.dot_general %p123, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p125 = sinter.dot_general %p124, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p126 = sinter.dot_general %p125, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p127 = sinter.dot_general %p126, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p128 = sinter.dot_general %p127, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p129 = sinter.dot_general %p128, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p130 = sinter.dot_general %p129, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p131 = sinter.dot_general %p130, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p132 = sinter.dot_general %p131, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p133 = sinter.dot_general %p132, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p134 = sinter.dot_general %p133, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p135 = sinter.dot_general %p134, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p136 = sinter.dot_general %p135, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p137 = sinter.dot_general %p136, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p138 = sinter.dot_general %p137, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p139 = sinter.dot_general %p138, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v = sinter.constant dense<0.5> : tensor<1024x256xf32>
  %q = sinter.dot_general %y, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<256x1024xf32>, tensor<1024x256xf32>) -> tensor<256x256xf32>
  return %p139, %q : tensor<64x64xf32>, tensor<256x256xf32>
}

// What reads constants for the most part stays shared: threads pass each other little, and have more bandwidth.
// CHECK-LABEL: schedule.function @{{.*}}constants
// CHECK-COUNT-24: schedule.launch inline
// CHECK: schedule.launch @
// CHECK-NOT: schedule.launch
func.func @constants(%x: tensor<64x64xf32>, %y: tensor<1x512xf32>) -> (tensor<64x64xf32>, tensor<1x1024xf32>) {
  %w = sinter.constant dense<0.5> : tensor<64x64xf32>
  %p0 = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p1 = sinter.dot_general %p0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p2 = sinter.dot_general %p1, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p3 = sinter.dot_general %p2, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p4 = sinter.dot_general %p3, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p5 = sinter.dot_general %p4, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p6 = sinter.dot_general %p5, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p7 = sinter.dot_general %p6, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p8 = sinter.dot_general %p7, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p9 = sinter.dot_general %p8, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p10 = sinter.dot_general %p9, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p11 = sinter.dot_general %p10, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p12 = sinter.dot_general %p11, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p13 = sinter.dot_general %p12, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p14 = sinter.dot_general %p13, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p15 = sinter.dot_general %p14, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p16 = sinter.dot_general %p15, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p17 = sinter.dot_general %p16, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p18 = sinter.dot_general %p17, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p19 = sinter.dot_general %p18, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p20 = sinter.dot_general %p19, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p21 = sinter.dot_general %p20, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p22 = sinter.dot_general %p21, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p23 = sinter.dot_general %p22, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v = sinter.constant dense<0.25> : tensor<512x1024xf32>
  %q = sinter.dot_general %y, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<1x512xf32>, tensor<512x1024xf32>) -> tensor<1x1024xf32>
  return %p23, %q : tensor<64x64xf32>, tensor<1x1024xf32>
}

// Where only running tells how long a launch takes, it finds out when it is due.
// CHECK-LABEL: schedule.function @{{.*}}open
// CHECK: schedule.launch @{{.*}} chunks %{{.*}} forks %
func.func @open(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %w = sinter.constant dense<0.5> : tensor<64x64xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  return %p : tensor<?x64xf32>
}
