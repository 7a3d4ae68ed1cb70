// Converts arguments. A tensor gives its address and, as the memory that the kernel may touch, its whole
// storage.
#include "arguments.h"

#include "pointers.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace triton_runner::python {
namespace {

using exec::Allocation;
using exec::Argument;
using exec::Param;
using exec::ParamKind;

bool pretend_cuda = false;

std::string type_of(nb::handle value) {
  return nb::cast<std::string>(nb::handle(value.type()).attr("__name__"));
}

std::string argument(const std::string& name) { return "argument '" + name + "'"; }

// "!tt.ptr<f32>" or "!tt.ptr<f32, 1>" -> "f32"; "" for anything else.
std::string_view pointee(std::string_view type) {
  size_t open = type.find("ptr<");
  if (open == std::string_view::npos) return {};
  std::string_view rest = type.substr(open + 4);
  if (rest.find("ptr<") != std::string_view::npos) return "i64";
  return rest.substr(0, rest.find_first_of(",> "));
}

struct Pointer {
  uint64_t address = 0;
  std::optional<Allocation> memory;
  std::string dtype;
};

std::string describe(nb::handle object, std::string_view dtype) {
  std::string text(dtype);
  nb::object shape = has(object, "shape") ? nb::object(object.attr("shape")) : nb::none();
  if (!PySequence_Check(shape.ptr())) return text;
  text += '[';
  bool first = true;
  for (nb::handle extent : shape) {
    if (!first) text += ", ";
    first = false;
    text += string_of(extent);
  }
  return text + ']';
}

class Binder {
 public:
  Binder(const exec::Kernel& kernel, std::string_view device)
      : params_(kernel.params()),
        device_(device),
        expands_descriptors_(kernel.level() == "ttir" || kernel.level() == "ttgir"),
        check_elements_(false) {}

  void check_elements() { check_elements_ = true; }
  void keep_to_views(bool on) { views_ = on; }

  // Numbers as Triton's own launcher converts them.
  void convert_as(Conversion conversion) { conversion_ = conversion; }

  // Fills parameter slots from `next` on; false when there is none left.
  bool add(const NamedValue& value) {
    if (next_ >= params_.size()) return false;
    if (kind_of(value.value) == Kind::kDescriptor) {
      add_descriptor(value);
    } else {
      push(params_[next_], value);
    }
    return true;
  }

  bool complete() const { return next_ == params_.size(); }
  BoundArguments take() { return std::move(out_); }

 private:
  void push(const Param& param, const NamedValue& given) {
    Argument result{param.kind};
    switch (param.kind) {
      case ParamKind::kPointer:
        result.bits = pointer(param, given);
        break;
      case ParamKind::kInteger:
        result.bits = integer(param, given);
        break;
      case ParamKind::kFloat:
        result.bits = real(param, given);
        break;
      case ParamKind::kTensorDesc:
        fail(argument(given.name) + ": expected a TensorDescriptor for " + param.type + ", got " +
             type_of(given.value));
    }
    out_.arguments.push_back(std::move(result));
    next_++;
  }

  // A descriptor fills one parameter of a descriptor type and, in Triton's IR, the shape and strides after
  // it; where the compiler has taken it apart (below sm_90) it fills base, shape, strides, flags, shape,
  // strides.
  void add_descriptor(const NamedValue& given) {
    nb::handle d = given.value;
    nb::object sizes = d.attr("shape"), steps = d.attr("strides");
    auto shape = nb::list(nb::handle(sizes)), strides = nb::list(nb::handle(steps));
    bool nan = has(d, "padding") && string_of(d.attr("padding")) == "nan";
    bool rounds =
        has(d, "round_f32_to_tf32") && PyObject_IsTrue(nb::object(d.attr("round_f32_to_tf32")).ptr()) == 1;
    nb::object base = d.attr("base");
    bool whole = params_[next_].kind == ParamKind::kTensorDesc;
    if (whole) {
      check_mode(given);
      Pointer pointer = tensor(given.name, base);
      remember(pointer, given.name, base);
      Argument result{ParamKind::kTensorDesc};
      exec::TensorDesc desc{pointer.address, {}, {}, nan};
      desc.shape = numbers(given, "shape");
      desc.strides = numbers(given, "strides");
      if (in_im2col_mode(d))
        desc.im2col = {numbers(given, "pixel_box_lower_corner"), numbers(given, "pixel_box_upper_corner"),
                       numbers(given, "element_strides")};
      desc.round_to_tf32 = rounds;
      result.descriptor = std::move(desc);
      out_.arguments.push_back(std::move(result));
      next_++;
      if (!expands_descriptors_) return;
    } else {
      piece(given, base, ".base");
      for (nb::handle v : shape) piece(given, v, ".shape");
      for (nb::handle v : strides) piece(given, v, ".strides");
      for (bool flag : {nan, rounds})
        if (next_ < params_.size() && params_[next_].kind == ParamKind::kInteger && params_[next_].bits == 1)
          piece(given, nb::bool_(flag), ".flag");
    }
    for (nb::handle v : shape) piece(given, v, ".shape");
    for (nb::handle v : strides) piece(given, v, ".strides");
  }

