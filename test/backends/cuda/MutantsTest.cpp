// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mistakes put into PTX that the compiler made: the machine of test/cuda tells each, or the result differs from the
// evaluator's. So a mistake of the compiler would be found.

#include "CudaProgram.h"
#include "test/backends/cpu/Execute.h"
#include <cmath>
#include <regex>
#include <sstream>

using namespace sinter;

namespace {
// Rows that no vector divides: all code of the kernel runs.
constexpr const char *kSum = R"(func.func @f(%x: tensor<3x201xf32>) -> tensor<3xf32> {
  %r = sinter.reduce add %x axes = [1] : (tensor<3x201xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
})";
constexpr const char *kSoftmax = R"(func.func @f(%x: tensor<3x201xf32>) -> tensor<3x201xf32> {
  %r = sinter.softmax %x {axis = 1 : i64} : (tensor<3x201xf32>) -> tensor<3x201xf32>
  return %r : tensor<3x201xf32>
})";
/// Two rows of a block, of which those are kept that are not beyond a bound.
constexpr const char *kOrder = R"(func.func @f(%x: tensor<2x150xf16>) -> (tensor<2x20xf16>, tensor<2x20xi64>) {
  %k = sinter.constant dense<20> : tensor<i64>
  %r:2 = sinter.kernel single(%x, %k) {schedule = #sinter.schedule<block_order, lanes = 128, chunk = 2>} : (tensor<2x150xf16>, tensor<i64>) -> (tensor<2x20xf16>, tensor<2x20xi64>) {
  ^bb0(%a: tensor<2x150xf16>, %b: tensor<i64>):
    %v, %i = sinter.top_k %a, %b {axis = 1 : i64} : (tensor<2x150xf16>, tensor<i64>) -> (tensor<2x20xf16>, tensor<2x20xi64>)
    sinter.yield(%v, %i) : tensor<2x20xf16>, tensor<2x20xi64>
  }
  return %r#0, %r#1 : tensor<2x20xf16>, tensor<2x20xi64>
})";
/// A row for four blocks, which no vector divides.
constexpr const char *kClusters = R"(func.func @f(%x: tensor<3x201xf32>) -> tensor<3x201xf32> {
  %r = sinter.kernel row(%x) {schedule = #sinter.schedule<cluster_row, lanes = 64, tile = [4]>} : (tensor<3x201xf32>) -> tensor<3x201xf32> {
  ^bb0(%a: tensor<3x201xf32>):
    %y = sinter.softmax %a {axis = 1 : i64} : (tensor<3x201xf32>) -> tensor<3x201xf32>
    sinter.yield(%y) : tensor<3x201xf32>
  }
  return %r : tensor<3x201xf32>
})";
/// Updates that a block sorts, and sums of places that others make of them.
constexpr const char *kScatter =
    R"(func.func @f(%x: tensor<9x3xf32>, %p: tensor<300x1xi64>, %u: tensor<300x3xf32>) -> tensor<9x3xf32> {
  %a = sinter.abs %x : (tensor<9x3xf32>) -> tensor<9x3xf32>
  %r = sinter.scatter_nd %a, %p, %u {combiner = #sinter<combiner add>} : (tensor<9x3xf32>, tensor<300x1xi64>, tensor<300x3xf32>) -> tensor<9x3xf32>
  return %r : tensor<9x3xf32>
})";
constexpr const char *kMap = R"(func.func @f(%x: tensor<3x200xf32>) -> tensor<200x3xf32> {
  %t = sinter.transpose %x {permutation = array<i64: 1, 0>} : (tensor<3x200xf32>) -> tensor<200x3xf32>
  %r = sinter.neg %t : (tensor<200x3xf32>) -> tensor<200x3xf32>
  return %r : tensor<200x3xf32>
})";
/// Six tiles of a block each, of which four are not whole.
constexpr const char *kTurned = R"(func.func @f(%x: tensor<40x70xf32>) -> tensor<70x40xf32> {
  %r = sinter.kernel map(%x) {schedule = #sinter.schedule<block_transpose, lanes = 256>} : (tensor<40x70xf32>) -> tensor<70x40xf32> {
  ^bb0(%a: tensor<40x70xf32>):
    %t = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<40x70xf32>) -> tensor<70x40xf32>
    sinter.yield(%t) : tensor<70x40xf32>
  }
  return %r : tensor<70x40xf32>
})";
/// Columns of a tile that is whole and of one that is not, in three parts.
constexpr const char *kColumns = R"(func.func @f(%x: tensor<201x40xf32>) -> tensor<40xf32> {
  %r = sinter.kernel reduce(%x) {schedule = #sinter.schedule<block_columns, lanes = 256, tile = [3]>} : (tensor<201x40xf32>) -> tensor<40xf32> {
  ^bb0(%a: tensor<201x40xf32>):
    %s = sinter.reduce add %a axes = [0] : (tensor<201x40xf32>) -> tensor<40xf32>
    sinter.yield(%s) : tensor<40xf32>
  }
  return %r : tensor<40xf32>
})";
/// Two rounds of a block, and some elements of a third.
constexpr const char *kRunning = R"(func.func @f(%x: tensor<2x603xi32>) -> tensor<2x603xi32> {
  %r = sinter.kernel single(%x) {schedule = #sinter.schedule<block_running, lanes = 64>} : (tensor<2x603xi32>) -> tensor<2x603xi32> {
  ^bb0(%a: tensor<2x603xi32>):
    %s = sinter.cumulative add %a {axis = 1 : i64} : (tensor<2x603xi32>) -> tensor<2x603xi32>
    sinter.yield(%s) : tensor<2x603xi32>
  }
  return %r : tensor<2x603xi32>
})";
constexpr const char *kGather = R"(func.func @f(%x: tensor<20x17xf32>, %i: tensor<7xi64>) -> tensor<7x17xf32> {
  %r = sinter.gather %x, %i {axis = 0 : i64} : (tensor<20x17xf32>, tensor<7xi64>) -> tensor<7x17xf32>
  return %r : tensor<7x17xf32>
})";
constexpr const char *kProduct = R"(func.func @f(%x: tensor<70x40x$>, %y: tensor<40x72x$>) -> tensor<70x72x$> {
  %r = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = $} : (tensor<70x40x$>, tensor<40x72x$>) -> tensor<70x72x$>
  return %r : tensor<70x72x$>
})";

