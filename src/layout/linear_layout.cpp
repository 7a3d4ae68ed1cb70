// Implements LinearLayout as lists of basis images; inversion is Gaussian elimination over GF(2).
#include <triton_runner/layout/linear_layout.h>

#include <algorithm>
#include <bit>
#include <cassert>

namespace triton_runner::layout {
namespace {

int log2_of(int64_t size) { return std::bit_width(static_cast<uint64_t>(size)) - 1; }

template <class Dims>
auto find(Dims& dims, std::string_view name) {
  return std::find_if(dims.begin(), dims.end(), [&](const auto& d) { return d.name == name; });
}

// An image as one number, the first output dimension in the lowest bits.
uint64_t flatten(const Basis& image, const std::vector<OutDim>& outs) {
  uint64_t flat = 0;
  int shift = 0;
  for (size_t d = 0; d < outs.size(); d++) {
    flat |= static_cast<uint64_t>(image[d]) << shift;
    shift += log2_of(outs[d].size);
  }
  return flat;
}

Basis unflatten(uint64_t flat, const std::vector<OutDim>& outs) {
  Basis image(outs.size());
  for (size_t d = 0; d < outs.size(); d++) {
    image[d] = static_cast<int32_t>(flat & (static_cast<uint64_t>(outs[d].size) - 1));
    flat >>= log2_of(outs[d].size);
  }
  return image;
}

int total_out_bits(const std::vector<OutDim>& outs) {
  int bits = 0;
  for (const OutDim& d : outs) bits += log2_of(d.size);
  return bits;
}

// The images of all input bits in order, reduced to echelon form while each row remembers which bits it
// came from.
struct Echelon {
  struct Row {
    uint64_t image, from;
  };
  std::vector<Row> rows;  // each with a leading bit of its own
  int dependent = 0;      // input bits that add nothing

