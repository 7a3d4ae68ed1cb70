// Reads a call and looks up its cached launch.
//
// A program repeats the same calls. The names in a call are resolved once per form (CallSite), and a call is first
// compared with the previous call of its form, value by value; a constant that is the same object is not read at
// all. A key is only written and looked up from the first difference on.
#include "dispatch.h"

namespace triton_runner::python {

using launch::Key;
using launch::KeyRule;

namespace {

Py_ssize_t length(PyObject* names) { return names ? PyTuple_GET_SIZE(names) : 0; }

// Whether a value is immutable, so that the same object always has the same value.
bool is_unchanging(PyObject* value) {
  return PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) ||
         PyBool_Check(value) || value == Py_None;
}

}  // namespace

// The keyword names of a call in the program's text are always the same tuple; f(**names) makes a new one each time.
bool CallSite::is_of(size_t n, PyObject* given) const {
  if (n != count || length(given) != n_names) return false;
  if (n_names == 0 || given == names.ptr()) return true;
  for (Py_ssize_t i = 0; i < n_names; i++)
    if (PyTuple_GET_ITEM(given, i) != PyTuple_GET_ITEM(names.ptr(), i)) return false;
  return true;
}

Held<CallSite> Dispatch::site_of(size_t count, PyObject* names) {
  for (const auto& site : sites_)
    if (site->is_of(count, names)) return site;
  Held<CallSite> site(new CallSite);
  if (!describe(count, names, *site)) return {};
  if (sites_.size() < kMaxSites) sites_.push_back(site);
  return site;
}

// Returns false if only Python can determine what such calls launch.
bool Dispatch::describe(size_t count, PyObject* names, CallSite& site) const {
  using Kind = CallSite::Kind;
  site.count = count, site.n_names = length(names), site.names = nb::borrow(names);
  const size_t size = is_open_ ? count : parameters_.size();
  if (size > Given::kMax || count > size || (is_open_ && site.n_names > 0)) return false;
  std::vector<int32_t> sources(size, -1);
  for (size_t i = 0; i < count; i++) sources[i] = static_cast<int32_t>(i);
  std::vector<CallSite::Piece> options;
  for (Py_ssize_t k = 0; k < site.n_names; k++) {
    PyObject* name = PyTuple_GET_ITEM(names, k);
    const auto source = static_cast<int32_t>(count) + static_cast<int32_t>(k);
    size_t i = 0;
    while (i < size && parameters_[i].name.ptr() != name) i++;
    if (i == size)  // a name that is not interned
      for (i = 0; i < size && PyUnicode_Compare(parameters_[i].name.ptr(), name) != 0;) i++;
    if (i < size) {
      if (sources[i] >= 0) return false;  // passed twice
      sources[i] = source;
    } else if (PySet_Contains(python_.entries.ptr(), name) == 1) {
      site.is_entry = true;
      site.pieces.push_back({Kind::kEntry, source, 0, {}, name});
    } else if (PySet_Contains(python_.reserved.ptr(), name) != 0) {
      return PyErr_Clear(), false;
    } else {
      options.push_back({Kind::kOption, source, 0, {}, name});
    }
  }
  for (size_t i = 0; i < size; i++) {
    const bool is_constexpr = !is_open_ && parameters_[i].rule.is_constexpr;
    // An artifact contains its constexprs, and accepts any values of the types that it was compiled for.
    const Kind kind = !is_constexpr ? Kind::kValue : site.is_entry ? Kind::kUnseen : Kind::kConstant;
    const bool is_missing = sources[i] < 0 && (is_open_ || !parameters_[i].otherwise.is_valid());
    if (is_missing && kind != Kind::kUnseen) return false;
    const KeyRule rule = is_open_ || site.is_entry ? KeyRule() : parameters_[i].rule;
    site.pieces.push_back({kind, sources[i], static_cast<uint32_t>(i), rule, nullptr});
  }
  for (const CallSite::Piece& option : options) site.pieces.push_back(option);
  site.n_values = size;
  return site.pieces.size() <= ReadCall::kMaxPieces;
}

PyObject* Dispatch::value_of(const CallSite::Piece& piece, PyObject* const* args) const {
  if (piece.source >= 0) return args[piece.source];
  return is_open_ ? nullptr : parameters_[piece.parameter].otherwise.ptr();
}

