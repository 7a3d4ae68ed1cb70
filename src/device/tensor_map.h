// Checks that the TMA unit supports a tensor map, before the driver creates it: the driver's error says only
// "invalid value".
#pragma once
#include <triton_runner/device/driver.h>

namespace triton_runner::device {

base::Status check_tensor_map(const TensorMapSpec& spec);

}  // namespace triton_runner::device
