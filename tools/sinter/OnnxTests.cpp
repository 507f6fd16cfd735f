// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's backend tests: a model, and for each data set its inputs and outputs as serialized tensors. A case that
// crashes or hangs is a failed case, whatever is expected of it: it runs in a child process with a time limit.

#include "tools/sinter/OnnxTests.h"
#include "compiler/onnx/TensorData.h"
#include "runtime/dtypes.h"
#include "tools/sinter/Model.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <poll.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace sinter;
using namespace sinter::tool;
namespace fs = std::filesystem;

static void findCases(const fs::path &folder, std::vector<fs::path> &cases) {
  if (fs::is_regular_file(folder / "model.onnx")) {
    cases.push_back(folder);
    return;
  }
  if (!fs::is_directory(folder))
    throw Stop(Exit::Failure, folder.string() + ": requires a folder");
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (entry.is_directory())
      findCases(entry.path(), cases);
}

static Type elementTypeOfOnnx(MLIRContext *context, int32_t type) {
  switch (type) {
  case onnxfile::FLOAT:
    return elementTypeOf(context, SINTER_F32);
  case onnxfile::DOUBLE:
    return elementTypeOf(context, SINTER_F64);
  case onnxfile::FLOAT16:
    return elementTypeOf(context, SINTER_F16);
  case onnxfile::BFLOAT16:
    return elementTypeOf(context, SINTER_BF16);
  case onnxfile::FLOAT8E4M3FN:
    return elementTypeOf(context, SINTER_F8E4M3FN);
  case onnxfile::FLOAT8E5M2:
    return elementTypeOf(context, SINTER_F8E5M2);
  case onnxfile::INT4:
    return elementTypeOf(context, SINTER_I4);
  case onnxfile::UINT4:
    return elementTypeOf(context, SINTER_U4);
  case onnxfile::BOOL:
    return elementTypeOf(context, SINTER_I1);
  case onnxfile::INT8:
    return elementTypeOf(context, SINTER_I8);
  case onnxfile::INT16:
    return elementTypeOf(context, SINTER_I16);
  case onnxfile::INT32:
    return elementTypeOf(context, SINTER_I32);
  case onnxfile::INT64:
    return elementTypeOf(context, SINTER_I64);
  case onnxfile::UINT8:
    return elementTypeOf(context, SINTER_U8);
  case onnxfile::UINT16:
    return elementTypeOf(context, SINTER_U16);
  case onnxfile::UINT32:
    return elementTypeOf(context, SINTER_U32);
  case onnxfile::UINT64:
    return elementTypeOf(context, SINTER_U64);
  }
  return nullptr;
}

static HostTensor readTensor(MLIRContext *context, const fs::path &path) {
  llvm::Expected<onnx::TensorData> data = onnx::readTensorFile(path.string());
  if (!data)
    throw Stop(Exit::Failure, path.filename().string() + ": " + llvm::toString(data.takeError()));
  Type type = elementTypeOfOnnx(context, data->type);
  if (!type)
    throw Stop(Exit::Failure, path.filename().string() + ": has element type " + onnx::dataTypeName(data->type));
  return HostTensor(type, data->dims, data->bytes);
}

/// The data sets have the bits of bf16 tensors as ui16.
static HostTensor asDeclared(HostTensor tensor, RankedTensorType type) {
  if (type.getElementType().isBF16() && tensor.elementType().isUnsignedInteger(16))
    return HostTensor(type.getElementType(), tensor.shape(),
                      llvm::ArrayRef<char>(tensor.data(), static_cast<size_t>(tensor.numBytes())));
  return tensor;
}

static std::vector<fs::path> numbered(const fs::path &folder, const std::string &stem) {
  std::vector<fs::path> files;
  for (int i = 0; fs::exists(folder / (stem + std::to_string(i) + ".pb")); ++i)
    files.push_back(folder / (stem + std::to_string(i) + ".pb"));
  return files;
}

