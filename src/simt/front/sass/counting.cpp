// Adds the instructions that code has when it counts, besides its own (check/count.h).
//
// Threads that come to the first instruction of a stretch execute all of it: no jump comes into it, and none but its last
// instruction jumps, ends threads or waits for others. So one instruction in front of it counts for all.
#include <algorithm>

#include <triton_runner/sass/facts.h>

#include "front/sass/lower.h"
#include "front/sass/order.h"

namespace triton_runner::simt {
namespace {

// Returns whether the threads that come after the instruction may be others than those that came to it.
bool ends_stretch(const sass::Row& row) { return row.family == "flow" || row.does(ptx::Effect::kMeets); }

CountAs count_as(const sass::Instruction& in, const sass::Row& row) {
  if (row.does(sass::Trait::kBulk)) return sass::leaves_shared(in) ? CountAs::kCopyOut : CountAs::kCopyIn;
  if (row.does(ptx::Effect::kCopies) && row.does(sass::Trait::kGlobal)) return CountAs::kRequests;
  if (row.does(ptx::Effect::kObjects)) return CountAs::kNothing;
  if (row.does(ptx::Effect::kUpdates)) return CountAs::kUpdates;
  return row.does(ptx::Effect::kReads) || row.does(ptx::Effect::kWrites) ? CountAs::kRequests
                                                                         : CountAs::kNothing;
}

}  // namespace

void SassLowering::count() {
  counting_ = std::make_shared<CountPlan>();
  const std::vector<sass::Instruction>& body = function_.body;
  const std::set<uint64_t> targets = jump_targets(function_);
  bool begins = true;
  for (const sass::Instruction& in : body) {
    auto matched = sass::match(*module_, in);  // where it does not, lower() says so
    begins_.push_back(begins || targets.contains(in.address));
    begins = !matched || ends_stretch(*matched->row);
    counting_->as.push_back(matched ? count_as(in, *matched->row) : CountAs::kNothing);
    counting_->is_guarded.push_back(in.guard.has_value());
  }
  code.counting = counting_;
}

// Before instructions that are lowered together (order.h), where one of them begins a stretch.
void SassLowering::begin_counts(const std::vector<uint32_t>& together) {
  if (std::none_of(together.begin(), together.end(), [&](uint32_t i) { return begins_[i]; })) return;
  guard_ = kNoRegister, guard_negated_ = false;
  emit(handler<count_stretch>).small = static_cast<uint32_t>(counting_->stretches.size());
  counting_->stretches.emplace_back();
  counting_->unguarded.push_back(0);
}

// Before the instruction, as it is reached in the order of lowering.
void SassLowering::emit_counts(uint32_t instruction) {
  guard_ = kNoRegister, guard_negated_ = false;
  counting_->stretches.back().push_back(instruction);
  const sass::Instruction& in = function_.body[instruction];
  if (!in.guard) {
    ++counting_->unguarded.back();
    return;
  }
  emit<count_guard>({.a = pred(in.guard->index, in.guard->kind == sass::OperandKind::kUniformPredicate),
                     .b = in.guard->inverted ? 0xffu : 0,
                     .small = instruction});
}

}  // namespace triton_runner::simt
