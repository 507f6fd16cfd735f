// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter quantize: looks at the numbers of a model over data, writes a model whose products multiply bytes, and says
// how far its results are from those before.

#include "compiler/onnx/Export.h"
#include "compiler/onnx/QuantizeModel.h"
#include "tools/sinter/Model.h"
#include "tools/sinter/NamePattern.h"
#include <cmath>
#include <filesystem>
#include <iostream>

using namespace sinter;
using namespace sinter::tool;
namespace fs = std::filesystem;

namespace {
struct QuantizeFlags {
  SharedOptions shared;
  std::string model, output, method = "minmax", weightsOnly, exclude;
  std::vector<std::string> data, validation;
  bool perTensor = false, force = false;
};

/// A folder of its own for models that are made on the way; removed at the end.
class ScratchFolder {
public:
  ScratchFolder() : path((fs::temp_directory_path() / "sinter-quantize-XXXXXX").string()) {
    if (!mkdtemp(path.data()))
      throw Stop(Exit::Failure, path + ": cannot be made");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  std::string file(const char *name) const { return path + "/" + name; }

private:
  std::string path;
};

/// Examples for each input, along their first axis.
class DataSet {
public:
  DataSet(Model &model, const std::vector<std::string> &flags, const char *flag);
  int64_t batches() const { return (examples + batch - 1) / batch; }
  int64_t size() const { return examples; }
  std::vector<HostTensor> inputsOf(int64_t number) const;

private:
  std::vector<HostTensor> tensors;
  int64_t examples = -1, batch = kMostBatch;
  static constexpr int64_t kMostBatch = 16; // of models that take any number
};
} // namespace

DataSet::DataSet(Model &model, const std::vector<std::string> &flags, const char *flag) {
  std::vector<Port> whole = model.inputs();
  for (Port &port : whole) {
    if (llvm::none_of(flags, [&](llvm::StringRef text) { return text.starts_with(port.name + "="); }))
      throw Stop(Exit::Failure,
                 std::string(flag) + " requires a value for each input, found none for '" + oneLine(port.name) + "'");
    if (port.type.getRank() == 0)
      continue;
    llvm::SmallVector<int64_t> shape(port.type.getShape());
    if (shape[0] > 0)
      batch = shape[0];
    shape[0] = mlir::ShapedType::kDynamic;
    port.type = mlir::RankedTensorType::get(shape, port.type.getElementType());
  }
  tensors = readInputs(model.context(), whole, flags, "");
  for (auto [port, tensor] : llvm::zip(whole, tensors)) {
    if (tensor.rank() == 0)
      continue;
    if (examples >= 0 && tensor.size(0) != examples)
      throw Stop(Exit::Failure, std::string(flag) + " requires as many examples for each input, got " +
                                    std::to_string(tensor.size(0)) + " of '" + oneLine(port.name) + "' after " +
                                    std::to_string(examples));
    examples = tensor.size(0);
  }
  bool isFixed = llvm::any_of(model.inputs(),
                              [](const Port &port) { return port.type.getRank() > 0 && !port.type.isDynamicDim(0); });
  if (examples < 1 || (isFixed && examples % batch != 0))
    throw Stop(Exit::Failure, std::string(flag) + " requires a number of examples that is a multiple of " +
                                  std::to_string(isFixed ? batch : 1) + ", which the model takes at once, got " +
                                  std::to_string(std::max<int64_t>(examples, 0)));
}

std::vector<HostTensor> DataSet::inputsOf(int64_t number) const {
  std::vector<HostTensor> inputs;
  int64_t begin = number * batch, count = std::min(batch, examples - begin);
  for (const HostTensor &tensor : tensors) {
    if (tensor.rank() == 0) {
      inputs.push_back(tensor);
      continue;
    }
    llvm::SmallVector<int64_t> shape(tensor.shape());
    shape[0] = count;
    int64_t bytes = tensor.numBytes() / examples;
    inputs.emplace_back(tensor.elementType(), shape,
                        llvm::ArrayRef<char>(tensor.data() + begin * bytes, static_cast<size_t>(count * bytes)));
  }
  return inputs;
}

//===--- ranges ---===//

template <typename T> static T orStop(llvm::Expected<T> result) {
  if (!result)
    throw Stop(Exit::Failure, llvm::toString(result.takeError()));
  return std::move(*result);
}

static void orStop(llvm::Error error) {
  if (error)
    throw Stop(Exit::Failure, llvm::toString(std::move(error)));
}

/// What the activations of `plan` were over the data. Ends first; a histogram asks for a second look.
static std::map<std::string, onnx::Range> observe(const onnx::OnnxFile &file, const onnx::QuantizePlan &plan,
                                                  const QuantizeFlags &flags, const onnx::CalibrationMethod &method,
                                                  const ScratchFolder &scratch) {
  std::vector<std::string> names;
  onnxfile::Model watched = onnx::withOutputs(file, plan.activations, names);
  orStop(onnx::embedTensors(watched, *file.external));
  orStop(onnx::writeModel(watched, scratch.file("observed.onnx")));
  Model model(scratch.file("observed.onnx"), flags.shared);
  DataSet data(model, flags.data, "--data");
  size_t first = model.outputs().size() - names.size();
  for (size_t i = 0; i < names.size(); ++i)
    if (mlir::RankedTensorType type = model.outputs()[first + i].type; !type.getElementType().isF32())
      throw Stop(Exit::Failure, flags.model + ": requires products of f32, found one of " + describe(type) + " '" +
                                    oneLine(plan.activations[i]) + "', whose node --exclude can name");
  std::vector<onnx::Observed> observed(names.size());
  auto lookAt = [&](auto look) {
    for (int64_t k = 0; k < data.batches(); ++k) {
      std::vector<HostTensor> results = model.run(data.inputsOf(k));
      for (size_t i = 0; i < names.size(); ++i)
        look(i, results[first + i].toFloats());
    }
  };
  lookAt([&](size_t i, const std::vector<double> &numbers) {
    if (!observed[i].addEnds(numbers))
      throw Stop(Exit::Failure, "--data leads to infinities or NaN in '" + oneLine(plan.activations[i]) + "'");
  });
  if (method.kind != onnx::CalibrationMethod::Kind::minmax)
    lookAt([&](size_t i, const std::vector<double> &numbers) { observed[i].addCounts(numbers, method); });
  std::map<std::string, onnx::Range> ranges;
  for (auto [name, seen] : llvm::zip(plan.activations, observed))
    ranges[name] = seen.choose(method);
  return ranges;
}

//===--- what is lost ---===//

namespace {
/// How far an output is from what it was, over all data: its numbers, where both are finite or alike, of calls in which
/// it keeps its sizes (those of a Compress, say, follow from the numbers).
struct Loss {
  double greatest = 0, sum = 0, count = 0, signal = 0, noise = 0, product = 0, power = 0;
  int64_t rows = 0, alike = 0; // of scores: where the same one is the greatest
  int64_t unlike = 0;          // infinities and NaN that are in one of the two alone
  int64_t calls = 0, resized = 0;

