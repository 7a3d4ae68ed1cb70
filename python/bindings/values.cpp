// Takes tuples of values apart, and tells what a value is to a launch.
#include "values.h"

#include "pointers.h"

namespace triton_runner::python {
namespace {

using launch::FloatType;
using launch::ValueKind;
using launch::ValueShape;

void take_apart(const std::string& name, nb::handle value, std::vector<NamedValue>& out) {
  if (!PyTuple_Check(value.ptr())) {
    out.push_back({name, value});
    return;
  }
  int i = 0;
  for (nb::handle element : value) take_apart(name + "." + std::to_string(i++), element, out);
}

// A number of NumPy or ml_dtypes, and arrays without axes, say their type.
FloatType float_type(nb::handle value) {
  if (!has(value, "shape") || !has(value, "dtype")) return FloatType::kNone;
  nb::object shape = value.attr("shape");
  if (!PyTuple_Check(shape.ptr()) || PyTuple_GET_SIZE(shape.ptr()) != 0) return FloatType::kNone;
  const std::string name = string_of(value.attr("dtype"));
  if (name == "float16") return FloatType::kF16;
  if (name == "bfloat16") return FloatType::kBF16;
  if (name == "float32") return FloatType::kF32;
  return name == "float64" ? FloatType::kF64 : FloatType::kNone;
}

bool is_array(nb::handle value) {
  return has(value, "data_ptr") || has(value, "__cuda_array_interface__") || has(value, "__dlpack__");
}

}  // namespace

Slot make_slot(std::string name, nb::handle type) {
  Slot slot{std::move(name)};
  if (PyTuple_Check(type.ptr()) || PyList_Check(type.ptr())) {
    slot.is_tuple = true;
    int i = 0;
    for (nb::handle element : type)
      slot.children.push_back(make_slot(slot.name + "." + std::to_string(i++), element));
  } else {
    slot.skip = PyUnicode_Check(type.ptr()) && nb::cast<std::string>(type) == "constexpr";
  }
  return slot;
}

void flatten(const Slot& slot, nb::handle value, std::vector<NamedValue>& out) {
  if (slot.skip) return;
  if (!slot.is_tuple) {
    out.push_back({slot.name, value});
    return;
  }
  for (size_t i = 0; i < slot.children.size(); i++) {
    nb::object element = taken(PySequence_GetItem(value.ptr(), static_cast<Py_ssize_t>(i)));
    flatten(slot.children[i], element, out);  // the tuple keeps its elements alive
  }
}

std::vector<NamedValue> flatten(const Named& named) {
  std::vector<NamedValue> out;
  for (const auto& [name, value] : named) take_apart(name, value, out);
  return out;
}

ValueShape shape_of(nb::handle value) {
  PyObject* object = value.ptr();
  if (object == Py_None) return {ValueKind::kNone};
  if (PyBool_Check(object)) return {ValueKind::kBool};
  if (PyLong_Check(object)) {
    int overflow = 0;
    const bool is_one = PyLong_AsLongAndOverflow(object, &overflow) == 1;
    return {ValueKind::kInteger, FloatType::kNone, 0, is_one};
  }
  if (PyFloat_CheckExact(object)) return {ValueKind::kFloat};
  switch (kind_of(value)) {
    case Kind::kDescriptor:
      return {ValueKind::kDescriptor, FloatType::kNone,
              static_cast<uint8_t>(nb::len(nb::object(value.attr("shape"))))};
    case Kind::kTmaDescriptor:
      return {ValueKind::kTensorMap};
    case Kind::kTorch:
    case Kind::kPointer:
      return {ValueKind::kTensor};
    default:
      break;
  }
  if (FloatType type = float_type(value); type != FloatType::kNone) return {ValueKind::kTyped, type};
  if (PyFloat_Check(object)) return {ValueKind::kFloat};
  return {is_array(value) ? ValueKind::kTensor : ValueKind::kOther};
}

std::vector<launch::Value> shapes_of(const std::vector<NamedValue>& values) {
  std::vector<launch::Value> out;
  for (const NamedValue& v : values) out.push_back({v.name, shape_of(v.value)});
  return out;
}

std::string text_of(nb::handle value) {
  std::string text = nb::cast<std::string>(nb::repr(value));
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

}  // namespace triton_runner::python
