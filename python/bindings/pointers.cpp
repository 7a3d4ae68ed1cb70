// Reads pointers: an object that Triton's launcher takes as a pointer has data_ptr(), and perhaps nothing
// else. A kernel on the CPU may touch the memory of its arguments only, so the extent of that memory is found
// here.
#include "pointers.h"

#include <cctype>
#include <unordered_map>

namespace triton_runner::python {
namespace {

// The attribute, or an invalid object where asking for it fails.
nb::object attribute(nb::handle object, PyObject* name) {
  nb::object value = nb::steal(PyObject_GetAttr(object.ptr(), name));
  if (!value.is_valid()) PyErr_Clear();
  return value;
}

nb::object called(nb::handle function) {
  nb::object value = nb::steal(PyObject_CallNoArgs(function.ptr()));
  if (!value.is_valid()) PyErr_Clear();
  return value;
}

// The integer that a method or a field of an object gives.
std::optional<uint64_t> number(nb::handle object, PyObject* name) {
  nb::object value = attribute(object, name);
  if (value.is_valid() && PyCallable_Check(value.ptr())) value = called(value);
  if (!value.is_valid() || !PyIndex_Check(value.ptr())) return std::nullopt;
  nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  uint64_t result = index.is_valid() ? PyLong_AsUnsignedLongLong(index.ptr()) : 0;
  if (PyErr_Occurred()) return PyErr_Clear(), std::nullopt;
  return result;
}

PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

bool holds(const Block& block, uint64_t address) {
  return address >= block.address && address - block.address <= block.bytes;
}

std::optional<Block> of_storage(nb::handle object) {
  static PyObject* const kStorage = interned("untyped_storage");
  static PyObject* const kAddress = interned("data_ptr");
  static PyObject* const kBytes = interned("nbytes");
  nb::object method = attribute(object, kStorage);
  if (!method.is_valid() || !PyCallable_Check(method.ptr())) return std::nullopt;
  nb::object storage = called(method);
  if (!storage.is_valid()) return std::nullopt;
  std::optional<uint64_t> address = number(storage, kAddress), bytes = number(storage, kBytes);
  if (!address || !bytes) return std::nullopt;
  return Block{*address, *bytes, true, {}, std::move(storage)};
}

// A sequence of integers; false if it is none.
bool integers(nb::handle sequence, std::vector<int64_t>& out) {
  nb::object items = nb::steal(PySequence_Fast(sequence.ptr(), ""));
  if (!items.is_valid()) return PyErr_Clear(), false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); i++) {
    int64_t value = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items.ptr(), i));
    if (PyErr_Occurred()) return PyErr_Clear(), false;
    out.push_back(value);
  }
  return true;
}

// Bytes of an element: by the dtype's name, else as the object or its dtype say.
std::optional<uint64_t> element_bytes(nb::handle object) {
  static PyObject* const kDtype = interned("dtype");
  static PyObject* const kElementSize = interned("element_size");
  static PyObject* const kItemSize = interned("itemsize");
  nb::object dtype = attribute(object, kDtype);
  if (dtype.is_valid())
    if (auto known = element_class(short_dtype(string_of(dtype)))) return (known->bits + 7) / 8;
  if (auto bytes = number(object, kElementSize)) return bytes;
  return dtype.is_valid() ? number(dtype, kItemSize) : std::nullopt;
}

// From the first to the last element that shape and strides reach; strides may be negative.
std::optional<Block> of_shape(nb::handle object, uint64_t address) {
  static PyObject* const kShape = interned("shape");
  static PyObject* const kStride = interned("stride");
  nb::object sizes = attribute(object, kShape);
  std::vector<int64_t> shape, strides;
  if (!sizes.is_valid() || !integers(sizes, shape)) return std::nullopt;
  nb::object stride = attribute(object, kStride);
  if (stride.is_valid()) {
    nb::object steps = PyCallable_Check(stride.ptr()) ? called(stride) : stride;
    if (!steps.is_valid() || !integers(steps, strides) || strides.size() != shape.size()) return std::nullopt;
  } else {
    strides.resize(shape.size());
    int64_t step = 1;
    for (size_t i = shape.size(); i-- > 0; step *= shape[i]) strides[i] = step;
  }
  std::optional<uint64_t> bytes = element_bytes(object);
  if (!bytes) return std::nullopt;
  int64_t first = 0, last = 0;
  for (size_t i = 0; i < shape.size(); i++) {
    if (shape[i] <= 0) return Block{address, 0, true, {}, {}};
    (strides[i] < 0 ? first : last) += (shape[i] - 1) * strides[i];
  }
  const auto size = static_cast<int64_t>(*bytes);
  return Block{address + static_cast<uint64_t>(first * size),
               static_cast<uint64_t>((last - first + 1) * size),
               true,
               {},
               {}};
}

