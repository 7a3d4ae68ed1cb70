// Implements Recorder: takes values from the tile engine's workers, and puts their records in the order of
// programs and iterations.
#include <triton_runner/base/try.h>
#include <triton_runner/probe/recorder.h>

#include <algorithm>
#include <cstring>

#include <triton_runner/num/types.h>

#include "paths.h"
#include "programs.h"

namespace triton_runner::probe {
namespace {

// A function that is called at several places is one text with one series, and its calls may be in more or
// fewer loops: -1 is the iteration of a loop that a call is not in.
void widen(Series& s, size_t loops) {
  const auto old = static_cast<size_t>(s.site.loops);
  if (loops <= old) return;
  std::vector<int64_t> wide;
  for (size_t i = 0; i < s.size(); ++i) {
    wide.insert(wide.end(), loops - old, -1);
    const auto from = s.iterations.begin() + static_cast<ptrdiff_t>(i * old);
    wide.insert(wide.end(), from, from + static_cast<ptrdiff_t>(old));
  }
  s.iterations = std::move(wide);
  s.site.loops = static_cast<int>(loops);
}

// Puts the iterations of record `i`, which may be the next one.
void put_iterations(Series& s, size_t i, std::span<const int64_t> iterations) {
  const auto loops = static_cast<size_t>(s.site.loops);
  s.iterations.resize(std::max(s.iterations.size(), (i + 1) * loops));
  const auto to = s.iterations.begin() + static_cast<ptrdiff_t>(i * loops);
  const auto missing = static_cast<ptrdiff_t>(loops - iterations.size());
  std::fill_n(to, missing, -1);
  std::copy(iterations.begin(), iterations.end(), to + missing);
}

}  // namespace

base::Status Recorder::begin(std::shared_ptr<const ir::Module> module, std::string_view kernel,
                             std::string_view level, const std::array<int64_t, 3>& grid) {
  if (base::Status in_grid = check_asked(grid, options_.programs); !in_grid) return in_grid;
  const ir::Op* func = module->find_function(kernel);
  if (!func) return base::failure("there is no kernel '" + std::string(kernel) + "' in this module");
  auto selected = TRY(select(*module, *func, options_.selectors));
  module_ = std::move(module);
  kernel_ = kernel;
  level_ = level;
  wanted_.clear();
  for (const Selected& s : selected) wanted_.try_emplace(s.value, Wanted{wanted_.size(), s});
  open_.clear();
  bytes_ = made_ = 0;
  return base::success();
}

bool Recorder::wants(const exec::ValueSite& site) { return wanted_.contains(site.value); }

Recorder::Open& Recorder::open(const exec::ValueEvent& event) {
  const void* key = event.marker.empty() ? event.site.value : event.site.op;
  auto [at, fresh] = open_.try_emplace(key);
  if (!fresh) {
    widen(at->second.series, event.iterations.size());
    return at->second;
  }
  Series& s = at->second.series;
  const auto& value = *static_cast<const ir::Value*>(event.site.value);
  const auto chosen = wanted_.find(&value);
  s.site = chosen == wanted_.end() ? site_of(value, kernel_, level_)
                                   : site_of(chosen->second.value, kernel_, level_);
  if (!event.marker.empty()) {
    // The statement dl.dump(...) is what is recorded: its place, not that of the value.
    s.site.marker = event.marker;
    s.extras = static_cast<int>(event.arguments.size());
    const ir::Location* loc = static_cast<const ir::Op*>(event.site.op)->loc;
    if (const ir::Location* file = loc ? loc->file_location() : nullptr) set_place(s.site, *file);
  }
  s.site.type = event.type;
  s.site.shape.assign(event.shape.begin(), event.shape.end());
  s.site.loops = static_cast<int>(event.iterations.size());
  s.site.origin = event.site.origin;
  s.site.origin_address = event.origin_address;
  s.site.origin_bytes = event.site.origin_bytes;
  return at->second;
}

void Recorder::on_value(const exec::ValueEvent& event) {
  if (event.marker.empty()) {
    if (!is_asked(options_.programs, event.program)) return;
  } else {
    if (!options_.markers) return;
    // Its grid: the program on each axis, -1 for any.
    for (size_t i = 0; i < 3 && i + 1 < event.arguments.size(); ++i)
      if (event.arguments[i + 1] >= 0 && event.arguments[i + 1] != event.program[i]) return;
  }
  std::lock_guard lock(mutex_);
  Open& o = open(event);
  Series& s = o.series;
  const auto size = static_cast<size_t>(s.site.record_bytes());
  const auto* data = static_cast<const std::byte*>(event.data);
  if (!options_.every_iteration) {
    auto [at, fresh] = o.last.try_emplace(event.program, s.size());
    if (!fresh) {
      std::memcpy(s.data.data() + at->second * size, data, size);
      std::copy(event.mask.begin(), event.mask.end(),
                s.mask.begin() + static_cast<ptrdiff_t>(at->second * event.mask.size()));
      put_iterations(s, at->second, event.iterations);
      std::copy(event.arguments.begin(), event.arguments.end(),
                s.extra.begin() + static_cast<ptrdiff_t>(at->second) * s.extras);
      s.order[at->second] = made_++;
      return;
    }
  }
  if (bytes_ + static_cast<int64_t>(size) > options_.max_bytes) {
    ++s.dropped;
    o.last.erase(event.program);
    return;
  }
  bytes_ += static_cast<int64_t>(size);
  s.order.push_back(made_++);
  put_iterations(s, s.size(), event.iterations);
  s.programs.push_back(event.program);
  s.extra.insert(s.extra.end(), event.arguments.begin(), event.arguments.end());
  s.data.insert(s.data.end(), data, data + size);
  s.mask.insert(s.mask.end(), event.mask.begin(), event.mask.end());
}

Recording Recorder::take() {
  Recording result;
  // In the order of the text; what dl.dump asked for comes after it, by its lines.
  std::vector<std::pair<size_t, Open*>> order;
  for (auto& [key, o] : open_) {
    auto at = wanted_.find(key);
    order.push_back(
        {at == wanted_.end() ? wanted_.size() + static_cast<size_t>(o.series.site.line) : at->second.place,
         &o});
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [place, o] : order) {
    if (o->series.dropped)
      result.notes.push_back(o->series.site.value + ": " + std::to_string(o->series.dropped) +
                             " records are not here, as all together may have " +
                             std::to_string(options_.max_bytes) + " bytes (max_bytes)");
    result.series.push_back(std::move(o->series));
  }
  open_.clear();
  bytes_ = made_ = 0;
  result.sort();
  return result;
}

}  // namespace triton_runner::probe
