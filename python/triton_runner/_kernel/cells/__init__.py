"""Measures one kernel on several releases, targets and configurations: the table of `compare` is made of
these cells.

- kernels, arguments, cells: a kernel and a launch as they travel, and the cells with their keys
- run, measure, launch_job: cells measured side by side, each in a worker
- store: finished cells, which are not measured again

It is described in doc/guide/compare.md."""
