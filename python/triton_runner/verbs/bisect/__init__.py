"""Finds which release, which level and which compiler pass made a program or a kernel wrong.

- search, fault, splice, llvm, assembler: which releases are wrong, and the level and pass of each fault
- runs, job, trial, launches, assembled, kernel: one run of a program in a release, and how it is judged
- order, classes, stores, evidence, failed: what a wrong result is, and where it shows first
- results, reproducer: what is handed on"""
