// Writes the IR that stores one value: the record's slot, its header, and the stores of its elements in their
// layout.
#include "insert/stores.h"

#include <algorithm>

#include <triton_runner/ir/text.h>

namespace triton_runner::probe {
namespace {

using ir::TypeKind;

std::string encoding_text(const ir::Attr* encoding) {
  if (!encoding) return {};
  return encoding->alias.empty() ? ir::text_of(encoding) : std::string(encoding->alias);
}

std::string tensor(std::span<const int64_t> shape, const std::string& element, const std::string& encoding) {
  std::string text = "tensor<";
  for (int64_t d : shape) text += std::to_string(d) + "x";
  return text + element + (encoding.empty() ? "" : ", " + encoding) + ">";
}

std::string list(const std::vector<int64_t>& numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

// A layout for what has none of its own: the last axis over the lanes, the first over the warps.
std::string blocked(const Dialect& d, std::span<const int64_t> shape, int warps) {
  const size_t rank = shape.size();
  std::vector<int64_t> per_thread(rank, 1), lanes(rank, 1), warp(rank, 1), order(rank);
  int64_t left = d.threads;
  for (size_t i = rank; i-- > 0;) {
    lanes[i] = i == 0 ? left : std::min(left, shape[i]);
    left /= lanes[i];
    order[rank - 1 - i] = static_cast<int64_t>(i);
  }
  warp[0] = warps;
  return "#" + d.gpu + ".blocked<{sizePerThread = " + list(per_thread) + ", threadsPerWarp = " + list(lanes) +
         ", warpsPerCTA = " + list(warp) + ", order = " + list(order) + "}>";
}

// The layout that tensor memory is read in: a row a lane, the columns over what warps there are beyond four.
std::string tensor_memory_layout(const Dialect& d, std::span<const int64_t> shape, int warps) {
  const int64_t groups = std::max(1, warps / 4);
  return "#" + d.gpu + ".blocked<{sizePerThread = " + list({1, shape[1] / groups}) +
         ", threadsPerWarp = [32, 1], warpsPerCTA = " + list({4, groups}) + ", order = [0, 1]}>";
}

bool in_tensor_memory(const ir::Type& type) {
  return type.kind == TypeKind::kMemDesc && type.memory_space &&
         ir::text_of(type.memory_space).find("tensor_memory") != std::string::npos;
}

// A tensor of i32 with each element's number, row-major.
std::string element_numbers(Writer& out, const Dialect& d, std::span<const int64_t> shape,
                            const std::string& encoding) {
  const size_t rank = shape.size();
  std::string sum;
  int64_t stride = 1;
  for (size_t keep = rank; keep-- > 0;) {
    // The layout of one axis: the others are sliced away, the last of them first.
    std::vector<size_t> gone;
    for (size_t i = rank; i-- > 0;)
      if (i != keep) gone.push_back(i);
    std::vector<std::string> layouts{encoding};
    for (size_t axis : gone)
      layouts.push_back(encoding.empty() ? ""
                                         : "#" + d.gpu + ".slice<{dim = " + std::to_string(axis) +
                                               ", parent = " + layouts.back() + "}>");
    std::vector<int64_t> now{shape[keep]};
    std::string type = tensor(now, "i32", layouts.back());
    std::string index =
        out.def("tt.make_range {end = " + std::to_string(shape[keep]) + " : i32, start = 0 : i32} : " + type);
    for (size_t k = gone.size(); k-- > 0;) {
      const size_t axis = gone[k];
      now.insert(now.begin() + static_cast<ptrdiff_t>(axis), 1);
      std::string wider = tensor(now, "i32", layouts[k]);
      index = out.def("tt.expand_dims " + index + " {axis = " + std::to_string(axis) + " : i32} : " + type +
                      " -> " + wider);
      type = wider;
    }
    if (stride != 1) {
      std::string by = out.def("arith.constant dense<" + std::to_string(stride) + "> : " + type);
      index = out.def("arith.muli " + index + ", " + by + " : " + type);
    }
    const std::string whole = tensor(shape, "i32", encoding);
    if (type != whole) index = out.def("tt.broadcast " + index + " : " + type + " -> " + whole);
    sum = sum.empty() ? index : out.def("arith.addi " + index + ", " + sum + " : " + whole);
    stride *= shape[keep];
  }
  return sum;
}

// The op that takes one stage of a buffer, here or in a partition that captures it.
const ir::Op* indexed_by(const ir::Value& value) {
  if (!value.defining_op && value.block->region->parent->kind == ir::OpKind::kWarpSpecializePartitions) {
    const ir::Op* specialize = value.block->region->parent->block->region->parent;
    return value.index < specialize->num_operands() ? indexed_by(*specialize->operand(value.index)) : nullptr;
  }
  auto among = [](const ir::Value& v) -> const ir::Op* {
    for (const ir::Use* use = v.first_use; use; use = use->next)
      if ((use->user->name.ends_with(".memdesc_index") || use->user->name.ends_with(".memdesc_subview")) &&
          use->user->result()->type->shape.size() < v.type->shape.size())
        return use->user;
    return nullptr;
  };
  if (const ir::Op* index = among(value)) return index;
  for (const ir::Use* use = value.first_use; use; use = use->next) {
    if (use->user->kind != ir::OpKind::kWarpSpecialize) continue;
    for (const ir::Region* partition : use->user->region(1)->first->first->regions)
      if (const ir::Op* index = among(partition->first->args[use->operand_index])) return index;
  }
  return nullptr;
}

struct Elements {
  std::string name, element, encoding;
  std::span<const int64_t> shape;
};

// The value's elements in a type that can be stored as it is.
Elements elements_of(Writer& out, const Dialect& d, const StoreRequest& r) {
  const ir::Type& type = *r.value->type;
  Elements e{r.name, ir::text_of(type.scalar()), encoding_text(type.encoding), type.shape};
  if (type.kind == TypeKind::kMemDesc) {
    const bool tensor_memory = in_tensor_memory(type);
    e.encoding =
        tensor_memory ? tensor_memory_layout(d, type.shape, r.warps) : blocked(d, type.shape, r.warps);
    e.name = out.def((tensor_memory ? d.nvidia + ".tmem_load " : d.gpu + ".local_load ") + e.name + " : " +
                     std::string(type.text) + " -> " + tensor(e.shape, e.element, e.encoding));
  }
  const ir::Type& scalar = *type.scalar();
  const bool is_tensor = !e.shape.empty();
  const auto as = [&](const std::string& op, const std::string& element, const char* arrow) {
    const std::string from = is_tensor ? tensor(e.shape, e.element, e.encoding) : e.element;
    const std::string to = is_tensor ? tensor(e.shape, element, e.encoding) : element;
    e.name = out.def(op + " " + e.name + " : " + from + arrow + to);
    e.element = element;
  };
  if (scalar.kind == TypeKind::kPointer)
    as("tt.ptr_to_int", "i64", " -> ");
  else if (scalar.kind == TypeKind::kIndex)
    as("arith.index_cast", "i64", " to ");
  else if (scalar.kind == TypeKind::kInteger && scalar.width == 1)
    as("arith.extui", "i8", " to ");
  else if (scalar.kind == TypeKind::kFloat && scalar.width == 8)
    as("tt.bitcast", "i8", " -> ");
  return e;
}

// A pointer to elements, `offset` (i64) bytes into the buffer.
std::string pointer(Writer& out, const std::string& buffer, const std::string& offset,
                    const std::string& element) {
  std::string at = out.def("tt.addptr " + buffer + ", " + offset + " : !tt.ptr<i8>, i64");
  return element == "i8" ? at : out.def("tt.bitcast " + at + " : !tt.ptr<i8> -> !tt.ptr<" + element + ">");
}

// (number * factor + constant), in i64.
std::string scaled(Writer& out, const std::string& number, int64_t factor, int64_t constant) {
  std::string product = out.def("arith.muli " + number + ", " + out.constant(factor, "i64") + " : i64");
  return out.def("arith.addi " + product + ", " + out.constant(constant, "i64") + " : i64");
}

void write_words(Writer& out, const std::string& buffer, const std::string& offset,
                 const std::vector<std::string>& words) {
  std::string at = pointer(out, buffer, offset, "i32");
  for (size_t i = 0; i < words.size(); ++i) {
    std::string place = i == 0 ? at
                               : out.def("tt.addptr " + at + ", " + out.constant(static_cast<int64_t>(i)) +
                                         " : !tt.ptr<i32>, i32");
    out.line("tt.store " + place + ", " + words[i] + " : !tt.ptr<i32>");
  }
}

std::string all_of(Writer& out, const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : out.def("arith.andi " + a + ", " + b + " : i1");
}

void begin_if(Writer& out, const std::string& condition) {
  if (!condition.empty()) out.text += "scf.if " + condition + " {\n";
}
void end_if(Writer& out, const std::string& condition) {
  if (!condition.empty()) out.text += "}\n";
}

}  // namespace

Dialect dialect_of(const ir::Module& module) {
  Dialect d;
  const std::string_view source = module.source();
  if (source.find("triton_gpu.") != std::string_view::npos) {
    d.gpu = "triton_gpu", d.nvidia = "triton_nvidia_gpu";
    d.stores_dot_operands = false;
    if (source.find(".dot_async ") != std::string_view::npos) d.dot_wait = ".dot_wait";
  }
  auto number = [&](const char* name, int otherwise) {
    const ir::Attr* a = module.op()->attr(d.gpu + name);
    return a ? static_cast<int>(a->integer) : otherwise;
  };
  d.threads = number(".threads-per-warp", 32);
  d.warps = number(".num-warps", 4);
  d.ctas = number(".num-ctas", 1);
  d.prefix = "dump_";
  while (source.find("%" + d.prefix) != std::string_view::npos) d.prefix += "_";
  return d;
}

std::string cannot_store(const Dialect& d, const ir::Value& value) {
  const ir::Type& type = *value.type;
  const ir::Type& scalar = *type.scalar();
  switch (scalar.kind) {
    case TypeKind::kPointer:
    case TypeKind::kIndex:
      break;
    case TypeKind::kInteger:
    case TypeKind::kFloat:
      if (scalar.width != 1 && (scalar.width % 8 || scalar.width > 64))
        return "elements of " + ir::text_of(&scalar) + " have no bytes of their own";
      break;
    default:
      return "it has no elements";
  }
  if (!d.stores_dot_operands && type.encoding &&
      ir::text_of(type.encoding).find(".dot_op<") != std::string::npos)
    return "it is a tensor core's operand, which Triton 3.0 to 3.2 cannot store: name what it was loaded "
           "from";
  if (type.kind == TypeKind::kMemDesc) {
    if (const ir::Op* index = indexed_by(value))
      return "it is a buffer of several stages: name the results of its " + std::string(index->name);
    const ir::Attr* order = type.encoding ? type.encoding->get("order") : nullptr;
    if (order && order->kind == ir::AttrKind::kArray && order->elements.size() != type.shape.size())
      return "it is a buffer of several stages: name what its parts are";
    if (d.ctas > 1) return "it is a buffer of a cluster of blocks: name what is loaded from it";
    const ir::Op* view = value.defining_op;
    if (!d.stores_dot_operands && view && view->name.ends_with(".memdesc_subview") &&
        view->operand(0)->type->shape.size() == type.shape.size())
      return "it is a part of a buffer, which Triton 3.0 to 3.2 cannot load as it is: name the buffer";
    if (in_tensor_memory(type) && (type.shape.size() != 2 || type.shape[0] != 128 || scalar.width < 16))
      return "only whole blocks of 128 rows of tensor memory are read";
  }
  const ir::Block* block = value.defining_op ? value.defining_op->block : value.block;
  for (const ir::Op* op = block->region->parent; op && op->kind != ir::OpKind::kFunc;
       op = op->block->region->parent)
    switch (op->kind) {
      case ir::OpKind::kFor:
      case ir::OpKind::kIf:
      case ir::OpKind::kWhile:
      case ir::OpKind::kExecuteRegion:
      case ir::OpKind::kIndexSwitch:
      case ir::OpKind::kWarpSpecialize:
      case ir::OpKind::kWarpSpecializePartitions:
        break;
      default:
        return "nothing can be stored inside " + std::string(op->name);
    }
  return {};
}

Writer::Writer(const Dialect& dialect, int& names, const ir::Location* loc)
    : dialect_(dialect), names_(names) {
  if (loc && !loc->alias.empty()) loc_ = " loc(" + std::string(loc->alias) + ")";
}
std::string Writer::def(const std::string& op) {
  std::string name = "%" + dialect_.prefix + std::to_string(names_++);
  line(name + " = " + op);
  return name;
}
void Writer::line(const std::string& op) { text += op + loc_ + "\n"; }
std::string Writer::constant(int64_t value, const char* type) {
  return def("arith.constant " + std::to_string(value) + " : " + type);
}
std::string Writer::to_i32(const ir::Value* value) {
  const std::string name = ir::text_of(value);
  if (value->type->kind == TypeKind::kIndex) return def("arith.index_cast " + name + " : index to i32");
  if (value->type->width > 32)
    return def("arith.trunci " + name + " : " + ir::text_of(value->type) + " to i32");
  if (value->type->width < 32)
    return def("arith.extsi " + name + " : " + ir::text_of(value->type) + " to i32");
  return name;
}
std::string Writer::iteration(const ir::Op& loop) {
  const ir::Value& induction = loop.region()->first->args[0];
  const std::string type = ir::text_of(induction.type);
  std::string from = def("arith.subi " + ir::text_of(&induction) + ", " +
                         ir::text_of(loop.operand_of("lower")) + " : " + type);
  std::string number =
      def("arith.divsi " + from + ", " + ir::text_of(loop.operand_of("step")) + " : " + type);
  if (type == "index") return def("arith.index_cast " + number + " : index to i32");
  if (type == "i32") return number;
  return def((induction.type->width > 32 ? "arith.trunci " : "arith.extsi ") + number + " : " + type +
             " to i32");
}

std::string Writer::is_last(const ir::Op& loop) {
  const ir::Value& induction = loop.region()->first->args[0];
  const std::string type = ir::text_of(induction.type);
  std::string left = def("arith.subi " + ir::text_of(loop.operand_of("upper")) + ", " +
                         ir::text_of(&induction) + " : " + type);
  return def("arith.cmpi sle, " + left + ", " + ir::text_of(loop.operand_of("step")) + " : " + type);
}

namespace {

// A program among those that have slots: its number, and whether it is one of them ("" : all are).
struct ProgramText {
  std::string number, condition;
};
ProgramText program_of(Writer& out, const StoreRequest& r) {
  const Area& a = r.area;
  const int64_t all = r.grid[0] * r.grid[1] * r.grid[2];
  std::array<std::string, 3> id;
  std::string linear, condition;
  const char* axes[] = {"x", "y", "z"};
  int64_t step = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (r.grid[i] == 1 && !(a.on_device && i + 1 < r.extra.size())) continue;
    id[i] = out.def(std::string("tt.get_program_id ") + axes[i] + " : i32");
    if (r.grid[i] > 1) {
      std::string part =
          step == 1 ? id[i] : out.def("arith.muli " + id[i] + ", " + out.constant(step) + " : i32");
      linear = linear.empty() ? part : out.def("arith.addi " + linear + ", " + part + " : i32");
    }
    step *= r.grid[i];
  }
  if (linear.empty()) linear = out.constant(0);
  std::string place = linear;
  if (!a.chosen.empty()) {
    for (size_t k = 0; k < a.chosen.size(); ++k) {
      std::string number = out.constant(a.chosen[k]);
      std::string is_it = out.def("arith.cmpi eq, " + linear + ", " + number + " : i32");
      condition = k == 0 ? is_it : out.def("arith.ori " + condition + ", " + is_it + " : i1");
      std::string mine = out.constant(static_cast<int64_t>(k));
      place = k == 0 ? mine : out.def("arith.select " + is_it + ", " + mine + ", " + place + " : i32");
    }
  } else if (a.programs < all) {
    condition = out.def("arith.cmpi slt, " + linear + ", " + out.constant(a.programs) + " : i32");
  }
  if (a.on_device)
    for (size_t i = 0; i < 3 && i + 1 < r.extra.size(); ++i) {
      const std::string& wanted = r.extra[i + 1];
      std::string any = out.def("arith.cmpi slt, " + wanted + ", " + out.constant(0) + " : i32");
      std::string same = out.def("arith.cmpi eq, " + wanted + ", " + id[i] + " : i32");
      condition = all_of(out, condition, out.def("arith.ori " + any + ", " + same + " : i1"));
    }
  return {place, condition};
}

// The iterations' place among the slots of the program, and whether it has one ("" : each has).
struct Slot {
  std::string number, fits;
};
Slot slot_of(Writer& out, const StoreRequest& r) {
  const Area& a = r.area;
  Slot slot;
  for (size_t i = 0; i < a.trip_counts.size(); ++i) {
    const std::string& it = r.iterations[i];
    if (!a.counted[i])
      slot.fits = all_of(out, slot.fits,
                         out.def("arith.cmpi ult, " + it + ", " + out.constant(a.trip_counts[i]) + " : i32"));
    if (slot.number.empty()) {
      slot.number = it;
    } else {
      slot.number = out.def("arith.muli " + slot.number + ", " + out.constant(a.trip_counts[i]) + " : i32");
      slot.number = out.def("arith.addi " + slot.number + ", " + it + " : i32");
    }
  }
  return slot;
}

// The elements go to `base` on.
void store_elements(Writer& out, const Dialect& d, const Elements& e, const std::string& base) {
  if (e.shape.empty()) return out.line("tt.store " + base + ", " + e.name + " : !tt.ptr<" + e.element + ">");
  const std::string pointers = tensor(e.shape, "!tt.ptr<" + e.element + ">", e.encoding);
  std::string splat = out.def("tt.splat " + base + " : !tt.ptr<" + e.element + "> -> " + pointers);
  std::string to = out.def("tt.addptr " + splat + ", " + element_numbers(out, d, e.shape, e.encoding) +
                           " : " + pointers + ", " + tensor(e.shape, "i32", e.encoding));
  out.line("tt.store " + to + ", " + e.name + " : " + pointers);
}

}  // namespace

void write_stores(Writer& out, const Dialect& d, const StoreRequest& r) {
  const Area& a = r.area;
  if (a.programs == 0) return;
  auto [place, condition] = program_of(out, r);
  if (a.last) condition = all_of(out, condition, r.last);
  const auto [slot, fits] = slot_of(out, r);
  // Reading a buffer stands outside of the condition: other threads of the program do it as well.
  const Elements e = elements_of(out, d, r);
  begin_if(out, condition);
  std::string wide = out.def("arith.extsi " + place + " : i32 to i64");
  if (!fits.empty()) {
    std::string beyond = out.def("arith.xori " + fits + ", " + out.def("arith.constant true") + " : i1");
    begin_if(out, beyond);
    std::vector<std::string> ends;
    for (const std::string& it : r.iterations)
      ends.push_back(out.def("arith.addi " + it + ", " + out.constant(1) + " : i32"));
    write_words(out, r.buffer, scaled(out, wide, 4 * static_cast<int64_t>(ends.size()), a.overflow), ends);
    end_if(out, beyond);
  }
  begin_if(out, fits);
  std::string number = wide;
  if (a.slots > 1) {
    number = out.def("arith.muli " + wide + ", " + out.constant(a.slots, "i64") + " : i64");
    number =
        out.def("arith.addi " + number + ", " + out.def("arith.extsi " + slot + " : i32 to i64") + " : i64");
  }
  store_elements(out, d, e, pointer(out, r.buffer, scaled(out, number, a.stride, a.data), e.element));
  std::vector<std::string> words{out.constant(1)};
  words.insert(words.end(), r.iterations.begin(), r.iterations.end());
  words.insert(words.end(), r.extra.begin(), r.extra.end());
  write_words(out, r.buffer, scaled(out, number, 4 * a.words, a.header), words);
  end_if(out, fits);
  end_if(out, condition);
}

}  // namespace triton_runner::probe
