// TTIR and TTGIR: everything comes from the parsed graph.
#include <triton_runner/base/try.h>
#include <triton_runner/ir/module.h>

#include "scan.h"

namespace triton_runner::artifact {
namespace {

// Attributes of the module were named triton_gpu.* up to 3.2 and ttg.* after.
const ir::Attr* module_attr(const ir::Module& module, std::string_view key) {
  for (std::string_view dialect : {"ttg.", "triton_gpu."})
    if (const ir::Attr* attr = module.op()->attr(std::string(dialect) + std::string(key))) return attr;
  return nullptr;
}

// %arg0 of the text has its Python name in its location, where the compiler kept one.
std::string name_of(const ir::Value& value) {
  bool generated =
      value.name.starts_with("arg") || value.name.find_first_not_of("0123456789") == std::string_view::npos;
  if (generated && value.loc && value.loc->kind == ir::LocKind::kName) return std::string(value.loc->name);
  return std::string(value.name);
}

}  // namespace

Scanned scan_ir(std::string_view text, std::string_view level, const std::string& filename) {
  auto module = TRY(ir::parse(std::string(text), filename));
  std::vector<Description> found;
  for (ir::Op* func : module.kernels()) {
    Description d;
    d.level = level;
    if (const ir::Attr* name = func->attr("sym_name")) d.name = name->string;
    if (const ir::Attr* target = module_attr(module, "target");
        target && target->kind == ir::AttrKind::kString)
      d.target = target->string;
    auto number = [&](std::optional<int>& to, std::string_view key) {
      const ir::Attr* attr = module_attr(module, key);
      if (attr && attr->kind == ir::AttrKind::kInteger) to = static_cast<int>(attr->integer);
    };
    number(d.num_warps, "num-warps");
    number(d.num_ctas, "num-ctas");
    number(d.threads_per_warp, "threads-per-warp");
    if (!func->regions.empty() && func->region()->first)
      for (const ir::Value& arg : func->region()->first->args)
        d.params.push_back({name_of(arg), std::string(arg.type->text), 0});
    found.push_back(std::move(d));
  }
  return found;
}

}  // namespace triton_runner::artifact
