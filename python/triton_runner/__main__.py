"""python -m triton_runner: the command line."""

from triton_runner._cli import main

main(prog_name="triton-runner")
