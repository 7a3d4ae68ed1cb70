// Reads the entries of .nv.info sections, for the readers of cubins.
#pragma once
#include <triton_runner/artifact/elf.h>

namespace triton_runner::artifact {

// Calls visit(attribute, payload, the two bytes in place) for each entry; false if the section is cut off.
template <class Visit>
bool each_attribute(std::string_view content, Visit visit) {
  constexpr uint8_t kSized = 4;  // the others hold two bytes in place
  for (Bytes in(content); !in.done();) {
    uint8_t format = in.take<uint8_t>(), attribute = in.take<uint8_t>();
    uint16_t value = in.take<uint16_t>();
    std::string_view payload = format == kSized ? in.take_bytes(value) : std::string_view();
    if (!in.ok()) return false;
    visit(attribute, payload, value);
  }
  return true;
}

enum Attribute : uint8_t {
  kMaxThreads = 0x05,
  kParameterBank = 0x0a,
  kRequiredThreads = 0x10,
  kParameter = 0x17,
  kRegisters = 0x2f,
  kFrameBytes = 0x11,
  kStackBytes = 0x12,  // with what the functions that it calls need
  kCtasPerCluster = 0x3d,
  kBarriers = 0x4c,  // since ABI 8
};

}  // namespace triton_runner::artifact
