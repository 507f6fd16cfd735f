// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checkpoints.h"
#include "../data/Crc32c.h"
#include "../data/State.h"
#include "../data/Value.h"
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <unistd.h>

using namespace sinter;
using namespace sinter::train;
namespace fs = std::filesystem;

static const char kPosition[] = "trainer.position", kChecksum[] = "trainer.crc32c";

//===- Writing --------------------------------------------------------------------------------------------------===//

static std::string encode(const Position &position) {
  data::StateWriter writer;
  writer.number(1); // version
  writer.number(position.step);
  writer.text(position.dataSignature);
  writer.text(position.data);
  writer.number(std::bit_cast<int64_t>(position.best));
  writer.number(position.bestStep);
  writer.number(position.worse);
  return writer.take();
}

static void writeFile(const std::string &path, std::span<sinter_session *const> sessions, const Position &position) {
  std::map<std::string, sinter_tensor> tensors;
  for (sinter_session *session : sessions)
    for (int32_t s = 0; s < sinter_session_num_states(session); ++s) {
      const char *name = sinter_session_state_name(session, s);
      data::check(sinter_session_state_get(session, name, &tensors[name]));
    }
  std::string text = encode(position);
  data::Value bytes = data::Value::of(std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size()),
                                      {static_cast<int64_t>(text.size())});
  tensors[kPosition] = bytes.tensor();
  uint32_t crc = 0;
  for (const auto &[name, tensor] : tensors)
    crc = data::crc32c(name, tensor, crc);
  data::Value sum = data::Value::scalar(crc);
  tensors[kChecksum] = sum.tensor();
  std::vector<const char *> names;
  std::vector<sinter_tensor> list;
  for (const auto &[name, tensor] : tensors) {
    names.push_back(name.c_str());
    list.push_back(tensor);
  }
  data::check(sinter_safetensors_write(path.c_str(), names.data(), list.data(), static_cast<int32_t>(list.size())));
}

/// The step that the name of a checkpoint says, or -1.
static int64_t stepOf(const std::string &name) {
  long long step;
  int end = 0;
  if (std::sscanf(name.c_str(), "step-%12lld.safetensors%n", &step, &end) == 1 && end > 0 && name[size_t(end)] == 0 &&
      step >= 0)
    return step;
  return -1;
}

std::vector<std::string> Checkpoints::list(const std::string &folder) {
  std::vector<std::pair<int64_t, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (int64_t step = stepOf(at->path().filename().string()); step >= 0)
      found.emplace_back(step, at->path().string());
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> paths;
  for (auto &[step, path] : found)
    paths.push_back(std::move(path));
  return paths;
}

