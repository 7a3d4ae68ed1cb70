"""Tries NVIDIA's assemblers on PTX: their machine code has to leave the same memory as the PTX.

- assemblers, inputs: which assemblers this machine has, and the inputs of a trial
- trial, run: one PTX through one assembler, and many of them
- hazards: control words that let an instruction read too early"""
