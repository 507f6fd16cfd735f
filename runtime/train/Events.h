// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers by step as TensorBoard reads them: a file of TFRecords, each a protocol buffer `Event` with a wall time, a
// step, and a `Summary` of one tag and one float (tensorflow/core/util/event.proto, framework/summary.proto). Records
// are appended, so that TensorBoard shows a training while it runs.

#ifndef SINTER_RUNTIME_TRAIN_EVENTS_H
#define SINTER_RUNTIME_TRAIN_EVENTS_H

#include <cstdint>
#include <string>

namespace sinter::train {

class Events {
public:
  Events() = default;
  ~Events();
  Events(Events &&other) noexcept;
  Events &operator=(Events &&other) noexcept;

  /// Begins the file of `folder`, which is made where there is none, or goes on behind the events up to `step`: what
  /// follows, and what is damaged, is cut off. Throws data::Error.
  static Events open(const std::string &folder, int64_t step);
  bool isOpen() const { return file >= 0; }
  void add(int64_t step, const std::string &tag, double value);
  /// Writes what was added. Throws data::Error.
  void flush();

private:
  void append(const std::string &event);

  int file = -1;
  std::string path, pending;
};

} // namespace sinter::train

#endif
