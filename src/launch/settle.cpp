// Implements settle(). A descriptor takes several parameters, so that where a value's parameters begin
// depends on the values before it; a walk over the values finds it out.
#include <triton_runner/base/try.h>
#include <triton_runner/launch/settle.h>

#include <algorithm>

namespace triton_runner::launch {
namespace {

using base::failure;

std::string give_metadata() {
  return "give its metadata file: " + base::option("metadata_json") +
         ", or <kernel>.json beside the artifact";
}

std::string who(const Interface& a) { return "kernel '" + a.kernel + "'"; }

bool is_word(const std::string& type) { return type.empty() || type == ".u64" || type == ".b64"; }

bool is_descriptor(const std::string& type) {
  return type.starts_with("!tt.tensordesc") || type.starts_with("!ttng.tensordesc");
}

bool ends_in_pointers(const Interface& a, size_t count) {
  return count <= a.params.size() &&
         std::all_of(a.params.end() - static_cast<long>(count), a.params.end(), [](const KnownParam& p) {
           return p.bytes == 8 && (is_word(p.type) || p.type == "ptr");
         });
}

std::string list(const std::vector<KnownParam>& params) {
  std::string text;
  for (const KnownParam& p : params) text += (text.empty() ? "" : ", ") + p.name + ": " + p.type;
  return text;
}

std::string list(std::span<const Value> values) {
  std::string text;
  for (const Value& v : values) text += (text.empty() ? "" : ", ") + v.name;
  return text.empty() ? "none" : text;
}

// Triton's IR types all its parameters, and has none of Triton's own.
bool is_ir(const Interface& a) { return a.level == "ttir" || a.level == "ttgir"; }

// A descriptor in pieces: base, shape and strides of 8 bytes, flags of 1, shape of 4, strides. Releases
// differ in the number of flags.
int flags_of(const Interface& a, size_t at, size_t rank) {
  int flags = 0;
  for (size_t i = at + 1 + 2 * rank; i < a.params.size() && a.params[i].bytes == 1; i++) flags++;
  return flags;
}

bool in_pieces(const Interface& a, size_t at) {
  return !a.descriptors_as_maps && !(at < a.params.size() && is_descriptor(a.params[at].type));
}

// Returns how many of the artifact's parameters a value takes from parameter `at` on.
base::Result<size_t> places(const Interface& a, const Value& value, size_t at) {
  if (value.shape.kind != ValueKind::kDescriptor) return size_t{1};
  const size_t rank = value.shape.rank;
  if (!in_pieces(a, at)) return 1 + 2 * rank;
  if (at < a.params.size() && a.params[at].bytes == 128)
    return failure(who(a) + " takes host-side tensor descriptors, and the " + a.level +
                       " does not say how they are laid out (tensordesc_meta)",
                   {give_metadata()});
  return 1 + 4 * rank + static_cast<size_t>(flags_of(a, at, rank));
}

// The values at `kept`, laid out over the parameters. `hidden` becomes what is left, negative where they are
// too many.
base::Result<Settled> lay_out(const Interface& a, std::span<const Value> values, std::vector<size_t> kept) {
  Settled out{std::move(kept), {}, 0, 0};
  size_t at = 0;
  for (size_t i : out.kept) {
    out.at.push_back(at);
    auto taken = TRY(places(a, values[i], at));
    if (values[i].shape.kind == ValueKind::kDescriptor && in_pieces(a, at))
      out.descriptor_flags = std::max(out.descriptor_flags, flags_of(a, at, values[i].shape.rank));
    at += taken;
  }
  out.hidden = static_cast<int>(a.params.size()) - static_cast<int>(at);
  return out;
}

bool is_possible(const Interface& a, int hidden) {
  if (is_ir(a)) return hidden == 0;
  if (a.hidden_pointers ? hidden != *a.hidden_pointers : hidden < 0 || hidden > 2) return false;
  return ends_in_pointers(a, static_cast<size_t>(hidden));
}

// The values that the artifact knows by name, if those are all that it takes; the others must have been
// folded. Empty where names do not tell.
base::Result<std::vector<size_t>> by_name(const Interface& a, std::span<const Value> values,
                                          const std::function<std::string(size_t)>& text_of) {
  std::vector<size_t> kept, others;
  for (size_t i = 0; i < values.size(); i++) {
    if (values[i].shape.kind == ValueKind::kDescriptor) return std::vector<size_t>{};
    bool known = std::any_of(a.params.begin(), a.params.end(),
                             [&](const KnownParam& p) { return p.name == values[i].name; });
    (known ? kept : others).push_back(i);
  }
  const size_t named = static_cast<size_t>(
      std::find_if(a.params.begin(), a.params.end(), [](const KnownParam& p) { return p.name.empty(); }) -
      a.params.begin());
  if (named == 0 || kept.size() != named || !is_possible(a, static_cast<int>(a.params.size() - named)))
    return std::vector<size_t>{};
  for (size_t i : others) {
    const ValueShape& shape = values[i].shape;
    if (shape.may_be_folded()) continue;
    if (shape.kind != ValueKind::kBool && shape.kind != ValueKind::kInteger &&
        shape.kind != ValueKind::kFloat)
      return failure(who(a) + " has no parameter '" + values[i].name + "'",
                     {"parameters: " + list(a.params)});
    return failure("argument '" + values[i].name + "' is " + text_of(i) +
                       ", but the artifact has no such parameter: it was compiled for the value 1",
                   {"parameters: " + list(a.params), "compile the kernel again for this value"});
  }
  return kept;
}

base::Diagnostic wrong_count(const Interface& a, std::span<const Value> values) {
  const std::string total = std::to_string(a.params.size()), given = std::to_string(values.size());
  if (is_ir(a))
    return failure(who(a) + " takes " + total + " arguments, and " + given + " were given",
                   {"parameters: " + list(a.params), "given: " + list(values)});
  std::string own;
  if (a.hidden_pointers.value_or(0) > 0)
    own = ", " + std::to_string(*a.hidden_pointers) + " of them Triton's own";
  return failure(who(a) + ": the " + a.level + " has " + total + " parameters" + own + "; " + given +
                     " arguments do not fit",
                 {"arguments, constexprs left out: " + list(values),
                  "arguments that are None or the integer 1 may have been compiled in, others are not"});
}

}  // namespace

base::Result<Settled> settle(const Interface& artifact, std::span<const Value> values,
                             const std::function<std::string(size_t)>& text_of) {
  std::vector<size_t> all, unfolded;
  for (size_t i = 0; i < values.size(); i++) {
    all.push_back(i);
    if (!values[i].shape.may_be_folded()) unfolded.push_back(i);
  }
  auto named = by_name(artifact, values, text_of);
  if (!named) return named.error();
  if (!named->empty()) return lay_out(artifact, values, *std::move(named));
  std::vector<Settled> counted;
  for (const std::vector<size_t>* kept : {&all, &unfolded}) {
    if (kept == &unfolded && unfolded.size() == all.size()) break;
    counted.push_back(TRY(lay_out(artifact, values, *kept)));
  }
  std::vector<Settled> fits;
  for (const Settled& s : counted)
    if (is_possible(artifact, s.hidden)) fits.push_back(s);
  if (fits.empty())  // metadata of another build: what fits without pointers of Triton's own has none
    for (const Settled& s : counted)
      if (s.hidden == 0) fits.push_back(s);
  if (fits.size() == 1) return std::move(fits.front());
  if (fits.empty()) return wrong_count(artifact, values);
  return failure(who(artifact) + ": the " + artifact.level + " has " +
                     std::to_string(artifact.params.size()) + " parameters and " +
                     std::to_string(values.size()) +
                     " arguments were given: counting does not settle which parameters are Triton's own and "
                     "which arguments were compiled in",
                 {give_metadata()});
}

namespace {

// Floats as PTX, LLVM and MLIR spell them; 0: no float.
int float_bits(const std::string& type) {
  const std::string_view name = type.starts_with('.') ? std::string_view(type).substr(1) : type;
  if (name == "f64" || name == "double") return 64;
  if (name == "f32" || name == "float") return 32;
  if (name == "f16" || name == "half" || name == "bf16" || name == "bfloat" || name == "bfloat16") return 16;
  return 0;
}

const char* name_of(FloatType type) {
  constexpr const char* kNames[] = {"", "f16", "bf16", "f32", "f64"};
  return kNames[static_cast<int>(type)];
}

}  // namespace

base::Result<std::vector<exec::Param>> typed(const Interface& artifact, std::span<const Value> values,
                                             const Settled& settled) {
  using exec::ParamKind;
  std::vector<exec::Param> out;
  for (size_t i = 0; i < settled.kept.size(); i++) {
    const Value& value = values[settled.kept[i]];
    const KnownParam& param = artifact.params[settled.at[i]];
    const int bits = 8 * param.bytes;
    const std::string& type = param.type;
    const std::string argument = who(artifact) + ": argument '" + value.name + "'";
    auto add = [&](ParamKind kind, std::string_view said, std::string otherwise, int width) {
      out.push_back({value.name, kind, said.empty() ? std::move(otherwise) : std::string(said), width});
    };
    if (value.shape.kind == ValueKind::kDescriptor) {
      add(ParamKind::kTensorDesc, type, "tensordesc", 0);
    } else if (value.shape.kind == ValueKind::kTensorMap) {
      add(ParamKind::kPointer, "nvTmaDesc", "", 64);
    } else if (int width = float_bits(type)) {
      add(ParamKind::kFloat, type, "", width);
    } else if (value.shape.kind == ValueKind::kTyped) {
      const std::string said = name_of(value.shape.type);
      if (float_bits(said) != bits)
        return failure(argument + " is " + said + ", and the " + artifact.level + " takes " +
                       std::to_string(bits) + " bits");
      add(ParamKind::kFloat, said, "", bits);
    } else if (const bool is_tensor = value.shape.kind == ValueKind::kTensor;
               type == "ptr" || type.starts_with("!tt.ptr") ||
               (is_word(type) && bits == 64 && (is_tensor || value.shape.kind == ValueKind::kNone))) {
      add(ParamKind::kPointer, type, "ptr", 64);
    } else if (is_tensor) {
      return failure(argument + " is a tensor, and the " + artifact.level + " takes " + std::to_string(bits) +
                     " bits there");
    } else if (value.shape.kind == ValueKind::kFloat &&
               (type.empty() || type == ".b16" || type == ".b32" || type == ".b64")) {
      if (bits == 16)
        return failure(argument + " has 16 bits, and the " + artifact.level + " does not tell f16 from bf16",
                       {"enter at ttir or ttgir, which tell"});
      add(ParamKind::kFloat, "f" + std::to_string(bits), "", bits);
    } else {
      add(ParamKind::kInteger, type, "i" + std::to_string(bits), bits);
    }
  }
  return out;
}

}  // namespace triton_runner::launch
