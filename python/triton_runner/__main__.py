"""`python -m triton_runner` is the command line (_cli).

It is tested by tests/python/cli/test_cli.py."""

from triton_runner._cli import main

main(prog_name="triton-runner")
