// Implements trace_bytes.h: fields one after the other, as they lie in memory.
#include <triton_runner/replay/trace_bytes.h>

#include <cstring>
#include <vector>

namespace triton_runner::replay {
namespace {

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void put(std::string& out, const std::vector<T>& values) {
  put(out, uint64_t{values.size()});
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

struct Reader {
  std::string_view rest;
  bool is_whole = true;

  template <class T>
  void get(T& value) {
    is_whole &= rest.size() >= sizeof value;
    if (!is_whole) return;
    std::memcpy(&value, rest.data(), sizeof value);
    rest.remove_prefix(sizeof value);
  }
  template <class T>
  void get(std::vector<T>& values) {
    uint64_t n = 0;
    get(n);
    is_whole &= n <= rest.size() / sizeof(T);
    if (!is_whole) return;
    values.resize(n);
    std::memcpy(values.data(), rest.data(), n * sizeof(T));
    rest.remove_prefix(n * sizeof(T));
  }
};

}  // namespace

std::string bytes_of(const exec::Trace& trace) {
  // A new member does not compile here: it has to be written and read, unless it is for recording alone.
  const auto& [stretches, blocks, most, size, is_cut] = trace;
  std::string out;
  put(out, uint64_t{stretches.size()});
  for (const auto& stretch : stretches) put(out, stretch);
  put(out, uint64_t{blocks.size()});
  for (const auto& [program, warps] : blocks) {
    put(out, program);
    put(out, uint64_t{warps.size()});
    for (const auto& [steps, events, lines] : warps) put(out, steps), put(out, events), put(out, lines);
  }
  put(out, size);
  return out;
}

base::Result<exec::Trace> trace_of(std::string_view bytes) {
  exec::Trace out;
  Reader in{bytes};
  uint64_t n = 0, blocks = 0, warps = 0;
  in.get(n);
  for (uint64_t i = 0; i < n && in.is_whole; ++i) in.get(out.stretches.emplace_back());
  in.get(blocks);
  for (uint64_t b = 0; b < blocks && in.is_whole; ++b) {
    int64_t program = 0;
    in.get(program), in.get(warps);
    auto& to = out.blocks[program];
    for (uint64_t w = 0; w < warps && in.is_whole; ++w) {
      exec::WarpTrace& warp = to.emplace_back();
      in.get(warp.steps), in.get(warp.events), in.get(warp.lines);
    }
  }
  in.get(out.size);
  if (in.is_whole && in.rest.empty()) return out;
  base::Diagnostic wrong;
  wrong.message = "these bytes are no trace";
  return wrong;
}

}  // namespace triton_runner::replay
