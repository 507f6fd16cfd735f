// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowTable.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <unistd.h>

using namespace sinter;
using namespace sinter::train;

namespace {
/// What is said of a table. What is not is at its default.
class Settings {
public:
  Settings(const std::string &input, const std::string &text) : front("rows of input '" + input + "' ") {
    size_t end = std::min(text.find(','), text.size());
    if (text.empty() || text[0] != '@' || end < 2)
      refuse("require @FOLDER,table=STATE,rows=N, got '" + text + "'");
    folder = text.substr(1, end - 1);
    while (end < text.size()) {
      size_t begin = end + 1, equals = text.find('=', begin);
      end = std::min(text.find(',', begin), text.size());
      if (equals >= end)
        refuse("require NAME=VALUE after the folder, got '" + text.substr(begin, end - begin) + "'");
      std::string name = text.substr(begin, equals - begin);
      if (std::ranges::find(known, name) == std::end(known))
        refuse("have no '" + name + "'; they have table, rows, bound, stored, shards, seed, readers");
      if (!values.emplace(name, text.substr(equals + 1, end - equals - 1)).second)
        refuse("require each setting once, got '" + name + "' twice");
    }
  }

  bool has(const std::string &name) const { return values.contains(name); }
  std::string text(const std::string &name, const std::string &otherwise) const {
    auto found = values.find(name);
    return found == values.end() ? otherwise : found->second;
  }
  int64_t count(const std::string &name, int64_t otherwise, int64_t least) const {
    return number(
        name, otherwise, [&](int64_t n) { return n >= least; }, "a number of " + std::to_string(least) + " or more");
  }
  float real(const std::string &name) const {
    return number(name, 0.f, [](float x) { return std::isfinite(x) && x >= 0; }, "a finite number of 0 or more");
  }
  [[noreturn]] void refuse(const std::string &what) const { throw data::Error(SINTER_INVALID_ARGUMENT, front + what); }

  std::string folder;

private:
  template <typename T, typename Holds>
  T number(const std::string &name, T otherwise, Holds holds, const std::string &wanted) const {
    auto found = values.find(name);
    if (found == values.end())
      return otherwise;
    const std::string &text = found->second;
    T value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !holds(value))
      refuse("require " + name + " to be " + wanted + ", got '" + text + "'");
    return value;
  }

  static constexpr const char *known[] = {"table", "rows", "bound", "stored", "shards", "seed", "readers"};
  std::string front;
  std::map<std::string, std::string> values;
};
} // namespace

static data::RowField::Stored storedOf(const Settings &settings) {
  using Stored = data::RowField::Stored;
  static const std::map<std::string, Stored> forms = {{"f32", Stored::F32}, {"bf16", Stored::BF16}, {"i8", Stored::I8}};
  std::string text = settings.text("stored", "f32");
  auto form = forms.find(text);
  if (form == forms.end())
    settings.refuse("require stored to be f32, bf16 or i8, got '" + text + "'");
  return form->second;
}

/// The table and what moves with it, and how many rows the step holds of them.
static std::vector<data::RowField> fieldsOf(sinter_session *session, const Settings &settings, int64_t &slots) {
  std::string table = settings.text("table", "");
  if (table.empty())
    settings.refuse("require table=STATE, the state that is the table");
  sinter_tensor view;
  if (sinter_session_state_get(session, table.c_str(), &view) != SINTER_OK || view.dtype != SINTER_F32 ||
      view.rank != 2)
    settings.refuse("require a state of f32 with two dims, '" + table + "' is none");
  slots = view.dims[0];
  std::vector<data::RowField> fields = {{table, view.dims[1], storedOf(settings), settings.real("bound")}};
  for (int32_t s = 0; s < sinter_session_num_states(session); ++s) {
    std::string name = sinter_session_state_name(session, s);
    if (!name.starts_with("optimizer.") || !name.ends_with("." + table))
      continue;
    data::check(sinter_session_state_get(session, name.c_str(), &view));
    if (view.dtype == SINTER_F32 && view.rank == 2 && view.dims[0] == slots)
      fields.push_back({name, view.dims[1]});
  }
  return fields;
}

static std::unique_ptr<data::RowStore> openStore(const Settings &settings, const std::vector<data::RowField> &fields) {
  if (access((settings.folder + "/rows.json").c_str(), F_OK) != 0) {
    if (!settings.has("rows"))
      settings.refuse("require rows=N for a new folder, '" + settings.folder + "' has none");
    data::RowStoreOptions options{.fields = fields,
                                  .rows = settings.count("rows", 0, 1),
                                  .shards = settings.count("shards", 1, 1),
                                  .seed = static_cast<uint64_t>(settings.count("seed", 0, 0))};
    auto store = std::make_unique<data::RowStore>(settings.folder, options);
    store->flush(); // so that the folder opens, should the training be killed before it is saved
    return store;
  }
  auto store = std::make_unique<data::RowStore>(settings.folder, /*writable=*/true);
  const data::RowStoreOptions &there = store->options();
  auto requireSame = [&](const std::string &name, auto said, auto found) {
    if (settings.has(name) && said != found)
      settings.refuse("require " + name + " as folder '" + settings.folder + "' was made with, another was said");
  };
  requireSame("rows", settings.count("rows", 0, 1), there.rows);
  requireSame("shards", settings.count("shards", 1, 1), there.shards);
  requireSame("seed", static_cast<uint64_t>(settings.count("seed", 0, 0)), there.seed);
  bool isAlike = fields.size() == there.fields.size();
  for (size_t f = 0; isAlike && f < fields.size(); ++f)
    isAlike = fields[f].name == there.fields[f].name && fields[f].count == there.fields[f].count;
  if (!isAlike)
    settings.refuse("require a folder with the table and moments of the step, '" + settings.folder + "' has others");
  requireSame("bound", fields[0].bound, there.fields[0].bound);
  requireSame("stored", fields[0].stored, there.fields[0].stored);
  return store;
}

RowTable sinter::train::openRows(sinter_session *session, const std::string &input, const std::string &text) {
  Settings settings(input, text);
  int64_t slots = 0, readers = settings.count("readers", 4, 1);
  std::vector<data::RowField> fields = fieldsOf(session, settings, slots);
  RowTable table{input, openStore(settings, fields), nullptr};
  table.cache = std::make_unique<data::RowCache>(*table.store, data::statesOf(session, *table.store, slots), slots,
                                                 static_cast<int>(std::min<int64_t>(readers, 1024)));
  return table;
}

std::string RowTable::describe() const {
  data::RowCache::Statistics numbers = cache->statistics();
  char text[200];
  std::snprintf(text, sizeof text,
                "%lld lookups, %.1f %% of them in memory, %lld rows read, %lld written, waited %.2f s",
                static_cast<long long>(numbers.lookups), 100 * numbers.hitRate(), static_cast<long long>(numbers.read),
                static_cast<long long>(numbers.written), numbers.waited);
  return "rows of '" + input + "': " + text;
}
