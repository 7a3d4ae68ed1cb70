// Implements TextWriter of impl.h: writes types, attributes and locations as MLIR prints them, and in the mode
// kIdentity the key under which a module interns them. What that text left out would make two types one object.
#include <cstdio>

#include "impl.h"

namespace triton_runner::ir {

void TextWriter::address(const void* pointer) {
  out_ += '@';
  out_.append(reinterpret_cast<const char*>(&pointer), sizeof pointer);
}

void TextWriter::string(std::string_view text) {
  out_ += '"';
  for (char c : text) {
    unsigned char u = static_cast<unsigned char>(c);
    if (c == '\\') {
      out_ += "\\\\";
    } else if (u >= 0x20 && u < 0x7F && c != '"') {
      out_ += c;
    } else {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\%02X", u);
      out_ += buffer;
    }
  }
  out_ += '"';
}

void TextWriter::key(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  bool bare = !name.empty() && letter(name[0]);
  for (char c : name) bare = bare && (letter(c) || (c >= '0' && c <= '9') || c == '$' || c == '.');
  if (bare)
    out_ += name;
  else
    string(name);
}

void TextWriter::entries(std::span<const NamedAttr> entries) {
  separated(out_, entries, [&](const NamedAttr& entry) {
    key(entry.name);
    if (entry.value->kind == AttrKind::kUnit) return;
    out_ += " = ";
    attr(entry.value);
  });
}

void TextWriter::shape(std::span<const int64_t> shape) {
  for (int64_t d : shape) {
    out_ += d < 0 ? "?" : std::to_string(d);
    out_ += 'x';
  }
}

void TextWriter::type(const Type* type) {
  if (mode_ == kIdentity && nested_) return address(type);
  bool outer = nested_;
  nested_ = true;
  structure(type);
  nested_ = outer;
}

void TextWriter::type_body(const Type* t) {
  out_ += '<';
  switch (t->kind) {
    case TypeKind::kPointer:
      type(t->element);
      if (t->address_space != 1) out_ += ", " + std::to_string(t->address_space);
      if (t->memory_space) out_ += ", ", attr(t->memory_space);
      break;
    case TypeKind::kTensorDesc:
      if (t->wrapped) {
        type(t->element);
      } else {
        shape(t->element->shape);
        type(t->element->element);
        if (t->element->encoding) out_ += ", ", attr(t->element->encoding);
      }
      break;
    default:
      shape(t->shape);
      type(t->element);
      if (t->encoding) out_ += ", ", attr(t->encoding);
      if (t->memory_space) out_ += ", ", attr(t->memory_space);
      if (t->is_mutable) out_ += ", mutable";
      if (!t->alloc_shape.empty()) {
        out_ += ", ";
        for (size_t i = 0; i < t->alloc_shape.size(); ++i) {
          if (i) out_ += 'x';
          out_ += std::to_string(t->alloc_shape[i]);
        }
      }
  }
  out_ += '>';
}

// #name, or #name<items, {entries}, key = value>.
void TextWriter::dialect(const Attr* a) {
  out_ += '#';
  out_ += a->string;
  if (a->elements.empty() && a->entries.empty()) return;
  out_ += '<';
  separated(out_, a->elements, [&](const Attr* element) { attr(element); });
  if (a->braced) {
    out_ += a->elements.empty() ? "{" : " {";
    entries(a->entries.first(a->braced));
    out_ += '}';
  }
  if (a->braced < a->entries.size()) {
    if (!a->elements.empty() || a->braced) out_ += ", ";
    entries(a->entries.subspan(a->braced));
  }
  out_ += '>';
}

void TextWriter::structure(const Type* t) {
  switch (t->kind) {
    case TypeKind::kInteger:
      out_ += t->sign == Type::kSigned ? "si" : t->sign == Type::kUnsigned ? "ui" : "i";
      out_ += std::to_string(t->width);
      break;
    case TypeKind::kIndex:
      out_ += "index";
      break;
    case TypeKind::kFloat:
      out_ += float_name(t->float_kind);
      break;
    case TypeKind::kNone:
      out_ += "none";
      break;
    case TypeKind::kPointer:
      out_ += "!tt.ptr", type_body(t);
      break;
    case TypeKind::kTensor:
      out_ += "tensor", type_body(t);
      break;
    case TypeKind::kMemDesc:
      // The dialect's own name is kept in the text (triton_gpu in old releases).
      out_ += t->text.substr(0, t->text.find('<')).empty() || t->text[0] != '!'
                  ? "!ttg.memdesc"
                  : t->text.substr(0, t->text.find('<'));
      type_body(t);
      break;
    case TypeKind::kTensorDesc:
      out_ += t->im2col ? "!ttng.tensordesc_im2col" : "!tt.tensordesc", type_body(t);
      break;
    case TypeKind::kTuple:
      out_ += "tuple<";
      types(t->elements);
      out_ += '>';
      break;
    case TypeKind::kFunction: {
      out_ += '(';
      types(t->elements.first(t->num_params));
      out_ += ") -> ";
      size_t results = t->elements.size() - t->num_params;
      bool parens = results != 1 || t->elements.back()->kind == TypeKind::kFunction;
      if (parens) out_ += '(';
      types(t->elements.subspan(t->num_params));
      if (parens) out_ += ')';
      break;
    }
    case TypeKind::kToken:
    case TypeKind::kOpaque:
      out_ += t->text;
      break;
  }
}

void TextWriter::attr(const Attr* attr, bool use_alias) {
  if (mode_ == kIdentity && nested_) return address(attr);
  if (use_alias && mode_ == kText && !attr->alias.empty() && (hidden_.empty() || !hidden_.contains(attr))) {
    out_ += attr->alias;
    return;
  }
  bool outer = nested_;
  nested_ = true;
  structure(attr, true);
  nested_ = outer;
}

void TextWriter::attr_without_type(const Attr* attr) { structure(attr, false); }

void TextWriter::element(const Type* type, uint64_t bits) {
  if (type->kind == TypeKind::kFloat) {
    out_ += print_float(type->float_kind, bits);
  } else if (type->kind == TypeKind::kInteger && type->width == 1) {
    out_ += bits & 1 ? "true" : "false";
  } else if (type->sign == Type::kUnsigned) {
    out_ += std::to_string(bits);
  } else {
    unsigned width = type->kind == TypeKind::kIndex || type->width > 64 ? 64 : type->width;
    int64_t value = static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
    out_ += std::to_string(value);
  }
}

void TextWriter::dense(const Attr* a) {
  const Type* scalar = a->type->scalar();
  out_ += "dense<";
  if (a->splat) {
    element(scalar, a->raw[0]);
  } else if (a->raw.size() > 100) {
    size_t bytes = scalar->kind == TypeKind::kIndex ? 8 : (scalar->width + 7u) / 8;
    out_ += "\"0x";
    for (uint64_t bits : a->raw)
      for (size_t i = 0; i < bytes; ++i) {
        char buffer[4];
        std::snprintf(buffer, sizeof buffer, "%02X", static_cast<unsigned>((bits >> (8 * i)) & 0xFF));
        out_ += buffer;
      }
    out_ += '"';
  } else if (!a->raw.empty()) {
    // Brackets open and close where the index of a dimension is 0 or its last.
    std::span<const int64_t> shape = a->type->shape;
    for (size_t i = 0; i < a->raw.size(); ++i) {
      if (i) out_ += ", ";
      size_t stride = a->raw.size();
      for (int64_t d : shape) {
        if (i % stride == 0) out_ += '[';
        stride /= static_cast<size_t>(d);
      }
      element(scalar, a->raw[i]);
      stride = a->raw.size();
      for (int64_t d : shape) {
        if ((i + 1) % stride == 0) out_ += ']';
        stride /= static_cast<size_t>(d);
      }
    }
  }
  out_ += "> : ";
  type(a->type);
}

void TextWriter::structure(const Attr* a, bool with_type) {
  if (a->verbatim) {
    out_ += a->text;
    return;
  }
  switch (a->kind) {
    case AttrKind::kUnit:
      out_ += "unit";
      break;
    case AttrKind::kBool:
      out_ += a->integer ? "true" : "false";
      break;
    case AttrKind::kInteger:
      if (mode_ == kIdentity) out_ += a->string, out_ += ' ';
      if (a->type && a->type->sign == Type::kUnsigned)
        out_ += std::to_string(static_cast<uint64_t>(a->integer));
      else
        out_ += std::to_string(a->integer);
      if (a->type && with_type) out_ += " : ", type(a->type);
      break;
    case AttrKind::kFloat:
      out_ += print_float(a->type ? a->type->float_kind : FloatKind::kF64, a->bits);
      if (a->type && with_type) out_ += " : ", type(a->type);
      break;
    case AttrKind::kString:
      string(a->string);
      break;
    case AttrKind::kSymbol:  // a bare name or a quoted one; nested ones keep their spelling
      out_ += '@';
      key(a->string);
      break;
    case AttrKind::kArray:
      out_ += '[';
      separated(out_, a->elements, [&](const Attr* element) { attr(element); });
      out_ += ']';
      break;
    case AttrKind::kDict:
      out_ += '{';
      entries(a->entries);
      out_ += '}';
      break;
    case AttrKind::kType:
      type(a->type);
      break;
    case AttrKind::kDenseElements:
      dense(a);
      break;
    case AttrKind::kDenseArray:
      out_ += "array<";
      type(a->type);
      for (size_t i = 0; i < a->raw.size(); ++i) {
        out_ += i ? ", " : ": ";
        element(a->type, a->raw[i]);
      }
      out_ += '>';
      break;
    case AttrKind::kDialect:
      dialect(a);
      break;
    case AttrKind::kLocation:
      out_ += "loc(";
      location(a->location);
      out_ += ')';
      break;
    case AttrKind::kOpaque:
      out_ += a->text;
      break;
  }
}

void TextWriter::location(const Location* loc, bool use_alias) {
  if (use_alias && !loc->alias.empty()) {
    out_ += loc->alias;
    return;
  }
  switch (loc->kind) {
    case LocKind::kUnknown:
      out_ += "unknown";
      break;
    case LocKind::kFile:
      string(loc->file);
      out_ += ':' + std::to_string(loc->line) + ':' + std::to_string(loc->column);
      if (loc->end_line || loc->end_column) {
        out_ += " to ";
        if (loc->end_line != loc->line) out_ += std::to_string(loc->end_line);
        out_ += ':' + std::to_string(loc->end_column);
      }
      break;
    case LocKind::kName:
      string(loc->name);
      if (loc->child) out_ += '(', location(loc->child), out_ += ')';
      break;
    case LocKind::kCallSite:
      out_ += "callsite(";
      location(loc->child);
      out_ += " at ";
      location(loc->caller);
      out_ += ')';
      break;
    case LocKind::kFused:
      out_ += "fused";
      if (loc->metadata) out_ += '<', attr(loc->metadata), out_ += '>';
      out_ += '[';
      separated(out_, loc->children, [&](const Location* child) { location(child); });
      out_ += ']';
      break;
    case LocKind::kOpaque:
      out_ += loc->name;
      break;
  }
}

}  // namespace triton_runner::ir
