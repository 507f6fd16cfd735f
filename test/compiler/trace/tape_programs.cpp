// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs whose course depends on numbers, on the tape: loops, recursion, lists and trees of the host. Values and
// gradients are torch's, in f64 (Inputs/tape_programs.py, which states the same programs).

#include "Agree.h"
#include <deque>
#include <list>
#include <map>
#include <set>

using namespace sinter;

namespace {

using Tensors = std::vector<Tensor>;
double number(const Tensor &x) { return x.item<double>(); }
Tensor fixed(double value) { return scalar(value); }

struct Golden {
  const char *name;
  std::vector<double> numbers; // the value, then the gradients by each input
};
const Golden kGoldens[] = {
#include "Inputs/tape_goldens.inc"
};

Tensor collatz(Tensors in) {
  Tensor x = in[0];
  for (int n = 27; n != 1; n = n % 2 ? 3 * n + 1 : n / 2)
    x = n % 2 ? sin(x * 3) * 0.125 + x : x * 1.01;
  return x;
}

Tensor fibonacciOf(int n, const Tensor &x) {
  return n < 2 ? x * (n + 1) : sin(fibonacciOf(n - 1, x)) + fibonacciOf(n - 2, x) * x;
}
Tensor fibonacci(Tensors in) { return fibonacciOf(9, in[0]); }

Tensor until_large(Tensors in) {
  Tensor x = in[0];
  while (sum(x) < 1000)
    x = x * x + 1.25;
  return log(sum(x));
}

Tensor newton_root(Tensors in) {
  Tensor a = in[0] * in[0] + 2, x = a;
  while (std::abs(number(x * x - a)) > 1e-9)
    x = (x + a / x) * 0.5;
  return x;
}

Tensor tree(Tensors in) {
  uint64_t state = 7;
  auto random = [&](uint64_t n) {
    state = (state * 1103515245 + 12345) % 2147483648;
    return int64_t((state >> 16) % n);
  };
  std::function<Tensor(int)> grow = [&](int depth) -> Tensor {
    if (depth == 0 || (depth < 4 && random(4) == 0))
      return in[0][random(4)];
    Tensor a = grow(depth - 1), b = grow(depth - 1);
    return tanh(matmul(in[1], a) + matmul(in[2], b));
  };
  return sum(grow(5));
}

Tensor linked_list(Tensors in) {
  struct Node {
    Tensor value;
    std::shared_ptr<Node> next;
  };
  std::shared_ptr<Node> node;
  for (int k = 0; k < 7; ++k)
    node = std::make_shared<Node>(Node{in[2][k % 3], node});
  Tensor h = zeros({3}, DType::f64);
  for (; node; node = node->next)
    h = tanh(matmul(in[0], h) + matmul(in[1], node->value));
  return sum(h * h);
}

Tensor stack_machine(Tensors in) {
  Tensors stack;
  auto pop = [&] {
    Tensor top = stack.back();
    stack.pop_back();
    return top;
  };
  for (char op : std::string("ab*a+sb-b*ab+*")) {
    if (op == 'a' || op == 'b') {
      stack.push_back(in[size_t(op - 'a')]);
    } else if (op == 's') {
      stack.push_back(sin(pop()));
    } else {
      Tensor y = pop(), x = pop();
      stack.push_back(op == '*' ? x * y : op == '+' ? x + y : x - y);
    }
  }
  return sum(stack.back());
}

Tensor by_sign(Tensors in) {
  Tensor x = in[0];
  for (int k = 0; k < 20; ++k)
    x = number(x) > 0 ? x - in[1] : x * in[1] + 1;
  return x;
}

Tensor bisection(Tensors in) {
  Tensor a = in[0];
  double low = 0, high = 4;
  while (high - low > 1e-3) {
    double middle = (low + high) / 2;
    (middle * middle * middle - number(a * a + 1) > 0 ? high : low) = middle;
  }
  Tensor x = fixed(low);
  for (int k = 0; k < 3; ++k)
    x = x - (x * x * x - (a * a + 1)) / (3 * x * x);
  return x;
}

Tensors sorted(const Tensors &items) {
  if (items.size() < 2)
    return items;
  Tensors less, more;
  for (size_t k = 1; k < items.size(); ++k)
    (number(items[k]) < number(items[0]) ? less : more).push_back(items[k]);
  Tensors result = sorted(less);
  result.push_back(items[0]);
  for (const Tensor &item : sorted(more))
    result.push_back(item);
  return result;
}
Tensor quicksort(Tensors in) {
  Tensors items;
  for (int k = 0; k < 9; ++k)
    items.push_back(in[0][k]);
  Tensor total = fixed(0);
  int k = 0;
  for (const Tensor &item : sorted(items))
    total = total + item * item * ++k;
  return total;
}

Tensor early_exit(Tensors in) {
  Tensor h = in[1];
  for (int k = 0; k < 50; ++k) {
    h = tanh(matmul(in[0], h));
    if (max(abs(h)) < 0.05)
      break;
  }
  return sum(h * h) * 100;
}

Tensor ragged(Tensors in) {
  Tensor total = fixed(0);
  for (int n : {1, 5, 2, 4})
    total = total + sum(exp(in[0][slice(0, n)] * in[1][slice(0, n)])) / n;
  return total / 4;
}

Tensor beams(Tensors in) {
  std::vector<std::pair<Tensor, int>> paths = {{fixed(0), 0}};
  for (int step = 0; step < 5; ++step) {
    std::vector<std::pair<Tensor, int>> longer;
    for (const auto &[score, at] : paths)
      for (int to = 0; to < 3; ++to)
        longer.emplace_back(score + sin(in[0](at, to) * (score + 1)), to);
    std::sort(longer.begin(), longer.end(),
              [](const auto &a, const auto &b) { return number(a.first) > number(b.first); });
    paths.assign(longer.begin(), longer.begin() + 2);
  }
  return paths[0].first + 0.5 * paths[1].first;
}

Tensor edit_distance(Tensors in) {
  const std::string a = "kitten", b = "sitting";
  std::map<std::pair<size_t, size_t>, Tensor> d;
  Tensor drop = in[0][0], add = in[0][1], change = in[0][2], keep = in[0][3];
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[{i, j}] = drop * int64_t(i) + add * int64_t(j);
        continue;
      }
      Tensors ways = {d[{i - 1, j}] + drop, d[{i, j - 1}] + add,
                      d[{i - 1, j - 1}] + (a[i - 1] != b[j - 1] ? change : keep)};
      d[{i, j}] = *std::min_element(ways.begin(), ways.end(),
                                    [](const Tensor &x, const Tensor &y) { return number(x) < number(y); });
    }
  return d[{a.size(), b.size()}] * d[{3, 3}];
}

