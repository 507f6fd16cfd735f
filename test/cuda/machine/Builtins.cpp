// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Builtins.h"

#include <cstring>

namespace sinter::ptx {

namespace {
// The arguments of a call: what the caller stored in its .param variables.
class Arguments {
public:
  Arguments(Warp &w, const Inst &i, unsigned lane) : w(w), i(i), lane(lane) {}
  uint64_t get(unsigned n) const {
    const auto &map = *static_cast<const std::vector<uint32_t> *>(i.extra);
    const size_t at = (i.imm + n) * 3;
    uint64_t value = 0;
    std::memcpy(&value, place(map[at + 1]), std::min(map[at + 2], 8u));
    return value;
  }
  void result(uint64_t value) const {
    const auto &map = *static_cast<const std::vector<uint32_t> *>(i.extra);
    if (i.imm)
      std::memcpy(place(map[1]), &value, std::min(map[2], 8u));
  }

private:
  uint8_t *place(uint32_t offset) const { return w.frame->params.data() + size_t(lane) * w.frame->paramBytes + offset; }
  Warp &w;
  const Inst &i;
  unsigned lane;
};
} // namespace

static std::string text(Warp &w, const Inst &i, unsigned lane, uint64_t address) {
  std::string out;
  for (; out.size() < 4096; ++address) {
    char c = char(*w.read(i, lane, Space::Generic, address, 1, true));
    if (!c)
      break;
    out += c;
  }
  return out;
}

static void vprintf(Warp &w, const Inst &i, Mask m) {
  for (; m; m &= m - 1) {
    unsigned lane = std::countr_zero(m);
    Arguments arguments(w, i, lane);
    std::string format = text(w, i, lane, arguments.get(0)), out;
    uint64_t at = arguments.get(1);
    auto next = [&](unsigned bytes) {
      at = (at + bytes - 1) / bytes * bytes;
      uint64_t value = 0;
      std::memcpy(&value, w.read(i, lane, Space::Generic, at, bytes, true), bytes);
      at += bytes;
      return value;
    };
    for (size_t n = 0; n < format.size(); ++n) {
      if (format[n] != '%') {
        out += format[n];
        continue;
      }
      size_t end = format.find_first_of("diouxXeEfgGcsp%", n + 1);
      if (end == std::string::npos)
        break;
      std::string spec = format.substr(n, end - n);
      std::erase(spec, 'l');
      n = end;
      char kind = format[end], buffer[256];
      const bool isLong = format.substr(0, end).ends_with("l");
      if (kind == '%')
        buffer[0] = '%', buffer[1] = 0;
      else if (kind == 's') {
        out += text(w, i, lane, next(8));
        continue;
      } else if (std::strchr("eEfgG", kind))
        snprintf(buffer, sizeof buffer, (spec + kind).c_str(), std::bit_cast<double>(next(8)));
      else if (kind == 'p')
        snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(next(8)));
      else if (kind == 'c')
        buffer[0] = char(next(4)), buffer[1] = 0;
      else {
        long long value = isLong                       ? (long long)next(8)
                          : kind == 'd' || kind == 'i' ? int32_t(next(4))
                                                       : (long long)next(4);
        snprintf(buffer, sizeof buffer, (spec + "ll" + kind).c_str(), value);
      }
      out += buffer;
    }
    if (w.launch.print)
      w.launch.print(out);
    arguments.result(0);
  }
}

static void assertFail(Warp &w, const Inst &i, Mask m) {
  unsigned lane = std::countr_zero(m);
  Arguments arguments(w, i, lane);
  w.fault(FaultKind::Trap, i, lane, "assertion failed: " + text(w, i, lane, arguments.get(0)));
}

static void setConditional(Warp &w, const Inst &i, Mask m) {
  for (; m; m &= m - 1) {
    Arguments arguments(w, i, std::countr_zero(m));
    if (!w.launch.setConditional)
      w.fault(FaultKind::Invalid, i, std::countr_zero(m), "cudaGraphSetConditional outside of a graph");
    w.launch.setConditional(arguments.get(0), uint32_t(arguments.get(1)));
  }
}

Handler builtin(std::string_view name) {
  if (name == "vprintf")
    return &vprintf;
  if (name == "__assertfail")
    return &assertFail;
  if (name == "cudaGraphSetConditional")
    return &setConditional;
  return nullptr;
}

} // namespace sinter::ptx
