// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every error of the tracer: its message, and that it names the user's line.

#include "Agree.h"

using namespace sinter;
using namespace sinter::test;

namespace {

/// True when `f`'s error names a line of this file in the function that called.
#define EXPECT_LINE(f, ...) EXPECT_EQ(lineOf(f), __VA_ARGS__)

TEST(TraceErrors, ReadingATracedValueOnTheHost) {
  int line = 0;
  auto f = jit([&](Tensor x) {
    line = __LINE__ + 1;
    return x * x.item<float>();
  });
  EXPECT_LINE([&] { f(2.f); }, line);
  std::string message = messageOf([&] { f(2.f); });
  EXPECT_TRUE(message.starts_with("item requires elements, got a tensor of a trace, made at ")) << message;
  EXPECT_TRUE(message.ends_with("which has none yet; use cond, while_loop or where, or return the tensor")) << message;
}

TEST(TraceErrors, ATensorLeakedOutOfItsTrace) {
  Tensor kept;
  jit([&](Tensor x) { return kept = x + 1; })(2.f);
  std::string message = messageOf([&] { kept + 1; });
  EXPECT_TRUE(message.starts_with("a tensor leaked out of its trace: it was made at ")) << message;
  EXPECT_LINE([&] { kept + 1; }, __LINE__);
  EXPECT_LINE([&] { kept.item<float>(); }, __LINE__);
  EXPECT_FALSE(messageOf([&] { jit([&](Tensor x) { return x + kept; })(1.f); }).empty());
}

TEST(TraceErrors, ATensorLeakedOutOfABody) {
  std::string message = messageOf([] {
    jit([](Tensor x) {
      Tensor inside;
      Tensor y = for_loop(0, 3, [&](auto, auto y) { return inside = y + 1; }, x);
      return inside + y;
    })(1.f);
  });
  EXPECT_TRUE(message.starts_with("a tensor leaked out of its trace")) << message;
}

TEST(TraceErrors, AHostLoopOnATensor) {
  std::string message = messageOf([] {
    jit([](Tensor x) {
      while (x < 100)
        x = x * 2;
      return x;
    })(1.f);
  });
  EXPECT_EQ(
      message,
      "a loop of the host on a tensor requires its values, which a trace does not have: this condition has branched 16 "
      "times on one path; use while_loop, for_loop or scan");
}

const char *tooMany =
    "branches of the host require at most 64 paths through a function that do not come together again, and 1024 in "
    "all, "
    "got more; use where or cond, or put the branches into the bodies of cond, each of which has paths of its own";

TEST(TraceErrors, TooManyPathsThatStayApart) {
  std::vector<Tensor> answers;
  for (int k = 0; k < 65; ++k)
    answers.push_back(full({32}, float(k)));
  auto search = [&](auto &self, Tensor x, int from, int to) -> Tensor {
    if (to - from == 1)
      return answers[size_t(from)];
    int middle = (from + to) / 2;
    if (x < middle)
      return self(self, x, from, middle);
    return self(self, x, middle, to);
  };
  auto among = [&](int count) { return jit([&, count](Tensor x) { return search(search, x, 0, count); }); };
  EXPECT_EQ(among(64)(40.5f).to_vector<float>()[31], 40);
  EXPECT_EQ(messageOf([&] { among(65)(40.5f); }), tooMany);
}

TEST(TraceErrors, AResultThatIsNoTensor) {
  EXPECT_EQ(messageOf([] { jit([](Tensor) { return Tensor(); })(1.f); }),
            "a traced function requires tensors, got a Tensor() without a value");
  EXPECT_LINE([] { jit([](Tensor) { return Tensor(); })(1.f); }, __LINE__);
}

TEST(TraceErrors, AnUnknownMemoryPolicy) {
  auto f = [](Tensor x) {
    return while_loop(WhileOptions{.memory = "lots"}, [](auto x) { return x < 9; }, [](auto x) { return x * 2; }, x);
  };
  EXPECT_EQ(messageOf([&] { jit(f)(1.f); }),
            "while requires a memory policy (all, recompute, period(K), binomial(SLOTS), "
            "online(SLOTS) or implicit), got 'lots'");
}

TEST(TraceErrors, OptionsOfALoopAreOfTheLineOfTheCall) {
  WhileOptions kept;
  kept.memory = "lots";
  auto goesOn = [](Tensor x) { return x < 9; };
  int line = 0;
  auto f = jit([&](Tensor x) {
    line = __LINE__ + 1;
    return while_loop(kept, goesOn, [](Tensor x) { return x * 2; }, x);
  });
  EXPECT_LINE([&] { f(1.f); }, line);
  auto g = jit([&](Tensor x) {
    line = __LINE__ + 1;
    return while_loop({.memory = "lots"}, goesOn, [](Tensor x) { return x * 2; }, x);
  });
  EXPECT_LINE([&] { g(1.f); }, line);
  auto h = jit([&](Tensor x) {
    line = __LINE__ + 1;
    return while_scan(goesOn, [](Tensor x) { return std::pair{x * 2, x}; }, x, kept).outputs;
  });
  EXPECT_LINE([&] { h(1.f); }, line);
}

TEST(TraceErrors, AFolderThatIsNotThere) {
  EXPECT_EQ(messageOf([] {
              (void)compile([](Tensor x) { return x; }, {spec<float>({})}, {.output = "/no/such/folder/f.o"});
            }),
            "cannot write '/no/such/folder/f.o': '/no/such/folder' is no folder");
}

TEST(TraceErrors, OfProductsNameTheFunction) {
  Tensor three({1.f, 2.f, 3.f}), two({1.f, 2.f});
  EXPECT_EQ(messageOf([&] { vdot(three, two); }),
            "vdot requires as many elements of one operand as of the other, got [3] and [2]");
  EXPECT_EQ(messageOf([&] { dot(three, two); }),
            "dot requires equal sizes of the axes that are summed over, got 3 and 2 of [3] and [2]");
  EXPECT_EQ(messageOf([&] { inner(three, two); }),
            "inner requires equal sizes of the axes that are summed over, got 3 and 2 of [3] and [2]");
  EXPECT_EQ(messageOf([&] { tensordot(three, two, 1); }),
            "tensordot requires equal sizes of the axes that are summed over, got 3 and 2 of [3] and [2]");
}

TEST(TraceErrors, OfSubscripts) {
  Tensor x({1.f, 2.f, 3.f});
  EXPECT_EQ(messageOf([&] { x[x > 1]; }),
            "operator [] requires positions, got booleans (use compress, nonzero or where)");
  EXPECT_EQ(messageOf([&] { x[x]; }), "operator [] requires an integer dtype, got f32 (convert with astype)");
}

TEST(TraceErrors, TooManyRuns) {
  auto f = [](int branches) {
    return jit([=](Tensor x) {
      for (int k = 0; k < branches; ++k)
        if (x > k)
          x = x + 1;
      return x;
    });
  };
  EXPECT_EQ(f(10)(0.5f).item<float>(), 10.5f);
  EXPECT_EQ(messageOf([&] { f(11)(0.5f); }), tooMany);
}

TEST(TraceErrors, ANonDeterministicFunction) {
  int runs = 0;
  std::string message = messageOf([&] {
    jit([&](Tensor x) {
      x = ++runs == 1 ? x + 1 : x * 2;
      if (x > 0)
        return x;
      return -x;
    })(1.f);
  });
  EXPECT_TRUE(
      message.starts_with("a function with `if (tensor)` runs once per outcome and requires the same ops each time"))
      << message;
}

TEST(TraceErrors, OutcomesOfDifferentTypes) {
  EXPECT_EQ(messageOf([] {
              jit([](Tensor x) {
                if (x > 0)
                  return x;
                return astype(x, DType::i32);
              })(1.f);
            }),
            "both outcomes of a branch of the host require results of one type, got f32[] and i32[]");
}

TEST(TraceErrors, BranchesOfDifferentTypes) {
  auto f = [](Tensor x) { return cond(x > 0, [&] { return x; }, [&] { return astype(x, DType::i32); }); };
  EXPECT_EQ(messageOf([&] { jit(f)(1.f); }), "cond requires branches with results of one type, got f32[] and i32[]");
}

TEST(TraceErrors, BranchesOfDifferentTypesOnTheHost) {
  // Whichever is taken.
  const std::string message = "cond requires branches with results of one type, got f32[] and i32[]";
  auto f = [](Tensor x) { return cond(x > 0, [&] { return x; }, [&] { return astype(x, DType::i32); }); };
  EXPECT_EQ(messageOf([&] { f(1.f); }), message);
  EXPECT_EQ(messageOf([&] { f(-1.f); }), message);
  auto ranks = [](Tensor x) { return cond(x > 0, [&] { return x; }, [&] { return ones({2}); }); };
  EXPECT_EQ(messageOf([&] { ranks(1.f); }), "cond requires branches with results of one type, got f32[] and f32[2]");
  auto choose = [](Tensor k) {
    return switch_(k, std::tuple{[] { return zeros({2}); }, [] { return ones({3}); }, [] { return arange(2); }});
  };
  EXPECT_EQ(messageOf([&] { choose(0); }), "switch_ requires branches with results of one type, got f32[2] and i64[2]");
  EXPECT_EQ(messageOf([&] { choose(9); }), "switch_ requires branches with results of one type, got f32[2] and i64[2]");
}

Tensor factorial(Tensor n) {
  return cond(n > 1, [&] { return n * factorial(n - 1); }, [&] { return n; });
}

TEST(TraceErrors, BranchesOnTheHostMayDoWhatTracesCannot) {
  EXPECT_EQ(factorial(5.f).item<float>(), 120); // calls itself: a trace has no end
  auto reads = [](Tensor x) {                   // of the host
    return cond(x > 0, [&] { return x * 2; }, [&] { return Tensor(std::abs(x.item<float>())); });
  };
  EXPECT_EQ(reads(2.f).item<float>(), 4);
  EXPECT_EQ(reads(-2.f).item<float>(), 2);
  auto throws = [](Tensor x) {
    return cond(x > 0, [&] { return x; }, [&]() -> Tensor { throw std::runtime_error("not taken"); });
  };
  EXPECT_EQ(throws(2.f).item<float>(), 2);
  EXPECT_THROW(throws(-2.f), std::runtime_error);
  Tensor large = ones({1 << 19}); // 2 MiB, which a trace would not take in
  auto captures = [&](Tensor x) {
    return cond(x > 0, [&] { return x; }, [&] { return astype(sum(large), DType::f64); });
  };
  EXPECT_EQ(messageOf([&] { captures(1.f); }), "cond requires branches with results of one type, got f32[] and f64[]");
  // Sizes may differ, and each branch is traced once for the types that it is given.
  int runs = 0;
  auto counts = [&](Tensor x) {
    return cond(
        sum(x) > 0, [&] { return x; },
        [&] {
          ++runs;
          return concatenate({x, x});
        });
  };
  for (int n = 1; n < 9; ++n)
    EXPECT_EQ(counts(ones({n})).dim(0), n);
  EXPECT_EQ(runs, 1);
}

TEST(TraceErrors, ABranchOnSeveralElements) {
  std::string message = messageOf([] {
    jit([](Tensor x) {
      if (x > 0)
        return x;
      return -x;
    })(Tensor({1.f, 2.f}));
  });
  EXPECT_EQ(message, "a branch of the host requires a tensor of one element, got bool[2]; use all, any or where");
}

struct State {
  Tensor position;
  std::vector<Tensor> speeds;
};

TEST(TraceErrors, ACarryThatChangesItsType) {
  auto f = [](State s) {
    return for_loop(
        0, 3, [](auto, State s) { return State{s.position, {s.speeds[0], astype(s.speeds[1], DType::f64)}}; }, s);
  };
  State s{scalar(1.f), {scalar(1.f), scalar(2.f)}};
  std::string expected =
      "for_loop requires a carry of one type, got f32[] before and f64[] after a trip for carry .speeds[1]";
  EXPECT_EQ(messageOf([&] { f(s); }), expected);
  EXPECT_EQ(messageOf([&] { jit(f)(s); }), expected);
}

TEST(TraceErrors, ACarryThatChangesItsSize) {
  auto f = [](Tensor x) {
    return while_loop([](auto) { return true; }, [](auto x) { return concatenate({x, x}, 0); }, x);
  };
  std::string expected = "while_loop requires a carry of one type, got f32[2] before and f32[4] after a trip";
  EXPECT_EQ(messageOf([&] { f(Tensor({1.f, 2.f})); }), expected);
  EXPECT_EQ(messageOf([&] { jit(f)(Tensor({1.f, 2.f})); }), expected);
}

TEST(TraceErrors, NameTheLineOfALoop) {
  int line = 0;
  auto f = jit([&](Tensor x) {
    line = __LINE__ + 1;
    return while_loop([](auto) { return true; }, [](auto x) { return astype(x, DType::f64); }, x);
  });
  EXPECT_LINE([&] { f(1.f); }, line);
}

TEST(TraceErrors, ACarryOfATrapLimit) {
  auto f = [](Tensor x) {
    return while_loop(
        WhileOptions{.max_trip = 3, .on_limit = OnLimit::trap}, [](auto x) { return x > 0; },
        [](auto x) { return x + 1; }, x);
  };
  EXPECT_EQ(messageOf([&] { f(scalar(1.f)); }),
            "while_loop requires at most 3 trips, got a condition that still holds");
  EXPECT_FALSE(messageOf([&] { jit(f)(1.f); }).empty());
  EXPECT_EQ(jit(f)(-1.f).item<float>(), -1);
}

TEST(TraceErrors, ALargeConstantWithoutConsent) {
  Tensor large = Tensor::empty(DType::f32, {1 << 19});
  auto f = jit([&](Tensor x) { return x + large; });
  EXPECT_EQ(messageOf([&] { f(1.f); }), "a captured constant requires at most 1 MiB, got 2097152 bytes of f32[524288]; "
                                        "pass the tensor as an argument, or allow it "
                                        "with sinter::constant(tensor)");
  EXPECT_EQ(messageOf([&] { jit([&](Tensor x) { return x + sum(constant(large)); })(1.f); }), "");
}

TEST(TraceErrors, ShapesThatDoNotFitNameTheLine) {
  auto f = jit([](Tensor x) { return x + Tensor({1.f, 2.f, 3.f}); });
  EXPECT_LINE([&] { f(Tensor({1.f, 2.f})); }, __LINE__ - 1);
}

TEST(TraceErrors, AreGoneForTheNextCall) {
  auto f = jit([](Tensor x) { return x + Tensor({1.f, 2.f, 3.f}); });
  EXPECT_FALSE(messageOf([&] { f(Tensor({1.f, 2.f})); }).empty());
  EXPECT_EQ(f(Tensor({1.f, 1.f, 1.f})).to_vector<float>(), (std::vector<float>{2, 3, 4}));
  EXPECT_FALSE(detail::tracing());
}

TEST(TraceErrors, CaughtInsideOfATraceLeaveItWhole) {
  auto f = jit([](Tensor x) {
    try {
      for_loop(0, 2, [](auto, auto y) { return y + Tensor({1.f, 2.f, 3.f}); }, x);
    } catch (const Error &) {
    }
    return x + 1;
  });
  EXPECT_EQ(f(Tensor({1.f, 2.f})).to_vector<float>(), (std::vector<float>{2, 3}));
}

TEST(TraceErrors, OfConditions) {
  EXPECT_EQ(messageOf([] { cond(Tensor({true, false}), [] { return 1.f; }, [] { return 2.f; }); }),
            "cond requires a condition of rank 0, got bool[2]");
  EXPECT_EQ(messageOf([] { switch_(1.5f, std::tuple{[] { return 1.f; }}); }),
            "switch_ requires an integer of rank 0, got f32[]");
  EXPECT_EQ(messageOf([] { for_loop(0, 2.5f, [](auto, auto x) { return x; }, 0); }),
            "for_loop requires an integer of rank 0, got f32[]");
}

TEST(TraceErrors, OfSequences) {
  auto sum = [](auto a, auto b) { return std::pair{a + b, a}; };
  EXPECT_EQ(messageOf([&] { scan(sum, 0.f, scalar(1.f)); }), "scan requires sequences with an axis 0, got f32[]");
  EXPECT_EQ(messageOf([&] { scan([](auto a, auto) { return std::pair{a, a}; }, 0.f, std::tuple<>()); }),
            "scan requires sequences or a length, got neither");
  EXPECT_EQ(messageOf([&] {
              scan([](auto a, auto) { return std::pair{a, a}; }, 0.f, std::pair{Tensor({1.f, 2.f}), Tensor({1.f})});
            }),
            "scan requires sequences of one length, got 2 and 1");
}

TEST(TraceErrors, OfSpecs) {
  auto f = [](Tensor x, Tensor y) { return x + y; };
  EXPECT_EQ(messageOf([&] { trace(f, {spec<float>({2})}); }),
            "tracing requires one spec per tensor that the function takes, got 1 for 2");
  auto g = jit([](Tensor x) { return x; }, {.specs = {spec<float>({"n"})}});
  EXPECT_EQ(messageOf([&] { g(scalar(1.f)); }),
            "a jitted function requires arguments like its specs f32[n], got f32[]");
}

/// Position 7, or what `f` says of it.
template <class F> std::string atSeven(F &&f) {
  return messageOf([&] { f(Tensor({1.f, 2.f, 3.f}), Tensor({0, 7})); });
}

TEST(TraceErrors, PositionsOutsideOfAnAxis) {
  auto read = [](Tensor x, Tensor at) { return take(x, at); };
  EXPECT_EQ(atSeven(read), "") << "clamped without a policy";
  EXPECT_EQ(atSeven(jit(read)), "");
  IndexPolicyScope scope(IndexPolicy::error);
  std::string take7 = "take requires positions inside of axis 0, got 7 for a size of 3";
  EXPECT_NE(atSeven(read).find(take7), std::string::npos) << atSeven(read);
  EXPECT_NE(atSeven(jit(read)).find(take7), std::string::npos) << atSeven(jit(read));
  auto write = jit([](Tensor x, Tensor at) { return x.at(at).set(0.f); });
  EXPECT_NE(atSeven(write).find("requires positions inside of axis 0, got 7 for a size of 3"), std::string::npos);
  auto slope = jit([](Tensor x, Tensor at) { return grad([&](Tensor x) { return sum(take(x, at)); })(x); });
  EXPECT_NE(atSeven(slope).find(take7), std::string::npos) << "a gradient reads what the function reads";
  auto branch = jit(
      [](Tensor x, Tensor at) { return cond(x[0] > 5, [&] { return take(x, at); }, [&] { return take(x, at * 0); }); });
  EXPECT_EQ(atSeven(branch), "") << "the branch is not taken";
  auto loop = jit([](Tensor x, Tensor at) {
    return for_loop(0, size(at, 0), [&](Tensor i, Tensor sum) { return sum + x[at[i]]; }, Tensor(0.f));
  });
  EXPECT_NE(atSeven(loop).find("got 7 for a size of 3"), std::string::npos) << atSeven(loop);
}

} // namespace
