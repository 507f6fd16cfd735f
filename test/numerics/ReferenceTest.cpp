// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each row's function takes, refuses and gives, found by tracing it, which runs nothing. Whatever the element
// types and shapes, it is taken or refused by an error that says what was required. SINTER_WRITE_REFERENCE names a file
// for the facts, which tools/dev/reference.py puts on the pages of the functions: lines of NAME, KIND and two texts,
// with tabs between.

#include "Program.h"

#include <fstream>

using namespace sinter;
using namespace sinter::numerics;

namespace {

constexpr DType kDTypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16, DType::boolean, DType::i8, DType::i16,
                             DType::i32, DType::i64, DType::u8,  DType::u16,  DType::u32,     DType::u64};

struct Outcome {
  std::string text; // the types of the results, or the error
  bool taken = false;
};

std::string spell(const std::vector<Spec> &specs) {
  std::string text;
  for (const Spec &spec : specs)
    text += (text.empty() ? "" : ", ") + spec.str();
  return text;
}

Outcome outcomeOf(const Row &row, const std::vector<Spec> &specs) {
  Outcome outcome;
  auto function = [&](const Tensors &operands) {
    Tensors results = row.apply(operands).list;
    for (const Tensor &result : results)
      outcome.text += (outcome.text.empty() ? "" : ", ") + result.type().str();
    return results;
  };
  try {
    traceWith(function, std::tuple<Tensors>(Tensors(specs.size())), std::span<const Spec>(specs), "main", {}, {},
              Where::current());
    outcome.taken = true;
  } catch (const Error &error) {
    outcome.text = error.message();
    EXPECT_EQ(error.code(), StatusCode::invalid_argument) << row.name << ": " << error.what();
    EXPECT_TRUE(error.message().find("require") != std::string::npos &&
                error.message().find("'sinter.") == std::string::npos)
        << row.name << " of " << spell(specs) << ": " << error.what();
  }
  return outcome;
}

std::vector<Spec> specsOf(const std::vector<Shape> &shapes, DType dtype) {
  std::vector<Spec> specs;
  for (const Shape &shape : shapes)
    specs.push_back({dtype, std::vector<Dim>(shape.begin(), shape.end())});
  return specs;
}

/// Shapes that a function of several operands, or of an axis, cannot take: sizes that are nowhere else, and no axes.
std::vector<std::vector<Shape>> misfitsOf(std::vector<Shape> shapes) {
  if (shapes.empty())
    return {};
  std::vector<std::vector<Shape>> misfits(2, shapes);
  for (int64_t &size : misfits[0].back())
    size += 97;
  misfits[1].back() = Shape{};
  return misfits;
}

/// The families of the table, and what is made of them.
const std::vector<Family> kTraced = [] {
  std::vector<Family> families(std::begin(kFamilies), std::end(kFamilies));
  families.push_back({"layers", layerRows});
  return families;
}();

class Reference : public testing::TestWithParam<int> {
protected:
  void write(const Row &row, const char *kind, const std::string &first, const std::string &second) {
    if (facts.is_open())
      facts << row.name << '\t' << kind << '\t' << first << '\t' << second << '\n';
  }
  void SetUp() override {
    if (const char *path = std::getenv("SINTER_WRITE_REFERENCE"))
      facts.open(path, std::ios::app);
  }
  std::ofstream facts;
};

} // namespace

TEST_P(Reference, SaysWhatEachFunctionTakes) {
  for (const Row &row : kTraced[size_t(GetParam())].rows()) {
    SCOPED_TRACE(row.name);
    const std::vector<Shape> &shapes = row.cases[row.cases.size() / 2];
    for (DType dtype : kDTypes) {
      Outcome outcome = outcomeOf(row, specsOf(shapes, dtype));
      bool isListed = std::find(row.dtypes.begin(), row.dtypes.end(), dtype) != row.dtypes.end();
      EXPECT_TRUE(outcome.taken || !isListed) << dtype_name(dtype) << ": " << outcome.text;
      write(row, outcome.taken ? "takes" : "refuses", dtype_name(dtype), outcome.text);
    }
    for (const std::vector<Shape> &these : facts.is_open() ? row.cases : Cases()) {
      std::vector<Spec> specs = specsOf(these, row.dtypes.front());
      write(row, "shapes", spell(specs), outcomeOf(row, specs).text);
    }
    for (const std::vector<Shape> &these : misfitsOf(shapes)) {
      std::vector<Spec> specs = specsOf(these, row.dtypes.front());
      if (Outcome outcome = outcomeOf(row, specs); !outcome.taken)
        write(row, "misfit", spell(specs), outcome.text);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tracer, Reference, testing::Range(0, int(kTraced.size())),
                         [](const auto &info) { return std::string(kTraced[size_t(info.param)].name); });
