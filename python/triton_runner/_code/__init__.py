"""Reads code: graphs over the IR, PTX and machine code that the core parses. Nothing here compiles or
launches.

- flow, chain, slices, carried, walk: which values depend on which
- rounding, summation, atomics: what decides about a result's bits
- live_ranges, machine_registers: registers of machine code
- names, llvm_ir, llvm_values: names of values, and LLVM IR as text"""