  void add(const HostTensor &now, const HostTensor &before);
  std::string tell(const std::string &name) const;
};
} // namespace

/// Scores of classes, one row an example.
static bool areScores(const HostTensor &tensor) { return tensor.isFloat() && tensor.rank() == 2 && tensor.size(1) > 1; }

void Loss::add(const HostTensor &now, const HostTensor &before) {
  ++calls;
  if (now.shape() != before.shape()) {
    ++resized;
    return;
  }
  std::vector<double> x = now.toFloats(), y = before.toFloats();
  for (auto [a, b] : llvm::zip_equal(x, y)) {
    if (!std::isfinite(a) || !std::isfinite(b)) {
      unlike += a != b && !(std::isnan(a) && std::isnan(b));
      continue;
    }
    double difference = std::abs(a - b);
    greatest = std::max(greatest, difference);
    sum += difference;
    noise += difference * difference;
    signal += b * b;
    power += a * a;
    product += a * b;
    ++count;
  }
  if (!areScores(before))
    return;
  for (int64_t row = 0, width = before.size(1); row < before.size(0); ++row) {
    auto best = [&](const std::vector<double> &v) {
      return std::max_element(v.begin() + row * width, v.begin() + (row + 1) * width) - v.begin();
    };
    ++rows;
    alike += best(x) == best(y);
  }
}

std::string Loss::tell(const std::string &name) const {
  std::string text;
  auto add = [&](const char *format, auto... values) {
    char part[100];
    std::snprintf(part, sizeof part, format, values...);
    text += (text.empty() ? ": " : ", ") + std::string(part);
  };
  if (count > 0)
    add("largest difference %.4g, mean %.4g", greatest, sum / count);
  if (noise > 0 && signal > 0)
    add("signal to noise %.1f dB", 10 * std::log10(signal / noise));
  if (signal > 0 && power > 0)
    add("cosine %.6f", product / std::sqrt(signal * power));
  if (rows > 0)
    add("same class for %.2f %% of the examples", 100.0 * static_cast<double>(alike) / static_cast<double>(rows));
  if (unlike > 0)
    add("%lld infinities or NaN differ", static_cast<long long>(unlike));
  if (resized > 0)
    add("other sizes in %lld of %lld calls, which are not compared", static_cast<long long>(resized),
        static_cast<long long>(calls));
  return name + (text.empty() ? ": no numbers" : text);
}

static void tellLoss(const std::string &before, const std::string &after, const QuantizeFlags &flags) {
  Model exact(before, flags.shared), rounded(after, flags.shared);
  bool isOther = !flags.validation.empty();
  DataSet data(exact, isOther ? flags.validation : flags.data, isOther ? "--validation" : "--data");
  std::vector<Loss> losses(exact.outputs().size());
  for (int64_t k = 0; k < data.batches(); ++k) {
    std::vector<HostTensor> inputs = data.inputsOf(k), x = rounded.run(inputs), y = exact.run(inputs);
    for (size_t i = 0; i < losses.size(); ++i)
      losses[i].add(x[i], y[i]);
  }
  std::cout << "over " << data.size() << " examples of " << (isOther ? "--validation" : "--data") << ":\n";
  for (auto [port, loss] : llvm::zip(exact.outputs(), losses))
    std::cout << "  " << loss.tell(oneLine(port.name)) << "\n";
}

//===--- the command ---===//

/// The model as an ONNX file: itself, or what the exporter makes of a graph.
static std::string asOnnx(const QuantizeFlags &flags, const ScratchFolder &scratch) {
  if (flags.model.ends_with(".onnx"))
    return flags.model;
  Model model(flags.model, flags.shared);
  if (!model.graph())
    throw Stop(Exit::Usage, flags.model + ": is compiled already; quantize requires a graph (.onnx, .sinter or .mlir)");
  Diagnostics diagnostics(*model.context());
  std::vector<std::string> unsupported;
  std::string path = scratch.file("graph.onnx");
  if (succeeded(onnx::exportOnnx(model.graph(), path, unsupported)))
    return path;
  throw Stop(Exit::Unsupported, unsupported.empty() ? diagnostics.errors()
                                                    : flags.model + ": cannot be said in ONNX: " + unsupported.front());
}

static Exit quantize(const QuantizeFlags &flags) {
  std::string suffix = fs::path(flags.output).extension().string();
  if (suffix != ".onnx" && suffix != ".sinter" && suffix != ".mlir")
    throw Stop(Exit::Usage,
               "the suffix of " + flags.output + " names no format of graphs; use .onnx, .sinter or .mlir");
  std::optional<onnx::CalibrationMethod> method = onnx::CalibrationMethod::parse(flags.method);
  if (!method)
    throw Stop(Exit::Usage, "--method requires minmax, percentile:P with P above 50 and up to 100, or entropy, got '" +
                                flags.method + "'");
  requireWritable(flags.output, {flags.model},
                  suffix == ".onnx"     ? Kind::Onnx
                  : suffix == ".sinter" ? Kind::Graph
                                        : Kind::Text,
                  flags.force);
  using Form = onnx::QuantizeOptions::Form;
  onnx::QuantizeOptions options;
  options.form = flags.weightsOnly.empty() ? Form::bytes : flags.weightsOnly == "int8" ? Form::int8 : Form::int4;
  options.perChannel = !flags.perTensor;
  if (std::shared_ptr<llvm::Regex> pattern = parsePattern("--exclude", flags.exclude))
    options.excludes = [pattern](llvm::StringRef name) { return pattern->match(name); };

  ScratchFolder scratch;
  std::string before = asOnnx(flags, scratch), after = suffix == ".onnx" ? flags.output : scratch.file("bytes.onnx");
  std::unique_ptr<onnx::OnnxFile> file = orStop(onnx::readOnnxFile(before, onnx::RawData::inside));
  onnx::QuantizePlan plan = orStop(onnx::planQuantization(*file, options));
  std::map<std::string, onnx::Range> ranges;
  if (!plan.activations.empty())
    ranges = observe(*file, plan, flags, *method, scratch);
  orStop(onnx::writeModel(orStop(onnx::quantizeModel(*file, plan, ranges, options)), after));
  if (after != flags.output)
    writeGraphTo(Model(after, flags.shared).graph(), flags.output);
  std::cout << "wrote " << flags.output << " (" << describeBytes(fs::file_size(flags.output))
            << "): " << plan.products.size() << " products, " << plan.activations.size() << " activations in bytes\n";
  tellLoss(before, after, flags);
  return Exit::Success;
}

void sinter::tool::addQuantize(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<QuantizeFlags>();
  CLI::App *command = program.add_subcommand(
      "quantize", "write a model whose products multiply bytes, with ranges seen in data; says what is lost");
  flags->shared.addTo(*command);
  command->add_option("model", flags->model, "model (.onnx, .sinter or .mlir)")->required();
  command->add_option("-o", flags->output, "file to write: .onnx, .sinter or .mlir")->required();
  command
      ->add_option("--data", flags->data,
                   "NAME=@x.npy for each input, examples along the first axis; or other values as for run")
      ->required()
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--validation", flags->validation, "the same, to compare results over (default: --data)")
      ->allow_extra_args(false)
      ->take_all();
  CLI::Option *method =
      command->add_option("--method", flags->method,
                          "how ranges are chosen: minmax (default), percentile:P keeps P % of the numbers, entropy");
  CLI::Option *perTensor = command->add_flag("--per-tensor", flags->perTensor,
                                             "one scale for all of a weight (default: one for each channel)");
  command
      ->add_option("--weights-only", flags->weightsOnly,
                   "int8 or int4: weights of products alone; int4 has a scale for each 32 of a column")
      ->check(CLI::IsMember({"int8", "int4"}))
      ->excludes(method);
  command->add_option("--exclude", flags->exclude, "regular expression of the names of nodes that stay as they are");
  addForce(*command, flags->force);
  command->callback([flags, perTensor, &result] {
    if (flags->weightsOnly == "int4" && perTensor->count() > 0)
      throw Stop(Exit::Usage, "--per-tensor has no effect on --weights-only int4, which has a scale for each 32");
    result = quantize(*flags);
  });
}
