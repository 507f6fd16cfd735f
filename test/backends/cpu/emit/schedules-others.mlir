// Recurrent cells, windows, systems, running sums, orders and scatters with schedules that nobody would choose.
// RUN: sinter check %s
// REQUIRES: x86_64
func.func @others(%x: tensor<5x3x40xf32>, %h: tensor<3x10xf32>, %w: tensor<2x9x9x10xf32>, %mat: tensor<2x21x21xf32>, %rhs: tensor<2x21x13xf32>, %rows: tensor<7x30xf32>, %base: tensor<9x4xf32>, %u: tensor<6x4xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<2x5x5x10xf32>, tensor<2x5x5x10xf32>, tensor<2x5x5x10xf32>, tensor<2x5x5x10xf32>, tensor<2x5x5x10xf32>, tensor<2x5x5x10xf32>, tensor<2x5x5x10xf32>, tensor<2x21x13xf32>, tensor<2x21x13xf32>, tensor<2x21x13xf32>, tensor<2x21x13xf32>, tensor<2x21x13xf32>, tensor<2x21x13xf32>, tensor<7x30xf32>, tensor<7x30xf32>, tensor<7x30xf32>, tensor<7x30xf32>, tensor<7x30xf32>, tensor<7x30xf32>, tensor<7x30xf32>, tensor<7x30xi64>, tensor<9x4xf32>) {
  %r = sinter.constant dense<[[-1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0], [-1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25], [-0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5], [-0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75], [-0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0], [-0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25], [0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375], [0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125], [0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875], [0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625], [1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375], [1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125], [-1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125], [-1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375], [-0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625], [-0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875], [-0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125], [0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375], [0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25], [0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0], [0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75], [1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5], [1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25], [-1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0], [-1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25], [-0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5], [-0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75], [-0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0], [-0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25], [0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375], [0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125], [0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875], [0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625], [1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375], [1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125], [-1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125], [-1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375], [-0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625], [-0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875], [-0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125]]> : tensor<40x10xf32>
  %at = sinter.constant dense<[[0, 1, 2, 3], [0, 8, 2, 4], [1, 1, 1, 1], [7, 6, 5, 4], [0, 1, 2, 3], [8, 8, 8, 8]]> : tensor<6x4xi64>
  %k0:2 = sinter.kernel recurrent(%x, %r, %h, %h) {schedule = #sinter.schedule<recurrent, lanes = 4, tile = [1], chunk = 1, packing = [1]>} : (tensor<5x3x40xf32>, tensor<40x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>) {
  ^bb0(%a: tensor<5x3x40xf32>, %b: tensor<40x10xf32>, %c: tensor<3x10xf32>, %d: tensor<3x10xf32>):
    %y, %hh, %cc = sinter.lstm %a, %b, %c, %d : (tensor<5x3x40xf32>, tensor<40x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>)
    sinter.yield (%y, %cc) : tensor<5x3x10xf32>, tensor<3x10xf32>
  }
  %k1:2 = sinter.kernel recurrent(%x, %r, %h, %h) {schedule = #sinter.schedule<recurrent, lanes = 4, tile = [2], chunk = 3, packing = [1]>} : (tensor<5x3x40xf32>, tensor<40x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>) {
  ^bb0(%a: tensor<5x3x40xf32>, %b: tensor<40x10xf32>, %c: tensor<3x10xf32>, %d: tensor<3x10xf32>):
    %y, %hh, %cc = sinter.lstm %a, %b, %c, %d : (tensor<5x3x40xf32>, tensor<40x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>)
    sinter.yield (%y, %cc) : tensor<5x3x10xf32>, tensor<3x10xf32>
  }
  %k2:2 = sinter.kernel recurrent(%x, %r, %h, %h) {schedule = #sinter.schedule<recurrent, lanes = 4, tile = [4], chunk = 4, packing = [1]>} : (tensor<5x3x40xf32>, tensor<40x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>) {
  ^bb0(%a: tensor<5x3x40xf32>, %b: tensor<40x10xf32>, %c: tensor<3x10xf32>, %d: tensor<3x10xf32>):
    %y, %hh, %cc = sinter.lstm %a, %b, %c, %d : (tensor<5x3x40xf32>, tensor<40x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>)
    sinter.yield (%y, %cc) : tensor<5x3x10xf32>, tensor<3x10xf32>
  }
  %k3:2 = sinter.kernel recurrent(%x, %r, %h, %h) {schedule = #sinter.schedule<recurrent, lanes = 4, tile = [8], chunk = 2, packing = [1]>} : (tensor<5x3x40xf32>, tensor<40x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>) {
  ^bb0(%a: tensor<5x3x40xf32>, %b: tensor<40x10xf32>, %c: tensor<3x10xf32>, %d: tensor<3x10xf32>):
    %y, %hh, %cc = sinter.lstm %a, %b, %c, %d : (tensor<5x3x40xf32>, tensor<40x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>)
    sinter.yield (%y, %cc) : tensor<5x3x10xf32>, tensor<3x10xf32>
  }
  %k4:2 = sinter.kernel recurrent(%x, %r, %h, %h) {schedule = #sinter.schedule<recurrent, lanes = 4, tile = [8], chunk = 100, packing = [1]>} : (tensor<5x3x40xf32>, tensor<40x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>) {
  ^bb0(%a: tensor<5x3x40xf32>, %b: tensor<40x10xf32>, %c: tensor<3x10xf32>, %d: tensor<3x10xf32>):
    %y, %hh, %cc = sinter.lstm %a, %b, %c, %d : (tensor<5x3x40xf32>, tensor<40x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>)
    sinter.yield (%y, %cc) : tensor<5x3x10xf32>, tensor<3x10xf32>
  }
  %k5:2 = sinter.kernel recurrent(%x, %r, %h, %h) {schedule = #sinter.schedule<recurrent, lanes = 4, tile = [2], chunk = 2, packing = [1]>} : (tensor<5x3x40xf32>, tensor<40x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>) {
  ^bb0(%a: tensor<5x3x40xf32>, %b: tensor<40x10xf32>, %c: tensor<3x10xf32>, %d: tensor<3x10xf32>):
    %y, %hh, %cc = sinter.lstm %a, %b, %c, %d : (tensor<5x3x40xf32>, tensor<40x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>) -> (tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<3x10xf32>)
    sinter.yield (%y, %cc) : tensor<5x3x10xf32>, tensor<3x10xf32>
  }
  %k6 = sinter.kernel window(%w) {schedule = #sinter.schedule<window, lanes = 1, chunk = 1>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32> {
  ^bb0(%a: tensor<2x9x9x10xf32>):
    %p = sinter.reduce_window max %a {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32>
    %s = sinter.neg %p : (tensor<2x5x5x10xf32>) -> tensor<2x5x5x10xf32>
    sinter.yield (%s) : tensor<2x5x5x10xf32>
  }
  %k7 = sinter.kernel window(%w) {schedule = #sinter.schedule<window, lanes = 2, chunk = 100>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32> {
  ^bb0(%a: tensor<2x9x9x10xf32>):
    %p = sinter.reduce_window max %a {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32>
    %s = sinter.neg %p : (tensor<2x5x5x10xf32>) -> tensor<2x5x5x10xf32>
    sinter.yield (%s) : tensor<2x5x5x10xf32>
  }
  %k8 = sinter.kernel window(%w) {schedule = #sinter.schedule<window, lanes = 4, chunk = 1>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32> {
  ^bb0(%a: tensor<2x9x9x10xf32>):
    %p = sinter.reduce_window max %a {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32>
    %s = sinter.neg %p : (tensor<2x5x5x10xf32>) -> tensor<2x5x5x10xf32>
    sinter.yield (%s) : tensor<2x5x5x10xf32>
  }
  %k9 = sinter.kernel window(%w) {schedule = #sinter.schedule<window, lanes = 4, chunk = 65536>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32> {
  ^bb0(%a: tensor<2x9x9x10xf32>):
    %p = sinter.reduce_window max %a {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32>
    %s = sinter.neg %p : (tensor<2x5x5x10xf32>) -> tensor<2x5x5x10xf32>
    sinter.yield (%s) : tensor<2x5x5x10xf32>
  }
  %k10 = sinter.kernel window(%w) {schedule = #sinter.schedule<window, lanes = 1, chunk = 2000>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32> {
  ^bb0(%a: tensor<2x9x9x10xf32>):
    %p = sinter.reduce_window max %a {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32>
    %s = sinter.neg %p : (tensor<2x5x5x10xf32>) -> tensor<2x5x5x10xf32>
    sinter.yield (%s) : tensor<2x5x5x10xf32>
  }
  %k11 = sinter.kernel window(%w) {schedule = #sinter.schedule<window, lanes = 4, chunk = 900>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32> {
  ^bb0(%a: tensor<2x9x9x10xf32>):
    %p = sinter.reduce_window max %a {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32>
    %s = sinter.neg %p : (tensor<2x5x5x10xf32>) -> tensor<2x5x5x10xf32>
    sinter.yield (%s) : tensor<2x5x5x10xf32>
  }
  %k12 = sinter.kernel window(%w) {schedule = #sinter.schedule<general, chunk = 3>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32> {
  ^bb0(%a: tensor<2x9x9x10xf32>):
    %p = sinter.reduce_window max %a {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x9x9x10xf32>) -> tensor<2x5x5x10xf32>
    %s = sinter.neg %p : (tensor<2x5x5x10xf32>) -> tensor<2x5x5x10xf32>
    sinter.yield (%s) : tensor<2x5x5x10xf32>
  }
  %k13 = sinter.kernel single(%mat, %rhs) {schedule = #sinter.schedule<triangular, lanes = 4, tile = [2, 1]>} : (tensor<2x21x21xf32>, tensor<2x21x13xf32>) -> tensor<2x21x13xf32> {
  ^bb0(%a: tensor<2x21x21xf32>, %b: tensor<2x21x13xf32>):
    %s = sinter.triangular_solve %a, %b : (tensor<2x21x21xf32>, tensor<2x21x13xf32>) -> tensor<2x21x13xf32>
    sinter.yield (%s) : tensor<2x21x13xf32>
  }
  %k14 = sinter.kernel single(%mat, %rhs) {schedule = #sinter.schedule<triangular, lanes = 4, tile = [2, 3]>} : (tensor<2x21x21xf32>, tensor<2x21x13xf32>) -> tensor<2x21x13xf32> {
  ^bb0(%a: tensor<2x21x21xf32>, %b: tensor<2x21x13xf32>):
    %s = sinter.triangular_solve %a, %b : (tensor<2x21x21xf32>, tensor<2x21x13xf32>) -> tensor<2x21x13xf32>
    sinter.yield (%s) : tensor<2x21x13xf32>
  }
  %k15 = sinter.kernel single(%mat, %rhs) {schedule = #sinter.schedule<triangular, lanes = 4, tile = [4, 2]>} : (tensor<2x21x21xf32>, tensor<2x21x13xf32>) -> tensor<2x21x13xf32> {
  ^bb0(%a: tensor<2x21x21xf32>, %b: tensor<2x21x13xf32>):
    %s = sinter.triangular_solve %a, %b : (tensor<2x21x21xf32>, tensor<2x21x13xf32>) -> tensor<2x21x13xf32>
    sinter.yield (%s) : tensor<2x21x13xf32>
  }
  %k16 = sinter.kernel single(%mat, %rhs) {schedule = #sinter.schedule<triangular, lanes = 4, tile = [8, 1]>} : (tensor<2x21x21xf32>, tensor<2x21x13xf32>) -> tensor<2x21x13xf32> {
  ^bb0(%a: tensor<2x21x21xf32>, %b: tensor<2x21x13xf32>):
    %s = sinter.triangular_solve %a, %b : (tensor<2x21x21xf32>, tensor<2x21x13xf32>) -> tensor<2x21x13xf32>
    sinter.yield (%s) : tensor<2x21x13xf32>
  }
  %k17 = sinter.kernel single(%mat, %rhs) {schedule = #sinter.schedule<triangular, lanes = 4, tile = [8, 3]>} : (tensor<2x21x21xf32>, tensor<2x21x13xf32>) -> tensor<2x21x13xf32> {
  ^bb0(%a: tensor<2x21x21xf32>, %b: tensor<2x21x13xf32>):
    %s = sinter.triangular_solve %a, %b : (tensor<2x21x21xf32>, tensor<2x21x13xf32>) -> tensor<2x21x13xf32>
    sinter.yield (%s) : tensor<2x21x13xf32>
  }
  %k18 = sinter.kernel single(%mat, %rhs) {schedule = #sinter.schedule<triangular, lanes = 4, tile = [4, 1]>} : (tensor<2x21x21xf32>, tensor<2x21x13xf32>) -> tensor<2x21x13xf32> {
  ^bb0(%a: tensor<2x21x21xf32>, %b: tensor<2x21x13xf32>):
    %s = sinter.triangular_solve %a, %b : (tensor<2x21x21xf32>, tensor<2x21x13xf32>) -> tensor<2x21x13xf32>
    sinter.yield (%s) : tensor<2x21x13xf32>
  }
  %k19 = sinter.kernel single(%rows) {schedule = #sinter.schedule<running, chunk = 1>} : (tensor<7x30xf32>) -> tensor<7x30xf32> {
  ^bb0(%a: tensor<7x30xf32>):
    %s = sinter.cumulative add %a {axis = 1 : i64} : (tensor<7x30xf32>) -> tensor<7x30xf32>
    sinter.yield (%s) : tensor<7x30xf32>
  }
  %k20 = sinter.kernel single(%rows) {schedule = #sinter.schedule<running, chunk = 31>} : (tensor<7x30xf32>) -> tensor<7x30xf32> {
  ^bb0(%a: tensor<7x30xf32>):
    %s = sinter.cumulative add %a {axis = 1 : i64} : (tensor<7x30xf32>) -> tensor<7x30xf32>
    sinter.yield (%s) : tensor<7x30xf32>
  }
  %k21 = sinter.kernel single(%rows) {schedule = #sinter.schedule<running, chunk = 60>} : (tensor<7x30xf32>) -> tensor<7x30xf32> {
  ^bb0(%a: tensor<7x30xf32>):
    %s = sinter.cumulative add %a {axis = 1 : i64} : (tensor<7x30xf32>) -> tensor<7x30xf32>
    sinter.yield (%s) : tensor<7x30xf32>
  }
  %k22 = sinter.kernel single(%rows) {schedule = #sinter.schedule<running, chunk = 100>} : (tensor<7x30xf32>) -> tensor<7x30xf32> {
  ^bb0(%a: tensor<7x30xf32>):
    %s = sinter.cumulative add %a {axis = 1 : i64} : (tensor<7x30xf32>) -> tensor<7x30xf32>
    sinter.yield (%s) : tensor<7x30xf32>
  }
  %k23 = sinter.kernel single(%rows) {schedule = #sinter.schedule<running, chunk = 4096>} : (tensor<7x30xf32>) -> tensor<7x30xf32> {
  ^bb0(%a: tensor<7x30xf32>):
    %s = sinter.cumulative add %a {axis = 1 : i64} : (tensor<7x30xf32>) -> tensor<7x30xf32>
    sinter.yield (%s) : tensor<7x30xf32>
  }
  %k24 = sinter.kernel single(%rows) {schedule = #sinter.schedule<running, chunk = 1099511627776>} : (tensor<7x30xf32>) -> tensor<7x30xf32> {
  ^bb0(%a: tensor<7x30xf32>):
    %s = sinter.cumulative add %a {axis = 1 : i64} : (tensor<7x30xf32>) -> tensor<7x30xf32>
    sinter.yield (%s) : tensor<7x30xf32>
  }
  %k25:2 = sinter.kernel single(%rows) {schedule = #sinter.schedule<order, lanes = 2, chunk = 3>} : (tensor<7x30xf32>) -> (tensor<7x30xf32>, tensor<7x30xi64>) {
  ^bb0(%a: tensor<7x30xf32>):
    %v, %i = sinter.sort %a {axis = 1 : i64} : (tensor<7x30xf32>) -> (tensor<7x30xf32>, tensor<7x30xi64>)
    sinter.yield (%v, %i) : tensor<7x30xf32>, tensor<7x30xi64>
  }
  %k26 = sinter.kernel single(%base, %u, %at) {schedule = #sinter.schedule<scatter>} : (tensor<9x4xf32>, tensor<6x4xf32>, tensor<6x4xi64>) -> tensor<9x4xf32> {
  ^bb0(%a: tensor<9x4xf32>, %b: tensor<6x4xf32>, %c: tensor<6x4xi64>):
    %s = sinter.scatter_elements %a, %c, %b {axis = 0, combiner = #sinter<combiner add>} : (tensor<9x4xf32>, tensor<6x4xi64>, tensor<6x4xf32>) -> tensor<9x4xf32>
    sinter.yield (%s) : tensor<9x4xf32>
  }
  return %k0#0, %k0#1, %k1#0, %k1#1, %k2#0, %k2#1, %k3#0, %k3#1, %k4#0, %k4#1, %k5#0, %k5#1, %k6, %k7, %k8, %k9, %k10, %k11, %k12, %k13, %k14, %k15, %k16, %k17, %k18, %k19, %k20, %k21, %k22, %k23, %k24, %k25#0, %k25#1, %k26 : tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<5x3x10xf32>, tensor<3x10xf32>, tensor<2x5x5x10xf32>, tensor<2x5x5x10xf32>, tensor<2x5x5x10xf32>, tensor<2x5x5x10xf32>, tensor<2x5x5x10xf32>, tensor<2x5x5x10xf32>, tensor<2x5x5x10xf32>, tensor<2x21x13xf32>, tensor<2x21x13xf32>, tensor<2x21x13xf32>, tensor<2x21x13xf32>, tensor<2x21x13xf32>, tensor<2x21x13xf32>, tensor<7x30xf32>, tensor<7x30xf32>, tensor<7x30xf32>, tensor<7x30xf32>, tensor<7x30xf32>, tensor<7x30xf32>, tensor<7x30xf32>, tensor<7x30xi64>, tensor<9x4xf32>
}
