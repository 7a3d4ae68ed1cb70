"""Drives Triton's compilation: stops it for the CPU, goes on from an artifact, and does so with every
release.

- driver, backend, cpu_backend, kernel, dumps: the CPU as Triton's device, whose compilations stop at the
  executed level
- stages, guard, plans, failures, translation, abilities: stages run onward, in this process, and how they
  fail
- versions, workers, portable: other releases, each in a process of its own
- targets, target_library, cache, places, constants: targets, libdevice, Triton's cache and its keys"""
