// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../data/Columns.h"
#include "../data/Open.h"
#include "Inputs.h"

using namespace sinter;
using namespace sinter::train;

static constexpr int64_t readRows = 1024; // of the file, at once

struct Table::Opened {
  std::string path, description;
  data::FeatureColumns columns;
  data::Record sample{}; // a batch of the first rows
  std::set<std::string> ragged{};
  int64_t rows = 0;
};

Table::Table(const std::string &path, const std::string &description) {
  auto made = std::make_shared<Opened>(Opened{path, description, data::FeatureColumns::load(description)});
  if (!made->columns.isFitted())
    throw data::Error(SINTER_INVALID_ARGUMENT, description + ": training requires columns that are fitted; sinter " +
                                                   "data fit " + description + " " + path + " -o FITTED.json makes " +
                                                   "them so");
  data::Loader loader(data::openFeatures(path, readRows, made->columns.features()));
  for (data::Record rows; loader.next(rows);) {
    if (made->rows == 0) {
      made->sample = made->columns.transform()(rows);
      for (int64_t c = 0; c < rows.size(); ++c)
        if (rows.value(c).isRagged())
          made->ragged.insert(rows.name(c));
    }
    made->rows += rows.size() ? rows.value(0).rows() : 0;
  }
  opened = made;
}

Table::~Table() = default;

int64_t Table::samples() const { return opened->rows; }

sinter_tensor sinter::train::withRank(const data::Value &value, int32_t rank) {
  sinter_tensor tensor = value.tensor();
  if (tensor.rank == 2 && rank == 1 && tensor.dims[1] == 1)
    tensor.rank = 1;
  else if (tensor.rank == 1 && rank == 2)
    tensor.dims[tensor.rank++] = 1;
  return tensor;
}

void Table::require(const sinter_tensor_type &type) const {
  std::string name = type.name;
  const data::Record &sample = opened->sample;
  int64_t index = sample.size() ? sample.find(name) : -1;
  if (index < 0) {
    std::string names;
    for (int64_t c = 0; c < sample.size(); ++c)
      names += (c ? ", " : "") + sample.name(c);
    throw data::Error(SINTER_INVALID_ARGUMENT, "data " + name + " requires a column called so, " + opened->description +
                                                   " makes " + (names.empty() ? "nothing of an empty table" : names));
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
  throw data::Error(SINTER_INVALID_ARGUMENT, "data " + name + " requires " + sinter_dtype_name(type.dtype) + " of " +
                                                 (type.rank ? "?" + wanted : "rank 0") + ", " + opened->description +
                                                 " makes " + (value.isRagged() ? "ragged " : "") +
                                                 data::dtypeName(value.dtype()) + " of " + value.dims().text());
}

Batches Table::batches(const BatchPlan &plan, const Share &share) const {
  int64_t count = opened->rows;
  if (share.part != Share::All) {
    count = 0;
    for (int64_t i = 0; i < opened->rows; ++i)
      count += share.has(i);
  }
  auto from = [opened = opened, plan, share](int64_t first) {
    data::Dataset rows = data::openFeatures(opened->path, readRows, opened->columns.features());
    if (share.part != Share::All)
      rows = rows.unbatch()
                 .split({1 - share.validation, share.validation}, share.part == Share::Validation, share.seed)
                 .batch({.size = readRows, .ragged = opened->ragged});
    rows = rows.shuffleRows({.window = plan.shuffle ? windowRows : 0,
                             .seed = plan.shuffle.value_or(0),
                             .size = plan.size,
                             .dropRemainder = plan.dropsRest});
    return (first ? rows.skip(first) : rows)
        .map(opened->columns.transform(), {.threads = 1, .capacity = 4, .text = opened->columns.signature()});
  };
  return Batches(from, stepsOf(count, plan));
}
