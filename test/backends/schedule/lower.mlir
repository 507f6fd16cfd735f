// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --sinter-lower-schedule --split-input-file | FileCheck %s
//
// What each op of a schedule is on the CPU: fields of the runtime's table (runtime/abi.h), checks, jumps to one exit.

// CHECK: llvm.func hidden @kernel(!llvm.ptr, !llvm.ptr, i64, i64) -> i32
// CHECK-LABEL: llvm.func @launch(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr, %arg3: !llvm.ptr, %arg4: !llvm.ptr) -> i32
schedule.function @launch inputs 1 outputs 0 {
  // CHECK: %[[X:.*]] = llvm.load %arg1 : !llvm.ptr -> !llvm.ptr
  %x = schedule.input 0
  // The size of axis 1 is the third word of the input's slot.
  // CHECK: %[[AT:.*]] = llvm.getelementptr %arg1[%{{.*}}]
  // CHECK: %[[N:.*]] = llvm.load %[[AT]] : !llvm.ptr -> i64
  %n = schedule.input_size 0 axis 1
  // CHECK: llvm.store %[[X]], %[[WORDS:.*]] : !llvm.ptr, !llvm.ptr
  // CHECK: llvm.store %[[N]], %{{.*}} : i64, !llvm.ptr
  // CHECK: %[[KERNEL:.*]] = llvm.mlir.addressof @kernel
  // CHECK: %[[STATUS:.*]] = llvm.call %{{.*}}(%arg0, %[[KERNEL]], %[[WORDS]], %[[N]])
  // CHECK: %[[OK:.*]] = llvm.icmp "eq" %[[STATUS]]
  // CHECK: llvm.cond_br %[[OK]], ^[[NEXT:.*]], ^[[EXIT:.*]](%[[STATUS]] : i32)
  schedule.launch @kernel(%x, %n) writes [0] chunks %n : !schedule.buffer, i64
  // CHECK: ^[[NEXT]]:
  // CHECK: llvm.br ^[[EXIT]](%{{.*}} : i32)
  // CHECK: ^[[EXIT]](%[[RESULT:.*]]: i32):
  // CHECK: llvm.return %[[RESULT]] : i32
  schedule.return
}

// -----

// The parts of a chain are chunks of a function of its own, which takes a place for their windows while it runs.
// CHECK-LABEL: llvm.func internal @expand_chain0(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) -> i32
// CHECK: "llvm.intr.memcpy"(%[[WORDS:.*]], %arg1, %{{.*}})
// CHECK: "llvm.intr.memcpy"
// CHECK: llvm.store %[[TENSOR:.*]], %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK: llvm.store %[[TENSOR]], %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK: llvm.call @expand(%arg0,
// CHECK: llvm.atomicrmw xchg {{.*}} release
// CHECK: llvm.atomicrmw xchg {{.*}} acquire
// CHECK: llvm.mlir.addressof @expand_chain0_steps
// CHECK: llvm.call @shrink(%arg0,
// With more than half as many threads as parts, the kernels run one after the other.
// CHECK-LABEL: llvm.func @chain
schedule.function @chain inputs 2 outputs 0 {
  %x = schedule.input 0
  %w = schedule.input 1
  %m = schedule.local 128
  // CHECK: %[[TWICE:.*]] = llvm.mul
  // CHECK: %[[SHARED:.*]] = llvm.icmp "sle" %[[TWICE]], %{{.*}} : i64
  // CHECK: llvm.cond_br %[[SHARED]], ^[[TURNS:.*]], ^[[SINGLE:.*]]
  // CHECK: ^[[TURNS]]:
  // CHECK: %[[CHAIN:.*]] = llvm.mlir.addressof @expand_chain0
  // CHECK: llvm.call %{{.*}}(%arg0, %[[CHAIN]], %{{.*}}, %{{.*}})
  // CHECK: ^[[SINGLE]]:
  // CHECK: %[[FIRST:.*]] = llvm.mlir.addressof @expand
  // CHECK: llvm.call %{{.*}}(%arg0, %[[FIRST]], %{{.*}}, %{{.*}})
  // CHECK: %[[SECOND:.*]] = llvm.mlir.addressof @shrink
  // CHECK: llvm.call %{{.*}}(%arg0, %[[SECOND]], %{{.*}}, %{{.*}})
  schedule.chain [@expand, @shrink](%x, %m, %m, %w) counts [2, 2] places [1, 2] in %m windows [64] parts [0, 1, 2] begins [0, 0, 0, 0, 1, 0, 1, 0, 0, 64, 1, 2, 1, 2] steps [0, 0, 0, 0, 1, 0, 1, 64, 0, 64, 1, 2, 1, 2] : !schedule.buffer, !schedule.buffer, !schedule.buffer, !schedule.buffer
  schedule.return
}

