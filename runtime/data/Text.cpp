// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Text.h"
#include "StreamRecords.h"

using namespace sinter::data;

namespace {
class Lines : public StreamRecords {
public:
  Lines(const std::string &path, const TextOptions &options, Names names)
      : StreamRecords(path, Compression::ByContent, "text"), options(options), names(std::move(names)) {}

  bool next(Record &record) override {
    stream.skipMark();
    std::string_view text = stream.line(options.maxLineBytes, options.blockBytes, number);
    if (text.empty())
      return false;
    auto size = static_cast<int64_t>(text.size());
    if (options.blockBytes == 0)
      for (char mark : {'\n', '\r'})
        if (text.ends_with(mark))
          text.remove_suffix(1);
    record = {names, {Value::string(text)}};
    stream.consume(size);
    ++number;
    return true;
  }

private:
  TextOptions options;
  Names names;
};

class TextNode : public Node {
public:
  TextNode(std::string path, const TextOptions &options)
      : path(std::move(path)), options(options), names(std::make_shared<std::vector<std::string>>(1, options.column)) {}
  std::unique_ptr<Iterator> begin(int64_t) const override { return std::make_unique<Lines>(path, options, names); }
  std::string signature() const override {
    return "text " + File(path).signature() +
           (options.blockBytes ? " by " + std::to_string(options.blockBytes) + " bytes" : "");
  }

private:
  std::string path;
  TextOptions options;
  Names names;
};
} // namespace

Dataset sinter::data::readText(const std::string &path, const TextOptions &options) {
  if (options.blockBytes < 0 || options.maxLineBytes < 1)
    throw Error(SINTER_INVALID_ARGUMENT, "text requires blocks of 0 bytes or more and lines of 1 or more");
  return Dataset(std::make_shared<TextNode>(path, options));
}

Dataset::Map sinter::data::encodeColumn(const Tokenizer &tokenizer, const std::string &column,
                                        const std::string &result) {
  return [=](const Record &record) {
    Record encoded;
    const Value &text = record[column];
    if (text.dtype() != Bytes || text.count() != 1)
      throw Error(SINTER_INVALID_ARGUMENT, "column '" + column + "' requires one text, got " + dtypeName(text.dtype()) +
                                               " " + text.dims().text());
    for (int64_t c = 0; c < record.size(); ++c)
      if (record.name(c) != column)
        encoded.set(record.name(c), record.value(c));
      else
        encoded.set(result, Value::of(tokenizer.encode(text.bytes())));
    return encoded;
  };
}

Dataset sinter::data::tokenChunks(const Dataset &texts, const Tokenizer &tokenizer, const ChunkOptions &options) {
  if (options.size < 1)
    throw Error(SINTER_INVALID_ARGUMENT, "a chunk requires 1 token or more, got " + std::to_string(options.size));
  auto encode = encodeColumn(tokenizer, options.column, options.result);
  auto only = [=](const Record &record) { return Record{{options.result, encode(record)[options.result]}}; };
  return texts.map(only, {.threads = options.threads, .text = tokenizer.signature()})
      .shuffleRows({.size = options.size, .dropRemainder = true});
}
