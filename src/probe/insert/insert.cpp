// Implements insert.h: plans the buffer, and edits the IR. The text of the stores comes from stores.cpp;
// insert_decode.cpp reads the buffer.
#include <triton_runner/base/try.h>
#include <triton_runner/probe/insert.h>

#include <algorithm>
#include <map>

#include <triton_runner/base/text.h>
#include <triton_runner/ir/edit.h>
#include <triton_runner/ir/text.h>
#include <triton_runner/ir/walk.h>

#include "in_flight.h"
#include "insert/stores.h"
#include "loop_counts.h"
#include "names.h"
#include "paths.h"
#include "programs.h"

namespace triton_runner::probe {
namespace {

using ir::OpKind;
constexpr std::string_view kProbe = "triton_runner.dump.probe";  // our own markers: kProbe + area's number

// A value by its place, which edits of other things leave as it is.
struct Place {
  ir::Op* op = nullptr;  // a marker, or the op that gives the value
  ir::Block* block = nullptr;
  uint32_t index = 0;
  bool marker = false;
  ir::Value* stored = nullptr;  // in place of a marker's operand

  ir::Value* value() const {
    return stored ? stored : marker ? op->operand(0) : op ? op->result(index) : &block->args[index];
  }
  ir::Block* in() const { return op ? op->block : block; }
};

bool is_marker(const ir::Op& op) {
  const ir::Attr* prefix = op.does(ir::Effect::kReports) ? op.attr("prefix") : nullptr;
  // Triton writes a print's prefix with spaces and a colon around it.
  return prefix && prefix->string.find(exec::kMarker) != std::string_view::npos && op.num_operands() > 0;
}

// The numbers that stand beside a value in its slot, as i32 operands, and whether the iteration is the last.
struct Numbers {
  std::vector<std::string> iterations, extra;
  std::string last;
};

class StoreInserter {
 public:
  StoreInserter(ir::Module& module, ir::Op& kernel, Insertion& result)
      : m_(module), kernel_(kernel), result_(result), dialect_(dialect_of(module)) {}

  base::Status find(std::span<const Selector> selectors, const InsertOptions& options,
                    std::string_view level);
  base::Status plan(const InsertOptions& options);
  base::Status put_stores();
  base::Status put_markers(const InsertOptions& options);
  base::Status replace();

 private:
  void note(const std::string& text) { result_.notes.push_back(text); }
  base::Status choose_programs(size_t k, const std::array<int64_t, 3>& grid,
                               const std::vector<int64_t>& asked, Arithmetic& arithmetic);
  void count_slots(Area& area, const ir::Block* block, int64_t share, int64_t slot, Arithmetic& arithmetic);
  base::Status store(const Area& area, const Place& place, Numbers numbers);
  base::Result<ir::Value*> buffer_in(ir::Block* block);
  base::Result<Numbers> numbers_at(Writer& out, ir::Block* block, const Area& area);
  base::Result<ir::Value*> counter_of(ir::Op* loop);
  base::Status put(ir::Block* block, ir::Op* before, const std::string& text);
  int warps_in(const ir::Block* block) const;
  std::vector<ir::Op*> markers() const {
    std::vector<ir::Op*> found;
    ir::for_each_op(m_.op(), [&](ir::Op* op) {
      if (is_marker(*op)) found.push_back(op);
    });
    return found;
  }

