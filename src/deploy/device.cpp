// Implements Device::gpu() and the memory of a Device (Buffer: allocating, writing, reading). Device::cpu()
// is in on_cpu.cpp.
#include <cstdlib>
#include <cstring>

#include <triton_runner/base/try.h>

#include "code.h"

namespace triton_runner::deploy {

using base::failure;

Result<Device> Device::gpu(device::Driver& driver, int ordinal) {
  if (ordinal < 0) {
    ordinal = TRY(driver.current_device());
  }
  auto properties = TRY(driver.properties(ordinal));
  TRY(driver.use_device(ordinal));
  Device out;
  out.driver_ = &driver;
  out.target_ = properties.target;
  out.ordinal_ = ordinal;
  out.load_ = load_on_gpu;
  return out;
}

Result<Device> Device::gpu(int ordinal, std::string_view backend, const std::string& library) {
  std::vector<std::string> why;
  for (std::string_view one : {"cuda", "hip"}) {
    if (!backend.empty() && backend != one) continue;
    auto driver = device::open_driver(one, library);
    if (!driver) {
      why.push_back(driver.error().message);
      continue;
    }
    auto count = (*driver)->device_count();
    if (count && *count > 0) return gpu(**driver, ordinal);
    why.push_back(count ? std::string(one) + ": no device" : count.error().message);
  }
  if (why.empty()) why.push_back("'" + std::string(backend) + "' is not a driver: cuda, hip");
  return failure("this machine has no GPU for these kernels", std::move(why));
}

Result<Buffer> Device::allocate(size_t bytes) const {
  Buffer out;
  out.bytes_ = bytes;
  out.driver_ = driver_;
  if (!driver_) {
    out.address_ = std::malloc(bytes ? bytes : 1);
    if (!out.address_) return failure("no memory for a buffer of " + std::to_string(bytes) + " bytes");
    return out;
  }
  TRY(driver_->use_device(ordinal_));
  auto address = TRY(driver_->allocate(bytes ? bytes : 1, 0));
  out.address_ = reinterpret_cast<void*>(address);
  return out;
}

Status Device::synchronize(uint64_t stream) const {
  return driver_ ? driver_->synchronize(stream) : base::success();
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (!address_) return;
  // The context may be gone already when the process ends; its memory went with it.
  if (driver_)
    (void)driver_->release(reinterpret_cast<uint64_t>(address_), 0).ok();
  else
    std::free(address_);
}

Status Buffer::write(const void* from) {
  if (driver_) {
    TRY(driver_->synchronize(0));  // allocated in stream order
    return driver_->copy_to_device(reinterpret_cast<uint64_t>(address_), from, bytes_);
  }
  std::memcpy(address_, from, bytes_);
  return base::success();
}

Status Buffer::read(void* to) const {
  if (driver_) {
    TRY(driver_->synchronize(0));
    return driver_->copy_to_host(to, reinterpret_cast<uint64_t>(address_), bytes_);
  }
  std::memcpy(to, address_, bytes_);
  return base::success();
}

}  // namespace triton_runner::deploy