Tensor mandelbrot(Tensors in) {
  Tensor re = fixed(0), im = fixed(0);
  for (int k = 0; k < 50; ++k) {
    Tensor next = re * re - im * im + in[0][0];
    im = 2 * re * im + in[0][1];
    re = next;
    if (re * re + im * im > 4)
      break;
  }
  return log(re * re + im * im);
}

Tensor adaptive_steps(Tensors in) {
  Tensor y = in[0];
  double t = 0, h = 0.5;
  while (t < 1) {
    h = std::min(h, 1 - t);
    Tensor slope = sin(y) * in[1], euler = y + h * slope, heun = y + 0.5 * h * (slope + sin(euler) * in[1]);
    if (max(abs(heun - euler)) < 0.02) {
      y = heun;
      t += h;
      h *= 1.5;
    } else {
      h *= 0.5;
    }
  }
  return sum(y * y);
}

Tensor determinant(Tensors in) {
  Tensor m = in[0] + eye(4, {}, 0, DType::f64);
  std::vector<Tensors> rows(4);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      rows[size_t(i)].push_back(m(i, j));
  Tensor det = fixed(1);
  for (size_t c = 0; c < 4; ++c) {
    size_t p = c;
    for (size_t r = c; r < 4; ++r)
      if (std::abs(number(rows[r][c])) > std::abs(number(rows[p][c])))
        p = r;
    if (p != c) {
      std::swap(rows[c], rows[p]);
      det = -det;
    }
    det = det * rows[c][c];
    for (size_t r = c + 1; r < 4; ++r) {
      Tensor f = rows[r][c] / rows[c][c];
      for (size_t j = c; j < 4; ++j)
        rows[r][j] = rows[r][j] - f * rows[c][j];
    }
  }
  return det;
}

Tensor messages(Tensors in) {
  const std::map<int, std::vector<int>> edges = {{0, {1, 2}}, {1, {2}}, {2, {0, 3}}, {3, {}}, {4, {0, 1, 2, 3}}};
  std::map<int, Tensor> h;
  for (int n = 0; n < 5; ++n)
    h[n] = in[0][n];
  for (int round = 0; round < 3; ++round) {
    std::map<int, Tensor> next;
    for (const auto &[n, from] : edges) {
      Tensor total = h[n];
      for (int m : from)
        total = total + matmul(in[1], h[m]);
      next[n] = tanh(total);
    }
    h = next;
  }
  Tensor total = fixed(0);
  for (const auto &[n, state] : h)
    total = total + sum(state);
  return total;
}

