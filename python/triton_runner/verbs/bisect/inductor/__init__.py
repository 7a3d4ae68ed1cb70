"""Runs a program with torch.compile in a worker, for `triton-runner bisect --torch`, and compares what each
graph gives with the same graph in eager mode.

It is described in doc/guide/torch-bisect.md, and tested by tests/python/bisect/test_torch_stages.py."""
