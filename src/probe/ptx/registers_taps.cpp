// Puts taps into TTGIR (registers.h), and says which element each thread has in which register of a value.
#include <algorithm>
#include <bit>
#include <map>

#include <triton_runner/base/try.h>
#include <triton_runner/ir/edit.h>
#include <triton_runner/ir/text.h>
#include <triton_runner/num/types.h>
#include <triton_runner/probe/registers.h>
#include <triton_runner/tile/encoding.h>

#include "in_flight.h"

namespace triton_runner::probe {
namespace {

using base::failure;
using ir::OpKind;

bool is_loop(const ir::Op& op) { return op.kind == OpKind::kFor || op.kind == OpKind::kWhile; }

int64_t module_number(const ir::Module& module, std::string_view name, int64_t otherwise) {
  for (std::string_view dialect : {"ttg.", "triton_gpu."})
    if (const ir::Attr* a = module.op()->attr(std::string(dialect) + std::string(name))) return a->integer;
  return otherwise;
}

// The threads of a block that run the code around a value: all, or those of a partition.
struct Threads {
  uint32_t first = 0, count = 0;
};

base::Result<Threads> threads_of(const ir::Module& module, const ir::Block* block) {
  const auto warp = static_cast<uint32_t>(module_number(module, "threads-per-warp", 32));
  for (const ir::Region* r = block->region; r && r->parent && r->parent->block;
       r = r->parent->block->region) {
    if (r->parent->kind != OpKind::kWarpSpecializePartitions) continue;
    const ir::Op* specialize = r->parent->block->region->parent;
    const ir::Attr* starts = specialize->attr("warpGroupStartIds");
    const ir::Attr* warps = specialize->attr("partitionNumWarps");
    const auto& regions = r->parent->regions;
    const auto k = static_cast<size_t>(std::find(regions.begin(), regions.end(), r) - regions.begin());
    if (!starts || !warps || k >= starts->raw.size() || k >= warps->raw.size())
      return failure("the module does not say which warps run this partition (warpGroupStartIds)");
    return Threads{static_cast<uint32_t>(starts->raw[k]) * warp, static_cast<uint32_t>(warps->raw[k]) * warp};
  }
  return Threads{0, static_cast<uint32_t>(module_number(module, "num-warps", 4)) * warp};
}

// The same value where the wait that completes it has passed; null if there is none in its block.
const ir::Value* completed(const ir::Value& value) {
  for (const ir::Use* use = value.first_use; use; use = use->next)
    if (use->user->effects().all(ir::Effect::kTensorCore | ir::Effect::kWaits) &&
        use->user->int_attr("pendings", 0) == 0 && value.defining_op &&
        use->user->block == value.defining_op->block)
      return use->user->result(use->operand_index);
  return nullptr;
}

// The letter by which inline assembly takes an element.
const char* constraint_of(num::Type type) {
  switch (type) {
    case num::Type::kI1:
      return "b";
    case num::Type::kF32:
      return "f";
    case num::Type::kF64:
      return "d";
    default:
      switch (num::size_of(type)) {
        case 8:
          return "l";
        case 4:
          return "r";
        default:
          return "h";
      }
  }
}

class Tapper {
 public:
  Tapper(ir::Module& module, std::string_view kernel, std::string_view level)
      : module_(module), kernel_(kernel), level_(level) {
    const ir::Attr* target = module.op()->attr("ttg.target");
    is_amd_ = target && target->string.find("hip:") != std::string_view::npos;
  }