Tensor odd(int n, Tensor y, const Tensor &x);
Tensor even(int n, Tensor y, const Tensor &x) { return n == 0 ? y : odd(n - 1, sin(y) + x, x); }
Tensor odd(int n, Tensor y, const Tensor &x) { return n == 0 ? y * x : even(n - 1, cos(y) * x, x); }
Tensor mutual(Tensors in) { return even(11, in[0], in[0]) + odd(8, in[0] * 2, in[0]); }

Tensor buffer(Tensors in) {
  Tensor held = zeros({3}, DType::f64);
  for (int k = 0; k < 6; ++k)
    held.assign(held * 0.5 + (k + 1) * sin(in[0] * (number(sum(held)) + 1)) * in[0]);
  return sum(held * held);
}

Tensor layers_by_input(Tensors in) {
  Tensor x = in[0];
  int n = 1 + int(std::abs(number(sum(x)) * 7)) % 4;
  for (int k = 0; k < n; ++k)
    x = tanh(matmul(in[1], x));
  return sum(x);
}

Tensor shrinking_picture(Tensors in) {
  Tensor x = in[0];
  while (x.known_dim(-1) > 3)
    x = max_pool(relu(conv(x, in[1], {.padding = {1, 1}})), {2, 2});
  return sum(x * x);
}

Tensor truncated(Tensors in) {
  Tensor h = fixed(0.5), total = fixed(0);
  for (int k = 0; k < 12; ++k) {
    h = tanh(h * in[0] + 0.25);
    total = total + h * (k + 1);
    if (k % 4 == 3)
      h = h.detach();
  }
  return total;
}

Tensor slopeOf(const Tensor &y, const Tensor &x) { return gradients({y}, {x}, {}, {.create_graph = true})[0]; }

Tensor penalty(Tensors in) {
  Tensor y = sum(tanh(matmul(in[1], in[0]))), g = slopeOf(y, in[0]);
  return y + sum(g * g);
}

Tensor inner_steps(Tensors in) {
  Tensor fast = in[0], x = in[1];
  auto loss = [&](int wanted) {
    Tensor miss = sin(fast) * x[0] - x[wanted];
    return sum(miss * miss);
  };
  for (int k = 0; k < 3; ++k)
    fast = fast - 0.1 * slopeOf(loss(1), fast);
  return loss(2);
}

Tensor curvature(Tensors in) {
  Tensor g = slopeOf(sum(exp(in[0]) * sin(in[0] * in[0])), in[0]), total = fixed(0);
  for (int k = 0; k < 3; ++k)
    total = total + slopeOf(g[k], in[0])[k] * (k + 1);
  return total;
}

Tensor growing_memory(Tensors in) {
  Tensors memory = {in[0][0]};
  for (int k = 1; k < 5; ++k) {
    Tensor keys = stack(memory, 0);
    Tensor weights = softmax(matmul(keys, matmul(in[1], in[0][k])), 0);
    memory.push_back(tanh(matmul(weights, keys) + in[0][k]));
  }
  return sum(memory.back() * memory[2]);
}

Tensor follow_largest(Tensors in) {
  Tensor x = in[0], total = fixed(0);
  int64_t at = 0;
  for (int k = 0; k < 6; ++k) {
    at = argmax(x[at] * (k + 1), 0).item<int64_t>();
    Tensor picked = x(at, (at + k) % 4);
    total = total + picked * picked;
    x = x * 0.9;
  }
  return total;
}

class Parser {
public:
  explicit Parser(Tensor values) : values(std::move(values)) {}
  Tensor add() {
    Tensor value = mul();
    while (peek() == '+' || peek() == '-')
      value = text[at++] == '+' ? value + mul() : value - mul();
    return value;
  }

private:
  char peek() const { return at < text.size() ? text[at] : ' '; }
  Tensor mul() {
    Tensor value = atom();
    while (peek() == '*') {
      ++at;
      value = value * atom();
    }
    return value;
  }
  Tensor atom() {
    char c = text[at++];
    if (c != '(')
      return values[c - 'a'];
    Tensor value = add();
    ++at;
    return value;
  }
  const std::string text = "a*(b+c)-a*a*(c-b*(a+b))";
  size_t at = 0;
  Tensor values;
};
Tensor expression(Tensors in) { return Parser(in[0]).add(); }

