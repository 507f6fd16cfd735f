// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter_data_dump: what the readers make of a file, as text that Inputs/files.py compares with what other libraries
// say.
//
//   sinter_data_dump csv SEPARATOR FILE | jsonl | npy | npz | safetensors | idx | tfrecord | example | sequence FILE
//   sinter_data_dump columns SPEC FILE   the columns of a table, fitted, in batches of 64
//   sinter_data_dump write FILE          records from standard input, hexadecimal, one a line
//   sinter_data_dump makeexample FILE    examples of all kinds
//   sinter_data_dump pictures -          for each line of standard input, channels and a file in hexadecimal, its
//                                        pixels
//   sinter_data_dump tokenize TOKENIZER  for each line of standard input, a text in hexadecimal, its tokens
//   sinter_data_dump traintokens SIZE SPECIAL... FILE   a tokenizer from such lines
//
// A record is a line of NAME=DTYPE[DIMS]ELEMENTS; strings are hexadecimal, floats as %.17g. The file is read twice, the
// second time from the state in its middle; a difference is told.
#include "runtime/data/Arrays.h"
#include "runtime/data/Columns.h"
#include "runtime/data/Csv.h"
#include "runtime/data/JsonLines.h"
#include "runtime/data/Media.h"
#include "runtime/data/TfRecord.h"
#include "runtime/data/Tokenizer.h"
#include <cstdio>
#include <iostream>

using namespace sinter::data;

static std::string hex(std::string_view bytes) {
  std::string text = "'";
  for (unsigned char c : bytes) {
    text += "0123456789abcdef"[c >> 4];
    text += "0123456789abcdef"[c & 15];
  }
  return text;
}

static std::string unhex(const std::string &text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

template <typename T> static void print(std::string &line, const Value &value) {
  for (T x : value.as<T>()) {
    char text[64];
    if constexpr (std::is_floating_point_v<T>)
      std::snprintf(text, sizeof text, " %.17g", static_cast<double>(x));
    else
      std::snprintf(text, sizeof text, " %lld", static_cast<long long>(x));
    line += text;
  }
}

static std::string lineOf(const Record &record) {
  std::string line;
  for (int64_t c = 0; c < record.size(); ++c) {
    const Value &value = record.value(c);
    line += (c ? " " : "") + record.name(c) + "=" + dtypeName(value.dtype()) + "[" + value.dims().text() + "]";
    switch (value.dtype()) {
    case Bytes:
      for (int64_t i = 0; i < value.count(); ++i)
        line += " " + hex(value.bytes(i));
      break;
    case SINTER_F64:
      print<double>(line, value);
      break;
    case SINTER_F32:
      print<float>(line, value);
      break;
    case SINTER_I1:
      print<bool>(line, value);
      break;
    case SINTER_I8:
      print<int8_t>(line, value);
      break;
    case SINTER_I16:
      print<int16_t>(line, value);
      break;
    case SINTER_I32:
      print<int32_t>(line, value);
      break;
    case SINTER_I64:
      print<int64_t>(line, value);
      break;
    case SINTER_U8:
      print<uint8_t>(line, value);
      break;
    case SINTER_U16:
      print<uint16_t>(line, value);
      break;
    default:
      line += " ?";
    }
  }
  return line;
}

/// The specification is a file that is written anew with what was fitted, and read again.
static Dataset transformed(const std::string &spec, const std::string &path) {
  FeatureColumns columns = FeatureColumns::load(spec);
  CsvOptions options{.columns = columns.csvColumns()};
  columns.fit(readCsvBatches(path, 50, options));
  columns.save(spec);
  return readCsvBatches(path, 64, options).map(FeatureColumns::load(spec).transform());
}

static Dataset open(const std::string &kind, const std::string &path, char separator) {
  if (kind == "csv")
    return readCsv(path, {.separator = separator});
  if (kind == "jsonl")
    return readJsonLines(path);
  if (kind == "npy")
    return Dataset::from(openNpy(path));
  if (kind == "npz")
    return Dataset::from(openNpz(path));
  if (kind == "safetensors")
    return Dataset::from(openSafetensors(path));
  if (kind == "idx")
    return Dataset::from(openIdx(path));
  if (kind == "example")
    return readTfRecords(path).map(
        [](const Record &r) { return parseExample(exampleFeatures(r["record"].bytes()))(r); });
  if (kind == "sequence")
    return readTfRecords(path).map(
        parseSequenceExample({{.name = "id", .dtype = SINTER_I64},
                              {.name = "words", .dtype = Bytes, .dims = {-1}, .isSequence = true},
                              {.name = "frames", .dtype = SINTER_F32, .dims = {-1, 3}, .isSequence = true}}));
  return readTfRecords(path);
}

static std::vector<std::string> linesOf(Loader &loader, std::string *middle) {
  std::vector<std::string> lines;
  for (Record record; loader.next(record);) {
    lines.push_back(lineOf(record));
    if (middle && (lines.size() & (lines.size() - 1)) == 0) // after 1, 2, 4, 8 ... records
      *middle = loader.save();
  }
  return lines;
}

static void makeExamples(const std::string &path) {
  TfRecordWriter writer(path);
  writer.write(makeExample({{"a", Value::of(std::vector<int64_t>{1, -2, INT64_MIN, INT64_MAX})},
                            {"b", Value::of(std::vector<float>{1.5f, -0.25f})},
                            {"c", Value::strings({"x", std::string("\0\xFF", 2)})},
                            {"d", Value::of(std::vector<uint8_t>{255})},
                            {"e", Value::of(std::vector<double>{0.5})},
                            {"none", Value::of(std::vector<int64_t>{})}}));
  writer.write(makeExample(Record()));
  writer.close();
  TfRecordWriter sequences(path + ".sequences");
  sequences.write(
      makeSequenceExample({{"id", Value::scalar(int64_t(7))},
                           {"words", Value::strings({"the", "cat"})},
                           {"frames", Value::of(std::span<const float>(std::vector<float>{1, 2, 3, 4, 5, 6}), {2, 3})}},
                          {"words", "frames"}));
  sequences.close();
}

/// Each line holds a number of channels and a file in hexadecimal.
static void decodePictures() {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      Value picture = decodePicture(unhex(line.substr(2)), line[0] - '0');
      std::puts(lineOf({{"image", picture}}).c_str());
    } catch (const Error &error) {
      std::printf("error %s\n", error.what());
    }
    std::fflush(stdout);
  }
}

