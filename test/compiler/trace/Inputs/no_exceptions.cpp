// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host without exceptions and run-time types: errors are tensors, statuses, and a handler for reads.

#include <cstdio>
#include <sinter/sinter.hpp>

using namespace sinter;

static int failures = 0, handled = 0;

static void expect(bool good, const char *what, const Tensor &tensor = Tensor()) {
  if (good)
    return;
  ++failures;
  std::printf("failed: %s (%s)\n", what, to_string(tensor).c_str());
}

static bool says(const Tensor &tensor, const char *text) {
  return tensor.error() && tensor.error()->message().find(text) != std::string::npos;
}

struct Pair {
  Tensor a, b;
};

int main() {
  set_error_handler([](const Error &) { ++handled; });

  // What works with exceptions works.
  auto f = jit([](Tensor x) {
    Tensor y = for_loop(0, 3, [](auto, auto y) { return y * 2; }, x);
    if (y > 10)
      return y;
    return -y;
  });
  expect(f(2.f).item<float>() == 16, "host branch, true", f(2.f));
  expect(f(1.f).item<float>() == -8, "host branch, false", f(1.f));

  // An error is a tensor, which ops hand on and reads report.
  Tensor bad = Tensor({1.f, 2.f}) + Tensor({1.f, 2.f, 3.f});
  expect(bad.error(), "shapes that do not fit");
  expect((bad * 2).error(), "ops hand errors on");
  expect(bad.item<float>() == 0 && handled == 1, "a read calls the handler");
  expect(bad.error()->line() == __LINE__ - 4, "the error names the line");

  // jit gives the first error, runs the function to its end, and works again after.
  int line = 0;
  auto g = jit([&](Tensor x) {
    line = __LINE__ + 1;
    Tensor y = x + Tensor({1.f, 2.f, 3.f});
    while (y < 3)
      y = y + 1;
    return Pair{y * x, x};
  });
  Pair pair = g(Tensor({1.f, 2.f}));
  expect(pair.a.error() && pair.a.error()->line() == line, "jit gives the first error", pair.a);

  auto loop = jit([](Tensor x) {
    while (x < 100)
      x = x * 2;
    return x;
  });
  expect(says(loop(1.f), "a loop of the host on a tensor"), "host loop", loop(1.f));
  auto other = jit([](Tensor x) {
    for (;;) {
      if (x > 100)
        break;
      x = x * 2;
    }
    return x;
  });
  expect(says(other(1.f), "a loop of the host on a tensor"), "host loop with a break", other(1.f));

  // A size with a name is no number; that of an error is an error.
  auto number = jit(
      [](Tensor x) {
        int64_t n = x.dim(0);
        return x * n;
      },
      {.specs = {spec<float>({"n"})}});
  expect(says(number(Tensor({1.f, 2.f})), "a C++ number requires a size that is known"), "a size as a number");
  auto rows = jit([](Tensor x) { return x * x.dim(0); }, {.specs = {spec<float>({"n"})}});
  expect(rows(Tensor({1.f, 2.f}))[1].item<float>() == 4, "a size");
  expect((scalar(1.f) * bad.dim(0)).error(), "the size of an error");

  auto read = jit([](Tensor x) { return x * x.item<float>(); });
  expect(says(read(2.f), "item requires elements"), "reading a traced value", read(2.f));

  int runs = 0;
  auto counts = jit([&](Tensor x) {
    x = ++runs == 1 ? x + 1 : x * 2;
    if (x > 0)
      return x;
    return -x;
  });
  expect(says(counts(1.f), "runs once per outcome"), "non-deterministic replay");

  auto carry = [](Tensor x) { return for_loop(0, 3, [](auto, auto x) { return astype(x, DType::f64); }, x); };
  expect(says(carry(scalar(1.f)), "requires a carry of one type"), "carry, eager", carry(scalar(1.f)));
  expect(says(jit(carry)(1.f), "requires a carry of one type"), "carry, jitted", jit(carry)(1.f));

  auto vector = grad([](Tensor x) { return x * x; });
  expect(says(vector(Tensor({1.f, 2.f})), "grad requires a function whose result is a float of rank 0"),
         "gradient of a vector");

  Tensor w = Tensor({1.f, 2.f}).requires_grad(), y = sum(w * w);
  expect(backward(y).ok() && w.grad()[1].item<float>() == 4, "backward");
  Status again = backward(y);
  expect(!again.ok() && again.error()->message().find("pass retain_graph") != std::string::npos, "backward twice");
  Status seed = backward(w * w);
  expect(!seed.ok() && seed.error()->message().find("or a seed") != std::string::npos, "backward of a vector");
  expect(!backward(w * bad).ok(), "backward of an error");
  expect(says(Tensor({1, 2}).requires_grad(), "requires_grad requires floats"), "requires_grad of integers");
  expect(says(gradients({w * w}, {w})[0], "or a seed"), "gradients of a vector");
  expect(says(jit([&](Tensor x) { return x * w; })(1.f), "without requires_grad"), "a leaf in a trace");

  Status status = compile(f, {spec<float>({2}), spec<float>({2})}, {.output = "/nonexistent/f.smod"});
  expect(!status.ok() && status.error()->message().find("one spec per tensor") != std::string::npos, "compile");
  expect(Module::open("/nonexistent/f.smod").error(), "open");
  expect(handled == 1, "nothing else called the handler");
  std::printf(failures ? "%d failures\n" : "passed\n", failures);
  return failures != 0;
}
