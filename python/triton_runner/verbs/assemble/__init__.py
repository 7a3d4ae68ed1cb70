"""Tries NVIDIA's assemblers on PTX: their machine code has to leave the same memory as the PTX."""
