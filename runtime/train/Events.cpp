// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Events.h"
#include "../data/Crc32c.h"
#include "../data/Error.h"
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <unistd.h>
#include <utility>

extern "C" {
#include "../file.h"
}

using namespace sinter;
using namespace sinter::train;

static const char kName[] = "events.out.tfevents.0.sinter";

//===- Protocol buffers: the few fields that these files have ---------------------------------------------------===//

static void putVarint(std::string &to, uint64_t value) {
  for (; value > 127; value >>= 7)
    to += static_cast<char>(value | 128);
  to += static_cast<char>(value);
}

static void putBytes(std::string &to, int field, std::string_view bytes) {
  putVarint(to, static_cast<uint64_t>(field) << 3 | 2);
  putVarint(to, bytes.size());
  to += bytes;
}

template <typename T> static void putFixed(std::string &to, int field, T value) {
  putVarint(to, static_cast<uint64_t>(field) << 3 | (sizeof value == 8 ? 1 : 5));
  to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

static std::string newEvent() {
  std::string event;
  putFixed(event, 1, std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  return event;
}

/// The step of an event, 0 where it has none, as they all begin with the time and then the step.
static int64_t stepOf(std::string_view event) {
  if (event.size() < 11 || event[9] != 2 << 3)
    return 0;
  uint64_t value = 0;
  for (size_t i = 10, shift = 0; i < event.size() && shift < 64; ++i, shift += 7) {
    value |= static_cast<uint64_t>(event[i] & 127) << shift;
    if (!(event[i] & 128))
      break;
  }
  return static_cast<int64_t>(value);
}

//===- The file -------------------------------------------------------------------------------------------------===//

/// How many bytes of the file hold whole events up to `step`.
static int64_t bytesUpTo(const std::string &path, int64_t step) {
  std::ifstream file(path, std::ios::binary);
  std::string event;
  for (int64_t at = 0;;) {
    char head[12];
    uint64_t length;
    uint32_t crc;
    if (!file.read(head, sizeof head))
      return at;
    std::memcpy(&length, head, 8);
    std::memcpy(&crc, head + 8, 4);
    if (crc != data::maskedCrc32c({head, 8}) || length > 1 << 20)
      return at;
    event.resize(length);
    if (!file.read(event.data(), static_cast<std::streamsize>(length)) || !file.read(head, 4))
      return at;
    std::memcpy(&crc, head, 4);
    if (crc != data::maskedCrc32c(event) || stepOf(event) > step)
      return at;
    at += static_cast<int64_t>(length) + 16;
  }
}

Events::~Events() {
  if (file >= 0)
    close(file);
}

Events::Events(Events &&other) noexcept
    : file(std::exchange(other.file, -1)), path(std::move(other.path)), pending(std::move(other.pending)) {}

Events &Events::operator=(Events &&other) noexcept {
  std::swap(file, other.file);
  std::swap(path, other.path);
  std::swap(pending, other.pending);
  return *this;
}

Events Events::open(const std::string &folder, int64_t step) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  Events events;
  events.path = (std::filesystem::path(folder) / kName).string();
  auto fail = [&] {
    throw data::Error(srtFileStatus(errno), "cannot write '" + events.path + "': " + std::strerror(errno));
  };
  int64_t kept = step > 0 ? bytesUpTo(events.path, step) : 0;
  events.file = ::open(events.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (events.file < 0 || ftruncate(events.file, kept) != 0)
    fail();
  if (kept == 0) {
    std::string event = newEvent();
    putBytes(event, 3, "brain.Event:2");
    events.append(event);
  }
  return events;
}

void Events::append(const std::string &event) {
  char head[12];
  auto length = static_cast<uint64_t>(event.size());
  std::memcpy(head, &length, 8);
  uint32_t crc = data::maskedCrc32c({head, 8});
  std::memcpy(head + 8, &crc, 4);
  pending.append(head, sizeof head);
  pending += event;
  crc = data::maskedCrc32c(event);
  pending.append(reinterpret_cast<const char *>(&crc), 4);
}

void Events::add(int64_t step, const std::string &tag, double value) {
  std::string number, summary, event = newEvent();
  putBytes(number, 1, tag);
  putFixed(number, 2, static_cast<float>(value));
  putBytes(summary, 1, number);
  putVarint(event, 2 << 3);
  putVarint(event, static_cast<uint64_t>(step));
  putBytes(event, 5, summary);
  append(event);
}

void Events::flush() {
  if (pending.empty())
    return;
  sinter_status_code status = srtWriteAll(file, pending.data(), static_cast<int64_t>(pending.size()), path.c_str());
  pending.clear();
  data::check(status);
}
