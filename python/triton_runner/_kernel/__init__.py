"""Holds what is known of one kernel, a folder for each kind of knowledge.

- compiling: compilations, their passes and resources
- dumps: values of a running kernel; lockstep: the values of one launch at several levels
- cost: what a launch executes and how long that takes; cells: the same kernel for many releases and targets
- cases: launches judged and kept as files
- page: the page that shows all of it; material, source_map, layout: what the page and maps are made of"""