// The live storage, array or registered block that holds the address: one that the object holds, or any (registry.py).
std::optional<Block> owned(nb::handle object, uint64_t address, PyObject* by) {
  static const nb::handle memory = nb::module_::import_("triton_runner._memory.registry").release();
  nb::object found = memory.attr(nb::handle(by))(object, address);
  if (found.is_none()) return std::nullopt;
  return Block{address_of(found[0]), address_of(found[1]), nb::cast<bool>(found[3]),
               nb::cast<std::string>(found[2]), nb::borrow(found[4])};
}

}  // namespace

bool has(nb::handle object, const char* name) { return PyObject_HasAttrString(object.ptr(), name) == 1; }

uint64_t address_of(nb::handle object) { return nb::cast<uint64_t>(nb::int_(object)); }

std::string string_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

std::string short_dtype(std::string name) {
  if (size_t dot = name.rfind('.'); dot != std::string::npos) name = name.substr(dot + 1);
  auto starts = [&](std::string_view prefix) { return name.rfind(prefix, 0) == 0; };
  if (name == "bfloat16" || name == "bf16") return "bf16";
  if (name == "bool") return "i1";
  if (starts("float8") || starts("fp8")) return "f8" + name.substr(name.find('8') + 1);
  if (starts("float")) return "f" + name.substr(5);
  if (starts("fp")) return "f" + name.substr(2);
  if (starts("uint")) return "u" + name.substr(4);
  if (starts("int")) return "i" + name.substr(3);
  return name;
}

std::optional<ElementClass> element_class(std::string_view name) {
  size_t digits = 0;
  while (digits < name.size() && !std::isdigit(static_cast<unsigned char>(name[digits]))) digits++;
  std::string_view kind = name.substr(0, digits);
  int bits = 0;
  for (size_t i = digits; i < name.size() && std::isdigit(static_cast<unsigned char>(name[i])); i++)
    bits = bits * 10 + (name[i] - '0');
  if (bits == 0) return std::nullopt;
  if (kind == "f") return ElementClass{'f', bits};
  if (kind == "bf") return ElementClass{'b', bits};
  if (kind == "i" || kind == "u" || kind == "ui" || kind == "si")
    return ElementClass{'i', bits == 1 ? 8 : bits};
  return std::nullopt;
}

// Found out once a type where the type itself tells, as asking for attributes that are not there is what
// costs.
Kind kind_of(nb::handle v) {
  if (v.is_none() || PyLong_Check(v.ptr()) || PyFloat_Check(v.ptr())) return Kind::kNumber;
  static std::unordered_map<PyTypeObject*, Kind> known;  // guarded by the GIL
  auto found = known.find(Py_TYPE(v.ptr()));
  if (found != known.end()) return found->second;
  const nb::handle type = v.type();
  auto by_type = [&](Kind kind) {
    Py_INCREF(type.ptr());  // the address stays this type's
    known.emplace(Py_TYPE(v.ptr()), kind);
    return kind;
  };
  if (has(type, "untyped_storage") && has(type, "is_cpu")) return by_type(Kind::kTorch);
  if (has(type, "data_ptr")) return by_type(Kind::kPointer);
  if (has(v, "block_shape") && has(v, "base") && has(v, "strides")) return Kind::kDescriptor;
  if (has(type, "tma_desc_cpu_ptr")) return by_type(Kind::kTmaDescriptor);
  if (has(type, "__array_interface__")) return by_type(Kind::kArray);
  if (has(v, "data_ptr")) return Kind::kPointer;
  if (has(v, "tma_desc_cpu_ptr")) return Kind::kTmaDescriptor;
  if (has(v, "__array_interface__")) return Kind::kArray;
  return has(v, "__dlpack__") ? Kind::kDlpack : Kind::kOther;
}

Located locate(nb::handle object) {
  static PyObject* const kAddress = interned("data_ptr");
  static PyObject* const kHeld = interned("held");
  static PyObject* const kAround = interned("around");
  nb::object address = taken(PyObject_CallMethodNoArgs(object.ptr(), kAddress));
  Located result{address_of(address), {}};
  if (result.address == 0) return result;
  result.block = of_storage(object);
  if (!result.block || !holds(*result.block, result.address))
    result.block = owned(object, result.address, kHeld);
  if (!result.block) result.block = of_shape(object, result.address);
  if (!result.block) result.block = owned(object, result.address, kAround);
  return result;
}

std::string device_of(nb::handle object) {
  static PyObject* const kDevice = interned("device");
  static PyObject* const kType = interned("type");
  nb::object device = attribute(object, kDevice);
  if (!device.is_valid()) return {};
  if (!PyUnicode_Check(device.ptr())) device = attribute(device, kType);
  if (!device.is_valid() || !PyUnicode_Check(device.ptr())) return {};
  std::string name = nb::cast<std::string>(device);
  return name.substr(0, name.find(':'));
}

}  // namespace triton_runner::python
