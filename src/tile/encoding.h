// Where the files of this folder find encoding_of.
#pragma once
#include <triton_runner/tile/encoding.h>