// -----

// CHECK: llvm.func hidden @kernel_body(!llvm.ptr, i64, i64, i64) -> i32
// CHECK-LABEL: llvm.func @launch_inline
schedule.function @launch_inline inputs 1 outputs 0 {
  %x = schedule.input 0
  %n = arith.constant 3 : i64
  // CHECK: llvm.call @kernel_body(%{{.*}}, %[[N:[^,]*]], %{{[^,]*}}, %[[N]])
  schedule.launch inline @kernel(%x, %n) writes [] chunks %n : !schedule.buffer, i64
  schedule.return
}

// -----

// A launch in steps: the number of the step is one more word, which the runtime counts.
// CHECK: llvm.func hidden @kernel(!llvm.ptr, !llvm.ptr, i64, i64) -> i32
// CHECK-LABEL: llvm.func @launch_steps
schedule.function @launch_steps inputs 1 outputs 0 {
  // CHECK: %[[WORDS:.*]] = llvm.alloca %{{.*}} x i64
  %x = schedule.input 0
  // CHECK: %[[N:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
  %n = schedule.input_size 0 axis 1
  %four = arith.constant 4 : i64
  // CHECK: llvm.store %[[N]], %{{.*}} : i64, !llvm.ptr
  // CHECK: %[[THIRD:.*]] = llvm.mlir.constant(16 : i64)
  // CHECK: %[[STEP:.*]] = llvm.getelementptr %[[WORDS]][%[[THIRD]]]
  // CHECK: llvm.call %{{.*}}(%arg0, %{{.*}}, %[[WORDS]], %{{.*}}, %[[STEP]], %[[N]])
  schedule.launch @kernel(%x, %n) writes [0] chunks %four steps %n : !schedule.buffer, i64
  schedule.return
}

// -----

// CHECK: llvm.func hidden @kernel_body(!llvm.ptr, i64, i64, i64) -> i32
// CHECK-LABEL: llvm.func @launch_steps_inline
schedule.function @launch_steps_inline inputs 1 outputs 0 {
  %x = schedule.input 0
  %n = arith.constant 3 : i64
  // CHECK: ^{{.*}}(%[[STEP:.*]]: i64):
  // CHECK: llvm.icmp "slt" %[[STEP]]
  // CHECK: llvm.call @kernel_body(%{{[^,]*}}, %[[STEP]], %{{[^,]*}}, %{{[^,]*}})
  // CHECK: llvm.add %[[STEP]]
  schedule.launch inline @kernel(%x) writes [] chunks %n steps %n : !schedule.buffer
  schedule.return
}

// -----

