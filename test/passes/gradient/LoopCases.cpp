// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/passes/gradient/LoopCases.h"

using namespace sinter::test;

/// A while that counts %n trips from 0, with the body's text; %i is the trip's number, %c the carry, %w the capture.
static std::string counted(const std::string &body) {
  return R"(func.func @f(%x: tensor<3xf64>, %n: tensor<i64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %0:3 = sinter.while (%zero, %x) captures(%n, %w) : (tensor<i64>, tensor<3xf64>, tensor<i64>, tensor<3xf64>) -> (tensor<i64>, tensor<i64>, tensor<3xf64>) cond {
  ^bb0(%i: tensor<i64>, %c: tensor<3xf64>, %m: tensor<i64>, %w1: tensor<3xf64>):
    %go = sinter.compare lt %i, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%i: tensor<i64>, %c: tensor<3xf64>, %m: tensor<i64>, %w1: tensor<3xf64>):
    %one = sinter.constant dense<1> : tensor<i64>
    %j = sinter.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
)" + body +
         R"(
    sinter.yield (%j, %next) : tensor<i64>, tensor<3xf64>
  }
  return %0#2 : tensor<3xf64>
})";
}

static const std::string kSine = counted(R"(
    %p = sinter.mul %c, %w1 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %next = sinter.sin %p : (tensor<3xf64>) -> tensor<3xf64>)");

static const std::string kOverwritten = counted(R"(
    %next = sinter.sin %w1 : (tensor<3xf64>) -> tensor<3xf64>)");

// The old value is used beside the new one.
static const std::string kReplaced = counted(R"(
    %e = sinter.sin %c : (tensor<3xf64>) -> tensor<3xf64>
    %p = sinter.mul %e, %c : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %q = sinter.mul %p, %e : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %next = sinter.add %q, %w1 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>)");

static const std::string kIndexed = counted(R"(
    %g = sinter.gather %w1, %i {axis = 0 : i64} : (tensor<3xf64>, tensor<i64>) -> tensor<f64>
    %b = sinter.broadcast %g axes = [] {type = tensor<3xf64>} : (tensor<f64>) -> tensor<3xf64>
    %p = sinter.mul %c, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %next = sinter.cos %p : (tensor<3xf64>) -> tensor<3xf64>)");

static const std::string kStopped = counted(R"(
    %s = sinter.stop_gradient %w1 : (tensor<3xf64>) -> tensor<3xf64>
    %t = sinter.sub %s, %s : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %p = sinter.mul %c, %w1 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %q = sinter.add %p, %t : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %next = sinter.sin %q : (tensor<3xf64>) -> tensor<3xf64>)");

// A row stops when its own counter reaches its number.
static const std::string kRows =
    R"(func.func @f(%x: tensor<3xf64>, %n: tensor<3xi64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %zero = sinter.constant dense<0> : tensor<3xi64>
  %0:3 = sinter.while (%zero, %x) captures(%n, %w) : (tensor<3xi64>, tensor<3xf64>, tensor<3xi64>, tensor<3xf64>) -> (tensor<i64>, tensor<3xi64>, tensor<3xf64>) cond {
  ^bb0(%i: tensor<3xi64>, %c: tensor<3xf64>, %m: tensor<3xi64>, %w1: tensor<3xf64>):
    %live = sinter.compare lt %i, %m : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
    %go = sinter.reduce or %live axes = [0] : (tensor<3xi1>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%i: tensor<3xi64>, %c: tensor<3xf64>, %m: tensor<3xi64>, %w1: tensor<3xf64>):
    %one = sinter.constant dense<1> : tensor<3xi64>
    %live = sinter.compare lt %i, %m : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
    %j = sinter.add %i, %one : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
    %p = sinter.mul %c, %w1 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %s = sinter.sin %p : (tensor<3xf64>) -> tensor<3xf64>
    %next = sinter.select %live, %s, %c : (tensor<3xi1>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%j, %next) : tensor<3xi64>, tensor<3xf64>
  }
  return %0#2 : tensor<3xf64>
})";

