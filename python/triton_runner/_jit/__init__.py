"""Stands in place of Triton's own: what importing the package changes in Triton.

- jit, dispatch: `triton_runner.jit`, and the fast path of its launches
- install, watch: the driver, the backend "cpu" and compile(), put in place when Triton is imported
- inductor, winners: launches of torch.compile, and what autotuning found, kept in a folder"""
