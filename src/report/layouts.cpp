// Implements draw_layouts(): sends every index of a linear layout's inputs to the element that it holds.
#include <triton_runner/base/try.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/ir/text.h>
#include <triton_runner/ir/walk.h>
#include <triton_runner/report/layouts.h>
#include <triton_runner/tile/encoding.h>

#include <algorithm>
#include <map>

namespace triton_runner::report {
namespace {

constexpr int64_t kMost = 128;  // rows and columns that are drawn

// The elements of a tensor that a drawing shows: the last two dimensions, the others at 0.
class Window {
 public:
  Window(std::span<const int64_t> shape, Drawing& drawing) : rank_(shape.size()) {
    drawing.rows = static_cast<uint32_t>(rank_ > 1 ? std::min(kMost, shape[rank_ - 2]) : 1);
    drawing.columns = static_cast<uint32_t>(rank_ ? std::min(kMost, shape[rank_ - 1]) : 1);
    rows_ = drawing.rows;
    columns_ = drawing.columns;
  }
  // The number of a drawn cell, or -1.
  int64_t cell(const layout::Basis& at) const {
    for (size_t d = 0; d + 2 < rank_; ++d)
      if (at[d] != 0) return -1;
    const int64_t row = rank_ > 1 ? at[rank_ - 2] : 0, column = rank_ ? at[rank_ - 1] : 0;
    return row < rows_ && column < columns_ ? row * columns_ + column : -1;
  }

 private:
  size_t rank_;
  int64_t rows_ = 0, columns_ = 0;
};

// Calls f(index, image) for every index of the inputs that a block has.
template <class F>
void for_each_index(const layout::LinearLayout& layout, F f) {
  const std::vector<layout::InDim>& ins = layout.ins();
  std::vector<int64_t> index(ins.size(), 0);
  while (true) {
    f(index, layout.apply(index));
    size_t d = 0;
    for (; d < ins.size(); ++d) {
      if (ins[d].name == "block") continue;
      if (++index[d] < int64_t{1} << ins[d].bases.size()) break;
      index[d] = 0;
    }
    if (d == ins.size()) return;
  }
}

void draw_registers(const layout::LinearLayout& layout, const Window& window, Drawing& out) {
  out.cells.assign(size_t{4} * out.rows * out.columns, 0);
  int at[3] = {-1, -1, -1};
  for (size_t d = 0; d < layout.ins().size(); ++d) {
    const std::string& name = layout.ins()[d].name;
    if (name == "register") at[0] = static_cast<int>(d);
    if (name == "lane") at[1] = static_cast<int>(d);
    if (name == "warp") at[2] = static_cast<int>(d);
  }
  for_each_index(layout, [&](const std::vector<int64_t>& index, const layout::Basis& image) {
    const int64_t cell = window.cell(image);
    if (cell < 0) return;
    int32_t* own = &out.cells[static_cast<size_t>(cell) * 4];
    if (own[3]++ == 0)
      for (int i = 0; i < 3; ++i)
        own[i] = at[i] < 0 ? 0 : static_cast<int32_t>(index[static_cast<size_t>(at[i])]);
  });
}

void draw_shared(const layout::LinearLayout& layout, const layout::Encoding& encoding, int64_t bits,
                 const Window& window, Drawing& out) {
  out.cells.assign(size_t{1} * out.rows * out.columns, -1);
  size_t offset = 0;
  for (size_t d = 0; d < layout.ins().size(); ++d)
    if (layout.ins()[d].name == "offset") offset = d;
  for_each_index(layout, [&](const std::vector<int64_t>& index, const layout::Basis& image) {
    const int64_t cell = window.cell(image);
    if (cell < 0) return;
    const int64_t element = index[offset] + layout::padding_before(encoding, index[offset]);
    out.cells[static_cast<size_t>(cell)] = static_cast<int32_t>(element * bits / 8);
  });
}

class Drawer {
 public:
  explicit Drawer(const ir::Module& module) : source_(module.source()) {
    ir::for_each_op(module.op(), [&](const ir::Op* op) {
      for (const ir::Value& value : op->results) add(value.type, op);
    });
  }
  std::vector<Drawing> take() { return std::move(drawings_); }

 private:
  void add(const ir::Type* type, const ir::Op* op) {
    if (type->kind != ir::TypeKind::kTensor && type->kind != ir::TypeKind::kMemDesc) return;
    if (!type->encoding) return;
    const auto [known, is_new] = known_.try_emplace(type, -1);
    if (!is_new) {
      if (known->second >= 0) ++drawings_[static_cast<size_t>(known->second)].count;
      return;
    }
    const base::Result<layout::Encoding> encoding = tile::encoding_of(*type->encoding);
    if (!encoding) return;
    const bool is_shared = layout::is_shared(encoding->kind);
    if (!is_shared && !layout::is_distributed(encoding->kind)) return;
    std::vector<int64_t> shape(type->shape.begin(), type->shape.end());
    // Buffers of a pipeline: the first of them is drawn, whose layout is that of the last dimensions.
    const size_t rank = encoding->rank();
    if (is_shared && rank && shape.size() > rank) shape.erase(shape.begin());
    const base::Result<layout::LinearLayout> layout = layout::to_linear_layout(*encoding, shape);
    if (!layout || layout->total_in_bits() > 20) return;
    Drawing made;
    made.encoding = std::string(ir::text_of(type->encoding));
    made.name = std::string(type->encoding->alias.empty() ? type->encoding->text : type->encoding->alias);
    made.type = std::string(type->element->text);
    made.is_shared = is_shared;
    made.shape = shape;
    made.count = 1;
    made.line = static_cast<uint32_t>(
        std::count(source_.data(), op->text.empty() ? source_.data() : op->text.data(), '\n') + 1);
    const Window window(shape, made);
    const int64_t bits = type->element->width ? type->element->width : 64;  // pointers have none
    if (is_shared)
      draw_shared(*layout, *encoding, bits, window, made);
    else
      draw_registers(*layout, window, made);
    known->second = static_cast<int>(drawings_.size());
    drawings_.push_back(std::move(made));
  }

  std::string_view source_;
  std::map<const ir::Type*, int> known_;  // types are kept once each
  std::vector<Drawing> drawings_;
};

}  // namespace

base::Result<std::vector<Drawing>> draw_layouts(std::string_view ttgir) {
  auto module = TRY(ir::parse(std::string(ttgir)));
  return Drawer(module).take();
}

}  // namespace triton_runner::report
