"""How Triton's releases differ where this package touches them: a row of data a release, nothing else."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util

from triton_runner._errors import fail


@dataclasses.dataclass(frozen=True)
class Release:
    """One line of Triton releases.

    constexprs_passed: launches pass constexpr arguments too, and signatures spell them "constexpr".
    driver_fields: attributes of triton.runtime.driver that hold the default and the active driver.
    run_field: where CompiledKernel keeps its launcher.
    language_argument: Backend.add_stages takes the source language.
    benchmarker_from_driver: Autotuner asks the driver for its benchmark function.
    hidden_pointers: pointer parameters that compiled kernels have behind the caller's.
    print_takes_signs: builder.create_print takes the signedness of each operand.
    loose_launches: launchers ignore arguments behind the last parameter, and pass an integer's low bits.
    old_keys: how arguments were specialised before 3.3 (KeyRule::old of launch/key.h).
    reals_unspecialised: the value of a parameter annotated as a float or a bool is not looked at.
    storage_question: what of AMD's compiler asks, for its keys, whether a tensor's storage is within 2 GiB.
    """

    version: tuple[int, int]
    constexprs_passed: bool
    driver_fields: tuple[str, str]
    run_field: str
    language_argument: bool
    benchmarker_from_driver: bool
    hidden_pointers: int
    print_takes_signs: bool
    loose_launches: bool
    old_keys: int
    reals_unspecialised: bool
    storage_question: str


def _row(major: int, minor: int, **changes) -> tuple:
    return (major, minor), changes


# A row a release, oldest first: what it does otherwise than the one before it.
_ROWS = (
    _row(3, 0, constexprs_passed=False, driver_fields=("default", "active"), run_field="run",
         language_argument=False, benchmarker_from_driver=False, hidden_pointers=0, print_takes_signs=False,
         loose_launches=False, old_keys=1, reals_unspecialised=False, storage_question=""),
    _row(3, 1),
    _row(3, 2, old_keys=2, benchmarker_from_driver=True, print_takes_signs=True,
         storage_question="HIPAttrsDescriptor.is_within2gb"),
    _row(3, 3, constexprs_passed=True, hidden_pointers=1, old_keys=0,
         storage_question="HIPBackend.is_within_2gb"),
    _row(3, 4, language_argument=True, reals_unspecialised=True),
    _row(3, 5, driver_fields=("_default", "_active"), run_field="_run", hidden_pointers=2),
    _row(3, 6),
    _row(3, 7, loose_launches=True),
    _row(3, 8),
    _row(3, 9),
)  # fmt: skip


def _releases() -> dict[tuple[int, int], Release]:
    found, facts = {}, {}
    for version, changes in _ROWS:
        facts |= changes
        found[version] = Release(version, **facts)
    return found


RELEASES = _releases()


def parse_version(text: str) -> tuple[int, int]:
    """(3, 4) of "3.4.0+git123"."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def release_of(version: str) -> Release:
    """The row for a version; an unknown newer one is treated as the newest known."""
    key = parse_version(version)
    return RELEASES.get(key) or RELEASES[max(RELEASES) if key > max(RELEASES) else min(RELEASES)]


@functools.cache
def installed() -> Release:
    """The row for the Triton that is installed. Raises DiagnosticError for one older than all rows."""
    import triton

    if not is_known() and (said := unusable()):
        raise fail(*said)
    return release_of(triton.__version__)


def is_known() -> bool:
    """Whether the Triton that is installed has a row."""
    import triton

    return parse_version(getattr(triton, "__version__", "0.0")) in RELEASES


def unusable(why: str = "") -> tuple[str, str] | None:
    """Why the installed Triton cannot be used, and what to do: there is none, or it is older than all rows;
    or, where something failed (why), it is newer. None where it should do."""
    first, last = (".".join(map(str, pick(RELEASES))) for pick in (min, max))
    advice = f"pip install triton=={last}.0; any release from {first} to {last} does"
    if importlib.util.find_spec("triton") is None:
        return "this needs Triton, which is not installed", advice
    import triton

    version = getattr(triton, "__version__", "0.0")
    if parse_version(version) < min(RELEASES):
        return f"Triton {version} is installed, which is too old: {first} is the oldest that works", advice
    if why and parse_version(version) > max(RELEASES):
        return f"Triton {version} is installed, which is newer than what is known here: {why}", advice
    return None
