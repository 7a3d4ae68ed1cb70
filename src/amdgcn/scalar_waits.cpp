// The state along a way: which pairs of scalar registers a vector instruction has read, and which registers of such pairs were
// written since without a wait. Loads by the scalar unit and accesses through buffers wait for all of them.
#include <bitset>
#include <map>

#include <triton_runner/amdgcn/opcode.h>
#include <triton_runner/amdgcn/waits.h>

#include "ways.h"

namespace triton_runner::amdgcn {
namespace {

constexpr uint32_t kNumbered = 124;  // registers before m0, null and exec, which have no such copies
constexpr Operand kVcc = {.kind = OperandKind::kScalar, .index = kVccLo, .text = "vcc_lo"};

struct Written {
  uint32_t at;  // the number of the instruction
  bool by_vector;
};
struct State {
  std::bitset<kNumbered / 2> read;    // pairs
  std::map<uint32_t, Written> since;  // by the register's number
};

bool is_vcc(uint32_t index) { return index == kVccLo || index == kVccHi; }
bool starts(std::string_view text, std::string_view with) { return text.starts_with(with); }
bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// v_dual_cndmask_b32 v1, v2, v3
bool reads_vcc_unnamed(const Instruction& in) {
  const std::string_view name = in.row->name;
  return starts(name, "v_div_fmas") || starts(name, "s_cbranch_vcc") ||
         (starts(name, "v_cndmask") && in.operands.size() == 3);
}

class ScalarWaits {
 public:
  explicit ScalarWaits(const Kernel& kernel) : kernel_(kernel) {}

  std::vector<MissingWait> find() {
    follow_ways<State>(
        kernel_,
        [](State& there, const State& state) {
          const auto read = there.read | state.read;
          bool changed = read != there.read;
          there.read = read;
          for (const auto& entry : state.since) changed |= there.since.insert(entry).second;
          return changed;
        },
        [&](uint32_t at, State& state, bool reports) { step(at, state, reports); });
    return std::move(found_);
  }

 private:
  // The fields that are not zero let their writes be under way.
  static void wait(const Instruction& in, State& state) {
    bool vector = false, vcc = false, scalar = false;
    for (const Operand& o : in.operands) {
      if (o.kind == OperandKind::kInteger) {
        scalar = !(o.integer & 1), vcc = !(o.integer >> 1 & 1), vector = !(o.integer >> 9 & 7);
        continue;
      }
      vector |= has(o.text, "va_sdst(0)"), vcc |= has(o.text, "va_vcc(0)");
      scalar |= has(o.text, "sa_sdst(0)");
    }
    std::erase_if(state.since, [&](const auto& entry) {
      return entry.second.by_vector ? (is_vcc(entry.first) ? vcc : vector) : scalar;
    });
  }

  void step(uint32_t at, State& state, bool reports) {
    const Instruction& in = kernel_.body[at];
    if (!in.row) return;
    const std::string_view name = in.row->name;
    if (name == "s_wait_alu") return wait(in, state);
    if (starts(name, "buffer_") || (is_memory(in) && starts(name, "s_"))) return state.since.clear();
    const bool is_vector = starts(name, "v_");
    if (!is_vector && !starts(name, "s_")) return;
    std::vector<Use> uses = uses_of(in);
    if (reads_vcc_unnamed(in)) uses.push_back({&kVcc, false});
    for (const Use& use : uses)
      if (!use.written) read(in, *use.operand, is_vector, state, reports);
    if (starts(name, "s_swappc")) state.read.set();  // nothing is known of what the function reads
    for (const Use& use : uses)
      if (use.written && use.operand->kind == OperandKind::kScalar)
        for (uint32_t k = use.operand->index; k < use.operand->index + use.operand->count; ++k)
          if (k < kNumbered && state.read[k / 2]) state.since.insert_or_assign(k, Written{at, is_vector});
  }

  void read(const Instruction& in, const Operand& operand, bool is_vector, State& state, bool reports) {
    if (operand.kind != OperandKind::kScalar || operand.index >= kNumbered) return;
    if (!state.read[operand.index / 2]) {
      if (is_vector) state.read.set(operand.index / 2);
      return;
    }
    // The scalar unit waits for what vector instructions have written, of VCC or of all the others.
    if (!is_vector)
      std::erase_if(state.since, [&](const auto& entry) {
        return entry.second.by_vector && is_vcc(entry.first) == is_vcc(operand.index);
      });
    for (uint32_t k = operand.index; reports && k < operand.index + operand.count; ++k) {
      const auto found = state.since.find(k);
      if (found == state.since.end()) continue;
      const std::string_view field = !found->second.by_vector ? "sa_sdst" : is_vcc(k) ? "va_vcc" : "va_sdst";
      found_.push_back({&in, &kernel_.body[found->second.at],
                        "it reads " + register_name(register_code(OperandKind::kScalar, k)) +
                            ", which a vector instruction has read before and whose new value nobody waited "
                            "for: s_wait_alu depctr_" +
                            std::string(field) + "(0) is needed",
                        "write"});
      return;
    }
  }

  const Kernel& kernel_;
  std::vector<MissingWait> found_;
};

}  // namespace

std::vector<MissingWait> missing_scalar_waits(const Kernel& kernel) { return ScalarWaits(kernel).find(); }

}  // namespace triton_runner::amdgcn