  base::Status add(const Selected& selected) {
    const ir::Value& asked = *selected.value;
    const ir::Value* known = in_flight(asked) ? completed(asked) : &asked;
    if (!known)
      return failure(selected.name + " is still being computed by the tensor cores there",
                     {"dump the result of the ttng.warp_group_dot_wait with pendings = 0 that waits for it"});
    const ir::Value& value = *known;
    auto* op = const_cast<ir::Op*>(value.defining_op);
    ir::Block* block = op ? op->block : value.block;
    Tap tap;
    tap.site = site_of(selected, kernel_, level_);
    const std::string name = name_of(value);
    if (value.type->kind == ir::TypeKind::kMemDesc)
      return failure(name + " is a buffer in shared or tensor memory: it is in no register",
                     {"dump what is loaded from it, or dump it at level ttgir"});
    bool conditional = false;
    std::vector<ir::Op*> loops;
    for (ir::Region* r = block->region; r && r->parent && r->parent->block; r = r->parent->block->region) {
      ir::Op* parent = r->parent;
      if (is_combiner(*parent))
        return failure(name + " is a value of the code that " + std::string(parent->name) +
                           " repeats for each pair of elements",
                       {"dump the op's result, or the value at level ttgir"});
      if (is_loop(*parent)) {
        loops.insert(loops.begin(), parent);
        conditional |= parent->kind == OpKind::kWhile;
      } else {
        conditional |= parent->kind == OpKind::kIf;
      }
    }
    TRY(hold(value, block, tap));
    tap.site.loops = static_cast<int>(loops.size());
    if (loops.size() > 1 || (conditional && !loops.empty()))
      for (ir::Op* loop : loops) tap.loops.push_back(TRY(mark(loop)));
    ir::Op* before = op ? op->next : block->first;
    if (auto turn = op ? turns_.end() : turns_.find(block); turn != turns_.end()) before = turn->second->next;
    const std::string n = std::to_string(taps.size());
    // Halves are kept in pairs where they can be: so a tap asks for them.
    if (!is_amd_ && num::size_of(tap.site.type) == 2 && (tap.registers >> std::popcount(tap.copies)) % 2 == 0)
      tap.pack = 2;
    TRY(ir::insert(
        module_, block, before,
        is_amd_ ? amd_assembly(n, tap.site.type, name, *value.type)
                : assembly("tap" + n, "tap " + n + " $1", tap.pack > 1 ? "r" : constraint_of(tap.site.type),
                           tap.pack, name, *value.type)));
    taps.push_back(std::move(tap));
    return base::success();
  }

  std::vector<Tap> taps;

 private:
  std::string assembly(const std::string& result, const std::string& comment, const char* constraint,
                       uint32_t pack, const std::string& operand, const ir::Type& type) const {
    const std::string out = typed(pack > 1 ? "i16" : "i32", type);
    return "%triton_runner_" + result + " = tt.elementwise_inline_asm \"mov.b32 $0, 0; // triton_runner." +
           comment + "\" {constraints = \"=r," + constraint + "\", packed_element = " + std::to_string(pack) +
           " : i32, pure = false} " + operand + " : " + std::string(type.text) + " -> " + out;
  }

  // A type of the same shape and layout with other elements.
  static std::string typed(const std::string& element, const ir::Type& type) {
    if (type.kind != ir::TypeKind::kTensor) return element;
    std::string out = "tensor<";
    for (int64_t d : type.shape) out += std::to_string(d) + "x";
    return out + element + ", " +
           (type.encoding->alias.empty() ? ir::text_of(type.encoding) : std::string(type.encoding->alias)) +
           ">";
  }

  // On AMD's GPUs a vector register has 32 bits, and what is narrower gets there as an integer.
  static std::string amd_assembly(const std::string& n, num::Type element, std::string operand,
                                  const ir::Type& type) {
    std::string text, from(type.text);
    const auto convert = [&](const char* op, const char* word, const std::string& to) {
      const std::string out = "%triton_runner_" + to + "_" + n;
      text += out + " = " + op + " " + operand + " : " + from + word + typed(to, type) + "\n";
      operand = out, from = typed(to, type);
    };
    const auto bytes = num::size_of(element);
    if (type.text.find("!tt.ptr") != std::string_view::npos) {
      convert("tt.ptr_to_int", " -> ", "i64");
    } else if (bytes < 4) {
      if (!num::is_integer(element)) convert("tt.bitcast", " -> ", "i" + std::to_string(8 * bytes));
      convert("arith.extui", " to ", "i32");
    }
    return text + "%triton_runner_tap" + n + " = tt.elementwise_inline_asm \"; triton_runner.tap " + n +
           " $1\" {constraints = \"=v,v\", packed_element = 1 : i32, pure = false} " + operand + " : " +
           from + " -> " + typed("i32", type);
  }