/// Kernels of both parts, by tiles that take several slabs.
constexpr const char *kAttention =
    R"(func.func @f(%q: tensor<1x40x64xf16>, %k: tensor<1x70x64xf16>) -> tensor<1x40x64xf16> {
  %r = sinter.kernel attention(%q, %k) {schedule = #sinter.schedule<mma_attention, lanes = 64, tile = [32, 32, 16]>} : (tensor<1x40x64xf16>, tensor<1x70x64xf16>) -> tensor<1x40x64xf16> {
  ^bb0(%a: tensor<1x40x64xf16>, %b: tensor<1x70x64xf16>):
    %y = sinter.attention %a, %b, %b {scale = 0.25 : f64, after = 40 : i64} : (tensor<1x40x64xf16>, tensor<1x70x64xf16>, tensor<1x70x64xf16>) -> tensor<1x40x64xf16>
    sinter.yield(%y) : tensor<1x40x64xf16>
  }
  return %r : tensor<1x40x64xf16>
})";
/// A step of decoding: two heads of queries share the keys, which are two parts.
constexpr const char *kDecode =
    R"(func.func @f(%q: tensor<2x1x64xf16>, %k: tensor<1x70x64xf16>) -> tensor<2x1x64xf16> {
  %r = sinter.kernel attention(%q, %k) {schedule = #sinter.schedule<mma_attention, lanes = 32, tile = [16, 32, 16, 2]>} : (tensor<2x1x64xf16>, tensor<1x70x64xf16>) -> tensor<2x1x64xf16> {
  ^bb0(%a: tensor<2x1x64xf16>, %b: tensor<1x70x64xf16>):
    %y = sinter.attention %a, %b, %b {scale = 0.25 : f64} : (tensor<2x1x64xf16>, tensor<1x70x64xf16>, tensor<1x70x64xf16>) -> tensor<2x1x64xf16>
    sinter.yield(%y) : tensor<2x1x64xf16>
  }
  return %r : tensor<2x1x64xf16>
})";
/// Two slabs of keys by wgmma.
constexpr const char *kWide =
    R"(func.func @f(%q: tensor<1x70x64xf16>, %k: tensor<1x150x64xf16>) -> tensor<1x70x64xf16> {
  %r = sinter.kernel attention(%q, %k) {schedule = #sinter.schedule<wgmma_attention, lanes = 256, tile = [64, 64, 64]>} : (tensor<1x70x64xf16>, tensor<1x150x64xf16>) -> tensor<1x70x64xf16> {
  ^bb0(%a: tensor<1x70x64xf16>, %b: tensor<1x150x64xf16>):
    %y = sinter.attention %a, %b, %b {scale = 0.25 : f64} : (tensor<1x70x64xf16>, tensor<1x150x64xf16>, tensor<1x150x64xf16>) -> tensor<1x70x64xf16>
    sinter.yield(%y) : tensor<1x70x64xf16>
  }
  return %r : tensor<1x70x64xf16>
})";
/// The same of rows and keys that only running tells.
const std::string kOpen = std::regex_replace(kWide, std::regex("x(70|150)x"), "x?x");
/// Pixels that a warpgroup copies for another, more slabs than there are at once.
constexpr const char *kPixels =
    R"(func.func @f(%x: tensor<2x7x7x24xf16>, %w: tensor<40x3x3x24xf16>) -> tensor<2x7x7x40xf16> {
  %r = sinter.kernel convolution(%x, %w) {schedule = #sinter.schedule<wgmma_product, lanes = 256, tile = [64, 64, 64, 64, 64, 3, 1]>} : (tensor<2x7x7x24xf16>, tensor<40x3x3x24xf16>) -> tensor<2x7x7x40xf16> {
  ^bb0(%a: tensor<2x7x7x24xf16>, %b: tensor<40x3x3x24xf16>):
    %y = sinter.convolution %a, %b {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f16} : (tensor<2x7x7x24xf16>, tensor<40x3x3x24xf16>) -> tensor<2x7x7x40xf16>
    sinter.yield(%y) : tensor<2x7x7x40xf16>
  }
  return %r : tensor<2x7x7x40xf16>
})";
/// Keys are rows of a cache by their numbers, of a size that only running tells: there is one way to bring them.
constexpr const char *kPaged =
    R"(func.func @f(%q: tensor<1x1x64xf16>, %c: tensor<1x?x64xf16>, %t: tensor<20xi64>) -> tensor<1x1x64xf16> {
  %r = sinter.kernel attention(%q, %c, %t) {schedule = #sinter.schedule<mma_attention, lanes = 32, tile = [16, 16, 16]>} : (tensor<1x1x64xf16>, tensor<1x?x64xf16>, tensor<20xi64>) -> tensor<1x1x64xf16> {
  ^bb0(%a: tensor<1x1x64xf16>, %b: tensor<1x?x64xf16>, %p: tensor<20xi64>):
    %k = sinter.gather %b, %p {axis = 1 : i64} : (tensor<1x?x64xf16>, tensor<20xi64>) -> tensor<1x20x64xf16>
    %y = sinter.attention %a, %k, %k {scale = 0.25 : f64} : (tensor<1x1x64xf16>, tensor<1x20x64xf16>, tensor<1x20x64xf16>) -> tensor<1x1x64xf16>
    sinter.yield(%y) : tensor<1x1x64xf16>
  }
  return %r : tensor<1x1x64xf16>
})";
constexpr const char *kBackward =
    R"(func.func @f(%q: tensor<1x40x32xf16>, %k: tensor<1x50x32xf16>, %g: tensor<1x40x32xf16>, %s: tensor<1x40xf32>) -> tensor<1x50x32xf16> {
  %y:2 = sinter.kernel attention(%q, %k) : (tensor<1x40x32xf16>, tensor<1x50x32xf16>) -> (tensor<1x40x32xf16>, tensor<1x40xf32>) {
  ^bb0(%a: tensor<1x40x32xf16>, %b: tensor<1x50x32xf16>):
    %o:2 = sinter.attention %a, %b, %b {scale = 0.25 : f64, log_sums = true} : (tensor<1x40x32xf16>, tensor<1x50x32xf16>, tensor<1x50x32xf16>) -> (tensor<1x40x32xf16>, tensor<1x40xf32>)
    sinter.yield(%o#0, %o#1) : tensor<1x40x32xf16>, tensor<1x40xf32>
  }
  %r = sinter.kernel attention(%q, %k, %g, %y#1, %s) {schedule = #sinter.schedule<mma_attention_gradient, lanes = 64, tile = [32, 16, 16]>} : (tensor<1x40x32xf16>, tensor<1x50x32xf16>, tensor<1x40x32xf16>, tensor<1x40xf32>, tensor<1x40xf32>) -> tensor<1x50x32xf16> {
  ^bb0(%a: tensor<1x40x32xf16>, %b: tensor<1x50x32xf16>, %c: tensor<1x40x32xf16>, %d: tensor<1x40xf32>, %e: tensor<1x40xf32>):
    %o:3 = sinter.attention_gradient %a, %b, %b, %c, %d, %e {scale = 0.25 : f64} : (tensor<1x40x32xf16>, tensor<1x50x32xf16>, tensor<1x50x32xf16>, tensor<1x40x32xf16>, tensor<1x40xf32>, tensor<1x40xf32>) -> (tensor<1x40x32xf16>, tensor<1x50x32xf16>, tensor<1x50x32xf16>)
    sinter.yield(%o#1) : tensor<1x50x32xf16>
  }
  return %r : tensor<1x50x32xf16>
})";
/// The same by wgmma: keys of two blocks, two slabs of rows, of which the last has six.
constexpr const char *kWideBackward =
    R"(func.func @f(%q: tensor<1x70x64xf16>, %k: tensor<1x80x64xf16>, %g: tensor<1x70x64xf16>, %s: tensor<1x70xf32>) -> (tensor<1x70x64xf16>, tensor<1x80x64xf16>, tensor<1x80x64xf16>) {
  %y:2 = sinter.kernel attention(%q, %k) : (tensor<1x70x64xf16>, tensor<1x80x64xf16>) -> (tensor<1x70x64xf16>, tensor<1x70xf32>) {
  ^bb0(%a: tensor<1x70x64xf16>, %b: tensor<1x80x64xf16>):
    %o:2 = sinter.attention %a, %b, %b {scale = 0.25 : f64, log_sums = true} : (tensor<1x70x64xf16>, tensor<1x80x64xf16>, tensor<1x80x64xf16>) -> (tensor<1x70x64xf16>, tensor<1x70xf32>)
    sinter.yield(%o#0, %o#1) : tensor<1x70x64xf16>, tensor<1x70xf32>
  }
  %r:3 = sinter.kernel attention(%q, %k, %g, %y#1, %s) {schedule = #sinter.schedule<wgmma_attention_gradient, lanes = 256, tile = [64, 64, 64]>} : (tensor<1x70x64xf16>, tensor<1x80x64xf16>, tensor<1x70x64xf16>, tensor<1x70xf32>, tensor<1x70xf32>) -> (tensor<1x70x64xf16>, tensor<1x80x64xf16>, tensor<1x80x64xf16>) {
  ^bb0(%a: tensor<1x70x64xf16>, %b: tensor<1x80x64xf16>, %c: tensor<1x70x64xf16>, %d: tensor<1x70xf32>, %e: tensor<1x70xf32>):
    %o:3 = sinter.attention_gradient %a, %b, %b, %c, %d, %e {scale = 0.25 : f64} : (tensor<1x70x64xf16>, tensor<1x80x64xf16>, tensor<1x80x64xf16>, tensor<1x70x64xf16>, tensor<1x70xf32>, tensor<1x70xf32>) -> (tensor<1x70x64xf16>, tensor<1x80x64xf16>, tensor<1x80x64xf16>)
    sinter.yield(%o#0, %o#1, %o#2) : tensor<1x70x64xf16>, tensor<1x80x64xf16>, tensor<1x80x64xf16>
  }
  return %r#0, %r#1, %r#2 : tensor<1x70x64xf16>, tensor<1x80x64xf16>, tensor<1x80x64xf16>
})";