// Newton's iteration for the root of x = cos(w x); the condition reads a value that has a derivative. Integer, boolean
// and unused carries go along.
static const std::string kNewton = R"(func.func @f(%w: tensor<f64>) -> tensor<f64> {
  %x0 = sinter.constant dense<0.5> : tensor<f64>
  %t = sinter.constant dense<true> : tensor<i1>
  %zero = sinter.constant dense<0> : tensor<i64>
  %0:6 = sinter.while (%x0, %x0, %zero, %t, %x0) captures(%w) {max_trip = 50 : i64} : (tensor<f64>, tensor<f64>, tensor<i64>, tensor<i1>, tensor<f64>, tensor<f64>)
      -> (tensor<i64>, tensor<f64>, tensor<f64>, tensor<i64>, tensor<i1>, tensor<f64>) cond {
  ^bb0(%x: tensor<f64>, %d: tensor<f64>, %k: tensor<i64>, %b: tensor<i1>, %u: tensor<f64>, %a: tensor<f64>):
    %eps = sinter.constant dense<1.0e-9> : tensor<f64>
    %s = sinter.abs %d : (tensor<f64>) -> tensor<f64>
    %go = sinter.compare gt %s, %eps : (tensor<f64>, tensor<f64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%x: tensor<f64>, %d: tensor<f64>, %k: tensor<i64>, %b: tensor<i1>, %u: tensor<f64>, %a: tensor<f64>):
    %one = sinter.constant dense<1.0> : tensor<f64>
    %i1 = sinter.constant dense<1> : tensor<i64>
    %k1 = sinter.add %k, %i1 : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %nb = sinter.not %b : (tensor<i1>) -> tensor<i1>
    %p = sinter.mul %a, %x : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %c = sinter.cos %p : (tensor<f64>) -> tensor<f64>
    %s = sinter.sin %p : (tensor<f64>) -> tensor<f64>
    %as = sinter.mul %a, %s : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %den = sinter.add %one, %as : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %num = sinter.sub %x, %c : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %step = sinter.div %num, %den : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %x1 = sinter.sub %x, %step : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %u1 = sinter.mul %u, %x : (tensor<f64>, tensor<f64>) -> tensor<f64>
    sinter.yield (%x1, %step, %k1, %nb, %u1) : tensor<f64>, tensor<f64>, tensor<i64>, tensor<i1>, tensor<f64>
  }
  return %0#1 : tensor<f64>
})";

// The inner loop of trip i runs i times.
static const std::string kTriangle = counted(R"(
    %z = sinter.constant dense<0> : tensor<i64>
    %in:3 = sinter.while (%z, %c) captures(%i, %w1) : (tensor<i64>, tensor<3xf64>, tensor<i64>, tensor<3xf64>) -> (tensor<i64>, tensor<i64>, tensor<3xf64>) cond {
    ^bb1(%i2: tensor<i64>, %c2: tensor<3xf64>, %m2: tensor<i64>, %w2: tensor<3xf64>):
      %go2 = sinter.compare lt %i2, %m2 : (tensor<i64>, tensor<i64>) -> tensor<i1>
      sinter.yield (%go2) : tensor<i1>
    } body {
    ^bb1(%i2: tensor<i64>, %c2: tensor<3xf64>, %m2: tensor<i64>, %w2: tensor<3xf64>):
      %one2 = sinter.constant dense<1> : tensor<i64>
      %j2 = sinter.add %i2, %one2 : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %p2 = sinter.mul %c2, %w2 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
      %n2 = sinter.sin %p2 : (tensor<3xf64>) -> tensor<3xf64>
      sinter.yield (%j2, %n2) : tensor<i64>, tensor<3xf64>
    }
    %e = sinter.cos %in#2 : (tensor<3xf64>) -> tensor<3xf64>
    %next = sinter.mul %e, %c : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>)");

