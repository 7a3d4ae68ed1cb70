// Finds the places in memory of a memdesc type's elements, and plans the copies that follow from them.
#include "machine/memdesc.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <triton_runner/tile/encoding.h>

#include "machine/threads.h"

namespace triton_runner::tile {
namespace {

int log2_of(int64_t n) { return std::bit_width(static_cast<uint64_t>(n)) - 1; }

int64_t product(std::span<const int64_t> shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// The shape of the buffer that a descriptor is a slice of.
// Types tell it from 3.3 on; before, the op that sliced does.
std::vector<int64_t> allocated_shape(const ir::Value& value) {
  const ir::Type& type = *value.type;
  const size_t rank = type.shape.size();
  auto tail = [&](std::span<const int64_t> shape) {
    return std::vector<int64_t>(shape.end() - static_cast<ptrdiff_t>(rank), shape.end());
  };
  if (type.alloc_shape.size() >= rank) return tail(type.alloc_shape);
  const ir::Op* op = value.defining_op;
  if (op && op->kind == ir::OpKind::kMemDescSubview && op->operand(0)->type->shape.size() >= rank)
    return tail(allocated_shape(*op->operand(0)));
  if (op && (op->kind == ir::OpKind::kMemDescTrans || op->kind == ir::OpKind::kTrans) &&
      op->operand(0)->type->kind == ir::TypeKind::kMemDesc) {
    const std::vector<int64_t> from = allocated_shape(*op->operand(0));
    const ir::Attr* order = op->attr("order");
    std::vector<int64_t> to;
    for (size_t d = 0; d < rank; d++) {
      size_t source = rank - 1 - d;
      if (order && d < order->raw.size()) source = order->raw[d];
      to.push_back(from[source]);
    }
    return to;
  }
  return {type.shape.begin(), type.shape.end()};
}

// Works out where the elements of its shape lie. Returns why that is not known, or an empty text.
std::string place_elements(MemView& view, int64_t row_bytes) {
  const layout::Encoding& e = view.encoding;
  auto layout = to_linear_layout(e, view.allocated);
  if (!layout) return layout.error().message;
  auto inverse = layout->pseudo_invert();
  if (!inverse) return "the encoding places not every element of its buffer";
  // A cluster runs as one program that holds the whole tile: the blocks' shares lie one after the other.
  const char* minor = view.tensor_memory ? "col" : "offset";
  const int minor_bits = layout->in_bits(minor);
  view.row_bytes = row_bytes;
  const int64_t row = view.row_bytes / view.size;
  for (size_t d = 0; d < view.shape.size(); d++) {
    std::vector<uint32_t> bits;
    for (int bit = 0; int64_t{1} << bit < view.shape[d]; bit++) {
      std::vector<int64_t> index(view.shape.size(), 0);
      index[d] = int64_t{1} << bit;
      const layout::Basis at = inverse->apply(index);
      auto coordinate = [&](const char* name) {
        const int out = inverse->out_index(name);
        return out < 0 ? int64_t{0} : int64_t{at[out]};
      };
      bits.push_back(static_cast<uint32_t>(coordinate("row") * row + coordinate(minor) +
                                           (coordinate("block") << minor_bits)));
    }
    view.place.push_back(std::move(bits));
  }
  const int64_t slots = int64_t{1} << (minor_bits + layout->in_bits("block"));
  view.buffer_bytes = (slots + padding_before(e, slots - 1)) * view.size;
  if (view.tensor_memory) view.buffer_bytes = std::max<int64_t>(4, (view.buffer_bytes + 3) / 4 * 4);
  return {};
}

}  // namespace

int64_t MemView::n() const { return product(shape); }
int64_t MemView::total() const { return product(leading) * n(); }
std::vector<int64_t> MemView::whole_shape() const {
  std::vector<int64_t> out(leading);
  out.insert(out.end(), shape.begin(), shape.end());
  return out;
}
int64_t MemView::bytes() const { return product(leading) * buffer_bytes; }

int64_t MemView::splits() const {
  int64_t n = 1;
  for (const layout::Basis& basis : encoding.cga)
    if (!is_copy(basis)) n *= 2;
  return n;
}

uint32_t MemView::place_of(std::span<const int64_t> index) const {
  uint32_t at = 0;
  for (size_t d = 0; d < index.size(); d++) {
    for (size_t bit = 0; bit < place[d].size(); bit++) {
      if (index[d] >> bit & 1) at ^= place[d][bit];
    }
  }
  return at;
}

int64_t MemView::stride_of_leading(size_t d) const {
  return product(std::span(leading).subspan(d + 1)) * buffer_bytes;
}

const MemView* mem_view(Lowering& l, const ir::Value& value, const ir::Op& op) {
  const ir::Type& type = *value.type;
  auto fail = [&](std::string message) {
    l.fail(op, std::move(message));
    return nullptr;
  };
  if (type.kind != ir::TypeKind::kMemDesc)
    return fail("expected a memory descriptor, not " + std::string(type.text));
  if (!type.encoding) return fail("a memory descriptor without an encoding: " + std::string(type.text));
  auto encoding = encoding_of(*type.encoding);
  if (!encoding) return fail(encoding.error().message);
  auto* view = l.make<MemView>();
  const TileType* element = l.type(type.element);
  // The answers of cluster launch control: 16 bytes, which only its ops read.
  const bool is_answer = type.element->kind == ir::TypeKind::kInteger && type.element->width == 128;
  if (element->size == 0 && !is_answer)
    return fail("memory descriptors of " + std::string(type.element->text) + " are not supported");
  view->element = is_answer ? num::Type::kI64 : element->element;
  view->size = is_answer ? 16 : element->size;
  view->encoding = std::move(*encoding);
  layout::Encoding& e = view->encoding;
  view->tensor_memory = !is_shared(e.kind);
  if (is_distributed(e.kind))
    return fail(std::string("#ttg.") + encoding_name(e.kind) + " is not an encoding of memory");
  if (e.col_stride < 0) e.col_stride = std::max(1, 4 / view->size);

  const size_t rank = type.shape.size();
  size_t inner = e.rank() ? e.rank() : std::min<size_t>(rank, 2);
  if (rank > kMaxMemRank)
    return fail("memory descriptors of more than " + std::to_string(kMaxMemRank) +
                " dimensions are not supported");
  if (inner > rank)
    return fail("an encoding of rank " + std::to_string(inner) + " on " + std::string(type.text));
  view->leading.assign(type.shape.begin(), type.shape.end() - static_cast<ptrdiff_t>(inner));
  view->shape.assign(type.shape.end() - static_cast<ptrdiff_t>(inner), type.shape.end());
  const auto allocated = allocated_shape(value);
  view->allocated.assign(allocated.end() - static_cast<ptrdiff_t>(inner), allocated.end());
  // 3.3 and 3.4 allocate the mbarriers of a pipeline as one row of them, memdesc<3xi64>.
  for (int64_t& extent : view->allocated)
    extent = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));

