# What AMD's instructions do over lanes. Registers are read in other types than they were written in.
once_an_instruction_set(simt front/amdgcn/simd -fno-strict-aliasing)