// Buffers of few known bytes are on the stack, the others in one plan.
// CHECK: llvm.mlir.global internal constant @arena_lives{{.*}}(dense<[0, 1, 1, 2]> : tensor<4xi32>)
// CHECK: llvm.mlir.global internal constant @arena_sizes{{.*}}(dense<[4096, 8192]> : tensor<2xi64>)
// CHECK-LABEL: llvm.func @arena
schedule.function @arena inputs 0 outputs 0 {
  %small = arith.constant 64 : i64
  %page = arith.constant 4096 : i64
  %pages = arith.constant 8192 : i64
  %a:3 = schedule.arena(%page, %small, %pages) lives [0, 1, 0, 2, 1, 2] : !schedule.buffer, !schedule.buffer, !schedule.buffer
  // CHECK: %[[BASE:.*]] = llvm.call %{{.*}}(%arg0, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[OFFSETS:[0-9]+]])
  // CHECK: llvm.icmp "ne" %[[BASE]]
  // The place is looked up where it is used.
  // CHECK: %[[OFFSET:.*]] = llvm.load %[[OFFSETS]] : !llvm.ptr -> i64
  // CHECK: %[[A:.*]] = llvm.getelementptr %[[BASE]][%[[OFFSET]]]
  // CHECK: "llvm.intr.memset"(%[[A]]
  schedule.clear %a#0 bytes %page
  schedule.return
}

// -----

// Buffers that a loop uses are looked up once.
// CHECK-LABEL: llvm.func @arena_in_loop
schedule.function @arena_in_loop inputs 0 outputs 0 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %page = arith.constant 4096 : i64
  // CHECK: %[[BASE:.*]] = llvm.call
  %a = schedule.arena(%page) lives [0, 1] : !schedule.buffer
  scf.for %i = %zero to %page step %one : i64 {
    // CHECK: ^[[BODY:bb[0-9]+]]: {{.*}}pred
    // CHECK-NOT: llvm.load
    // CHECK: "llvm.intr.memset"(%[[A:[0-9]+]]
    schedule.clear %a bytes %page
  }
  // CHECK: %[[OFFSET:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
  // CHECK-NEXT: %[[A]] = llvm.getelementptr %[[BASE]][%[[OFFSET]]]
  // CHECK-NEXT: cf.br
  schedule.return
}

// -----

// A branch that yields a buffer.
// CHECK-LABEL: llvm.func @branch
schedule.function @branch inputs 1 outputs 1 {
  %x = schedule.input 0
  %n = schedule.input_size 0 axis 0
  %four = arith.constant 4 : i64
  %few = arith.cmpi slt, %n, %four : i64
  // CHECK: cf.cond_br %{{.*}}, ^[[THEN:bb[0-9]+]], ^[[ELSE:bb[0-9]+]]
  %y = scf.if %few -> (!schedule.buffer) {
    // CHECK: ^[[THEN]]:
    // CHECK: %[[OWN:.*]] = llvm.call
    // CHECK: llvm.cond_br %{{.*}}, ^[[GOT:bb[0-9]+]], ^[[EXIT:bb[0-9]+]](%{{.*}} : i32)
    %own = schedule.acquire %n
    scf.yield %own : !schedule.buffer
  } else {
    // CHECK: ^[[ELSE]]:
    // CHECK: cf.br ^[[JOIN:bb[0-9]+]](%{{.*}} : !llvm.ptr)
    scf.yield %x : !schedule.buffer
  }
  // CHECK: ^[[JOIN]](%[[Y:[0-9]+]]: !llvm.ptr):
  %out = schedule.output 0[%n]
  // CHECK: ^[[GOT]]:
  // CHECK: cf.br ^[[JOIN]](%[[OWN]] : !llvm.ptr)
  // CHECK: "llvm.intr.memcpy"(%{{.*}}, %[[Y]]
  schedule.copy %y to %out bytes %n
  schedule.return
}

// -----