struct Program {
  const char *name, *text;
  std::vector<test::Feed> feeds;
  bool isGraph = true;
};

/// Small ones, so that shares of a row are alike.
const std::vector<double> kSmall = {0.5, -0.25, 0.125, 0, -0.5, 0.375, 0.25, -0.125, 0.0625, -0.375, 0.4375};

std::string productOf(const char *type) { return std::regex_replace(kProduct, std::regex("\\$"), type); }
const std::string kProductF32 = productOf("f32"), kProductF16 = productOf("f16");

const Program kPrograms[] = {
    {"sum", kSum, {{{3, 201}, {}}}},
    {"softmax", kSoftmax, {{{3, 201}, {}}}},
    {"order", kOrder, {{{2, 150}, {}}}, false},
    {"clusters", kClusters, {{{3, 201}, {}}}, false},
    {"scatter", kScatter, {{{9, 3}, {}}, {{300, 1}, {3, 8, 0, -1, 3, 12, 5, 3, -9, 2, 7}}, {{300, 3}, kSmall}}},
    {"map", kMap, {{{3, 200}, {}}}},
    {"turned", kTurned, {{{40, 70}, {}}}, false},
    {"columns", kColumns, {{{201, 40}, {}}}, false},
    {"running", kRunning, {{{2, 603}, {3, -1, 4, -1, 5, -9, 2, -6}}}, false},
    {"gather", kGather, {{{20, 17}, {}}, {{7}, {0, 3, -1, 19, 2, 1, -20}}}},
    {"tile", kProductF32.c_str(), {{{70, 40}, {}}, {{40, 72}, {}}}},
    {"mma", kProductF16.c_str(), {{{70, 40}, {}}, {{40, 72}, {}}}},
    {"attention", kAttention, {{{1, 40, 64}, kSmall}, {{1, 70, 64}, kSmall}}, false},
    {"decode", kDecode, {{{2, 1, 64}, kSmall}, {{1, 70, 64}, kSmall}}, false},
    {"wide", kWide, {{{1, 70, 64}, kSmall}, {{1, 150, 64}, kSmall}}, false},
    {"open", kOpen.c_str(), {{{1, 70, 64}, kSmall}, {{1, 150, 64}, kSmall}}, false},
    {"pixels", kPixels, {{{2, 7, 7, 24}, kSmall}, {{40, 3, 3, 24}, kSmall}}, false},
    {"paged",
     kPaged,
     {{{1, 1, 64}, kSmall}, {{1, 30, 64}, kSmall}, {{20}, {3, -1, 7,  7,  29, 0,  12, -30, 5,  18,
                                                           1, 2,  -2, -3, 28, -4, 11, 13,  14, 15}}},
     false},
    {"backward",
     kBackward,
     {{{1, 40, 32}, kSmall}, {{1, 50, 32}, kSmall}, {{1, 40, 32}, kSmall}, {{1, 40}, kSmall}},
     false},
    {"wide_backward",
     kWideBackward,
     {{{1, 70, 64}, kSmall}, {{1, 80, 64}, kSmall}, {{1, 70, 64}, kSmall}, {{1, 70}, kSmall}, {{1, 70}, kSmall}},
     false}};

