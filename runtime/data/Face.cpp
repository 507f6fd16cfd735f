// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C face: each call of C++ in a guard that turns what it throws into a status.

#include "Face.h"
#include "Arrays.h"
#include "Columns.h"
#include "Open.h"
#include <algorithm>

using namespace sinter::data;

struct sinter_loader {
  Loader loader;
  Record batch;
  std::string state;
};

struct sinter_columns {
  FeatureColumns columns;
};

/// One data set from another.
template <typename Make>
static sinter_status_code derived(const char *call, const sinter_data *data, sinter_data **result, Make make) {
  return guarded(call, [&] { *result = new sinter_data{make(data->dataset)}; }, data, result);
}

//===- Data sets ------------------------------------------------------------------------------------===//

sinter_status_code sinter_data_open(const char *path, int64_t rows, sinter_data **data) {
  return guarded(__func__, [&] { *data = new sinter_data{openFileBatches(path, rows)}; }, path, data);
}

sinter_status_code sinter_data_open_features(const char *path, const sinter_columns *columns, int64_t rows,
                                             sinter_data **data) {
  return guarded(
      __func__, [&] { *data = new sinter_data{openFeatures(path, rows, columns->columns.features())}; }, path, columns,
      data);
}

void sinter_data_release(sinter_data *data) { delete data; }

sinter_status_code sinter_data_shuffle(const sinter_data *data, int64_t window, uint64_t seed, int64_t rows,
                                       int32_t whole, sinter_data **result) {
  return derived(__func__, data, result, [&](const Dataset &from) {
    return from.shuffleRows({.window = window, .seed = seed, .size = rows, .dropRemainder = whole != 0});
  });
}

sinter_status_code sinter_data_repeat(const sinter_data *data, int64_t times, sinter_data **result) {
  return derived(__func__, data, result, [&](const Dataset &from) { return from.repeat(times); });
}

sinter_status_code sinter_data_shard(const sinter_data *data, int64_t rank, int64_t world, sinter_data **result) {
  return derived(__func__, data, result, [&](const Dataset &from) { return from.shard(rank, world); });
}

sinter_status_code sinter_data_skip_errors(const sinter_data *data, int64_t most, sinter_data **result) {
  return derived(__func__, data, result, [&](const Dataset &from) { return from.skipErrors(most); });
}

sinter_status_code sinter_data_prefetch(const sinter_data *data, int32_t batches, sinter_data **result) {
  return derived(__func__, data, result, [&](const Dataset &from) { return from.prefetch(batches); });
}

sinter_status_code sinter_data_transform(const sinter_data *data, const sinter_columns *columns, int32_t threads,
                                         sinter_data **result) {
  if (!columns)
    return derived(__func__, nullptr, result, [](const Dataset &from) { return from; });
  const FeatureColumns &all = columns->columns;
  return derived(__func__, data, result, [&](const Dataset &from) {
    return from.map(all.transform(), {.threads = threads, .text = all.signature()});
  });
}

//===- Loaders --------------------------------------------------------------------------------------===//

sinter_status_code sinter_loader_create(const sinter_data *data, sinter_loader **loader) {
  return guarded(__func__, [&] { *loader = new sinter_loader{Loader(data->dataset), {}, {}}; }, data, loader);
}

void sinter_loader_destroy(sinter_loader *loader) { delete loader; }

sinter_status_code sinter_loader_next(sinter_loader *loader, int32_t *more) {
  return guarded(
      __func__,
      [&] {
        *more = 0;
        loader->batch = {};
        *more = loader->loader.next(loader->batch);
      },
      loader, more);
}

int32_t sinter_loader_num_columns(const sinter_loader *loader) {
  return loader ? static_cast<int32_t>(loader->batch.size()) : 0;
}

const char *sinter_loader_name(const sinter_loader *loader, int32_t column) {
  bool isThere = loader && column >= 0 && column < loader->batch.size();
  return isThere ? loader->batch.name(column).c_str() : nullptr;
}

int32_t sinter_loader_find(const sinter_loader *loader, const char *name) {
  return loader && name && loader->batch.size() ? static_cast<int32_t>(loader->batch.find(name)) : -1;
}

static const Value &valueOf(const sinter_loader *loader, int32_t column) {
  if (column < 0 || column >= loader->batch.size())
    throw Error(SINTER_INVALID_ARGUMENT, "a column below " + std::to_string(loader->batch.size()) +
                                             " is required, got " + std::to_string(column));
  return loader->batch.value(column);
}

sinter_status_code sinter_loader_column(const sinter_loader *loader, int32_t column, sinter_tensor *view) {
  return guarded(__func__, [&] { *view = valueOf(loader, column).tensor(); }, loader, view);
}

sinter_status_code sinter_loader_splits(const sinter_loader *loader, int32_t column, const int64_t **splits,
                                        int64_t *rows) {
  return guarded(
      __func__,
      [&] {
        const Value &value = valueOf(loader, column);
        *splits = value.isRagged() ? value.splits().data() : nullptr;
        *rows = value.isRagged() ? value.rows() : 0;
      },
      loader, splits, rows);
}

sinter_status_code sinter_loader_string(const sinter_loader *loader, int32_t column, int64_t index, const char **text,
                                        int64_t *bytes) {
  return guarded(
      __func__,
      [&] {
        const Value &value = valueOf(loader, column);
        if (index < 0 || index >= value.count())
          throw Error(SINTER_INVALID_ARGUMENT, "an element below " + std::to_string(value.count()) +
                                                   " is required, got " + std::to_string(index));
        std::string_view string = value.bytes(index);
        *text = string.data();
        *bytes = static_cast<int64_t>(string.size());
      },
      loader, text, bytes);
}

sinter_status_code sinter_loader_save(sinter_loader *loader, const void **state, int64_t *bytes) {
  return guarded(
      __func__,
      [&] {
        loader->state = loader->loader.save();
        *state = loader->state.data();
        *bytes = static_cast<int64_t>(loader->state.size());
      },
      loader, state, bytes);
}

sinter_status_code sinter_loader_load(sinter_loader *loader, const void *state, int64_t bytes) {
  return guarded(
      __func__,
      [&] {
        loader->loader.load({static_cast<const char *>(state), static_cast<size_t>(std::max<int64_t>(bytes, 0))});
      },
      loader, state);
}

//===- Columns and arrays ---------------------------------------------------------------------------===//

sinter_status_code sinter_columns_load(const char *path, sinter_columns **columns) {
  return guarded(__func__, [&] { *columns = new sinter_columns{FeatureColumns::load(path)}; }, path, columns);
}

sinter_status_code sinter_columns_fit(sinter_columns *columns, const sinter_data *data) {
  return guarded(__func__, [&] { columns->columns.fit(data->dataset); }, columns, data);
}

sinter_status_code sinter_columns_save(const sinter_columns *columns, const char *path) {
  return guarded(__func__, [&] { columns->columns.save(path); }, columns, path);
}

void sinter_columns_release(sinter_columns *columns) { delete columns; }

sinter_status_code sinter_data_locate(const char *path, const char *name, sinter_tensor *shape, int64_t *offset,
                                      int32_t *fortran) {
  return guarded(
      __func__,
      [&] {
        ArrayPlace place = locateArray(path, name ? name : "");
        *shape = {};
        shape->dtype = place.dtype;
        shape->rank = place.dims.rank();
        std::ranges::copy(place.dims.all(), shape->dims);
        *offset = place.offset;
        *fortran = place.isFortran;
      },
      path, shape, offset, fortran);
}
