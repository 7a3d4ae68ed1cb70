"""Has the kernels of the tables as subjects, with what is given of them."""

import careless_table as careless
import odd_table as odd
import proved_table as table
import varied_table as varied
from triton_runner.verbs.prove import run

KERNELS = {name: (table.KERNELS, name, *row[:4]) for name, row in table.RIGHT.items()}
KERNELS |= {name: (varied.KERNELS, *row) for name, row in varied.RIGHT.items()}
# Right and wrong; FAILS: what fails of each for some launch.
ODD = {name: (odd.FILE, *row[:-1]) for name, row in odd.KERNELS_ODD.items()}
ODD |= {name: (careless.FILE, *row[:-1]) for name, row in careless.KERNELS_CARELESS.items()}
FAILS = {name: row[-1].split() for name, row in (odd.KERNELS_ODD | careless.KERNELS_CARELESS).items()}


def subject(name: str):
    """One that is right."""
    return made(*KERNELS[name])


def made(file: str, kernel: str, types, constants: dict, grid: str, given: str):
    how = {"signature": ", ".join(types), "constexprs": constants, "target": "cuda:80", "options": {}}
    found = run.of_kernel(f"{file}:{kernel}", kernel, how)
    found.assume((given,), grid)
    found.simplify()
    return found
