// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Open.h"
#include "Arrays.h"
#include "Csv.h"
#include "JsonLines.h"
#include "Media.h"
#include "Text.h"
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

using namespace sinter::data;

static std::string plainName(const std::string &path) {
  for (const char *suffix : {".gz", ".zlib"})
    if (path.ends_with(suffix))
      return path.substr(0, path.rfind('.'));
  return path;
}

Format sinter::data::formatOf(const std::string &path) {
  static const std::pair<const char *, Format> suffixes[] = {{".csv", Format::Csv},
                                                             {".tsv", Format::Tsv},
                                                             {".jsonl", Format::JsonLines},
                                                             {".ndjson", Format::JsonLines},
                                                             {".npy", Format::Npy},
                                                             {".npz", Format::Npz},
                                                             {".safetensors", Format::Safetensors},
                                                             {".idx", Format::Idx},
                                                             {"-ubyte", Format::Idx},
                                                             {".tfrecord", Format::TfRecord},
                                                             {".tfrecords", Format::TfRecord},
                                                             {".txt", Format::Text}};
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return Format::Folder;
  std::string name = plainName(path);
  for (auto [suffix, format] : suffixes)
    if (name.ends_with(suffix))
      return format;
  throw Error(SINTER_UNSUPPORTED,
              "the name requires .csv, .tsv, .jsonl, .npy, .npz, .safetensors, .idx, .tfrecord or .txt (and .gz behind "
              "it), or a folder",
              {path, -1, -1});
}

const char *sinter::data::formatName(Format format) {
  static const char *const names[] = {"csv",         "tsv", "JSON lines", "npy",  "npz",
                                      "safetensors", "IDX", "TFRecord",   "text", "a folder"};
  return names[static_cast<size_t>(format)];
}

std::vector<Feature> sinter::data::sampledFeatures(const std::string &path, int64_t sampleRecords) {
  struct Seen {
    Feature feature;
    int64_t records = 0, elements = -1; // -2: sizes differ
  };
  std::map<std::string, Seen> seen;
  std::vector<std::string> order;
  // A record that is damaged, or no example, is told, or skipped, by who reads the file, unless all are so.
  Loader loader(readTfRecords(path).skipErrors());
  std::optional<Error> bad;
  int64_t count = 0, read = 0;
  for (Record record; read < sampleRecords && loader.next(record); ++read) {
    std::vector<Feature> features;
    Record parsed;
    try {
      if (hasFeatureLists(record["record"].bytes()))
        throw Error(SINTER_UNSUPPORTED, "feature lists of a tf.SequenceExample are read where features are stated "
                                        "(parseSequenceExample), not from a file by its name");
      features = exampleFeatures(record["record"].bytes());
      parsed = parseExample(features)(record);
    } catch (const Error &error) {
      if (!bad || !error.skippable())
        bad = Error(error.code(), error.what(), {path, read, -1});
      if (!error.skippable())
        throw *bad;
      continue;
    }
    auto isOther = [&](const Feature &feature) {
      auto at = seen.find(feature.name);
      return at != seen.end() && at->second.feature.dtype != feature.dtype;
    };
    if (std::ranges::any_of(features, isOther))
      continue;
    ++count;
    for (size_t f = 0; f < features.size(); ++f) {
      auto [at, isNew] = seen.try_emplace(features[f].name, Seen{features[f]});
      if (isNew)
        order.push_back(features[f].name);
      Seen &known = at->second;
      int64_t elements = parsed.value(static_cast<int64_t>(f)).count();
      known.elements = known.records == 0 || known.elements == elements ? elements : -2;
      ++known.records;
    }
  }
  if (count == 0 && bad)
    throw *bad;
  std::vector<Feature> features;
  for (const std::string &name : order) {
    Seen &known = seen.at(name);
    bool isOpen = known.elements == -2 || (known.records < count && known.elements != 1);
    known.feature.dims.clear();
    if (isOpen || known.elements != 1)
      known.feature.dims.push_back(isOpen ? -1 : known.elements);
    known.feature.hasDefault = known.records < count;
    features.push_back(known.feature);
  }
  return features;
}

static CsvOptions csvOptions(Format format) { return {.separator = format == Format::Tsv ? '\t' : ','}; }

static std::shared_ptr<const Source> openArrays(const std::string &path, Format format) {
  return format == Format::Npy   ? openNpy(path)
         : format == Format::Npz ? openNpz(path)
         : format == Format::Idx ? openIdx(path)
                                 : openSafetensors(path);
}

