// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/TableFeed.h"
#include "runtime/data/Open.h"

using namespace sinter;
using namespace sinter::tool;

static constexpr int64_t readRows = 1024; // of the file, at once

TableFeed::TableFeed(const std::string &table, const std::string &description)
    : RecordFeed(table), description(description),
      columns(guarded([&] { return data::FeatureColumns::load(description); })) {
  if (!columns.isFitted())
    throw Stop(Exit::Failure, description + ": train requires columns that are fitted; sinter data fit " + description +
                                  " " + table + " -o FITTED.json makes them so");
  guarded([&] {
    data::Loader loader(data::openFeatures(table, readRows, columns.features()));
    for (data::Record rows; loader.next(rows);) {
      if (numRows == 0)
        sample = columns.transform()(rows);
      numRows += rows.size() ? rows.value(0).rows() : 0;
    }
  });
}

/// `value` as a tensor of the rank that is wanted: [n, 1] and [n] are the same.
static sinter_tensor withRank(const data::Value &value, int32_t rank) {
  sinter_tensor tensor = value.tensor();
  if (tensor.rank == 2 && rank == 1 && tensor.dims[1] == 1)
    tensor.rank = 1;
  else if (tensor.rank == 1 && rank == 2)
    tensor.dims[tensor.rank++] = 1;
  return tensor;
}

void TableFeed::require(const sinter_tensor_type &type) {
  std::string name = type.name;
  int64_t index = sample.size() ? sample.find(name) : -1;
  if (index < 0) {
    std::string names;
    for (int64_t c = 0; c < sample.size(); ++c)
      names += (c ? ", " : "") + sample.name(c);
    throw Stop(Exit::Failure, "--data " + name + " requires a column called so, " + description + " makes " +
                                  (names.empty() ? "nothing of an empty table" : names));
  }
  const data::Value &value = sample.value(index);
  bool fits = !value.isRagged() && value.dtype() == type.dtype;
  if (fits) {
    sinter_tensor tensor = withRank(value, type.rank);
    fits = tensor.rank == type.rank;
    for (int32_t d = 1; fits && d < type.rank; ++d)
      fits = type.dims[d] < 0 || type.dims[d] == tensor.dims[d];
  }
  if (fits)
    return;
  std::string wanted;
  for (int32_t d = 1; d < type.rank; ++d)
    wanted += (type.dims[d] < 0 ? "x?" : "x" + std::to_string(type.dims[d]));
  throw Stop(Exit::Failure, "--data " + name + " requires " + sinter_dtype_name(type.dtype) + " of " +
                                (type.rank ? "?" + wanted : "rank 0") + ", " + description + " makes " +
                                (value.isRagged() ? "ragged " : "") + data::dtypeName(value.dtype()) + " of " +
                                value.dims().text());
}

data::Dataset TableFeed::batches(int64_t first, int64_t size, std::optional<uint64_t> seed) const {
  return data::openFeatures(path, readRows, columns.features())
      .shuffleRows({.window = seed ? windowRows : 0, .seed = seed.value_or(0), .size = size})
      .skip(first)
      .map(columns.transform(), {.threads = 1, .capacity = 4});
}

sinter_tensor TableFeed::column(const sinter_tensor_type &type) const { return withRank(batch[type.name], type.rank); }
