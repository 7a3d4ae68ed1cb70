"""`python -m triton_runner` is the command line (_cli)."""

from triton_runner._cli import main

main(prog_name="triton-runner")