// CHECK: llvm.mlir.global internal constant @require_message0("at most {} elements, got {}\00")
// CHECK-LABEL: llvm.func @require
schedule.function @require inputs 1 outputs 0 {
  %n = schedule.input_size 0 axis 0
  %four = arith.constant 4 : i64
  // CHECK: %[[FITS:.*]] = arith.cmpi sle
  %fits = arith.cmpi sle, %n, %four : i64
  // CHECK: llvm.cond_br %[[FITS]], ^[[NEXT:.*]], ^[[REFUSED:.*]]{{$}}
  // CHECK: ^[[REFUSED]]:
  // CHECK: %[[CODE:.*]] = llvm.mlir.constant(7 : i32)
  // CHECK: %[[STATUS:.*]] = llvm.call %{{.*}}(%arg0, %[[CODE]]
  // CHECK: llvm.br ^{{.*}}(%[[STATUS]] : i32)
  schedule.require %fits else 7 "at most {} elements, got {}"(%four, %n)
  schedule.return
}

// -----

// CHECK-LABEL: llvm.func @memory
schedule.function @memory inputs 1 outputs 1 {
  %x = schedule.input 0
  %n = schedule.input_size 0 axis 0
  %four = arith.constant 4 : i64
  // A boolean is a byte.
  // CHECK: %[[BYTE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i8
  // CHECK: %[[FLAG:.*]] = llvm.icmp "ne" %[[BYTE]]
  %flag = schedule.load %x at 1 : i1
  %local = schedule.local 8
  // CHECK: %[[STORED:.*]] = llvm.zext %[[FLAG]] : i1 to i8
  // CHECK: llvm.store %[[STORED]], %{{.*}} : i8, !llvm.ptr
  schedule.store %flag to %local : i1
  // CHECK: %[[AT:.*]] = llvm.mlir.constant(128 : i64)
  // CHECK: llvm.getelementptr %arg4[%[[AT]]]
  %w = schedule.weight 128
  // CHECK: llvm.intr.smul.with.overflow
  %bytes = schedule.product %n, %four
  // CHECK: %[[OWN:.*]] = llvm.call
  %own = schedule.acquire %bytes
  // CHECK: %[[ENOUGH:.*]] = llvm.and
  // CHECK: llvm.cond_br %[[ENOUGH]], ^[[READY:bb[0-9]+]](%[[OWN]], %{{.*}} : !llvm.ptr, i64), ^[[GROW:bb[0-9]+]]{{$}}
  // CHECK: ^[[READY]](%[[LARGER:[0-9]+]]: !llvm.ptr, %{{.*}}: i64):
  %larger, %capacity = schedule.grow %own of %bytes to %n
  // CHECK: "llvm.intr.memcpy"(%[[LARGER]]
  schedule.copy %w to %larger bytes %four
  %y = schedule.output 0[%n]
  // Pieces are copied by a loop.
  // CHECK: llvm.icmp "slt"
  // CHECK: "llvm.intr.memcpy"
  schedule.copy_pieces %larger step %four to %y step %n bytes %four count %n
  // CHECK: llvm.call %{{.*}}(%arg0, %[[LARGER]]) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> ()
  schedule.release %larger
  schedule.return
}

// -----

// Sizes neither overflow nor trap.
// CHECK-LABEL: llvm.func @sizes
schedule.function @sizes inputs 2 outputs 0 {
  %n = schedule.input_size 0 axis 0
  %m = schedule.input_size 1 axis 0
  // CHECK: llvm.intr.sadd.sat
  %sum = schedule.size add %n, %m
  // CHECK: llvm.intr.smul.with.overflow
  %product = schedule.size mul %sum, %m
  // CHECK: llvm.intr.smin
  %least = schedule.size min %product, %m
  // CHECK: llvm.intr.smax
  %most = schedule.size max %least, %n
  // A divisor of 0 is 1.
  // CHECK: %[[ZERO:.*]] = llvm.icmp "eq" %[[M:.*]], %{{.*}} : i64
  // CHECK: llvm.select %[[ZERO]], %{{.*}}, %[[M]]
  // CHECK: llvm.sdiv
  %blocks = schedule.size ceil_div %most, %m
  // CHECK: llvm.sdiv
  %floor = schedule.size floor_div %blocks, %m
  // CHECK: llvm.srem
  %rest = schedule.size mod %floor, %m
  schedule.poll %rest every 4
  // CHECK: llvm.load volatile
  // CHECK: llvm.store %{{.*}}, %{{.*}} : i32, !llvm.ptr
  schedule.commit
  schedule.return
}

