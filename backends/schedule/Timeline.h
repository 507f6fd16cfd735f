// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compilation spends its time on: spans of time that nest on each thread, as a table for people and as a trace
// of events for chrome://tracing and Perfetto. Who has no timeline passes null, and nothing is measured.

#ifndef SINTER_BACKENDS_SCHEDULE_TIMELINE_H
#define SINTER_BACKENDS_SCHEDULE_TIMELINE_H

#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>

namespace mlir {
class PassInstrumentation;
}

namespace sinter::schedule {

/// May be used by several threads at once. The thread that makes it is the one whose phases the others work for.
class Timeline {
public:
  /// A phase is measured by the processor time of all threads, anything else by that of its own.
  enum class Kind { Phase, Pass, Analysis, Kernel, Step };

  Timeline();
  ~Timeline();
  Timeline(const Timeline &) = delete;

  /// Measures the passes of one PassManager, with the numbers of ops before and after each.
  std::unique_ptr<mlir::PassInstrumentation> passes();

  /// One row for each kind of span below each other: calls, wall and processor seconds, ops. Rows of what ran on
  /// several threads are sums over them. All spans have ended.
  std::string table() const;
  /// JSON in Chrome's trace event format: complete events, times in microseconds since the timeline was made.
  std::string trace() const;

  /// Begins a span of this thread and returns its number, which `end` takes on the same thread. Spans of one `row` are
  /// one row of the table; an empty one means `name`.
  size_t begin(Kind kind, llvm::StringRef name, llvm::StringRef row = {});
  void end(size_t span);
  /// States a number of the span, which the trace shows under `key`.
  void note(size_t span, llvm::StringRef key, int64_t value);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// A span from here to the end of the block; none without a timeline.
class Span {
public:
  Span(Timeline *timeline, Timeline::Kind kind, llvm::StringRef name, llvm::StringRef row = {})
      : timeline(timeline), number(timeline ? timeline->begin(kind, name, row) : 0) {}
  ~Span() { end(); }
  Span(const Span &) = delete;

  void note(llvm::StringRef key, int64_t value) {
    if (timeline)
      timeline->note(number, key, value);
  }
  void end() {
    if (timeline)
      timeline->end(number);
    timeline = nullptr;
  }

private:
  Timeline *timeline;
  size_t number;
};

} // namespace sinter::schedule

#endif
