// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../decimal.h"
#include "Crc32c.h"
#include "Dataset.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace sinter::data;

static constexpr int64_t stateMagic = 0x3154415453444E53; // "SNDSTAT1"

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool Loader::next(Record &record) {
  double begin = now();
  if (lastReturn >= 0)
    outside += begin - lastReturn;
  struct Timer { // also where next() throws
    Loader &loader;
    double begin;
    ~Timer() {
      loader.lastReturn = now();
      loader.inside += loader.lastReturn - begin;
    }
  } timer{*this, begin};
  bool isThere = iterator->next(record);
  records += isThere;
  return isThere;
}

std::string Loader::save() const {
  StateWriter stages, writer;
  iterator->save(stages);
  writer.number(stateMagic);
  writer.text(signature);
  writer.number(records);
  writer.text(stages.take());
  std::string state = writer.take();
  uint32_t crc = crc32c(state);
  state.append(reinterpret_cast<const char *>(&crc), sizeof crc);
  return state;
}

void Loader::load(std::string_view state) {
  if (records || lastReturn >= 0)
    throw Error(SINTER_INVALID_ARGUMENT, "loading a state requires a loader that has read nothing");
  uint32_t crc = 0;
  if (state.size() >= sizeof crc)
    std::memcpy(&crc, state.data() + state.size() - sizeof crc, sizeof crc);
  std::string_view content = state.substr(0, state.size() - std::min(state.size(), sizeof crc));
  if (content.size() < 8 || crc32c(content) != crc)
    throw Error(SINTER_CORRUPT, "a pipeline's state is damaged: its checksum does not fit");
  StateReader reader(content);
  if (reader.number() != stateMagic)
    throw Error(SINTER_UNSUPPORTED, "a pipeline's state is of a version that this library does not read");
  std::string_view saved = reader.text();
  if (saved != signature)
    throw Error(SINTER_INVALID_ARGUMENT,
                "a pipeline's state requires the pipeline '" + std::string(saved) + "', got '" + signature + "'");
  records = reader.number(INT64_MAX);
  StateReader stages(reader.text());
  iterator->load(stages);
}

std::vector<StageStatistics> Loader::statistics() const {
  std::vector<StageStatistics> stages;
  iterator->report(stages);
  stages.push_back({.stage = "loader", .records = records, .secondsForData = inside, .secondsForConsumer = outside});
  return stages;
}

int64_t Loader::skipped() const {
  int64_t all = 0;
  for (const StageStatistics &stage : statistics())
    all += stage.skipped;
  return all;
}

std::string sinter::data::describe(const std::vector<StageStatistics> &statistics) {
  PlainNumbers plain;
  std::string text = "stage            records    skipped   for data    for compute\n";
  for (const StageStatistics &stage : statistics) {
    char line[128];
    std::snprintf(line, sizeof line, "%-14s %9lld %10lld %8.3f s %12.3f s\n", stage.stage.c_str(),
                  static_cast<long long>(stage.records), static_cast<long long>(stage.skipped), stage.secondsForData,
                  stage.secondsForConsumer);
    text += line;
  }
  const StageStatistics &whole = statistics.back();
  bool isData = whole.secondsForData > whole.secondsForConsumer;
  char line[128];
  std::snprintf(line, sizeof line, "%.0f %% of the time waits for %s\n",
                100 * std::max(whole.secondsForData, whole.secondsForConsumer) /
                    std::max(whole.secondsForData + whole.secondsForConsumer, 1e-9),
                isData ? "data" : "compute");
  return text + line;
}