  static bool in_im2col_mode(nb::handle d) {
    return has(d, "pixel_box_lower_corner") && !d.attr("pixel_box_lower_corner").is_none();
  }

  // Checks TTGIR's parameters, whose types say it: a wrong one would have a wrong number of pieces after it.
  void check_mode(const NamedValue& given) {
    const std::string& type = params_[next_].type;
    const bool column = type.starts_with("!ttng.tensordesc_im2col"),
               tiled = type.starts_with("!tt.tensordesc");
    if (!(in_im2col_mode(given.value) ? tiled : column)) return;
    fail(argument(given.name) + ": expected a " +
         (column ? "TensorDescriptorIm2Col" : "tiled TensorDescriptor") + ", got " + type_of(given.value));
  }

  // A descriptor's list; empty where there is none.
  static std::vector<int64_t> numbers(const NamedValue& given, const char* name) {
    std::vector<int64_t> out;
    if (!has(given.value, name) || given.value.attr(name).is_none()) return out;
    for (nb::handle v : nb::list(nb::handle(nb::object(given.value.attr(name))))) {
      const nb::int_ number(v);
      if (!nb::try_cast(number, out.emplace_back()))
        fail(argument(given.name + "." + name) + ": " + text_of(v) + " does not fit into 64 bits");
    }
    return out;
  }

  void piece(const NamedValue& given, nb::handle value, const char* part) {
    if (next_ >= params_.size())
      fail(argument(given.name) + ": the kernel has fewer parameters than the tensor descriptor has parts");
    nb::object held = nb::borrow(value);
    out_.keep_alive.push_back(held);
    push(params_[next_], {given.name + part, held});
  }

  void remember(Pointer& pointer, const std::string& name, nb::handle value) {
    if (!pointer.memory) return;
    if (views_ && add_view(*pointer.memory, name, value)) return;
    hold(std::move(*pointer.memory));
  }

  void hold(Allocation memory) {
    if (views_) memory.owner = static_cast<uint32_t>(next_ + 1);
    out_.memory.push_back(std::move(memory));
  }

  // Adds the pieces of a storage that a view has elements in. False: it is all of the storage, or nobody knows.
  bool add_view(const Allocation& whole, const std::string& name, nb::handle value) {
    nb::object view = nb::module_::import_("triton_runner._memory.views").attr("pieces")(value);
    if (view.is_none()) return false;
    const auto pieces = nb::cast<std::vector<std::pair<uint64_t, uint64_t>>>(view[1]);
    for (auto [address, bytes] : pieces) {
      if (address == whole.address && bytes == whole.bytes) return false;
      Allocation piece{address, bytes, argument(name) + " (" + nb::cast<std::string>(view[0]) + ")",
                       whole.writable};
      piece.storage = whole.address, piece.storage_bytes = whole.bytes;
      hold(std::move(piece));
    }
    return true;
  }