// Leaves in the middle of a body: the rest is a branch. The branch not taken divides by zero.
static const std::string kEarlyExit = counted(R"(
    %two = sinter.constant dense<2> : tensor<i64>
    %stay = sinter.compare lt %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %next = sinter.cond %stay (%c, %w1) : (tensor<i1>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64> then {
    ^bb1(%a: tensor<3xf64>, %b: tensor<3xf64>):
      %p = sinter.mul %a, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
      %s = sinter.sin %p : (tensor<3xf64>) -> tensor<3xf64>
      %q = sinter.mul %s, %p : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
      sinter.yield (%q) : tensor<3xf64>
    } else {
    ^bb1(%a: tensor<3xf64>, %b: tensor<3xf64>):
      %z = sinter.sub %b, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
      %l = sinter.sub %a, %z : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
      sinter.yield (%l) : tensor<3xf64>
    })");

static const std::string kDeadNan = counted(R"(
    %no = sinter.compare lt %m, %i : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %next = sinter.cond %no (%c, %w1) : (tensor<i1>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64> then {
    ^bb1(%a: tensor<3xf64>, %b: tensor<3xf64>):
      %z = sinter.sub %b, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
      %q = sinter.div %a, %z : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
      %r = sinter.sqrt %q : (tensor<3xf64>) -> tensor<3xf64>
      sinter.yield (%r) : tensor<3xf64>
    } else {
    ^bb1(%a: tensor<3xf64>, %b: tensor<3xf64>):
      %p = sinter.mul %a, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
      sinter.yield (%p) : tensor<3xf64>
    })");

// while in cond in scan; the scan walks axis 1 from the end and stacks along axis 1.
static const std::string kNested =
    R"(func.func @f(%x: tensor<2xf64>, %xs: tensor<2x?xf64>, %n: tensor<i64>) -> (tensor<2xf64>, tensor<2x?xf64>) {
  %0:2 = sinter.scan (%x) over(%xs) captures(%n) {axes = array<i64: 1>, reverse = array<i1: true>, out_axes = array<i64: 1>, out_reverse = array<i1: true>}
       : (tensor<2xf64>, tensor<2x?xf64>, tensor<i64>) -> (tensor<2xf64>, tensor<2x?xf64>) body {
  ^bb0(%c: tensor<2xf64>, %s: tensor<2xf64>, %m: tensor<i64>):
    %zero = sinter.constant dense<0.7> : tensor<f64>
    %sum = sinter.reduce add %s axes = [0] : (tensor<2xf64>) -> tensor<f64>
    %p = sinter.compare gt %sum, %zero : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %r = sinter.cond %p (%c, %s, %m) : (tensor<i1>, tensor<2xf64>, tensor<2xf64>, tensor<i64>) -> tensor<2xf64> then {
    ^bb1(%a: tensor<2xf64>, %b: tensor<2xf64>, %k: tensor<i64>):
      %z = sinter.constant dense<0> : tensor<i64>
      %in:3 = sinter.while (%z, %a) captures(%k, %b) : (tensor<i64>, tensor<2xf64>, tensor<i64>, tensor<2xf64>) -> (tensor<i64>, tensor<i64>, tensor<2xf64>) cond {
      ^bb2(%i2: tensor<i64>, %c2: tensor<2xf64>, %m2: tensor<i64>, %w2: tensor<2xf64>):
        %go2 = sinter.compare lt %i2, %m2 : (tensor<i64>, tensor<i64>) -> tensor<i1>
        sinter.yield (%go2) : tensor<i1>
      } body {
      ^bb2(%i2: tensor<i64>, %c2: tensor<2xf64>, %m2: tensor<i64>, %w2: tensor<2xf64>):
        %one2 = sinter.constant dense<1> : tensor<i64>
        %j2 = sinter.add %i2, %one2 : (tensor<i64>, tensor<i64>) -> tensor<i64>
        %p2 = sinter.mul %c2, %w2 : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
        %n2 = sinter.sin %p2 : (tensor<2xf64>) -> tensor<2xf64>
        sinter.yield (%j2, %n2) : tensor<i64>, tensor<2xf64>
      }
      sinter.yield (%in#2) : tensor<2xf64>
    } else {
    ^bb1(%a: tensor<2xf64>, %b: tensor<2xf64>, %k: tensor<i64>):
      %e = sinter.exp %a : (tensor<2xf64>) -> tensor<2xf64>
      %q = sinter.mul %e, %b : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      sinter.yield (%q) : tensor<2xf64>
    }
    %y = sinter.mul %r, %s : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    sinter.yield (%r, %y) : tensor<2xf64>, tensor<2xf64>
  }
  return %0#0, %0#1 : tensor<2xf64>, tensor<2x?xf64>
})";

static const std::string kSwitch =
    R"(func.func @f(%x: tensor<3xf64>, %n: tensor<i64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %0 = sinter.switch %n (%x, %w) : (tensor<i64>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64> {
  ^bb0(%a: tensor<3xf64>, %b: tensor<3xf64>):
    sinter.yield (%a) : tensor<3xf64>
  }, {
  ^bb0(%a: tensor<3xf64>, %b: tensor<3xf64>):
    %e = sinter.exp %a : (tensor<3xf64>) -> tensor<3xf64>
    %p = sinter.mul %e, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%p) : tensor<3xf64>
  }, {
  ^bb0(%a: tensor<3xf64>, %b: tensor<3xf64>):
    %e = sinter.sin %b : (tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%e) : tensor<3xf64>
  }
  return %0 : tensor<3xf64>
})";

// A known number of trips with the index, a stack per trip, and sizes that only the run tells.
static const std::string kFor =
    R"(func.func @f(%x: tensor<?xf64>, %n: tensor<i64>, %w: tensor<?xf64>) -> (tensor<?xf64>, tensor<?x?xf64>) {
  %two = sinter.constant dense<2> : tensor<i64>
  %zero = sinter.constant dense<0> : tensor<i64>
  %0:2 = sinter.for %zero to %n step %two (%x) captures(%w) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<?xf64>, tensor<?xf64>) -> (tensor<?xf64>, tensor<?x?xf64>) body {
  ^bb0(%i: tensor<i64>, %c: tensor<?xf64>, %v: tensor<?xf64>):
    %f = sinter.convert %i {element_type = f64} : (tensor<i64>) -> tensor<f64>
    %b = sinter.broadcast %f like(%c) axes = [] {type = tensor<?xf64>} : (tensor<f64>, tensor<?xf64>) -> tensor<?xf64>
    %p = sinter.mul %c, %v : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
    %q = sinter.add %p, %b : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
    %s = sinter.sin %q : (tensor<?xf64>) -> tensor<?xf64>
    sinter.yield (%s, %p) : tensor<?xf64>, tensor<?xf64>
  }
  return %0#0, %0#1 : tensor<?xf64>, tensor<?x?xf64>
})";

static std::string replaced(std::string text, const std::string &from, const std::string &to) {
  return text.replace(text.find(from), from.size(), to);
}
static const std::string kForDown = replaced(kFor, "dense<2>", "dense<-3>");
static const std::string kForStep =
    replaced(replaced(kFor, "dense<2>", "dense<4>"), "%zero to %n step %two", "%zero to %two step %n");

