// Implements Module and the accessors of its graph: interning of types, attributes and locations, and
// lookups.

#include "impl.h"

namespace triton_runner::ir {

const Attr* Attr::get(std::string_view key) const {
  for (const NamedAttr& entry : entries)
    if (entry.name == key) return entry.value;
  return nullptr;
}

const Attr* Op::attr(std::string_view key) const {
  for (const NamedAttr& entry : attrs)
    if (entry.name == key) return entry.value;
  return nullptr;
}

int64_t Op::int_attr(std::string_view key, int64_t otherwise) const {
  const Attr* a = attr(key);
  return a && (a->kind == AttrKind::kInteger || a->kind == AttrKind::kBool) ? a->integer : otherwise;
}

const Location* Location::file_location() const {
  for (const Location* at = this; at;) {
    switch (at->kind) {
      case LocKind::kFile:
        return at;
      case LocKind::kName:
      case LocKind::kCallSite:
        at = at->child;
        break;
      case LocKind::kFused:
        at = at->children.empty() ? nullptr : at->children[0];
        break;
      default:
        return nullptr;
    }
  }
  return nullptr;
}

const Location* Location::place() const {
  for (const Location* at = this; at;) {
    const Location* file = at->file_location();
    if (file && !base::is_of_language(file->file)) return file;
    while (at && at->kind != LocKind::kCallSite)
      at = at->kind == LocKind::kFused ? (at->children.empty() ? nullptr : at->children[0]) : at->child;
    if (at) at = at->caller;
  }
  return file_location();
}

Module::Module(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Module::~Module() = default;
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;

Op* Module::op() const { return impl_->root; }
std::string_view Module::source() const { return impl_->source; }
std::string_view Module::filename() const { return impl_->filename; }

std::vector<Op*> Module::functions() const {
  std::vector<Op*> found;
  auto collect = [&](const Region* region) {
    for (Block* block = region->first; block; block = block->next)
      for (Op* op = block->first; op; op = op->next)
        if (op->kind == OpKind::kFunc) found.push_back(op);
  };
  collect(impl_->top);
  if (impl_->root)
    for (const Region* region : impl_->root->regions)
      if (region != impl_->top) collect(region);  // a text without a module: its operations are the root's
  return found;
}

Op* Module::find_function(std::string_view name) const {
  for (Op* op : functions())
    if (const Attr* symbol = op->attr("sym_name"); symbol && symbol->string == name) return op;
  return nullptr;
}

std::vector<Op*> Module::kernels() const {
  std::vector<Op*> found = functions();
  std::erase_if(found, [](const Op* op) {
    const Attr* visibility = op->attr("sym_visibility");
    return visibility && visibility->string != "public";
  });
  return found;
}

const Type* Module::Impl::intern(const Type& type) {
  std::string key;
  TextWriter(key, TextWriter::kIdentity).type(&type);
  key += static_cast<char>('A' + static_cast<int>(type.kind));
  if (const Type** known = types.find(key)) return *known;
  Type copy = type;
  copy.text = arena.text(type.text);
  const Type* made = arena.make(copy);
  types.insert(arena.text(key), made);
  return made;
}

const Attr* Module::Impl::intern(const Attr& attr) {
  std::string key;
  TextWriter(key, TextWriter::kIdentity).attr(&attr);
  key += static_cast<char>('A' + static_cast<int>(attr.kind));
  if (const Attr** known = attrs.find(key)) return *known;
  const Attr* made = arena.make(attr);
  attrs.insert(arena.text(key), made);
  return made;
}

const Attr* Module::Impl::integer(int64_t value, const Type* type, std::string_view keyword) {
  return intern(Attr{.kind = AttrKind::kInteger, .type = type, .integer = value, .string = keyword});
}

const Attr* Module::Impl::string(std::string_view value) {
  return intern(Attr{.kind = AttrKind::kString, .string = arena.text(value)});
}

const Attr* Module::Impl::unit() { return intern(Attr{.kind = AttrKind::kUnit}); }

const Attr* Module::Impl::boolean(bool value) {
  return intern(Attr{.kind = AttrKind::kBool, .type = integer_type(1), .integer = value});
}

const Attr* Module::Impl::type_attr(const Type* type) {
  return intern(Attr{.kind = AttrKind::kType, .type = type});
}

const Attr* Module::Impl::array(std::span<const Attr* const> elements) {
  return intern(Attr{.kind = AttrKind::kArray, .elements = arena.copy(elements.data(), elements.size())});
}

const Attr* Module::Impl::dict(std::span<const NamedAttr> entries) {
  return intern(Attr{.kind = AttrKind::kDict, .entries = entries});
}

const Attr* Module::Impl::numbers(const Type* type, std::span<const uint64_t> values) {
  return intern(
      Attr{.kind = AttrKind::kDenseArray, .type = type, .raw = arena.copy(values.data(), values.size())});
}

const Type* Module::Impl::integer_type(unsigned width, Type::Sign sign) {
  bool plain = width <= 64 && sign == Type::kSignless;
  if (plain && signless[width]) return signless[width];
  Type t{.kind = TypeKind::kInteger, .width = static_cast<uint16_t>(width), .sign = sign};
  const std::string text = text_of(&t);
  t.text = text;
  const Type* made = intern(t);
  if (plain) signless[width] = made;
  return made;
}

const Type* Module::Impl::index_type() {
  return intern(Type{.kind = TypeKind::kIndex, .width = 64, .text = "index"});
}

const Type* Module::Impl::named_type(TypeKind kind, std::string_view text) {
  if (kind == TypeKind::kNone && none) return none;
  const Type* made = intern(Type{.kind = kind, .text = text});
  if (kind == TypeKind::kNone) none = made;
  return made;
}

const Type* Module::Impl::tensor_type(const Type* element, std::span<const int64_t> shape,
                                      const Attr* encoding) {
  Type t{.kind = TypeKind::kTensor};
  t.element = element;
  t.shape = arena.copy(shape.data(), shape.size());
  t.encoding = encoding;
  const std::string text = text_of(&t);
  t.text = text;
  return intern(t);
}

const Type* Module::Impl::function_type(const std::vector<const Type*>& params,
                                        const std::vector<const Type*>& results) {
  std::vector<const Type*> all = params;
  all.insert(all.end(), results.begin(), results.end());
  Type t{.kind = TypeKind::kFunction};
  t.elements = arena.copy(all.data(), all.size());
  t.num_params = static_cast<uint32_t>(params.size());
  return intern(t);
}

base::Location Module::Impl::location_of(std::string_view slice) const {
  if (slice.data() < source.data() || slice.data() > source.data() + source.size()) return {filename, 0, 0};
  return lines.locate(source, static_cast<size_t>(slice.data() - source.data()), filename);
}

base::Diagnostic Module::Impl::error_at(const char* where, std::string message,
                                        std::vector<std::string> notes) const {
  return lines.diagnostic(source, static_cast<size_t>(where - source.data()), filename, std::move(message),
                          std::move(notes));
}

}  // namespace triton_runner::ir
