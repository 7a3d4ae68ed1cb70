"""Where an op of the IR stands in the program that a person wrote: a function of Triton's library, or of any
installed package, is called there."""

from __future__ import annotations

from triton_runner._base.errors import is_of_library, package_folders


def of(op):
    """The location of an op, followed to the call in the program; in a kernel that is of a package itself, to
    the call of a function of Triton's."""
    chain = [op.location]
    while chain[-1].caller is not None:
        chain.append(chain[-1].caller)
    for is_other in (is_of_library, lambda file: file.startswith(package_folders())):
        for location in chain:
            if location.file and not is_other(location.file):
                return location
    return chain[0]