  const std::string fault = place_elements(*view, l.code().tensor_memory_row());
  if (!fault.empty()) return fail(fault);
  return view;
}

const MemView* reshaped(Lowering& l, const ir::Op& op, const MemView& view, std::vector<int64_t> shape) {
  auto* out = l.make<MemView>(view);
  out->shape = out->allocated = std::move(shape);
  out->place.clear();
  const std::string fault = place_elements(*out, l.code().tensor_memory_row());
  return fault.empty() ? out : (l.fail(op, fault), nullptr);
}

std::vector<int> memory_order(const MemView& view) {
  // A dimension is the more minor, the smaller the place of its second element.
  std::vector<int> order;
  for (size_t d = view.shape.size(); d-- > 0;) order.push_back(static_cast<int>(d));
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const auto &pa = view.place[a], &pb = view.place[b];
    if (pa.empty() || pb.empty()) return !pa.empty() && pb.empty();
    return pa[0] < pb[0];
  });
  return order;
}

MemPlan::MemPlan(const MemView& view, std::vector<int> order)
    : size_(view.size), n_(view.total()), tensor_memory_(view.tensor_memory) {
  const int rank = static_cast<int>(view.shape.size());
  if (order.empty()) {
    for (int d = rank; d-- > 0;) order.push_back(d);
  }
  const size_t lead = view.leading.size();
  strides_.assign(lead + rank, 0);
  std::vector<uint32_t> bits;  // place of each bit of the contiguous side's index
  int64_t stride = 1;
  for (int d : order) {
    strides_[lead + d] = stride;
    stride *= view.shape[d];
    for (uint32_t b : view.place[d]) bits.push_back(b);
  }
  row_major_ = std::is_sorted(order.rbegin(), order.rend());
  for (size_t d = lead; d-- > 0;) {
    strides_[d] = stride;
    stride *= view.leading[d];
  }
  const int64_t groups = product(view.leading);
  for (int64_t g = 0; g < groups; g++) group_base_.push_back(static_cast<uint32_t>(g * view.buffer_bytes));
  for (const auto& [interval, amount] : view.encoding.padding) {
    padding_.emplace_back(log2_of(interval), amount);
  }
  if (view.encoding.kind == layout::EncodingKind::kTensorMemoryScales)
    for (int64_t lane = kScaleLanes; lane < kTensorMemoryRows; lane += kScaleLanes)
      copies_.push_back(static_cast<uint32_t>(lane * view.row_bytes));
  while (run_ < static_cast<int>(bits.size()) && bits[run_] == uint32_t{1} << run_) run_++;
  // A swizzle flips low bits of the place with higher bits of the index: a run ends below the lowest of them.
  for (size_t bit = run_; bit < bits.size(); bit++) run_ = std::min(run_, std::countr_zero(bits[bit]));
  for (const auto& [interval, amount] : padding_) run_ = std::min(run_, interval);
  const int64_t runs = int64_t{1} << (bits.size() - run_);
  place_.resize(runs);
  uint32_t most = 0;
  for (int64_t r = 0; r < runs; r++) {
    uint32_t at = 0;
    for (size_t bit = run_; bit < bits.size(); bit++) {
      if (r >> (bit - run_) & 1) at ^= bits[bit];
    }
    place_[r] = at * static_cast<uint32_t>(size_);
    most = std::max(most, at);
  }
  extent_ = static_cast<int64_t>(group_base_.back()) +
            (static_cast<int64_t>(padded(most)) + (int64_t{1} << run_)) * size_;
  span_ = groups * view.buffer_bytes;
  identify(view, bits);
}