  explicit Echelon(const LinearLayout& layout) {
    int bit = 0;
    for (const InDim& in : layout.ins()) {
      for (const Basis& basis : in.bases) {
        Row row{flatten(basis, layout.outs()), uint64_t{1} << (bit++ & 63)};
        if (reduce(row)) {
          rows.push_back(row);
        } else {
          dependent++;
        }
      }
    }
  }
  // Takes away the rows there are; false if nothing is left. One pass in order is enough, because no row has
  // a bit that an earlier row leads.
  bool reduce(Row& row) const {
    for (const Row& r : rows) {
      if (row.image >> log2_of(r.image) & 1) row = {row.image ^ r.image, row.from ^ r.from};
    }
    return row.image != 0;
  }
};

}  // namespace

std::vector<std::string> dim_names(size_t rank) {
  std::vector<std::string> names;
  for (size_t d = 0; d < rank; d++) names.push_back("dim" + std::to_string(d));
  return names;
}

LinearLayout LinearLayout::identity(int64_t size, std::string_view in, std::string_view out) {
  InDim dim{std::string(in), {}};
  for (int32_t i = 1; i < size; i *= 2) dim.bases.push_back({i});
  return {{dim}, {{std::string(out), static_cast<int32_t>(size)}}};
}

LinearLayout LinearLayout::zeros(int64_t size, std::string_view in, std::string_view out, int32_t out_size) {
  return {{{std::string(in), std::vector<Basis>(log2_of(size), Basis{0})}}, {{std::string(out), out_size}}};
}

bool LinearLayout::has_out(std::string_view name) const { return find(outs_, name) != outs_.end(); }

int LinearLayout::in_bits(std::string_view name) const {
  auto it = find(ins_, name);
  return it == ins_.end() ? 0 : static_cast<int>(it->bases.size());
}

int LinearLayout::total_in_bits() const {
  int bits = 0;
  for (const InDim& in : ins_) bits += static_cast<int>(in.bases.size());
  return bits;
}

int32_t LinearLayout::out_size(std::string_view name) const {
  auto it = find(outs_, name);
  return it == outs_.end() ? 1 : it->size;
}

int LinearLayout::out_index(std::string_view name) const {
  auto it = find(outs_, name);
  return it == outs_.end() ? -1 : static_cast<int>(it - outs_.begin());
}

Basis LinearLayout::apply(std::span<const int64_t> index) const {
  assert(index.size() == ins_.size());
  Basis image(outs_.size(), 0);
  for (size_t i = 0; i < ins_.size(); i++) {
    for (size_t bit = 0; bit < ins_[i].bases.size(); bit++) {
      if (!(index[i] >> bit & 1)) continue;
      for (size_t d = 0; d < image.size(); d++) image[d] ^= ins_[i].bases[bit][d];
    }
  }
  return image;
}

Basis LinearLayout::apply(std::initializer_list<std::pair<std::string_view, int64_t>> index) const {
  std::vector<int64_t> values(ins_.size(), 0);
  for (const auto& [name, value] : index) {
    auto it = find(ins_, name);
    if (it != ins_.end()) values[it - ins_.begin()] = value;
  }
  return apply(values);
}

LinearLayout operator*(const LinearLayout& inner, const LinearLayout& outer) {
  LinearLayout product;
  product.outs_ = inner.outs_;
  for (const OutDim& out : outer.outs_) {
    auto it = find(product.outs_, out.name);
    if (it == product.outs_.end()) {
      product.outs_.push_back(out);
    } else {
      it->size *= out.size;
    }
  }
  auto add = [&](const LinearLayout& part, bool is_outer) {
    for (const InDim& in : part.ins_) {
      auto it = find(product.ins_, in.name);
      if (it == product.ins_.end()) it = product.ins_.insert(it, InDim{in.name, {}});
      for (const Basis& basis : in.bases) {
        Basis image(product.outs_.size(), 0);
        for (size_t d = 0; d < image.size(); d++) {
          int from = part.out_index(product.outs_[d].name);
          if (from < 0) continue;
          image[d] = basis[from] * (is_outer ? inner.out_size(product.outs_[d].name) : 1);
        }
        it->bases.push_back(std::move(image));
      }
    }
  };
  add(inner, false);
  add(outer, true);
  return product;
}

std::optional<LinearLayout> LinearLayout::pseudo_invert() const {
  // Sizes are of 32 bits, and a row of the elimination has 64 columns.
  size_t columns = 0;
  for (const InDim& in : ins_) {
    if (in.bases.size() > 30) return std::nullopt;
    columns += in.bases.size();
  }
  if (columns > 62 || total_out_bits(outs_) > 62) return std::nullopt;
  Echelon echelon(*this);
  if (static_cast<int>(echelon.rows.size()) != total_out_bits(outs_)) return std::nullopt;
  LinearLayout inverse;
  for (const InDim& in : ins_) inverse.outs_.push_back({in.name, 1 << in.bases.size()});
  int shift = 0;
  for (const OutDim& out : outs_) {
    InDim dim{out.name, {}};
    for (int bit = 0; bit < log2_of(out.size); bit++) {
      // A target reduced to nothing has collected the input bits whose images sum to it.
      Echelon::Row row{uint64_t{1} << shift++, 0};
      echelon.reduce(row);
      dim.bases.push_back(unflatten(row.from, inverse.outs_));
    }
    inverse.ins_.push_back(std::move(dim));
  }
  return inverse;
}

std::optional<LinearLayout> LinearLayout::invert() const {
  return is_injective() ? pseudo_invert() : std::nullopt;
}

LinearLayout LinearLayout::transpose_outs(std::span<const std::string> names) const {
  assert(names.size() == outs_.size());
  LinearLayout result;
  std::vector<int> from;
  for (const std::string& name : names) {
    from.push_back(out_index(name));
    assert(from.back() >= 0);
    result.outs_.push_back(outs_[from.back()]);
  }
  for (const InDim& in : ins_) {
    InDim dim{in.name, {}};
    for (const Basis& basis : in.bases) {
      Basis image;
      for (int d : from) image.push_back(basis[d]);
      dim.bases.push_back(std::move(image));
    }
    result.ins_.push_back(std::move(dim));
  }
  return result;
}

LinearLayout LinearLayout::reshape_outs(const std::vector<OutDim>& outs) const {
  assert(total_out_bits(outs) == total_out_bits(outs_));
  LinearLayout result;
  result.outs_ = outs;
  for (const InDim& in : ins_) {
    InDim dim{in.name, {}};
    for (const Basis& basis : in.bases) dim.bases.push_back(unflatten(flatten(basis, outs_), outs));
    result.ins_.push_back(std::move(dim));
  }
  return result;
}

LinearLayout LinearLayout::without_out(std::string_view name) const {
  LinearLayout result = *this;
  int d = out_index(name);
  if (d < 0) return result;
  result.outs_.erase(result.outs_.begin() + d);
  for (InDim& in : result.ins_) {
    for (Basis& basis : in.bases) basis.erase(basis.begin() + d);
  }
  return result;
}

bool LinearLayout::is_surjective() const {
  return static_cast<int>(Echelon(*this).rows.size()) == total_out_bits(outs_);
}

bool LinearLayout::is_injective() const { return Echelon(*this).dependent == 0; }

std::string LinearLayout::str() const {
  std::string out;
  for (const InDim& in : ins_) {
    if (!out.empty()) out += ' ';
    out += in.name;
    out += "=[";
    for (size_t bit = 0; bit < in.bases.size(); bit++) {
      out += bit ? ",[" : "[";
      for (size_t d = 0; d < in.bases[bit].size(); d++) {
        if (d) out += ',';
        out += std::to_string(in.bases[bit][d]);
      }
      out += ']';
    }
    out += ']';
  }
  return out;
}

}  // namespace triton_runner::layout
