"""Lists the ops of Triton's IR and the opcodes of PTX."""