/// A mistake: the line that fits `pattern`, the first one or the last, becomes `by`.
struct Mutant {
  const char *what, *program, *pattern, *by;
  bool last = false;
};

const Mutant kMutants[] = {
    {"no barrier before totals are read", "sum", R"(\tbar\.sync.*)", "", true},
    {"another lane of a shuffle", "sum", R"((\tshfl\.sync\.bfly\.b32.*), 16, 31, -1;)", "$1, 8, 31, -1;"},
    {"lanes missing in a shuffle's mask", "sum", R"((\tshfl\.sync\.bfly\.b32.*), -1;)", "$1, 1;"},
    {"a column past the row", "sum", R"((\tsetp\.lt\.u64.*), 137;)", "$1, 138;"},
    {"a column too few", "sum", R"((\tsetp\.lt\.u64.*), 137;)", "$1, 136;"},
    {"a result stored by each thread", "sum", R"((\tsetp\.ne\.b32.*), 0;)", "$1, 100000;", true},
    {"no total in shared memory", "sum", R"(\tst\.shared\.b32.*)", ""},
    {"a difference for a sum", "sum", R"(\tadd\.rn\.f32(.*))", "\tsub.rn.f32$1", true},
    {"no sum in shared memory", "softmax", R"(\tst\.shared\.b32.*)", "", true},
    {"no barrier before sums are read", "softmax", R"(\tbar\.sync.*)", "", true},
    {"no row stored", "softmax", R"(\tst\.global\.b32.*)", "", true},
    {"a row divided from the next column", "softmax", R"((\tld\.global\.b32.*\[%rd[0-9]+)(\];))", "$1+4$2", true},
    {"no barrier before the next row", "order", R"(\tbar\.sync.*)", "", true},
    {"a record without its key", "order", R"(\tst\.global\.b32.*\+4\].*)", ""},
    {"counts that begin anyhow", "order", R"(\tst\.shared\.b32.*)", ""},
    {"a digit of three bits", "order", R"((\tand\.b64.*), 7680;)", "$1, 3584;"},
    {"a group too few", "order", R"((\tand\.b64.*), 8188;)", "$1, 4092;"},
    {"counts that nobody waits for", "order", R"(\tatom\.shared(.*)add\.u32 .*, (\[.*\]), 1;)",
     "\tst.shared.b32 $2, 1;"},
    {"values that nobody waits for", "clusters", R"(\tbarrier\.cluster\.wait\.aligned;)", "", true},
    {"blocks that are not waited for", "clusters", R"(\tbarrier\.cluster\.wait\.aligned;)", ""},
    {"a barrier that says nothing of values", "clusters", R"(\tbarrier\.cluster\.arrive\.aligned;)",
     "\tbarrier.cluster.arrive.relaxed.aligned;", true},
    {"a block that ends before the last value", "clusters", R"(\tbarrier\.cluster\.arrive\.aligned;)", "\texit;", true},
    {"all values sent to one block", "clusters", R"((\tmapa\.shared::cluster.*), %r[0-9]+;)", "$1, 1;", true},
    {"values sent to the block itself", "clusters", R"(\tmapa\.shared::cluster\.u64 \t(.*), (.*), .*;)",
     "\tmov.b64 \t$1, $2;"},
    {"the place of another block", "clusters", R"((\tst\.shared::cluster.*)(\],.*))", "$1+4$2", true},
    {"another block's value twice", "clusters", R"((\tld\.shared\.v2\.b32.*)(\+8\];))", "$1];", true},
    {"columns of another block", "clusters", R"((\tmul\.wide\.u32.*), 64;)", "$1, 63;"},
    {"another cluster's row", "clusters", R"((\tmov\.u32.*)%clusterid\.x;)", "$1%ctaid.x;"},
    {"no barrier before records are sorted", "scatter", R"(\tbar\.sync.*)", ""},
    {"records that end unsorted", "scatter", R"(\tbar\.sync.*)", "\tret;", true},
    {"no sum of a place", "scatter", R"(\tst\.global\.b32.*)", "", true},
    {"each update a place's first", "scatter", R"((\tsetp\.eq\.b64.*), (%rd[0-9]+), (%rd[0-9]+);)", "$1, $2, -1;"},
    {"a place too few", "scatter", R"((\tsetp\.gt\.u64.*), 38654705663;)", "$1, 34359738367;"},
    {"twice the stride", "map", R"((\tshl\.b64.*), 2;)", "$1, 3;"},
    {"half the stride", "map", R"((\tshl\.b64.*), 2;)", "$1, 1;"},
    {"no element stored", "map", R"(\tst\.global\.b32.*)", ""},
    {"the neighbour's element", "map", R"((\tld\.global\.b32.*\[%rd[0-9]+)(\];))", "$1+4$2"},
    {"a row that is one element longer", "map", R"((\tmad\.lo\.s64.*), 800,(.*))", "$1, 804,$2"},
    {"no barrier before a tile is read", "turned", R"(\tbar\.sync.*)", "", true},
    {"an element that is not in the tile", "turned", R"(\tst\.shared\.b32.*)", "", true},
    {"a row of a tile that is not written", "turned", R"(\tst\.global\.b32.*)", "", true},
    {"a row past the tile's", "turned", R"((\tld\.shared\.b32.*\[%rd[0-9]+)(\];))", "$1+4$2"},
    {"no barrier before shares are joined", "columns", R"(\tbar\.sync.*)", "", true},
    {"a share too few", "columns", R"((\tld\.shared\.b32.*\+)896(\];))", "$01768$2"},
    {"a result that is not there", "columns", R"((\tsetp\.gt\.s64.*), 39;)", "$1, 40;"},
    {"no barrier before warps' totals are read", "running", R"(\tbar\.sync.*)", "", true},
    {"another lane of a scan", "running", R"((\tadd\.s32.*), -16;)", "$1, -8;"},
    {"an element past the row", "running", R"((\tsetp\.gt\.u64.*), 602;)", "$1, 603;", true},
    {"a negative position that stays", "gather", R"((\tsetp\.lt\.s64.*), 0;)", "$1, -100;"},
    {"position 0 from the end", "gather", R"((\tsetp\.lt\.s64.*), 0;)", "$1, 1;"},
    {"a tile that is not waited for", "tile", R"((\tcp\.async\.wait_group.*)0;)", "$1 1;", true},
    {"no barrier around a tile", "tile", R"(\tbar\.sync.*)", "", true},
    {"a row past the matrix", "tile", R"((\tsetp\.lt\.s64.*), 70;)", "$1, 71;", true},
    {"rows of a tile too far apart", "tile", R"((\tcp\.async\.cg.*\+)1280(\].*))", "$011296$2"},
    {"a matrix that is not transposed", "mma", R"((\tldmatrix.*)\.trans(.*))", "$1$2"},
    {"fragments in another order", "mma", R"((\tldmatrix.*\{)(%r[0-9]+), (%r[0-9]+)(,.*))", "$1$3, $2$4"},
    {"a group of copies too many under way", "mma", R"((\tcp\.async\.wait_group.*)1;)", "$1 2;"},
    {"keys that are not waited for", "attention", R"((\tcp\.async\.wait_group.*)0;)", "$1 1;"},
    {"no barrier before a slab is read", "attention", R"(\tbar\.sync.*)", "", true},
    {"the total of another row", "attention", R"((\tshfl\.sync\.bfly\.b32.*), 2, 31, -1;)", "$1, 4, 31, -1;", true},
    {"shares in another order", "attention", R"((\tcvt\.rn\.f16x2\.f32.*), (%r[0-9]+), (%r[0-9]+);)", "$1, $3, $2;"},
    {"a key past the last", "attention", R"((\tsetp\.lt\.u64.*), 70;)", "$1, 71;"},
    {"values that are not turned", "attention", R"((\tldmatrix.*)\.trans(.*))", "$1$2"},
    {"the total of another part", "decode", R"((\tld\.global\.b32.*\+)1044(\];))", "$011028$2"},
    {"one part twice", "decode", R"((\tld\.global\.b32.*)\+512(\];))", "$1$2"},
    {"a part that leaves no maximum", "decode", R"(\tst\.global\.b32.*\+1024\].*)", ""},
    {"a row past those that share keys", "decode", R"((\tsetp\.lt\.u64.*), 2;)", "$1, 3;"},
    {"no fence before products", "wide", R"(wgmma\.fence\.sync\.aligned;)", "", true},
    {"shares that are not waited for", "wide", R"(\t?wgmma\.wait_group\.sync\.aligned 0;)", "", true},
    {"values in the other direction", "wide", R"((wgmma\.mma_async.*\}, b, 1, 1, 1, )1;)", "$010;"},
    {"shares in another order", "wide", R"((wgmma\.mma_async.*\}, \{)(%r[0-9]+), (%r[0-9]+)(,.*))", "$1$3, $2$4"},
    {"bytes that do not come", "wide", R"((\tmbarrier\.arrive\.expect_tx.*|mbarrier\.arrive\.expect_tx.*))", ""},
    {"keys of another size", "open", R"((map 1 f16 64,1\*)w[0-9]+(,.*))", "$1w3$2"},
    {"keys that are no longer there", "open", R"((map 1 f16 64,)1(\*.*))", "$012$2", true},
    {"a key past the last", "open", R"((\tsetp\.gt\.s64.*), 24;)", "$1, 16;", true},
    {"a slab too few", "open", R"((\tadd\.s64.*), 64;)", "$1, 128;", true},
    {"no fence behind copies", "pixels", R"(\tfence\.proxy\.async\.shared::cta;)", ""},
    {"copies that are not waited for", "pixels", R"((\tcp\.async\.wait_group.*)1;)", "$1 2;", true},
    {"copies of the end that are not waited for", "pixels", R"((\tcp\.async\.wait_group.*)0;)", "$1 1;", true},
    {"padding that is read", "pixels", R"((\tcp\.async\.cg.*), 16, %r[0-9]+;)", "$1, 16;", true},
    {"an arrival too few", "pixels", R"((\tmov\.b32.*), 5;)", "$1, 4;", true},
    {"pixels of another row", "pixels", R"((\tcp\.async\.cg.*\+)2048(\].*))", "$013072$2", true},
    {"positions behind the first", "paged", R"((\tmax\.s64.*), 0;)", "$1, 15;", true},
    {"a negative position that stays", "paged", R"(\tbfe\.s64 \t(%rd[0-9]+), .*, 31, 1;)", "\tmov.b64 \t$1, 0;"},
    {"no barrier before rows are read", "backward", R"(\tbar\.sync.*)", "", true},
    {"no fence before products", "wide_backward", R"(\t?wgmma\.fence\.sync\.aligned;)", "", true},
    {"sums that are not waited for", "wide_backward", R"(\t?wgmma\.wait_group\.sync\.aligned 0;)", "", true},
    {"slopes that are not waited for", "wide_backward", R"(\t?wgmma\.wait_group\.sync\.aligned 0;)", ""},
    {"rows in the other direction", "wide_backward", R"((wgmma\.mma_async.*\}, b, 1, 1, 1, )1;)", "$010;"},
    {"keys in the other direction", "wide_backward", R"((wgmma\.mma_async.*\}, b, 1, 1, 1, )1;)", "$010;", true},
    {"shares in another order", "wide_backward", R"((wgmma\.mma_async.*\}, \{)(%r[0-9]+), (%r[0-9]+)(,.*))",
     "$1$3, $2$4"},
    {"a slab that nobody gives back", "wide_backward", R"(@here mbarrier\.arrive\.shared::cta\.b64 _, .*)", "", true},
    {"no sum of logarithms in shared memory", "wide_backward", R"(\tst\.shared\.b32.*)", ""},
    {"sums of rows before they are there", "wide_backward", R"((\tmov\.b32.*), 2;)", "$1, 1;"},
    {"keys of the next box", "wide_backward", R"((map 1 f16 .*) 64,64,1)", "$1 64,56,1"},
    {"slopes in another order", "backward", R"((\tcvt\.rn\.f16x2\.f32.*), (%r[0-9]+), (%r[0-9]+);)", "$1, $3, $2;",
     true},
};

