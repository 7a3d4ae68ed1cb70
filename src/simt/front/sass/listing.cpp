// Implements SassListing: an instruction's line, opcode, registers and effects, read from the listing and the
// table of opcodes.
#include "front/sass/listing.h"

namespace triton_runner::simt {
namespace {

using ptx::Effect;

class SassListing final : public Listing {
 public:
  explicit SassListing(std::shared_ptr<const sass::Module> module) : module_(std::move(module)) {}
  base::Location location(const Source& s) const override { return module_->location(of(s).offset); }
  std::string text(const Source& s) const override {
    return std::string(module_->text().substr(of(s).offset, of(s).length));
  }
  uint32_t origin_line(const Source& s) const override { return of(s).ptx_line; }
  std::optional<base::Location> program_location(const Source& s) const override {
    const sass::Place* place = of(s).place();
    if (!place) return {};
    return base::Location{std::string(place->file), static_cast<int>(place->line), 0};
  }
  // Addresses are not followed back through machine code: the nearest tensor names the argument.
  std::optional<uint32_t> parameter_of(const Source&, uint64_t) const override { return {}; }

 private:
  static const sass::Instruction& of(const Source& s) { return *static_cast<const sass::Instruction*>(s.at); }
  std::shared_ptr<const sass::Module> module_;
};

}  // namespace

Source source_of(const sass::Instruction& in, const sass::Row& row) {
  const bool updates = row.does(Effect::kUpdates),
             accesses = row.does(Effect::kReads) || row.does(Effect::kWrites);
  Source s;
  s.at = &in;
  s.name = in.spelling;
  if (row.does(Effect::kCopies))
    s.access = Source::Access::kCopy;
  else if (row.does(Effect::kObjects))
    s.access = Source::Access::kObject;
  else if (updates || (accesses && in.has("STRONG")))
    s.access = Source::Access::kAtomic;
  order_around(s, in);
  s.stores = row.does(Effect::kWrites) && !row.does(Effect::kShares);
  s.copies = row.does(Effect::kCopies);
  s.by_thread = row.opcode == sass::Opcode::kLDGSTS;
  s.multiplies = row.does(Effect::kLater);
  s.updates_global = updates && !row.does(sass::Trait::kShared);
  if (row.opcode == sass::Opcode::kBAR) s.meets = Source::Meets::kBlock;
  return s;
}

std::unique_ptr<Listing> sass_listing(std::shared_ptr<const sass::Module> module) {
  return std::make_unique<SassListing>(std::move(module));
}

}  // namespace triton_runner::simt