/// Each line's tokens; the lines hold the bytes of texts in hexadecimal.
static void tokenize(const Tokenizer &tokenizer) {
  for (std::string line; std::getline(std::cin, line);) {
    std::string text = unhex(line);
    std::vector<int32_t> ids = tokenizer.encode(text);
    std::string shown = tokenizer.decode(ids) == text ? "" : "what is decoded differs: ";
    for (size_t i = 0; i < ids.size(); ++i)
      shown += (i ? " " : "") + std::to_string(ids[i]);
    std::puts(shown.c_str());
  }
}

static void trainTokens(int32_t size, const std::vector<std::string> &specials, const std::string &path) {
  BpeTrainer trainer;
  for (std::string line; std::getline(std::cin, line);)
    trainer.add(unhex(line));
  trainer.train({.size = size, .specials = specials}).write(path);
}

int main(int argc, char **argv) {
  std::string kind = argv[1], path = argv[argc - 1];
  try {
    if (kind == "pictures") {
      decodePictures();
      return 0;
    }
    if (kind == "tokenize") {
      tokenize(path == "bytes" ? Tokenizer::ofBytes() : Tokenizer::read(path));
      return 0;
    }
    if (kind == "traintokens") {
      trainTokens(std::atoi(argv[2]), {argv + 3, argv + argc - 1}, path);
      return 0;
    }
    if (kind == "makeexample") {
      makeExamples(path);
      return 0;
    }
    if (kind == "write") {
      TfRecordWriter writer(path);
      for (std::string line; std::getline(std::cin, line);)
        writer.write(unhex(line));
      writer.close();
      return 0;
    }
    Dataset dataset =
        kind == "columns" ? transformed(argv[2], path) : open(kind, path, kind == "csv" ? argv[2][0] : ',');
    Loader loader(dataset), again(dataset);
    std::string middle;
    std::vector<std::string> lines = linesOf(loader, &middle);
    for (const std::string &line : lines)
      std::puts(line.c_str());
    if (lines.empty())
      return 0;
    again.load(middle);
    std::vector<std::string> rest = linesOf(again, nullptr);
    if (!std::equal(rest.begin(), rest.end(), lines.end() - static_cast<long>(rest.size())))
      std::puts("other records after a resume");
  } catch (const Error &error) {
    std::printf("error %s\n", error.what());
  }
}