// -----

// Another back end is reached through one table of functions (runtime/device.h). Its buffers are addresses that the
// host never reads.
// CHECK: llvm.mlir.global external constant @sinter_device_gpu()
// CHECK-LABEL: llvm.func @device
schedule.function @device inputs 1 outputs 1 {
  // A call begins with what an earlier one left behind.
  // CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @sinter_device_gpu
  // CHECK: %[[BEGUN:.*]] = llvm.call %{{.*}}(%[[TABLE]], %arg0) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> i32
  // CHECK: llvm.icmp "eq" %[[BEGUN]]
  %x = schedule.input 0
  %n = schedule.input_size 0 axis 0
  // CHECK: %[[A:.*]] = llvm.call %{{.*}}(%{{.*}}, %arg0, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  // CHECK: llvm.icmp "ne" %[[A]]
  %a = schedule.arena(%n) lives [0, 1] : !schedule.buffer<"gpu">
  // CHECK: %[[OWN:.*]] = llvm.call %{{.*}}(%{{.*}}, %arg0, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  %own = schedule.acquire %n in "gpu"
  // CHECK: %[[W:.*]] = llvm.call %{{.*}}(%{{.*}}, %arg0, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  %w = schedule.weight 64 in "gpu"
  // CHECK: %[[IN:.*]] = llvm.mlir.constant(0 : i32) : i32
  // CHECK: llvm.call %{{.*}}(%{{.*}}, %arg0, %[[A]], %{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i32) -> i32
  schedule.copy %x to %a in "gpu" bytes %n
  // Pieces are copied by a loop.
  // CHECK: llvm.icmp "slt"
  // CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i32) -> i32
  schedule.copy_pieces %a in "gpu" step %n to %own in "gpu" step %n bytes %n count %n
  // CHECK: llvm.call %{{.*}}(%{{.*}}, %arg0, %[[OWN]], %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
  schedule.clear %own in "gpu" bytes %n
  // CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i32) -> i32
  schedule.launch ordered @kernel on "gpu"(%w, %a, %n) writes [1] chunks %n : !schedule.buffer<"gpu">, !schedule.buffer<"gpu">, i64
  // CHECK: llvm.intr.smax
  %larger, %capacity = schedule.grow %own in "gpu" of %n to %n
  %y = schedule.output 0[%n]
  // CHECK: llvm.call %{{.*}}(%{{.*}}, %arg0, %[[A]]) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  schedule.wait %a in "gpu"
  schedule.copy %a in "gpu" to %y bytes %n
  // CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  schedule.release %larger in "gpu"
  schedule.return
}

// -----

// The parts of a loop that a back end runs are calls of one function: the host goes through each region once.
// CHECK-LABEL: llvm.func @control
schedule.function @control inputs 0 outputs 0 {
  %n = arith.constant 8 : i64
  %a = schedule.acquire %n in "gpu"
  %most = arith.constant 7 : i64
  // CHECK: %c7_i64 = arith.constant 7 : i64
  // CHECK: %[[LOOP:.*]] = llvm.mlir.constant(0 : i32) : i32
  // CHECK: llvm.call %{{.*}}(%{{.*}}, %arg0, %[[LOOP]], %[[A:.*]], %c7_i64) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> i32
  schedule.repeat counting %a in "gpu" most %most while {
    // CHECK: llvm.call %{{.*}}(%{{.*}}, %arg0, %{{.*}}, %[[A]], %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> i32
    schedule.test %a in "gpu"
  } do {
    // CHECK: llvm.call %{{.*}}(%{{.*}}, %arg0, %[[A]], %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
    schedule.clear %a in "gpu" bytes %n
    schedule.end
  }
  // CHECK: llvm.mlir.zero : !llvm.ptr
  // CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> i32
  schedule.return
}