// A scan that walks an inner axis, whose outputs are used, too: trips of any number of known size.
static const std::string kScan =
    R"(func.func @f(%x: tensor<3xf64>, %xs: tensor<3x?xf64>, %w: tensor<3xf64>) -> (tensor<3xf64>, tensor<?x3xf64>) {
  %0:2 = sinter.scan (%x) over(%xs) captures(%w) {axes = array<i64: 1>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}
       : (tensor<3xf64>, tensor<3x?xf64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<?x3xf64>) body {
  ^bb0(%c: tensor<3xf64>, %s: tensor<3xf64>, %v: tensor<3xf64>):
    %p = sinter.mul %c, %v : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %q = sinter.add %p, %s : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %n = sinter.tanh %q : (tensor<3xf64>) -> tensor<3xf64>
    %y = sinter.mul %n, %c : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%n, %y) : tensor<3xf64>, tensor<3xf64>
  }
  %1 = sinter.mul %0#1, %0#1 : (tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<?x3xf64>
  return %0#0, %1 : tensor<3xf64>, tensor<?x3xf64>
})";

// The carry is stored into, by a row whose old value the gradient reads.
static const std::string kOldValue = counted(R"(
    %at = sinter.reshape %i {type = tensor<1xi64>} : (tensor<i64>) -> tensor<1xi64>
    %old = sinter.dynamic_slice %c, %at {sizes = array<i64: 1>} : (tensor<3xf64>, tensor<1xi64>) -> tensor<1xf64>
    %u = sinter.dynamic_slice %w1, %at {sizes = array<i64: 1>} : (tensor<3xf64>, tensor<1xi64>) -> tensor<1xf64>
    %e = sinter.exp %old : (tensor<1xf64>) -> tensor<1xf64>
    %new = sinter.mul %e, %u : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
    %put = sinter.dynamic_update_slice %c, %new, %at : (tensor<3xf64>, tensor<1xf64>, tensor<1xi64>) -> tensor<3xf64>
    %sum = sinter.reduce add %c axes = [0] : (tensor<3xf64>) -> tensor<f64>
    %sin = sinter.sin %sum : (tensor<f64>) -> tensor<f64>
    %all = sinter.broadcast %sin axes = [] {type = tensor<3xf64>} : (tensor<f64>) -> tensor<3xf64>
    %next = sinter.mul %put, %all : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>)");

// Carries that grow by what each trip appends, in a for that walks nothing and in a while whose output is read, too.
static const std::string kGrowing =
    R"(func.func @f(%x: tensor<?xf64>, %n: tensor<i64>, %w: tensor<1xf64>) -> (tensor<?xf64>, tensor<?xf64>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0 = sinter.for %zero to %n step %one (%x) captures(%w) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64> body {
  ^bb0(%i: tensor<i64>, %c: tensor<?xf64>, %v: tensor<1xf64>):
    %m = sinter.reduce add %c axes = [0] : (tensor<?xf64>) -> tensor<f64>
    %s = sinter.sin %m : (tensor<f64>) -> tensor<f64>
    %r = sinter.reshape %s {type = tensor<1xf64>} : (tensor<f64>) -> tensor<1xf64>
    %p = sinter.mul %r, %v : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
    %e = sinter.cos %c : (tensor<?xf64>) -> tensor<?xf64>
    %d = sinter.concatenate %e, %p {axis = 0 : i64} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
    sinter.yield (%d) : tensor<?xf64>
  }
  %1:4 = sinter.while (%zero, %x) captures(%n, %w) : (tensor<i64>, tensor<?xf64>, tensor<i64>, tensor<1xf64>) -> (tensor<i64>, tensor<i64>, tensor<?xf64>, tensor<?xf64>) cond {
  ^bb0(%i: tensor<i64>, %c: tensor<?xf64>, %m: tensor<i64>, %v: tensor<1xf64>):
    %go = sinter.compare lt %i, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%i: tensor<i64>, %c: tensor<?xf64>, %m: tensor<i64>, %v: tensor<1xf64>):
    %one1 = sinter.constant dense<1> : tensor<i64>
    %j = sinter.add %i, %one1 : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %q = sinter.mul %c, %c : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
    %t = sinter.reduce add %q axes = [0] : (tensor<?xf64>) -> tensor<f64>
    %d = sinter.concatenate %v, %q {axis = 0 : i64} : (tensor<1xf64>, tensor<?xf64>) -> tensor<?xf64>
    sinter.yield (%j, %d, %t) : tensor<i64>, tensor<?xf64>, tensor<f64>
  }
  %2 = sinter.mul %1#3, %1#3 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
  %a = sinter.reduce add %1#2 axes = [0] : (tensor<?xf64>) -> tensor<f64>
  %b = sinter.broadcast %a like(%0) axes = [] {type = tensor<?xf64>} : (tensor<f64>, tensor<?xf64>) -> tensor<?xf64>
  %3 = sinter.mul %0, %b : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
  return %3, %2 : tensor<?xf64>, tensor<?xf64>
})";