  uint64_t pointer(const Param& param, const NamedValue& given) {
    nb::handle v = given.value;
    if (v.is_none()) return 0;
    const bool refused =
        PyFloat_Check(v.ptr()) || (conversion_ == Conversion::kStrict && PyBool_Check(v.ptr()));
    if (refused)
      fail(argument(given.name) + ": expected a tensor or an address for " + param.type + ", got " +
           type_of(v) + " " + text_of(v));
    if (PyLong_Check(v.ptr())) return address(given, param);
    if (kind_of(v) == Kind::kTmaDescriptor) {
      uint64_t at = address_of(v.attr("tma_desc_cpu_ptr")());
      hold(Allocation{at, 128, argument(given.name) + " (TMA descriptor)", false});
      return at;
    }
    Pointer pointer = tensor(given.name, v);
    if (check_elements_) {
      auto wanted = element_class(pointee(param.type));
      auto got = element_class(pointer.dtype);
      if (wanted && got && !(*wanted == *got))
        fail(argument(given.name) + " holds " + pointer.dtype + " elements, and the kernel's parameter is " +
                 param.type,
             {"the kernel was compiled for another element type; convert the tensor, or compile the kernel "
              "for this one"});
    }
    remember(pointer, given.name, v);
    return pointer.address;
  }

  uint64_t address(const NamedValue& given, const Param& param) {
    uint64_t value = PyLong_AsUnsignedLongLong(given.value.ptr());
    if (PyErr_Occurred()) {
      PyErr_Clear();
      fail(argument(given.name) + ": " + text_of(given.value) + " is not an address for " + param.type);
    }
    return value;
  }

  // Finds where a tensor-like object lies, and the whole block that it belongs to.
  Pointer tensor(const std::string& name, nb::handle v) {
    switch (kind_of(v)) {
      case Kind::kTorch:
        return torch_tensor(name, v);
      case Kind::kArray:
        return array(name, v);
      case Kind::kPointer:
        return bare_pointer(name, v);
      case Kind::kDlpack:
        return dlpack(name, v);
      default:
        break;
    }
    fail(argument(name) + ": expected a tensor, an array or an address, got " + type_of(v) + " " + text_of(v),
         {"tensors of PyTorch, NumPy arrays, objects with __dlpack__, and objects with data_ptr() and dtype "
          "are taken"});
  }

  [[noreturn]] void wrong_device(const std::string& name, nb::handle v) {
    if (has(v, "base") && kind_of(nb::object(v.attr("base"))) == Kind::kArray)
      need_cpu(name, "a NumPy array");
    fail(argument(name) + " is a tensor on " + string_of(v.attr("device")) + ", and the kernel runs on " +
             std::string(device_),
         {"move the tensor with .to(\"" + std::string(device_) + "\"), or choose the device with " +
          base::option("device") + " or TRITON_RUNNER_DEVICE"});
  }

  Pointer torch_tensor(const std::string& name, nb::handle v) {
    if (!pretend_cuda) {
      bool here = device_ == "cpu" ? PyObject_IsTrue(nb::object(v.attr("is_cpu")).ptr()) == 1
                                   : string_of(v.attr("device").attr("type")) == device_;
      if (!here) wrong_device(name, v);
    }
    Pointer result{address_of(v.attr("data_ptr")()), {}, short_dtype(string_of(v.attr("dtype")))};
    nb::object storage = v.attr("untyped_storage")();
    if (result.address == 0 && !is_allocated(storage)) no_memory(name, v);
    result.memory = Allocation{address_of(storage.attr("data_ptr")()), address_of(storage.attr("nbytes")()),
                               argument(name) + " (" + describe(v, result.dtype) + ")", true};
    return result;
  }

  // Returns whether there are as many bytes as a storage says. torch's fake tensors have none, and the storage
  // of a class that wraps other tensors raises.
  static bool is_allocated(nb::handle storage) {
    try {
      return address_of(storage.attr("data_ptr")()) != 0 || address_of(storage.attr("nbytes")()) == 0;
    } catch (nb::python_error&) {
      return false;
    }
  }

  [[noreturn]] void no_memory(const std::string& name, nb::handle v) {
    fail(argument(name) + " is a " + type_of(v) + ", which has no memory of its own",
         {"a tensor that torch only imagines (FakeTensorMode, torch.compile) cannot be read; of a class that "
          "wraps tensors, pass the tensors inside of it"});
  }

