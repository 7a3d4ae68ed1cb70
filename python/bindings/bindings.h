// What the files of the extension share: one init_x() per file, called from core.cpp.
#pragma once
#include <nanobind/nanobind.h>

namespace nb = nanobind;
