// _core.Launcher as the other files see it: a kernel with the signature it was compiled for.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <triton_runner/launch/gpu_kernel.h>

#include "arguments.h"
#include "launch.h"

namespace triton_runner::python {

struct Given;
struct LaunchScratch;

struct Launcher {
  // A parameter that is one word, and the argument that it is.
  struct Word {
    exec::ParamKind kind;
    uint8_t bits;
    bool takes_large = false;  // integers from 2^63 on
    bool is_half = false;      // f16, which takes no number that is too large for it
    uint32_t from;
    int64_t least = 0, most = 0;  // of integers that are passed as they are
  };
  std::shared_ptr<exec::Kernel> kernel;
  launch::GpuKernel* gpu = nullptr;  // the kernel, where it is one
  bool is_hip = false;
  std::vector<Slot> slots;
  std::vector<uint32_t> passed;  // of the arguments, those that are parameters; empty: only the general way
  size_t needed = 0;  // arguments up to the last that is a parameter: constexprs after it may be left out
  std::vector<Word> words;  // where is_direct
  bool is_direct = false;
  bool is_loose = false;  // Triton's launchers from 3.8 on: more arguments are ignored, integers wrap
  nb::object settings;    // _settings.current

  // as_triton: queue() takes no number that one of Triton's launchers might refuse.
  Launcher(std::shared_ptr<exec::Kernel> k, const std::vector<std::pair<std::string, nb::object>>& signature,
           bool loose, bool as_triton);

  // Launches with `count` values, those of constexprs among them, and waits for the kernel.
  void run(const std::array<int64_t, 3>& grid, PyObject* const* args, size_t count,
           const Options& options) const;
  // Launches on the GPU that the values were read for, on torch's stream. False: some value is not what the
  // kernel takes, or lies elsewhere; nothing was launched, and Triton's own way says what is wrong.
  bool queue(const std::array<int64_t, 3>& grid, const Given& given, const Options& options) const;

 private:
  Conversion conversion() const { return is_loose ? Conversion::kWrapping : Conversion::kTriton; }
  [[noreturn]] void wrong_count(size_t given) const;
  std::vector<NamedValue> values(PyObject* const* args) const;
  bool read(PyObject* const* args, LaunchScratch& s) const;
  Word word_of(const exec::Param& param, uint32_t from, bool as_triton) const;
};

// The observer sees every launch through a launcher before it runs (python/triton_runner/_launch/launchers.py): a
// function (launcher, arguments) that gives true where it has done the launch itself.
bool has_observer();

// None, a function, or a chain of functions (with the list `calls`) that may be empty.
void call_hook(PyObject* hook, PyObject* metadata);

}  // namespace triton_runner::python
