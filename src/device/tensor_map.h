// What the TMA unit can describe, checked before the driver is asked: its own error says only "invalid
// value".
#pragma once
#include <triton_runner/device/driver.h>

namespace triton_runner::device {

base::Status check_tensor_map(const TensorMapSpec& spec);

}  // namespace triton_runner::device