static Dataset openMedia(const std::string &path) {
  const std::vector<std::string> &suffixes = mediaSuffixes();
  auto decode = [path](const Record &record) {
    std::string_view name = record["file"].bytes();
    auto picture = [](std::string_view bytes) { return decodePicture(bytes); };
    auto sound = [](std::string_view bytes) { return decodeWav(bytes); };
    return isSound(name) ? decodeColumn(sound, "bytes", "sound", path)(record)
                         : decodeColumn(picture, "bytes", "image", path)(record);
  };
  std::shared_ptr<const Source> files = openFolder(path, suffixes);
  if (files->size() == 0) {
    std::string all;
    for (const std::string &suffix : suffixes)
      if (std::islower(static_cast<unsigned char>(suffix[1])))
        all += (all.empty() ? "" : ", ") + suffix;
    throw Error(SINTER_INVALID_ARGUMENT,
                "a folder of data requires pictures or sounds (" + all + "), this one has none", {path});
  }
  return Dataset::from(files).map(decode);
}

Dataset sinter::data::openFile(const std::string &path) {
  Format format = formatOf(path);
  switch (format) {
  case Format::Csv:
  case Format::Tsv:
    return readCsv(path, csvOptions(format));
  case Format::JsonLines:
    return readJsonLines(path);
  case Format::TfRecord:
    return readExampleBatches(path, 256, sampledFeatures(path)).unbatch();
  case Format::Text:
    return readText(path);
  case Format::Folder:
    return openMedia(path);
  default:
    return Dataset::from(openArrays(path, format));
  }
}

Dataset sinter::data::openFileBatches(const std::string &path, int64_t rows) {
  Format format = formatOf(path);
  switch (format) {
  case Format::Csv:
  case Format::Tsv:
    return readCsvBatches(path, rows, csvOptions(format));
  case Format::JsonLines: {
    BatchOptions options{.size = rows};
    Loader loader(readJsonLines(path).skipErrors()); // told by who reads the file
    std::map<std::string, Dims> sizes;               // what differs in the first lines is ragged
    Record record;
    for (int64_t i = 0; i < 1000 && loader.next(record); ++i)
      for (int64_t c = 0; c < record.size(); ++c)
        if (auto [at, isNew] = sizes.try_emplace(record.name(c), record.value(c).dims());
            !isNew && !(at->second == record.value(c).dims()))
          options.ragged.insert(record.name(c));
    return readJsonLines(path).batch(options);
  }
  case Format::TfRecord:
    return readExampleBatches(path, rows, sampledFeatures(path));
  case Format::Text:
    return readText(path).batch({.size = rows});
  case Format::Folder: // sizes differ from file to file
    return openMedia(path).batch({.size = 1});
  default:
    return Dataset::from(openArrays(path, format)).batch({.size = rows});
  }
}

Dataset sinter::data::openFeatures(const std::string &path, int64_t rows, const std::vector<Feature> &features) {
  Format format = formatOf(path);
  std::vector<std::string> names;
  for (const Feature &feature : features)
    names.push_back(feature.name);
  switch (format) {
  case Format::Csv:
  case Format::Tsv: {
    CsvOptions options = csvOptions(format);
    for (const Feature &feature : features) {
      if (!feature.dims.empty())
        throw Error(SINTER_INVALID_ARGUMENT,
                    "feature '" + feature.name + "' requires a size of 1 to be read from a table", {path, -1, -1});
      options.columns.push_back({feature.name, feature.dtype});
    }
    return readCsvBatches(path, rows, options);
  }
  case Format::JsonLines: {
    JsonOptions options;
    BatchOptions batch{.size = rows};
    for (const Feature &feature : features) {
      options.columns.push_back({feature.name, feature.dtype});
      if (!feature.dims.empty() && feature.dims[0] < 0)
        batch.ragged.insert(feature.name);
    }
    return readJsonLines(path, options).batch(batch);
  }
  case Format::TfRecord:
    return readExampleBatches(path, rows, features);
  case Format::Npz:
    return Dataset::from(openNpz(path, names)).batch({.size = rows});
  case Format::Safetensors:
    return Dataset::from(openSafetensors(path, names)).batch({.size = rows});
  default:
    throw Error(SINTER_UNSUPPORTED,
                std::string("features by name require a table, JSON lines, TFRecords, npz or safetensors, got ") +
                    formatName(format),
                {path, -1, -1});
  }
}