std::string nameOf(std::string text) {
  for (char &c : text)
    c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text;
}

/// The code with the mistake in it; empty where no line fits.
std::string mutate(const std::string &code, const Mutant &mutant) {
  std::regex pattern(mutant.pattern);
  std::vector<std::string> lines;
  std::istringstream in(code);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  std::string *chosen = nullptr;
  for (std::string &line : lines)
    if ((mutant.last || !chosen) && std::regex_match(line, pattern))
      chosen = &line;
  if (!chosen)
    return "";
  *chosen = std::regex_replace(*chosen, pattern, mutant.by);
  std::string all;
  for (const std::string &line : lines)
    all += line + "\n";
  return all;
}

/// What is wrong with a run; empty for nothing.
std::string run(const Program &program, const std::function<void(std::string &)> &edit) {
  cuda::editCode(edit);
  test::Program compiled(program.text, 2, 1, program.isGraph);
  cuda::editCode(nullptr);
  if (!compiled.error.empty())
    return compiled.error;
  std::vector<HostTensor> inputs = test::inputsOf(compiled, program.feeds);
  auto expected = compiled.evaluate(inputs);
  auto actual = compiled.run(inputs);
  if (!actual)
    return compiled.error + " " + cuda::report();
  if (std::string told = cuda::report(); !told.empty())
    return told;
  for (auto [want, have] : llvm::zip(*expected, *actual)) {
    std::vector<double> wanted = want.toFloats(), got = have.toFloats();
    for (size_t k = 0; k < wanted.size(); ++k)
      if (!(std::abs(got[k] - wanted[k]) <= 2e-3 * std::max(1.0, std::abs(wanted[k]))))
        return "element " + std::to_string(k) + " is " + std::to_string(got[k]) + ", not " + std::to_string(wanted[k]);
  }
  return "";
}