  Pointer array(const std::string& name, nb::handle v) {
    need_cpu(name, "a NumPy array");
    nb::object interface = v.attr("__array_interface__");
    std::string dtype = array_dtype(string_of(interface["typestr"]), v);
    if (!nb::object(interface["strides"]).is_none())
      fail(argument(name) + " is a NumPy array that is not contiguous: shape " + text_of(v.attr("shape")) +
               ", strides " + text_of(v.attr("strides")) + " bytes",
           {"pass numpy.ascontiguousarray(" + name +
            "), or a tensor of PyTorch with its strides as arguments"});
    nb::object data = interface["data"];
    Pointer result{address_of(data[0]), {}, dtype};
    bool readonly = nb::cast<bool>(data[1]);
    nb::object root = nb::borrow(v);
    for (nb::object base = root.attr("base"); Py_TYPE(base.ptr()) == Py_TYPE(v.ptr());
         base = base.attr("base"))
      root = base;
    nb::object whole = root.attr("__array_interface__");
    bool contiguous = nb::object(whole["strides"]).is_none();
    result.memory =
        Allocation{contiguous ? address_of(whole["data"][0]) : result.address,
                   address_of((contiguous ? root : nb::borrow(v)).attr("nbytes")),
                   argument(name) + " (" + describe(v, dtype) + (readonly ? ", read-only)" : ")"), !readonly};
    return result;
  }

  // "<f4" -> "f32"; asking the dtype for its name is slow, and only the types of ml_dtypes need it.
  static std::string array_dtype(const std::string& typestr, nb::handle v) {
    char kind = typestr.size() == 3 ? typestr[1] : 'V';
    if (kind != 'f' && kind != 'i' && kind != 'u') return short_dtype(string_of(v.attr("dtype")));
    return kind + std::to_string(8 * (typestr[2] - '0'));
  }

  // Takes whatever Triton's launcher takes: an object with data_ptr(). A view with another dtype
  // (triton.reinterpret) knows the tensor that it is a view of.
  Pointer bare_pointer(const std::string& name, nb::handle v) {
    if (!is_here(v, device_)) wrong_device(name, v);
    std::string dtype = has(v, "dtype") ? short_dtype(string_of(v.attr("dtype"))) : "";
    if (device_ != "cpu") return {address_of(v.attr("data_ptr")()), {}, dtype};
    nb::object base = has(v, "base") ? nb::object(v.attr("base")) : nb::none();
    if (Kind kind = kind_of(base); kind == Kind::kTorch || kind == Kind::kArray || kind == Kind::kDlpack) {
      Pointer whole = tensor(name, base);
      const uint64_t at = address_of(v.attr("data_ptr")());
      if (at >= whole.memory->address && at - whole.memory->address <= whole.memory->bytes)
        return {at, whole.memory, dtype};
    }
    Located found = locate(v);
    Pointer result{found.address, {}, dtype};
    if (found.block) {
      std::string label = found.block->label.empty() ? describe(v, dtype) : found.block->label;
      result.memory = Allocation{found.block->address, found.block->bytes,
                                 argument(name) + " (" + label + ")", found.block->writable};
      if (found.block->owner.is_valid()) out_.keep_alive.push_back(std::move(found.block->owner));
    } else if (found.address != 0) {
      // Nothing may be touched there, and a trap names it as the nearest.
      result.memory = Allocation{found.address, 0,
                                 argument(name) + " (at an address that no live tensor or array holds: " +
                                     "register_memory() tells how much is there)",
                                 false};
    }
    return result;
  }

  Pointer dlpack(const std::string& name, nb::handle v) {
    auto tensor = nb::cast<nb::ndarray<>>(v);
    bool on_cpu = tensor.device_type() == nb::device::cpu::value;
    if (on_cpu != (device_ == "cpu"))
      fail(argument(name) + " is a tensor on another device than the kernel, which runs on " +
           std::string(device_));
    int64_t expected = 1;
    for (size_t i = tensor.ndim(); i-- > 0;) {
      if (tensor.shape(i) != 1 && tensor.stride(i) != expected)
        fail(argument(name) + " is a DLPack tensor that is not contiguous", {"pass a contiguous copy of it"});
      expected *= static_cast<int64_t>(tensor.shape(i));
    }
    auto type = tensor.dtype();
    const char* kinds[] = {"i", "u", "f", "", "bf"};
    std::string dtype = type.code < 5 ? kinds[type.code] + std::to_string(type.bits) : "";
    Pointer result{reinterpret_cast<uint64_t>(tensor.data()), {}, dtype};
    result.memory =
        Allocation{result.address, tensor.nbytes(), argument(name) + " (" + describe(v, dtype) + ")", true};
    out_.keep_alive.push_back(nb::find(tensor).is_valid() ? nb::find(tensor) : nb::borrow(v));
    return result;
  }

