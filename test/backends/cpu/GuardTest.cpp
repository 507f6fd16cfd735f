// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels touch nothing but their buffers: every input, every output and the session's memory lies beside pages that
// no one may touch, once flush with the page behind it, once with the page before it. An access outside of them ends
// the test program.

#include "runtime/sinter.h"
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

/// Memory between two pages that may not be touched.
class Guarded {
public:
  /// `atEnd`: flush with the page behind, up to `alignment`; else with the page before.
  Guarded(size_t bytes, size_t alignment, bool atEnd) {
    auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t inside = (bytes + page - 1) / page * page, room = (bytes + alignment - 1) / alignment * alignment;
    size = inside + 2 * page;
    void *mapped = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED || alignment > page)
      return;
    start = static_cast<char *>(mapped);
    if (mprotect(start + page, inside, PROT_READ | PROT_WRITE) == 0)
      data = start + page + (atEnd ? inside - room : 0);
  }
  ~Guarded() {
    if (start)
      munmap(start, size);
  }
  Guarded(const Guarded &) = delete;

  char *data = nullptr;

private:
  char *start = nullptr;
  size_t size = 0;
};

/// Gives a session guarded memory.
struct Hook {
  bool atEnd;
  std::vector<std::unique_ptr<Guarded>> held;

  static void *allocate(void *user, size_t bytes, size_t alignment) {
    auto *hook = static_cast<Hook *>(user);
    hook->held.push_back(std::make_unique<Guarded>(bytes, alignment, hook->atEnd));
    return hook->held.back()->data;
  }
  static void release(void *, void *, size_t) {} // with the hook
};

/// A value from -3 to 3, as an element of the type, at most 4 bytes of float or 1 of integer.
void put(char *to, const std::string &type, size_t i) {
  int value = static_cast<int>(i * 2654435761u >> 7 & 0xffff) % 7 - 3;
  auto number = static_cast<float>(value);
  static const uint16_t halves[] = {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200}; // -3 to 3 in f16
  double wide = number;
  if (type == "f64")
    std::memcpy(to, &wide, 8);
  else if (type == "f32")
    std::memcpy(to, &number, 4);
  else if (type == "bf16")
    std::memcpy(to, reinterpret_cast<const char *>(&number) + 2, 2);
  else if (type == "f16")
    std::memcpy(to, &halves[value + 3], 2);
  else
    *to = static_cast<char>(value);
}

/// Compiles `text` for each level that this machine runs, and calls it. `check` sees the inputs as they were given.
void run(const std::string &text, const std::string &type, const std::function<double(size_t)> &expected = nullptr) {
  std::string path = testing::TempDir() + "/guard-" + std::to_string(getpid()) + ".mlir";
  std::ofstream(path) << text;
  sinter_graph *graph = nullptr;
  ASSERT_EQ(sinter_graph_load(path.c_str(), &graph), SINTER_OK) << sinter_last_error();
  unlink(path.c_str());
  for (const char *target : {"x86-64-v2", "x86-64-v3", "x86-64-v4", static_cast<const char *>(nullptr)}) {
    sinter_compile_options options = {};
    options.struct_size = sizeof options;
    options.target = target;
    options.threads = 1;
    sinter_module *module = nullptr;
    int32_t code = sinter_graph_compile(graph, &options, &module);
    if (target && code == SINTER_UNSUPPORTED)
      continue; // another machine's code
    ASSERT_EQ(code, SINTER_OK) << sinter_last_error();
    for (bool atEnd : {true, false}) {
      Hook hook{atEnd, {}};
      sinter_session_options sessionOptions = {};
      sessionOptions.struct_size = sizeof sessionOptions;
      sessionOptions.threads = 1;
      sessionOptions.allocator = {Hook::allocate, Hook::release, &hook};
      sinter_session *session = nullptr;
      ASSERT_EQ(sinter_session_create(module, 0, &sessionOptions, &session), SINTER_OK) << sinter_last_error();
      const sinter_function *function = sinter_session_function(session);
      auto bind = [&](const auto &info) {
        sinter_tensor tensor = {};
        tensor.dtype = info.dtype;
        tensor.rank = info.rank;
        size_t count = 1;
        for (int32_t k = 0; k < info.rank; ++k)
          count *= static_cast<size_t>(tensor.dims[k] = info.dims[k]);
        auto width = static_cast<size_t>(sinter_dtype_bytes(info.dtype));
        hook.held.push_back(std::make_unique<Guarded>(count * width, 64, atEnd));
        tensor.data = hook.held.back()->data;
        return std::make_tuple(tensor, count, width);
      };
      for (int32_t i = 0; i < function->num_inputs; ++i) {
        auto [tensor, count, width] = bind(function->inputs[i]);
        for (size_t n = 0; n < count; ++n)
          put(static_cast<char *>(tensor.data) + n * width, type, n + i);
        ASSERT_EQ(sinter_session_set_input(session, i, &tensor), SINTER_OK) << sinter_last_error();
      }
      auto [result, count, width] = bind(function->outputs[0]);
      ASSERT_EQ(sinter_session_set_output(session, 0, &result), SINTER_OK) << sinter_last_error();
      ASSERT_EQ(sinter_session_run(session), SINTER_OK) << sinter_last_error();
      for (size_t n = 0; expected && n < count; n += 97) {
        float value;
        std::memcpy(&value, static_cast<char *>(result.data) + n * 4, 4);
        ASSERT_EQ(value, expected(n)) << (target ? target : "native") << " element " << n;
      }
      sinter_session_destroy(session);
    }
    sinter_module_close(module);
  }
  sinter_graph_destroy(graph);
}

