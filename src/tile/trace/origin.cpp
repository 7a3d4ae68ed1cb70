// Implements origin.h: searches back from an address through the ops that made it.
#include "trace/origin.h"

#include <set>
#include <vector>

#include "task.h"

namespace triton_runner::tile {
namespace {

using ir::OpKind;

bool is_address(const ir::Type& type) {
  const ir::TypeKind kind = type.kind == ir::TypeKind::kTensor ? type.scalar()->kind : type.kind;
  return kind == ir::TypeKind::kPointer || kind == ir::TypeKind::kTensorDesc;
}

class Search {
 public:
  explicit Search(const Code& code) : code_(code) {}

  std::optional<uint32_t> run(const ir::Value& from) {
    push(&from);
    while (!open_.empty()) {
      const ir::Value* v = open_.back();
      open_.pop_back();
      if (v->defining_op)
        made_by(*v->defining_op, v->index);
      else
        argument(*v);
    }
    if (unknown_ || found_.size() != 1) return {};
    return *found_.begin();
  }

 private:
  void push(const ir::Value* v) {
    if (seen_.insert(v).second) open_.push_back(v);
  }
  void push_operand(const ir::Op* op, size_t i) {
    if (op && i < op->num_operands())
      push(op->operand(static_cast<uint32_t>(i)));
    else
      unknown_ = true;
  }
  static const ir::Op* last_of(const ir::Region& region) { return region.last ? region.last->last : nullptr; }

  void made_by(const ir::Op& op, uint32_t result) {
    switch (op.kind) {
      case OpKind::kFor:
        push_operand(&op, 3 + size_t{result});
        return push_operand(last_of(*op.region(0)), result);
      case OpKind::kWhile:
        return push_operand(last_of(*op.region(0)), 1 + size_t{result});
      case OpKind::kIf:
        for (const ir::Region* r : op.regions) push_operand(last_of(*r), result);
        return;
      case OpKind::kCall: {
        const ir::Attr* name = op.attr("callee");
        const ir::Op* callee = name ? code_.module->find_function(name->string) : nullptr;
        return push_operand(callee ? last_of(*callee->region(0)) : nullptr, result);
      }
      default:
        break;
    }
    bool any = false;
    for (const ir::Use& u : op.operand_uses)
      if (is_address(*u.value->type)) push(u.value), any = true;
    // A load or an atomic gives what was in memory.
    unknown_ |= !any || op.effects().any(ir::Effect::kLoads | ir::Effect::kAtomics) || !op.regions.empty();
  }

  void argument(const ir::Value& v) {
    const ir::Region& region = *v.block->region;
    const ir::Op* parent = region.parent;
    if (v.block != region.first) return branched_to(v);
    switch (parent ? parent->kind : OpKind::kUnknown) {
      case OpKind::kFunc: {
        const ir::Attr* name = parent->attr("sym_name");
        if (name && name->string == code_.kernel) {
          found_.insert(v.index);
          return;
        }
        return called(region, name ? name->string : "", v.index);
      }
      case OpKind::kFor:
        if (v.index == 0) break;
        push_operand(parent, 2 + size_t{v.index});
        return push_operand(last_of(region), v.index - size_t{1});
      case OpKind::kWhile:
        if (&region != parent->region(0))
          return push_operand(last_of(*parent->region(0)), 1 + size_t{v.index});
        push_operand(parent, v.index);
        return push_operand(last_of(*parent->region(1)), v.index);
      case OpKind::kWarpSpecialize:
        return push_operand(parent, v.index);
      case OpKind::kWarpSpecializePartitions:  // the captures are its own, or of the op around it
        if (parent->num_operands() == 0 && parent->block) parent = parent->block->region->parent;
        return push_operand(parent, v.index);
      default:
        break;
    }
    unknown_ = true;
  }

  void branched_to(const ir::Value& v) {
    for (const ir::Block* b = v.block->region->first; b; b = b->next) {
      if (!b->last) continue;
      for (size_t s = 0; s < b->last->successors.size(); ++s) {
        if (b->last->successors[s] != v.block) continue;
        const auto given = b->last->kind == OpKind::kBr ? b->last->operand_uses
                           : b->last->kind == OpKind::kCondBr
                               ? (s == 0 ? b->last->group("true_args") : b->last->group("false_args"))
                               : std::span<ir::Use>();
        if (v.index < given.size())
          push(given[v.index].value);
        else
          unknown_ = true;
      }
    }
  }

  // Argument `index` of a function that others call.
  void called(const ir::Region& body, std::string_view name, uint32_t index) {
    const ir::Op* top = body.parent;
    while (top->block && top->block->region->parent) top = top->block->region->parent;
    for (const ir::Region* r : top->regions) calls_in(*r, name, index);
  }
  void calls_in(const ir::Region& region, std::string_view name, uint32_t index) {
    for (const ir::Block* b = region.first; b; b = b->next)
      for (const ir::Op* op = b->first; op; op = op->next) {
        const ir::Attr* callee = op->kind == OpKind::kCall ? op->attr("callee") : nullptr;
        if (callee && callee->string == name) push_operand(op, index);
        for (const ir::Region* r : op->regions) calls_in(*r, name, index);
      }
  }

  const Code& code_;
  std::vector<const ir::Value*> open_;
  std::set<const ir::Value*> seen_;
  std::set<uint32_t> found_;
  bool unknown_ = false;
};

}  // namespace

std::string param_name(const ir::Value& arg) {
  // Releases before 3.8 print %arg0 and keep the name in the location.
  bool generic =
      arg.name.starts_with("arg") && arg.name.find_first_not_of("0123456789", 3) == std::string_view::npos;
  if (generic && arg.loc && arg.loc->kind == ir::LocKind::kName) return std::string(arg.loc->name);
  return std::string(arg.name);
}

std::optional<uint32_t> parameter_of(const ir::Value& address, const Code& code) {
  if (!is_address(*address.type)) return {};
  return Search(code).run(address);
}

std::optional<uint32_t> parameter_of(const ir::Op& access, const Code& code) {
  for (const ir::Use& u : access.operand_uses)
    if (is_address(*u.value->type)) return Search(code).run(*u.value);
  return {};
}

std::string Place::str() const {
  if (offset == 0) return name;
  const std::string distance = std::to_string(offset < 0 ? -static_cast<uint64_t>(offset) : offset);
  return name + (offset < 0 ? " - " : " + ") + distance + (bytes ? distance == "1" ? " byte" : " bytes" : "");
}

Place place_of(const Launch& launch, uint32_t parameter, uint64_t address) {
  const Code& code = *launch.code;
  const ir::Op& func = *code.module->find_function(code.kernel);
  const exec::Argument& argument = launch.args[parameter];
  Place out{param_name(func.region(0)->first->args[parameter]), argument.bits, 0};
  int64_t size = code.types[code.params[parameter]]->pointee;
  if (argument.descriptor) {
    out.base = argument.descriptor->address;
    const ir::Type* block = func.region(0)->first->args[parameter].type->element;
    size = block && block->kind == ir::TypeKind::kTensor ? (block->scalar()->width + 7) / 8 : 0;
  }
  out.offset = static_cast<int64_t>(address - out.base);
  out.bytes = size <= 0 || out.offset % size != 0;
  if (!out.bytes) out.offset /= size;
  return out;
}

}  // namespace triton_runner::tile