  void need_cpu(const std::string& name, const char* what) {
    if (device_ != "cpu")
      fail(argument(name) + " is " + what + " in host memory, and the kernel runs on " +
           std::string(device_));
  }

  uint64_t integer(const Param& param, const NamedValue& given) {
    nb::handle v = given.value;
    bool number = PyIndex_Check(v.ptr()) && (conversion_ != Conversion::kStrict || !is_array(v));
    nb::object index = nb::steal(number ? PyNumber_Index(v.ptr()) : nullptr);
    if (!index.is_valid()) {
      PyErr_Clear();
      fail(argument(given.name) + ": expected an integer for " + param.type + ", got " + type_of(v) + " " +
           text_of(v));
    }
    int overflow = 0;
    int64_t value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    int bits = std::clamp(param.bits, 1, 64);
    bool fits = overflow == 0 &&
                (bits == 64 || (value >= -(int64_t{1} << (bits - 1)) && value <= (int64_t{1} << bits) - 1));
    if (overflow > 0 && bits == 64) {
      uint64_t wide = PyLong_AsUnsignedLongLong(index.ptr());
      if (!PyErr_Occurred()) return wide;
      PyErr_Clear();
    }
    if (!fits && overflow == 0 && conversion_ == Conversion::kWrapping) {
      warn(argument(given.name) + ": " + text_of(index) + " is out of range for " + param.type +
           ": its low " + std::to_string(bits) + " bits are passed, as this release of Triton does");
      return static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
    }
    if (!fits) fail(argument(given.name) + ": " + text_of(index) + " is out of range for " + param.type);
    return static_cast<uint64_t>(value);
  }

  static bool is_array(nb::handle v) { return has(v, "data_ptr") || has(v, "ctypes"); }

  static void warn(const std::string& text) {
    if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) throw nb::python_error();
  }

  uint64_t real(const Param& param, const NamedValue& given) {
    nb::handle v = given.value;
    bool number = (PyFloat_Check(v.ptr()) || PyIndex_Check(v.ptr()) || has(v, "__float__")) &&
                  (conversion_ != Conversion::kStrict || !is_array(v)) && !PyUnicode_Check(v.ptr());
    double value = number ? PyFloat_AsDouble(v.ptr()) : 0;
    if (!number || PyErr_Occurred()) {
      PyErr_Clear();
      fail(argument(given.name) + ": expected a number for " + param.type + ", got " + type_of(v) + " " +
           text_of(v));
    }
    return std::bit_cast<uint64_t>(value);
  }

  const std::vector<Param>& params_;
  std::string_view device_;
  bool expands_descriptors_;
  bool check_elements_;
  bool views_ = false;
  Conversion conversion_ = Conversion::kStrict;
  size_t next_ = 0;
  BoundArguments out_;
};

[[noreturn]] void wrong_count(const exec::Kernel& kernel, const std::vector<NamedValue>& values) {
  std::string parameters, given;
  for (const Param& p : kernel.params())
    parameters += (parameters.empty() ? "" : ", ") + p.name + ": " + p.type;
  for (const NamedValue& v : values) given += (given.empty() ? "" : ", ") + v.name;
  fail("kernel '" + kernel.name() + "' takes " + std::to_string(kernel.params().size()) + " arguments, and " +
           std::to_string(values.size()) + " were given",
       {"parameters: " + parameters, "given: " + given});
}

}  // namespace

BoundArguments bind_values(const exec::Kernel& kernel, const std::vector<NamedValue>& values,
                           std::string_view device, Conversion conversion, bool check_elements,
                           uint32_t checks) {
  Binder binder(kernel, device);
  binder.convert_as(conversion);
  if (check_elements) binder.check_elements();
  binder.keep_to_views((checks & exec::kCheckView) != 0);
  for (const NamedValue& value : values)
    if (!binder.add(value)) wrong_count(kernel, values);
  if (!binder.complete()) wrong_count(kernel, values);
  return binder.take();
}

void set_pretend_cuda(bool on) { pretend_cuda = on; }

bool is_here(nb::handle object, std::string_view device) {
  if (pretend_cuda) return true;
  const std::string said = device_of(object);
  return said.empty() || said == device;
}

}  // namespace triton_runner::python