  // Who holds which element.
  base::Status hold(const ir::Value& value, const ir::Block* block, Tap& tap) {
    auto threads = TRY(threads_of(module_, block));
    tap.first_thread = threads.first;
    tap.threads = threads.count;
    tap.blocks = static_cast<uint32_t>(module_number(module_, "num-ctas", 1));
    if (value.type->kind != ir::TypeKind::kTensor) {
      tap.elements.assign(size_t{tap.threads} * tap.blocks, 0);
      return base::success();
    }
    if (!value.type->encoding) return failure(name_of(value) + " has no layout: taps are for TTGIR");
    auto encoding = TRY(tile::encoding_of(*value.type->encoding));
    // If a tile is larger than the tensor, releases before 3.9 keep the registers that hold the same
    // elements again: the layout of the whole tile has them, as copies.
    std::vector<int64_t> shape(value.type->shape.begin(), value.type->shape.end());
    if (encoding.kind == layout::EncodingKind::kBlocked && tap.blocks == 1)
      for (size_t d = 0; d < shape.size(); ++d)
        shape[d] = std::max(
            shape[d], encoding.size_per_thread[d] * encoding.threads_per_warp[d] * encoding.warps_per_cta[d]);
    auto layout = TRY(layout::to_linear_layout(encoding, shape));
    tap.registers = static_cast<uint32_t>(layout.in_size("register"));
    const auto lanes = static_cast<uint32_t>(layout.in_size("lane"));
    const auto warps = static_cast<uint32_t>(layout.in_size("warp"));
    const int64_t ranks = layout.in_size("block");
    for (const layout::InDim& in : layout.ins())
      for (size_t bit = 0; in.name == "register" && bit < in.bases.size(); ++bit)
        if (std::equal(in.bases[bit].begin(), in.bases[bit].end(), value.type->shape.begin(),
                       value.type->shape.end(), [](int32_t c, int64_t size) { return c % size == 0; }))
          tap.copies |= 1u << bit;
    if (lanes * warps != tap.threads)
      return failure("the layout of " + name_of(value) + " is for " + std::to_string(lanes * warps) +
                     " threads; its code is run by " + std::to_string(tap.threads));
    tap.elements.reserve(size_t{tap.threads} * tap.registers * tap.blocks);
    for (int64_t b = 0; b < tap.blocks; ++b)
      for (int64_t r = 0; r < tap.registers; ++r)
        for (int64_t t = 0; t < tap.threads; ++t) {
          const layout::Basis at =
              layout.apply({{"register", r}, {"lane", t % lanes}, {"warp", t / lanes}, {"block", b % ranks}});
          int64_t element = 0;
          for (size_t d = 0; d < value.type->shape.size(); ++d)
            element = element * value.type->shape[d] + at[d] % value.type->shape[d];
          tap.elements.push_back(static_cast<int32_t>(element));
        }
    return base::success();
  }

  // Marks where a loop begins and where each of its turns does; its number.
  base::Result<uint32_t> mark(ir::Op* loop) {
    for (size_t i = 0; i < marked_.size(); ++i)
      if (marked_[i] == loop) return static_cast<uint32_t>(i);
    const auto number = static_cast<uint32_t>(marked_.size());
    const std::string n = std::to_string(number);
    ir::Block* body = loop->region()->first;  // of scf.while the part that decides
    auto put = [&](const char* what, ir::Block* block, ir::Op* before) -> base::Status {
      const std::string zero = std::string("triton_runner_") + what + "_zero" + n;
      const std::string text = "%" + zero + " = arith.constant 0 : i32\n%triton_runner_" + what + n +
                               " = tt.elementwise_inline_asm \"" + (is_amd_ ? "" : "mov.b32 $0, 0; //") +
                               (is_amd_ ? "; triton_runner." : " triton_runner.") + what + " " + n +
                               "\" {constraints = \"" + (is_amd_ ? "=v,v" : "=r,n") +
                               "\", packed_element = 1 : i32, pure = false} %" + zero + " : i32 -> i32";
      auto done = TRY(ir::insert(module_, block, before, text));
      if (block == body) turns_[body] = done.back();
      return base::success();
    };
    TRY(put("enter", loop->block, loop));
    TRY(put("turn", body, body->first));
    marked_.push_back(loop);
    return number;
  }

  ir::Module& module_;
  std::string_view kernel_, level_;
  bool is_amd_ = false;
  std::vector<ir::Op*> marked_;
  std::map<ir::Block*, ir::Op*> turns_;  // of a loop's body, the mark that it begins with
};

}  // namespace

base::Result<Tapped> tap_values(ir::Module& module, std::string_view kernel,
                                std::span<const Selector> selectors, std::string_view level) {
  const ir::Op* func = module.find_function(kernel);
  if (!func) return failure("there is no kernel '" + std::string(kernel) + "' in this module");
  auto selected = TRY(select(module, *func, selectors));
  Tapper tapper(module, kernel, level);
  Tapped result;
  std::optional<base::Diagnostic> first;
  for (const Selected& s : selected) {
    auto ok = tapper.add(s);
    if (ok) continue;
    base::Diagnostic d = ok.error();
    result.notes.push_back(d.message);
    if (!first) first = std::move(d);
  }
  if (tapper.taps.empty()) {
    if (!first) return failure("nothing was selected");
    first->location.file = std::string(module.filename());
    return *first;
  }
  result.taps = std::move(tapper.taps);
  result.text = module.str();
  return result;
}

}  // namespace triton_runner::probe
