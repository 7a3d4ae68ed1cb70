// Adds two vectors with a kernel of a folder (add_kernel.py says how it is written): on the GPU, or where
// there is none on the CPU. No Python, no Triton, no CUDA toolkit.
//
//   add FOLDER [gpu|cpu] [N]
#include <triton_runner/deploy/deploy.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace triton_runner;

static int fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 2) return fail("usage: add FOLDER [gpu|cpu] [N]");
  const std::string where = argc > 2 ? argv[2] : "";
  const int n = argc > 3 ? std::atoi(argv[3]) : 100000;

  auto package = deploy::Package::open(argv[1]);
  if (!package) return fail(package.error().str());
  auto device = where == "cpu" ? deploy::Device::cpu() : deploy::Device::gpu();
  if (!device && where != "gpu") device = deploy::Device::cpu();
  if (!device) return fail(device.error().str());
  auto add = package->kernel("add_kernel", *device);
  if (!add) return fail(add.error().str());

  std::vector<float> x(n), y(n), sum(n);
  for (int i = 0; i < n; i++) x[i] = 0.5f * static_cast<float>(i), y[i] = static_cast<float>(i % 8);
  const size_t bytes = n * sizeof(float);
  auto on_x = device->allocate(bytes), on_y = device->allocate(bytes), out = device->allocate(bytes);
  if (!on_x || !on_y || !out) return fail("no memory on " + device->target());
  if (auto s = on_x->write(x.data()); !s) return fail(s.error().str());
  if (auto s = on_y->write(y.data()); !s) return fail(s.error().str());

  // The grid depends on the block that the variant was compiled for.
  auto grid = [&](const deploy::Variant& variant) {
    std::printf("%s: %s\n", device->target().c_str(), variant.str().c_str());
    const int64_t block = variant.number("BLOCK");
    return deploy::Grid{(n + block - 1) / block};
  };
  if (auto error = add->launch(grid, {{"x_ptr", *on_x}, {"y_ptr", *on_y}, {"out_ptr", *out}, {"n", n}}))
    return fail(error->str());
  if (auto s = out->read(sum.data()); !s) return fail(s.error().str());

  for (int i = 0; i < n; i++)
    if (sum[i] != x[i] + y[i]) return fail("mismatch at element " + std::to_string(i));
  std::printf("%d sums, all right\n", n);
  return 0;
}
