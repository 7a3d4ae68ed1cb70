// Runs launches again for the debugger: from an earlier moment of the program that stands, or from a program
// on.
//
// Two things are kept while a launch runs. What it writes, so that memory can be put back (exec::UndoLog); and each
// tenth of a second what its program is (exec::Snapshot). Going back within a program goes on from the last of these
// that is early enough, and runs that far; without one the launch begins again, with the last program that began alone.
#include <triton_runner/probe/debugger.h>

#include <algorithm>
#include <chrono>

namespace triton_runner::probe {
namespace {

constexpr double kStartEvery = 0.02;  // seconds between programs that a launch may begin with
constexpr double kKeepCost = 0.05;    // at most this part of the time is spent on them
constexpr size_t kMostKept = 64;      // then each second one goes, and they are taken half as often

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void Debugger::begin_launch() {
  log_.end();
  starts_.assign(1, {});
  counted_ = 0;
}

void Debugger::hold(std::span<const exec::Allocation> memory) {
  memory_.assign(memory.begin(), memory.end());
  if (!log_.is_on()) log_.begin(memory);
  start_next_ = seconds() + kStartEvery;
}

void Debugger::end_launch() { log_.end(); }

void Debugger::put_back(int64_t moment) {
  if (sparse_) {  // which did not count: moments are those since its last start
    counted_ = starts_.size() - 1;
    starts_.back().moment = 0;
  } else if (moment >= 0 && moment < starts_.back().moment && starts_.size() > counted_ + 1) {
    starts_.pop_back();
  }
  log_.put_back(starts_.size() - 1);
}

void Debugger::on_unit(int64_t unit, bool alone) {
  if (alone) rounds_.clear();
  const double now = seconds();
  keep_every_ = keep_first_;
  keep_next_ = now + keep_every_;
  const bool skips = std::any_of(breakpoints_.begin(), breakpoints_.end(),
                                 [](const Kept& k) { return k.breakpoint.skip > 0; });
  if (!alone || skips || records_ || !log_.is_on() || unit <= starts_.back().unit || now < start_next_)
    return;
  if (starts_.size() > counted_ + 1) {
    log_.merge(starts_.size() - 1);
    starts_.pop_back();
  }
  log_.mark();
  starts_.push_back({unit, moment_});
  const double after = seconds();
  start_next_ = after + std::max(kStartEvery, (after - now) / kKeepCost);
}

void Debugger::on_turn_end() {
  kept_.clear();
  while (log_.marks() > starts_.size()) log_.merge(log_.marks() - 1);
}

void Debugger::keep(exec::Stopped& stopped, int64_t moment) {
  const double now = seconds();
  if (now < keep_next_ || records_ || !log_.is_on()) return;
  if (std::shared_ptr<exec::Snapshot> snapshot = stopped.snapshot()) {
    log_.mark();
    kept_.push_back({std::move(snapshot), moment, rounds_});
    if (kept_.size() > kMostKept && keep_every_ > 0) keep_fewer();
  }
  const double after = seconds();
  if (keep_every_ > 0) keep_next_ = after + std::max(keep_every_, (after - now) / kKeepCost);
}

void Debugger::keep_fewer() {
  keep_every_ *= 2;
  for (size_t i = kept_.size(); i-- > 0;) {
    if (i % 2 == 0) continue;
    log_.merge(mark_of(i));
    kept_.erase(kept_.begin() + static_cast<ptrdiff_t>(i));
  }
}

bool Debugger::go_back(int64_t moment) {
  if (!stopped_) return false;
  while (!kept_.empty() && kept_.back().moment > moment) kept_.pop_back();
  if (kept_.empty()) return false;
  log_.put_back(mark_of(kept_.size() - 1));
  stopped_->restore(kept_.back().snapshot);
  moment_ = began_ = kept_.back().moment;
  rounds_ = kept_.back().rounds;
  set_breakpoints({});
  set_edits(std::move(edits_));
  searches_ = false;
  until_ = Until::kNothing;
  keep_next_ = seconds() + keep_every_;
  return true;
}

void Debugger::set_edits(std::vector<Edit> edits) {
  edits_ = std::move(edits);
  next_edit_ = static_cast<size_t>(
      std::find_if(edits_.begin(), edits_.end(), [&](const Edit& e) { return e.moment >= moment_; }) -
      edits_.begin());
}

}  // namespace triton_runner::probe
