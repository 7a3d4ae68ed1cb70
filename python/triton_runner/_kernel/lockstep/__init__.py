"""Runs one launch at several levels or devices, and finds the first value that differs.

- subject, pairs, lockstep: the launch, which of its values correspond, and the comparison
- sides, apart, where: PTX beside machine code, and the first instruction at which they part

It is described in doc/guide/compare-levels.md."""