bool Dispatch::add(const CallSite::Piece& piece, PyObject* value, Given& given, Key& key) {
  using Kind = CallSite::Kind;
  switch (piece.kind) {
    case Kind::kEntry:
      return add_constant(piece.name, key) && add_text(value, given, key);
    case Kind::kOption:
      return add_constant(piece.name, key) && add_constant(value, key);
    case Kind::kConstant:
      return add_constant(value, key);
    case Kind::kUnseen:
      return true;
    case Kind::kValue:
      return add_value(piece.rule, value, given.read[piece.parameter], given, key);
  }
  return false;
}

// Starts the key with the pieces before the first difference, which are those of the previous call.
void Dispatch::begin_key(ReadCall& call, const KnownLaunch* before, size_t n_same) const {
  call.key.clear();
  call.key.word(reinterpret_cast<uint64_t>(call.settings.ptr()));
  call.key.word(uint64_t{static_cast<uint32_t>(call.given.device)} | uint64_t{call.given.within.is_valid()}
                                                                         << 32);
  if (is_open_ || call.given.is_entry) call.key.word(call.given.size);
  call.head = static_cast<uint16_t>(call.key.view().size());
  for (size_t i = 0; i < n_same; i++) {
    call.key.bytes(before->part(i));
    call.ends[i] = before->pieces[i].end;
  }
  call.has_key = true;
}

Held<KnownLaunch> Dispatch::look_up(PyObject* const* args, size_t count, PyObject* names, ReadCall& call) {
  Given& given = call.given;
  const Held<CallSite> site = site_of(count, names);
  if (!site) return {};
  call.settings = settings_in_force();
  given.size = site->n_values, given.is_entry = site->is_entry;
  given.device = gpu_of_this_thread();
  // Reading values may run Python code, which may launch; `before` keeps the launch that is compared with alive.
  const Held<KnownLaunch> before = site->latest;
  const bool is_like = before && !before->is_replaced && before->settings.ptr() == call.settings.ptr() &&
                       before->device == given.device;
  given.within = is_like ? before->within : storage_question(call);
  if (!is_like) begin_key(call, nullptr, 0);
  Key own;
  for (size_t p = 0; p < site->pieces.size(); p++) {
    const CallSite::Piece& piece = site->pieces[p];
    PyObject* value = value_of(piece, args);
    const KnownPiece* known = call.has_key ? nullptr : &before->pieces[p];
    const bool is_same = known && value && value == known->same.ptr();
    if (piece.is_parameter()) {
      given.values[piece.parameter] = value;
      Value& read = given.read[piece.parameter];
      if (is_same) {
        read = known->value;
      } else if (piece.kind == CallSite::Kind::kValue) {
        read_value(value, given.device, piece.rule.by_storage() ? given.within.ptr() : nullptr, read);
        if (known && read.is_like(known->value)) continue;
      } else {
        read.mark = value ? Mark::kOther : Mark::kMissing;
      }
    }
    if (is_same) continue;
    Key& part = known ? own : call.key;
    if (known) part.clear();
    if (!add(piece, value, given, part)) return call.has_key = false, Held<KnownLaunch>();
    if (known) {
      if (own.view() == before->part(p)) continue;
      begin_key(call, before.get(), p);
      call.key.bytes(own.view());
    }
    call.ends[p] = static_cast<uint16_t>(call.key.view().size());
  }
  if (!call.has_key) return before;
  call.has_key = call.key.fits();
  auto found = call.has_key ? find(call.key.view()) : Held<KnownLaunch>();
  if (found) site->latest = found;
  return found;
}

// Stores the launch, and makes it the one that the next call of this form is compared with.
void Dispatch::keep(const ReadCall& call, PyObject* const* args, size_t count, PyObject* names,
                    const Held<KnownLaunch>& known) {
  const Held<CallSite> site = site_of(count, names);
  known->key = call.key.view();
  known->head = call.head;
  known->device = call.given.device;
  known->within = call.given.within;
  for (size_t p = 0; p < site->pieces.size(); p++) {
    const CallSite::Piece& piece = site->pieces[p];
    KnownPiece& kept = known->pieces.emplace_back();
    kept.end = call.ends[p];
    PyObject* value = value_of(piece, args);
    // The text of an artifact is read at each call, because add_text() takes a long text's address as its key.
    if (value && piece.kind != CallSite::Kind::kEntry && is_unchanging(value)) kept.same = nb::borrow(value);
    if (piece.is_parameter()) kept.value = call.given.read[piece.parameter];
  }
  site->latest = known;
}

}  // namespace triton_runner::python