Checkpoints::Checkpoints(std::string path, int64_t keep, bool goesOn) : folder(std::move(path)), keep(keep) {
  if (keep < 1)
    throw data::Error(SINTER_INVALID_ARGUMENT, "checkpoints require 1 or more to keep, got " + std::to_string(keep));
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error && access(folder.c_str(), W_OK | X_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  if (error)
    throw data::Error(SINTER_IO, "cannot write checkpoints to '" + folder + "': " + error.message());
  if (!goesOn && !list(folder).empty())
    throw data::Error(SINTER_INVALID_ARGUMENT, "checkpoints of a new training require a folder without any, " +
                                                   list(folder)[0] + " is there; resume from it or remove it");
}

void Checkpoints::write(std::span<sinter_session *const> sessions, const Position &position) const {
  char name[64];
  std::snprintf(name, sizeof name, "step-%012lld.safetensors", static_cast<long long>(position.step));
  writeFile((fs::path(folder) / name).string(), sessions, position);
  int64_t kept = 0;
  for (const std::string &path : list(folder)) {
    bool isLater = stepOf(fs::path(path).filename().string()) > position.step;
    if (isLater || kept == keep)
      unlink(path.c_str());
    else
      ++kept;
  }
}

/// Whether a name is one of rowsBeside's, of whatever step.
static bool isRowsOfBest(const std::string &name) {
  long long step;
  int end = 0;
  return std::sscanf(name.c_str(), "best-%12lld-%n", &step, &end) == 1 && end == sizeof "best-000000000000-" - 1 &&
         name.ends_with(".safetensors");
}

void Checkpoints::writeBest(std::span<sinter_session *const> sessions, const Position &position) const {
  writeFile((fs::path(folder) / "best.safetensors").string(), sessions, position);
  std::string rows = rowsOfBest(position.step, "");
  std::vector<fs::path> old;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (std::string path = at->path().string(); isRowsOfBest(at->path().filename().string()) && !path.starts_with(rows))
      old.push_back(at->path());
  for (const fs::path &path : old)
    fs::remove(path, error);
}

std::string Checkpoints::rowsOfBest(int64_t step, const std::string &input) const {
  return rowsBeside(folder, step, input);
}

std::string sinter::train::rowsBeside(const std::string &folder, int64_t step, std::string input) {
  char name[32];
  std::snprintf(name, sizeof name, "best-%012lld-", static_cast<long long>(step));
  std::replace(input.begin(), input.end(), '/', '_');
  return (fs::path(folder) / (name + input)).string();
}

//===- Reading --------------------------------------------------------------------------------------------------===//

namespace {
struct FileCloser {
  void operator()(sinter_safetensors *file) const { sinter_safetensors_close(file); }
};
} // namespace

static data::Value readTensor(const sinter_safetensors *file, const char *name) {
  sinter_tensor tensor;
  data::check(sinter_safetensors_read(file, name, &tensor));
  return data::Value::take(tensor);
}

/// Where the training was that wrote a file. Throws SINTER_CORRUPT where that is not as it was written.
static Position readPosition(const std::string &path) {
  sinter_safetensors *opened;
  data::check(sinter_safetensors_open(path.c_str(), &opened));
  std::unique_ptr<sinter_safetensors, FileCloser> file(opened);
  std::vector<std::string> names;
  bool isCheckpoint = false;
  for (int32_t t = 0; t < sinter_safetensors_count(opened); ++t) {
    names.emplace_back(sinter_safetensors_name(opened, t));
    isCheckpoint |= names.back() == kChecksum;
  }
  if (!isCheckpoint)
    return {};
  std::sort(names.begin(), names.end());
  uint32_t crc = 0;
  for (const std::string &name : names)
    if (name != kChecksum) {
      data::Value value = readTensor(opened, name.c_str());
      crc = data::crc32c(name, value.tensor(), crc);
    }
  data::Value sum = readTensor(opened, kChecksum);
  if (sum.dtype() != SINTER_U32 || sum.count() != 1 || sum.as<uint32_t>()[0] != crc)
    throw data::Error(SINTER_CORRUPT, "checkpoint '" + path + "' requires the checksum of its tensors");
  data::Value text = readTensor(opened, kPosition);
  data::StateReader reader({text.data(), static_cast<size_t>(text.count())});
  if (int64_t version = reader.number(); version != 1)
    throw data::Error(SINTER_UNSUPPORTED,
                      "checkpoint '" + path + "' requires version 1, got " + std::to_string(version));
  Position position;
  position.step = reader.number(INT64_MAX);
  position.dataSignature = reader.text();
  position.data = reader.text();
  position.best = std::bit_cast<double>(reader.number());
  position.bestStep = reader.number();
  position.worse = reader.number();
  return position;
}

int64_t sinter::train::stepOfStates(const std::string &path) {
  if (Position position = readPosition(path); position.step >= 0)
    return position.step;
  sinter_safetensors *opened;
  data::check(sinter_safetensors_open(path.c_str(), &opened));
  std::unique_ptr<sinter_safetensors, FileCloser> file(opened);
  auto count = [&](const char *name) -> std::optional<int64_t> {
    for (int32_t t = 0; t < sinter_safetensors_count(opened); ++t)
      if (std::strcmp(sinter_safetensors_name(opened, t), name) == 0) {
        data::Value value = readTensor(opened, name);
        if (value.dtype() == SINTER_I64 && value.count() == 1)
          return value.as<int64_t>()[0];
      }
    return std::nullopt;
  };
  std::optional<int64_t> batches = count(kBatchesState), steps = batches ? batches : count(kStepState);
  return steps ? *steps + count(kSkippedState).value_or(0) : -1;
}

Position sinter::train::resume(sinter_session *session, const std::string &path,
                               const std::function<void(const std::string &)> &warn) {
  bool isFolder = fs::is_directory(path);
  std::vector<std::string> paths = isFolder ? Checkpoints::list(path) : std::vector{path};
  if (paths.empty())
    throw data::Error(SINTER_INVALID_ARGUMENT, "resuming requires a checkpoint, '" + path + "' has none");
  for (size_t i = 0;; ++i) {
    try {
      Position position = readPosition(paths[i]);
      data::check(sinter_session_load(session, paths[i].c_str()));
      return position;
    } catch (const data::Error &error) {
      if (error.code() != SINTER_CORRUPT || i + 1 == paths.size())
        throw;
      warn(std::string(error.what()) + "; going on from '" + paths[i + 1] + "'");
    }
  }
}