  ir::Module& m_;
  ir::Op& kernel_;
  Insertion& result_;
  Dialect dialect_;
  int names_ = 0;
  std::vector<Place> places_;                                    // of the areas
  std::map<const ir::Region*, ir::Value*> buffers_;              // the pointer in each function and partition
  std::map<const ir::Op*, std::array<ir::Value*, 2>> counters_;  // of scf.while: in its two regions
};

base::Status StoreInserter::find(std::span<const Selector> selectors, const InsertOptions& options,
                                 std::string_view level) {
  const std::string name(kernel_.attr("sym_name")->string);
  if (!selectors.empty()) {
    auto selected = TRY(select(m_, kernel_, selectors));
    for (const Selected& s : selected) {
      if (std::string why = cannot_store(dialect_, *s.value); !why.empty()) {
        const std::string& asked = selectors[s.selector].text;
        if (asked.starts_with("%")) return base::failure(asked + " cannot be dumped here: " + why);
        note(s.name + " is left out: " + why);
        continue;
      }
      Area area;
      area.series.site = site_of(s, name, level);
      result_.areas.push_back(std::move(area));
      places_.push_back({s.value->defining_op, s.value->block, s.value->index, false});
    }
  }
  if (!options.markers) return base::success();
  for (ir::Op* op : markers()) {
    Area area;
    area.marker = true;
    area.series.site = site_of(*op->operand(0), name, level);
    area.series.site.marker = op->attr("prefix")->string;
    area.series.site.loops = static_cast<int>(loops_around(op->block).size());
    area.series.extras = static_cast<int>(op->num_operands()) - 1;
    if (const ir::Location* file = op->loc ? op->loc->file_location() : nullptr)
      set_place(area.series.site, *file);
    result_.areas.push_back(std::move(area));
    places_.push_back({op, nullptr, 0, true});
  }
  return base::success();
}

// ---- the buffer

// Chooses the programs that a marker records: it says its program on each axis, -1 for any. What cannot be
// computed here the kernel finds out.
base::Status StoreInserter::choose_programs(size_t k, const std::array<int64_t, 3>& grid,
                                            const std::vector<int64_t>& asked, Arithmetic& arithmetic) {
  Area& area = result_.areas[k];
  if (!area.marker) area.chosen = asked;
  if (!area.marker || area.series.extras < 4) return base::success();
  std::array<int64_t, 3> wanted{-1, -1, -1};
  for (uint32_t i = 0; i < 3; ++i) {
    auto value = arithmetic.value(places_[k].op->operand(2 + i));
    if (value) wanted[i] = *value;
    area.on_device = area.on_device || !value;
  }
  if (area.on_device) return base::success();
  auto chosen = TRY(asked_programs(grid, {&wanted, 1}));
  area.chosen = chosen;
  area.on_device = chosen.empty() && wanted != std::array<int64_t, 3>{-1, -1, -1};
  return base::success();
}

// Slots for the iterations of the loops around an area, of `slot` bytes each,
// where a share of the buffer is its own: as many as are counted, or as fit.
void StoreInserter::count_slots(Area& area, const ir::Block* block, int64_t share, int64_t slot,
                                Arithmetic& arithmetic) {
  area.trip_counts = arithmetic.trip_counts(loops_around(block));
  int64_t known = 1, unknown = 0;
  for (int64_t n : area.trip_counts) {
    area.counted.push_back(n > 0);
    n > 0 ? known = std::min(kPrograms, known * n) : ++unknown;
  }
  const int64_t room = std::max<int64_t>(1, share / std::max<int64_t>(1, area.programs) / slot / known);
  for (int64_t& n : area.trip_counts) {
    if (n) continue;
    n = 1;
    while (n < kUncounted) {
      int64_t next = n * 2, power = 1;
      for (int64_t u = 0; u < unknown; ++u) power = std::min(kPrograms, power * next);
      if (power > room) break;
      n = next;
    }
  }
  for (int64_t n : area.trip_counts) area.slots = std::min(kPrograms, area.slots * n);
  // One program whose iterations do not fit: the first ones that do.
  for (size_t i = 0; i < area.trip_counts.size() && area.slots * slot > share; ++i) {
    const int64_t inner = area.slots / area.trip_counts[i];
    const int64_t most = std::max<int64_t>(1, share / slot / inner);
    if (most >= area.trip_counts[i]) continue;
    area.counted[i] = false;
    area.without_slots += (area.slots - inner * most) * area.programs;
    area.slots = inner * most;
    area.trip_counts[i] = most;
  }
}

base::Status StoreInserter::plan(const InsertOptions& options) {
  const auto& grid = options.grid;
  auto counted = TRY(count_programs(grid));
  result_.grid = grid;
  auto asked = TRY(asked_programs(grid, options.programs));
  Arithmetic arithmetic(kernel_, grid, options.arguments);
  int64_t at = 0;
  for (size_t k = 0; k < result_.areas.size(); ++k) {
    Area& area = result_.areas[k];
    Site& site = area.series.site;
    const int64_t record = std::max<int64_t>(1, site.record_bytes());
    area.stride = aligned(record, record >= 128 ? 128 : 16);
    area.words = 1 + site.loops + area.series.extras;
    TRY(choose_programs(k, grid, asked, arithmetic));
    area.programs = area.chosen.empty() ? counted : static_cast<int64_t>(area.chosen.size());

    const ir::Block* block = places_[k].in();
    const ir::Op* around = block->region->parent;
    area.last = !options.every_iteration && around && around->kind == OpKind::kFor;

    // The bytes that are left to this area, without what its parts may take to be aligned.
    const int64_t share = std::max<int64_t>(
        0, (options.max_bytes - at) / static_cast<int64_t>(result_.areas.size() - k) - 3 * 128);
    const int64_t slot = area.stride + 4 * area.words;
    area.slots = 1;
    if (options.every_iteration && site.loops) count_slots(area, block, share, slot, arithmetic);
    const int64_t program = area.slots * slot + 4 * site.loops;
    const int64_t fit = std::clamp<int64_t>(share / program, 0, area.programs);
    if (fit < area.programs) {
      area.without_slots += (area.programs - fit) * area.slots;
      if (!area.chosen.empty()) area.chosen.resize(static_cast<size_t>(fit));
      area.programs = fit;
    }
    if (area.without_slots)
      note(site.value + ": no room for " + std::to_string(area.without_slots) + " records of " +
           std::to_string(record) + " bytes, as the buffer may have " + std::to_string(options.max_bytes) +
           " bytes (max_bytes)");
    area.header = aligned(at, 128);
    area.overflow = area.header + 4 * area.words * area.slots * area.programs;
    area.data = aligned(area.overflow + 4 * site.loops * area.programs, 128);
    if (area.programs) at = area.data + area.stride * area.slots * area.programs;
  }
  result_.bytes = at;
  return base::success();
}

// ---- the text

base::Status StoreInserter::put(ir::Block* block, ir::Op* before, const std::string& text) {
  TRY(ir::insert(m_, block, before, text));
  return base::success();
}

int StoreInserter::warps_in(const ir::Block* block) const {
  for (const ir::Region* region = block->region; region->parent; region = region->parent->block->region) {
    const ir::Op* holder = region->parent;
    if (holder->kind == OpKind::kFunc) break;
    if (holder->kind != OpKind::kWarpSpecializePartitions) continue;
    const ir::Attr* warps = holder->block->region->parent->attr("partitionNumWarps");
    for (size_t i = 0; warps && i < holder->regions.size(); ++i)
      if (holder->regions[i] == region) return static_cast<int>(warps->raw[i]);
  }
  return dialect_.warps;
}

// The pointer to the buffer, as it is seen in a block: functions take it as a parameter, partitions capture
// it.
base::Result<ir::Value*> StoreInserter::buffer_in(ir::Block* block) {
  ir::Region* region = block->region;
  while (region->parent && region->parent->kind != OpKind::kFunc &&
         region->parent->kind != OpKind::kWarpSpecializePartitions)
    region = region->parent->block->region;
  if (!region->parent) return base::failure("a value outside of every function");
  if (auto it = buffers_.find(region); it != buffers_.end()) return it->second;
  auto pointer = TRY(ir::parse_type(m_, "!tt.ptr<i8>"));
  auto divisible = TRY(ir::parse_attr(m_, "16 : i32"));
  ir::Op* holder = region->parent;
  const std::string name = dialect_.prefix + "buffer";
  if (holder->kind == OpKind::kFunc) {
    ir::NamedAttr attr{"tt.divisibility", divisible};
    ir::Value* made = ir::add_parameter(m_, holder, pointer, name, {&attr, 1});
    buffers_[region] = made;
    if (holder == &kernel_) return made;
    std::vector<ir::Op*> calls;
    ir::for_each_op(m_.op(), [&](ir::Op* op) {
      const ir::Attr* callee = op->kind == OpKind::kCall ? op->attr("callee") : nullptr;
      if (callee && callee->string == holder->attr("sym_name")->string) calls.push_back(op);
    });
    for (ir::Op* call : calls) {
      ir::add_operand(m_, call, 0, TRY(buffer_in(call->block)));
    }
    return made;
  }
  ir::Op* specialize = holder->block->region->parent;
  ir::add_operand(m_, specialize, 0, TRY(buffer_in(specialize->block)));
  for (ir::Region* partition : holder->regions)
    buffers_[partition] = ir::add_argument(
        m_, partition->first, pointer,
        name + std::to_string(partition - holder->regions[0]) + "_" + std::to_string(names_++));
  return buffers_[region];
}

// scf.while counts its iterations in one more value that it carries.
base::Result<ir::Value*> StoreInserter::counter_of(ir::Op* loop) {
  if (auto it = counters_.find(loop); it != counters_.end()) return it->second[0];
  auto i32 = TRY(ir::parse_type(m_, "i32"));
  ir::Op *condition = loop->region(0)->last->last, *yield = loop->region(1)->last->last;
  if (!condition || condition->kind != OpKind::kCondition || !yield || yield->kind != OpKind::kYield)
    return base::failure("an scf.while without scf.condition and scf.yield");
  const std::string name = dialect_.prefix + "count" + std::to_string(names_++);
  auto zero = TRY(ir::insert(m_, loop->block, loop, "%" + name + "_from = arith.constant 0 : i32\n"));
  ir::add_operand(m_, loop, 0, zero[0]->result());
  ir::Value* before = ir::add_argument(m_, loop->region(0)->first, i32, name + "_before");
  ir::add_operand(m_, condition, 1, before);
  ir::Value* after = ir::add_argument(m_, loop->region(1)->first, i32, name + "_after");
  ir::add_result(m_, loop, i32, name);
  const std::string x = "%" + name;
  auto next = TRY(ir::insert(m_, loop->region(1)->first, yield,
                             x + "_one = arith.constant 1 : i32\n" + x + "_next = arith.addi " + x +
                                 "_after, " + x + "_one : i32\n"));
  ir::add_operand(m_, yield, 0, next[1]->result());
  counters_[loop] = {before, after};
  return before;
}

// The iteration of each loop around; what computes them is written to `out`.
base::Result<Numbers> StoreInserter::numbers_at(Writer& out, ir::Block* block, const Area& area) {
  Numbers numbers;
  for (const ir::Op* loop : loops_around(block)) {
    if (loop->kind == OpKind::kFor) {
      numbers.iterations.push_back(out.iteration(*loop));
      continue;
    }
    TRY(counter_of(const_cast<ir::Op*>(loop)));
    const ir::Region* inside = block->region;  // which of its two regions
    while (inside->parent != loop) inside = inside->parent->block->region;
    numbers.iterations.push_back(ir::text_of(counters_[loop][inside == loop->regions[1]]));
  }
  if (area.last) numbers.last = out.is_last(*block->region->parent);
  return numbers;
}

base::Status StoreInserter::store(const Area& area, const Place& place, Numbers numbers) {
  ir::Value* value = place.value();
  ir::Block* block = place.in();
  Writer out(dialect_, names_, place.op ? place.op->loc : value->loc);
  ir::Op* before = place.marker ? place.op : place.op ? place.op->next : block->first;
  StoreRequest request{area, result_.grid, value, ir::text_of(value), {}, {}, {}, {}, warps_in(block)};
  if (!place.marker && in_flight(*value)) {
    // The value is there once its wgmma is done; what uses it afterwards uses what the wait gives.
    const std::string type = ir::text_of(value->type);
    const std::string name = dialect_.prefix + std::to_string(names_++);
    auto wait =
        TRY(ir::insert(m_, block, before,
                       "%" + name + " = " + dialect_.nvidia + dialect_.dot_wait + " " + ir::text_of(value) +
                           " {pendings = 0 : i32} : " + std::string(value->type->text) + out.place() + "\n"));
    ir::Value* done = wait[0]->result();
    TRY(ir::replace_all_uses(m_, value, done));
    TRY(ir::replace_operand(m_, wait[0], 0, value));
    request.name = ir::text_of(done);
    note(area.series.site.value + " comes of a wgmma that runs on: a wait stands before it is stored");
  }
  request.buffer = ir::text_of(TRY(buffer_in(block)));
  if (!place.marker) {
    numbers = TRY(numbers_at(out, block, area));
    request.value = place.value();  // a loop's counter may have moved it
  }
  request.iterations = std::move(numbers.iterations);
  request.extra = std::move(numbers.extra);
  request.last = std::move(numbers.last);
  write_stores(out, dialect_, request);
  return put(block, before, out.text);
}

base::Status StoreInserter::put_stores() {
  for (size_t k = 0; k < result_.areas.size(); ++k) {
    const Area& area = result_.areas[k];
    const Place& place = places_[k];
    Numbers numbers;
    if (place.marker) {
      Writer out(dialect_, names_, place.op->loc);
      numbers = TRY(numbers_at(out, place.op->block, area));
      TRY(put(place.op->block, place.op, out.text));
      for (uint32_t i = 1; i < place.op->num_operands(); ++i)
        numbers.extra.push_back(ir::text_of(place.op->operand(i)));
    }
    TRY(store(area, place, std::move(numbers)));
    if (place.marker) TRY(ir::erase(m_, place.op));
  }
  TRY(buffer_in(kernel_.region()->first));
  result_.text = m_.str();
  return base::success();
}

base::Status StoreInserter::put_markers(const InsertOptions& options) {
  for (size_t k = 0; k < result_.areas.size(); ++k) {
    const Place place = places_[k];
    ir::Block* block = place.in();
    Writer out(dialect_, names_, place.op ? place.op->loc : place.value()->loc);
    ir::Op* before = place.marker ? place.op : place.op ? place.op->next : block->first;
    const Numbers numbers = TRY(numbers_at(out, block, result_.areas[k]));
    std::string names = ir::text_of(place.value()), types = ir::text_of(place.value()->type), signs = "0";
    auto also = [&](const std::string& name, const std::string& type) {
      names += ", " + name;
      types += ", " + type;
      signs += ", 1";
    };
    if (place.marker)
      for (uint32_t i = 1; i < place.op->num_operands(); ++i) {
        const ir::Value* number = place.op->operand(i);
        also(number->type->width == 32 ? ir::text_of(number) : out.to_i32(number), "i32");
      }
    for (const std::string& name : numbers.iterations) also(name, "i32");
    if (!numbers.last.empty()) also(numbers.last, "i1");
    out.line("tt.print \"" + std::string(kProbe) + std::to_string(k) + "\" {hex = false" +
             (options.print_signs ? ", isSigned = array<i32: " + signs + ">" : "") + "} : " + names + " : " +
             types);
    TRY(put(block, before, out.text));
    if (place.marker) TRY(ir::erase(m_, place.op));
  }
  result_.text = m_.str();
  return base::success();
}

base::Status StoreInserter::replace() {
  std::vector<bool> found(result_.areas.size());
  for (ir::Op* op : markers()) {
    std::string_view prefix = op->attr("prefix")->string;
    size_t at = prefix.find(kProbe);
    if (at == std::string_view::npos) continue;
    size_t k = 0;
    for (at += kProbe.size(); at < prefix.size() && base::is_digit(prefix[at]); ++at)
      k = k * 10 + static_cast<size_t>(prefix[at] - '0');
    if (k >= result_.areas.size()) continue;
    Area& area = result_.areas[k];
    Numbers numbers;
    for (uint32_t i = 1; i < op->num_operands(); ++i)
      (i <= static_cast<uint32_t>(area.series.extras) ? numbers.extra : numbers.iterations)
          .push_back(ir::text_of(op->operand(i)));
    if (area.last && !numbers.iterations.empty()) {
      numbers.last = numbers.iterations.back();
      numbers.iterations.pop_back();
    }
    // A print is a reason for Triton to convert a layout; a store needs none: the value before it will do.
    ir::Value* value = op->operand(0);
    std::vector<ir::Op*> conversions;
    while (value->defining_op && value->defining_op->kind == OpKind::kConvertLayout &&
           !in_flight(*value->defining_op->operand(0))) {
      conversions.push_back(value->defining_op);
      value = value->defining_op->operand(0);
    }
    const ir::Type* type = value->type;
    if (numbers.iterations.size() != static_cast<size_t>(area.series.site.loops) ||
        !std::equal(type->shape.begin(), type->shape.end(), area.series.site.shape.begin(),
                    area.series.site.shape.end()))
      return base::failure("the marker of " + area.series.site.value + " changed on the way to TTGIR");
    if (type->encoding) area.series.site.layout = ir::text_of(type->encoding);
    TRY(store(area, Place{op, nullptr, 0, true, value}, std::move(numbers)));
    TRY(ir::erase(m_, op));
    for (ir::Op* conversion : conversions) {
      if (conversion->result()->first_use) break;
      TRY(ir::erase(m_, conversion));
    }
    found[k] = true;
  }
  for (size_t k = 0; k < found.size(); ++k)
    if (!found[k])
      note(result_.areas[k].series.site.value + " (" + result_.areas[k].series.site.op +
           ") is not in the TTGIR any more: the compiler found that it is never computed");
  TRY(buffer_in(kernel_.region()->first));
  result_.text = m_.str();
  return base::success();
}

base::Result<ir::Op*> function_of(const ir::Module& module, std::string_view kernel) {
  ir::Op* function = module.find_function(kernel);
  if (!function || !function->region()->first)
    return base::failure("there is no kernel '" + std::string(kernel) + "' in this module");
  return function;
}

template <class Put>
base::Result<Insertion> inserted(ir::Module& module, std::string_view kernel,
                                 std::span<const Selector> selectors, const InsertOptions& options,
                                 std::string_view level, Put put) {
  auto function = TRY(function_of(module, kernel));
  Insertion result;
  StoreInserter inserter(module, *function, result);
  TRY(inserter.find(selectors, options, level));
  TRY(inserter.plan(options));
  TRY(put(inserter));
  return result;
}

}  // namespace

base::Result<Insertion> insert_stores(ir::Module& module, std::string_view kernel,
                                      std::span<const Selector> selectors, const InsertOptions& options) {
  return inserted(module, kernel, selectors, options, "ttgir",
                  [](StoreInserter& inserter) { return inserter.put_stores(); });
}

base::Result<Insertion> insert_markers(ir::Module& module, std::string_view kernel,
                                       std::span<const Selector> selectors, const InsertOptions& options) {
  return inserted(module, kernel, selectors, options, "ttir",
                  [&](StoreInserter& inserter) { return inserter.put_markers(options); });
}

base::Status replace_markers(ir::Module& module, std::string_view kernel, Insertion& insertion) {
  auto function = TRY(function_of(module, kernel));
  return StoreInserter(module, *function, insertion).replace();
}

}  // namespace triton_runner::probe