void MemPlan::identify(const MemView& view, const std::vector<uint32_t>& bits) {
  kind_ = {size_, view.buffer_bytes, static_cast<int64_t>(view.encoding.padding.size())};
  for (const auto& [interval, amount] : view.encoding.padding) kind_.insert(kind_.end(), {interval, amount});
  kind_.insert(kind_.end(), view.leading.begin(), view.leading.end());
  for (size_t d = 0; d < view.shape.size(); d++) {
    if (!view.place[d].empty()) dims_.push_back({static_cast<int>(view.leading.size() + d), view.place[d]});
  }
  std::sort(dims_.begin(), dims_.end(), [](const Dim& a, const Dim& b) { return a.places[0] < b.places[0]; });
  // Gauss: each entry has a highest bit that no later one has.
  for (size_t i = 0; i < bits.size(); i++) {
    std::pair<uint32_t, uint32_t> entry{bits[i], uint32_t{1} << i};
    for (const auto& [place, index] : solve_) {
      if (entry.first & std::bit_floor(place)) entry.first ^= place, entry.second ^= index;
    }
    if (entry.first) solve_.push_back(entry);
  }
}

bool MemPlan::holds(const MemPlan& part, uint32_t flip, int64_t* offset, int64_t* strides) const {
  if (&part == this && flip == 0) {
    std::copy(strides_.begin(), strides_.end(), strides);
    *offset = 0;
    return true;
  }
  if (kind_ != part.kind_ || tensor_memory_ != part.tensor_memory_) return false;
  const size_t lead = kind_.size() - 3 - 2 * padding_.size();
  std::copy(part.strides_.begin(), part.strides_.end(), strides);
  std::copy(strides_.begin(), strides_.begin() + static_cast<ptrdiff_t>(lead), strides);
  size_t ours = 0;
  for (const Dim& d : part.dims_) {
    while (ours < dims_.size() && dims_[ours].places[0] != d.places[0]) ours++;
    if (ours == dims_.size() || d.places.size() > dims_[ours].places.size() ||
        !std::equal(d.places.begin(), d.places.end(), dims_[ours].places.begin()))
      return false;
    strides[d.dim] = strides_[dims_[ours].dim];
  }
  *offset = 0;
  if (flip == 0) return true;
  for (const auto& [place, index] : solve_) {
    if (flip & std::bit_floor(place)) flip ^= place, *offset ^= index;
  }
  // If it begins inside of one of its own dimensions, places are no sums of an offset and strides.
  for (const Dim& d : part.dims_) {
    if (*offset / strides[d.dim] & ((int64_t{1} << d.places.size()) - 1)) return false;
  }
  return flip == 0;
}

