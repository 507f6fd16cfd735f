// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C face of tables larger than memory and of vocabularies of rows.

#include "Face.h"
#include "RowCache.h"
#include "RowVocabulary.h"
#include <cstring>
#include <optional>

using namespace sinter::data;

struct sinter_rows {
  template <typename... Arguments>
  explicit sinter_rows(Arguments &&...arguments) : store(std::forward<Arguments>(arguments)...) {}
  RowCache &attached() {
    if (!cache)
      throw Error(SINTER_INVALID_ARGUMENT, "a table of rows requires a session, attach one first");
    return *cache;
  }
  RowStore store;
  std::optional<RowCache> cache;
};

RowCache &sinter::data::cacheOf(sinter_rows &table) { return table.attached(); }

struct sinter_row_vocabulary {
  RowVocabulary vocabulary;
  std::vector<int64_t> evicted; // by the last call
};

static RowField::Stored storedOf(const char *name) {
  if (!name || std::strcmp(name, "f32") == 0)
    return RowField::Stored::F32;
  if (std::strcmp(name, "bf16") == 0)
    return RowField::Stored::BF16;
  if (std::strcmp(name, "i8") == 0)
    return RowField::Stored::I8;
  throw Error(SINTER_INVALID_ARGUMENT, std::string("rows are stored as f32, bf16 or i8, got '") + name + "'");
}

static std::span<const int64_t> spanOf(const int64_t *rows, int64_t count) {
  if (count < 0)
    throw Error(SINTER_INVALID_ARGUMENT, "rows require a count of 0 or more, got " + std::to_string(count));
  return {rows, static_cast<size_t>(count)};
}

sinter_status_code sinter_rows_create(const char *folder, const sinter_row_field *fields, int32_t count, int64_t rows,
                                      int64_t shards, uint64_t seed, sinter_rows **table) {
  return guarded(
      __func__,
      [&] {
        RowStoreOptions options{.fields = {}, .rows = rows, .shards = shards, .seed = seed};
        for (int32_t f = 0; f < count; ++f)
          options.fields.push_back(
              {fields[f].name ? fields[f].name : "", fields[f].count, storedOf(fields[f].stored), fields[f].bound});
        *table = new sinter_rows(std::string(folder), std::move(options));
      },
      folder, fields, table);
}

sinter_status_code sinter_rows_open(const char *folder, int32_t writable, sinter_rows **table) {
  return guarded(__func__, [&] { *table = new sinter_rows(std::string(folder), writable != 0); }, folder, table);
}

void sinter_rows_close(sinter_rows *table) { delete table; }

sinter_status_code sinter_rows_attach(sinter_rows *table, sinter_session *session, int64_t slots, int32_t threads) {
  return guarded(
      __func__,
      [&] {
        if (table->cache)
          throw Error(SINTER_INVALID_ARGUMENT, "a table of rows is attached to one session, it has one");
        table->cache.emplace(table->store, statesOf(session, table->store, slots), slots, threads);
      },
      table, session);
}

sinter_status_code sinter_rows_prepare(sinter_rows *table, const int64_t *rows, int64_t count, int64_t *slots,
                                       int32_t moves) {
  return guarded(
      __func__,
      [&] {
        table->attached().prepare(spanOf(rows, count), {slots, static_cast<size_t>(std::max<int64_t>(count, 0))},
                                  moves != 0);
      },
      table, rows, slots);
}

sinter_status_code sinter_rows_prefetch(sinter_rows *table, const int64_t *rows, int64_t count) {
  return guarded(__func__, [&] { table->attached().prefetch(spanOf(rows, count)); }, table, rows);
}

sinter_status_code sinter_rows_flush(sinter_rows *table) {
  return guarded(__func__, [&] { table->cache ? table->cache->flush() : table->store.flush(); }, table);
}

sinter_status_code sinter_rows_snapshot(sinter_rows *table, const char *prefix, int64_t *files) {
  return guarded(
      __func__,
      [&] {
        if (table->cache)
          table->cache->flush();
        *files = static_cast<int64_t>(table->store.snapshot(prefix).size());
      },
      table, prefix, files);
}

sinter_status_code sinter_rows_apply(sinter_rows *table, const char *file) {
  return guarded(
      __func__,
      [&] {
        if (table->cache)
          throw Error(SINTER_INVALID_ARGUMENT, "rows are taken from a file before a session is attached");
        table->store.apply(file);
      },
      table, file);
}