// A known number of trips, each with a number of its own among constants that could be merged with it.
static const std::string kKnown =
    R"(func.func @f(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %from = sinter.constant dense<9> : tensor<i64>
  %to = sinter.constant dense<1> : tensor<i64>
  %by = sinter.constant dense<-2> : tensor<i64>
  %0 = sinter.for %from to %to step %by (%x) captures(%w) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64> body {
  ^bb0(%i: tensor<i64>, %c: tensor<3xf64>, %v: tensor<3xf64>):
    %tenth = sinter.constant dense<0.1> : tensor<3xf64>
    %s = sinter.sin %c : (tensor<3xf64>) -> tensor<3xf64>
    %p = sinter.mul %s, %v : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %q = sinter.mul %c, %tenth : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %f = sinter.convert %i {element_type = f64} : (tensor<i64>) -> tensor<f64>
    %a = sinter.broadcast %f axes = [] {type = tensor<3xf64>} : (tensor<f64>) -> tensor<3xf64>
    %r = sinter.mul %q, %a : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %n = sinter.add %p, %r : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%n) : tensor<3xf64>
  }
  return %0 : tensor<3xf64>
})";

// A loop in a checkpoint in a loop.
static const std::string kNestedCheckpoint =
    R"(func.func @f(%x: tensor<3xf64>, %n: tensor<i64>) -> tensor<3xf64> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %0:3 = sinter.while (%x, %zero) captures(%x, %n) : (tensor<3xf64>, tensor<i64>, tensor<3xf64>, tensor<i64>) -> (tensor<i64>, tensor<3xf64>, tensor<i64>) cond {
  ^bb0(%c: tensor<3xf64>, %i: tensor<i64>, %y: tensor<3xf64>, %m: tensor<i64>):
    %go = sinter.compare lt %i, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%c: tensor<3xf64>, %i: tensor<i64>, %y: tensor<3xf64>, %m: tensor<i64>):
    %r = sinter.checkpoint (%c, %m) : (tensor<3xf64>, tensor<i64>) -> tensor<3xf64> {
    ^bb0(%v: tensor<3xf64>, %k: tensor<i64>):
      %from = sinter.constant dense<0> : tensor<i64>
      %1:3 = sinter.while (%v, %from) captures(%v, %k) : (tensor<3xf64>, tensor<i64>, tensor<3xf64>, tensor<i64>) -> (tensor<i64>, tensor<3xf64>, tensor<i64>) cond {
      ^bb0(%u: tensor<3xf64>, %j: tensor<i64>, %w: tensor<3xf64>, %l: tensor<i64>):
        %on = sinter.compare lt %j, %l : (tensor<i64>, tensor<i64>) -> tensor<i1>
        sinter.yield (%on) : tensor<i1>
      } body {
      ^bb0(%u: tensor<3xf64>, %j: tensor<i64>, %w: tensor<3xf64>, %l: tensor<i64>):
        %s = sinter.sin %u : (tensor<3xf64>) -> tensor<3xf64>
        %a = sinter.add %s, %w : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
        %one = sinter.constant dense<1> : tensor<i64>
        %next = sinter.add %j, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
        sinter.yield (%a, %next) : tensor<3xf64>, tensor<i64>
      }
      sinter.yield (%1#1) : tensor<3xf64>
    }
    %p = sinter.mul %r, %y : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %one = sinter.constant dense<1> : tensor<i64>
    %next = sinter.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    sinter.yield (%p, %next) : tensor<3xf64>, tensor<i64>
  }
  return %0#1 : tensor<3xf64>
})";

// Positions that grow, by which a carry is read.
static const std::string kGrowingPositions =
    R"(func.func @f(%x: tensor<4xf64>, %k: tensor<?xi64>, %n: tensor<i64>, %w: tensor<4xf64>) -> (tensor<4xf64>, tensor<?xf64>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0:2 = sinter.for %zero to %n step %one (%x, %k) captures(%w) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xf64>, tensor<?xi64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<?xi64>) body {
  ^bb0(%i: tensor<i64>, %c: tensor<4xf64>, %p: tensor<?xi64>, %v: tensor<4xf64>):
    %g = sinter.gather %c, %p {axis = 0 : i64} : (tensor<4xf64>, tensor<?xi64>) -> tensor<?xf64>
    %e = sinter.sin %g : (tensor<?xf64>) -> tensor<?xf64>
    %m = sinter.reduce add %e axes = [0] : (tensor<?xf64>) -> tensor<f64>
    %b = sinter.broadcast %m axes = [] {type = tensor<4xf64>} : (tensor<f64>) -> tensor<4xf64>
    %d = sinter.mul %b, %v : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %s = sinter.sin %d : (tensor<4xf64>) -> tensor<4xf64>
    %q = sinter.concatenate %p, %p {axis = 0 : i64} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
    sinter.yield (%s, %q) : tensor<4xf64>, tensor<?xi64>
  }
  %1:4 = sinter.while (%0#0, %k) captures(%n, %w) : (tensor<4xf64>, tensor<?xi64>, tensor<i64>, tensor<4xf64>) -> (tensor<i64>, tensor<4xf64>, tensor<?xi64>, tensor<?xf64>) cond {
  ^bb0(%c: tensor<4xf64>, %p: tensor<?xi64>, %m: tensor<i64>, %v: tensor<4xf64>):
    %ones = sinter.shape %p : (tensor<?xi64>) -> tensor<1xi64>
    %many = sinter.reduce add %ones axes = [0] : (tensor<1xi64>) -> tensor<i64>
    %two = sinter.add %m, %m : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %go = sinter.compare lt %many, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%c: tensor<4xf64>, %p: tensor<?xi64>, %m: tensor<i64>, %v: tensor<4xf64>):
    %g = sinter.gather %c, %p {axis = 0 : i64} : (tensor<4xf64>, tensor<?xi64>) -> tensor<?xf64>
    %e = sinter.mul %g, %g : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
    %r = sinter.reduce add %e axes = [0] : (tensor<?xf64>) -> tensor<f64>
    %b = sinter.broadcast %r axes = [] {type = tensor<4xf64>} : (tensor<f64>) -> tensor<4xf64>
    %d = sinter.mul %b, %v : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %s = sinter.cos %d : (tensor<4xf64>) -> tensor<4xf64>
    %last = sinter.constant dense<2> : tensor<1xi64>
    %q = sinter.concatenate %p, %last {axis = 0 : i64} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
    sinter.yield (%s, %q, %r) : tensor<4xf64>, tensor<?xi64>, tensor<f64>
  }
  %y = sinter.mul %1#3, %1#3 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
  return %1#1, %y : tensor<4xf64>, tensor<?xf64>
})";

