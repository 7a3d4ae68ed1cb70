// Makes the tables of places.h: walks a layout over all of its inputs, and counts the banks of a warp's
// accesses.
#include <triton_runner/base/try.h>
#include <triton_runner/layout/places.h>

#include <algorithm>
#include <map>
#include <set>

namespace triton_runner::layout {

using base::failure;
using base::Result;

Result<Places> places(const LinearLayout& layout) {
  constexpr int kMostBits = 24;
  int64_t elements = 1;
  for (const OutDim& out : layout.outs()) elements *= out.size;
  if (elements > int64_t{1} << kMostBits || layout.total_in_bits() > kMostBits)
    return failure("a table of more than 16,777,216 places; ask for a smaller shape");
  Places found;
  for (const InDim& in : layout.ins()) {
    found.names.push_back(in.name);
    found.where.emplace_back(elements, -1);
  }
  found.copies.assign(elements, 0);
  // From the last to the first, so that the lowest index of each input is what stays.
  std::vector<int64_t> index(layout.ins().size());
  for (int64_t flat = int64_t{1} << layout.total_in_bits(); flat-- > 0;) {
    int64_t rest = flat;
    for (size_t i = 0; i < index.size(); i++) {
      const int64_t size = int64_t{1} << layout.ins()[i].bases.size();
      index[i] = rest % size;
      rest /= size;
    }
    const Basis image = layout.apply(index);
    int64_t element = 0;
    for (size_t d = 0; d < image.size(); d++) element = element * layout.outs()[d].size + image[d];
    for (size_t i = 0; i < index.size(); i++) found.where[i][element] = static_cast<int32_t>(index[i]);
    found.copies[element]++;
  }
  return found;
}

namespace {

// The offset of the element of (register, lane, warp 0) in the buffer, in elements before padding.
class Offsets {
 public:
  Offsets(LinearLayout registers, LinearLayout to_memory, const Encoding& shared)
      : registers_(std::move(registers)),
        to_memory_(std::move(to_memory)),
        out_(static_cast<size_t>(to_memory_.out_index("offset"))),
        shared_(shared) {}

  int64_t linear(int64_t reg, int64_t lane, int64_t warp) const {
    const Basis at = registers_.apply({{"register", reg}, {"lane", lane}, {"warp", warp}});
    const std::vector<int64_t> index(at.begin(), at.end());
    return to_memory_.apply(index)[out_];
  }
  int64_t padded(int64_t reg, int64_t lane, int64_t warp) const {
    const int64_t offset = linear(reg, lane, warp);
    return offset + padding_before(shared_, offset);
  }

  // The registers whose bits are the lowest bits of the offset, as long as nothing else reaches those: they
  // are neighbours in memory. The list is in the order of memory.
  std::vector<int64_t> neighbours(int64_t most) const {
    std::vector<int64_t> found{0};
    for (int64_t bit = 1; static_cast<int64_t>(found.size()) * 2 <= most; bit *= 2) {
      int64_t of_register = -1;
      for (int64_t r = 1; r < registers_.in_size("register"); r *= 2)
        if (linear(r, 0, 0) == bit) of_register = r;
      if (of_register < 0 || reached_by_others(bit, of_register)) break;
      for (size_t i = 0, n = found.size(); i < n; i++) found.push_back(found[i] | of_register);
    }
    return found;
  }

  int64_t registers() const { return registers_.in_size("register"); }
  int64_t lanes() const { return registers_.in_size("lane"); }
  int64_t warps() const { return registers_.in_size("warp"); }

 private:
  bool reached_by_others(int64_t bit, int64_t reg) const {
    for (int64_t r = 1; r < registers(); r *= 2)
      if (r != reg && (linear(r, 0, 0) & bit)) return true;
    for (int64_t lane = 1; lane < lanes(); lane *= 2)
      if (linear(0, lane, 0) & bit) return true;
    for (int64_t warp = 1; warp < warps(); warp *= 2)
      if (linear(0, 0, warp) & bit) return true;
    return false;
  }

  LinearLayout registers_, to_memory_;
  size_t out_;
  const Encoding& shared_;
};

// The turns of an access: lanes go together as long as they move 128 bytes; in a turn of the lanes each bank
// gives one of its words.
void count_turns(BankAccess& access, int bytes_a_lane) {
  const size_t group = static_cast<size_t>(std::max(1, kBanks * kBankBytes / std::max(bytes_a_lane, 4)));
  for (size_t first = 0; first < access.bytes.size(); first += group) {
    std::map<int64_t, std::set<int64_t>> words;  // of each bank
    for (size_t i = first; i < std::min(first + group, access.bytes.size()); i++) {
      const int64_t from = access.bytes[i] / kBankBytes;
      const int64_t to = (access.bytes[i] + bytes_a_lane - 1) / kBankBytes;
      for (int64_t word = from; word <= to; word++) words[word % kBanks].insert(word);
    }
    size_t most = 1;
    for (const auto& [bank, wanted] : words) most = std::max(most, wanted.size());
    access.turns += static_cast<int>(most);
    access.fewest++;
  }
}

}  // namespace

Result<BankTable> bank_table(const Encoding& shared, const Encoding& registers,
                             std::span<const int64_t> shape, int element_bits, int warp, int most_bytes) {
  if (!is_shared(shared.kind))
    return failure(std::string("#ttg.") + encoding_name(shared.kind) +
                   " is not an encoding of shared memory");
  if (!is_distributed(registers.kind))
    return failure(std::string("#ttg.") + encoding_name(registers.kind) +
                   " does not say which lanes hold an element");
  if (element_bits < 8 || element_bits % 8 != 0)
    return failure("banks of elements of " + std::to_string(element_bits) +
                   " bits: at least 8, and whole bytes");
  auto held = TRY(to_linear_layout(registers, shape));
  auto memory = TRY(to_linear_layout(shared, shape));
  auto inverse = memory.pseudo_invert();
  if (!inverse) return failure("the shared encoding does not place every element");
  const Offsets offsets(std::move(held), *std::move(inverse), shared);
  if (warp < 0 || warp >= offsets.warps())
    return failure("warp " + std::to_string(warp) + " of " + std::to_string(offsets.warps()));
  const int bytes = element_bits / 8;
  int64_t most = std::max(1, std::min(16, most_bytes) / bytes);
  for (const auto& [interval, amount] : shared.padding) most = std::min(most, interval);
  const std::vector<int64_t> vector = offsets.neighbours(most);

  BankTable table;
  table.vector_bytes = static_cast<int>(vector.size()) * bytes;
  const int64_t within = *std::max_element(vector.begin(), vector.end());
  for (int64_t base = 0; base < offsets.registers(); base++) {
    if (base & within) continue;
    BankAccess access;
    for (int64_t r : vector) access.registers.push_back(static_cast<int32_t>(base | r));
    for (int64_t lane = 0; lane < offsets.lanes(); lane++)
      access.bytes.push_back(offsets.padded(base, lane, warp) * bytes);
    count_turns(access, table.vector_bytes);
    table.accesses.push_back(std::move(access));
  }
  return table;
}

}  // namespace triton_runner::layout
