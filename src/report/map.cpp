// Implements Map: gathers rows by place, follows machine code through its PTX, and writes JSON.
#include <triton_runner/base/try.h>
#include <triton_runner/report/map.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace triton_runner::report {
namespace {

// SASS with the places of the PTX that it was made from, which have columns, where both say the same lines.
//
// ptxas notes no line for an HGMMA, which then seems to belong to whatever stands before it. Neither LLVM nor
// ptxas moves these past each other: where there are as many of them as of the PTX's wgmma, they are paired
// in their order.
class ThroughPtx {
 public:
  ThroughPtx(const Level& ptx, const Places& places) : places_(places.all()) {
    for (const Row& row : ptx.rows) {
      known_[row.line] = &row;
      if (row.op.starts_with("wgmma.mma_async")) products_.push_back(&row);
    }
  }

  void improve(Level& sass) const {
    const size_t own = static_cast<size_t>(std::count_if(sass.rows.begin(), sass.rows.end(), is_product));
    size_t next = own == products_.size() ? 0 : products_.size();  // else none is paired
    for (Row& row : sass.rows) {
      if (is_product(row) && next < products_.size()) {
        const Row& product = *products_[next++];
        row.ptx_line = product.line;
        if (!product.places.empty()) row.places = product.places;
        continue;
      }
      const auto at = known_.find(row.ptx_line);
      if (row.places.empty()) {
        if (at != known_.end()) row.places = at->second->places;
        continue;
      }
      std::vector<int32_t> better;
      if (at != known_.end())
        for (int32_t place : at->second->places)
          if (same_lines(place, at->second->too_far, row.places[0])) better.push_back(place);
      // A PTX line of another place is that of an instruction before this one.
      if (better.empty())
        row.ptx_line = 0;
      else
        row.places = std::move(better);
    }
  }

 private:
  static bool is_product(const Row& row) { return row.op.starts_with("HGMMA"); }

  // Returns whether a stack of PTX and one of SASS are of the same lines, as far as both go: old releases'
  // PTX has no call sites. Within inline assembly SASS has the line that .loc says.
  bool same_lines(int32_t ptx, uint32_t too_far, int32_t sass) const {
    for (; ptx != kNone && sass != kNone; ptx = at(ptx).caller, sass = at(sass).caller, too_far = 0)
      if (at(ptx).file != at(sass).file || at(ptx).line + too_far != at(sass).line) return false;
    return true;
  }
  const Place& at(int32_t place) const { return places_[static_cast<size_t>(place)]; }

  const std::vector<Place>& places_;
  std::unordered_map<uint32_t, const Row*> known_;
  std::vector<const Row*> products_;
};

class Json {
 public:
  void raw(std::string_view text) { out_ += text; }
  void number(int64_t value) {
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
  void text(std::string_view value) {
    constexpr std::string_view kHex = "0123456789abcdef";
    out_ += '"';
    for (char c : value) {
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out_ += "\\u00";
        out_ += kHex[static_cast<size_t>(c) >> 4];
        out_ += kHex[static_cast<size_t>(c) & 15];
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }
  template <class List, class One>
  void list(const List& list, const One& one) {
    out_ += '[';
    for (bool is_first = true; const auto& item : list) {
      if (!is_first) out_ += ',';
      is_first = false;
      one(item);
    }
    out_ += ']';
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace

base::Status Map::add(std::string_view text, std::string_view name) {
  auto read = TRY(read_level(text, name, places_));
  if (const Level* ptx = level("ptx"); ptx && name == "sass") ThroughPtx(*ptx, places_).improve(read);
  std::erase_if(levels_, [&](const Level& one) { return one.name == name; });
  levels_.push_back(std::move(read));
  return base::success();
}

base::Result<std::vector<int32_t>> Map::places_of_lines(std::string_view mlir) {
  const base::Result<Level> read = read_level(mlir, "ttgir", places_);
  if (!read) return read.error();
  std::vector<int32_t> out(static_cast<size_t>(std::count(mlir.begin(), mlir.end(), '\n')) + 1, kNone);
  for (const Row& row : read->rows)
    if (!row.places.empty() && row.line <= out.size()) out[row.line - 1] = row.places[0];
  return out;
}

const Level* Map::level(std::string_view name) const {
  const auto at =
      std::find_if(levels_.begin(), levels_.end(), [&](const Level& l) { return l.name == name; });
  return at == levels_.end() ? nullptr : &*at;
}

std::string Map::json() const {
  Json out;
  const auto number = [&](int32_t n) { out.number(n); };
  out.raw("{\"files\":");
  out.list(places_.files(), [&](const std::string& file) { out.text(file); });
  out.raw(",\"places\":");
  out.list(places_.all(), [&](const Place& p) {
    out.list(std::initializer_list<int64_t>{p.file, p.line, p.column, p.caller},
             [&](int64_t n) { out.number(n); });
  });
  out.raw(",\"levels\":{");
  for (const Level& level : levels_) {
    if (&level != levels_.data()) out.raw(",");
    out.text(level.name);
    out.raw(":");
    out.list(level.rows, [&](const Row& row) {
      out.raw("[");
      out.number(row.line);
      out.raw(",");
      out.text(row.op);
      out.raw(",");
      out.list(row.places, number);
      out.raw(",");
      out.number(row.ptx_line);
      out.raw("]");
    });
  }
  out.raw("}}");
  return out.take();
}

}  // namespace triton_runner::report
