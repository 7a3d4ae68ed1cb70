// Implements PtxListing: an instruction's line, opcode, numbers, registers and effects, read from the parsed
// PTX.
#include "front/ptx/listing.h"

#include <map>
#include <mutex>

#include "front/ptx/origin.h"

namespace triton_runner::simt {

using ptx::Effect;
using ptx::Mod;
using ptx::Opcode;

static bool has_any(const ptx::Instruction& in, std::initializer_list<Mod> mods) {
  for (Mod m : mods)
    if (in.has(m)) return true;
  return false;
}

bool is_strong(const ptx::Instruction& in) {
  return has_any(in, {Mod::kVolatile, Mod::kRelaxed, Mod::kAcquire, Mod::kRelease, Mod::kMmio});
}

namespace {

Source::Access access_of(const ptx::Instruction& in) {
  const bool updates = in.does(Effect::kUpdates),
             accesses = in.does(Effect::kReads) || in.does(Effect::kWrites);
  if (in.does(Effect::kCopies) || ((updates || accesses) && in.has(Mod::kAsync)))
    return Source::Access::kCopy;
  if (in.does(Effect::kObjects)) return Source::Access::kObject;
  return updates || (accesses && is_strong(in)) ? Source::Access::kAtomic : Source::Access::kPlain;
}

Source::Meets meets_of(const ptx::Instruction& in) {
  if (!in.does(Effect::kMeets) || in.has(Mod::kWarp)) return Source::Meets::kNobody;
  if (!in.has(Mod::kCluster)) return Source::Meets::kBlock;
  return in.has(Mod::kArrive) ? Source::Meets::kClusterArrives : Source::Meets::kClusterWaits;
}

struct Number {
  Mod mod;
  num::Type type;
  uint8_t elements;
};
constexpr Number kFloats[] = {
    {Mod::kF16, num::Type::kF16, 1},     {Mod::kBf16, num::Type::kBF16, 1}, {Mod::kF16x2, num::Type::kF16, 2},
    {Mod::kBf16x2, num::Type::kBF16, 2}, {Mod::kF32, num::Type::kF32, 1},   {Mod::kF32x2, num::Type::kF32, 2},
    {Mod::kF64, num::Type::kF64, 1},
};
constexpr Number kIntegers[] = {
    {Mod::kS16, num::Type::kI16, 1}, {Mod::kU16, num::Type::kI16, 1}, {Mod::kS32, num::Type::kI32, 1},
    {Mod::kU32, num::Type::kI32, 1}, {Mod::kS64, num::Type::kI64, 1}, {Mod::kU64, num::Type::kI64, 1},
};

void find_numbers(const ptx::Instruction& in, std::span<const Number> numbers, Source::Numbers kind,
                  Source* s) {
  for (const Number& n : numbers)
    if (n.mod == in.type(0)) s->numbers = kind, s->type = n.type, s->elements = n.elements;
}

class PtxListing final : public Listing {
 public:
  PtxListing(std::shared_ptr<const ptx::Module> module, const ptx::Function& entry)
      : module_(std::move(module)), entry_(entry) {}
  base::Location location(const Source& s) const override { return module_->location(of(s).offset); }
  std::string text(const Source& s) const override {
    return std::string(module_->text().substr(of(s).offset, of(s).length));
  }
  std::optional<base::Location> program_location(const Source& s) const override {
    const auto* at = of(s).source ? of(s).source->place() : nullptr;
    if (!at || at->line == 0) return {};
    return base::Location{std::string(at->file), static_cast<int>(at->line), static_cast<int>(at->column)};
  }
  Exact exact(const Source& s) const override { return exact_of(of(s)); }
  std::optional<uint32_t> parameter_of(const Source& access, uint64_t candidates) const override {
    std::lock_guard lock(mutex_);
    const auto [at, is_new] = parameters_.try_emplace({&of(access), candidates});
    if (is_new) at->second = simt::parameter_of(entry_, of(access), candidates);
    return at->second;
  }

 private:
  static const ptx::Instruction& of(const Source& s) { return *static_cast<const ptx::Instruction*>(s.at); }

  std::shared_ptr<const ptx::Module> module_;
  const ptx::Function& entry_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<const ptx::Instruction*, uint64_t>, std::optional<uint32_t>> parameters_;
};

}  // namespace

Source source_of(const ptx::Instruction& in) {
  const bool updates = in.does(Effect::kUpdates);
  Source s;
  s.at = &in;
  s.name = in.spelling;
  s.access = access_of(in);
  const bool is_atomic = s.access == Source::Access::kAtomic;
  s.acquires = is_atomic && has_any(in, {Mod::kAcquire, Mod::kAcqRel});
  s.releases = is_atomic && has_any(in, {Mod::kRelease, Mod::kAcqRel});
  if (is_atomic && has_any(in, {Mod::kCta, Mod::kCluster}))
    s.scope = in.has(Mod::kCta) ? Source::Scope::kBlock : Source::Scope::kCluster;
  s.fences_memory = (in.opcode == Opcode::kFence || in.opcode == Opcode::kMembar) && !in.has(Mod::kProxy);
  s.stores = in.does(Effect::kWrites) && !in.does(Effect::kShares);
  s.reduces = (updates && in.does(Effect::kConsumes)) || in.has(Mod::kReduce);
  s.copies = in.does(Effect::kCopies);
  s.by_thread = in.opcode == Opcode::kCp && s.copies && !in.has(Mod::kBulk);
  s.multiplies = in.does(Effect::kLater);
  s.in_turn = s.multiplies && !in.has(Mod::kSync);
  s.by_async_proxy = in.has(Mod::kBulk);
  s.fences_proxy = in.does(Effect::kOrders) && in.has(Mod::kProxy) && in.has(Mod::kAsync);
  s.updates_global = updates && !has_any(in, {Mod::kShared, Mod::kSharedCta});
  s.meets = meets_of(in);
  if (in.does(Effect::kNumbers) && ptx::is_float(in.type(0)) && in.type(1) == Mod::kNone)
    find_numbers(in, kFloats, Source::Numbers::kFloats, &s);
  if (in.does(Effect::kDivides)) find_numbers(in, kIntegers, Source::Numbers::kDivision, &s);
  s.is_signed = ptx::is_signed(in.type(0));
  return s;
}

std::unique_ptr<Listing> listing_of(std::shared_ptr<const ptx::Module> module, const ptx::Function& entry) {
  return std::make_unique<PtxListing>(std::move(module), entry);
}

}  // namespace triton_runner::simt
