// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Config.h"
#include "../data/File.h"
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::train;
using Json = nlohmann::json;

namespace {
/// One field: sets it from a value, or says what the value was required to be.
struct Field {
  const char *name;
  std::function<const char *(const Json &, Config &)> set;
};
} // namespace

static const char *read(const Json &value, std::string &to) {
  if (!value.is_string())
    return "a string";
  to = value.get<std::string>();
  return nullptr;
}

/// Counts, not negative; seeds are any number of 64 bits.
template <typename T> static const char *readCount(const Json &value, T &to) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t(INT64_MAX))
    return "an integer of 0 or more";
  to = static_cast<T>(value.get<uint64_t>());
  return nullptr;
}

static const char *read(const Json &value, double &to) {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    return "a number";
  to = value.get<double>();
  return nullptr;
}

static const char *read(const Json &value, std::vector<std::string> &to) {
  bool isList = value.is_array();
  for (const Json &text : value)
    isList &= text.is_string();
  if (!isList)
    return "a list of strings";
  to = value.get<std::vector<std::string>>();
  return nullptr;
}

static const char *read(const Json &value, std::map<std::string, std::string> &to) {
  if (!value.is_object())
    return "an object of strings and numbers";
  to.clear();
  for (const auto &[name, text] : value.items()) {
    if (!text.is_string() && !text.is_number())
      return "an object of strings and numbers";
    to[name] = text.is_string() ? text.get<std::string>() : text.dump();
  }
  return nullptr;
}

#define SINTER_FIELD(NAME, MEMBER)                                                                                     \
  Field {                                                                                                              \
    NAME, [](const Json &value, Config &config) { return read(value, config.MEMBER); }                                 \
  }
#define SINTER_COUNT(NAME, MEMBER)                                                                                     \
  Field {                                                                                                              \
    NAME, [](const Json &value, Config &config) { return readCount(value, config.MEMBER); }                            \
  }
static const Field kFields[] = {
    SINTER_FIELD("data", data),
    SINTER_FIELD("rows", rows),
    SINTER_FIELD("columns", columns),
    SINTER_COUNT("batch", batch),
    SINTER_COUNT("shuffle", shuffle),
    SINTER_COUNT("seed", seed),
    SINTER_COUNT("memory_bytes", memoryBytes),
    SINTER_COUNT("epochs", epochs),
    SINTER_COUNT("steps", steps),
    SINTER_COUNT("threads", threads),
    SINTER_FIELD("memory_folder", memoryFolder),
    SINTER_FIELD("validation", validation),
    SINTER_FIELD("validation_share", validationShare),
    SINTER_COUNT("validation_seed", validationSeed),
    SINTER_FIELD("metrics", metrics),
    SINTER_COUNT("validate_every", validateEvery),
    SINTER_FIELD("stop_on", stopOn),
    SINTER_COUNT("patience", patience),
    SINTER_FIELD("min_delta", minDelta),
    SINTER_FIELD("save", save),
    SINTER_COUNT("save_every", saveEvery),
    SINTER_FIELD("checkpoints", checkpoints),
    SINTER_COUNT("keep", keep),
    SINTER_FIELD("resume", resume),
    SINTER_FIELD("curves", curves),
    SINTER_FIELD("events", events),
};
#undef SINTER_FIELD
#undef SINTER_COUNT

void sinter::train::readConfig(std::string_view text, const std::string &name, Config &config) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (!json.is_object())
    throw data::Error(SINTER_CORRUPT, name + ": a configuration requires an object of JSON");
  for (const auto &[key, value] : json.items()) {
    const Field *found = nullptr;
    std::string names;
    for (const Field &field : kFields) {
      names += (names.empty() ? "" : ", ") + std::string(field.name);
      found = key == field.name ? &field : found;
    }
    if (!found)
      throw data::Error(SINTER_INVALID_ARGUMENT, name + ": a configuration has no '" + key + "'; it has " + names);
    if (const char *wanted = found->set(value, config))
      throw data::Error(SINTER_INVALID_ARGUMENT, name + ": '" + key + "' requires " + wanted + ", got " + value.dump());
  }
}

void sinter::train::loadConfig(const std::string &path, Config &config) {
  data::File file(path);
  if (file.size() > 1 << 20)
    throw data::Error(SINTER_INVALID_ARGUMENT,
                      path + ": a configuration requires at most 1 MiB, got " + std::to_string(file.size()) + " bytes");
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.readAt(0, text.data(), file.size());
  readConfig(text, path, config);
}
