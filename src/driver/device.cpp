// Implements the device, which is a chip of the table that `triton-runner cuda --chip` reads, and the driver
// as a whole.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include <triton_runner/artifact/occupancy.h>
#include <triton_runner/simt/simt.h>

#include "calls.h"

namespace triton_runner::driver {
namespace {

bool is_device(int device) { return device == 0; }

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Gives an attribute of the device, as the chip and its generation have it. False: there is no such attribute.
bool attribute_of(const Chip& chip, int attribute, int* out) {
  const auto on_sm = artifact::occupancy(chip.target(), 32, 1, 0);
  const int warps = on_sm ? on_sm->most_warps : 64, blocks = on_sm ? on_sm->blocks : 32;
  const int most_shared = static_cast<int>(simt::max_shared_bytes(chip.target()));
  const int reserved = chip.capability >= 80 ? 1024 : 0;
  const bool is_hopper = chip.capability >= 90;
  const std::pair<int, int> rows[] = {
#define ATTRIBUTE(number, value) {number, value},
#include "attributes.def"
#undef ATTRIBUTE
  };
  for (const auto& [number, value] : rows)
    if (number == attribute) return *out = value, true;
  constexpr int kLast = 161;  // of CUDA 13.5
  *out = 0;
  return attribute > 0 && attribute <= kLast;
}

const Uuid kUuid = {{'t', 'r', 'i', 't', 'o', 'n', '-', 'r', 'u', 'n', 'n', 'e', 'r', 'c', 'p', 'u'}};
constexpr char kBusId[] = "0000:01:00.0";

bool read_settings(State& s) {
  std::istringstream chip(setting("TRITON_RUNNER_CUDA_CHIP"));
  Chip& c = s.chip;
  if (!(chip >> c.name >> c.capability >> c.sms >> c.clock >> c.bandwidth >> c.l2_bytes)) return false;
  if (const std::string checks = setting("TRITON_RUNNER_CUDA_CHECKS"); !checks.empty())
    s.checks = static_cast<uint32_t>(std::strtoul(checks.c_str(), nullptr, 10));
  s.prints_launches = setting("TRITON_RUNNER_CUDA_LAUNCHES") == "1";
  s.verb = setting("TRITON_RUNNER_CUDA_VERB");
  if (s.checks & exec::kCheckUninitialized) s.blocks.follow_unwritten();
  if (std::string folder = setting("TRITON_RUNNER_CUDA_CAPTURE"); !folder.empty())
    s.kept = std::make_unique<Kept>(std::move(folder), setting("TRITON_RUNNER_CUDA_KERNEL"));
  if (s.checks & exec::kCheckRace) s.races = std::make_unique<Races>();
  return true;
}

}  // namespace

namespace call {

Error cuInit(unsigned flags) {
  State& s = state();
  if (flags != 0) return kInvalidValue;
  if (s.is_initialized) return kSuccess;
  if (!read_settings(s)) {
    say("this libcuda.so.1 needs to know which chip to show: start the program with `triton-runner cuda "
        "PROGRAM`");
    return kNoDevice;
  }
  s.is_initialized = true;
  return kSuccess;
}

Error cuDriverGetVersion(int* out) { return give(out, kDriverVersion); }

Error cuGetErrorName(int error, const char** out) {
  if (!out) return kInvalidValue;
  *out = nullptr;
#define ERROR(enumerator, number, name, text) \
  if (error == number) *out = name;
#define OTHER(number, name, text) \
  if (error == number) *out = name;
#include "errors.def"
#undef ERROR
#undef OTHER
  return *out ? kSuccess : kInvalidValue;
}

Error cuGetErrorString(int error, const char** out) {
  if (!out) return kInvalidValue;
  *out = nullptr;
#define ERROR(enumerator, number, name, text) \
  if (error == number) *out = text;
#define OTHER(number, name, text) \
  if (error == number) *out = text;
#include "errors.def"
#undef ERROR
#undef OTHER
  return *out ? kSuccess : kInvalidValue;
}

Error cuProfilerInitialize(const char*, const char*, int) { return kSuccess; }
Error cuProfilerStart() { return kSuccess; }  // nothing is recorded
Error cuProfilerStop() { return kSuccess; }

Error cuDeviceGetCount(int* out) { return give(out, 1); }

Error cuDeviceGet(int* out, int ordinal) {
  if (!out) return kInvalidValue;
  if (!is_device(ordinal)) return kInvalidDevice;
  *out = ordinal;
  return kSuccess;
}

Error cuDeviceGetName(char* out, int bytes, int device) {
  if (!out || bytes <= 0) return kInvalidValue;
  if (!is_device(device)) return kInvalidDevice;
  std::string name = state().chip.name;
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::snprintf(out, static_cast<size_t>(bytes), "Triton Runner %s (CPU)", name.c_str());
  return kSuccess;
}

Error cuDeviceGetUuid(Uuid* out, int device) {
  if (!out) return kInvalidValue;
  if (!is_device(device)) return kInvalidDevice;
  *out = kUuid;
  return kSuccess;
}
Error cuDeviceGetUuid_v2(Uuid* out, int device) { return cuDeviceGetUuid(out, device); }

Error cuDeviceTotalMem_v2(size_t* out, int device) {
  if (!out) return kInvalidValue;
  if (!is_device(device)) return kInvalidDevice;
  *out = state().blocks.total();
  return kSuccess;
}

Error cuDeviceGetAttribute(int* out, int attribute, int device) {
  if (!out) return kInvalidValue;
  if (!is_device(device)) return kInvalidDevice;
  return attribute_of(state().chip, attribute, out) ? kSuccess : kInvalidValue;
}

Error cuDeviceComputeCapability(int* major, int* minor, int device) {
  if (!major || !minor) return kInvalidValue;
  if (!is_device(device)) return kInvalidDevice;
  *major = state().chip.capability / 10, *minor = state().chip.capability % 10;
  return kSuccess;
}

Error cuDeviceGetProperties(DeviceProperties* out, int device) {
  if (!out) return kInvalidValue;
  if (!is_device(device)) return kInvalidDevice;
  auto value = [](int attribute) {
    int v = 0;
    attribute_of(state().chip, attribute, &v);
    return v;
  };
  *out = {value(1),
          {value(2), value(3), value(4)},
          {value(5), value(6), value(7)},
          value(8),
          value(9),
          value(10),
          value(11),
          value(12),
          value(13),
          value(14)};
  return kSuccess;
}

Error cuDeviceGetPCIBusId(char* out, int bytes, int device) {
  if (!out || bytes <= 0) return kInvalidValue;
  if (!is_device(device)) return kInvalidDevice;
  std::snprintf(out, static_cast<size_t>(bytes), "%s", kBusId);
  return kSuccess;
}

Error cuDeviceGetByPCIBusId(int* out, const char* id) {
  if (!out || !id) return kInvalidValue;
  if (std::strcmp(id, kBusId) != 0) return kInvalidDevice;
  *out = 0;
  return kSuccess;
}

Error cuDeviceCanAccessPeer(int* out, int device, int peer) {
  if (!out) return kInvalidValue;
  if (!is_device(device) || !is_device(peer)) return kInvalidDevice;
  *out = 0;
  return kSuccess;
}

Error cuDeviceGetP2PAttribute(int* out, int, int device, int peer) {
  if (!out) return kInvalidValue;
  (void)device, (void)peer;
  return kInvalidDevice;  // there is one device
}

Error cuDeviceGetExecAffinitySupport(int* out, int, int device) {
  if (!out) return kInvalidValue;
  if (!is_device(device)) return kInvalidDevice;
  *out = 0;
  return kSuccess;
}

Error cuDeviceGetTexture1DLinearMaxWidth(size_t* out, int, unsigned channels, int device) {
  if (!out || channels == 0) return kInvalidValue;
  if (!is_device(device)) return kInvalidDevice;
  *out = size_t{268435456} / channels;
  return kSuccess;
}

}  // namespace call
}  // namespace triton_runner::driver