Tensor breadth_first(Tensors in) {
  const std::vector<std::vector<int>> links = {{2, 1}, {3}, {3, 4}, {5}, {5}, {0}};
  std::map<int, Tensor> level = {{0, in[0][0]}};
  std::deque<int> queue = {0};
  for (; !queue.empty(); queue.pop_front())
    for (int m : links[size_t(queue.front())])
      if (!level.count(m)) {
        level[m] = sin(level[queue.front()]) + in[0][m] * level[queue.front()];
        queue.push_back(m);
      }
  Tensor total = fixed(0);
  for (const auto &[n, value] : level)
    total = total + value * (n + 1);
  return total;
}

Tensor golden_section(Tensors in) {
  Tensor a = in[0], low = fixed(-2), high = a * a + 2;
  for (int k = 0; k < 30; ++k) {
    Tensor third = (high - low) / 3, p = low + third, q = high - third;
    bool isLeft = number((p - a) * (p - a)) < number((q - a) * (q - a));
    (isLeft ? high : low) = isLeft ? q : p;
  }
  return low * high + a;
}

struct Program {
  const char *name;
  Tensor (*run)(Tensors);
  std::vector<Shape> shapes;
};
#define PROGRAM(name, ...)                                                                                             \
  {                                                                                                                    \
    #name, name, { __VA_ARGS__ }                                                                                       \
  }
const Program kPrograms[] = {PROGRAM(collatz, {}),
                             PROGRAM(fibonacci, {}),
                             PROGRAM(until_large, {3}),
                             PROGRAM(newton_root, {}),
                             PROGRAM(tree, {4, 3}, {3, 3}, {3, 3}),
                             PROGRAM(linked_list, {3, 3}, {3, 2}, {3, 2}),
                             PROGRAM(stack_machine, {3}, {3}),
                             PROGRAM(by_sign, {}, {}),
                             PROGRAM(bisection, {}),
                             PROGRAM(quicksort, {9}),
                             PROGRAM(early_exit, {3, 3}, {3}),
                             PROGRAM(ragged, {6}, {6}),
                             PROGRAM(beams, {3, 3}),
                             PROGRAM(edit_distance, {4}),
                             PROGRAM(mandelbrot, {2}),
                             PROGRAM(adaptive_steps, {3}, {3}),
                             PROGRAM(determinant, {4, 4}),
                             PROGRAM(messages, {5, 3}, {3, 3}),
                             PROGRAM(mutual, {}),
                             PROGRAM(buffer, {3}),
                             PROGRAM(layers_by_input, {4}, {4, 4}),
                             PROGRAM(shrinking_picture, {1, 2, 13, 13}, {2, 2, 3, 3}),
                             PROGRAM(truncated, {}),
                             PROGRAM(penalty, {3}, {3, 3}),
                             PROGRAM(inner_steps, {4}, {3, 4}),
                             PROGRAM(curvature, {3}),
                             PROGRAM(growing_memory, {5, 3}, {3, 3}),
                             PROGRAM(follow_largest, {4, 4}),
                             PROGRAM(expression, {3}),
                             PROGRAM(breadth_first, {6}),
                             PROGRAM(golden_section, {})};

class TapePrograms : public testing::TestWithParam<size_t> {};

TEST_P(TapePrograms, IsWhatTorchSays) {
  const Program &program = kPrograms[GetParam()];
  ASSERT_STREQ(program.name, kGoldens[GetParam()].name);
  int64_t before = recorded_ops();
  {
    Tensors inputs;
    for (size_t seed = 0; seed < program.shapes.size(); ++seed) {
      std::vector<double> values;
      for (int64_t k = 0; k < program.shapes[seed].elements(); ++k)
        values.push_back(double((k * 37 + int64_t(seed + 1) * 53) % 101 - 50) / 64);
      inputs.push_back(Tensor(values, program.shapes[seed]).requires_grad());
    }
    Tensor value = program.run(inputs);
    (void)backward(value);
    std::vector<double> got = {number(value)};
    for (const Tensor &input : inputs) {
      std::vector<double> slope = (input.grad().defined() ? input.grad() : zeros_like(input)).to_vector<double>();
      got.insert(got.end(), slope.begin(), slope.end());
    }
    const std::vector<double> &wanted = kGoldens[GetParam()].numbers;
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t k = 0; k < got.size(); ++k)
      EXPECT_NEAR(got[k], wanted[k], 1e-11 * std::max(1.0, std::abs(wanted[k]))) << "number " << k;
  }
  EXPECT_EQ(recorded_ops(), before);
}

INSTANTIATE_TEST_SUITE_P(Tracer, TapePrograms, testing::Range(size_t(0), std::size(kPrograms)),
                         [](const auto &info) { return std::string(kPrograms[info.param].name); });

} // namespace
