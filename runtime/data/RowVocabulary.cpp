// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowVocabulary.h"
#include <functional>
#include <memory>

namespace sinter::data {

RowVocabulary::RowVocabulary(Options options) : options(options) {
  checkOptions();
  uses.resize(static_cast<size_t>(options.rows));
  findFree();
}

void RowVocabulary::checkOptions() const {
  if (options.rows < 2 || options.rows > int64_t(1) << 32)
    throw Error(SINTER_INVALID_ARGUMENT,
                "a vocabulary of rows requires 2 to 2^32 rows, got " + std::to_string(options.rows));
  if (options.admitAfter < 1 || options.candidates < 1)
    throw Error(SINTER_INVALID_ARGUMENT, "a vocabulary of rows requires an occurrence and a candidate or more, got " +
                                             std::to_string(options.admitAfter) + " and " +
                                             std::to_string(options.candidates));
}

void RowVocabulary::findFree() {
  free.clear();
  for (int64_t row = 1; row < options.rows; ++row) // ascending is a heap
    if (uses[static_cast<size_t>(row)].count == 0)
      free.push_back(row);
}

/// Counts an id without a row; its row if it has one now, else 0.
int64_t RowVocabulary::admit(int64_t id) {
  int64_t count = std::max<int64_t>(candidates.find(id), 0) + 1;
  if (count >= options.admitAfter && !free.empty()) {
    candidates.erase(id);
    std::pop_heap(free.begin(), free.end(), std::greater<>());
    int64_t row = free.back();
    free.pop_back();
    rowOf.insert(id, row);
    uses[static_cast<size_t>(row)] = {id, count, batch};
    return row;
  }
  ++refused;
  candidates.insert(id, count);
  if (candidates.size() >= options.candidates) {
    RowMap kept;
    candidates.each([&](int64_t other, int64_t times) {
      if (times > 1)
        kept.insert(other, times / 2);
    });
    candidates = std::move(kept);
  }
  return 0;
}

void RowVocabulary::rowsOf(std::span<const int64_t> ids, std::span<int64_t> rows, bool learns) {
  if (ids.size() != rows.size())
    throw Error(SINTER_INVALID_ARGUMENT, "rowsOf requires a place for each of " + std::to_string(ids.size()) +
                                             " ids, got " + std::to_string(rows.size()));
  batch += learns;
  for (size_t i = 0; i < ids.size(); ++i) {
    int64_t row = rowOf.find(ids[i]);
    if (row >= 0 && learns) {
      ++uses[static_cast<size_t>(row)].count;
      uses[static_cast<size_t>(row)].seen = batch;
    }
    rows[i] = row >= 0 ? row : learns ? admit(ids[i]) : 0;
  }
}

std::vector<int64_t> RowVocabulary::evict(const Eviction &which) {
  std::vector<int64_t> rows;
  for (int64_t row = 1; row < options.rows; ++row) {
    Use &use = uses[static_cast<size_t>(row)];
    if (use.count == 0 || use.count >= which.count || batch - use.seen < which.age)
      continue;
    rowOf.erase(use.id);
    use = {};
    rows.push_back(row);
  }
  findFree();
  return rows;
}

void RowVocabulary::save(const std::string &path) const {
  std::vector<int64_t> settings = {options.rows, options.admitAfter, options.candidates, batch}, ids, rows, counts,
                       seen, others, times;
  for (int64_t row = 1; row < options.rows; ++row)
    if (const Use &use = uses[static_cast<size_t>(row)]; use.count) {
      ids.push_back(use.id);
      rows.push_back(row);
      counts.push_back(use.count);
      seen.push_back(use.seen);
    }
  std::vector<std::pair<int64_t, int64_t>> sorted; // the same file for the same vocabulary
  candidates.each([&](int64_t id, int64_t count) { sorted.emplace_back(id, count); });
  std::sort(sorted.begin(), sorted.end());
  for (auto [id, count] : sorted) {
    others.push_back(id);
    times.push_back(count);
  }
  std::vector<const char *> names = {"settings", "ids", "rows", "counts", "seen", "candidates", "occurrences"};
  std::vector<sinter_tensor> tensors;
  for (std::vector<int64_t> *values : {&settings, &ids, &rows, &counts, &seen, &others, &times})
    tensors.push_back({.data = values->data(),
                       .dtype = SINTER_I64,
                       .rank = 1,
                       .dims = {static_cast<int64_t>(values->size())},
                       .strides = nullptr});
  check(sinter_safetensors_write(path.c_str(), names.data(), tensors.data(), static_cast<int32_t>(names.size())));
}

RowVocabulary::RowVocabulary(const std::string &path) {
  sinter_safetensors *opened;
  check(sinter_safetensors_open(path.c_str(), &opened));
  std::unique_ptr<sinter_safetensors, void (*)(sinter_safetensors *)> file(opened, sinter_safetensors_close);
  auto read = [&](const char *name) {
    sinter_tensor found = {};
    check(sinter_safetensors_read(opened, name, &found));
    std::unique_ptr<sinter_tensor, void (*)(sinter_tensor *)> owner(&found, sinter_tensor_free);
    if (found.dtype != SINTER_I64 || found.rank != 1)
      throw Error(SINTER_CORRUPT, "tensor '" + std::string(name) + "' requires i64 [n]", {path});
    auto *begin = static_cast<const int64_t *>(found.data);
    return std::vector<int64_t>(begin, begin + found.dims[0]);
  };
  auto require = [&](bool holds, const char *what) {
    if (!holds)
      throw Error(SINTER_CORRUPT, std::string("is no vocabulary of rows: ") + what, {path});
  };
  std::vector<int64_t> settings = read("settings"), ids = read("ids"), rows = read("rows"), counts = read("counts"),
                       seen = read("seen"), others = read("candidates"), times = read("occurrences");
  require(settings.size() == 4, "it requires four settings");
  options = {.rows = settings[0], .admitAfter = settings[1], .candidates = settings[2]};
  batch = settings[3];
  checkOptions();
  require(ids.size() == rows.size() && ids.size() == counts.size() && ids.size() == seen.size() &&
              others.size() == times.size(),
          "sizes differ");
  uses.resize(static_cast<size_t>(options.rows));
  for (size_t i = 0; i < ids.size(); ++i) {
    require(rows[i] > 0 && rows[i] < options.rows && uses[static_cast<size_t>(rows[i])].count == 0 &&
                rowOf.find(ids[i]) < 0 && counts[i] > 0 && seen[i] <= batch,
            "an id or a row comes twice, or a number is out of range");
    rowOf.insert(ids[i], rows[i]);
    uses[static_cast<size_t>(rows[i])] = {ids[i], counts[i], seen[i]};
  }
  for (size_t i = 0; i < others.size(); ++i) {
    require(times[i] > 0, "a candidate was never seen");
    candidates.insert(others[i], times[i]);
  }
  findFree();
}

} // namespace sinter::data
