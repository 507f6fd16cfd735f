// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowVocabulary.h"
#include <functional>
#include <memory>

namespace sinter::data {

/// Occurrences and batches of files are fewer, so that counting on does not overflow.
static constexpr int64_t mostCounted = int64_t(1) << 62;

RowVocabulary::RowVocabulary(Options options) : options(options), free({{1, options.rows}}) { checkOptions(); }

void RowVocabulary::checkOptions() const {
  if (options.rows < 2 || options.rows > int64_t(1) << 32)
    throw Error(SINTER_INVALID_ARGUMENT,
                "a vocabulary of rows requires 2 to 2^32 rows, got " + std::to_string(options.rows));
  if (options.admitAfter < 1 || options.candidates < 1)
    throw Error(SINTER_INVALID_ARGUMENT, "a vocabulary of rows requires an occurrence and a candidate or more, got " +
                                             std::to_string(options.admitAfter) + " and " +
                                             std::to_string(options.candidates));
}

/// The lowest row that is free. There is one.
int64_t RowVocabulary::takeFree() {
  std::pop_heap(free.begin(), free.end(), std::greater<>());
  int64_t row = free.back().first++;
  if (free.back().first == free.back().second)
    free.pop_back();
  else
    std::push_heap(free.begin(), free.end(), std::greater<>());
  return row;
}

/// Counts an id without a row; its row if it has one now, else 0.
int64_t RowVocabulary::admit(int64_t id) {
  int64_t count = std::max<int64_t>(candidates.find(id), 0) + 1;
  if (count >= options.admitAfter && !free.empty()) {
    candidates.erase(id);
    useOf.insert(id, size());
    uses.push_back({takeFree(), id, count, batch});
    return uses.back().row;
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
    int64_t at = useOf.find(ids[i]);
    if (at < 0) {
      rows[i] = learns ? admit(ids[i]) : 0;
      continue;
    }
    Use &use = uses[static_cast<size_t>(at)];
    rows[i] = use.row;
    if (learns) {
      ++use.count;
      use.seen = batch;
    }
  }
}

std::vector<int64_t> RowVocabulary::evict(const Eviction &which) {
  std::vector<int64_t> rows;
  size_t kept = 0;
  for (const Use &use : uses)
    if (use.count < which.count && batch - use.seen >= which.age) {
      rows.push_back(use.row);
      useOf.erase(use.id);
    } else {
      useOf.insert(use.id, static_cast<int64_t>(kept));
      uses[kept++] = use;
    }
  uses.resize(kept);
  std::sort(rows.begin(), rows.end());
  for (int64_t row : rows) {
    free.emplace_back(row, row + 1);
    std::push_heap(free.begin(), free.end(), std::greater<>());
  }
  return rows;
}

void RowVocabulary::save(const std::string &path) const {
  std::vector<int64_t> settings = {options.rows, options.admitAfter, options.candidates, batch}, ids, rows, counts,
                       seen, others, times;
  std::vector<Use> byRow = uses;
  std::sort(byRow.begin(), byRow.end(), [](const Use &a, const Use &b) { return a.row < b.row; });
  for (const Use &use : byRow) {
    ids.push_back(use.id);
    rows.push_back(use.row);
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
  try {
    checkOptions();
  } catch (const Error &error) {
    throw Error(SINTER_CORRUPT, error.what(), {path});
  }
  auto isCount = [](int64_t count) { return count > 0 && count < mostCounted; };
  require(batch >= 0 && batch < mostCounted, "its number of batches is out of range");
  require(ids.size() == rows.size() && ids.size() == counts.size() && ids.size() == seen.size() &&
              others.size() == times.size(),
          "sizes differ");
  int64_t next = 1; // rows ascend, and those between them are free
  for (size_t i = 0; i < ids.size(); ++i) {
    require(rows[i] >= next && rows[i] < options.rows && useOf.find(ids[i]) < 0 && isCount(counts[i]) && seen[i] >= 0 &&
                seen[i] <= batch,
            "an id or a row comes twice, or a number is out of range");
    useOf.insert(ids[i], size());
    uses.push_back({rows[i], ids[i], counts[i], seen[i]});
    if (rows[i] > next)
      free.emplace_back(next, rows[i]);
    next = rows[i] + 1;
  }
  if (next < options.rows)
    free.emplace_back(next, options.rows); // ascending is a heap
  for (size_t i = 0; i < others.size(); ++i) {
    require(isCount(times[i]) && useOf.find(others[i]) < 0 && candidates.find(others[i]) < 0,
            "a candidate comes twice, or a number is out of range");
    candidates.insert(others[i], times[i]);
  }
}

} // namespace sinter::data