/// The value that `put` writes.
double valueAt(size_t i) { return static_cast<int>(i * 2654435761u >> 7 & 0xffff) % 7 - 3; }

void product(const std::string &type, size_t m, size_t k, size_t n, bool transposed = false) {
  SCOPED_TRACE(type + " " + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n));
  auto tensor = [](size_t a, size_t b, const std::string &element) {
    return "tensor<" + std::to_string(a) + "x" + std::to_string(b) + "x" + element + ">";
  };
  std::string sum = type == "f64" ? "f64" : type == "i8" ? "i32" : "f32";
  std::string x = tensor(m, k, type), w = transposed ? tensor(n, k, type) : tensor(k, n, type), y = tensor(m, n, sum);
  std::function<double(size_t)> expected;
  if (sum == "f32")
    expected = [=](size_t at) {
      double total = 0;
      for (size_t s = 0; s < k; ++s)
        total += valueAt(at / n * k + s) * valueAt((transposed ? at % n * k + s : s * n + at % n) + 1);
      return total;
    };
  run("func.func @main(%x: " + x + ", %w: " + w + ") -> " + y +
          " {\n  %y = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, "
          "lhs_contract = array<i64: 1>, rhs_contract = array<i64: " +
          (transposed ? "1" : "0") + ">, element_type = " + sum + "} : (" + x + ", " + w + ") -> " + y +
          "\n  return %y : " + y + "\n}\n",
      type, expected);
}

} // namespace

// Rows of lhs 4 KiB apart take tiles of few columns, and rows of rhs far apart are copied to strips of a tile's
// columns.
TEST(Guard, ProductsOfRowsThatConflict) {
  product("f32", 64, 1024, 128);
  product("f32", 64, 1024, 144);
  product("f32", 70, 1024, 136);
}

TEST(Guard, ProductsOfOtherShapes) {
  for (const char *type : {"f32", "bf16", "f16", "i8", "f64"})
    product(type, 66, 64, 160);
  product("f32", 80, 48, 150);
  product("f32", 5, 32, 33);
  product("bf16", 64, 2048, 128);
  product("f32", 64, 1024, 96, /*transposed=*/true);
}

TEST(Guard, Convolutions) {
  auto convolve = [](const std::string &type, const char *image, const char *filter, const char *result, int pad) {
    std::string sum = type == "i8" ? "i32" : "f32", x = "tensor<" + std::string(image) + "x" + type + ">",
                w = "tensor<" + std::string(filter) + "x" + type + ">",
                y = "tensor<" + std::string(result) + "x" + sum + ">";
    std::string pads = "array<i64: " + std::to_string(pad) + ", " + std::to_string(pad) + ">";
    run("func.func @main(%x: " + x + ", %w: " + w + ") -> " + y +
            " {\n  %y = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = " + pads + ", high = " + pads +
            ", input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, "
            "layout = #sinter<conv_layout channels_last>, element_type = " +
            sum + "} : (" + x + ", " + w + ") -> " + y + "\n  return %y : " + y + "\n}\n",
        type);
  };
  for (const char *type : {"f32", "bf16"}) {
    SCOPED_TRACE(type);
    convolve(type, "1x12x12x32", "40x3x3x32", "1x12x12x40", 1);
    convolve(type, "1x8x8x48", "64x1x1x48", "1x8x8x64", 0);
  }
  // Several rows of narrow images in one run of pixels, where tiles take them.
  run("func.func @main(%x: tensor<1x9x7x32xbf16>) -> tensor<1x7x5x32xf32> {\n"
      "  %w = sinter.constant dense<0.5> : tensor<32x3x3x32xbf16>\n"
      "  %y = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, "
      "input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout "
      "channels_last>, element_type = f32} : (tensor<1x9x7x32xbf16>, tensor<32x3x3x32xbf16>) -> tensor<1x7x5x32xf32>\n"
      "  return %y : tensor<1x7x5x32xf32>\n}\n",
      "bf16");
}