// Two loops, of which the second's gradient is taken first.
static const std::string kTwo =
    R"(func.func @f(%x: tensor<3xf64>, %n: tensor<i64>, %w: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %one = sinter.constant dense<1> : tensor<i64>
  %zero = sinter.constant dense<0> : tensor<i64>
  %0 = sinter.for %zero to %n step %one (%x) captures(%w) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64> body {
  ^bb0(%i: tensor<i64>, %c: tensor<3xf64>, %v: tensor<3xf64>):
    %p = sinter.mul %c, %v : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %s = sinter.sin %p : (tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%s) : tensor<3xf64>
  }
  %1 = sinter.for %zero to %n step %one (%w) captures(%x) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64> body {
  ^bb0(%i: tensor<i64>, %c: tensor<3xf64>, %v: tensor<3xf64>):
    %p = sinter.mul %c, %v : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %s = sinter.cos %p : (tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%s) : tensor<3xf64>
  }
  %2 = sinter.mul %0, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %3 = sinter.mul %1, %0 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %3, %2 : tensor<3xf64>, tensor<3xf64>
})";

// max_trip stops it; the carry is stored into by windows, and its old value is read.
static const std::string kBounded =
    R"(func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64>) -> (tensor<4xf64>, tensor<?xf64>) {
  %zero = sinter.constant dense<0> : tensor<1xi64>
  %0:4 = sinter.while (%zero, %x) captures(%w) {max_trip = 3 : i64} : (tensor<1xi64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<i64>, tensor<1xi64>, tensor<4xf64>, tensor<?xf64>) cond {
  ^bb0(%i: tensor<1xi64>, %c: tensor<4xf64>, %v: tensor<4xf64>):
    %go = sinter.constant dense<true> : tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%i: tensor<1xi64>, %c: tensor<4xf64>, %v: tensor<4xf64>):
    %one = sinter.constant dense<1> : tensor<1xi64>
    %j = sinter.add %i, %one : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
    %d = sinter.dynamic_slice %c, %i {sizes = array<i64: 1>} : (tensor<4xf64>, tensor<1xi64>) -> tensor<1xf64>
    %e = sinter.dynamic_slice %v, %j {sizes = array<i64: 1>} : (tensor<4xf64>, tensor<1xi64>) -> tensor<1xf64>
    %p = sinter.mul %d, %e : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
    %s = sinter.sin %p : (tensor<1xf64>) -> tensor<1xf64>
    %next = sinter.dynamic_update_slice %c, %s, %j : (tensor<4xf64>, tensor<1xf64>, tensor<1xi64>) -> tensor<4xf64>
    %y = sinter.reduce add %c axes = [0] : (tensor<4xf64>) -> tensor<f64>
    %yy = sinter.mul %y, %y : (tensor<f64>, tensor<f64>) -> tensor<f64>
    sinter.yield (%j, %next, %yy) : tensor<1xi64>, tensor<4xf64>, tensor<f64>
  }
  return %0#2, %0#3 : tensor<4xf64>, tensor<?xf64>
})";

// A bound that is not to be reached, and is not.
static const std::string kTrap = R"(func.func @f(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %0:2 = sinter.while (%x) captures(%w) {max_trip = 7 : i64, on_limit = #sinter<limit_policy trap>} : (tensor<3xf64>, tensor<3xf64>) -> (tensor<i64>, tensor<3xf64>) cond {
  ^bb0(%c: tensor<3xf64>, %v: tensor<3xf64>):
    %low = sinter.constant dense<0.05> : tensor<f64>
    %m = sinter.reduce max %c axes = [0] : (tensor<3xf64>) -> tensor<f64>
    %go = sinter.compare gt %m, %low : (tensor<f64>, tensor<f64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%c: tensor<3xf64>, %v: tensor<3xf64>):
    %p = sinter.mul %c, %v : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %s = sinter.sin %p : (tensor<3xf64>) -> tensor<3xf64>
    %next = sinter.mul %s, %c : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%next) : tensor<3xf64>
  }
  return %0#1 : tensor<3xf64>
})";

