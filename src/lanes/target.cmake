# The functions over lanes. Registers are read in other types than they were written in.
once_an_instruction_set(lanes simd -fno-strict-aliasing)
