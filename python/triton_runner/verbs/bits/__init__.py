"""Tells which configurations of a launch leave the same bits, and where and why two part.

- variants, run, program, compare: the configurations, run and put into classes of equal bits
- static: classes by what the code says, before anything runs
- element, stores, walk, why: one element in two launches, where its values part, and the cause
- invariant: batch invariance of a function"""