uint32_t MemPlan::padded(uint32_t place) const {
  uint32_t out = place;
  for (const auto& [interval, amount] : padding_) out += static_cast<uint32_t>((place >> interval) * amount);
  return out;
}

namespace {

// `place` and `flip` in bytes.
template <bool kRead, size_t kBytes>
void copy_runs(std::byte* linear, std::byte* base, const uint32_t* place, int64_t runs, uint32_t flip) {
#pragma GCC unroll 4
  for (int64_t r = 0; r < runs; r++, linear += kBytes) {
    std::byte* at = base + (place[r] ^ flip);
    if constexpr (kRead) {
      std::memcpy(linear, at, kBytes);
    } else {
      std::memcpy(at, linear, kBytes);
    }
  }
}

}  // namespace

template <bool kRead>
void MemPlan::transfer(std::byte* linear, std::byte* arena, MemDesc d) const {
  const uint32_t low = (uint32_t{1} << run_) - 1, flip = d.flip * static_cast<uint32_t>(size_);
  const int64_t runs = static_cast<int64_t>(place_.size());
  for (uint32_t group : group_base_) {
    std::byte* base = arena + d.base + group;
    if (!padding_.empty() || (d.flip & low) != 0) {
      // Element by element: padding moves runs apart, or a slice begins inside of one.
      for (int64_t r = 0; r < runs; r++) {
        for (uint32_t i = 0; i <= low; i++, linear += size_) {
          std::byte* at = base + static_cast<size_t>(padded((place_[r] / size_ | i) ^ d.flip)) * size_;
          if constexpr (kRead) {
            std::memcpy(linear, at, size_);
          } else {
            std::memcpy(at, linear, size_);
          }
        }
      }
      continue;
    }
    const size_t bytes = (size_t{1} << run_) * size_;
    const bool is_usual = [&]<size_t... kBytes>(std::index_sequence<kBytes...>) {
      return (
          (bytes == kBytes && (copy_runs<kRead, kBytes>(linear, base, place_.data(), runs, flip), true)) ||
          ...);
    }(std::index_sequence<1, 2, 4, 8, 16, 32, 64, 128>{});
    for (int64_t r = 0; !is_usual && r < runs; r++) {
      std::byte* at = base + (place_[r] ^ flip);
      std::memcpy(kRead ? linear + r * bytes : at, kRead ? at : linear + r * bytes, bytes);
    }
    linear += runs * bytes;
  }
}

void MemPlan::read(void* out, const std::byte* arena, MemDesc d) const {
  transfer<true>(static_cast<std::byte*>(out), const_cast<std::byte*>(arena), d);
}

void MemPlan::write(std::byte* arena, MemDesc d, const void* in) const {
  for (uint32_t copy : copies_)
    transfer<false>(static_cast<std::byte*>(const_cast<void*>(in)), arena + copy, d);
}

}  // namespace triton_runner::tile