// A recurrence: the gradient of the weights is one product over all trips.
static const std::string kRecurrence =
    R"(func.func @f(%x: tensor<3xf64>, %a: tensor<3x3xf64>, %s: tensor<4x2x3xf64>, %u: tensor<3x3xf64>) -> (tensor<3xf64>, tensor<2x3xf64>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %0:3 = sinter.while (%zero, %x) captures(%a) : (tensor<i64>, tensor<3xf64>, tensor<3x3xf64>) -> (tensor<i64>, tensor<i64>, tensor<3xf64>) cond {
  ^bb0(%i: tensor<i64>, %c: tensor<3xf64>, %w: tensor<3x3xf64>):
    %n = sinter.constant dense<5> : tensor<i64>
    %go = sinter.compare lt %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%i: tensor<i64>, %c: tensor<3xf64>, %w: tensor<3x3xf64>):
    %one = sinter.constant dense<1> : tensor<i64>
    %j = sinter.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %p = sinter.dot_general %w, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f64} : (tensor<3x3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %next = sinter.tanh %p : (tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%j, %next) : tensor<i64>, tensor<3xf64>
  }
  %h = sinter.constant dense<0.25> : tensor<2x3xf64>
  %1 = sinter.scan (%h) over(%s) captures(%u) {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64>, out_reverse = array<i1>} : (tensor<2x3xf64>, tensor<4x2x3xf64>, tensor<3x3xf64>) -> tensor<2x3xf64> body {
  ^bb0(%c: tensor<2x3xf64>, %e: tensor<2x3xf64>, %w: tensor<3x3xf64>):
    %p = sinter.dot_general %c, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f64} : (tensor<2x3xf64>, tensor<3x3xf64>) -> tensor<2x3xf64>
    %q = sinter.add %p, %e : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    %next = sinter.tanh %q : (tensor<2x3xf64>) -> tensor<2x3xf64>
    sinter.yield (%next) : tensor<2x3xf64>
  }
  return %0#2, %1 : tensor<3xf64>, tensor<2x3xf64>
})";

// The key of the random numbers is a carry.
static const std::string kRandom =
    R"(func.func @f(%x: tensor<3xf64>, %key: tensor<4xui32>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %0:4 = sinter.while (%zero, %key, %x) captures(%w) : (tensor<i64>, tensor<4xui32>, tensor<3xf64>, tensor<3xf64>) -> (tensor<i64>, tensor<i64>, tensor<4xui32>, tensor<3xf64>) cond {
  ^bb0(%i: tensor<i64>, %k: tensor<4xui32>, %c: tensor<3xf64>, %v: tensor<3xf64>):
    %n = sinter.constant dense<5> : tensor<i64>
    %go = sinter.compare lt %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%i: tensor<i64>, %k: tensor<4xui32>, %c: tensor<3xf64>, %v: tensor<3xf64>):
    %one = sinter.constant dense<1> : tensor<i64>
    %j = sinter.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %k1 = sinter.random_bits %k {type = tensor<4xui32>} : (tensor<4xui32>) -> tensor<4xui32>
    %bits = sinter.random_bits %k {type = tensor<3xui32>} : (tensor<4xui32>) -> tensor<3xui32>
    %f = sinter.convert %bits {element_type = f64} : (tensor<3xui32>) -> tensor<3xf64>
    %scale = sinter.constant dense<2.3e-10> : tensor<3xf64>
    %u = sinter.mul %f, %scale : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %p = sinter.mul %c, %v : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %q = sinter.add %p, %u : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %next = sinter.sin %q : (tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%j, %k1, %next) : tensor<i64>, tensor<4xui32>, tensor<3xf64>
  }
  return %0#3 : tensor<3xf64>
})";

// A checkpoint region, and a function with its own gradient.
static const std::string kCheckpoint = R"(func.func @f(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %0 = sinter.checkpoint (%x, %w) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64> {
  ^bb0(%a: tensor<3xf64>, %b: tensor<3xf64>):
    %p = sinter.mul %a, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %s = sinter.sin %p : (tensor<3xf64>) -> tensor<3xf64>
    %q = sinter.mul %s, %p : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%q) : tensor<3xf64>
  }
  %1 = sinter.mul %0, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>
})";

static const std::string kCustom = R"(func.func @f(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %0 = sinter.custom_vjp (%x) : (tensor<3xf64>) -> tensor<3xf64> forward {
  ^bb0(%a: tensor<3xf64>):
    %e = sinter.exp %a : (tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%e, %e) : tensor<3xf64>, tensor<3xf64>
  } backward {
  ^bb0(%e: tensor<3xf64>, %d: tensor<3xf64>):
    %g = sinter.mul %e, %d : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    sinter.yield (%g) : tensor<3xf64>
  }
  %1 = sinter.mul %0, %w : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>
})";