// Both parts of attention of 16 bits: rows that fill tiles, which are read where they lie, and rows that do not.
TEST(Guard, AttentionOfPairs) {
  for (auto [rows, depth] : {std::pair("64", "64"), std::pair("67", "40")})
    for (const char *heads : {"1", "8"}) {
      auto tensor = [&](const std::string &shape) { return "tensor<" + (heads + ("x" + shape)) + ">"; };
      std::string few = std::string(rows) + "x" + depth, q = tensor(few + "xbf16"),
                  k = tensor("1029x" + std::string(depth) + "xbf16"), sums = tensor(std::string(rows) + "xf32");
      SCOPED_TRACE(q);
      std::string band = "{scale = 0.1 : f64, after = 970 : i64", inputs = q + ", " + k + ", " + k;
      run("func.func @main(%q: " + q + ", %k: " + k + ") -> (" + q + ", " + q + ", " + k + ", " + k +
              ") {\n  %y:2 = sinter.attention %q, %k, %k " + band + ", log_sums = true} : (" + inputs + ") -> (" + q +
              ", " + sums + ")\n  %t:3 = sinter.attention_gradient %q, %k, %k, %q, %y#1, %y#1 " + band + "} : (" +
              inputs + ", " + q + ", " + sums + ", " + sums + ") -> (" + inputs +
              ")\n  return %y#0, %t#0, %t#1, %t#2 : " + q + ", " + inputs + "\n}\n",
          "bf16");
    }
}

TEST(Guard, Maps) {
  run("func.func @main(%x: tensor<37x48xf32>, %w: tensor<37x48xf32>) -> tensor<37x48xf32> {\n"
      "  %a = sinter.add %x, %w : (tensor<37x48xf32>, tensor<37x48xf32>) -> tensor<37x48xf32>\n"
      "  %y = sinter.mul %a, %w : (tensor<37x48xf32>, tensor<37x48xf32>) -> tensor<37x48xf32>\n"
      "  return %y : tensor<37x48xf32>\n}\n",
      "f32", [](size_t i) { return (valueAt(i) + valueAt(i + 1)) * valueAt(i + 1); });
}

/// One op of the inputs x and w, which have the shapes `x` and `w`.
static void one(const std::string &op, const std::string &x, const std::string &w, const std::string &y,
                const std::function<double(size_t)> &expected = nullptr) {
  SCOPED_TRACE(op);
  auto tensor = [](const std::string &shape) { return "tensor<" + shape + "xf32>"; };
  std::string types = op.find("%w") == op.npos ? tensor(x) : tensor(x) + ", " + tensor(w);
  if (op.find("attention") != op.npos)
    types += ", " + tensor(w);
  run("func.func @main(%x: " + tensor(x) + ", %w: " + tensor(w) + ") -> " + tensor(y) + " {\n  %y = sinter." + op +
          " : (" + types + ") -> " + tensor(y) + "\n  return %y : " + tensor(y) + "\n}\n",
      "f32", expected);
}

TEST(Guard, OtherKernels) {
  one("reduce add %x axes = [1]", "37x48", "1", "37", [](size_t i) {
    double total = 0;
    for (size_t k = 0; k < 48; ++k)
      total += valueAt(i * 48 + k);
    return total;
  });
  one("reduce add %x axes = [0]", "37x48", "1", "48", [](size_t i) {
    double total = 0;
    for (size_t k = 0; k < 37; ++k)
      total += valueAt(k * 48 + i);
    return total;
  });
  one("transpose %x {permutation = array<i64: 1, 0>}", "37x48", "1", "48x37",
      [](size_t i) { return valueAt(i % 37 * 48 + i / 37); });
  one("concatenate %x, %w {axis = 1}", "16x33", "16x15", "16x48",
      [](size_t i) { return i % 48 < 33 ? valueAt(i / 48 * 33 + i % 48) : valueAt(i / 48 * 15 + i % 48 - 33 + 1); });
  one("slice %x {starts = array<i64: 1, 2>, limits = array<i64: 37, 48>, steps = array<i64: 3, 1>}", "37x48", "1",
      "12x46", [](size_t i) { return valueAt((1 + i / 46 * 3) * 48 + 2 + i % 46); });
  one("cumulative add %x {axis = 1 : i64}", "16x33", "1", "16x33");
  one("softmax %x {axis = 1 : i64}", "16x33", "1", "16x33");
  one("reduce_window max %x {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>, low = array<i64: 0, 1, "
      "1, 0>, "
      "high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>}",
      "2x8x8x17", "1", "2x4x4x17");
  one("attention %x, %w, %w {scale = 0.25 : f64}", "1x67x32", "1x2051x32", "1x67x32");
}
