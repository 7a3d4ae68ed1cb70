// Rewrites types and attributes in the spelling of another release: dialect prefixes, encodings of shared
// memory, memdescs and tensor descriptors.
#include <algorithm>

#include "translate.h"

namespace triton_runner::ir {
namespace {

// Until 3.2 the dialects had longer names; the types of memory stood in tt.
constexpr int kShortNames = release(3, 3);
constexpr int kUnwrappedDescriptors = release(3, 8);

const Attr* entry(const Attr* a, std::string_view name) { return a ? a->get(name) : nullptr; }
int64_t number(const Attr* a, std::string_view name, int64_t otherwise) {
  const Attr* found = entry(a, name);
  return found ? found->integer : otherwise;
}

}  // namespace

std::string_view Translator::renamed(std::string_view name) {
  for (const DialectPrefix& p : kDialectPrefixes) {
    std::string_view from = release_ > p.until ? p.old_prefix : p.prefix;
    std::string_view to = release_ > p.until ? p.prefix : p.old_prefix;
    if (name.starts_with(from)) return m_.arena.text(std::string(to) + std::string(name.substr(from.size())));
  }
  return name;
}

const Type* Translator::type(const Type* t) {
  if (!t) return nullptr;
  auto [at, fresh] = types_.try_emplace(t, t);
  if (!fresh) return at->second;
  const Type* made = changed(t);
  return types_[t] = made;
}

const Type* Translator::changed(const Type* t) {
  Type made = *t;
  made.element = type(t->element);
  made.encoding = attr(t->encoding);
  made.memory_space = attr(t->memory_space);
  std::vector<const Type*> elements;
  for (const Type* e : t->elements) elements.push_back(type(e));
  bool differs = made.element != t->element || made.encoding != t->encoding ||
                 made.memory_space != t->memory_space ||
                 !std::equal(elements.begin(), elements.end(), t->elements.begin());
  if (differs) made.elements = m_.arena.copy(elements.data(), elements.size());

  switch (t->kind) {
    case TypeKind::kToken:
    case TypeKind::kOpaque: {
      // "!triton_gpu.async.token": the text is all there is.
      std::string_view name = t->text.starts_with('!') ? t->text.substr(1) : t->text;
      std::string_view now = renamed(name);
      if (now == name) break;
      made.text = m_.arena.text('!' + std::string(now));
      differs = true;
      break;
    }
    case TypeKind::kMemDesc: {
      std::string_view name = release_ < kShortNames ? "!tt.memdesc" : "!ttg.memdesc";
      if (!t->text.starts_with(name) && t->text.starts_with('!')) {
        note(std::string(t->text.substr(0, t->text.find('<'))), std::string(name));
        differs = true;
      }
      made.text = m_.arena.text(std::string(name) + "<>");
      made.memory_space = memory_space(made.memory_space);
      made.encoding = tensor_memory(made.encoding, t->element);
      differs = differs || made.encoding != t->encoding;
      // Views tell the shape that they are part of, in 3.3 to 3.5 with the dimensions that indexing took
      // away.
      if (release_ < kShortNames) made.alloc_shape = {};
      if (release_ >= release(3, 6) && made.alloc_shape.size() > made.shape.size())
        made.alloc_shape = made.alloc_shape.last(made.shape.size());
      if (std::ranges::equal(made.alloc_shape, made.shape)) made.alloc_shape = {};
      if (!made.memory_space != !t->memory_space) {
        note("!ttg.memdesc", made.memory_space ? "with its memory space" : "without its memory space");
        differs = true;
      }
      if (made.alloc_shape.size() != t->alloc_shape.size()) {
        note("!ttg.memdesc", "the allocation's shape as " + spelled(to_) + " has it");
        differs = true;
      }
      break;
    }
    case TypeKind::kTensorDesc:
      made.wrapped = release_ < kUnwrappedDescriptors;
      if (made.wrapped != t->wrapped) {
        constexpr std::string_view kWrapped = "!tt.tensordesc<tensor<...>>", kPlain = "!tt.tensordesc<...>";
        note(std::string(t->wrapped ? kWrapped : kPlain), std::string(made.wrapped ? kWrapped : kPlain));
        differs = true;
      }
      break;
    case TypeKind::kTensor: {
      if (differs) made.text = {};
      const Type* operand = dot_operand(differs ? m_.intern(made) : t);
      if (operand) return operand;
      break;
    }
    default:
      break;
  }
  if (!differs) return t;
  if (made.kind != TypeKind::kMemDesc && made.kind != TypeKind::kToken && made.kind != TypeKind::kOpaque)
    made.text = {};
  return m_.intern(made);
}

// Tensor memory until 3.5: an element is `unpacked` if it has a column of 32 bits to itself. Then: elements from
// one to the next.
const Attr* Translator::tensor_memory(const Attr* e, const Type* element) {
  if (!e || e->kind != AttrKind::kDialect || e->string != "ttng.tensor_memory_encoding" || !element->width ||
      element->width > 32)
    return e;
  const bool strides = release_ >= kColumnStrides;
  const std::string_view old = strides ? "unpacked" : "colStride", now = strides ? "colStride" : "unpacked";
  const Attr* said = e->get(old);
  if (!said) return e;
  const int64_t alone = 32 / element->width;
  if (!strides && said->integer != 1 && said->integer != alone) {
    errors_.push_back(base::failure("Triton " + spelled(to_) + " has no tensor memory of " +
                                    std::string(element->text) + " with a colStride of " +
                                    std::to_string(said->integer)));
    return e;
  }
  const Attr* value =
      strides ? m_.integer(said->integer ? alone : 1, nullptr) : m_.boolean(said->integer == alone);
  std::vector<NamedAttr> entries(e->entries.begin(), e->entries.end());
  for (NamedAttr& entry : entries)
    if (entry.name == old) entry = {now, value};
  Attr made = *e;
  made.entries = m_.arena.copy(entries.data(), entries.size());
  made.alias = {};
  note("#ttng.tensor_memory_encoding of " + std::string(element->text),
       "with " + std::string(now) + " in place of " + std::string(old));
  return m_.intern(made);
}

// Until 3.2 the operand of a wgmma in registers did not say how many elements of k lie together: those of 32
// bits.
const Type* Translator::dot_operand(const Type* tensor) {
  const Attr* e = tensor->encoding;
  if (release_ < kShortNames || !e || e->kind != AttrKind::kDialect || e->string != "ttg.dot_op" ||
      e->get("kWidth"))
    return nullptr;
  const Attr* parent = e->get("parent");
  if (number(parent, "versionMajor", 0) != 3 || !tensor->element->width) return nullptr;
  std::vector<NamedAttr> entries(e->entries.begin(), e->entries.end());
  entries.push_back({"kWidth", m_.integer(32 / tensor->element->width, nullptr)});
  Attr made = *e;
  made.entries = m_.arena.copy(entries.data(), entries.size());
  made.braced = static_cast<uint32_t>(entries.size());
  made.alias = {};
  Type with = *tensor;
  with.encoding = m_.intern(made);
  note("#ttg.dot_op of versionMajor 3", "with kWidth");
  return m_.intern(with);
}

const Attr* Translator::memory_space(const Attr* space) {
  if (release_ < release(3, 2)) return nullptr;
  if (space) return space;
  Attr made{.kind = AttrKind::kDialect};
  made.string = release_ < kShortNames ? "triton_gpu.shared_memory" : "ttg.shared_memory";
  return m_.intern(made);
}

const Attr* Translator::attr(const Attr* a) {
  if (!a) return nullptr;
  auto [at, fresh] = attrs_.try_emplace(a, a);
  if (!fresh) return at->second;
  const Attr* made = changed(a);
  return attrs_[a] = made;
}

const Attr* Translator::changed(const Attr* a) {
  if (a->kind == AttrKind::kDialect && a->string == "triton_gpu.shared" && release_ >= kShortNames)
    return shared_encoding(a);
  Attr made = *a;
  bool differs = false;
  if (a->kind == AttrKind::kDialect) {
    made.string = renamed(a->string);
    differs = made.string != a->string;
    if (differs) note('#' + std::string(a->string), '#' + std::string(made.string));
  }
  if (a->type) made.type = type(a->type), differs = differs || made.type != a->type;
  std::vector<const Attr*> elements;
  for (const Attr* e : a->elements) elements.push_back(attr(e)), differs = differs || elements.back() != e;
  std::vector<NamedAttr> entries;
  for (const NamedAttr& e : a->entries) {
    entries.push_back({renamed(e.name), attr(e.value)});
    differs = differs || entries.back().value != e.value || entries.back().name != e.name;
  }
  if (!differs) return a;
  made.elements = m_.arena.copy(elements.data(), elements.size());
  made.entries = m_.arena.copy(entries.data(), entries.size());
  return m_.intern(made);
}

// Until 3.2 one encoding had both kinds of shared memory: with hasLeadingOffset that of wgmma and TMA.
const Attr* Translator::shared_encoding(const Attr* old) {
  std::vector<NamedAttr> entries;
  Attr made = *old;
  if (!number(old, "hasLeadingOffset", 0)) {
    made.string = "ttg.swizzled_shared";
    for (const NamedAttr& e : old->entries)
      if (e.name != "hasLeadingOffset") entries.push_back(e);
  } else {
    made.string = "ttg.nvmma_shared";
    const Attr* order = old->get("order");
    const int64_t phases = number(old, "perPhase", 1) * number(old, "maxPhase", 1);
    const int64_t width = phases == 1 ? 0 : number(old, "maxPhase", 1) * 16;
    const bool transposed = order && order->elements.size() > 1 && order->elements[0]->integer == 0;
    entries.push_back({"swizzlingByteWidth", m_.integer(width, nullptr)});
    entries.push_back({"transposed", m_.boolean(transposed)});
    entries.push_back(
        {"elementBitWidth", m_.integer(128 / std::max<int64_t>(number(old, "vec", 8), 1), nullptr)});
    for (const NamedAttr& e : old->entries)
      if (e.name.starts_with("CTA")) entries.push_back(e);
  }
  note("#triton_gpu.shared", '#' + std::string(made.string));
  made.entries = m_.arena.copy(entries.data(), entries.size());
  made.braced = static_cast<uint32_t>(entries.size());
  return m_.intern(made);
}

}  // namespace triton_runner::ir