/// Runs all data sets of a case; throws Stop with the reason of a failure.
static void runCase(const fs::path &folder, bool reference, const SharedOptions &options) {
  Model model((folder / "model.onnx").string(), options);
  std::vector<fs::path> sets;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      sets.push_back(entry.path());
  std::sort(sets.begin(), sets.end());
  if (sets.empty())
    throw Stop(Exit::Failure, "requires a test_data_set_* folder");
  for (const fs::path &set : sets) {
    std::vector<HostTensor> inputs, expected;
    for (const fs::path &file : numbered(set, "input_"))
      inputs.push_back(readTensor(model.context(), file));
    for (const fs::path &file : numbered(set, "output_"))
      expected.push_back(readTensor(model.context(), file));
    if (inputs.size() != model.inputs().size())
      throw Stop(Exit::Failure, "the model takes " + std::to_string(model.inputs().size()) +
                                    " inputs, the data set has " + std::to_string(inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = asDeclared(inputs[i], model.inputs()[i].type);
      if (!agree(inputs[i].tensorType(), model.inputs()[i].type))
        throw Stop(Exit::Failure, "input '" + model.inputs()[i].name + "' requires " +
                                      describe(model.inputs()[i].type) + ", the data set has " + describe(inputs[i]));
    }
    std::vector<HostTensor> actual = reference ? model.runReference(inputs) : model.run(inputs);
    if (actual.size() < expected.size())
      throw Stop(Exit::Failure,
                 "gives " + std::to_string(actual.size()) + " outputs, expected " + std::to_string(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i) {
      std::string name = "output '" + model.outputs()[i].name + "'";
      expected[i] = asDeclared(expected[i], model.outputs()[i].type);
      if (actual[i].tensorType() != expected[i].tensorType())
        throw Stop(Exit::Mismatch, name + " is " + describe(actual[i]) + ", expected " + describe(expected[i]));
      // The tolerances of ONNX's own runner.
      Difference difference = compare(actual[i], expected[i], 1e-3, 1e-7);
      if (difference.mismatches)
        throw Stop(Exit::Mismatch, name + " differs in " + std::to_string(difference.mismatches) + " of " +
                                       std::to_string(expected[i].numElements()) + " elements, by up to " +
                                       std::to_string(difference.absolute));
    }
  }
}

namespace {
struct Running {
  pid_t pid;
  int output; // read end of the pipe that carries the reason
  size_t index;
};
struct Outcome {
  bool passed = false, crashed = false; // or hung
  std::string reason;
};
} // namespace

static Running start(size_t index, const fs::path &folder, const OnnxTestOptions &tests, const SharedOptions &options) {
  int ends[2];
  if (pipe(ends) != 0)
    throw Stop(Exit::Failure, std::string("cannot make a pipe: ") + std::strerror(errno));
  std::cout.flush();
  pid_t pid = fork();
  if (pid < 0)
    throw Stop(Exit::Failure, std::string("cannot start a process: ") + std::strerror(errno));
  if (pid > 0) {
    close(ends[1]);
    return {pid, ends[0], index};
  }
  close(ends[0]);
  alarm(tests.timeLimit);
  std::string reason;
  int code = 0;
  try {
    runCase(folder, tests.reference, options);
  } catch (const Stop &stop) {
    reason = stop.what();
    code = stop.code == Exit::Internal ? static_cast<int>(Exit::Internal) : 1;
  } catch (const std::exception &error) {
    reason = error.what();
    code = 1;
  }
  std::replace(reason.begin(), reason.end(), '\n', ';');
  if (write(ends[1], reason.data(), std::min<size_t>(reason.size(), 4000)) < 0)
    code = 1;
  _exit(code);
}

static Outcome finish(const Running &child, int timeLimit) {
  Outcome outcome;
  char buffer[4096];
  ssize_t got;
  while ((got = read(child.output, buffer, sizeof buffer)) > 0)
    outcome.reason.append(buffer, got);
  close(child.output);
  int status = 0;
  waitpid(child.pid, &status, 0);
  // A fatal signal ends the child with that code, too.
  outcome.crashed =
      WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(Exit::Internal));
  if (WIFSIGNALED(status))
    outcome.reason = WTERMSIG(status) == SIGALRM ? "took more than " + std::to_string(timeLimit) + " s"
                                                 : std::string("crashed: ") + strsignal(WTERMSIG(status));
  if (outcome.crashed && outcome.reason.empty())
    outcome.reason = "crashed";
  outcome.passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return outcome;
}

static std::map<std::string, std::string> readExpectedFailures(const std::string &path) {
  std::map<std::string, std::string> names;
  if (path.empty())
    return names;
  std::ifstream file(path);
  if (!file)
    throw Stop(Exit::Failure, path + ": cannot be read");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    std::istringstream words(line);
    std::string name, reason;
    words >> name;
    std::getline(words >> std::ws, reason);
    if (reason.empty())
      throw Stop(Exit::Failure, path + ": '" + name + "' requires a reason");
    names[name] = reason;
  }
  return names;
}

Exit sinter::tool::runOnnxTests(const OnnxTestOptions &tests, const SharedOptions &options) {
  std::vector<fs::path> cases;
  for (const std::string &folder : tests.folders)
    findCases(folder, cases);
  std::sort(cases.begin(), cases.end());
  if (cases.empty())
    throw Stop(Exit::Failure, "no folder with a model.onnx was found");
  std::map<std::string, std::string> expected = readExpectedFailures(tests.expectedFailures);

  SharedOptions single = options;
  if (!single.threads)
    single.threads = 1; // the cases are what runs in parallel
  std::vector<Outcome> outcomes(cases.size());
  std::vector<Running> running;
  size_t next = 0;
  while (next < cases.size() || !running.empty()) {
    while (next < cases.size() && running.size() < static_cast<size_t>(tests.jobs)) {
      running.push_back(start(next, cases[next], tests, single));
      ++next;
    }
    std::vector<pollfd> polled;
    for (const Running &child : running)
      polled.push_back({child.output, POLLIN, 0});
    poll(polled.data(), polled.size(), -1);
    for (size_t i = running.size(); i-- > 0;)
      if (polled[i].revents) {
        outcomes[running[i].index] = finish(running[i], tests.timeLimit);
        running.erase(running.begin() + i);
      }
  }

  int passed = 0, failed = 0, skipped = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string name = (cases[i].parent_path().filename() / cases[i].filename()).string();
    auto known = expected.find(name);
    const char *word = "PASS";
    std::string reason = outcomes[i].reason;
    if (known != expected.end()) {
      if (outcomes[i].passed) {
        word = "FAIL";
        reason = "passes, but is listed as an expected failure: " + known->second;
        ++failed;
      } else if (outcomes[i].crashed) { // nothing that is expected
        word = "FAIL";
        ++failed;
      } else {
        word = "SKIP";
        reason = "expected: " + known->second;
        ++skipped;
      }
      expected.erase(known);
    } else if (outcomes[i].passed) {
      ++passed;
    } else {
      word = "FAIL";
      ++failed;
    }
    std::cout << word << " " << name << (reason.empty() ? "" : " (" + reason + ")") << "\n";
  }
  std::cout << passed << " passed, " << failed << " failed, " << skipped << " skipped\n";
  return failed ? Exit::Mismatch : Exit::Success;
}
