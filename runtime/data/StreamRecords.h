// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What readers share whose records follow each other in a stream of bytes.

#ifndef SINTER_RUNTIME_DATA_STREAMRECORDS_H
#define SINTER_RUNTIME_DATA_STREAMRECORDS_H

#include "Dataset.h"
#include "File.h"
#include "State.h"

namespace sinter::data {

/// An iterator whose state is where in the file it is and how many records came before.
class StreamRecords : public Iterator {
public:
  StreamRecords(const std::string &path, Compression compression, const char *stage)
      : stream(path, compression), stage(stage) {}

  void save(StateWriter &writer) const override {
    writer.number(stream.offset());
    writer.number(number);
  }
  void load(StateReader &reader) override {
    int64_t offset = reader.number(INT64_MAX);
    number = reader.number(INT64_MAX);
    stream.seek(offset);
  }
  void report(std::vector<StageStatistics> &stages) const override {
    stages.push_back({.stage = stage, .records = number});
  }

protected:
  ByteStream stream;
  int64_t number = 0; // of the next record

private:
  const char *stage;
};

} // namespace sinter::data

#endif
