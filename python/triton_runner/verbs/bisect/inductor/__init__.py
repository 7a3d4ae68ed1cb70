"""Runs a program with torch.compile in a worker, for `triton-runner bisect --torch`, and compares what each
graph gives with the same graph in eager mode.

- watch: a run, with parts of torch.compile left out (switches)
- captured, inside: the graphs that Dynamo captures, and those that Inductor compiles
- graphs, code, lines: a graph in eager mode; hooks in Inductor's code; the user's lines
- compiled: what a run answers
- preload: what a worker loads for all of its runs

It is described in doc/guide/torch-bisect.md, and tested by tests/python/bisect/test_torch_stages.py."""