// x = cos(w x) / 2, until the step is small.
static const std::string kContraction = R"(func.func @f(%w: tensor<f64>) -> tensor<f64> {
  %x0 = sinter.constant dense<0.5> : tensor<f64>
  %d0 = sinter.constant dense<1.0> : tensor<f64>
  %0:3 = sinter.while (%x0, %d0) captures(%w) : (tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<i64>, tensor<f64>, tensor<f64>) cond {
  ^bb0(%x: tensor<f64>, %d: tensor<f64>, %a: tensor<f64>):
    %eps = sinter.constant dense<1.0e-13> : tensor<f64>
    %s = sinter.abs %d : (tensor<f64>) -> tensor<f64>
    %go = sinter.compare gt %s, %eps : (tensor<f64>, tensor<f64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%x: tensor<f64>, %d: tensor<f64>, %a: tensor<f64>):
    %half = sinter.constant dense<0.5> : tensor<f64>
    %p = sinter.mul %a, %x : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %c = sinter.cos %p : (tensor<f64>) -> tensor<f64>
    %x1 = sinter.mul %c, %half : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %d1 = sinter.sub %x1, %x : (tensor<f64>, tensor<f64>) -> tensor<f64>
    sinter.yield (%x1, %d1) : tensor<f64>, tensor<f64>
  }
  %1 = sinter.mul %0#1, %w : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return %1 : tensor<f64>
})";

const std::vector<LoopCase> &sinter::test::fixedPointCases() {
  static const std::vector<LoopCase> cases = {{"newton", kNewton.c_str(), {0}, {}},
                                              {"contraction", kContraction.c_str(), {0}, {}}};
  return cases;
}

const std::vector<LoopCase> &sinter::test::loopCases() {
  static const std::vector<LoopCase> cases = {
      {"zero_trips", kSine.c_str(), {0, 2}, {{0}}},
      {"one_trip", kSine.c_str(), {0, 2}, {{1}}},
      {"carry_overwritten", kOverwritten.c_str(), {0, 2}, {{3}}},
      {"carry_used_and_replaced", kReplaced.c_str(), {0, 2}, {{4}}},
      {"forward_value_of_the_trip", kSine.c_str(), {0, 2}, {{7}}},
      {"indexed_by_the_trip", kIndexed.c_str(), {0, 2}, {{3}}},
      {"capture_alone", kSine.c_str(), {2}, {{5}}},
      {"condition_on_a_differentiable_value", kNewton.c_str(), {0}, {}},
      {"inner_trips_vary", kTriangle.c_str(), {0, 2}, {{4}}},
      {"early_exit", kEarlyExit.c_str(), {0, 2}, {{4}}},
      {"nan_in_a_dead_branch", kDeadNan.c_str(), {0, 2}, {{3}}},
      {"while_in_cond_in_scan", kNested.c_str(), {0, 1}, {{3}}, true, 4},
      {"switch_first", kSwitch.c_str(), {0, 2}, {{0}}, false},
      {"switch_second", kSwitch.c_str(), {0, 2}, {{1}}, false},
      {"switch_out_of_range", kSwitch.c_str(), {0, 2}, {{-7}}, false},
      {"for_with_index_and_stack", kFor.c_str(), {0, 2}, {{7}}, true, 3},
      {"for_downward", kForDown.c_str(), {0, 2}, {{-7}}, true, 3},
      {"for_by_no_step", kForStep.c_str(), {0, 2}, {{0}}, true, 3},
      {"for_of_no_trip", kFor.c_str(), {0, 2}, {{0}}, true, 3},
      {"for_that_leads_away", kFor.c_str(), {0, 2}, {{-5}}, true, 3},
      {"carry_that_grows", kGrowing.c_str(), {0, 2}, {{3}}, true, 2},
      {"carry_that_grows_not", kGrowing.c_str(), {0, 2}, {{0}}, true, 2},
      {"loop_in_checkpoint_in_loop", kNestedCheckpoint.c_str(), {0}, {{3}}},
      {"known_trips", kKnown.c_str(), {0, 1}, {}},
      {"positions_that_grow", kGrowingPositions.c_str(), {0, 3}, {{1, 3}, {3}}, true, 2},
      {"positions_that_grow_not", kGrowingPositions.c_str(), {0, 3}, {{1, 3}, {0}}, true, 2},
      {"two_forwards", kTwo.c_str(), {0, 2}, {{4}}},
      {"scan_of_outputs", kScan.c_str(), {0, 1, 2}, {}, true, 5},
      {"old_value_of_an_updated_carry", kOldValue.c_str(), {0, 2}, {{3}}},
      {"rows_stop_on_their_own", kRows.c_str(), {0, 2}, {{2, 5, 0}}},
      {"bound_is_hit", kBounded.c_str(), {0, 1}, {}},
      {"bound_that_traps", kTrap.c_str(), {0, 1}, {}},
      {"recurrence", kRecurrence.c_str(), {0, 1, 2, 3}, {}},
      {"stop_gradient_in_the_body", kStopped.c_str(), {0, 2}, {{4}}},
      {"random_key_as_carry", kRandom.c_str(), {0, 2}, {{1, 2, 3, 4}}},
      {"checkpoint", kCheckpoint.c_str(), {0, 1}, {}, false},
      {"custom_vjp", kCustom.c_str(), {0, 1}, {}, false, 3, false},
  };
  return cases;
}
