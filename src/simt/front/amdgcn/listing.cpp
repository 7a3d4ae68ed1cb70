// Answers what messages and checks ask of an instruction of AMD's machine code.
#include "front/amdgcn/listing.h"

#include <triton_runner/amdgcn/opcode.h>

namespace triton_runner::simt {
namespace {

class AmdListing final : public Listing {
 public:
  explicit AmdListing(std::shared_ptr<const amdgcn::Module> module) : module_(std::move(module)) {}
  base::Location location(const Source& s) const override { return module_->location(of(s).offset); }
  std::string text(const Source& s) const override {
    return std::string(module_->text().substr(of(s).offset, of(s).length));
  }
  std::optional<base::Location> program_location(const Source& s) const override {
    const amdgcn::Place& place = of(s).place;
    if (place.line == 0 || place.file.empty()) return {};
    return base::Location{std::string(place.file), static_cast<int>(place.line),
                          static_cast<int>(place.column)};
  }
  // Addresses are not followed back through machine code: the nearest tensor names the argument.
  std::optional<uint32_t> parameter_of(const Source&, uint64_t) const override { return {}; }

 private:
  static const amdgcn::Instruction& of(const Source& s) {
    return *static_cast<const amdgcn::Instruction*>(s.at);
  }
  std::shared_ptr<const amdgcn::Module> module_;
};

}  // namespace

Source source_of(const amdgcn::Instruction& in) {
  Source s;
  s.at = &in;
  s.name = in.spelling;
  const std::string_view name = in.row->name;
  if (name.find("_atomic_") != std::string_view::npos) {
    s.access = Source::Access::kAtomic;
    s.updates_global = true;
  }
  s.stores = name.find("_store_") != std::string_view::npos || name.starts_with("ds_write");
  if (name == "s_barrier" || name == "s_barrier_wait") s.meets = Source::Meets::kBlock;
  return s;
}

std::unique_ptr<Listing> amdgcn_listing(std::shared_ptr<const amdgcn::Module> module) {
  return std::make_unique<AmdListing>(std::move(module));
}

}  // namespace triton_runner::simt
