// From an opcode's row of pipes.def and the suffixes of matrix instructions to what they ask of the SM.
#include <triton_runner/sass/work.h>

#include <charconv>

#include <triton_runner/sass/registers.h>

namespace triton_runner::sass {
namespace {

struct PipeRow {
  std::string_view name, pipe;
  uint32_t flops;
};
constexpr PipeRow kPipes[] = {
#define PIPE(name, pipe, flops) {#name, #pipe, flops},
#include <triton_runner/sass/pipes.def>
};

// "64x128x16".
bool read_shape(std::string_view text, uint64_t (&out)[3]) {
  const char *at = text.data(), *end = at + text.size();
  for (int d = 0; d < 3; ++d) {
    const auto [next, error] = std::from_chars(at, end, out[d]);
    if (error != std::errc()) return false;
    at = next;
    if (d < 2 && (at == end || *at++ != 'x')) return false;
  }
  return at == end;
}

std::string_view type_of(const Instruction& in) {
  if (in.name == "DMMA") return "f64";
  if (in.name == "BMMA") return "b1";
  if (in.name == "OMMA") return "f4";
  if (in.name == "QMMA" || in.name == "QGMMA") return "f8";
  if (in.name == "IMMA" || in.name == "IGMMA") return in.has("S4") || in.has("U4") ? "s4" : "s8";
  if (in.has("TF32")) return "tf32";
  return "f16";
}

void add_matrices(const Instruction& in, Work& work) {
  work.matrix_type = type_of(in);
  const auto [m, n, k] = product_of(in);
  work.matrix_operations = uint64_t{2} * m * n * k;
  if (!in.name.ends_with("GMMA")) return;
  uint64_t d[3] = {0, 0, 0};
  for (std::string_view mod : in.mods)
    if (mod.starts_with("64x") && !read_shape(mod, d)) d[0] = 0;
  work.matrix_operations = 2 * d[0] * d[1] * d[2] / 4;  // by four warps
}

void add_access(const Instruction& in, const Row& row, Work& work) {
  using enum ptx::Effect;
  const std::string_view n = in.name;
  if (row.family == "copies" && row.does(kCopies)) {
    work.space = n == "LDGSTS" ? "global" : n.starts_with("U") && n != "UGETNEXTWORKID" ? "tma" : "";
    work.access = work.space.empty() ? "" : "copy";
    return;
  }
  if (row.does(kObjects) || !(row.does(kReads) || row.does(kWrites) || row.does(kUpdates))) return;
  work.access = n.starts_with("RED") ? "reduction"
                : row.does(kUpdates) ? "atomic"
                : row.does(kWrites)  ? "store"
                                     : "load";
  const bool is_shared = n == "LDS" || n == "STS" || n == "LDSM" || n == "STSM" || n == "ATOMS";
  const bool is_generic = n == "LD" || n == "ST" || n == "ATOM" || n == "RED";
  work.space = is_shared ? "shared" : n == "LDL" || n == "STL" ? "local" : is_generic ? "generic" : "global";
}

}  // namespace

Work work_of(const Module& module, const Instruction& in) {
  Work work;
  for (const PipeRow& row : kPipes)
    if (row.name == in.name) work.pipe = row.pipe, work.flops = row.flops;
  if (work.pipe == "TENSOR") add_matrices(in, work);
  if (const auto matched = match(module, in)) add_access(in, *matched->row, work);
  return work;
}

}  // namespace triton_runner::sass
