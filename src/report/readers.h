// Declares the readers behind read_level(), one for each kind of text.
#pragma once
#include <triton_runner/report/lines.h>
#include <triton_runner/report/places.h>

namespace triton_runner::report {

base::Status read_mlir(std::string_view text, Level& into, Places& places);
base::Status read_ptx(std::string_view text, Level& into, Places& places);
void read_llir(std::string_view text, Level& into, Places& places);
void read_amdgcn(std::string_view text, Level& into, Places& places);
base::Status read_sass(std::string_view text, Level& into, Places& places);

}  // namespace triton_runner::report
