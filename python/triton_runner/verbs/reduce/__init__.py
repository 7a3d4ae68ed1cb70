"""Makes programs small while a fault of theirs stays: IR, PTX, and kernels in Python.

- run, oracles: the reduction, and what it keeps
- amdgcn_edits, ir_edits, ptx_edits, python_edits: the edits that are tried, by the kind of text"""