class Mutants : public testing::TestWithParam<Mutant> {
protected:
  void TearDown() override { // what the machine told was asked for
    cuda::Compiled none;
    std::string error;
    if (cuda::compileText(kMap, none, error))
      std::remove(none.path.c_str());
  }
};
} // namespace

TEST(MutantsTest, WithoutAMistakeNothingIsTold) {
  for (const Program &program : kPrograms)
    EXPECT_EQ(run(program, nullptr), "") << program.name;
}

TEST_P(Mutants, IsCaught) {
  const Mutant &mutant = GetParam();
  const Program &program =
      *llvm::find_if(kPrograms, [&](const Program &each) { return std::string(each.name) == mutant.program; });
  bool isMade = false;
  std::string told = run(program, [&](std::string &code) {
    std::string changed = mutate(code, mutant);
    isMade = !changed.empty();
    if (isMade)
      code = changed;
  });
  EXPECT_TRUE(isMade) << "no line fits " << mutant.pattern << " in\n" << cuda::lastCode();
  EXPECT_NE(told, "") << cuda::lastCode();
  RecordProperty("told", told);
}

INSTANTIATE_TEST_SUITE_P(Cuda, Mutants, testing::ValuesIn(kMutants), [](const auto &info) {
  return std::string(info.param.program) + "_" + nameOf(info.param.what);
});
