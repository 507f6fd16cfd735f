// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: schedule.function @every_op inputs 1 outputs 1
schedule.function @every_op inputs 1 outputs 1 {
  // CHECK: %[[X:.*]] = schedule.input 0
  %x = schedule.input 0
  // CHECK: %[[N:.*]] = schedule.input_size 0 axis 1
  %n = schedule.input_size 0 axis 1
  %four = arith.constant 4 : i64
  // CHECK: schedule.size ceil_div %[[N]], %{{.*}}
  %blocks = schedule.size ceil_div %n, %four
  // CHECK: %[[BYTES:.*]] = schedule.product %[[N]], %{{.*}}
  %bytes = schedule.product %n, %four
  // CHECK: %[[A:.*]]:2 = schedule.arena(%[[BYTES]], %{{.*}}) lives [0, 3, 2, 2] : !schedule.buffer, !schedule.buffer
  %a:2 = schedule.arena(%bytes, %four) lives [0, 3, 2, 2] : !schedule.buffer, !schedule.buffer
  // CHECK: schedule.local 64
  %local = schedule.local 64
  // CHECK: schedule.weight 128
  %w = schedule.weight 128
  // CHECK: schedule.acquire %[[BYTES]]
  %own = schedule.acquire %bytes
  // CHECK: %[[LARGER:.*]], %{{.*}} = schedule.grow %{{.*}} of %[[BYTES]] to %{{.*}}
  %larger, %capacity = schedule.grow %own of %bytes to %n
  // CHECK: schedule.view %[[X]] at %{{.*}}
  %part = schedule.view %x at %four
  // CHECK: %[[ELEMENT:.*]] = schedule.load %{{.*}} at 8 : f32
  %element = schedule.load %part at 8 : f32
  // CHECK: schedule.store %[[ELEMENT]] to %{{.*}} : f32
  schedule.store %element to %local : f32
  // CHECK: schedule.copy %[[X]] to %[[A]]#0 bytes %[[BYTES]]
  schedule.copy %x to %a#0 bytes %bytes
  // CHECK: schedule.copy_pieces %[[X]] step %{{.*}} to %[[A]]#1 step %{{.*}} bytes %{{.*}} count %[[N]]
  schedule.copy_pieces %x step %n to %a#1 step %four bytes %four count %n
  // CHECK: schedule.clear %[[LARGER]] bytes %{{.*}}
  schedule.clear %larger bytes %capacity
  // CHECK: schedule.launch @kernel(%[[X]], %{{.*}}, %[[A]]#0, %[[N]]) writes [2] chunks %{{.*}} : !schedule.buffer, !schedule.buffer, !schedule.buffer, i64
  schedule.launch @kernel(%x, %w, %a#0, %n) writes [2] chunks %blocks : !schedule.buffer, !schedule.buffer, !schedule.buffer, i64
  // CHECK: schedule.launch inline @small(%[[A]]#0) writes [0] chunks
  schedule.launch inline @small(%a#0) writes [0] chunks %four : !schedule.buffer
  // CHECK: schedule.launch @step(%[[A]]#0) writes [0] chunks %{{.*}} forks %[[N]] : !schedule.buffer
  schedule.launch @step(%a#0) writes [0] chunks %four forks %n : !schedule.buffer
  // CHECK: schedule.launch @step(%[[A]]#0) writes [0] chunks %{{.*}} steps %[[N]] : !schedule.buffer
  schedule.launch @step(%a#0) writes [0] chunks %four steps %n : !schedule.buffer
  // CHECK: schedule.chain [@expand, @shrink](%[[X]], %[[A]]#0, %[[A]]#0, %{{.*}}) counts [2, 2] places [1, 2] in %[[A]]#0 windows [64] parts [0, 1, 2] begins [0, 0, 0, 0, 1, 0, 1, 0, 0, 64, 1, 2, 1, 2] steps [0, 0, 0, 0, 1, 0, 1, 64, 0, 64, 1, 2, 1, 2] : !schedule.buffer, !schedule.buffer, !schedule.buffer, !schedule.buffer
  schedule.chain [@expand, @shrink](%x, %a#0, %a#0, %w) counts [2, 2] places [1, 2] in %a#0 windows [64] parts [0, 1, 2] begins [0, 0, 0, 0, 1, 0, 1, 0, 0, 64, 1, 2, 1, 2] steps [0, 0, 0, 0, 1, 0, 1, 64, 0, 64, 1, 2, 1, 2] : !schedule.buffer, !schedule.buffer, !schedule.buffer, !schedule.buffer
  %fits = arith.cmpi sle, %n, %four : i64
  // CHECK: schedule.require %{{.*}} else 7 "at most {} elements, got {}"(%{{.*}}, %[[N]])
  schedule.require %fits else 7 "at most {} elements, got {}"(%four, %n)
  // CHECK: schedule.poll %[[N]] every 256
  schedule.poll %n every 256
  // CHECK: schedule.poll %[[N]]{{$}}
  schedule.poll %n
  // CHECK: schedule.commit
  schedule.commit
  // CHECK: schedule.output 0[%[[N]], %{{.*}}]
  %y = schedule.output 0[%n, %four]
  // CHECK: schedule.release %[[LARGER]]
  schedule.release %larger
  // CHECK: schedule.return
  schedule.return
}

// A kernel that launches run: what the function around knows of sizes stands beside it.
// CHECK-LABEL: schedule.kernel @fill for "cpu" sizes ["s0 4", "2"] elements ["", "s0 -1"] constants [1] {
// CHECK: ^bb0(%{{.*}}: tensor<?x4xf32>, %{{.*}}: tensor<2xi64>):
// CHECK: sinter.kernel map
schedule.kernel @fill for "cpu" sizes ["s0 4", "2"] elements ["", "s0 -1"] constants [1] {
^bb0(%x: tensor<?x4xf32>, %shape: tensor<2xi64>):
  %y = sinter.kernel map(%x, %shape) : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x4xf32>, %s: tensor<2xi64>):
    %n = sinter.neg %a : (tensor<?x4xf32>) -> tensor<?x4xf32>
    sinter.yield(%n) : tensor<?x4xf32>
  }
}

// Memory and kernels of another back end.
// CHECK-LABEL: schedule.function @device
schedule.function @device inputs 1 outputs 1 {
  %x = schedule.input 0
  // CHECK: schedule.input 0 in "gpu"
  %state = schedule.input 0 in "gpu"
  %n = schedule.input_size 0 axis 0
  // CHECK: %[[A:.*]] = schedule.arena(%{{.*}}) lives [0, 1] : !schedule.buffer<"gpu">
  %a = schedule.arena(%n) lives [0, 1] : !schedule.buffer<"gpu">
  // CHECK: %[[OWN:.*]] = schedule.acquire %{{.*}} in "gpu"
  %own = schedule.acquire %n in "gpu"
  // CHECK: schedule.acquire %{{.*}} in "gpu" of %{{.*}}
  %there = schedule.acquire %n in "gpu" of %x
  // CHECK: schedule.weight 64 in "gpu"
  %w = schedule.weight 64 in "gpu"
  // CHECK: schedule.copy %{{.*}} to %[[A]] in "gpu" bytes
  schedule.copy %x to %a in "gpu" bytes %n
  // CHECK: schedule.copy_pieces %[[A]] in "gpu" step %{{.*}} to %[[OWN]] in "gpu" step
  schedule.copy_pieces %a in "gpu" step %n to %own in "gpu" step %n bytes %n count %n
  // CHECK: schedule.clear %[[OWN]] in "gpu" bytes
  schedule.clear %own in "gpu" bytes %n
  // CHECK: schedule.view %[[OWN]] in "gpu" at
  %part = schedule.view %own in "gpu" at %n
  // CHECK: schedule.launch @kernel on "gpu"(%{{.*}}, %{{.*}}, %[[A]]) writes [2] chunks
  schedule.launch @kernel on "gpu"(%w, %part, %a) writes [2] chunks %n : !schedule.buffer<"gpu">, !schedule.buffer<"gpu">, !schedule.buffer<"gpu">
  // CHECK: schedule.launch ordered @reduce_over_ranks on "gpu"(%[[A]]) writes [0] chunks
  schedule.launch ordered @reduce_over_ranks on "gpu"(%a) writes [0] chunks %n : !schedule.buffer<"gpu">
  // CHECK: %{{.*}}, %{{.*}} = schedule.grow %[[OWN]] in "gpu" of
  %larger, %capacity = schedule.grow %own in "gpu" of %n to %n
  // CHECK: schedule.output 0[%{{.*}}] in "gpu"
  %next = schedule.output 0[%n] in "gpu"
  %y = schedule.output 0[%n]
  // CHECK: schedule.wait %[[A]] in "gpu"
  schedule.wait %a in "gpu"
  // CHECK: schedule.copy %[[A]] in "gpu" to %{{.*}} bytes
  schedule.copy %a in "gpu" to %y bytes %n
  // CHECK: schedule.release %{{.*}} in "gpu"
  schedule.release %larger in "gpu"
  schedule.return
}

// Loops and branches that another back end runs.
// CHECK-LABEL: schedule.function @control
schedule.function @control inputs 0 outputs 0 {
  %n = arith.constant 8 : i64
  // CHECK: %[[A:.*]]:3 = schedule.arena
  %a:3 = schedule.arena(%n, %n, %n) lives [0, 1, 0, 1, 0, 1] : !schedule.buffer<"gpu">, !schedule.buffer<"gpu">, !schedule.buffer<"gpu">
  // CHECK: schedule.repeat counting %[[A]]#0 in "gpu" most %{{.*}} while {
  // CHECK: %[[OWN:.*]] = schedule.acquire %{{.*}} in "gpu"
  // CHECK: schedule.release %[[OWN]] in "gpu"
  // CHECK: schedule.test %[[A]]#1 in "gpu"
  // CHECK: } do {
  // CHECK: schedule.choose %[[A]]#1 in "gpu" then {
  // CHECK: schedule.end
  // CHECK: } else {
  // CHECK: schedule.end
  schedule.repeat counting %a#0 in "gpu" most %n while {
    %own = schedule.acquire %n in "gpu"
    schedule.launch @test on "gpu"(%a#2, %own) writes [1] chunks %n : !schedule.buffer<"gpu">, !schedule.buffer<"gpu">
    schedule.launch @test on "gpu"(%own, %a#1) writes [1] chunks %n : !schedule.buffer<"gpu">, !schedule.buffer<"gpu">
    schedule.release %own in "gpu"
    schedule.test %a#1 in "gpu"
  } do {
    schedule.choose %a#1 in "gpu" then {
      schedule.clear %a#2 in "gpu" bytes %n
      schedule.end
    } else {
      schedule.end
    }
    schedule.end
  }
  // CHECK: schedule.repeat as @loop counting %[[A]]#0 in "gpu" while {
  schedule.repeat as @loop counting %a#0 in "gpu" while {
    schedule.test %a#1 in "gpu"
  } do {
    schedule.end
  }
  schedule.return
}
