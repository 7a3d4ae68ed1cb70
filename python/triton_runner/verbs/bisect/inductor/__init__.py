"""From a wrong torch.compile program to the line: `triton-runner bisect --torch`.

- search: the stages of torch.compile, then Inductor's switches, then the kernel and its levels
- watch, graphs, code, lines: in the worker, which runs the program and compares each compiled graph with eager
- switches: the passes and settings of Inductor that can be left out
- results, text: frozen dataclasses, of which the JSON is made, and how they read"""
