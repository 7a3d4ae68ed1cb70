"""Triton's compiler as levels: every stage of every release.

job.py, what it imports of this folder, and child.py import the standard library and the Triton at hand only,
in the syntax of Python 3.8: the installed release runs them here, any other one in a worker process
(workers.py) of its own.
"""
