// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowTable.h"
#include "../decimal.h"
#include "Checkpoints.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
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
    bool isSummed = name == "optimizer.gradient." + table; // over batches, of rows of all of them
    if (isSummed || !name.starts_with("optimizer.") || !name.ends_with("." + table))
      continue;
    data::check(sinter_session_state_get(session, name.c_str(), &view));
    if (view.dtype == SINTER_F32 && view.rank == 2 && view.dims[0] == slots)
      fields.push_back({name, view.dims[1]});
  }
  return fields;
}

static bool hasRows(const std::string &folder) { return access((folder + "/rows.json").c_str(), F_OK) == 0; }

static std::unique_ptr<data::RowStore> makeStore(const Settings &settings, const std::string &folder,
                                                 const std::vector<data::RowField> &fields) {
  if (!settings.has("rows"))
    settings.refuse("require rows=N for a new folder, '" + settings.folder + "' has none");
  data::RowStoreOptions options{.fields = fields,
                                .rows = settings.count("rows", 0, 1),
                                .shards = settings.count("shards", 1, 1),
                                .seed = static_cast<uint64_t>(settings.count("seed", 0, 0))};
  return std::make_unique<data::RowStore>(folder, options);
}

/// Throws unless the store is what is said of it. Its first field is the table.
static void requireSaid(const Settings &settings, const data::RowField &table, const data::RowStoreOptions &there) {
  auto requireSame = [&](const std::string &name, auto said, auto found) {
    if (settings.has(name) && said != found)
      settings.refuse("require " + name + " as folder '" + settings.folder + "' was made with, another was said");
  };
  requireSame("rows", settings.count("rows", 0, 1), there.rows);
  requireSame("shards", settings.count("shards", 1, 1), there.shards);
  requireSame("seed", static_cast<uint64_t>(settings.count("seed", 0, 0)), there.seed);
  requireSame("bound", table.bound, there.fields[0].bound);
  requireSame("stored", table.stored, there.fields[0].stored);
}

static bool isAlike(const data::RowField &a, const data::RowField &b) { return a.name == b.name && a.count == b.count; }

static std::unique_ptr<data::RowStore> openStore(const Settings &settings, const std::vector<data::RowField> &fields) {
  if (!hasRows(settings.folder)) {
    auto store = makeStore(settings, settings.folder, fields);
    store->flush(); // so that the folder opens, should the training be killed before it is saved
    return store;
  }
  auto store = std::make_unique<data::RowStore>(settings.folder, /*writable=*/true);
  if (!std::ranges::equal(fields, store->options().fields, isAlike))
    settings.refuse("require a folder with the table and moments of the step, '" + settings.folder + "' has others");
  requireSaid(settings, fields[0], store->options());
  return store;
}

static RowTable cached(sinter_session *session, const std::string &input, const Settings &settings, int64_t slots,
                       std::unique_ptr<data::RowStore> store) {
  int64_t readers = settings.count("readers", 4, 1);
  RowTable table{input, std::move(store), nullptr};
  table.cache = std::make_unique<data::RowCache>(*table.store, data::statesOf(session, *table.store, slots), slots,
                                                 static_cast<int>(std::min<int64_t>(readers, 1024)));
  return table;
}

RowTable sinter::train::openRows(sinter_session *session, const std::string &input, const std::string &text) {
  Settings settings(input, text);
  int64_t slots = 0;
  std::vector<data::RowField> fields = fieldsOf(session, settings, slots);
  return cached(session, input, settings, slots, openStore(settings, fields));
}

/// Makes the folder of the files beside the best checkpoint `states`, which is of step `step`. It appears whole.
static void makeFromSaved(const Settings &settings, const std::vector<data::RowField> &fields, const std::string &input,
                          const std::string &states, int64_t step) {
  namespace fs = std::filesystem;
  std::string saved = rowsBeside(fs::path(states).parent_path().string(), step, input);
  if (states.empty() || !data::RowStore::areSaved(saved))
    settings.refuse(
        "require a folder that has some, '" + settings.folder + "' has none" +
        (states.empty() ? ""
                        : ", and there are no files " + saved + "-00001-of-NNNNN.safetensors beside '" + states + "'"));
  std::string made = settings.folder + ".new";
  if (hasRows(made)) // of a process that was killed
    fs::remove_all(made);
  auto store = makeStore(settings, made, fields);
  store->restore(saved);
  store->flush(step);
  store.reset();
  if (std::rename(made.c_str(), settings.folder.c_str()) != 0)
    data::failAt(settings.folder, "cannot be made");
}

RowTable sinter::train::readRows(sinter_session *session, const std::string &input, const std::string &text,
                                 const std::string &states) {
  Settings settings(input, text);
  int64_t slots = 0, step = states.empty() ? -1 : stepOfStates(states);
  std::vector<data::RowField> fields = fieldsOf(session, settings, slots);
  fields.resize(1); // moments rest
  if (!hasRows(settings.folder))
    makeFromSaved(settings, fields, input, states, step);
  auto store = std::make_unique<data::RowStore>(settings.folder);
  if (!isAlike(fields[0], store->options().fields[0]))
    settings.refuse("require a folder with the table of the model, '" + settings.folder + "' has another");
  requireSaid(settings, fields[0], store->options());
  if (step >= 0 && store->flushedMark() != step)
    settings.refuse("require to be of the step of '" + states + "', " + std::to_string(step) + "; those in '" +
                    settings.folder + "' are of step " + std::to_string(store->flushedMark()));
  return cached(session, input, settings, slots, std::move(store));
}

std::string RowTable::describe() const {
  PlainNumbers plain;
  data::RowCache::Statistics numbers = cache->statistics();
  char text[200];
  std::snprintf(text, sizeof text,
                "%lld lookups, %.1f %% of them in memory, %lld rows read, %lld written, waited %.2f s",
                static_cast<long long>(numbers.lookups), 100 * numbers.hitRate(), static_cast<long long>(numbers.read),
                static_cast<long long>(numbers.written), numbers.waited);
  return "rows of '" + input + "': " + text;
}