sinter_status_code sinter_rows_restore(sinter_rows *table, const char *prefix) {
  return guarded(
      __func__, [&] { table->cache ? table->cache->restore(prefix) : table->store.restore(prefix); }, table, prefix);
}

sinter_status_code sinter_rows_get_statistics(const sinter_rows *table, sinter_rows_statistics *statistics) {
  return guarded(
      __func__,
      [&] {
        RowCache::Statistics s = const_cast<sinter_rows *>(table)->attached().statistics();
        sinter_rows_statistics all = {.struct_size = statistics->struct_size,
                                      .reserved = 0,
                                      .lookups = s.lookups,
                                      .distinct = s.distinct,
                                      .missed = s.missed,
                                      .prefetched = s.prefetched,
                                      .read = s.read,
                                      .written = s.written,
                                      .waited_s = s.waited,
                                      .hit_rate = s.hitRate()};
        std::memcpy(statistics, &all, std::min<size_t>(statistics->struct_size, sizeof all));
      },
      table, statistics);
}

sinter_status_code sinter_rows_forget(sinter_rows *table, const int64_t *rows, int64_t count) {
  return guarded(
      __func__,
      [&] {
        int64_t size = table->store.options().rows;
        for (int64_t row : spanOf(rows, count))
          if (row < 0 || row >= size)
            throw Error(SINTER_INVALID_ARGUMENT,
                        "a table requires rows from 0 to " + std::to_string(size - 1) + ", got " + std::to_string(row));
        if (!table->store.writable())
          throw Error(SINTER_INVALID_ARGUMENT, "rows of a store that is open for reading cannot be forgotten");
        for (int64_t row : spanOf(rows, count))
          table->cache ? table->cache->forget(row) : table->store.forget(row);
      },
      table, rows);
}

sinter_status_code sinter_row_vocabulary_create(int64_t rows, int64_t admit_after, int64_t candidates,
                                                sinter_row_vocabulary **vocabulary) {
  return guarded(
      __func__,
      [&] {
        RowVocabulary::Options options{.rows = rows, .admitAfter = admit_after};
        if (candidates)
          options.candidates = candidates;
        *vocabulary = new sinter_row_vocabulary{RowVocabulary(options), {}};
      },
      vocabulary);
}

sinter_status_code sinter_row_vocabulary_open(const char *path, sinter_row_vocabulary **vocabulary) {
  return guarded(
      __func__, [&] { *vocabulary = new sinter_row_vocabulary{RowVocabulary(std::string(path)), {}}; }, path,
      vocabulary);
}

sinter_status_code sinter_row_vocabulary_save(const sinter_row_vocabulary *vocabulary, const char *path) {
  return guarded(__func__, [&] { vocabulary->vocabulary.save(path); }, vocabulary, path);
}

void sinter_row_vocabulary_destroy(sinter_row_vocabulary *vocabulary) { delete vocabulary; }

sinter_status_code sinter_row_vocabulary_rows_of(sinter_row_vocabulary *vocabulary, const int64_t *ids, int64_t count,
                                                 int64_t *rows, int32_t learns) {
  return guarded(
      __func__,
      [&] {
        std::span<const int64_t> given = spanOf(ids, count);
        vocabulary->vocabulary.rowsOf(given, {rows, given.size()}, learns != 0);
      },
      vocabulary, ids, rows);
}

sinter_status_code sinter_row_vocabulary_evict(sinter_row_vocabulary *vocabulary, int64_t age, int64_t occurrences,
                                               const int64_t **rows, int64_t *count) {
  return guarded(
      __func__,
      [&] {
        vocabulary->evicted = vocabulary->vocabulary.evict({.age = age, .count = occurrences});
        *rows = vocabulary->evicted.data();
        *count = static_cast<int64_t>(vocabulary->evicted.size());
      },
      vocabulary, rows, count);
}

sinter_status_code sinter_row_vocabulary_size(const sinter_row_vocabulary *vocabulary, int64_t *size,
                                              int64_t *unknown) {
  return guarded(
      __func__,
      [&] {
        *size = vocabulary->vocabulary.size();
        *unknown = vocabulary->vocabulary.unknown();
      },
      vocabulary, size, unknown);
}
