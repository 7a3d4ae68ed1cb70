// add_kernel of examples/deploy as a function of TVM-FFI: add(x, y, out, n).
#include <triton_runner/deploy/tvm_ffi.h>

using namespace triton_runner;

TRITON_RUNNER_TVM_FFI(add, "kernels", "add_kernel",
                      [](const deploy::Variant& variant, const auto& arguments) {
                        const auto n = static_cast<int64_t>(arguments[3].value.bits()),
                                   block = variant.number("BLOCK");
                        return deploy::Grid{(n + block - 1) / block};
                      })
